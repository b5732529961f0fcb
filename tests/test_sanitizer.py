"""Hazards: every race is found, and nothing that is ordered is called one."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from weft.sanitizer import races, unwritten
from weft.simulator import record
from weft.simulator.trace import Trace, sample


def traced(kernel: Any, config: Any, *args: Any, fresh: tuple[str, ...] = ()) -> Trace:
    return record(kernel, config, args, fresh=frozenset(fresh))[0]


def floats(n: int) -> np.ndarray:
    return np.zeros(n, np.float32)


def test_two_blocks_race_without_atomics_and_not_with() -> None:
    @cuda.jit
    def plain(out):
        out[0] += 1

    @cuda.jit
    def atomic(out):
        cuda.atomic.add(out, 0, float32(1))

    race = races(traced(plain, (2, 1), floats(1)))
    assert race is not None
    assert (race.within, race.lost_update) == ("grid", True)
    assert races(traced(atomic, (2, 64), floats(1))) is None


def test_an_atomic_and_a_plain_read() -> None:
    @cuda.jit
    def kernel(count, out):
        cuda.atomic.add(count, 0, 1)
        out[cuda.grid(1)] = count[0]

    assert races(traced(kernel, (1, 2), np.zeros(1, np.int32), floats(2))) is not None


def test_syncwarp_orders_a_warp_and_not_a_block() -> None:
    @cuda.jit
    def kernel(out, reach):
        tile = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncwarp()
        out[t] = tile[t ^ reach]

    assert races(traced(kernel, (1, 64), floats(64), 1)) is None
    race = races(traced(kernel, (1, 64), floats(64), 32))
    assert race is not None
    assert race.within == "block"


def test_a_mask_orders_only_its_lanes() -> None:
    @cuda.jit
    def kernel(out, reach):
        tile = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncwarp(0xFFFF if t < 16 else 0xFFFF0000)
        out[t] = tile[t ^ reach]

    assert races(traced(kernel, (1, 32), floats(32), 8)) is None
    assert races(traced(kernel, (1, 32), floats(32), 16)) is not None


def test_grid_barriers_order_blocks() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        x[i] = i
        cuda.cg.this_grid().sync()
        out[i] = x[x.size - 1 - i]

    assert races(traced(kernel, (4, 8), floats(32), floats(32))) is None


def last_block(fence: str) -> Any:
    @cuda.jit
    def kernel(x, parts, count, out):
        ticket = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            parts[cuda.blockIdx.x] = x[cuda.grid(1)]
            if fence == "threadfence":
                cuda.threadfence()
            elif fence == "threadfence_system":
                cuda.threadfence_system()
            elif fence == "threadfence_block":
                cuda.threadfence_block()
            ticket[0] = cuda.atomic.add(count, 0, 1)
        cuda.syncthreads()
        if ticket[0] == cuda.gridDim.x - 1 and t == 1:
            for k in range(cuda.gridDim.x):
                out[0] += parts[k]

    return kernel


@pytest.mark.parametrize(
    ("fence", "enough"),
    [
        ("threadfence", True),
        ("threadfence_system", True),
        ("threadfence_block", False),
        ("", False),
    ],
)
def test_the_last_block_may_read_what_a_fence_released(
    fence: str, enough: bool
) -> None:
    trace = traced(
        last_block(fence),
        (4, 8),
        floats(32),
        floats(4),
        np.zeros(1, np.int32),
        floats(1),
    )
    assert (races(trace) is None) == enough


def handed_over(order: str) -> Any:
    """Block 0 hands `work` to block 1: its thread 1 stores, its thread 0 says so."""

    @cuda.jit
    def kernel(work, flag, out):
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        for step in range(4):
            if order[step] == "barrier":
                cuda.syncthreads()
            elif b == 0 and t == 1 and order[step] == "store":
                work[0] = 1
            elif b == 0 and t == 1 and order[step] == "fence":
                cuda.threadfence()
            elif b == 0 and t == 0 and order[step] == "flag":
                cuda.atomic.exch(flag, 0, 1)
        if b == 1 and cuda.atomic.add(flag, 0, 0) == 1:
            out[t] = work[0]

    return kernel


@pytest.mark.parametrize(
    ("order", "enough"),
    [
        (("store", "fence", "barrier", "flag"), True),
        (("fence", "store", "barrier", "flag"), False),
        (("store", "barrier", "fence", "flag"), False),
        (("store", "fence", "flag", "barrier"), False),
    ],
)
def test_a_barrier_hands_on_what_was_fenced_before_it(order: Any, enough: bool) -> None:
    trace = traced(
        handed_over(order), (2, 2), floats(1), np.zeros(1, np.int32), floats(2)
    )
    assert (races(trace) is None) == enough


def test_a_fence_of_the_block_serves_the_block() -> None:
    @cuda.jit
    def kernel(out, wide):
        tile = cuda.shared.array(1, int32)
        flag = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            cuda.atomic.exch(flag, 0, 0)
            tile[0] = 7
            cuda.threadfence_block()
            cuda.atomic.exch(flag, 0, 1)
        if t == 40 and cuda.atomic.add(flag, 0, 0) == 1:
            out[cuda.blockIdx.x] = tile[0]

    assert races(traced(kernel, (2, 64), floats(2), True)) is None


def test_shared_flags_of_two_blocks_are_two() -> None:
    @cuda.jit
    def kernel(work, out):
        flag = cuda.shared.array(1, int32)
        if cuda.blockIdx.x == 0:
            work[0] = 1
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)
        if cuda.blockIdx.x == 1:
            out[0] = work[0]

    race = races(traced(kernel, (2, 1), floats(1), floats(1)))
    assert race is not None
    assert race.within == "grid"


def test_votes_and_shuffles_order_no_memory() -> None:
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        votes = cuda.ballot_sync(0xFFFFFFFF, t > 3)
        out[t] = tile[t ^ 1] + cuda.shfl_sync(0xFFFFFFFF, votes, 0)

    race = races(traced(kernel, (1, 32), floats(32)))
    assert race is not None
    assert race.within == "warp"


@pytest.mark.parametrize("swap", [True, False])
def test_what_a_swap_expects_may_be_stale(swap: bool) -> None:
    @cuda.jit
    def kernel(x, out):
        guess = out[0]
        if x[cuda.grid(1)] > guess:
            if swap:
                cuda.atomic.cas(out, 0, guess, x[cuda.grid(1)])
            else:
                cuda.atomic.exch(out, 0, x[cuda.grid(1)])

    x = np.arange(64, dtype=np.int32)
    trace = traced(kernel, (2, 32), x, np.zeros(1, np.int32))
    assert (races(trace) is None) == swap


def test_fields_of_records_are_apart() -> None:
    point = np.dtype([("x", np.float32), ("y", np.float32)])

    @cuda.jit
    def kernel(points, out):
        t = cuda.threadIdx.x
        if t == 0:
            points[0].x = 1
        else:
            points[0].y = 2
        out[t] = points[0].x if t == 0 else points[0].y

    points = np.zeros(1, point)
    trace = traced(kernel, (1, 2), points, floats(2), fresh=("points", "out"))
    assert races(trace) is None
    assert unwritten(trace) is None
    assert points[0].tolist() == (1, 2)
    assert set(trace.size.tolist()) == {4}


def test_a_field_that_two_threads_write() -> None:
    point = np.dtype([("x", np.float32), ("y", np.float32)])

    @cuda.jit
    def kernel(points):
        points[0].y += 1

    race = races(traced(kernel, (1, 2), np.zeros(1, point)))
    assert race is not None
    assert (race.array, race.lost_update) == ("points", True)


def test_double_buffers_need_one_barrier_and_single_ones_two() -> None:
    @cuda.jit
    def kernel(out, buffers):
        tile = cuda.shared.array((2, 32), float32)
        t = cuda.threadIdx.x
        for k in range(4):
            tile[k % buffers, t] = k
            cuda.syncthreads()
            out[t] += tile[k % buffers, 31 - t]

    assert races(traced(kernel, (1, 32), floats(32), 2)) is None
    assert races(traced(kernel, (1, 32), floats(32), 1)) is not None


def test_vector_accesses_overlap_scalar_ones() -> None:
    from weft.intrinsics import store4

    @cuda.jit
    def kernel(out):
        if cuda.threadIdx.x == 0:
            one = float32(1)
            store4(out, 0, one, one, one, one)
        elif cuda.threadIdx.x == 1:
            out[3] = 2

    race = races(traced(kernel, (1, 2), floats(4)))
    assert race is not None


def test_reads_of_memory_that_nobody_wrote() -> None:
    @cuda.jit
    def kernel(out):
        mine = cuda.local.array(2, float32)
        mine[0] = 1
        out[cuda.grid(1)] += mine[0]

    trace = traced(kernel, (1, 4), floats(4))
    assert unwritten(trace) is None
    missing = unwritten(traced(kernel, (1, 4), floats(4), fresh=("out",)))
    assert missing is not None
    assert missing.array == "out"


def test_large_grids_are_sampled() -> None:
    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = 1

    trace = traced(kernel, (1000, 1), floats(1000))
    assert (trace.blocks, trace.all_blocks, len(trace)) == (64, 1000, 64)
    assert {0, 999} <= sample(1000)
    assert len(sample(1000)) == 64


# Random kernels of two warps against every schedule

LANES = 4  # threads; two "warps" are not needed: a block barrier orders all of them


def brute_force(program: list[tuple[str, int, int]]) -> bool:
    """Whether two threads may touch one cell unordered: barriers split a program."""
    phases: list[list[tuple[str, int, int]]] = [[]]
    for step in program:
        if step[0] == "barrier":
            phases.append([])
        else:
            phases[-1].append(step)
    for phase in phases:
        touched = [
            (thread, kind, (thread * scale + offset) % 8)
            for kind, scale, offset in phase
            for thread in range(LANES)
        ]
        for (t1, k1, c1), (t2, k2, c2) in itertools.combinations(touched, 2):
            if t1 != t2 and c1 == c2 and "write" in (k1, k2):
                return True
    return False


STEP = st.one_of(
    st.tuples(st.sampled_from(["read", "write"]), st.integers(0, 3), st.integers(0, 7)),
    st.just(("barrier", 0, 0)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=8))
def test_random_barriers_against_every_schedule(
    program: list[tuple[str, int, int]],
) -> None:
    codes = np.array(
        [[{"read": 0, "write": 1, "barrier": 2}[k], s, o] for k, s, o in program],
        np.int32,
    )

    @cuda.jit
    def kernel(steps, out):
        tile = cuda.shared.array(8, float32)
        t = cuda.threadIdx.x
        for k in range(steps.shape[0]):
            cell = (t * steps[k, 1] + steps[k, 2]) % 8
            if steps[k, 0] == 2:
                cuda.syncthreads()
            elif steps[k, 0] == 1:
                tile[cell] = t
            else:
                out[t] = tile[cell]

    trace = traced(kernel, (1, LANES), codes, floats(LANES))
    assert (races(trace) is not None) == brute_force(program)
