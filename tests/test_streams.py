"""Host code in the model: order, waiting, buffers, overlap, and the clock.

The exercises of lab 07 have their wrong host functions in its folder; here are the
rules of the model itself, each as CUDA documents it.
"""

import linecache
import random
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba
from weft.errors import LearnerError
from weft.streams import check, timeline
from weft.streams.machine import HOST, CudaAPIError, Machine, Mark, Worker
from weft.streams.timeline import Bar, Timeline, apart
from weft.streams.twin import Bench, DeviceArray, HostArray, Watched, plain

from numba import cuda, float32  # isort: skip

N = 64


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * float32(2)


def watch(function: Callable[..., Any], *kinds: str) -> tuple[Machine, Any]:
    """Run `function` on arrays of the given kinds; give the machine and the result."""
    watched = Watched(function)  # type: ignore[arg-type]
    bench = Bench(watched)
    data = np.arange(N, dtype=np.float32)
    made = {
        "pageable": lambda: bench.pageable(data),
        "pinned": lambda: bench.pinned(data),
        "device": lambda: bench.device_like(data),
        "stream": bench.stream,
    }
    args = [made[kind]() for kind in kinds]
    return watched.machine, watched.call(*args)


def conflicts(function: Callable[..., Any], *kinds: str) -> list[tuple[str, str]]:
    machine, _ = watch(function, *kinds)
    return [(c.first.kind, c.later.kind) for c in machine.conflicts]


# What is ordered


def test_a_stream_keeps_its_order():
    def run(x, out, d_x, s):
        d_x.copy_to_device(x, stream=s)
        double[2, 32, s](d_x, d_x)
        d_x.copy_to_host(out, stream=s)
        s.synchronize()
        return out.sum()

    assert conflicts(run, "pinned", "pinned", "device", "stream") == []


def test_two_streams_have_none():
    def run(x, d_x, d_out, s, t):
        d_x.copy_to_device(x, stream=s)
        double[2, 32, t](d_x, d_out)

    kinds = ("pinned", "device", "device", "stream", "stream")
    assert conflicts(run, *kinds) == [("copy in", "kernel")]


def test_other_parts_of_an_array_are_nobodys_business():
    def run(x, d_x, d_out, s, t):
        d_x[:32].copy_to_device(x[:32], stream=s)
        double[1, 32, t](d_x[32:], d_out[32:])

    kinds = ("pinned", "device", "device", "stream", "stream")
    assert conflicts(run, *kinds) == []


def test_an_event_orders_them():
    def run(x, d_x, d_out, s, t):
        d_x.copy_to_device(x, stream=s)
        event = cuda.event()
        event.record(s)
        event.wait(t)
        double[2, 32, t](d_x, d_out)

    kinds = ("pinned", "device", "device", "stream", "stream")
    assert conflicts(run, *kinds) == []


def test_a_wait_is_for_the_last_record_before_it():
    def run(x, d_x, d_out, s, t):
        event = cuda.event()
        event.record(s)
        event.wait(t)
        d_x.copy_to_device(x, stream=s)
        event.record(s)  # too late for the wait above
        double[2, 32, t](d_x, d_out)

    kinds = ("pinned", "device", "device", "stream", "stream")
    assert conflicts(run, *kinds) == [("copy in", "kernel")]


def test_an_event_never_recorded_orders_nothing():
    def run(x, d_x, d_out, s, t):
        d_x.copy_to_device(x, stream=s)
        cuda.event().wait(t)
        double[2, 32, t](d_x, d_out)

    kinds = ("pinned", "device", "device", "stream", "stream")
    assert conflicts(run, *kinds) == [("copy in", "kernel")]


def test_the_default_stream_waits_for_all_and_all_for_it():
    def run(x, out, d_x, s, t):
        d_x.copy_to_device(x, stream=s)
        double[2, 32](d_x, d_x)
        d_x.copy_to_host(out, stream=t)
        t.synchronize()
        return float(out[0])

    assert conflicts(run, "pinned", "pinned", "device", "stream", "stream") == []


def test_what_the_host_knows_streams_know():
    def run(x, d_x, d_out, s, t):
        d_x.copy_to_device(x, stream=s)
        s.synchronize()
        double[2, 32, t](d_x, d_out)

    kinds = ("pinned", "device", "device", "stream", "stream")
    assert conflicts(run, *kinds) == []


