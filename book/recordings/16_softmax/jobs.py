"""Time kernels for long rows in which every warp has one job, and print their speeds.

python jobs.py, on a machine with a Hopper GPU, Numba and PyTorch.

As in the lab's teams, blocks stay on the GPU, and a team of them shares a row at a
time. A block's shared memory is divided into stages, each of which holds the block's
piece of a row (in the backward pass, its pieces of y and of dy). One warp starts the
TMA's copies into empty stages; some warps find the pair of a piece; one publishes it;
collectors wait for the pairs of the team's other blocks, and take turns from row to
row; the remaining warps compute the results and store them. Every job waits at an
mbarrier of the stage for the job before it, and for nothing else.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

import_module("weft")  # before Numba

import numpy as np  # noqa: E402
from numba import cuda, float32, int32, uint32, uint64  # noqa: E402

from weft import bench, timing  # noqa: E402
from weft.intrinsics import (  # noqa: E402
    bulk_copy,
    exp2,
    fence_mbarrier_init,
    load4,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    peek,
    poke,
    store4,
)
from weft.templates import large_shared  # noqa: E402

family, kernels, long_rows, shapes, gradients = (
    import_module(f"weft.chapters.16_softmax.{name}")
    for name in ("family", "kernels", "long_rows", "shapes", "backward_kernels")
)
LOWEST, NOTHING, warp_sum = kernels.LOWEST, kernels.NOTHING, kernels.warp_sum
LOG2E, PAIR_OF_NOTHING = long_rows.LOG2E, long_rows.PAIR_OF_NOTHING
arithmetic, merge_powers = long_rows.arithmetic, long_rows.merge_powers
meet, publish = long_rows.meet, long_rows.publish

SMS = 132
CASES = [
    (rows, cols, half)
    for rows, cols in ((128, 262144), (1024, 131072))
    for half in (True, False)
]
# fours of a piece per thread, warps that weigh, stages, collectors
FORWARD = {
    "first run": {
        "8 KB, 26 stages": (2, 8, 26, 1),
        "16 KB, 13 stages": (4, 8, 13, 1),
        "16 KB, 8 stages": (4, 8, 8, 1),
        "32 KB, 6 stages": (8, 8, 6, 1),
    },
    "second run": {
        "16 KB, 13 stages": (4, 8, 13, 1),
        "16 KB, 13 stages, 4 collectors": (4, 8, 13, 4),
        "32 KB, 6 stages, 4 collectors": (8, 8, 6, 4),
    },
}
BACKWARD = {
    "first run": {
        "8 KB twice, 13 stages": (2, 8, 13, 1),
        "16 KB twice, 6 stages": (4, 8, 6, 1),
    },
    "second run": {
        "16 KB twice, 6 stages": (4, 8, 6, 1),
        "16 KB twice, 6 stages, 4 collectors": (4, 8, 6, 4),
        "8 KB twice, 13 stages, 4 collectors": (2, 8, 13, 4),
    },
}


def forward_kernel(half, fours, warps, stages, collectors):
    """Make a kernel: of `warps` that weigh, as many that share, and the others."""
    kind, nothing = (int32, PAIR_OF_NOTHING) if half else (float32, NOTHING)
    larger, top_of, weight_of, share = arithmetic(half)
    wide = 128 * warps  # elements that these warps access at once
    cells = fours * wide  # of a piece
    loader, messenger, collector = 2 * warps, 2 * warps + 1, 2 * warps + 2

    @cuda.jit
    def kernel(x, out, slots, turns, number):
        tile = cuda.shared.array(0, kind, alignment=128)
        full = cuda.shared.array(stages, uint64)
        weighed = cuda.shared.array(stages, uint64)
        met = cuda.shared.array(stages, uint64)
        empty = cuda.shared.array(stages, uint64)
        peaks = cuda.shared.array((stages, warps), float32)
        sums = cuda.shared.array((stages, warps), float32)
        both = cuda.shared.array((stages, 2), float32)
        u = cuda.local.array(8, kind)
        me, rows = int32(cuda.threadIdx.x), int32(x.shape[0])
        warp, lane = me // int32(32), me % int32(32)
        teams = int32(number)
        size = int32(cuda.gridDim.x // teams)
        row = int32(cuda.blockIdx.x // size)
        piece = int32(cuda.blockIdx.x % size)
        start = piece * int32(cells)
        turn, ended = uint32(1 - peek(turns, 0)), uint32(0)
        if me == 0:
            for k in range(stages):
                mbarrier_init(full, k, 1)
                mbarrier_init(weighed, k, warps)
                mbarrier_init(met, k, 1)
                mbarrier_init(empty, k, warps)
            fence_mbarrier_init()
        cuda.syncthreads()
        if me == 0:
            ended = cuda.atomic.inc(turns, 1, uint32(cuda.gridDim.x - 1))
        stage, phase = int32(0), int32(0)

        if warp < warps:  # weigh
            while row < rows:
                mbarrier_wait(full, stage, phase)
                at = stage * int32(cells) + int32(4) * me
                a, s = LOWEST, float32(0)
                for k in range(0, fours, 2):
                    most = kind(nothing)
                    for i in range(2):
                        four = load4(tile, at + wide * (k + i))
                        for j in range(4):
                            u[4 * i + j] = four[j]
                            most = larger(most, four[j])
                    peak = max(a, top_of(most) * LOG2E)
                    s *= exp2(a - peak)
                    for i in range(8):
                        s += weight_of(u[i], peak)
                    a = peak
                a, s = merge_powers(a, s)
                if lane == 0:
                    peaks[stage, warp], sums[stage, warp] = a, s
                    mbarrier_arrive(weighed, stage)
                row += teams
                stage += int32(1)
                if stage == stages:
                    stage, phase = int32(0), int32(1) - phase
        elif warp < loader:  # share
            mine = int32(4) * (me - int32(32 * warps))
            while row < rows:
                mbarrier_wait(full, stage, phase)
                mbarrier_wait(met, stage, phase)
                a, r = both[stage, 0], both[stage, 1]
                at = stage * int32(cells) + mine
                for k in range(fours):
                    four = load4(tile, at + wide * k)
                    share(out, row, start + mine + wide * k, four, a, r)
                cuda.syncwarp()
                if lane == 0:
                    mbarrier_arrive(empty, stage)
                row += teams
                stage += int32(1)
                if stage == stages:
                    stage, phase = int32(0), int32(1) - phase
        elif warp == loader:
            if lane == 0:
                used = int32(0)
                while row < rows:
                    if used >= stages:
                        mbarrier_wait(empty, stage, int32(1) - phase)
                    mbarrier_arrive_expect_tx(full, stage, 4 * cells)
                    to = stage * int32(cells)
                    bulk_copy(tile, to, x, (row, start), 4 * cells, full, stage)
                    used += int32(1)
                    row += teams
                    stage += int32(1)
                    if stage == stages:
                        stage, phase = int32(0), int32(1) - phase
        elif warp == messenger:
            while row < rows:
                mbarrier_wait(weighed, stage, phase)
                a, s = LOWEST, float32(0)
                if lane < warps:
                    a, s = peaks[stage, lane], sums[stage, lane]
                a, s = merge_powers(a, s)
                if lane == 0:
                    publish(slots, row, piece, a, s, turn)
                row += teams
                stage += int32(1)
                if stage == stages:
                    stage, phase = int32(0), int32(1) - phase
        else:  # collect
            ahead = warp - int32(collector)
            row += ahead * teams
            stage = ahead
            while stage >= stages:
                stage -= int32(stages)
            while row < rows:
                a, s = meet(slots, row, size, turn)
                if lane == 0:
                    both[stage, 0], both[stage, 1] = a, float32(1) / s
                    mbarrier_arrive(met, stage)
                row += int32(collectors) * teams
                stage += int32(collectors)
                while stage >= stages:
                    stage -= int32(stages)
        if me == 0 and ended == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel


def backward_kernel(half, fours, warps, stages, collectors):
    """Make such a kernel for the backward pass: dy follows y in a stage."""
    kind = int32 if half else float32
    add_product, gradient = gradients.products(half)
    wide = 128 * warps
    cells = fours * wide
    loader, messenger = 2 * warps, 2 * warps + 1

    @cuda.jit(device=True, inline=True)
    def give(dx, row, at, a, b, s):
        p, q = gradient(a[0], b[0], s), gradient(a[1], b[1], s)
        t, u = gradient(a[2], b[2], s), gradient(a[3], b[3], s)
        store4(dx, (row, at), p, q, t, u)

    @cuda.jit
    def kernel(y, dy, dx, slots, turns, number):
        tile = cuda.shared.array(0, kind, alignment=128)
        full = cuda.shared.array(stages, uint64)
        weighed = cuda.shared.array(stages, uint64)
        met = cuda.shared.array(stages, uint64)
        empty = cuda.shared.array(stages, uint64)
        sums = cuda.shared.array((stages, warps), float32)
        whole = cuda.shared.array(stages, float32)
        me, rows = int32(cuda.threadIdx.x), int32(y.shape[0])
        warp, lane = me // int32(32), me % int32(32)
        teams = int32(number)
        size = int32(cuda.gridDim.x // teams)
        row = int32(cuda.blockIdx.x // size)
        piece = int32(cuda.blockIdx.x % size)
        start = piece * int32(cells)
        turn, ended = uint32(1 - peek(turns, 0)), uint32(0)
        if me == 0:
            for k in range(stages):
                mbarrier_init(full, k, 1)
                mbarrier_init(weighed, k, warps)
                mbarrier_init(met, k, 1)
                mbarrier_init(empty, k, warps)
            fence_mbarrier_init()
        cuda.syncthreads()
        if me == 0:
            ended = cuda.atomic.inc(turns, 1, uint32(cuda.gridDim.x - 1))
        stage, phase = int32(0), int32(0)

        if warp < warps:  # weigh
            while row < rows:
                mbarrier_wait(full, stage, phase)
                at = stage * int32(2 * cells) + int32(4) * me
                s = float32(0)
                for k in range(fours):
                    a = load4(tile, at + wide * k)
                    b = load4(tile, at + wide * k + cells)
                    for j in range(4):
                        s = add_product(s, a[j], b[j])
                s = warp_sum(s)
                if lane == 0:
                    sums[stage, warp] = s
                    mbarrier_arrive(weighed, stage)
                row += teams
                stage += int32(1)
                if stage == stages:
                    stage, phase = int32(0), int32(1) - phase
        elif warp < loader:  # share
            mine = int32(4) * (me - int32(32 * warps))
            while row < rows:
                mbarrier_wait(full, stage, phase)
                mbarrier_wait(met, stage, phase)
                s = whole[stage]
                at = stage * int32(2 * cells) + mine
                for k in range(fours):
                    a = load4(tile, at + wide * k)
                    b = load4(tile, at + wide * k + cells)
                    give(dx, row, start + mine + wide * k, a, b, s)
                cuda.syncwarp()
                if lane == 0:
                    mbarrier_arrive(empty, stage)
                row += teams
                stage += int32(1)
                if stage == stages:
                    stage, phase = int32(0), int32(1) - phase
        elif warp == loader:
            if lane == 0:
                used = int32(0)
                while row < rows:
                    if used >= stages:
                        mbarrier_wait(empty, stage, int32(1) - phase)
                    mbarrier_arrive_expect_tx(full, stage, 8 * cells)
                    to, here = stage * int32(2 * cells), (row, start)
                    bulk_copy(tile, to, y, here, 4 * cells, full, stage)
                    to += int32(cells)
                    bulk_copy(tile, to, dy, here, 4 * cells, full, stage)
                    used += int32(1)
                    row += teams
                    stage += int32(1)
                    if stage == stages:
                        stage, phase = int32(0), int32(1) - phase
        elif warp == messenger:
            while row < rows:
                mbarrier_wait(weighed, stage, phase)
                s = warp_sum(sums[stage, lane] if lane < warps else float32(0))
                if lane == 0:
                    publish(slots, row, piece, float32(0), s, turn)
                row += teams
                stage += int32(1)
                if stage == stages:
                    stage, phase = int32(0), int32(1) - phase
        else:  # collect
            ahead = warp - int32(messenger + 1)
            row += ahead * teams
            stage = ahead
            while stage >= stages:
                stage -= int32(stages)
            while row < rows:
                _, s = meet(slots, row, size, turn)
                if lane == 0:
                    whole[stage] = s
                    mbarrier_arrive(met, stage)
                row += int32(collectors) * teams
                stage += int32(collectors)
                while stage >= stages:
                    stage -= int32(stages)
        if me == 0 and ended == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel


def forward_arrays(rows, cols, kind):
    """Return what a forward launch takes: the words of x and out, and two tensors."""
    import torch

    x = torch.randn(rows, cols, device="cuda").to(kind)
    out = torch.empty_like(x)
    return shapes.as_words(x), shapes.as_words(out), x, out


def backward_arrays(rows, cols, kind):
    """Return the words of y, dy and dx, two tensors to copy, and dx, y and dy."""
    import torch

    y = torch.randn(rows, cols, device="cuda").softmax(1).to(kind)
    dy = torch.randn(rows, cols, device="cuda").to(kind)
    dx = torch.empty_like(y)
    source = torch.empty(3 * rows * cols // 2, device="cuda", dtype=kind)
    target = torch.empty_like(source)
    return (*map(shapes.as_words, (y, dy, dx)), source, target, dx, y, dy)


def launcher(back, half, how, arrays):
    """Compile a kernel for these arrays; return a function that launches it."""
    fours, warps, stages, collectors = how
    make = backward_kernel if back else forward_kernel
    kernel = make(half, fours, warps, stages, collectors)
    rows, words = arrays[0].shape
    span = 128 * fours * warps
    size = words // span
    number = min(rows, SMS // size)
    place = (
        cuda.to_device(np.zeros((rows, size), np.uint64)),
        cuda.to_device(np.zeros(3, np.uint32)),
    )
    shared = 4 * span * stages * (2 if back else 1)
    large_shared(kernel, shared, *arrays, *place, number)
    grid, threads = size * number, 32 * (2 * warps + 2 + collectors)

    def launch(*on):
        kernel[grid, threads, bench.stream(), shared](*on, *place, number)

    return launch


def timed(back, variants, case):
    """Return the times in microseconds of a copy, the family and the variants."""
    import torch

    rows, cols, half = case
    kind = torch.bfloat16 if half else torch.float32
    make, count = (backward_arrays, 3) if back else (forward_arrays, 2)
    sets = shapes.sets_of(case, count, lambda: make(rows, cols, kind))
    words, first = sets[0][:count], sets[0]
    if back:
        dx, y, dy = first[5:]
        aim, out = torch._softmax_backward_data(dy, y, 1, kind), dx
    else:
        x, out = first[2:]
        aim = torch.softmax(x, 1)
    ours = family.backward if back else family.softmax
    calls = {
        "copy": lambda *all: all[count + 1].copy_(all[count]),
        "family": lambda *all: ours(*all[:count]),
    }
    for name, how in variants.items():
        launch = launcher(back, half, how, words)
        launch(*words)
        launch(*words)
        off = (out - aim).float().norm() / aim.float().norm()
        assert off < (2e-2 if half else 1e-4), name
        calls[name] = lambda *all, launch=launch: launch(*all[:count])
    turns = {name: shapes.taking_turns(sets, call) for name, call in calls.items()}
    short = shapes.is_short(case, count)
    watch = timing.GraphStopwatch() if short else timing.EventStopwatch()
    return {name: t.ms * 1e3 for name, t in timing.measure(turns, watch).items()}


def main():
    """Print a table for each pass and each run."""
    for run in FORWARD:
        for back, variants in ((False, FORWARD[run]), (True, BACKWARD[run])):
            columns = [timed(back, variants, case) for case in CASES]
            title = f"{'backward' if back else 'forward'}, {run}"
            heads = "".join(
                f"{('bf16' if half else 'f32') + f', {rows}':>11}"
                for rows, _, half in CASES
            )
            print(f"\n{title:36}{heads}")
            print(f"{'copy, us':36}" + "".join(f"{c['copy']:11.2f}" for c in columns))
            for name in list(columns[0])[1:]:
                shares = "".join(f"{c['copy'] / c[name]:11.3f}" for c in columns)
                print(f"{name:36}{shares}")


if __name__ == "__main__":
    main()
