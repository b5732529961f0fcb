"""Time tiles of 192 x 200 on ragged shapes, beside chapter 22's GEMM and cuBLAS.

python ragged.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch,
writes ragged.json and ragged.txt. python ragged.py --table writes ragged.txt from
ragged.json, without a GPU.

The kernel is the chapter's `warp_specialised` for clusters of two blocks, with two
changes. If the number of rows of tiles is odd, the tiles of the last row are computed
in pairs side by side. Two such tiles need the same rows of a, and `load` shares these
instead of the rows of w. If the width of a tile is not a multiple of 64, its last
columns are stored from registers.
"""

import statistics
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent), str(HERE)]

from early import machine, record, right  # noqa: E402  before Numba

from weft.chapters import Chapter  # noqa: E402
from weft.intrinsics import (  # noqa: E402
    bf16_pair,
    bulk_wait_read,
    cluster_rank,
    cluster_sync,
    fence_mbarrier_init,
    fence_tensor_map,
    hold,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    setmaxnreg_dec,
    setmaxnreg_inc,
    tma_load,
    tma_load_multicast,
    wgmma_wait,
)
from weft.tensor_maps import tensor_map  # noqa: E402

from numba import cuda, float32, int32, uint8, uint64  # noqa: E402  isort: skip

Run = Callable[[], Any]

chapter = Chapter("22_hopper_gemm")
kernels = chapter.kernels
tile_of, next_stage, multiply = kernels.tile_of, kernels.next_stage, kernels.multiply
put_by_tma, release = kernels.put_by_tma, kernels.release

BM, BN, DEPTH, CLUSTER = 192, 200, 4, 2  # `sized` has these constants for any tile
A_BYTES, STAGE_BYTES, LINE, SUMS = 128 * BM, 128 * (BM + BN), 64, BN // 2
CONSUMERS, BUFFERS, FEWER, MORE = 3, 1, 32, 160
PAIRED = {"CLUSTER": CLUSTER, "buffers": BUFFERS, "GROUP": 5}