def test_an_array_made_in_a_stream_copies_in_it():
    def run(x, out, s, t):
        d_x = cuda.to_device(x, stream=s)
        double[2, 32, s](d_x, d_x)
        d_x.copy_to_host(out)  # as Numba does: in s, and returns at once
        return out[3]

    assert conflicts(run, "pinned", "pinned", "stream", "stream") == [
        ("copy out", "host")
    ]


# What the host may touch


@pytest.mark.parametrize(
    "look",
    [
        lambda out: out[3],
        lambda out: out.sum(),
        lambda out: out + 1,
        lambda out: np.copy(out),
        lambda out: np.array_equal(out, out),
        lambda out: out.tolist(),
        lambda out: out[out > 0],
        lambda out: float(out[0]),
        lambda out: np.max(out[2:5]),
        lambda out: np.concatenate([out, out]),
        lambda out: np.dot(a=out, b=out),
    ],
)
def test_a_look_at_pinned_memory_is_noticed(look):
    def run(out, d_x, s):
        double[2, 32, s](d_x, d_x)
        d_x.copy_to_host(out, stream=s)
        return look(out)

    assert ("copy out", "host") in conflicts(run, "pinned", "device", "stream")


def test_arrays_in_a_list_are_joined_as_ordinary_ones():
    _, got = watch(lambda x, y: np.concatenate([x, y]), "pinned", "pageable")
    assert np.array_equal(got, [*range(N), *range(N)])


def test_a_mask_may_be_the_hosts_too():
    def run(x):
        return np.add(x, 1, out=np.zeros(N), where=x.astype(bool))

    _, got = watch(run, "pinned")
    assert got[:2].tolist() == [0, 2]


def test_a_slice_is_no_look():
    def run(out, d_x, s):
        for lo in (0, 32):
            d_x[lo : lo + 32].copy_to_host(out[lo : lo + 32], stream=s)
        return out.shape, len(out), out.nbytes

    assert conflicts(run, "pinned", "device", "stream") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.__setitem__(slice(None), 1),
        lambda x: x.__setitem__(5, 1),
        lambda x: x.fill(0),
        lambda x: np.copyto(x, np.zeros(N, np.float32)),
        lambda x: np.add(x, 1, out=x),
        lambda x: np.copyto(dst=x, src=np.zeros(N, np.float32)),
        lambda x: np.cumsum(np.ones(N, np.float32), out=x),
    ],
)
def test_a_change_of_pinned_memory_is_noticed(change):
    def run(x, d_x, s):
        d_x.copy_to_device(x, stream=s)
        change(x)

    assert ("copy in", "host") in conflicts(run, "pinned", "device", "stream")


def test_pageable_memory_is_read_before_the_call_returns():
    def run(x, d_x, s):
        d_x.copy_to_device(x, stream=s)
        x[:] = 0

    assert conflicts(run, "pageable", "device", "stream") == []


def test_a_copy_to_pageable_memory_waits():
    def run(out, d_x, s):
        double[2, 32, s](d_x, d_x)
        d_x.copy_to_host(out, stream=s)
        return out[0]

    assert conflicts(run, "pageable", "device", "stream") == []


def test_a_mapped_array_is_the_kernels_too():
    def run(s):
        x = cuda.mapped_array(N, np.float32)
        x[:] = 1
        double[2, 32, s](x, x)
        return x[0]

    assert conflicts(run, "stream") == [("kernel", "host")]


# What is done, and when


def test_values_are_right_in_the_order_of_asking():
    def run(x, s):
        d_x = cuda.to_device(x, stream=s)
        double[2, 32, s](d_x, d_x)
        return d_x.copy_to_host(stream=s)

    _, got = watch(run, "pageable", "stream")
    assert np.array_equal(plain(got), 2 * np.arange(N, dtype=np.float32))


def test_other_ways_to_cut_and_to_launch():
    def run(x, out, d_x, s, t):
        for k, part in enumerate(d_x.split(32)):
            stream = (s, t)[k]
            part.copy_to_device(np.array_split(x, 2)[k], stream=stream)
            double.forall(32, stream=stream)(part, part)
            part.copy_to_host(out[k * 32 : k * 32 + 32], stream=stream)
        cuda.synchronize()
        return out.sum()

    kinds = ("pinned", "pinned", "device", "stream", "stream")
    machine, total = watch(run, *kinds)
    assert machine.conflicts == []
    assert total == N * (N - 1)
    assert {o.worker for o in machine.operations} == {"stream 0", "stream 1", HOST}


