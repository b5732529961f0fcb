"""Hazards: every race is found, and nothing that is ordered is called one."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from weft.intrinsics import peek, poke
from weft.sanitizer import races, unwritten
from weft.simulator import record
from weft.simulator.faults import Fault
from weft.simulator.trace.trace import Trace
from weft.simulator.trace.watched_run import sample


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


def last_block(fence: str, second: str = "reader") -> Any:
    """The writer has this fence; second: where the reader's is, '' for nowhere."""

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
            if second == "too early":
                cuda.threadfence()
            ticket[0] = cuda.atomic.add(count, 0, 1)
            if second == "counter":
                cuda.threadfence()
            elif second == "narrow":
                cuda.threadfence_block()
        cuda.syncthreads()
        if ticket[0] == cuda.gridDim.x - 1 and t == 1:
            if second == "reader":
                cuda.threadfence()
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


@pytest.mark.parametrize(
    ("second", "enough"),
    [
        ("reader", True),
        ("counter", True),
        ("narrow", False),
        ("too early", False),
        ("", False),
    ],
)
def test_the_reader_needs_a_fence_too(second: str, enough: bool) -> None:
    trace = traced(
        last_block("threadfence", second),
        (4, 8),
        floats(32),
        floats(4),
        np.zeros(1, np.int32),
        floats(1),
    )
    race = races(trace)
    assert (race is None) == enough
    if race is not None:
        assert race.unfenced
        assert race.array == "parts"


def test_without_the_writers_fence_the_readers_is_not_the_one_that_is_missing() -> None:
    trace = traced(
        last_block("", ""),
        (4, 8),
        floats(32),
        floats(4),
        np.zeros(1, np.int32),
        floats(1),
    )
    race = races(trace)
    assert race is not None
    assert not race.unfenced


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
            cuda.threadfence()
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


