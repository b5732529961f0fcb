"""Notes say what a trace says: the same counts, and a hazard wherever there is one."""

import gc
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting import lines_run
from hypothesis import example, given, settings
from hypothesis import strategies as st
from noted import noted
from test_sanitizer import ACCESS, KINDS, MEETING, WHO, Step, take_steps
from tiers import examples

import weft  # noqa: F401  before Numba

from numba import cuda, float32, float64, int32  # isort: skip
from verification.cells import checks, run, scope_of
from verification.corpus import Kernel, corpus
from weft import check, counters, sanitizer
from weft.intrinsics import load4, peek, poke, store4
from weft.places import Place
from weft.simulator import record
from weft.simulator.trace.counted import Counted
from weft.simulator.trace.notes import (
    ATOMIC,
    GLOBAL,
    LOCAL,
    READ,
    SEVERAL,
    SHARED,
    WRITE,
    Block,
    Meeting,
    Notes,
    Region,
    Spot,
)
from weft.simulator.trace.suspects import Suspect, suspects
from weft.simulator.trace.trace import Trace
from weft.simulator.trace.traced_run import TracedRun


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def traced(kernel: Any, config: Any, *args: Any, fresh: tuple[str, ...] = ()) -> Trace:
    return record(kernel, config, args, fresh=frozenset(fresh), rows=True)[0]


def hazards(trace: Trace) -> list[Any]:
    found = sanitizer.races(trace), sanitizer.unwritten(trace)
    return [h for h in (*found, sanitizer.unfinished(trace)) if h is not None]


def most_loads(trace: Trace, space: int) -> int:
    """The loads of the thread that makes most, without those of `peek`."""
    mine = (trace.space == space) & (trace.operation == READ)
    mine[trace.atomics["relaxed"]] = False
    number = trace.of_views("number")[trace.view[mine]]
    return int(np.unique(number, return_counts=True)[1].max(initial=0))


def compare(trace: Trace) -> tuple[bool, bool]:
    """Hold notes against a trace; whether there is a hazard, and whether a suspect."""
    notes = noted(trace)
    counted = Counted(notes)
    assert counted.lines == counters.count(trace)
    assert counted.work == counters.work(trace)
    assert counted.total == counters.total(trace)
    for space in (GLOBAL, SHARED):
        assert counted.most_loads(space) == most_loads(trace, space)
    found, suspicious = bool(hazards(trace)), bool(suspects(notes))
    assert suspicious or not found
    return found, suspicious


# Kernels, one for each thing that can be different


@cuda.jit
def strided(x, out, stride):
    i = cuda.grid(1)
    for k in range(20):
        out[i] = x[i * stride + k]


@cuda.jit
def guarded(x, out):
    i = cuda.grid(1)
    if i < 50:
        for k in range(i % 5):
            out[i] = x[i + k] * 2


