"""Timing, tables and results, with a stopwatch that reads what it is told."""

import contextlib
import itertools
import json
import math
import re
import warnings
from types import SimpleNamespace

import pytest

from weft import bench, device, lesson, timing, units
from weft.bench import builds, results
from weft.bench.comparison import Comparison
from weft.device import Device, cpu
from weft.errors import LearnerError
from weft.lesson import predictions
from weft.timing import Sample

H200 = Device(True, "", "", "NVIDIA H200", (9, 0), 132, 150 * 10**9, 60 << 20, (13, 0))
CASE = "8192 x 8192 float32"
BYTES = 2 * 4 * 8192**2


class Stopwatch:
    """A clock without time: each function carries its own milliseconds."""

    host = False

    def __init__(self):
        self.order = []

    def once(self, function, host):
        self.order.append(function.__name__)
        return Sample(next(function.times), 0.001)


def takes(*ms, name="f"):
    """Return a function whose repetitions take these times, over and over."""

    def function():
        raise AssertionError("the stopwatch should not need to call it")

    function.times = itertools.cycle(ms)
    function.__name__ = name
    return function


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A working copy in an empty folder; lab 13; no wish for results."""
    (tmp_path / "weft").mkdir()
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lesson, "_current", "13_shared_memory")
    monkeypatch.delenv("WEFT_RESULTS", raising=False)
    monkeypatch.delenv("WEFT_DIGEST", raising=False)
    return tmp_path


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(device, "find", lambda: H200)
    monkeypatch.setattr(device, "driver_version", lambda: "580.159.03")


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "find", lambda: Device(False, "no NVIDIA driver here"))


def ladder(**options):
    candidates = {
        "copy": takes(0.125),
        "torch": takes(0.5, 0.48, 0.52, 0.5),
        "naive": takes(1.0),
    }
    defaults = {"baseline": "torch", "bytes": BYTES, "ceiling": "copy"}
    return bench.compare(
        CASE, candidates, stopwatch=Stopwatch(), **(defaults | options)
    )


def test_rows_hold_time_rate_ratio_and_share_of_the_ceiling(gpu):
    table = ladder()
    naive = table["naive"]
    assert naive.ms == 1.0
    assert naive.spread == 0
    assert naive.rate == pytest.approx(BYTES / 1e-3)
    assert naive.ratio == 0.5
    assert naive.ceiling == 0.125
    assert table["torch"].spread == pytest.approx(0.005, abs=0.006)
    assert [r.name for r in table] == ["copy", "torch", "naive"]
    assert table.here


def test_a_ceiling_may_be_a_rate(gpu):
    table = ladder(ceiling=4e12)
    assert table["naive"].ceiling == pytest.approx(BYTES / 1e-3 / 4e12)
    assert "of 4.00 TB/s" in repr(table)


def test_flops_and_no_work_at_all(gpu):
    assert "TFLOP/s" in repr(ladder(bytes=None, flops=1e12))
    plain = ladder(bytes=None)
    assert math.isnan(plain["naive"].rate)
    assert "B/s" not in repr(plain)


def test_the_median_ignores_an_outlier_and_the_spread_shows_noise():
    times = timing.measure(
        {"f": takes(*[1.0] * 9, 50.0), "g": takes(1.0, 2.0)}, Stopwatch()
    )
    assert times["f"].ms == 1.0
    assert times["f"].spread == 0
    assert times["g"].spread == pytest.approx(1.0)


def test_candidates_take_turns_and_nobody_is_always_first():
    watch = Stopwatch()
    a, b = takes(10.0, name="a"), takes(10.0, name="b")
    timing.measure({"a": a, "b": b}, watch)
    timed = watch.order[-20:]
    assert {"".join(timed[k : k + 2]) for k in range(0, 20, 2)} == {"ab", "ba"}
    assert abs(watch.order.count("a") - watch.order.count("b")) <= 1


@pytest.mark.parametrize(
    ("ms", "least", "most"),
    [(0.01, 200, 200), (1.0, 100, 101), (20.0, 20, 20), (400.0, 5, 5)],
)
def test_repetitions_are_bounded_by_number_and_by_time(ms, least, most):
    reps = timing.measure({"f": takes(ms)}, Stopwatch())["f"].reps
    assert least <= reps <= most


@pytest.mark.parametrize("ms", [1.0, 20.0])
@pytest.mark.parametrize("most", [15, 25])
def test_a_stopwatch_may_have_a_largest_number_of_repetitions(ms, most):
    watch = Stopwatch()
    watch.most = most
    reps = timing.measure({"f": takes(ms)}, watch)["f"].reps
    assert reps == (most if ms == 1.0 else min(most, timing.LEAST))


def test_warm_up_ends_even_if_the_times_never_settle():
    watch = Stopwatch()
    timing.measure({"f": takes(10.0, 20.0)}, watch)
    assert len(watch.order) < 100


def test_short_times_are_said_to_include_the_launch(gpu):
    table = bench.compare("tiny", {"f": takes(0.012)}, stopwatch=Stopwatch())
    assert table["f"].remark
    assert "12.0 µs" in repr(table)
    assert "includes the launch" in repr(table)
    assert not ladder()["naive"].remark


def test_a_time_that_is_pythons_is_said_to_be(gpu):
    class Slow(Stopwatch):
        def once(self, function, host):
            return Sample(2.0, 4.0)

    table = bench.compare("many launches", {"f": takes(2.0)}, stopwatch=Slow())
    assert "f: queued more slowly than the GPU runs it" in repr(table)


def test_bench_time_times_one_function():
    assert bench.time(takes(2.0), stopwatch=Stopwatch()).ms == 2.0


class FakeTorch:
    """A GPU that works off what is queued: 0.04 ms an eviction, 0.01 ms a kernel."""

    def __init__(self, monkeypatch):
        self.gpu = self.now = (
            0.0  # ms: when the GPU is done, what the host's clock says
        )
        monkeypatch.setattr(timing, "_torch", lambda: self)
        monkeypatch.setattr(timing.clock, "perf_counter", lambda: self.now / 1e3)

    cuda = property(lambda self: self)
    float32 = 4
    l2 = 60 << 20
    read = 0  # bytes, by the last eviction

    def get_device_properties(self, index):
        return SimpleNamespace(L2_cache_size=self.l2)

    def zeros(self, shape, dtype, device):
        return math.prod(shape) * dtype

    def empty(self, count, dtype, device):
        return count * dtype

    def sum(self, source, dim, out):
        assert out < source / 1000  # what it writes stays in L2, and is next to nothing
        self.read = source
        self.queue(0.04, host=0.006)

    def queue(self, ms, host):
        self.now += host
        self.gpu = max(self.gpu, self.now) + ms

    def kernel(self, host=0.02):
        return lambda: self.queue(0.01, host)

    def synchronize(self):
        self.now = max(self.now, self.gpu)

    def Event(self, enable_timing):
        event = SimpleNamespace(at=0.0)
        event.record = lambda: setattr(event, "at", max(self.gpu, self.now))
        event.synchronize = self.synchronize
        event.elapsed_time = lambda other: other.at - event.at
        return event


@pytest.mark.parametrize("host", [0.005, 0.03, 0.3])
def test_the_time_of_queueing_is_hidden_behind_the_eviction(monkeypatch, host):
    torch = FakeTorch(monkeypatch)
    measured = bench.time(torch.kernel(host), stopwatch=timing.EventStopwatch())
    assert measured.ms == pytest.approx(0.01)
    assert measured.host == pytest.approx(host)
    assert measured.short
    assert not measured.host_bound


@pytest.mark.parametrize(
    ("l2", "read"),
    [(60 << 20, timing.EVICT * (60 << 20)), (4 << 20, 1 << 27)],  # an H200, a T4
)
def test_the_cache_is_emptied_by_reading_several_times_its_size(monkeypatch, l2, read):
    torch = FakeTorch(monkeypatch)
    torch.l2 = l2
    bench.time(torch.kernel(), stopwatch=timing.EventStopwatch())
    assert read <= torch.read < 1.01 * read


def test_an_experiment_may_empty_the_cache_in_another_way(monkeypatch):
    torch = FakeTorch(monkeypatch)
    watch = timing.EventStopwatch(lambda: torch.queue(0.1, host=0.006))
    assert bench.time(torch.kernel(), stopwatch=watch).ms == pytest.approx(0.01)
    assert torch.read == 0


def test_a_pause_of_the_host_at_the_start_spoils_nothing(monkeypatch):
    torch = FakeTorch(monkeypatch)
    pauses = itertools.chain([0.0] * 5, [1.0], itertools.repeat(0.0))  # the first timed
    plain = torch.queue
    torch.queue = lambda ms, host: plain(ms, host + (next(pauses) if ms > 0.03 else 0))
    measured = bench.time(torch.kernel(0.1), stopwatch=timing.EventStopwatch())
    assert measured.ms == pytest.approx(0.01)


def test_a_queue_too_slow_to_hide_is_noticed(monkeypatch):
    torch = FakeTorch(monkeypatch)
    measured = bench.time(torch.kernel(5.0), stopwatch=timing.EventStopwatch())
    assert measured.ms > 2
    assert measured.host_bound


def test_with_the_host_a_call_takes_as_long_as_it_takes_in_a_loop(monkeypatch, gpu):
    torch = FakeTorch(monkeypatch)
    table = bench.compare("x", {"f": torch.kernel(0.5)}, host=True)
    assert table["f"].ms == pytest.approx(0.5, rel=0.05)
    assert table["f"].remark == ""
    assert table.source == "Measured here, on NVIDIA H200, the host included."
    assert bench.time(torch.kernel(0.002), host=True).ms == pytest.approx(0.01, rel=0.1)


class FakeGraphs(FakeTorch):
    """Also captures: what is queued meanwhile runs at each replay, 2 µs apart."""

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self.captured = None

    def queue(self, ms, host):
        if self.captured is None:
            super().queue(ms, host)
        else:
            self.captured.append(ms + 0.002)

    def Stream(self):
        return SimpleNamespace(wait_stream=lambda other: None)

    current_stream = Stream

    def stream(self, side):
        return contextlib.nullcontext()

    def CUDAGraph(self):
        return SimpleNamespace(
            replay=lambda: super(FakeGraphs, self).queue(sum(self.held), 0.01)
        )

    @contextlib.contextmanager
    def graph(self, graph):
        self.captured = []
        yield
        self.held, self.captured = self.captured, None
        if not self.held:
            warnings.warn("The CUDA Graph is empty. Usually", stacklevel=2)


def test_a_graph_of_many_launches_leaves_the_host_out(monkeypatch, gpu):
    torch = FakeGraphs(monkeypatch)
    table = bench.compare("x", {"f": torch.kernel(0.5)}, graph=True)
    assert table["f"].ms == pytest.approx(0.012, rel=0.02)
    assert table["f"].remark == ""
    assert table.source == "Measured here, on NVIDIA H200, as CUDA graphs."
    assert 0.9 * timing.GRAPH_MS <= sum(torch.held) <= timing.GRAPH_MS + 0.012


def test_a_launch_that_no_graph_sees_is_explained(monkeypatch, gpu):
    FakeGraphs(monkeypatch)
    with pytest.raises(timing.CandidateError, match=r"bench\.stream\(\)"):
        bench.compare("x", {"f": lambda: None}, graph=True)


def test_a_launch_on_another_stream_is_explained(monkeypatch, gpu):
    torch = FakeGraphs(monkeypatch)

    def elsewhere():
        if torch.captured is not None:
            raise OSError("operation would make the legacy stream depend on a capture")

    with pytest.raises(timing.CandidateError, match=r"legacy.* bench\.stream\(\)"):
        bench.compare("x", {"f": elsewhere}, graph=True)


def test_without_a_gpu_the_stream_is_the_default_one(no_gpu):
    assert bench.stream() == 0


def test_bench_time_without_a_gpu(no_gpu):
    with pytest.raises(LearnerError, match="no GPU to time on: no NVIDIA driver here"):
        bench.time(lambda: None)


@pytest.mark.parametrize(
    ("candidates", "options", "words"),
    [
        ({}, {}, "nothing to compare"),
        ({"naive": None}, {}, r"launch returns None. Write \"naive\": lambda"),
        ({"naive": 3.5}, {}, "is a float, not a function"),
        ({"f": print}, {"baseline": "torch"}, 'baseline "torch" is not among them'),
        ({"f": print}, {"ceiling": "copy"}, 'ceiling "copy" is not among them'),
        ({"f": print}, {"ceiling": 4e12}, "needs bytes= or flops="),
        ({"f": print}, {"bytes": 1, "flops": 1}, "not both"),
        ({"f": print}, {"host": True, "graph": True}, "not both"),
        ({"f": print}, {"baseline": "f", "guess": {"g": 2}}, 'your guess for "g"'),
        ({"f": print}, {"baseline": "f", "guess": {"f": -1}}, "a number above 0"),
        ({"f": print}, {"guess": {"f": 2}}, "give baseline="),
    ],
)
@pytest.mark.parametrize("machine", ["gpu", "no_gpu"])
def test_a_call_that_cannot_work_is_explained(
    request, machine, candidates, options, words
):
    request.getfixturevalue(machine)
    with pytest.raises(LearnerError, match=words):
        bench.compare(CASE, candidates, **options)


def test_a_candidate_that_fails_is_named_and_its_error_chained(gpu):
    class Calls(Stopwatch):
        def once(self, function, host):
            function()
            return Sample(1.0, 0.0)

    def broken():
        raise IndexError("past the end")

    with pytest.raises(
        bench.CandidateError, match=r'"naive" failed .* past the end'
    ) as e:
        bench.compare(CASE, {"copy": lambda: None, "naive": broken}, stopwatch=Calls())
    assert isinstance(e.value.__cause__, IndexError)


def test_a_number_in_a_guess_is_the_name_written_like_it():
    asked = Comparison("strides", baseline="1", guess={32: 4, 2.0: None, "8": 3})
    assert dict(asked.guess) == {"32": 4, "2": None, "8": 3}
    asked.check(["1", "2", "8", "32"])
    with pytest.raises(LearnerError, match='your guess for "64": no such name'):
        Comparison("strides", baseline="1", guess={64: 4}).check(["1", "2"])
    with pytest.raises(LearnerError, match=r'your guess for "2\.5": no such name'):
        Comparison("strides", baseline="1", guess={2.5: 4}).check(["1", "2"])


def test_a_guess_stands_beside_the_measurement(gpu):
    text = repr(ladder(guess={"naive": 0.9}))
    assert "your guess" in text
    assert "0.900" in text


def test_a_row_is_covered_until_it_is_predicted(gpu):
    table = ladder(guess={"naive": None})
    assert 'Covered until you predict: put a number for "naive"' in repr(table)
    line = next(x for x in repr(table).splitlines() if x.startswith("naive"))
    assert line.split() == ["naive", "?", "?", "?", "?", "?"]
    assert table._repr_html_().count(">?</span>") == 5
    assert table["naive"].measured  # for what the lesson claims of it
    assert "Covered" not in repr(ladder(guess={}))
    assert predictions.kept() == []


def test_a_prediction_is_judged_and_the_first_is_kept(gpu):
    table = ladder(guess={"naive": 1.0})
    ratio = table["naive"].ratio
    assert f"naive: you predicted 1.00, and it is {units.digits(ratio)}" in repr(table)
    ladder(guess={"naive": ratio})
    (kept,) = predictions.kept()
    assert (kept.guess, kept.measured) == (1.0, ratio)
    assert ": right." in repr(ladder(guess={"naive": ratio}))
    assert "times as fast as you expected" in repr(ladder(guess={"naive": ratio / 3}))
    assert "times slower than you expected" in repr(ladder(guess={"naive": ratio * 3}))


def test_solutions_cover_nothing(gpu, place, monkeypatch):
    (place / "solutions").mkdir()
    monkeypatch.chdir(place / "solutions")
    table = ladder(guess={"naive": None})
    assert 'Predict first: fill in your guess for "naive".' in repr(table)
    assert "?" not in repr(table)


def test_the_board_says_how_near_predictions_were(monkeypatch):
    for k in range(20):
        predictions.note("05_first_kernel", "case", f"row {k}", 2.0, 1.0)
    monkeypatch.setattr(predictions.store, "now", lambda: "9999-01-01T00:00:00+00:00")
    for k in range(10):
        predictions.note("05_first_kernel", "case", f"later {k}", 1.0, 1.1)
    assert predictions.summary() == (
        "30 predictions, typically off by a factor of 2.0; the last 10, 1.1."
    )
    predictions.store.write(
        predictions.store.place(predictions.FILE), {"x": 3, "y": {"guess": "odd"}}
    )
    assert predictions.summary() == ""


def starter(out):
    pass  # your code here


def test_a_kernel_that_is_not_written_is_named(gpu):
    def mine():
        return starter

    mine.times = itertools.cycle([0.1])
    table = bench.compare("x", {"mine": mine}, stopwatch=Stopwatch())
    assert "mine: `starter` is not written yet" in repr(table)


def test_rows_of_another_gpu_say_so(committed, no_gpu):
    page = without_a_gpu()._repr_html_()
    assert page.count(">H200</span>") == 2


def test_html_is_one_self_contained_table(gpu):
    page = ladder(guess={"naive": 0.5})._repr_html_()
    assert page.count("<tr") == 4
    assert "currentColor" in page
    assert "<script" not in page
    assert "http" not in page
    assert (
        "&lt;b&gt;"
        in bench.compare("x", {"<b>": takes(1.0)}, stopwatch=Stopwatch())._repr_html_()
    )


@pytest.fixture
def committed(place, gpu, monkeypatch):
    """Results of the lab, as the pipeline writes them on an H200."""
    monkeypatch.setenv("WEFT_RESULTS", str(place / "results"))
    monkeypatch.setenv("WEFT_DIGEST", "d1")
    ladder()
    monkeypatch.delenv("WEFT_RESULTS")
    return place / "results" / "13_shared_memory.nvidia-h200.json"


def test_results_follow_the_schema(committed):
    text = committed.read_text()
    assert text.endswith("}\n")
    data = json.loads(text)
    assert list(data) == sorted(data)
    assert data["lab"] == "13_shared_memory"
    assert data["digest"] == "d1"
    assert data["device"] == {
        "name": "NVIDIA H200",
        "capability": "9.0",
        "sms": 132,
        "driver": "580.159.03",
        "cuda": "13.0",
        "cpu": cpu.name(),
    }
    assert "python" in data["versions"]
    assert data["rows"][2] == {
        "case": CASE,
        "name": "naive",
        "ms": 1.0,
        "spread": 0.0,
        "value": 0.53687,
        "unit": "TB/s",
        "baseline": "torch",
        "ratio": 0.5,
        "ceiling": 0.125,
        "reps": 100,
    }


def test_results_merge_by_case_and_name_in_a_stable_order(committed, monkeypatch):
    monkeypatch.setenv("WEFT_RESULTS", str(committed.parent))
    bench.compare("other", {"f": takes(1.0)}, stopwatch=Stopwatch())
    bench.compare(CASE, {"copy": takes(0.1), "new": takes(1)}, stopwatch=Stopwatch())
    rows = json.loads(committed.read_text())["rows"]
    assert [(r["case"], r["name"]) for r in rows] == [
        (CASE, "copy"),
        (CASE, "torch"),
        (CASE, "naive"),
        ("other", "f"),
        (CASE, "new"),
    ]
    assert rows[0]["ms"] == 0.1
    assert rows[3]["value"] is None
    assert rows[3]["unit"] is None


def unsteady(**options):
    """A table of a steady row, one that varies by 40 %, and one of few repetitions."""
    candidates = {
        "steady": takes(1.0),
        "shaky": takes(0.8, 1.2),
        "rare": takes(400.0, 401.0),
    }
    clock = Stopwatch()
    clock.most = 200
    return bench.compare("varies", candidates, stopwatch=clock, **options)


def test_a_table_marks_times_that_are_not_to_be_relied_on(gpu, monkeypatch):
    monkeypatch.setattr("weft.bench.rows.FEW", 6)
    table = unsteady()
    lines = repr(table).splitlines()
    assert ["⚠" in line for line in lines[2:5]] == [False, True, True]
    assert "shaky: a time that varies by more than ± 10 %." in table.notes
    assert "rare: a time of only 5 repetitions." in table.notes


def test_a_row_in_doubt_is_recorded_only_with_a_reason(place, gpu, monkeypatch, capsys):
    monkeypatch.setenv("WEFT_RESULTS", str(place / "results"))
    monkeypatch.setenv("WEFT_CLAIMS", str(place / "claims"))
    file = place / "results" / "13_shared_memory.nvidia-h200.json"

    unsteady()
    assert [r["name"] for r in json.loads(file.read_text())["rows"]] == [
        "steady",
        "rare",
    ]
    claim = json.loads((place / "claims").read_text())
    assert claim["state"] == "failed"
    assert '"shaky" on "varies" is not recorded' in claim["text"]

    (place / "claims").unlink()
    unsteady(unsteady="a host that others use, too")
    rows = {r["name"]: r for r in json.loads(file.read_text())["rows"]}
    assert rows["shaky"]["unsteady"] == "a host that others use, too"
    assert "unsteady" not in rows["steady"]
    assert not (place / "claims").exists()


def test_a_learners_row_may_vary(gpu, capsys):
    assert unsteady()["shaky"].doubt
    assert capsys.readouterr().out == ""


def test_the_reference_gpus_times_are_marked_too(committed, no_gpu):
    data = json.loads(committed.read_text())
    data["rows"][2]["spread"] = 0.3
    committed.write_text(json.dumps(data))
    table = without_a_gpu()
    assert "naive: a time that varies by more than ± 10 %." in table.notes
    assert table["naive"].reps == 100


def test_results_of_an_older_notebook_are_dropped(committed, monkeypatch):
    monkeypatch.setenv("WEFT_RESULTS", str(committed.parent))
    monkeypatch.setenv("WEFT_DIGEST", "d2")
    bench.compare("other", {"f": takes(1.0)}, stopwatch=Stopwatch())
    data = json.loads(committed.read_text())
    assert data["digest"] == "d2"
    assert [r["case"] for r in data["rows"]] == ["other"]


def test_without_the_wish_for_results_none_are_written(gpu, place):
    ladder()
    assert list((place / "results").iterdir()) == []


def without_a_gpu(candidates=None, **options):
    names = {"naive": print, "copy": print}
    defaults = {"baseline": "copy", "bytes": BYTES, "ceiling": "copy"}
    return bench.compare(CASE, candidates or names, **(defaults | options))


@pytest.mark.parametrize("way", ["", "host", "graph"])
def test_what_a_recorded_time_includes_by_intention_is_no_remark(
    committed, no_gpu, monkeypatch, way
):
    monkeypatch.setattr("weft.timing.SHORT", 1e3)
    notes = " ".join(without_a_gpu(**({way: True} if way else {})).notes)
    assert ("includes the launch" in notes) == (way == "")


def test_without_a_gpu_the_reference_times_are_shown(committed, no_gpu):
    table = without_a_gpu()
    assert [r.name for r in table] == ["naive", "copy"]
    assert table["naive"].ms == 1.0
    assert table["naive"].rate == pytest.approx(BYTES / 1e-3, rel=1e-4)
    assert table["naive"].ratio == 0.125
    assert not table.here
    assert table.source.startswith(
        "No GPU here: these times are the reference GPU's. Measured on an NVIDIA H200 "
        "(driver 580.159.03, 20"
    )


def test_a_record_without_driver_and_date_has_no_parentheses(committed, no_gpu):
    data = json.loads(committed.read_text())
    del data["date"], data["device"]["driver"]
    committed.write_text(json.dumps(data))
    assert without_a_gpu().source.endswith(" Measured on an NVIDIA H200.")


def test_a_ceiling_of_this_machine_is_not_held_against_the_reference(committed, no_gpu):
    table = without_a_gpu(ceiling=1.7e10)
    assert table["naive"].ceiling == 0.125
    assert table.ceiling == "the ceiling"


def test_a_row_the_reference_does_not_know_has_no_numbers(committed, no_gpu):
    table = without_a_gpu({"copy": print, "mine": print})
    assert not table["mine"].measured
    assert "Not timed on the reference GPU: mine." in repr(table)
    assert re.search(rf"\nmine( +{units.DASH}){{5}}\n", repr(table))
    assert "<td" in table._repr_html_()


@pytest.mark.parametrize(
    ("lab", "words"),
    [("05_first_kernel", "has not been run on a GPU yet"), (None, "which lab this is")],
)
def test_without_a_reference_nothing_is_invented(no_gpu, monkeypatch, lab, words):
    monkeypatch.setattr(lesson, "_current", lab)
    table = without_a_gpu(guess={"naive": 0.5})
    assert words in table.source
    assert not any(row.measured for row in table)
    assert table["naive"].guess == 0.5
    assert "0 µs" not in repr(table)


def test_a_builder_is_called_only_on_a_gpu(committed, monkeypatch):
    def build():
        raise AssertionError("no GPU memory here")

    monkeypatch.setattr(device, "find", lambda: Device(False, "no GPU"))
    assert [r.name for r in without_a_gpu(build)] == ["copy", "torch", "naive"]
    with pytest.raises(LearnerError, match='your guess for "nive"'):
        without_a_gpu(build, guess={"nive": 2})
    table = bench.compare("x", lambda: {"f": takes(1.0)}, stopwatch=Stopwatch())
    assert table["f"].ms == 1.0


def test_the_reference_is_the_h200_where_there_are_several(committed):
    other = committed.with_name("13_shared_memory.a-gpu.json")
    data = json.loads(committed.read_text())
    data["device"]["name"] = "A GPU"
    other.write_text(json.dumps(data))
    assert results.reference("13_shared_memory")["device"]["name"] == "NVIDIA H200"
    committed.write_text("{ broken")
    assert results.reference("13_shared_memory")["device"]["name"] == "A GPU"
    assert results.reference("13_shared") is None


def test_the_book_reads_a_case(committed):
    table = bench.reference("13_shared_memory", CASE)
    assert table.source.startswith("Measured on an NVIDIA H200 (driver 580")
    assert [r.name for r in table] == ["copy", "torch", "naive"]
    assert bench.reference("13_shared_memory", "no such case") is None


@pytest.mark.parametrize(
    ("gpu", "slug"),
    [
        ("NVIDIA H200", "nvidia-h200"),
        ("NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
        ("Tesla T4", "tesla-t4"),
    ],
)
def test_slug(gpu, slug):
    assert results.slug(gpu) == slug


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (units.rate(4.27e12, "B"), "4.27 TB/s"),
        (units.rate(8.12e11, "FLOP"), "812 GFLOP/s"),
        (units.rate(math.nan, "B"), "–"),
        (units.time(0.0123), "12.3 µs"),
        (units.time(0.126), "0.126 ms"),
        (units.time(1980), "1980 ms"),
        (units.time(19800), "19.8 s"),
        (units.digits(9.996), "10.0"),
        (units.digits(51), "51.0"),
        (units.percent(0.943), "94 %"),
        (units.percent(0.0031), "0.31 %"),
        (units.size(150e9), "150 GB"),
    ],
)
def test_units(written, expected):
    assert written == expected


class Compiled:
    """A Numba kernel's reports, as far as `bench.compiled` asks for them."""

    def __init__(self, registers: int, local: int, shared: int) -> None:
        self.reports = registers, local, shared

    def get_regs_per_thread(self):
        return {"first": 1, "last": self.reports[0]}

    def get_local_mem_per_thread(self):
        return {"first": 1, "last": self.reports[1]}

    def get_shared_mem_per_block(self):
        return {"first": 1, "last": self.reports[2]}


