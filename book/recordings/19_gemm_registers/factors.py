"""Time lab 19's rungs with one thing changed at a time, and write it down.

python factors.py [--out FOLDER], on a machine with a GPU, Numba and PyTorch.
"""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, Launch, record  # noqa: E402

of = lab(
    HERE.name,
    *("matrices", "launch", "gemm_pipeline", "strips", "eights", "tuned"),
    *(
        "WRITE_OUT",
        "gemm_2d",
        "gemm_wide",
        "load",
        "put",
        "load4",
        "store4",
        "put4",
        "four",
        "place",
    ),
    *("fetch", "fragments", "multiply", "specialise", "wait_group", "edge"),
    *("cuda", "float32", "int32"),
)
cuda, float32, int32 = of.cuda, of.float32, of.int32
load, put, four = of.load, of.put, of.four
load4, store4, put4 = of.load4, of.store4, of.put4
place, fetch, fragments, multiply = of.place, of.fetch, of.fragments, of.multiply
wait_group = of.wait_group
BM = BN = WM = WN = BK = TM = TN = WIDTH = THREADS = DEPTH = LAST = STAGES = WAIT = (
    LOADS
) = 1
PAIRS = SNAKE = 0


# The guards of the loads from global memory.


@cuda.jit(device=True)
def load_chosen(x, row, col):
    """Return x[row, col], 0 outside: load the nearest, then choose, no branch."""
    high, wide = int32(x.shape[0]), int32(x.shape[1])
    value = x[min(row, high - int32(1)), min(col, wide - int32(1))]
    return value if row < high and col < wide else float32(0)


@cuda.jit(device=True)
def load_unguarded(x, row, col):
    """Return x[row, col], which is inside."""
    return x[row, col]


@cuda.jit(device=True)
def four_unguarded(x, row, col):
    """Return x[row, col : col + 4], which is inside."""
    return load4(x, (row, col))


@cuda.jit(device=True)
def four_single(x, row, col):
    """Return x[row, col : col + 4], zeros outside, by four loads after one guard."""
    if row < x.shape[0] and col < x.shape[1]:
        return (
            x[row, col],
            x[row, col + int32(1)],
            x[row, col + int32(2)],
            x[row, col + int32(3)],
        )
    return float32(0), float32(0), float32(0), float32(0)