@cuda.jit(device=True)
def clusters_of(rows, cols):
    """Return how many clusters it takes to compute rows x cols tiles."""
    beside = (cols + int32(CLUSTER - 1)) // int32(CLUSTER)
    return int32(rows // int32(CLUSTER) * cols + rows % int32(CLUSTER) * beside)


@cuda.jit(device=True)
def place_of(number, rank, rows, cols):
    """Return the first row and column of a block's tile, and the tiles' arrangement.

    The tiles of a cluster are one below the other (0); in the rows of tiles that are
    left over, they are side by side (1).
    """
    high = int32(rows // int32(CLUSTER))  # rows of clusters
    if number < high * cols:
        i, j = tile_of(number, high, cols)
        return (i * int32(CLUSTER) + rank) * int32(BM), j * int32(BN), int32(0)
    number -= high * cols
    across = (cols + int32(CLUSTER - 1)) // int32(CLUSTER)
    i = int32(high * int32(CLUSTER) + number // across)
    j = int32(number % across * int32(CLUSTER) + rank)
    return i * int32(BM), j * int32(BN), int32(1)


@cuda.jit(device=True)
def load(memory, at, tensor, x, row, size, shared, rank, full, stage):
    """Load `size` rows; of rows that are shared, only one part, for all blocks."""
    part = int32(size // CLUSTER)
    if shared:
        at, row = at + rank * part * int32(128), row + rank * part
        mask = int32(2**CLUSTER - 1)
        tma_load_multicast(memory, at, tensor, x, row, full, stage, mask)
    else:
        for p in range(CLUSTER):
            to, first = at + int32(128 * p) * part, row + int32(p) * part
            tma_load(memory, to, tensor, x, first, full, stage)


@cuda.jit(device=True)
def produce(map_a, map_w, memory, full, empty, tiles, sizes):
    """Load the stages of all tiles of this block."""
    (begin, stride, rank), (rows, cols, steps) = tiles, sizes
    stage, parity = int32(0), int32(1)
    for number in range(begin, clusters_of(rows, cols), stride):
        row, col, beside = place_of(int32(number), rank, rows, cols)
        below = int32(1) - beside
        for step in range(steps):
            at, x = stage * int32(STAGE_BYTES), int32(step) * int32(LINE)
            at_w = at + int32(A_BYTES)
            mbarrier_wait(empty, stage, parity)
            mbarrier_arrive_expect_tx(full, stage, STAGE_BYTES)
            load(memory, at, map_a, x, row, BM, beside, rank, full, stage)
            load(memory, at_w, map_w, x, col, BN, below, rank, full, stage)
            stage, parity = next_stage(stage, parity)


@cuda.jit(device=True)
def put_last(c, acc, row, col, t, m, n, scale):
    """Store the columns beyond a multiple of 64, two bfloat16 at a time."""
    lane = t & int32(31)
    r = row + (t >> int32(5)) * int32(16) + (lane >> int32(2))
    q = (col >> int32(1)) + (lane & int32(3))
    for j in range(BN // 64 * 8, BN // 8):
        if q + int32(4 * j) < n >> int32(1):
            if r < m:
                pair = bf16_pair(acc[4 * j] * scale, acc[4 * j + 1] * scale)
                c[r, q + int32(4 * j)] = pair
            if r + int32(8) < m:
                pair = bf16_pair(acc[4 * j + 2] * scale, acc[4 * j + 3] * scale)
                c[r + int32(8), q + int32(4 * j)] = pair


@cuda.jit
def paired(map_a, map_w, map_c, c, m, n, k, scale):
    """Compute c = scale * a @ w.T by persistent blocks, in clusters of two."""
    memory = cuda.shared.array(0, uint8, alignment=1024)
    full = cuda.shared.array(DEPTH, uint64)
    empty = cuda.shared.array(DEPTH, uint64)
    acc = cuda.local.array(SUMS, float32)
    group = int32(cuda.threadIdx.x) >> int32(7)
    t = int32(cuda.threadIdx.x) & int32(127)
    rows = int32((m + int32(BM - 1)) // int32(BM))
    cols = int32((n + int32(BN - 1)) // int32(BN))
    steps = int32((k + int32(LINE - 1)) // int32(LINE))
    begin = int32(cuda.blockIdx.x) // int32(CLUSTER)
    stride = int32(cuda.gridDim.x) // int32(CLUSTER)
    rank = cluster_rank()

    if t == 0 and group == 0:
        fence_tensor_map(map_a)
        fence_tensor_map(map_w)
        fence_tensor_map(map_c)
    if t == 0 and group == 1:
        for q in range(DEPTH):
            mbarrier_init(full, q, 1)
            mbarrier_init(empty, q, CONSUMERS * CLUSTER)
        fence_mbarrier_init()
    cluster_sync()

    if group == 0:
        setmaxnreg_dec(FEWER)
        if t == 0:
            tiles, sizes = (begin, stride, rank), (rows, cols, steps)
            produce(map_a, map_w, memory, full, empty, tiles, sizes)
    else:
        setmaxnreg_inc(MORE)
        consumer = group - int32(1)
        out = int32(DEPTH * STAGE_BYTES) + consumer * int32(BUFFERS * 8192)
        stage, parity = int32(0), int32(0)
        for number in range(begin, clusters_of(rows, cols), stride):
            row, col, _ = place_of(int32(number), rank, rows, cols)
            row += consumer * int32(64)
            before = int32(0)
            for step in range(steps):
                at = stage * int32(STAGE_BYTES)
                mbarrier_wait(full, stage, parity)
                add = int32(step > 0)
                multiply(acc, memory, at, consumer * int32(8192), add)
                wgmma_wait(1)  # the stage before has been read
                if step > 0:
                    release(empty, before, t)
                before = stage
                stage, parity = next_stage(stage, parity)
            wgmma_wait(0)
            release(empty, before, t)
            hold(acc, SUMS)
            put_by_tma(map_c, acc, memory, out, row, col, t, group, scale)
            if BN % 64:
                put_last(c, acc, row, col, t, m, n, scale)
        if t == 0:
            bulk_wait_read(0)
    cuda.syncwarp()  # the producer's warp waits for its first lane
    cluster_sync()


def paired_gemm(a: Any, w: Any, c: Any, bm: int, bn: int) -> Run:
    """Return a function that computes c = a @ w.T with pairs of tiles of bm x bn."""
    import torch

    launch, block, shared, _ = kernels.compiled(paired, bm, bn, **PAIRED)
    (m, k), n = a.shape, w.shape[0]
    maps = (
        tensor_map(a, (bm // 2, LINE)),
        tensor_map(w, (bn // 2, LINE)),
        tensor_map(c, (64, 64)),
    )
    rows, cols = -(-m // bm), -(-n // bn)
    pairs = rows // 2 * cols + rows % 2 * -(-cols // 2)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    grid = 2 * min(pairs, sms // 2)
    on = *maps, c.view(torch.int32), m, n, k, 1.0

    def run() -> None:
        launch(grid, block, *on, shared=shared)

    run.held = a, w  # type: ignore[attr-defined]  the maps have only their addresses
    return run


TURNS = 13
CASES = {  # shape → the chapter's tiles for it, and the width of paired tiles
    "ragged": ("128 x 256, cluster", 200),
    "ragged, small": ("192 x 192, cluster", 192),
}


def candidates(case: str, on: Any) -> dict[str, Run]:
    """Return what is timed on a ragged shape of the chapter."""
    measure, (cluster, bn) = chapter.measure, CASES[case]
    return {
        "cuBLAS": measure.fastest(measure.library(*on)),
        cluster: kernels.gemm(*on, **measure.TILES[cluster]),
        f"192 x {bn}, paired": paired_gemm(*on, 192, bn),
    }


def medians(runs: dict[str, Run]) -> dict[str, float]:
    """Return the µs of a launch, by bursts of launches timed in turns."""
    from weft.timing import BurstStopwatch

    watch, times = BurstStopwatch(), {name: [] for name in runs}
    for turn in range(TURNS + 1):
        order = list(runs)
        first = turn % len(order)
        for name in order[first:] + order[:first]:
            ms = watch.once(runs[name], 0.0).ms
            times[name] += [ms] if turn else []
    return {n: round(statistics.median(ms) * 1e3, 2) for n, ms in times.items()}


def launched(run: Run) -> str:
    """Return the name of the matrix product that a call of cuBLAS launches."""
    import torch

    with torch.profiler.profile() as found:
        run()
        torch.cuda.synchronize()
    names = [e.name for e in found.events() if e.name.startswith("nvjet")]
    return names[0] if names else "another kernel"


def measured() -> list[dict[str, Any]]:
    """Return the tables: two ragged shapes, and 132 tiles of two sizes."""
    measure, today, tables = chapter.measure, str(date.today()), []
    for case in CASES:
        m, n, k = measure.SHAPES[case]
        on = measure.matrices(m, n, k)
        runs = candidates(case, on)
        for run in runs.values():
            right(run, *on)
        one = {"case": f"{m} x {n} x {k}", "run": today, "us": medians(runs)}
        tables.append(one | {"cuBLAS": launched(runs["cuBLAS"])})
    times = {}
    for k in (1992, 2048):
        for bm, name in ((128, "128 x 256"), (64, "64 x 256")):
            on = measure.matrices(12 * bm, 2816, k)
            run = kernels.gemm(*on, bm=bm, buffers=2, GROUP=4)
            right(run, *on)
            times |= medians({f"{name}, k = {k}": run})
    return [*tables, {"case": "132 tiles", "run": today, "us": times}]


def table(data: dict[str, Any]) -> str:
    """Set the tables: times and, where cuBLAS was timed, shares of its speed."""
    text = "".join(f"# {line}\n" for line in (data["device"], *data["made by"]))
    for one in data["tables"]:
        text += "\n"
        if "cuBLAS" in one:
            text += f"# cuBLAS launches {one['cuBLAS']}\n"
        whole = one["us"].get("cuBLAS")
        head = f"{one['case']}, {one['run']}"
        text += f"{head:52}{'µs':>10}" + (f"{'of cuBLAS':>12}" if whole else "") + "\n"
        for name, us in one["us"].items():
            share = f"{whole / us:>12.1%}" if whole else ""
            text += f"{name:52}{us:>10.2f}{share}\n"
    return text


def recorded() -> dict[str, Any]:
    """Time all tables, and say on what."""
    how = f"medians of up to {TURNS} bursts of launches timed in turns"
    device, made = machine(how)
    return {"device": device, "made by": made, "tables": measured()}


if __name__ == "__main__":
    record(__file__, __doc__, recorded, table)
