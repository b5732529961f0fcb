"""Counters against a direct model of sectors and banks."""

import math
from typing import Any

import numpy as np
import pytest
from counting import lines_run
from hypothesis import given, settings
from hypothesis import strategies as st

import weft  # noqa: F401  before Numba

from numba import cuda, float32, float64, int32  # isort: skip
from weft import effort
from weft.counters import Line, count, rows_of, total, work
from weft.intrinsics import load4, peek, store4
from weft.simulator import record
from weft.simulator.trace.requests import grouped
from weft.simulator.trace.trace import Trace


def traced(kernel: Any, config: Any, *args: Any) -> Trace:
    return record(kernel, config, args)[0]


def lines(kernel: Any, config: Any, *args: Any) -> list[Line]:
    return count(traced(kernel, config, *args))


def strided(stride: int, offset: int) -> Any:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = x[i * stride + offset]

    return kernel


@pytest.mark.parametrize(
    ("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (32, 32)]
)
def test_strided_loads(stride: int, sectors: int) -> None:
    x, out = np.zeros(128 * stride, np.float32), np.zeros(128, np.float32)
    load, store = lines(strided(stride, 0), (2, 64), x, out)
    assert (load.requests, load.per_request) == (4, sectors)
    assert (store.requests, store.per_request, store.ideal) == (4, 4, 16)


@settings(max_examples=50)
@given(
    stride=st.integers(1, 40),
    offset=st.integers(0, 40),
    threads=st.integers(1, 96),
    dtype=st.sampled_from([np.float32, np.float64, np.int16]),
)
def test_sectors_of_any_stride(
    stride: int, offset: int, threads: int, dtype: Any
) -> None:
    x, out = np.zeros(96 * 40 + 41, dtype), np.zeros(96, dtype)
    load = lines(strided(stride, offset), (1, threads), x, out)[0]
    size = np.dtype(dtype).itemsize
    expected = 0
    for warp in range(math.ceil(threads / 32)):
        lanes = range(32 * warp, min(32 * warp + 32, threads))
        expected += len({(t * stride + offset) * size // 32 for t in lanes})
    assert load.sectors == expected
    assert load.requests == math.ceil(threads / 32)


@settings(max_examples=50)
@given(
    width=st.integers(1, 40),
    row=st.integers(0, 31),
    swap=st.booleans(),
    wide=st.booleans(),
)
def test_conflicts_of_any_tile(width: int, row: int, swap: bool, wide: bool) -> None:
    kind = float64 if wide else float32

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array((40, width), kind)
        t = cuda.threadIdx.x
        at = (t, row % width) if swap else (row, t % width)
        tile[at[0], at[1]] = 1
        out[t] = 0

    store = next(
        n for n in lines(kernel, (1, 32), np.zeros(32, np.float32)) if n.shared
    )
    words = 2 if wide else 1
    expected = 0
    for part in range(words):
        lanes = range(part * 32 // words, (part + 1) * 32 // words)
        touched: dict[int, set[int]] = {}
        for t in lanes:
            r, c = (t, row % width) if swap else (row, t % width)
            for word in range(words):
                w = (r * width + c) * words + word
                touched.setdefault(w % 32, set()).add(w)
        expected += max(len(s) for s in touched.values()) - 1
    assert store.conflicts == expected


def test_a_vector_access_is_one_request() -> None:
    @cuda.jit
    def kernel(x, out):
        i = 4 * cuda.grid(1)
        a, b, c, d = load4(x, i)
        store4(out, i, a, b, c, d)

    x, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    load, store = lines(kernel, (1, 64), x, out)
    assert (load.requests, load.per_request) == (2, 16)
    assert (store.requests, store.per_request) == (2, 16)


def test_loops_and_divergence_make_requests_of_their_own() -> None:
    @cuda.jit
    def kernel(x, out):
        t = cuda.threadIdx.x
        for k in range(3):
            if t < 8 or k == 2:
                out[t] = x[t]

    load, _ = lines(kernel, (1, 32), np.zeros(32, np.float32), np.zeros(32, np.float32))
    assert load.requests == 3


def test_atomics_and_local_memory() -> None:
    @cuda.jit
    def kernel(out):
        mine = cuda.local.array(2, float32)
        mine[0] = 1
        cuda.atomic.add(out, 0, mine[0])

    found = lines(kernel, (1, 32), np.zeros(1, np.float32))
    assert [(n.array, n.requests, n.sectors) for n in found] == [("out", 1, 32)]


def test_lanes_with_one_address_take_turns_at_an_atomic_operation() -> None:
    @cuda.jit
    def kernel(at, out):
        bins = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        bins[t] = 0
        cuda.syncwarp()
        cuda.atomic.add(bins, at[t], at[t])
        cuda.atomic.add(bins, at[t], 1)  # the hardware counts them together
        cuda.atomic.add(out, at[t], bins[t])
        cuda.atomic.add(out, 0, bins[t])  # one lane does it for all: always element 0

    at = (np.arange(32) % 4).astype(np.int32)
    found = [n for n in lines(kernel, (1, 32), at, np.zeros(32, np.int32)) if n.atomic]
    shared = [(n.conflicts, n.ideal) for n in found if n.shared]
    assert shared == [(7, 1), (0, 1)]
    assert [(n.sectors, n.ideal) for n in found if not n.shared] == [(8, 1), (1, 1)]


def test_a_trace_has_a_row_for_every_access() -> None:
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        tile[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[31 - t]

    out = np.zeros(64, np.float32)
    trace = traced(kernel, (2, 32), np.arange(64, dtype=np.float32), out)
    assert len(trace) == 4 * 64
    assert set(trace.epoch) == {0, 1}
    assert set(trace.block) == {0, 1}
    row = trace.last_store("out", 4 * 40)
    assert row is not None
    assert (trace.block[row], trace.thread[row]) == (1, 8)
    assert trace.last_store("x", 0) is None


def test_arithmetic_is_counted_by_line() -> None:
    @cuda.jit
    def kernel(x, n, out):
        i = cuda.grid(1) * 1 + 0  # integers
        total = float32(0)
        for k in range(4):
            total += x[i] * x[i + k]  # 2
            scaled = total * float32(2) + float32(1)  # 2
            total = cuda.fma(scaled, total, total)  # 2
        out[i] = total + n[i]  # 1

    x, n, out = floats(68), np.ones(64, np.int32), floats(64)
    trace = traced(kernel, (2, 32), x, n, out)
    first = kernel.py_func.__code__.co_firstlineno
    lines = {place.line - first: flops for place, flops in trace.flops.items()}
    assert lines == {5: 512, 6: 512, 7: 512}


def floats(n: int) -> np.ndarray:
    return np.zeros(n, np.float32)


def test_arrays_that_share_memory_share_addresses() -> None:
    @cuda.jit
    def kernel(x, y, z):
        y[0] = x[2] + z[0]

    x = floats(8)
    trace = traced(kernel, (1, 1), x, x[2:4], floats(1))
    x2, z, y = trace.address.tolist()
    assert x2 == y == 8
    assert z >= 32
    assert trace.last_store("y", 0) == 2


def test_two_shared_arrays_of_one_name() -> None:
    @cuda.jit(device=True)
    def other():
        tile = cuda.shared.array(4, float32)
        tile[0] = 1

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(4, float32)
        tile[0] = 2
        other()
        out[0] = tile[0]

    out = floats(1)
    trace = traced(kernel, (1, 1), out)
    assert len(set(trace.address[trace.space == 1])) == 2
    assert out[0] == 2


def test_a_long_trace_stops_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.simulator.trace.watched_run.MOST_ACCESSES", 100)

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = 1

    trace = traced(kernel, (16, 32), floats(512))
    assert (trace.blocks, trace.all_blocks, len(trace)) == (4, 16, 128)


def test_what_a_block_does_after_a_wait_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.simulator.trace.watched_run.MOST_ACCESSES", 1000)

    @cuda.jit
    def pairs(flags, out):
        i, block, t = cuda.grid(1), cuda.blockIdx.x, cuda.threadIdx.x
        if t == 0 and block % 2 == 0:
            while peek(flags, block + 1) == 0:
                pass
        cuda.syncthreads()
        for k in range(8):
            out[i] = k
        if t == 0:
            cuda.atomic.add(flags, block, 1)

    trace = traced(pairs, (16, 32), np.zeros(16, np.int32), floats(512))
    assert trace.blocks == 4  # after them 1,050 accesses

    @cuda.jit
    def twice(out):
        out[cuda.grid(1)] = 1
        cuda.cg.this_grid().sync()
        out[cuda.grid(1)] = 2

    with effort.counted() as done:
        traced(twice, (4, 32), floats(128))
    assert done["accesses"] == 256


def test_bytes_of_each_level_by_line() -> None:
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array(64, float32)
        mine = cuda.local.array(1, float64)
        t = cuda.threadIdx.x
        tile[t] = x[2 * t]
        mine[0] = 1
        cuda.syncthreads()
        out[t] = tile[t] * tile[63 - t]

    trace = traced(kernel, (1, 64), floats(128), floats(64))
    load, local, store = work(trace)
    assert (load.requested, load.moved, load.touched) == (256, 512, 512)
    assert (load.shared, load.flops, load.intensity) == (256, 0, 0)
    assert (local.local, local.touched) == (512, 0)
    assert (store.requested, store.shared, store.flops) == (256, 512, 64)
    assert store.intensity == 64 / 256
    whole = total(trace)
    assert (whole.touched, whole.moved, whole.flops) == (768, 768, 64)


def test_touched_counts_a_sector_once() -> None:
    @cuda.jit
    def kernel(x, out):
        out[cuda.grid(1)] = x[0]

    whole = total(traced(kernel, (4, 32), floats(1), floats(128)))
    assert (whole.requested, whole.moved, whole.touched) == (1024, 640, 544)


def test_requests_in_which_lanes_are_missing() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < 40:
            out[i] = x[0]
            if i % 2 == 0:
                out[i] = 1

    found = lines(kernel, (1, 40), floats(1), floats(40))
    assert [(n.requests, n.lanes, n.divergent) for n in found] == [
        (2, 40, 0),
        (2, 40, 0),
        (2, 20, 2),
    ]
    assert found[0].ideal == 2  # all lanes want the same 4 bytes


def test_counting_takes_less_than_a_line_of_python_per_access() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        for k in range(70):
            out[i] = x[i + k]

    trace = traced(kernel, (16, 256), floats(5000), floats(4096))
    assert len(trace) == 573_440
    assert lines_run(lambda: count(trace)) < len(trace) / 5  # 93,000: five per request


LANES = np.arange(32)
MEASURED = {  # on an H200: index of each lane, width, passes of a load and of a store
    "side by side": (LANES, [(8, 2, 2), (16, 4, 4)]),
    "pairs share": (LANES // 2, [(8, 1, 2), (16, 2, 4)]),
    "two apart share": (LANES % 2, [(8, 1, 2), (16, 2, 4)]),
    "four apart share": (LANES % 4, [(8, 2, 2), (16, 4, 4)]),
    "every second lane": (np.where(LANES % 2, -1, LANES), [(8, 2, 2), (16, 4, 4)]),
    "upper half": (np.where(LANES < 16, -1, 2 * LANES), [(8, 2, 2), (16, 4, 4)]),
    "both ends": (
        np.where((LANES < 4) | (LANES > 27), LANES % 8 * 5, -1),
        [(8, 2, 2), (16, 2, 2)],
    ),
}


@pytest.mark.parametrize("name", MEASURED)
def test_wide_accesses_go_by_parts_of_a_warp(name: str) -> None:
    from verification.patterns import Pattern

    at, passes = MEASURED[name]
    for width, of_load, of_store in passes:
        for operation, wanted in (("load", of_load), ("store", of_store)):
            pattern = Pattern("shared", operation, width, name, at)
            found = lines(pattern.kernel(), (1, 32), *pattern.arguments())
            one = [n for n in found if n.shared and n.store == (operation == "store")]
            assert sum(n.ideal + n.conflicts for n in one) == wanted, (width, operation)


def skipped_at_first(x, out):
    t = cuda.threadIdx.x
    for k in range(32):
        if k >= t:
            out[32 * k + t] = x[32 * k + t]


def taken_in_turns(x, out):
    t = cuda.threadIdx.x
    for k in range(4):
        if (k + t) % 2 == 0:
            out[32 * k + t] = x[32 * k + t]


def some_go_on(x, out):
    t = cuda.threadIdx.x
    for k in range(3):
        if k == t % 2:
            continue
        out[32 * k + t] = x[32 * k + t]


def loops_of_different_lengths(x, out):
    t = cuda.threadIdx.x
    for k in range(2):
        for j in range(1 + t // 16):
            at = 64 * k + 32 * j + t
            out[at] = x[at]


def loops_left_early(x, out):
    t = cuda.threadIdx.x
    for k in range(2):
        j = 0
        while x[32 * (2 * k + j) + t] == 0:
            out[32 * (2 * k + j) + t] = 0
            j += 1
            if j > t // 16:
                break


def one_of_two(x, out):
    t = cuda.threadIdx.x
    for k in range(4):
        out[t] += x[32 * k + t] if (k + t) % 2 == 0 else float32(0)


def both_or_one(x, out):
    t = cuda.threadIdx.x
    for k in range(4):
        if (k + t) % 2 == 0 and x[32 * k + t] == 0:
            out[t] = 0


@cuda.jit(device=True)
def copied(x, out, at):
    out[at] = x[at]


@cuda.jit(device=True)
def all_copied(x, out, many):
    for k in range(many):
        copied(x, out, 32 * k + cuda.threadIdx.x)


def called_by_some(x, out):
    t = cuda.threadIdx.x
    if t % 2:
        copied(x, out, 0 + t)
    copied(x, out, 32 + t)


def called_in_a_loop(x, out):
    t = cuda.threadIdx.x
    for _ in range(2):
        all_copied(x, out, 1 + t // 16)


def loaded_by_calls(x, out):
    t = cuda.threadIdx.x
    for k in range(4):
        if (k + t) % 2 == 0:
            a, b, c, d = load4(x, 4 * (32 * k + t))
            store4(out, 4 * (32 * k + t), a, b, c, d)


def begun_together(x, out):
    t = cuda.threadIdx.x
    for k in range(t, 32):  # the first iteration is the first, whatever k is in it
        out[33 * k] = x[33 * k]


def in_step(x, out):
    t = cuda.threadIdx.x
    for k in range(2):
        for j in range(2):
            if t < 8:
                out[64 * k + 32 * j + t] = x[64 * k + 32 * j + t]


OUT_OF_STEP = {  # requests of the load: lanes and sectors of each
    skipped_at_first: [(k + 1, k // 8 + 1) for k in range(32)],
    taken_in_turns: [(16, 4)] * 4,
    some_go_on: [(16, 4), (16, 4), (32, 4)],
    loops_of_different_lengths: [(32, 4), (16, 2)] * 2,
    loops_left_early: [(32, 4), (16, 2)] * 2,
    one_of_two: [(16, 4)] * 4,
    both_or_one: [(16, 4)] * 4,
    called_by_some: [(16, 4), (32, 4)],
    called_in_a_loop: [(32, 4), (16, 2)] * 2,
    loaded_by_calls: [(16, 16)] * 4,
    begun_together: [(32 - k, 32 - k) for k in range(32)],
    in_step: [(8, 1)] * 4,
}


@pytest.mark.parametrize("function", OUT_OF_STEP, ids=lambda f: f.__name__)
@pytest.mark.parametrize("rows", [False, True], ids=["notes", "rows"])
def test_lanes_that_skip_iterations(function: Any, rows: bool) -> None:
    """A request has the lanes that come to it in the same iteration."""
    args = floats(1024), floats(1024)
    trace, _ = record(cuda.jit(function), (1, 32), args, rows=rows)
    load = next(n for n in count(trace) if n.array == "x")
    wanted = OUT_OF_STEP[function]
    assert (load.requests, load.lanes, load.sectors) == (
        len(wanted),
        sum(lanes for lanes, _ in wanted),
        sum(sectors for _, sectors in wanted),
    )
    assert load.divergent == sum(lanes < 32 for lanes, _ in wanted)

    mine = rows_of(trace, load)
    found = grouped(trace, mine, np.zeros_like(mine))
    assert np.bincount(found.request).tolist() == [lanes for lanes, _ in wanted]
    first = np.unique(found.request, return_index=True)[1]
    assert found.time[first].tolist() == list(range(len(wanted)))


def test_bank_conflicts_of_lanes_that_skip_iterations() -> None:
    """Those of one iteration are in different banks, those of several in one."""

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array((32, 32), float32)
        t = cuda.threadIdx.x
        for k in range(32):
            if k >= t:
                tile[k, (t - k) % 32] = 1
        out[t] = 0

    store = next(n for n in lines(kernel, (1, 32), floats(32)) if n.shared)
    assert (store.requests, store.conflicts) == (32, 0)