@cuda.jit
def gemm_gathered(alpha, a, b, beta, c):
    """gemm_2d that loads all its elements of both tiles before it stores them."""
    ta = cuda.shared.array((BM, BK), float32)
    tb = cuda.shared.array((BK, BN), float32)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array(TM, float32)
    fb = cuda.local.array(TN, float32)
    pa = cuda.local.array(LOADS, float32)
    pb = cuda.local.array(LOADS, float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)
    x, y = t % int32(BN // TN), t // int32(BN // TN)
    ra, ka = t // int32(BK), t % int32(BK)
    kb, cb = t // int32(BN), t % int32(BN)
    for i in range(TM):
        for j in range(TN):
            sums[i, j] = float32(0)

    for start in range(int32(0), int32(a.shape[1]), int32(BK)):
        for s in range(LOADS):
            pa[s] = load(a, row0 + ra + int32(s * (THREADS // BK)), start + ka)
            pb[s] = load(b, start + kb + int32(s * (THREADS // BN)), col0 + cb)
        for s in range(LOADS):
            ta[ra + int32(s * (THREADS // BK)), ka] = pa[s]
            tb[kb + int32(s * (THREADS // BN)), cb] = pb[s]
        cuda.syncthreads()

        for p in range(int32(BK)):
            for i in range(TM):
                fa[i] = ta[y + int32(i * (BM // TM)), p]
            for j in range(TN):
                fb[j] = tb[p, x + int32(j * (BN // TN))]
            for i in range(TM):
                for j in range(TN):
                    sums[i, j] += fa[i] * fb[j]
        cuda.syncthreads()

    for i in range(TM):
        for j in range(TN):
            r = row0 + y + int32(i * (BM // TM))
            s = col0 + x + int32(j * (BN // TN))
            put(c, r, s, sums[i, j], alpha, beta)


# From one pair of tiles to three.


@cuda.jit(device=True)
def store_tiles(ta, tb, at, p, q):
    """Store what this thread has loaded into the pair of tiles from row `at` on."""
    t = int32(cuda.threadIdx.x)
    ra, ka = t // int32(BK // 4), t % int32(BK // 4) * int32(4)
    kb, cb = t // int32(BN // 4), t % int32(BN // 4) * int32(4)
    for i in range(4):
        ta[at + ka + int32(i), ra] = p[i]
    store4(tb, (at + kb, cb), q[0], q[1], q[2], q[3])


@cuda.jit(device=True)
def multiply_tiles(sums, fa, fb, ta, tb, at, row, col):
    """Multiply a pair of tiles, each step as soon as its fragments have been loaded."""
    for p in range(int32(BK)):
        fragments(fa, fb, 0, ta, tb, at + p, row, col)
        multiply(sums, fa, fb, 0)


@cuda.jit(device=True)
def finish(c, sums, row, col, alpha, beta):
    """Write this thread's results into c."""
    for q in range(TM):
        r = row + int32(q // 4 * 4 * (WM // TM) + q % 4)
        for x in range(0, TN, 4):
            s = col + int32(x * (WN // TN))
            e, f = sums[q, x], sums[q, x + 1]
            g, h = sums[q, x + 2], sums[q, x + 3]
            put4(c, r, s, e, f, g, h, alpha, beta)


@cuda.jit
def gemm_double(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, with two pairs of tiles in turns."""
    ta = cuda.shared.array((DEPTH, WIDTH), float32, alignment=16)
    tb = cuda.shared.array((DEPTH, BN), float32, alignment=16)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array((2, TM), float32)
    fb = cuda.local.array((2, TN), float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    t = int32(cuda.threadIdx.x)
    ra, ka = t // int32(BK // 4), t % int32(BK // 4) * int32(4)
    kb, cb = t // int32(BN // 4), t % int32(BN // 4) * int32(4)
    row, col = place()
    for y in range(TM):
        for x in range(TN):
            sums[y, x] = float32(0)

    p, q = four(a, row0 + ra, ka), four(b, kb, col0 + cb)
    store_tiles(ta, tb, int32(0), p, q)
    cuda.syncthreads()
    at = int32(0)

    for start in range(int32(BK), int32(a.shape[1]) + int32(BK), int32(BK)):
        p = four(a, row0 + ra, start + ka)
        q = four(b, start + kb, col0 + cb)
        multiply_tiles(sums, fa, fb, ta, tb, at, row, col)
        at = int32(BK) - at
        store_tiles(ta, tb, at, p, q)
        cuda.syncthreads()

    finish(c, sums, row0 + row, col0 + col, alpha, beta)


@cuda.jit
def gemm_copies(alpha, a, b, beta, c):
    """gemm_pipeline whose fragments are loaded in the step that multiplies them."""
    ta = cuda.shared.array((DEPTH, WIDTH), float32, alignment=16)
    tb = cuda.shared.array((DEPTH, BN), float32, alignment=16)
    sums = cuda.local.array((TM, TN), float32)
    fa = cuda.local.array((2, TM), float32)
    fb = cuda.local.array((2, TN), float32)
    row0 = int32(cuda.blockIdx.y) * int32(BM)
    col0 = int32(cuda.blockIdx.x) * int32(BN)
    row, col = place()
    k = int32(a.shape[1])
    for y in range(TM):
        for x in range(TN):
            sums[y, x] = float32(0)

    for s in range(STAGES - 1):
        fetch(ta, tb, int32(s * BK), a, b, row0, col0, int32(s * BK))
    read, write, start = int32(0), int32(LAST), int32(0)
    while start < k:
        wait_group(WAIT)
        cuda.syncthreads()
        fetch(ta, tb, write, a, b, row0, col0, start + int32(LAST))
        write = write + int32(BK) if write < LAST else int32(0)
        multiply_tiles(sums, fa, fb, ta, tb, read, row, col)
        read = read + int32(BK) if read < LAST else int32(0)
        start += int32(BK)

    finish(c, sums, row0 + row, col0 + col, alpha, beta)


compiled: dict[str, Any] = {}  # the kernels of the rows


def launched(kernels: dict[str, Any], *on: Any) -> dict[str, Launch]:
    """Return launches of kernels in blocks of 128 x 128, and remember the kernels."""
    compiled.update(kernels)
    return {n: of.launch(k, 128, 128, 256, *on) for n, k in kernels.items()}


def registers(name: str) -> int | None:
    """Return the registers of a thread of a row's kernel, None for cuBLAS."""
    if name not in compiled:
        return None
    (count,) = compiled[name].get_regs_per_thread().values()
    return int(count)


def square(registers: int | None = None, **constants: Any) -> Any:
    return of.specialise(
        of.gemm_2d,
        max_registers=registers,
        **dict(of.eights, THREADS=256) | constants,
    )


def gathered(registers: int | None = None, **constants: Any) -> Any:
    return of.specialise(
        gemm_gathered,
        unroll=of.WRITE_OUT,
        max_registers=registers,
        **dict(of.eights, THREADS=256, LOADS=4) | constants,
    )


def by_fours(**constants: Any) -> Any:
    return of.specialise(
        of.gemm_wide, unroll=of.WRITE_OUT, **dict(of.eights, WIDTH=132) | constants
    )


def staged(kernel: Any, stages: int) -> Any:
    """Compile one of the kernels here, with the lab's constants of its own pipeline."""
    own = {name: value for name, value in of.strips.items() if name != "registers"}
    constants = of.tuned(**own, STAGES=stages)
    return of.specialise(kernel, unroll=of.WRITE_OUT, max_registers=128, **constants)


def alone(kernel: Any, *on: Any) -> Launch:
    """Return a launch with so much shared memory that one block fills an SM."""
    import numpy as np

    from weft.templates import large_shared

    size = 120 << 10
    a, b, c = map(cuda.as_cuda_array, on)
    arguments = np.float32(1), a, b, np.float32(0), c
    large_shared(kernel, size, *arguments)
    grid = -(-c.shape[1] // 128), -(-c.shape[0] // 128)
    return lambda: kernel[grid, 256, 0, size](*arguments)


def operands() -> tuple[Any, Any, Any]:
    global out, wanted
    a, b, out, _ = of.matrices(of.edge, of.edge, of.edge)
    wanted = a @ b
    return a, b, out


def guards() -> dict[str, Launch]:
    """Return the square and the fours with other guards, widths and occupancies."""
    import torch

    on = a, b, c = operands()
    kernels = {
        "8 x 8": square(),
        "8 x 8, at most 128 registers": square(128),
        "8 x 8, guards without a branch": square(load=load_chosen),
        "8 x 8, no guards": square(load=load_unguarded),
        "8 x 8, no guards, 128 registers": square(128, load=load_unguarded),
        "8 x 8, loads first": gathered(),
        "8 x 8, loads first, 128 registers": gathered(128),
        "the same, guards without a branch": gathered(128, load=load_chosen),
        "the same, no guards": gathered(128, load=load_unguarded),
        "by fours, four loads of 32 bits": by_fours(four=four_single),
        "by fours": by_fours(),
        "by fours, no guards": by_fours(four=four_unguarded),
    }
    found = launched(kernels, *on)
    compiled["by fours, one block per SM"] = lonely = by_fours()
    found["by fours, one block per SM"] = alone(lonely, *on)
    return {"cuBLAS": lambda: torch.mm(a, b, out=c)} | found


def stages() -> dict[str, Launch]:
    """Return the steps from one pair of tiles to the lab's pipeline."""
    import torch

    on = a, b, c = operands()
    kernels = {
        "by fours": by_fours(),
        "double buffering": staged(gemm_double, 2),
        "asynchronous copies, 2 pairs": staged(gemm_copies, 2),
        "asynchronous copies, 3 pairs": staged(gemm_copies, 3),
    }
    for count in 2, 3:
        name = f"{count} pairs, early fragments"
        kernels[name] = staged(of.gemm_pipeline, count)
    return {"cuBLAS": lambda: torch.mm(a, b, out=c)} | launched(kernels, *on)


def right(name: str) -> None:
    """Compare c with cuBLAS's answer."""
    import torch

    off = torch.linalg.vector_norm(out - wanted) / torch.linalg.vector_norm(wanted)
    assert off < 1e-5, (name, off)
    out.fill_(float("nan"))


if __name__ == "__main__":
    title = f"{of.edge} x {of.edge} x {of.edge} float32"
    steps = [
        Experiment(f"{title}: loads", guards, "cuBLAS", right, registers),
        Experiment(f"{title}: overlap", stages, "cuBLAS", right, registers),
    ]
    record(__doc__, HERE, steps)