@cuda.jit
def tiles(x, out):
    tile = cuda.shared.array((16, 17), float32)
    mine = cuda.local.array(3, float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(3):
        mine[k] = k
    for _ in range(2):
        tile[ty, tx] = x[cuda.blockIdx.x * 16 + ty, tx]
        cuda.syncthreads()
        out[cuda.blockIdx.x * 16 + tx, ty] = tile[tx, ty] + mine[1]
        cuda.syncthreads()


@cuda.jit
def wide(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    a, b, c, d = load4(x, 4 * t)
    store4(tile, 4 * t, d, c, b, a)
    cuda.syncthreads()
    a, b, c, d = load4(tile, 4 * (t ^ 1))
    store4(out, 4 * t, a, b, c, d)
    out[4 * t] = tile[t] + tile[64 + t]


@cuda.jit
def atomics(x, out):
    bins = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    if t < 8:
        bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, x[t] % 8, 1)
    cuda.atomic.add(bins, x[t] % 3, 2)
    cuda.syncthreads()
    if t < 8:
        cuda.atomic.add(out, t, bins[t])
    cuda.atomic.add(out, 8, 1)
    cuda.atomic.max(out, 9 + x[t] % 4, t)


@cuda.jit
def double_buffered(x, y):
    t = cuda.threadIdx.x
    one, other = x, y
    for _ in range(4):
        other[t] = one[t] + one[t ^ 1]
        cuda.syncthreads()
        one, other = other, one


@cuda.jit
def own_cells(out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = t
    for _ in range(3):
        tile[t] *= 2
    out[t] = tile[t]
    out[t] += 1


@cuda.jit
def warp_by_warp(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncwarp()
    for k in (16, 8, 4, 2, 1):
        value = tile[t] + tile[t ^ k]
        cuda.syncwarp()
        tile[t] = value
        cuda.syncwarp()
    out[t] = tile[t]


@cuda.jit
def whole_grid(x, out):
    i = cuda.grid(1)
    x[i] = i
    cuda.cg.this_grid().sync()
    out[i] = x[x.size - 1 - i]
    cuda.cg.this_grid().sync()
    out[out.size - 1 - i] += 1


@cuda.jit
def records(points, out):
    i = cuda.grid(1)
    points[i].x = 1
    points[i].y = points[i].x
    out[i] = points[i].y


@cuda.jit
def in_place(x):
    i = cuda.grid(1)
    x[i] += x[i] * 2


POINT = np.dtype([("flag", np.int8), ("x", np.float32), ("y", np.float64)])
INTEGERS = np.arange(64, dtype=np.int32) * 7 % 32
RIGHT: dict[str, tuple[Any, Any, Any]] = {
    "strided": (strided, (2, 64), lambda: (floats(1000), floats(128), 7)),
    "strided bytes": (
        strided,
        (2, 50),
        lambda: (np.zeros(500, np.int8), np.zeros(100, np.int8), 3),
    ),
    "guarded": (guarded, (2, 40), lambda: (floats(100), floats(80))),
    "tiles": (tiles, (2, (16, 16)), lambda: (floats(32, 16), floats(32, 16))),
    "wide": (wide, (1, 64), lambda: (floats(256), floats(256))),
    "atomics": (atomics, (3, 64), lambda: (INTEGERS, np.zeros(16, np.int32))),
    "double buffered": (double_buffered, (1, 64), lambda: (floats(64), floats(64))),
    "own cells": (own_cells, (1, 64), lambda: (floats(64),)),
    "warp by warp": (warp_by_warp, (1, 64), lambda: (floats(64), floats(64))),
    "whole grid": (whole_grid, (4, 8), lambda: (floats(32), floats(32))),
    "records": (records, (2, 8), lambda: (np.zeros(16, POINT), floats(16))),
    "in place": (in_place, (4, 8), lambda: (floats(32),)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_proved_right(name: str) -> None:
    kernel, config, arguments = RIGHT[name]
    fresh = ("out",) if name != "atomics" else ()
    assert compare(traced(kernel, config, *arguments(), fresh=fresh)) == (False, False)


def test_arrays_that_share_memory() -> None:
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        y[i] = x[i] + out[i]
        out[i] = y[i]

    x = floats(64)
    assert compare(traced(kernel, (2, 16), x, x, floats(32))) == (False, False)
    assert compare(traced(kernel, (2, 16), x, x[1:], floats(32))) == (True, True)


def test_bytes_of_a_larger_element() -> None:
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        x[i] = i
        out[i] = y[8 * i + shift]

    shift = 0
    x = np.zeros(32, np.float64)
    args = x, x.view(np.int8), floats(32)
    assert compare(traced(kernel, (2, 16), *args)) == (False, False)
    shift = 8
    args = x, np.append(x, 0).view(np.int8), floats(32)
    assert compare(traced(kernel, (2, 16), *args)) == (False, False)


# Kernels that need more than sets


def test_fences_and_swaps_are_left_to_the_exact_analysis() -> None:
    @cuda.jit
    def swap(x, out):
        guess = out[0]
        if x[cuda.grid(1)] > guess:
            cuda.atomic.cas(out, 0, guess, x[cuda.grid(1)])

    @cuda.jit
    def hand_over(flag, data, out):
        if cuda.blockIdx.x == 1:
            data[0] = 5
            cuda.threadfence()
            poke(flag, 0, 1)
        else:
            while peek(flag, 0) == 0:
                pass
            cuda.threadfence()
            out[0] = data[0]

    zero = np.zeros(1, np.int32)
    assert compare(traced(swap, (2, 32), INTEGERS, zero.copy())) == (False, True)
    trace = traced(hand_over, (2, 1), zero.copy(), zero.copy(), zero.copy())
    assert compare(trace) == (False, True)
    data = trace.bases["data"]
    assert suspects(noted(trace)) == [Suspect(GLOBAL, None, data, data + 4)]


def test_a_suspect_comes_with_all_that_is_swapped() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = 1
        cuda.atomic.cas(x, cuda.grid(1), 0, 1)

    trace = traced(kernel, (1, 2), np.zeros(2, np.int32), np.zeros(1, np.int32))
    x, out = trace.bases["x"], trace.bases["out"]
    found = sorted(suspects(noted(trace)))
    assert found == sorted(
        [Suspect(GLOBAL, None, out, out + 4), Suspect(GLOBAL, None, x, x + 8)]
    )


@settings(max_examples=examples(150))
@given(st.lists(st.one_of(ACCESS, MEETING), min_size=2, max_size=10))
def test_random_kernels_of_blocks_and_warps(program: list[Step]) -> None:
    steps = np.array([[KINDS.index(kind), *rest] for kind, *rest in program], np.int64)
    work_, out = np.zeros(8, np.int32), np.zeros((2, len(WHO)), np.int32)
    compare(traced(take_steps, (2, 34), steps, work_, out, fresh=("work", "out")))


@cuda.jit
def take_wide_steps(steps, work, out):
    tile = cuda.shared.array(32, float32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    zero = float32(0)
    for k in range(steps.shape[0]):
        kind, wide, scale, offset, most = steps[k]
        cell = (t * scale + b * offset + offset) % 8
        memory = work if wide else tile
        if kind == 4:
            cuda.syncthreads()
        elif kind == 5:
            cuda.syncwarp()
        elif t % 8 < most:
            if kind == 0:
                out[b, t] = memory[cell]
            elif kind == 1:
                memory[cell] = t
            elif kind == 2:
                load4(memory, 4 * cell)
            elif kind == 3:
                store4(memory, 4 * cell, zero, zero, zero, zero)
            else:
                cuda.atomic.add(memory, cell, most)


WIDE_STEP = st.tuples(
    st.integers(0, 6),
    st.integers(0, 1),
    st.integers(0, 4),
    st.integers(0, 9),
    st.integers(1, 8),
)


@settings(max_examples=examples(100))
@given(st.lists(WIDE_STEP, min_size=1, max_size=8))
def test_random_kernels_with_wide_accesses(program: list[Any]) -> None:
    steps, out = np.array(program, np.int64), floats(2, 40)
    work_ = floats(32)
    compare(traced(take_wide_steps, (2, 40), steps, work_, out, fresh=("work", "out")))


@cuda.jit
def take_own_steps(steps, work, out):
    mine = cuda.local.array(4, int32)
    t = cuda.threadIdx.x
    for k in range(steps.shape[0]):
        kind, scale, offset, length = steps[k]
        for j in range(length):
            cell = (t * scale + offset + j) % 4
            if kind == 0:
                mine[cell] = k
            elif kind == 1:
                out[t] = mine[cell]
            elif kind == 2:
                work[t, cell] = k
            else:
                out[t] = work[t, cell]


@settings(max_examples=examples(100))
@given(
    st.lists(
        st.tuples(st.integers(0, 3), *[st.integers(0, 3)] * 2, st.integers(1, 4)),
        min_size=1,
        max_size=8,
    )
)
def test_random_reads_of_own_memory_are_decided(program: list[Any]) -> None:
    steps, work_ = np.array(program, np.int64), np.zeros((3, 4), np.int32)
    trace = traced(take_own_steps, (1, 3), steps, work_, floats(3), fresh=("work",))
    found, suspicious = compare(trace)
    assert found == suspicious


# Local arrays, as a launch notes them itself


@cuda.jit
def kept_by_each(x, out):
    """Each thread keeps elements, changes them, and reads them after a barrier."""
    mine = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for k in range(4):
        mine[k] = x[t, k] if t < 40 else float32(0)
    for k in range(4):
        mine[k] = mine[k] * 2
        total += mine[k]
    cuda.syncthreads()
    total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 1)
    for k in range(4):
        out[t, k] = mine[k] + total


@cuda.jit
def one_left_out(x, out):
    """Thread 37 does not store its last element, and reads it after the barrier."""
    mine = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    for k in range(4 if t != 37 else 3):
        mine[k] = x[t, k]
    cuda.syncthreads()
    for k in range(4):
        out[t, k] = mine[k]


@cuda.jit
def read_then_written(x, out):
    """Thread 37 reads each element just before it stores it; the others after it."""
    mine = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    for k in range(4):
        if t == 37:
            out[t, k] = mine[k]
        mine[k] = x[t, k]
        out[t, k] = mine[k]


@pytest.mark.parametrize(
    ("kernel", "early"),
    [(kept_by_each, 0), (one_left_out, 4), (read_then_written, 16)],
)
def test_a_launch_says_what_is_read_early_in_local_memory(
    kernel: Any, early: int
) -> None:
    args = floats(64, 4), floats(64, 4)
    noted_, _ = record(kernel, (1, 64), args, fresh=frozenset(["out"]))
    found = noted_.suspects
    assert {suspect.space for suspect in found} <= {LOCAL}
    assert sum(suspect.stop - suspect.start for suspect in found) == early
    assert bool(sanitizer.unwritten(noted_.full)) == (early > 0)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.integers(0, 3), *[st.integers(0, 3)] * 2, st.integers(1, 4)),
        min_size=1,
        max_size=8,
    )
)
@example([(2, 0, 0, 1), (3, 0, 0, 1)])  # written in one iteration, read in the next
def test_random_reads_of_own_memory_are_decided_by_a_launch(program: list[Any]) -> None:
    steps, work_ = np.array(program, np.int64), np.zeros((3, 4), np.int32)
    args, fresh = (steps, work_, floats(3)), frozenset(["work"])
    noted_, _ = record(take_own_steps, (1, 3), args, fresh=fresh)
    assert bool(noted_.suspects) == bool(hazards(noted_.full))


# The corpus and the chapters' answers


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool]]:
    """What comparing showed for the launches of a check."""
    found: list[tuple[bool, bool]] = []
    whole = TracedRun.trace

    def trace(self: TracedRun, so_far: bool = False) -> Trace:
        made = whole(self, so_far)
        if not so_far and 0 < len(made) < 200_000:
            found.append(compare(made))
        return made

    monkeypatch.setattr(TracedRun, "trace", trace)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    return found