@cuda.jit(device=True)
def of_other_warp(value):
    cells = cuda.shared.array(2, float32)
    if cuda.threadIdx.x % 32 == 0:
        cells[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    return cells[1 - cuda.threadIdx.x // 32]


def test_a_device_functions_shared_array_is_one_for_all_calls() -> None:
    @cuda.jit
    def kernel(x, out):
        top = max(float32(0), x[cuda.threadIdx.x])  # not loaded, but computed
        top = of_other_warp(top)
        out[cuda.threadIdx.x] = of_other_warp(top)  # loaded

    race = races(traced(kernel, (1, 64), floats(64), floats(64)))
    assert race is not None
    assert (race.array, race.within) == ("cells", "block")


def test_a_device_function_has_a_shared_array_for_each_type() -> None:
    @cuda.jit
    def kernel(x, out):
        top = of_other_warp(x[cuda.threadIdx.x])
        out[cuda.threadIdx.x] = top + of_other_warp(int32(cuda.threadIdx.x))

    assert races(traced(kernel, (1, 64), floats(64), floats(64))) is None


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


@settings(max_examples=examples(150))
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


# Random kernels of two blocks and two warps against what every thread can know

WHO = [0, 1, 2, 3, 32, 33]  # of each block: four lanes of warp 0, two of warp 1
KINDS = ("read", "write", "atomic", "barrier", "grid", "warp")
Step = tuple[str, int, int, int, int]  # kind, shared or global, scale, offset, mask


def cell_of(step: Step, rank: int, block: int) -> tuple[int, int]:
    """What a thread touches: the memory (-1: global), and the cell in it."""
    _, is_global, scale, offset, _ = step
    cell = (rank * scale + block * is_global * (scale + 1) + offset) % 8
    return (-1 if is_global else block), cell


def racy(program: list[Step]) -> bool:
    """Whether two accesses conflict of which neither thread knows the other's.

    All threads take the program step by step, which is a possible order. A thread knows
    what it did; who meets at a barrier knows what any of them knew.
    """
    threads = [(b, r) for b in range(2) for r in range(len(WHO))]
    knows: dict[tuple[int, int], set[int]] = {t: set() for t in threads}
    done: list[tuple[tuple[int, int], str]] = []  # the cell, and what was done to it

    def meet(together: list[tuple[int, int]]) -> None:
        everything = set().union(*(knows[t] for t in together))
        for t in together:
            knows[t] = set(everything)

    for step in program:
        kind, mask = step[0], step[4]
        if kind == "grid":
            meet(threads)
        elif kind == "barrier":
            for block in range(2):
                meet([t for t in threads if t[0] == block])
        elif kind == "warp":
            for block in range(2):
                meet([(block, r) for r in range(4) if mask >> r & 1])
        else:
            for block, rank in threads:
                if not mask >> rank & 1:
                    continue
                cell = cell_of(step, rank, block)
                for number, (other, earlier) in enumerate(done):
                    plain = {kind, earlier} - {"atomic"}
                    writes = {kind, earlier} - {"read"}
                    unknown = number not in knows[block, rank]
                    if other == cell and plain and writes and unknown:
                        return True
                knows[block, rank].add(len(done))
                done.append((cell, kind))
    return False


@cuda.jit
def take_steps(steps, work, out):
    tile = cuda.shared.array(8, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    rank = t if t < 4 else (t - 28 if t >= 32 else -1)
    for k in range(steps.shape[0]):
        kind, wide, scale, offset, mask = steps[k]
        cell = (rank * scale + b * wide * (scale + 1) + offset) % 8
        takes_part = rank >= 0 and mask >> rank & 1
        if kind == 3:
            cuda.syncthreads()
        elif kind == 4:
            cuda.cg.this_grid().sync()
        elif kind == 5:
            if t < 4 and takes_part:
                cuda.syncwarp(mask)
        elif takes_part:
            memory = work if wide else tile
            if kind == 0:
                out[b, rank] = memory[cell]
            elif kind == 1:
                memory[cell] = t
            else:
                cuda.atomic.add(memory, cell, 2)


ACCESS = st.tuples(
    st.sampled_from(KINDS[:3]),
    st.integers(0, 1),
    st.integers(0, 2),
    st.integers(0, 7),
    st.integers(1, 63),
)
MEETING = st.one_of(
    st.just(("barrier", 0, 0, 0, 63)),
    st.just(("grid", 0, 0, 0, 63)),
    st.tuples(st.just("warp"), *[st.just(0)] * 3, st.integers(1, 15)),
)


@settings(max_examples=examples(200))
@given(st.lists(st.one_of(ACCESS, MEETING), min_size=2, max_size=8))
def test_random_meetings_of_blocks_and_warps(program: list[Step]) -> None:
    steps = np.array([[KINDS.index(kind), *rest] for kind, *rest in program], np.int64)
    work, out = np.zeros(8, np.int32), np.zeros((2, len(WHO)), np.int32)
    trace = traced(take_steps, (2, 34), steps, work, out)
    assert (races(trace) is not None) == racy(program)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [(True, True), (False, True), (True, False)],
    ids=["fences", "no writer's fence", "no reader's fence"],
)
def test_a_poke_hands_on_what_a_fence_released(writer: bool, reader: bool) -> None:
    @cuda.jit
    def kernel(flag, data, out):
        if cuda.blockIdx.x == 1:
            data[0] = 5
            if writer:
                cuda.threadfence()
            poke(flag, 0, 1)
        else:
            while peek(flag, 0) == 0:
                pass
            if reader:
                cuda.threadfence()
            out[0] = data[0]

    out = np.zeros(1, np.int32)
    trace = traced(kernel, (2, 1), np.zeros(1, np.int32), np.zeros(1, np.int32), out)
    assert out[0] == 5
    assert (races(trace) is None) is (writer and reader)


def test_relaxed_and_plain_accesses_race() -> None:
    @cuda.jit
    def store(flag, out):
        if cuda.blockIdx.x == 0:
            flag[0] = 1
        out[cuda.blockIdx.x] = peek(flag, 0)

    @cuda.jit
    def load(flag, out):
        if cuda.blockIdx.x == 0:
            poke(flag, 0, 1)
        out[cuda.blockIdx.x] = flag[0]

    @cuda.jit
    def loads(flag, out):
        out[cuda.blockIdx.x] = flag[0] if cuda.blockIdx.x else peek(flag, 0)

    @cuda.jit
    def relaxed(flag, out):
        poke(flag, 0, cuda.blockIdx.x)
        cuda.atomic.add(flag, 0, 1)
        out[cuda.blockIdx.x] = peek(flag, 0)

    for kernel, wrong in ((store, 1), (load, 1), (loads, 0), (relaxed, 0)):
        trace = traced(kernel, (2, 1), np.zeros(1, np.int32), floats(2))
        assert (races(trace) is not None) == bool(wrong), kernel.__name__


def test_a_word_that_nobody_pokes_is_an_endless_loop() -> None:
    @cuda.jit
    def kernel(flag):
        while peek(flag, cuda.blockIdx.x) == 0:
            pass

    with pytest.raises(Fault, match="no thread gets any further"):
        traced(kernel, (2, 32), np.zeros(2, np.uint64))