def test_a_host_array_given_to_a_kernel_crosses_the_bus_twice():
    def run(x):
        double[2, 32](x, x)

    machine, _ = watch(run, "pageable")
    kinds = [o.kind for o in machine.operations]
    assert kinds == ["copy in", "copy in", "kernel", "copy out", "copy out"]
    assert [name for name, _ in machine.implicit] == ["x", "out"]


def test_engines_work_side_by_side():
    def run(x, y, d_x, d_y, s, t):
        d_x.copy_to_device(x, stream=s)
        d_y.copy_to_host(y, stream=t)

    kinds = ("pinned", "pinned", "device", "device", "stream", "stream")
    machine, _ = watch(run, *kinds)
    assert machine.end < 0.6 * machine.one_by_one


def test_one_engine_does_one_thing_after_the_other():
    def run(x, y, d_x, d_y, s, t):
        d_x.copy_to_device(x, stream=s)
        d_y.copy_to_device(y, stream=t)

    kinds = ("pinned", "pinned", "device", "device", "stream", "stream")
    machine, _ = watch(run, *kinds)
    assert machine.end >= machine.one_by_one


def test_the_clock_is_the_machines():
    def run(x, d_x, s):
        start = time.perf_counter()
        d_x.copy_to_device(x, stream=s)
        asked = time.perf_counter() - start
        s.synchronize()
        return asked, time.perf_counter() - start

    _, (asked, done) = watch(run, "pinned", "device", "stream")
    assert asked < 0.02 * done
    assert done == pytest.approx(N * 4 / 64 / 1e3, rel=0.02)


def test_an_event_says_when_it_has_happened():
    def run(x, d_x, s):
        event = cuda.event()
        d_x.copy_to_device(x, stream=s)
        event.record(s)
        before = event.query()
        event.synchronize()
        return before, event.query()

    _, answers = watch(run, "pinned", "device", "stream")
    assert answers == (False, True)


def test_asking_an_event_takes_time():
    def run(d_x, s):
        double[2, 32, s](d_x, d_x)
        event = cuda.event()
        event.record(s)
        asked = 0
        while not event.query():
            asked += 1
        return asked

    machine, asked = watch(run, "device", "stream")
    assert asked > 1
    assert [w.what for w in machine.waits] == ["an event"]


def test_asarray_copies_to_the_host():
    def run(x):
        d_x = cuda.to_device(x)
        return np.asarray(d_x), np.asarray(d_x, np.float64)

    machine, (same, wide) = watch(run, "pinned")
    assert same.sum() == wide.sum() == N * (N - 1) / 2
    assert [o.kind for o in machine.operations] == ["copy in", "copy out", "copy out"]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda x, d: d.__setitem__(slice(None), x), "copy_to_device only"),
        (lambda x, d: cuda.managed_array(N), "has no cuda.managed_array"),
    ],
)
def test_what_the_model_lacks_is_said(ask, words):
    with pytest.raises((NotImplementedError, AttributeError), match=words):
        watch(ask, "pinned", "device")


def test_a_stray_event_is_named():
    def run(s):
        event = cuda.event()
        event.record()
        event.wait(s)

    machine, _ = watch(run, "stream")
    assert [done for _, done in machine.strays] == ["recorded"]


def test_an_event_on_an_idle_gpu_is_not_over_at_once():
    def run(wait):
        first, last = cuda.event(), cuda.event()
        first.record()
        cuda.synchronize()
        last.record()
        if wait:
            last.synchronize()
        return first.elapsed_time(last)

    watched = Watched(run)
    with pytest.raises(CudaAPIError, match="NOT_READY"):
        watched.call(False)
    assert watched.call(True) >= 0


def test_a_loop_that_looks_at_the_clock_ends():
    def run():
        begun = time.perf_counter()
        while time.perf_counter() < begun + 1e-4:
            pass

    watch(run)


def test_what_was_never_written_is_found_where_it_is_read():
    def run(x, out):
        d_x, d_out = cuda.device_array_like(x), cuda.device_array_like(x)
        double[2, 32](d_x, d_out)
        d_out.copy_to_host(out)

    machine, _ = watch(run, "pinned", "pinned")
    assert [(o.kind, str(region)) for o, region in machine.blanks] == [
        ("kernel", "a device array")
    ]


def test_where_is_the_line_of_the_helper_that_did_it():
    machine, _ = watch(helped, "pinned", "device", "stream")
    assert machine.operations[0].place.text.startswith("d_x.copy_to_device")


