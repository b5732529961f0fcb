"""Time a backward pass of attention in one kernel, which adds up dq in memory.

python added.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch. Each
block keeps dk and dv of 128 keys in registers, and adds its part of dq to float32 sums:
with `red`, an instruction for four numbers, or with the TMA, which adds half a tile at
a time. If that is done in the order of the keys, the result is the same in every run,
but a block has to wait for its turn at each tile.
"""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2])]

import_module("weft")  # before Numba

from numba import cuda, float32, int32, uint8, uint64  # noqa: E402
from profiled import facts, lab  # noqa: E402
from timed import BURSTS, Experiment, timed  # noqa: E402

from weft.intrinsics import (  # noqa: E402
    bulk_commit,
    bulk_copy,
    bulk_wait,
    bulk_wait_read,
    descriptor,
    descriptor_columns,
    fence_async,
    fence_mbarrier_init,
    fence_tensor_map,
    hold,
    hold_words,
    hopper,
    load4,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    named_barrier,
    peek,
    poke,
    setmaxnreg_dec,
    setmaxnreg_inc,
    store4,
    wgmma_commit,
    wgmma_fence,
    wgmma_wait,
)
from weft.intrinsics.formats import BFLOAT16  # noqa: E402
from weft.intrinsics.instructions import instruction  # noqa: E402

forward = import_module("weft.chapters.24_attention.forward_kernel")
backward = import_module("weft.chapters.24_attention.backward_kernels")
BOX, ROWS = forward.BOX, forward.ROWS
next_stage, pack = forward.next_stage, forward.pack
put_rows, two_boxes = forward.put_rows, forward.two_boxes
chain_64, clear_t, consumer_of = (
    backward.chain_64,
    backward.clear_t,
    backward.consumer_of,
)
grads_t, head_and_block = backward.grads_t, backward.head_and_block
products_64 = backward.products_64
put_grads, weights_t = backward.put_grads, backward.weights_t

CAUSAL, RED, ORDERED = False, False, False
DEEP, SIDE = 3, 128
SIDES = DEEP * SIDE
FULL, EMPTY = 1, 1 + DEEP  # mbarriers: of the stages, and of the sums on their way out
SUMS_FULL, SUMS_EMPTY, BARS = 1 + 2 * DEEP, 3 + 2 * DEEP, 5 + 2 * DEEP
FIRST_DS = (2 + DEEP) * ROWS  # two tiles of dS.T: 128 keys, 64 queries
SHARED = FIRST_DS + 2 * BOX
TILE, HALF = 8192, 4096  # float32 of 64 rows of dq, and of a warpgroup's part
STAGED = BOX + BOX // 2

# operations that the course itself does not need


def only_on_a_gpu(*given: Any) -> None:
    raise NotImplementedError


wgmma_columns = hopper._register(
    "wgmma_columns",
    "As `wgmma_bf16`, but the rows of both operands are along k.",
    hopper._wgmma("bf16", 16, ", 1, 1, 1, 1"),
    hopper._described("wgmma_columns", BFLOAT16),
)
red4 = hopper._register(
    "red4",
    "Add four floats to global memory: (x, i, a, b, c, d).",
    instruction(
        "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};",
        "GLOBAL FLOAT FLOAT FLOAT FLOAT",
    ),
    only_on_a_gpu,
)
_BULK = "async.bulk.global.shared::cta.bulk_group"
bulk_add = hopper._register(
    "bulk_add",
    "Add floats of shared memory to global memory: (x, i, tile, j, nbytes).",
    instruction(f"cp.reduce.{_BULK}.add.f32 [$0], [$1], $2;", "GLOBAL SHARED NUMBER"),
    only_on_a_gpu,
)
bulk_store = hopper._register(
    "bulk_store",
    "Store bytes of shared memory to global memory: (x, i, tile, j, nbytes).",
    instruction(f"cp.{_BULK} [$0], [$1], $2;", "GLOBAL SHARED NUMBER"),
    only_on_a_gpu,
)


@cuda.jit(device=True)
def start_64(acc, a, b):
    """Start acc = a @ b.T; what acc held need not be kept in registers."""
    for c in range(32):
        acc[c] = float32(0)
    products_64(acc, a, b)


@cuda.jit(device=True)
def products_dq(acc, a, b):
    """Start acc = dS @ k: 64 queries, 128 keys, and 64 of the 128 numbers."""
    for c in range(32):
        acc[c] = float32(0)
    wgmma_fence()
    for step in range(8):
        wgmma_columns(acc, 64, a + 128 * step, b + 128 * step, int32(step))
    wgmma_commit()