# What takes fences, locks and swaps: their order is not in the notes.
UNDECIDED = {
    "right_every_thread_fences",
    "right_last_block",
    "right_lock_around_it",
    "right_look_back",
    "right_swap_after_a_plain_guess",
}
CORPUS = corpus()


def in_tiers() -> Iterator[Any]:
    """Every kernel of the corpus; five of six are in the long tier."""
    for n, kernel in enumerate(CORPUS):
        marks = [pytest.mark.long] if n % 6 else []
        yield pytest.param(kernel, marks=marks, id=kernel.label)


@pytest.mark.parametrize("kernel", list(in_tiers()))
def test_kernels_of_the_corpus(kernel: Kernel, seen: list[tuple[bool, bool]]) -> None:
    function, arguments = kernel.load()
    check(function, **arguments)
    if not kernel.wrong:
        undecided = any(suspicious for _, suspicious in seen)
        assert undecided == (kernel.path.stem in UNDECIDED)


ROOT = Path(__file__).parents[1]
ANSWERS = [
    "08_warps",
    "13_shared_memory",
    "14_reduction",
    "15_scan",
    "18_gemm_tiles",
    "19_gemm_registers",
]


@pytest.mark.long
@pytest.mark.parametrize("lab", ANSWERS)
def test_right_answers_of_a_chapter(lab: str, seen: list[tuple[bool, bool]]) -> None:
    folders = sorted((ROOT / "chapters" / lab / "answers").iterdir())
    for folder in folders[:4]:
        for path in sorted(folder.glob("right_*.py"))[:2]:
            scope = scope_of(lab)
            run(path.read_text(encoding="utf-8"), f"<{path.stem}>", scope)
            run(checks(lab)[folder.name], "<check>", scope)


