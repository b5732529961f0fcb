"""Claims about speed: what makes them hold, on which machine, and what if they fail."""

import ast
import itertools
import json
import math
from pathlib import Path

import pytest

from weft import bench, device, lesson, timing
from weft.bench import Row, Table, claims
from weft.device import Device
from weft.errors import LearnerError
from weft.timing import Sample

H200 = Device(True, "", "", "NVIDIA H200", (9, 0), 132, 150 * 10**9, 60 << 20, (13, 0))
H100 = Device(True, "", "", "NVIDIA H100", (9, 0), 132, 80 * 10**9, 50 << 20, (13, 0))
LAB = "13_shared_memory"
CASE = "8192 x 8192 float32"
BYTES = 2 * 4 * 8192**2
SOLUTIONS = sorted((Path(__file__).parents[1] / "chapters").glob("[0-9]*/lab.py"))


class Stopwatch:
    """Each function carries its milliseconds: one number for each measurement."""

    host = False

    def once(self, function, host):
        return Sample(function.ms, 0.001)


class HostStopwatch(Stopwatch):
    host = True


def taking(ms):
    def function():
        raise AssertionError("the stopwatch should not need to call it")

    function.ms = ms
    return function


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A working copy in an empty folder; lab 13; a run that raises at once."""
    (tmp_path / "weft").mkdir()
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lesson, "_current", LAB)
    monkeypatch.setattr(device, "driver_version", lambda: "580.159.03")
    for name in ("WEFT_RESULTS", "WEFT_CLAIMS", "WEFT_DIGEST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WEFT_STRICT", "1")
    return tmp_path


@pytest.fixture
def on(monkeypatch):
    """Call it to work on a certain GPU, or on none."""

    def machine(gpu):
        found = gpu or Device(False, "no NVIDIA driver here")
        monkeypatch.setattr(device, "find", lambda: found)

    return machine


@pytest.fixture
def ledger(place, monkeypatch):
    """Claims are collected; call it to read those noted so far as (state, text)."""
    path = place / "claims.jsonl"
    monkeypatch.setenv("WEFT_CLAIMS", str(path))

    def noted():
        lines = path.read_text().splitlines() if path.exists() else []
        return [(e["state"], e["text"]) for e in map(json.loads, lines)]

    return noted


def measured(stopwatch=None, case=CASE, **ms):
    """Compare rows; a list of times is for the first measurement, the second, …"""
    times = {n: [t] if isinstance(t, float) else t for n, t in ms.items()}
    turns = itertools.count()

    def build():
        turn = next(turns)
        build.turns = turn + 1
        return {n: taking(t[min(turn, len(t) - 1)]) for n, t in times.items()}

    table = bench.compare(
        case,
        build,
        baseline="torch" if "torch" in ms else None,
        bytes=BYTES,
        ceiling="copy" if "copy" in ms else None,
        stopwatch=stopwatch or Stopwatch(),
    )
    return table, build


def record(place, monkeypatch, **options):
    """Write a record of this GPU, as the pipeline does."""
    monkeypatch.setenv("WEFT_RESULTS", str(place / "results"))
    measured(**({"copy": 0.125, "torch": 0.5, "mine": 0.25} | options))
    monkeypatch.delenv("WEFT_RESULTS")


@pytest.fixture
def recorded(on, place, monkeypatch):
    """The H200's record: mine is twice as fast as torch, at half the copy's speed."""
    on(H200)
    record(place, monkeypatch)


# the reference GPU's rows, without a GPU: to the letter


def reference_table():
    return bench.compare(
        CASE,
        {"copy": print, "torch": print, "mine": print},
        baseline="torch",
        bytes=BYTES,
        ceiling="copy",
    )


def test_the_text_is_held_against_the_record(recorded, on, capsys):
    on(None)
    table = reference_table()
    assert not table.here
    table.expect("mine", at_least=2)
    table.expect("mine", at_least=2, at_most=2.1, ceiling=0.5)
    table.expect("torch", at_least=0.5, times="mine")
    assert capsys.readouterr().out == ""
    with pytest.raises(
        AssertionError, match=r"2 times; the lesson says at least 2.1 t"
    ):
        table.expect("mine", at_least=2.1)
    with pytest.raises(AssertionError, match=r"the lesson says at most 1.9 times"):
        table.expect("mine", at_most=1.9)
    with pytest.raises(AssertionError, match="50 %; the lesson says at least 60 %"):
        table.expect("mine", ceiling=0.6)


def test_rows_that_were_never_timed_are_not_checked(recorded, on, capsys):
    on(None)
    table = bench.compare(CASE, {"torch": print, "new": print}, baseline="torch")
    table.expect("new", at_least=2)
    assert capsys.readouterr().out == (
        'Not checked: "new" was not timed on a GPU yet.\n'
    )
    table = bench.compare(CASE, {"new": print, "newer": print}, baseline="new")
    table.expect("newer", at_least=2)
    assert capsys.readouterr().out == (
        'Not checked: "newer" and "new" were not timed on a GPU yet.\n'
    )
    empty = Table("a case", (), "B", "", "", "No GPU here.", False)
    empty.expect("any", at_least=2, times="other")
    assert 'Not checked: "a case"' in capsys.readouterr().out


# a GPU with a record


def test_a_kernel_slowed_by_a_fifth_is_caught_where_a_record_exists(recorded):
    table, build = measured(copy=0.125, torch=0.5, mine=0.25 * 1.2)
    with pytest.raises(AssertionError) as caught:
        table.expect("mine", at_least=1.3)  # which it is, and that is not the question
    assert build.turns == claims.MEASUREMENTS
    assert str(caught.value) == (
        '"mine" on "8192 x 8192 float32" beside "torch" (0.300 ms ± 0 µs and 0.500 ms '
        "± 0 µs): 1.67 times, then 1.67 times, then 1.67 times here; this GPU's record "
        "has 2 times, and less than 1.7 times is too little"
    )
    with pytest.raises(AssertionError, match="record has 50 %, and less than 42 %"):
        table.expect("mine", ceiling=0.3)
    assert build.turns == claims.MEASUREMENTS


def test_a_tenth_is_noise_and_measured_once(recorded, capsys):
    table, build = measured(copy=0.125, torch=0.5, mine=0.25 * 1.1)
    table.expect("mine", at_least=1.3)
    table.expect("mine", ceiling=0.4)
    assert build.turns == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("good", [1, 2])
def test_a_slow_moment_is_measured_again(recorded, good):
    table, build = measured(copy=0.125, torch=0.5, mine=[0.5] * good + [0.25])
    table.expect("mine", at_least=1.3)
    assert build.turns == 1 + good
    table.expect("mine", at_least=1.5, times="torch")  # no need to measure once more
    assert build.turns == 1 + good


def test_three_slow_measurements_are_enough(recorded):
    table, build = measured(copy=0.125, torch=0.5, mine=[0.5, 0.5, 0.5, 0.25])
    with pytest.raises(AssertionError, match="1 times, then 1 times, then 1 times"):
        table.expect("mine", at_least=1.3)
    assert build.turns == 3


def test_functions_given_as_they_are_are_measured_again_too(recorded):
    table = bench.compare(
        CASE,
        {"torch": taking(0.5), "mine": taking(0.4)},
        baseline="torch",
        stopwatch=Stopwatch(),
    )
    with pytest.raises(AssertionError, match=r"then 1.25 times, then 1.25 times here"):
        table.expect("mine", at_least=1.3)


def test_what_cannot_be_measured_again_has_failed(recorded):
    built = iter([{"torch": taking(0.5), "mine": taking(0.4)}])

    def build():
        return next(built, {"torch": taking(0.5), "mine": print})

    table = bench.compare(CASE, build, baseline="torch", stopwatch=Stopwatch())
    with pytest.raises(
        AssertionError, match=r"1.25 times, then CandidateError \(\"mine"
    ):
        table.expect("mine", at_least=1.3)


def test_the_host_may_take_twice_as_long(recorded):
    table, _ = measured(HostStopwatch(), copy=0.125, torch=0.5, mine=0.45)
    table.expect("mine", at_least=1.3)
    table, _ = measured(HostStopwatch(), copy=0.125, torch=0.5, mine=0.55)
    with pytest.raises(AssertionError, match="less than 1 times is too little"):
        table.expect("mine", at_least=1.3)


def test_a_stopwatch_that_says_nothing_of_the_host_counts_as_the_hosts(recorded):
    class Plain:
        def once(self, function, host):
            return Sample(function.ms, 0.0)

    table, _ = measured(Plain(), copy=0.125, torch=0.5, mine=0.45)
    table.expect("mine", at_least=1.3)


@pytest.mark.parametrize(
    ("options", "name", "least"),
    [
        ({}, "EventStopwatch", 0.85),
        ({"graph": True}, "GraphStopwatch", 0.85),
        ({"host": True}, "WallStopwatch", 0.5),
    ],
)
def test_it_is_measured_again_in_the_same_way(
    recorded, monkeypatch, options, name, least
):
    made = []
    for kind in ("EventStopwatch", "GraphStopwatch", "WallStopwatch"):

        class Fake(Stopwatch):
            kind_ = kind
            host = getattr(timing, kind).host

            def __init__(self):
                made.append(self.kind_)

        monkeypatch.setattr(timing, kind, Fake)

    def table(ms):
        made.clear()
        pair = {"torch": taking(0.5), "mine": taking(ms)}
        return bench.compare(CASE, pair, baseline="torch", **options)

    table(0.25 / least * 0.99).expect("mine", at_least=1.3)
    assert made == [name]
    slow = table(0.25 / least * 1.01)
    with pytest.raises(AssertionError):
        slow.expect("mine", at_least=1.3)
    assert made == [name] * claims.MEASUREMENTS


def test_what_the_lesson_says_is_shown_where_it_is_not_so(recorded, capsys):
    table, _ = measured(copy=0.125, torch=0.5, mine=0.28)
    table.expect("mine", at_least=1.9)
    assert capsys.readouterr().out == (
        '"mine" on "8192 x 8192 float32" beside "torch" (0.280 ms ± 0 µs and 0.500 ms '
        "± 0 µs): 1.79 times on this GPU (the lesson says at least 1.9 times, for the "
        "NVIDIA H200)\n"
    )


# a GPU without a record


def test_on_another_gpu_the_direction_counts(recorded, on, capsys):
    on(H100)
    table, build = measured(copy=0.125, torch=0.5, mine=0.4)
    table.expect("mine", at_least=1.3)
    assert "1.25 times on this GPU" in capsys.readouterr().out
    assert build.turns == 1


def test_a_tie_counts_on_another_gpu_and_the_reverse_does_not(recorded, on):
    on(H100)
    measured(torch=0.5, mine=0.52)[0].expect("mine", at_least=1.3)
    table, build = measured(torch=0.5, mine=0.53)
    with pytest.raises(
        AssertionError, match=r"0.943 times.*the lesson says at least 1.3"
    ):
        table.expect("mine", at_least=1.3)
    assert build.turns == 3


def test_not_much_slower_is_a_direction_too(recorded, on):
    on(H100)
    measured(torch=0.5, mine=0.65)[0].expect("mine", at_least=0.8)
    with pytest.raises(AssertionError):
        measured(torch=0.5, mine=0.66)[0].expect("mine", at_least=0.8)


def test_upper_bounds_and_ceilings_are_shown_on_another_gpu(recorded, on, capsys):
    on(H100)
    table, build = measured(copy=0.125, torch=0.5, mine=0.5)
    table.expect("copy", at_most=3)
    table.expect("mine", ceiling=0.5)
    said = capsys.readouterr().out.splitlines()
    assert "4 times on this GPU (the lesson says at most 3 times" in said[0]
    assert "25 % on this GPU (the lesson says at least 50 %" in said[1]
    assert build.turns == 1


def test_the_record_of_another_case_does_not_count(recorded):
    table, _ = measured(case="4096 x 4096 float32", torch=0.5, mine=0.4)
    table.expect("mine", at_least=1.3)


# laws


@pytest.mark.parametrize("gpu", [H200, H100])
def test_a_law_holds_on_every_gpu_within_a_third(recorded, on, gpu):
    on(gpu)
    for ms in (0.185, 0.34):
        table, _ = measured(torch=0.5, mine=ms)
        table.expect("mine", law=2, within=0.15)
    for ms in (0.175, 0.36):
        table, _ = measured(torch=0.5, mine=ms)
        with pytest.raises(AssertionError, match="the lesson says 2 times by the law"):
            table.expect("mine", law=2, within=0.15)


def test_the_record_is_held_against_a_law_more_closely(recorded, on):
    on(None)
    reference_table().expect("mine", law=2.2, within=0.15)
    reference_table().expect("mine", law=2.7)
    with pytest.raises(AssertionError):
        reference_table().expect("mine", law=2.7, within=0.15)


# two tables


def test_rows_of_two_tables_are_compared_by_rate_or_by_calls(recorded, on):
    on(H100)
    even, _ = measured(case="even", torch=0.5, mine=0.25)
    dark, _ = measured(case="dark", torch=4.0, mine=0.25)
    even.expect("torch", at_least=5, times="torch", of=dark)
    dark.expect("mine", at_least=0.9, times="mine", of=even)
    with pytest.raises(
        AssertionError, match='"torch" on "dark" beside "torch" on "even"'
    ):
        dark.expect("torch", at_least=1, times="torch", of=even)
    small = bench.compare(
        "small", {"mine": taking(0.25)}, bytes=BYTES / 10, stopwatch=Stopwatch()
    )
    even.expect("mine", at_least=9, at_most=11, times="mine", of=small)
    plain = bench.compare("plain", {"mine": taking(0.5)}, stopwatch=Stopwatch())
    even.expect("mine", at_least=1.9, times="mine", of=plain)


def test_a_record_of_both_tables_counts(on, place, monkeypatch):
    on(H200)
    record(place, monkeypatch, case="even")
    record(place, monkeypatch, case="dark", mine=0.5)
    even, _ = measured(case="even", copy=0.125, torch=0.5, mine=0.25)
    dark, _ = measured(case="dark", copy=0.125, torch=0.5, mine=0.4)
    with pytest.raises(AssertionError, match="record has 2 times"):
        even.expect("mine", at_least=1.1, times="mine", of=dark)


# while a record is written


@pytest.fixture
def writing(place, monkeypatch):
    monkeypatch.setenv("WEFT_RESULTS", str(place / "new"))


def test_a_new_record_is_only_compared_with_the_old(recorded, writing, ledger, capsys):
    table, build = measured(copy=0.125, torch=0.5, mine=0.3)
    table.expect("mine", at_least=1.3)
    assert build.turns == 1
    ((state, text),) = ledger()
    assert state == "warned"
    assert text.endswith("1.67 times, which was 2 times in the record before")
    assert capsys.readouterr().out == ""


def test_a_new_record_has_the_direction(recorded, on, writing, ledger):
    on(H100)
    table, build = measured(copy=0.125, torch=0.5, mine=0.6)
    table.expect("mine", at_least=1.3)
    table.expect("mine", ceiling=0.9)
    assert build.turns == 1
    assert [state for state, _ in ledger()] == ["failed", "differs"]


def test_a_new_record_of_the_reference_is_what_the_lesson_says(writing, on, ledger):
    on(H200)
    table, _ = measured(copy=0.125, torch=0.5, mine=0.4)
    table.expect("mine", at_least=1.3, ceiling=0.5)
    table.expect("mine", law=1.5, within=0.15)
    assert [state for state, _ in ledger()] == ["failed"] * 3
    assert (device.find().name, bench.reference(LAB, CASE)) == ("NVIDIA H200", None)


# what becomes of a failure


def test_a_failure_is_noted_and_stops_nothing(recorded, on, ledger, capsys):
    on(None)
    reference_table().expect("mine", at_least=9)
    reference_table().expect("mine", at_least=1)
    assert capsys.readouterr().out == ""
    ((state, text),) = ledger()
    assert state == "failed"
    assert "the lesson says at least 9 times" in text


def test_a_learner_sees_it_and_goes_on(recorded, on, monkeypatch, capsys):
    on(None)
    monkeypatch.delenv("WEFT_STRICT")
    reference_table().expect("mine", at_least=9)
    assert capsys.readouterr().out.startswith('✗ "mine" on')


# chance, and what no table holds


def test_what_happens_by_chance_is_tried_twenty_times(ledger, capsys):
    tries = itertools.count(1)
    bench.sometimes("updates are lost", lambda: next(tries) == 20)
    assert ledger() == []
    bench.sometimes("updates are lost", lambda: next(tries) == 0)
    assert next(tries) == 41
    assert ledger() == [("warned", "updates are lost: not once in 20 tries here")]


def test_what_never_happens_is_no_failure(capsys):
    bench.sometimes("the sums differ", lambda: False)
    assert capsys.readouterr().out == "· the sums differ: not once in 20 tries here\n"


def test_what_is_always_so_fails_at_once():
    bench.always("the sums agree", True)
    with pytest.raises(AssertionError, match="the sums agree: that is not so here"):
        bench.always("the sums agree", False)


def test_a_factor_that_no_table_holds(capsys):
    bench.expect("C beside Python", 12.0, at_least=10)
    assert capsys.readouterr().out == ""
    bench.expect("C beside Python", 3.0, at_least=10)
    assert capsys.readouterr().out == (
        "C beside Python: 3 times here (the lesson says at least 10 times)\n"
    )
    with pytest.raises(
        AssertionError, match=r"0.5 times here; the lesson says at least"
    ):
        bench.expect("C beside Python", 0.5, at_least=10)
    with pytest.raises(AssertionError):
        bench.expect("copies overlap", 1.4, at_least=1.5, live=False)


# mistakes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "expect what"),
        ({"times": "mine"}, "expect what"),
        ({"ceiling": 0.5, "times": "mine"}, "expect what"),
        ({"at_least": 0}, "give a number above 0"),
        ({"at_least": -1}, "give a number above 0"),
        ({"at_least": math.nan}, "give a number above 0"),
        ({"law": 2, "at_least": 1}, "a law says both"),
        ({"within": 0.1, "at_least": 1}, "how near to a law"),
        ({"at_least": 1, "times": "mien"}, "Its rows: copy, torch, mine"),
    ],
)
def test_a_claim_that_means_nothing_is_an_error(recorded, options, words):
    table, _ = measured(copy=0.125, torch=0.5, mine=0.25)
    with pytest.raises(LearnerError, match=words):
        table.expect("mine", **options)


def test_mistyped_words_are_errors(recorded):
    table, _ = measured(torch=0.5, mine=0.25)
    with pytest.raises(LearnerError, match="Its rows: torch, mine"):
        table.expect("mien", at_least=1)
    with pytest.raises(TypeError, match="atleast"):
        table.expect("mine", atleast=1)
    with pytest.raises(LearnerError, match="this table has no ceiling"):
        table.expect("mine", ceiling=0.5)
    alone, _ = measured(mine=0.25)
    with pytest.raises(LearnerError, match="at least 2 times what"):
        alone.expect("mine", at_least=2)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_no_solution_asserts_a_time(path):
    """A failing `assert` would end the notebook; claims are collected."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assert):
            attributes = {n.attr for n in ast.walk(node) if hasattr(n, "attr")}
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            timed = attributes & {"ms", "rate", "ratio", "busy"} or names & {"ms"}
            assert not timed, f"line {node.lineno}: claim it with expect()"


def test_rows_may_be_made_by_hand():
    rows = (Row("a", 1.0), Row("b", 2.0))
    table = Table("case", rows, "", "b", "", "From a book.", True)
    table.expect("a", at_least=2)
    with pytest.raises(AssertionError, match=r"0.5 times here; the lesson"):
        table.expect("b", at_least=1, times="a")