@cuda.jit(device=True)
def load(memory, bars, side, maps, lse2, delta, pad, blocks, j, plane, count):
    """The producer: k and v once, then q and g, from the last tile to the first."""
    map_q, map_k, map_v, map_g = maps
    row = j * int32(128)
    mbarrier_arrive_expect_tx(bars, int32(0), int32(2 * ROWS))
    two_boxes(memory, int32(0), BOX, map_k, row, plane, bars, int32(0))
    two_boxes(memory, int32(ROWS), BOX, map_v, row, plane, bars, int32(0))
    stage, parity = int32(0), int32(1)
    for n in range(count):
        full, at = int32(FULL) + stage, (stage + int32(2)) * int32(ROWS)
        row, near = (blocks - int32(1) - int32(n)) * int32(64), stage * int32(SIDE)
        mbarrier_wait(bars, int32(EMPTY) + stage, parity)
        mbarrier_arrive_expect_tx(bars, full, int32(ROWS + 512))
        two_boxes(memory, at, BOX // 2, map_q, row, plane, bars, full)
        at += int32(BOX)
        two_boxes(memory, at, BOX // 2, map_g, row, plane, bars, full)
        far = plane * pad + row
        bulk_copy(side, near, lse2, far, int32(256), bars, full)
        near += int32(64)
        bulk_copy(side, near, delta, far, int32(256), bars, full)
        stage, parity = next_stage(stage, parity, DEEP)


@cuda.jit(device=True)
def add(bars, room, sums, turns, blocks, j, plane, count, consumer):
    """A writer: the TMA adds one consumer's part of each tile of dq."""
    parity, near = int32(0), consumer * int32(HALF)
    for n in range(count):
        tile = plane * blocks + blocks - int32(1) - int32(n)
        at, turn = tile * int32(TILE) + near, int32(2) * tile + consumer
        mbarrier_wait(bars, int32(SUMS_FULL) + consumer, parity)
        if ORDERED:
            while peek(turns, turn) != j:
                pass
            cuda.threadfence()
        if ORDERED and j == 0:
            bulk_store(sums, at, room, near, int32(4 * HALF))
        else:
            bulk_add(sums, at, room, near, int32(4 * HALF))
        bulk_commit()
        bulk_wait_read(0)
        mbarrier_arrive(bars, int32(SUMS_EMPTY) + consumer)
        if ORDERED:
            bulk_wait(0)
            cuda.threadfence()
            poke(turns, turn, j + int32(1))
        parity ^= int32(1)
    bulk_wait(0)


@cuda.jit(device=True)
def gather(
    memory, bars, side, room, sums, map_dk, map_dv, scale, factor, blocks, j, plane,
    count, consumer,
):  # fmt: skip
    """A consumer: dk and dv of 64 keys, and half of the columns of dq."""
    s = cuda.local.array(32, float32)
    dp = cuda.local.array(32, float32)
    dq = cuda.local.array(32, float32)
    dk = cuda.local.array(64, float32)
    dv = cuda.local.array(64, float32)
    p = cuda.local.array(16, int32)
    ds = cuda.local.array(16, int32)
    thread = int32(cuda.threadIdx.x) & int32(127)
    lane, col = thread & int32(31), (thread & int32(3)) * int32(2)
    first_key = j * int32(128) + consumer * int32(64)
    row = (thread >> int32(5)) * int32(16)
    key = first_key + row + (lane >> int32(2))
    row += consumer * int32(64) + (lane & int32(15))
    piece = (lane >> int32(4)) ^ (row & int32(7))
    spot = int32(FIRST_DS) + row * int32(128) + piece * int32(16)
    offset = consumer * int32(BOX // 2)
    place = consumer * int32(HALF) + thread * int32(4)
    for c in range(64):
        dk[c] = float32(0)
        dv[c] = float32(0)
    k, v = descriptor(memory, offset), descriptor(memory, int32(ROWS) + offset)
    columns = descriptor_columns(memory, consumer * int32(BOX), int32(BOX))
    stage, parity, other = int32(0), int32(0), int32(0)
    at = int32(2 * ROWS)
    mbarrier_wait(bars, int32(0), int32(0))
    mbarrier_wait(bars, int32(FULL), int32(0))
    start_64(s, k, descriptor(memory, at))
    wgmma_wait(0)
    hold(s, 32)
    for n in range(count):
        i = blocks - int32(1) - int32(n)
        near = stage * int32(SIDE) + int32(2) * col
        start_64(dp, v, descriptor(memory, at + int32(BOX)))
        wgmma_wait(1)
        hold(s, 32)
        hold(dk, 64)
        hold_words(ds, 16)
        if lane == 0 and n > 0:
            before = stage - int32(1)
            if stage == 0:
                before = int32(DEEP - 1)
            mbarrier_arrive(bars, int32(EMPTY) + before)
        weights_t(s, side, near, scale)
        if CAUSAL and n >= count - 2:
            clear_t(s, i * int32(64) + col, key)
        pack(p, s, 16)
        chain_64(dv, p, descriptor_columns(memory, at + int32(BOX), int32(BOX // 2)))
        wgmma_wait(1)
        hold(dp, 32)
        grads_t(dp, s, side, near + int32(64))
        pack(ds, dp, 16)
        put_grads(memory, spot + other, ds)
        fence_async()
        named_barrier(int32(3), int32(256))
        tile = descriptor_columns(memory, int32(FIRST_DS) + other, int32(BOX))
        products_dq(dq, tile, columns)
        chain_64(dk, ds, descriptor_columns(memory, at, int32(BOX // 2)))
        wgmma_wait(2)
        hold(dv, 64)
        hold_words(p, 16)
        if n < count - 1:
            stage, parity = next_stage(stage, parity, DEEP)
            at = (stage + int32(2)) * int32(ROWS)
            mbarrier_wait(bars, int32(FULL) + stage, parity)
        start_64(s, k, descriptor(memory, at))  # the last is not used
        wgmma_wait(2)
        hold(dq, 32)
        if RED:
            to = (plane * blocks + i) * int32(TILE) + place
            for c in range(8):
                a, b = dq[4 * c], dq[4 * c + 1]
                red4(sums, to + int32(512 * c), a, b, dq[4 * c + 2], dq[4 * c + 3])
        else:
            half = (int32(n) & int32(1)) ^ int32(1)
            mbarrier_wait(bars, int32(SUMS_EMPTY) + consumer, half)
            for c in range(8):
                a, b = dq[4 * c], dq[4 * c + 1]
                to = place + int32(512 * c)
                store4(room, to, a, b, dq[4 * c + 2], dq[4 * c + 3])
            fence_async()
            cuda.syncwarp()
            if lane == 0:
                mbarrier_arrive(bars, int32(SUMS_FULL) + consumer)
        other ^= int32(BOX)
    wgmma_wait(0)
    hold(dk, 64)
    hold(s, 32)
    hold_words(ds, 16)
    named_barrier(int32(3), int32(256))  # no product reads the keys any more
    one, group = float32(1), consumer + int32(1)
    put_rows(
        memory, offset, dk, factor, factor, thread, group, map_dk, first_key, plane
    )
    offset += int32(ROWS)
    put_rows(memory, offset, dv, one, one, thread, group, map_dv, first_key, plane)
    if thread == 0:
        bulk_wait(0)


@cuda.jit
def grads(
    map_q, map_k, map_v, map_g, map_dk, map_dv, lse2, delta, sums, turns, seq, pad,
    scale, factor,
):  # fmt: skip
    """Write dk and dv of 128 keys, and add their part of dq."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    side = cuda.shared.array(SIDES, float32, alignment=128)
    room = cuda.shared.array(TILE, float32, alignment=128)
    bars = cuda.shared.array(BARS, uint64)
    t, blocks = int32(cuda.threadIdx.x), (int32(seq) + int32(63)) >> int32(6)
    plane, j = head_and_block()
    count = blocks
    if CAUSAL:
        count = blocks - int32(2) * j
    if t == 0:
        for each in (map_q, map_k, map_v, map_g, map_dk, map_dv):
            fence_tensor_map(each)
        mbarrier_init(bars, int32(0), int32(1))
        for i in range(DEEP):
            mbarrier_init(bars, int32(FULL + i), int32(1))
            mbarrier_init(bars, int32(EMPTY + i), int32(8))
        for i in range(2):
            mbarrier_init(bars, int32(SUMS_FULL + i), int32(4))
            mbarrier_init(bars, int32(SUMS_EMPTY + i), int32(1))
        fence_mbarrier_init()
    cuda.syncthreads()

    if t < int32(128):
        setmaxnreg_dec(24)
        if t == 0:
            maps = map_q, map_k, map_v, map_g
            pad = int32(pad)
            load(memory, bars, side, maps, lse2, delta, pad, blocks, j, plane, count)
        elif (t == 32 or t == 64) and not RED:
            consumer = (t >> int32(5)) - int32(1)
            add(bars, room, sums, turns, blocks, j, plane, count, consumer)
    else:
        setmaxnreg_inc(240)
        gather(
            memory, bars, side, room, sums, map_dk, map_dv, float32(scale),
            float32(factor), blocks, j, plane, count, consumer_of(t),
        )  # fmt: skip


@cuda.jit
def rounded(sums, turns, map_dq, factor):
    """Round 64 rows of dq to bfloat16, and set their turns to zero."""
    memory = cuda.shared.array(STAGED, uint8, alignment=1024)
    acc = cuda.local.array(64, float32)
    t, i = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x)
    plane, factor = int32(cuda.blockIdx.y), float32(factor)
    tile = plane * int32(cuda.gridDim.x) + i
    if t == 0:
        fence_tensor_map(map_dq)
    for c in range(16):
        at = tile * int32(TILE) + int32(512 * c) + t * int32(4)
        four = load4(sums, at)
        acc[4 * c], acc[4 * c + 1], acc[4 * c + 2], acc[4 * c + 3] = four
    if t < 2:
        turns[int32(2) * tile + t] = int32(0)
    row, group = i * int32(64), int32(1)
    put_rows(memory, int32(0), acc, factor, factor, t, group, map_dq, row, plane)
    if t == 0:
        bulk_wait(0)


def one_kernel(of: Any, mine: Any, **constants: bool) -> Callable[[], Any]:
    """Return a launch that writes the gradients of an `Attention`."""
    import torch

    from weft import bench
    from weft.templates import large_shared, specialise

    tiles = -(-mine.seq // 64)
    sums = torch.empty(mine.planes * tiles * TILE, device="cuda")
    turns = torch.zeros(2 * mine.planes * tiles, dtype=torch.int32, device="cuda")
    maps, map_dq = (*mine.of_kv[:6],), mine.of_q[2]
    words = cuda.as_cuda_array(sums), cuda.as_cuda_array(turns)
    args = *maps, *mine.of_kv[7:9], *words, *mine.of_kv[9:]
    made = specialise(
        grads,
        unroll=("step",),
        launch_bounds=(384, 1),
        CAUSAL=mine.causal,
        **constants,
    )
    large_shared(made, SHARED, *args)

    def launch() -> None:
        stream, planes = bench.stream(), mine.planes
        of.row_sums[(mine.padded // 16, planes), 256, stream](*mine.of_rows)
        if not constants.get("ORDERED"):
            sums.zero_()  # otherwise, the first block of a tile stores
        grid = mine.together, mine.blocks, planes // mine.together
        made[grid, 384, stream, SHARED](*args)
        rounded[(tiles, planes), 128, stream](*words, map_dq, of.SCALE128)

    return launch


def experiment(causal: bool) -> Experiment:
    """Return the table for 4 x 16 heads of 4096."""
    held: list[Any] = []

    def launches() -> dict[str, Callable[[], Any]]:
        q, k, v, g = of.normal(4, 64, 4096)
        mine = of.Attention(q, k, v, causal)
        mine.forward()
        mine.prepare(g)
        cudnn = of.cudnn_backward(q, k, v, g, causal)
        held[:] = mine, cudnn()
        return {
            "cuDNN": cudnn,
            "dS stored": mine.backward,
            "red, in any order": one_kernel(of, mine, RED=True),
            "TMA, in any order": one_kernel(of, mine),
            "TMA, in order": one_kernel(of, mine, ORDERED=True),
        }

    def right(name: str) -> None:
        mine, wanted = held
        found = mine.dq, mine.dk, mine.dv
        for one, other in zip(found, wanted, strict=True):
            far = (one.float() - other.reshape(one.shape).float()).norm()
            assert name == "cuDNN" or far < 0.01 * other.float().norm(), name

    title = f"backward, 4 x 4096{', causal' if causal else ''}"
    return Experiment(title, launches, "cuDNN", right)


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    WANTED = "normal", "cudnn_backward", "Attention", "SCALE128", "row_sums"
    of = lab("24_attention", *WANTED)
    tables = [timed(experiment(causal), bursts=True) for causal in (False, True)]
    text = "$ python3 added.py\n" + facts(ncu=False) + BURSTS + "\n"
    text += "\n".join(tables)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "added.txt").write_text(text, encoding="utf-8")
