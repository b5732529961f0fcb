"""Kernels and device functions of chapter 14 that the learner does not write."""

import numpy as np
from numba import cuda, float32, float64, int32

from weft.intrinsics import load4

BLOCK = 256
FULL = 0xFFFFFFFF
LOWEST = np.float32(-np.inf)
SUM_CPP = """
__device__ float warp_sum(float value)
{
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_down_sync(0xffffffff, value, delta);
    return value;
}

extern "C" __global__ void sum_grid(const float4* x, float* out, int fours)
{
    __shared__ float sums[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int step = gridDim.x * blockDim.x;
    float value = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += step) {
        float4 v = x[i];
        value += (v.x + v.y) + (v.z + v.w);
    }

    value = warp_sum(value);
    if (lane == 0)
        sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = warp_sum(lane < blockDim.x / 32 ? sums[lane] : 0.0f);
        if (lane == 0)
            atomicAdd(out, value);
    }
}
"""


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in its lane 0."""
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, delta)
    return value


@cuda.jit(device=True)
def block_sum(value):
    """Return the sum of a block's values, in its thread 0.

    Between two calls, the block has to pass a barrier.
    """
    cells = cuda.shared.array(32, float32)
    me = cuda.threadIdx.x
    mine = warp_sum(value)
    if me % 32 == 0:
        cells[me // 32] = mine
    cuda.syncthreads()
    if me < 32:
        inside = me < cuda.blockDim.x // 32
        mine = warp_sum(cells[me] if inside else float32(0))
    return mine


@cuda.jit(device=True)
def sum_of(four):
    """Return the sum of four numbers, in pairs."""
    return (four[0] + four[1]) + (four[2] + four[3])


@cuda.jit(device=True)
def thread_sum(x):
    """Return the sum of this thread's elements of x.

    A tile is 4 * blockDim.x groups of four elements. A thread takes one group
    in every blockDim.x, then goes on to the tile gridDim.x tiles further on.
    """
    mine = float32(0)
    width = cuda.blockDim.x
    tile = 4 * width
    end = x.size // 4
    k = cuda.blockIdx.x * tile + cuda.threadIdx.x
    while k + 3 * width < end:
        p = load4(x, 4 * k)
        q = load4(x, 4 * (k + width))
        r = load4(x, 4 * (k + 2 * width))
        s = load4(x, 4 * (k + 3 * width))
        mine += (sum_of(p) + sum_of(q)) + (sum_of(r) + sum_of(s))
        k += cuda.gridDim.x * tile
    for _ in range(3):  # what is left of a tile
        if k < end:
            mine += sum_of(load4(x, 4 * k))
        k += width
    rest = 4 * end + cuda.grid(1)
    if rest < x.size:
        mine += x[rest]
    return mine


@cuda.jit(device=True)
def better(top, place, other, where):
    """Return the larger value and its place; if equal, the one further left."""
    if other > top or (other == top and where < place):
        return other, where
    return top, place


@cuda.jit
def read_tiles(x, out):
    """Read x and keep nothing; 16 * blockDim.x elements per block."""
    width = cuda.blockDim.x
    k = 4 * width * cuda.blockIdx.x + cuda.threadIdx.x

    p = load4(x, 4 * k)
    q = load4(x, 4 * (k + width))
    r = load4(x, 4 * (k + 2 * width))
    s = load4(x, 4 * (k + 3 * width))

    seen = (p[0] + p[1] + p[2] + p[3]) + (q[0] + q[1] + q[2] + q[3])
    seen += (r[0] + r[1] + r[2] + r[3]) + (s[0] + s[1] + s[2] + s[3])
    if seen == float32(-1):
        out[0] = seen


@cuda.jit
def sum_packed(x, out):
    """The same tree: the first threads add, with growing distances."""
    cells = cuda.shared.array(BLOCK, float32)
    me = cuda.threadIdx.x
    i = cuda.grid(1)

    cells[me] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    for level in range(8):
        gap = 1 << level
        left = 2 * gap * me
        if left < BLOCK:
            cells[left] += cells[left + gap]
        cuda.syncthreads()

    if me == 0:
        out[cuda.blockIdx.x] = cells[0]


@cuda.jit
def do_nothing(x, out):
    """End at once; the condition is never true."""
    if x.size == 1:
        out[0] = x[0]


@cuda.jit
def load_only(x, out):
    """Load one element per thread and keep nothing."""
    i = cuda.grid(1)
    if x[i] == float32(-1):
        out[0] = x[i]


@cuda.jit
def sum_narrow(x, out):
    """sum_grid with loads of 4 bytes."""
    me = cuda.threadIdx.x
    mine = float32(0)
    for k in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine += x[k]
    mine = block_sum(mine)
    if me == 0:
        cuda.atomic.add(out, 0, mine)


@cuda.jit
def sum_masked(x, out):
    """sum_interleaved without the division."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    step = 1
    while step < BLOCK:
        if t & (2 * step - 1) == 0:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step *= 2

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@cuda.jit
def sum_grid_tree(x, out):
    """sum_grid with the interleaved tree at its end."""
    tile = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    value = float32(0)
    for i in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * i)
        value += (a + b) + (c + d)
    tile[t] = value
    cuda.syncthreads()

    step = 1
    while step < cuda.blockDim.x:
        if t % (2 * step) == 0:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step *= 2

    if t == 0:
        cuda.atomic.add(out, 0, tile[0])


@cuda.jit
def sum_atomic(x, out):
    """Add the sum of x to out[0], in any order."""
    me = cuda.threadIdx.x
    mine = block_sum(thread_sum(x))
    if me == 0:
        cuda.atomic.add(out, 0, mine)


@cuda.jit
def sum_parts(x, parts):
    """Write the sum of each block to parts."""
    me, block = cuda.threadIdx.x, cuda.blockIdx.x
    mine = block_sum(thread_sum(x))
    if me == 0:
        parts[block] = mine


@cuda.jit
def sum_double(x, parts, arrived, out):
    """sum_repeatable with accumulators in float64."""
    cells = cuda.shared.array(32, float64)
    last = cuda.shared.array(1, int32)
    me, width = cuda.threadIdx.x, cuda.blockDim.x
    value = float64(0)
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        p, q, r, s = load4(x, 4 * k)
        value += (float64(p) + float64(q)) + (float64(r) + float64(s))

    for turn in range(2):
        value = warp_sum(value)
        if me % 32 == 0:
            cells[me // 32] = value
        cuda.syncthreads()
        if me < 32:
            value = warp_sum(cells[me] if me < width // 32 else float64(0))
        if turn == 0:
            if me == 0:
                parts[cuda.blockIdx.x] = value
                cuda.threadfence()
                last[0] = cuda.atomic.inc(arrived, 0, cuda.gridDim.x - 1)
                cuda.threadfence()
            cuda.syncthreads()
            if last[0] != cuda.gridDim.x - 1:
                return
            value = float64(0)
            for b in range(me, cuda.gridDim.x, width):
                value += parts[b]

    if me == 0:
        out[0] = value