def helped(x, d_x, s):
    send(x, d_x, s)


def send(x, d_x, s):
    d_x.copy_to_device(x, stream=s)


# A happens-before that is computed in another way


@pytest.mark.parametrize("seed", range(30))
def test_order_agrees_with_a_search_of_the_graph(seed):
    """Random streams, events and waits: vector clocks against paths in a graph."""
    choose = random.Random(seed)
    machine = Machine(lambda: None)  # type: ignore[arg-type,return-value]
    workers = [machine.stream() for _ in range(3)] + [machine.default]
    edges: dict[int, set[int]] = {}
    last: dict[str, int | None] = {w.name: None for w in [*workers, machine.host]}
    joins: dict[str, set[int]] = {w.name: set() for w in [*workers, machine.host]}
    events: list[tuple[Mark, set[int]]] = []

    def known(name: str) -> set[int]:
        mine = last[name]
        return joins[name] | (set() if mine is None else {mine})

    def before(worker: Worker) -> set[int]:
        """What comes before the next thing in a stream, the host's knowledge aside."""
        others = workers if worker is machine.default else [worker, machine.default]
        joins[worker.name] |= set().union(*(known(w.name) for w in others))
        return known(worker.name)

    for _ in range(40):
        worker = choose.choice(workers)
        deed = choose.choice(["work", "work", "record", "wait", "sync"])
        if deed == "work":
            number = len(machine.operations)
            machine.enqueue(worker, "kernel", "k", 1.0)
            edges[number] = before(worker) | known(HOST)
            last[worker.name], joins[worker.name] = number, set()
        elif deed == "record":
            events.append((machine.mark(worker), before(worker)))
        elif deed == "wait" and events:
            mark, seen = choose.choice(events)
            machine.hold(worker, mark)
            joins[worker.name] |= seen
        elif deed == "sync":
            machine.wait(worker)
            joins[HOST] |= known(worker.name)

    def reaches(a: int, b: int, tried: set[int]) -> bool:
        if a in edges[b]:
            return True
        tried.add(b)
        return any(reaches(a, c, tried) for c in edges[b] if c not in tried)

    for b, later in enumerate(machine.operations):
        for a, first in enumerate(machine.operations[:b]):
            assert later.sees(first) == reaches(a, b, set()), (a, b)


# The check


def given(bench: Bench, x: Any) -> tuple[Any, ...]:
    return bench.pinned(x), bench.pinned_like(x), bench.stream(), bench.stream()


EXERCISE: dict[str, Any] = {
    "spec": lambda x: 2 * x,
    "inputs": lambda rng, n: (rng.random(n, np.float32),),
    "given": given,
    "sizes": [64, 1, 100],
    "result": "out",
}


def right(x, out, s, t):
    d_x = cuda.to_device(x, stream=s)
    double[-(-x.size // 32), 32, s](d_x, d_x)
    d_x.copy_to_host(out, stream=s)
    s.synchronize()


def renamed(x, result, s, t):
    right(x, result, s, t)


def raises(x, out, s, t):
    out[:] = x.no_such_thing


def outside(x, out, s, t):
    d_x = cuda.to_device(x, stream=s)
    beyond[1, 32, s](d_x)


@cuda.jit
def beyond(x):
    x[x.size + cuda.grid(1)] = float32(1)


def test_right():
    verdict = check(right, **EXERCISE)
    assert verdict, verdict
    assert "4 sizes" in verdict.facts[0]


@pytest.mark.parametrize(
    ("function", "kind"),
    [(renamed, "type"), (raises, "exception"), (outside, "out-of-bounds"), (3, "type")],
)
def test_wrong(function, kind):
    assert check(function, **EXERCISE).kind == kind


def launched(blocks: int, threads: int, fetch: bool = True) -> Any:
    def function(x, out, s, t):
        d_x = cuda.to_device(x, stream=s)
        double[blocks, threads, s](d_x, d_x)
        if fetch:
            d_x.copy_to_host(out, stream=s)
        s.synchronize()
        if not fetch:
            out[:] = 2 * x

    return function


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (launched(4, 32), ""),
        (launched(64, 16), "A block has 16 threads; 32 are wanted."),
        (launched(4096, 32), "131,072 threads are launched for 64 elements."),
        (launched(4, 32, False), "Nothing comes back from the device"),
    ],
)
def test_what_is_launched_and_what_comes_back(function, message):
    verdict = check(function, **EXERCISE, limits={"traffic": 1, "block": 32})
    assert verdict.message.startswith(message)
    assert bool(verdict) == (not message)