# Notes written by hand

HERE = Place("kernel", 3, "y = x[i]", "x[i]")


def notes_of(
    spots: list[Spot], lists: list[Any], marks: Any = (), **more: Any
) -> Notes:
    """Notes of one block. more: regions, steps, and what else `Block` takes."""
    regions = more.pop("regions", None) or [Region(GLOBAL, 0, 4096, "x")]
    steps = more.pop("steps", None) or [1] * len(lists)
    block = Block(0, lists, list(marks), **more)
    threads = len(next(each for each in lists if each is not None))
    return Notes("kernel", (1, 1, 1), (threads, 1, 1), spots, regions, steps, [block])


def test_arithmetic_goes_with_a_spot() -> None:
    read = Spot(HERE, READ, GLOBAL, 0, 4, flops=2)
    local = [
        Spot(replace(HERE, line=4), WRITE, LOCAL, 1, 8, list=1, code=0),
        Spot(replace(HERE, line=5), READ, LOCAL, 1, 8, list=1, code=1, flops=3),
    ]
    regions = [Region(GLOBAL, 0, 4096, "x"), Region(LOCAL, 0, 16, "mine")]
    own = [0, 1, 2, 3]  # writes and reads element 0, then 1
    notes = notes_of(
        [read, *local], [[[0, 1], [2]], [own, own]], regions=regions, steps=[1, 2]
    )
    notes.sums[replace(HERE, expression="")] = 10
    assert [w.flops for w in Counted(notes).work] == [16, 0, 12]
    assert [w.local for w in Counted(notes).work] == [0, 32, 32]
    assert Counted(notes).total.flops == 28
    assert suspects(notes) == []


