"""The kernels of chapter 16 that no exercise asks for, but for the family's.

First come the functions with which a warp and a block combine their values. They are
the same as in chapter 14, with one change: the shuffles are butterflies (chapter 8), so
all threads get the result.
"""

import math

import numpy as np
from numba import cuda, float32

FULL = 0xFFFFFFFF
LOWEST = np.float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = np.float32(-np.inf)
CUDA_CPP = """
constexpr int PIECES = 4, THREADS = 256;
constexpr float LOWEST = -3.402823466e38f;

__device__ float warp_max(float v)
{
    for (int k = 16; k > 0; k /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, k));
    return v;
}

__device__ float warp_sum(float v)
{
    for (int k = 16; k > 0; k /= 2)
        v += __shfl_xor_sync(~0u, v, k);
    return v;
}

extern "C" __global__
void softmax_block(const float4* x, float4* out)
{
    __shared__ float tops[THREADS / 32], totals[THREADS / 32];
    int t = threadIdx.x, lane = t % 32;
    x += (size_t)blockIdx.x * PIECES * THREADS;
    out += (size_t)blockIdx.x * PIECES * THREADS;

    float4 v[PIECES];
    float top = LOWEST, total = 0;
    for (int i = 0; i < PIECES; ++i)
        v[i] = x[t + THREADS * i];
    for (int i = 0; i < PIECES; ++i)
        top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y),
                               fmaxf(v[i].z, v[i].w)));
    top = warp_max(top);
    for (int i = 0; i < PIECES; ++i) {
        v[i].x = __expf(v[i].x - top);  v[i].y = __expf(v[i].y - top);
        v[i].z = __expf(v[i].z - top);  v[i].w = __expf(v[i].w - top);
        total += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    total = warp_sum(total);

    if (lane == 0) { tops[t / 32] = top; totals[t / 32] = total; }
    __syncthreads();
    float m = lane < THREADS / 32 ? tops[lane] : LOWEST;
    float s = lane < THREADS / 32 ? totals[lane] : 0;
    float whole = warp_max(m);
    float scale = __expf(top - whole) / warp_sum(s * __expf(m - whole));

    for (int i = 0; i < PIECES; ++i)
        out[t + THREADS * i] = make_float4(v[i].x * scale, v[i].y * scale,
                                           v[i].z * scale, v[i].w * scale);
}
"""


@cuda.jit(device=True)
def warp_max(value):
    """Return the largest of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, step))
    return value


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    return value


@cuda.jit(device=True)
def block_max(value):
    """Return the largest of a block's values, in all threads; call it once."""
    cells = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x % 32
    mine = warp_max(value)
    if lane == 0:
        cells[cuda.threadIdx.x // 32] = mine
    cuda.syncthreads()
    return warp_max(cells[lane] if lane < cuda.blockDim.x // 32 else LOWEST)


@cuda.jit(device=True)
def block_sum(value):
    """Return the sum of a block's values, in all threads; call it once."""
    cells = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x % 32
    mine = warp_sum(value)
    if lane == 0:
        cells[cuda.threadIdx.x // 32] = mine
    cuda.syncthreads()
    return warp_sum(cells[lane] if lane < cuda.blockDim.x // 32 else float32(0))


@cuda.jit(device=True)
def merge(m, s, m2, s2):
    """Return maximum and sum of two pieces, given those of each."""
    top = max(m, m2)
    return top, s * math.exp(m - top) + s2 * math.exp(m2 - top)


@cuda.jit
def softmax_online(x, out):
    """Softmax of each row in two passes; one block of 256 per row."""
    row, me = cuda.blockIdx.x, cuda.threadIdx.x

    highest, weight = LOWEST, float32(0)
    for at in range(me, x.shape[1], cuda.blockDim.x):
        highest, weight = merge(highest, weight, x[row, at], float32(1))

    peak = block_max(highest)
    weight = block_sum(weight * math.exp(highest - peak))

    for at in range(me, x.shape[1], cuda.blockDim.x):
        out[row, at] = math.exp(x[row, at] - peak) / weight