def in_mapped_memory(x, s, t):
    out = cuda.mapped_array(x.size, np.float32)
    half = x.size // 2
    for stream, part in ((s, slice(half)), (t, slice(half, None))):
        d_x = cuda.to_device(x[part], stream=stream)
        double[half, 32, stream](d_x, out[part])
    cuda.synchronize()
    return out


def test_too_little_overlap_without_a_copy_to_the_host_is_said():
    exercise = EXERCISE | {
        "given": lambda bench, x: (bench.pinned(x), bench.stream(), bench.stream()),
        "sizes": [64],
        "result": "",
    }
    verdict = check(in_mapped_memory, **exercise, limits={"overlap": 9})
    assert "as fast as without any overlap; 9 times" in verdict.message
    assert verdict.why.startswith("4 copies and kernels")


def convert(*lines: str) -> str:
    """What the check says of host code with these lines after the allocations."""
    text = "\n    ".join(["def host(x):", *ALLOCATED, *lines, "return out"])
    linecache.cache["<host>"] = (len(text), None, text.splitlines(True), "<host>")
    scope = {"cuda": cuda, "np": np, "double": double}
    exec(compile(text, "<host>", "exec"), scope)
    verdict = check(
        scope["host"],
        spec=lambda x: 2 * x,
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        given=lambda bench, x: (bench.pageable(x),),
        sizes=[64],
    )
    return " ".join(f"{verdict!r}".split())


ALLOCATED = (
    "out = np.zeros_like(x)",
    "d_x = cuda.device_array_like(x)",
    "d_out = cuda.device_array_like(x)",
)
SENT, LAUNCHED = "d_x.copy_to_device(x)", "double[2, 32](d_x, d_out)"
FETCHED = "d_out.copy_to_host(out)"


def test_a_result_on_the_device_sends_to_host_and_device():
    said = convert(SENT, LAUNCHED, "out = d_out")
    assert "returns an array on the device" in said
    assert "book: Why GPUs, “Host, device and launches”" in said
    assert "Numba" not in said


def test_what_a_host_function_returns_is_nothing_that_numba_refuses():
    assert "Numba" not in convert(SENT, LAUNCHED, FETCHED, "out = list(out)")
    assert "Numba" not in f"{check(3, **EXERCISE)!r}"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ("x.copy_to_device(d_x)",),
            "`x` is a NumPy array on the host, which has no `copy_to_device`. "
            "`copy_to_device` and `copy_to_host` are methods of the array on the "
            "device. Which of `x` and `d_x` is that?",
        ),
        (
            (SENT, LAUNCHED, "out.copy_to_host(d_out)"),
            "`out` is a NumPy array on the host, which has no `copy_to_host`. "
            "`copy_to_device` and `copy_to_host` are methods of the array on the "
            "device. Which of `out` and `d_out` is that?",
        ),
        ((SENT, LAUNCHED, "out = x.copy_to_host()"), "Which array is that here?"),
    ],
)
def test_a_copy_is_a_method_of_the_array_on_the_device(lines, words):
    said = convert(*lines)
    assert words in said
    assert "AttributeError" not in said
    assert "Why GPUs" in said


def test_another_attribute_is_missed_under_a_name_that_numpy_has():
    said = convert(SENT, "x.send()")
    assert "AttributeError: 'numpy.ndarray' object has no attribute 'send'" in said


def test_what_was_never_copied_back_is_named():
    said = convert(SENT, LAUNCHED)
    assert "`d_out` was written on the device, but nothing was copied from it." in said
    assert "Why GPUs" in said
    other = convert(SENT, LAUNCHED, "d_x.copy_to_host(out)")
    assert "`d_out` was written on the device, but" in other
    late = convert(SENT, LAUNCHED, FETCHED, "out[0] = 9")
    assert "on the device" not in late
    both = convert(SENT, LAUNCHED, "double[2, 32](d_out, d_x)", "d_x.copy_to_host(out)")
    assert "on the device" not in both


def test_a_kernel_is_no_host_function():
    verdict = check(double, **EXERCISE)
    assert verdict.kind == "type"
    assert "a kernel" in verdict.message


def test_an_exercise_without_its_parts_is_refused():
    with pytest.raises(ValueError, match="sizes"):
        check(right, spec=lambda x: x)