def test_a_count_says_what_came_first() -> None:
    write = Spot(HERE, WRITE, SHARED, 0, 4, list=0, counts={1: 2})
    read = Spot(HERE, READ, SHARED, 0, 4, list=1)
    regions = [Region(SHARED, 0, 64, "tile", fresh=True)]

    def found(writes: list[int], reads: list[int], counts: list[int]) -> list[Suspect]:
        lists = [[writes], [reads], [counts]]
        return suspects(notes_of([write, read], lists, regions=regions))

    assert found([3], [3], [0]) == []
    assert found([3], [3], [1]) == [Suspect(SHARED, 0, 12, 16)]
    assert found([3, 4, 3], [4, 3, 5], [0, 0, 2]) == [Suspect(SHARED, 0, 20, 24)]
    assert found([4, 3], [3, 4, 3], [0, 1]) == [Suspect(SHARED, 0, 12, 16)]


def test_reads_are_counted_only_where_no_barrier_comes_before_them() -> None:
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]  # one read may follow, the last one cannot
        if x[t] > 0:
            out[t] = tile[t]
        cuda.syncthreads()
        for _ in range(2):
            out[t] += tile[31 - t]
            cuda.syncthreads()
            tile[t] = out[t]  # one barrier is before, and the loop begins again
        cuda.syncthreads()
        out[t] += tile[0]

    x, out = np.ones(32, np.float32), np.zeros(32, np.float32)
    trace, _ = record(kernel, (1, 32), (x, out))
    counts = {
        spot.place.line - kernel.py_func.__code__.co_firstlineno: len(spot.counts)
        for spot in trace.notes.spots
        if spot.operation == WRITE and spot.space == SHARED
    }
    assert counts == {4: 1, 11: 1}


def test_a_count_beyond_a_barrier() -> None:
    write = Spot(HERE, WRITE, SHARED, 0, 4, list=0, counts={1: 2})
    read = Spot(HERE, READ, SHARED, 0, 4, list=1)
    regions = [Region(SHARED, 0, 64, "tile", fresh=True)]
    for last, early in ((3, []), (4, [Suspect(SHARED, 0, 20, 24)])):
        lists = [[[1, 2, 5]], [[1, 1, 2, 5]], [[0, 2, last]]]
        marks = [[[2], [3], [2]]]
        notes = notes_of([write, read], lists, marks, regions=regions)
        assert suspects(notes) == early