def test_what_was_compiled_is_printed_and_recorded(gpu, place, monkeypatch, capsys):
    monkeypatch.setenv("WEFT_RESULTS", str(place))
    bench.compiled("softmax", lambda: {"ours": (Compiled(64, 8, 45_128), 256)})
    out = capsys.readouterr().out
    assert "registers  local memory  shared memory  blocks an SM  occupancy" in out
    assert re.search(r"ours\s+64\s+8 B\s+45128 B\s+4\s+50%", out)
    (written,) = place.glob("13_shared_memory.*.json")
    rows = json.loads(written.read_text())["rows"]
    assert {row["case"]: row["value"] for row in rows} == {
        "softmax, registers": 64,
        "softmax, local memory": 8,
        "softmax, shared memory": 45_128,
        "softmax, blocks": 4,
        "softmax, occupancy": 50,
    }
    assert builds.lines(builds.from_rows("softmax", rows))[1] in out


def test_without_a_gpu_the_reference_gpus_builds_are_shown(no_gpu, monkeypatch, capsys):
    made = {"ours": builds.Build(64, 8, 45_128, 4, 50)}
    timed = {"case": "softmax, 8192 x 8192", "name": "ours", "value": 1.0, "unit": "s"}
    rows = [timed, *builds.rows_of("softmax", made)]
    data = {"device": {"name": "a GPU"}, "rows": rows}
    monkeypatch.setattr(results, "reference", lambda lab: data)
    bench.compiled("softmax", lambda: pytest.fail("nothing was compiled here"))
    out = capsys.readouterr().out
    assert "On a GPU:" in out
    assert builds.lines(made)[1] in out
    bench.compiled("another", dict)
    assert "no such numbers" in capsys.readouterr().out


def test_a_kernel_that_was_never_launched_has_no_build():
    class Never(Compiled):
        def get_regs_per_thread(self):
            return {}

    with pytest.raises(ValueError, match="launch it first"):
        builds.build_of(Never(0, 0, 0), 32, (9, 0))