def waits_for_ever(x):
    event = cuda.event()
    while True:
        event.record()


def in_a_function_of_its_own(x):
    return waits_for_ever(x)


@pytest.mark.parametrize("function", [waits_for_ever, in_a_function_of_its_own])
def test_a_loop_of_the_host_without_an_end_is_ended(function, monkeypatch):
    monkeypatch.setattr("weft.checking.step_limit.MOST_LINES", 1000)
    verdict = check(
        function,
        spec=lambda x: 2 * x,
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        given=lambda bench, x: (bench.pageable(x),),
        sizes=[64],
    )
    assert verdict.kind == "endless-loop"
    assert verdict.places[0][0].text == "while True:"
    assert verdict.when == "size 64"
    assert sys.gettrace() is None


def never_done(work):
    while work() is None:
        pass


def test_a_function_that_times_is_ended_as_well(monkeypatch):
    monkeypatch.setattr("weft.checking.step_limit.MOST_LINES", 1000)
    verdict = check(never_done, timer=[(1, 0)])
    assert verdict.kind == "endless-loop"
    assert verdict.places[0][0].text == "while work() is None:"


def test_the_function_itself_stays_as_it_is():
    scope = dict(right.__globals__)
    check(right, **EXERCISE)
    assert right.__globals__["cuda"] is cuda
    assert {k: id(v) for k, v in scope.items()} == {
        k: id(v) for k, v in right.__globals__.items() if k in scope
    }


def seconds(work):
    cuda.synchronize()
    start = time.perf_counter()
    work()
    cuda.synchronize()
    return time.perf_counter() - start


def unwaited(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def with_earlier(work):
    start = time.perf_counter()
    work()
    cuda.synchronize()
    return (time.perf_counter() - start) * 1e3


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (seconds, "Seconds or milliseconds?"),
        (unwaited, "Nothing has waited"),
        (with_earlier, "Another kernel was still running"),
    ],
)
def test_a_wrong_time_is_explained(function, words):
    verdict = check(function, timer=[(12.5, 0), (3, 8)])
    assert verdict.kind == "clock"
    assert words in verdict.why


def forgets(x, out, s, t):
    d_x = cuda.to_device(x, stream=s)
    double[-(-x.size // 32), 32, s](d_x, d_x)
    d_x.copy_to_host(out, stream=s)


def test_results_that_are_not_there_at_the_end():
    verdict = check(forgets, **EXERCISE)
    assert verdict.kind == "early-read"
    assert verdict.message.startswith("forgets returns")
    assert verdict.places[0][0].text.startswith("d_x.copy_to_host")
    assert "stream 0" in verdict.why


# What is shown


def test_a_timeline_of_the_model():
    shown = timeline(right, given, np.ones(64, np.float32))
    assert [b.engine for b in shown.bars] == ["copy in", "kernel", "copy out"]
    assert shown.busy == pytest.approx(shown.ms, rel=0.01)
    assert "kernel |" in repr(shown)
    assert "<svg" in shown._repr_html_()
    with pytest.raises(LearnerError):
        timeline(double, given)  # type: ignore[arg-type]


def test_what_events_time_is_the_same_function() -> None:
    """On a GPU; here Numba's simulator stands in for it, whose events have times."""
    from weft.streams.measured import measure

    bars = measure(right, given, (np.ones(64, np.float32),))
    assert [b.engine for b in bars] == ["copy in", "kernel", "copy out"]
    assert {b.stream for b in bars} == {0}
    assert all(a.end <= b.start for a, b in pairwise(bars))
    assert right.__globals__["cuda"] is cuda


def test_no_two_bars_of_an_engine_overlap():
    bars = [Bar("kernel", 0, 0, 4), Bar("kernel", 1, 1, 6), Bar("copy in", 1, 0, 1)]
    shown = Timeline(tuple(apart(bars)), "")
    assert [(b.start, b.end) for b in shown.bars] == [(0, 1), (0, 4), (4, 6)]
    assert shown.busy == 7


def test_arrays_stay_what_they_are():
    machine, _ = watch(lambda x: None, "pinned")
    array = machine.buffers[0].data.view(HostArray)
    array.machine = machine
    assert isinstance(array[2:5], HostArray)
    assert type(np.empty_like(array)) is HostArray
    assert machine.region(plain(np.empty_like(array))) is None
    with pytest.raises(TypeError):
        DeviceArray(machine, np.zeros(3))[0]