def test_a_read_that_is_not_counted_came_first() -> None:
    write = Spot(HERE, WRITE, SHARED, 0, 4)
    read = Spot(HERE, READ, SHARED, 0, 4, list=1)
    regions = [Region(SHARED, 0, 64, "tile", fresh=True)]
    lists = [[[3]], [[3]]]
    early = [Suspect(SHARED, 0, 12, 16)]
    assert suspects(notes_of([write, read], lists, regions=regions)) == early
    after = [[[1], [0]]]  # a barrier between the two
    assert suspects(notes_of([write, read], lists, after, regions=regions)) == []


def test_lanes_that_meet_in_different_company() -> None:
    write = Spot(HERE, WRITE, GLOBAL, 0, 4)
    read = Spot(HERE, READ, GLOBAL, 0, 4, list=1)
    lists = [[[0], [1], [2]], [[1], [0], [2]]]
    lengths = [[1, 1], [0, 0]]
    two = [Meeting(0, (0, 1), lengths)]
    assert suspects(notes_of([write, read], lists, meetings=two)) == []
    other = [*two, Meeting(0, (1, 2), [[1, 1], [1, 1]])]
    assert suspects(notes_of([write, read], lists, meetings=other)) != []


def test_an_address_is_in_a_region() -> None:
    regions = [
        Region(GLOBAL, 0, 100, "x"),
        Region(GLOBAL, 256, 8, "y"),
        Region(SHARED, 0, 300, "tile"),
        Region(GLOBAL, 20, 8, "part of x"),
    ]
    notes = notes_of([], [[[]]], regions=regions)
    assert [notes.region_at(GLOBAL, a) for a in (0, 99, 256, 263)] == [0, 0, 1, 1]
    assert notes.region_at(GLOBAL, 24) in (0, 3)
    assert notes.region_at(SHARED, 299) == 2
    for address in (100, 255, 264):
        with pytest.raises(LookupError):
            notes.region_at(GLOBAL, address)


def test_a_spot_of_several_arrays_is_counted_for_each() -> None:
    regions = [Region(GLOBAL, 0, 64, "x"), Region(GLOBAL, 64, 64, "y")]
    spot = Spot(HERE, READ, GLOBAL, SEVERAL, 4)
    lists = [[[0, 16], [17, 1]]]
    found = Counted(notes_of([spot], lists, regions=regions)).lines
    assert [(n.array, n.requests, n.lanes) for n in found] == [("x", 1, 2), ("y", 1, 2)]


def test_known_atomics_of_one_element_are_reduced_first() -> None:
    def sectors(*elements: int, type: str = "i32", kinds: Any = ("known",)) -> int:
        spot = Spot(HERE, ATOMIC, GLOBAL, 0, 4, kinds=frozenset(kinds))
        regions = [Region(GLOBAL, 0, 64, "x", type)]
        lists = [[[n] for n in elements]]
        return Counted(notes_of([spot], lists, regions=regions)).lines[0].sectors

    assert sectors(5, 5, 5, 5) == 1
    assert sectors(5, 5, 5, 5, type="f32") == sectors(5, 5, 5, 5, kinds=()) == 4
    assert sectors(5, 5, 5, 6) == 3


def test_counting_takes_a_few_lines_of_python_per_request() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        for k in range(200):
            out[i] = x[i + k]

    trace = traced(kernel, (2, 256), floats(5000), floats(512))
    notes = noted(trace)
    requests = sum(line.requests for line in Counted(notes).lines)
    assert len(trace) == 32 * requests
    assert lines_run(lambda: Counted(notes).lines) < 4 * requests
    assert lines_run(lambda: suspects(notes)) < requests


def test_notes_are_freed_with_their_trace():
    """At once: the garbage collector may not run before the next launches have."""
    x, out = (np.zeros(64, np.float32) for _ in range(2))
    collecting = gc.isenabled()
    gc.disable()
    try:
        trace, _ = record(guarded, (2, 32), (x, out))
        threads = next(each for each in trace.notes.blocks[0].lists if each)
        del trace
        assert sys.getrefcount(threads) <= 2  # `threads`, and the argument
    finally:
        if collecting:
            gc.enable()
