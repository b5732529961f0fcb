"""The kernels of chapter 17 that the lab calls, shows or measures."""

import math

import numpy as np
from numba import cuda, float32, int32, uint32, uint64

from weft.intrinsics import exp2, load4, mul_wide, store4

HALF = np.float32(0.5)
ROOT_HALF = np.float32(math.sqrt(0.5))
ROUNDS = 10
MULTIPLY = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
NONE = np.uint32(0)
DROPPED = 0.1
CUT = np.uint32(DROPPED * 2**32)
SCALE = np.float32(1 / (1 - DROPPED))
DENSITY = np.float32(1 / math.sqrt(2 * math.pi))
POWER = np.float32(-0.5 * math.log2(math.e))
EXPONENT = tuple(
    np.float32(c)
    for c in (
        -1.99198917e-06,
        2.92732657e-05,
        -1.38095391e-04,
        -2.53415317e-04,
        7.21635437e-03,
        -5.26030175e-02,
        -4.59172249e-01,
        -1.15110970e00,
        -9.99999881e-01,
    )
)
FULL = 0xFFFFFFFF
PIECES, VALUES = 4, 16  # per thread: pieces of 16 bytes, elements
EPS = np.float32(1e-5)


GELU_CPP = """
__device__ float gelu(float z)
{
    return 0.5f * z * (1 + erff(0.70710678f * z));
}

extern "C" __global__
void bias_gelu(const float4* x, const float4* bias, float4* out, int fours)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    long long at = blockIdx.y * (long long)fours + col;

    if (col < fours) {
        float4 v = x[at], b = bias[col];
        out[at] = make_float4(gelu(v.x + b.x), gelu(v.y + b.y),
                              gelu(v.z + b.z), gelu(v.w + b.w));
    }
}
"""


@cuda.jit(device=True)
def gelu(z):
    """Return the GELU of one float32."""
    return HALF * z * (float32(1) + math.erf(z * ROOT_HALF))


@cuda.jit(device=True)
def add(a, b):
    """Return the sum of two uint32, modulo 2^32."""
    return uint32((uint64(a) + uint64(b)) & uint64(0xFFFFFFFF))


@cuda.jit(device=True)
def philox(a, b, c, d, key, key2):
    """Return four random uint32 for the counters a, b, c, d and a key."""
    for _ in range(ROUNDS):
        upper, lower = mul_wide(MULTIPLY[0], a)
        upper2, lower2 = mul_wide(MULTIPLY[1], c)
        a, b = uint32(upper2 ^ b ^ key), lower2
        c, d = uint32(upper ^ d ^ key2), lower
        key, key2 = add(key, WEYL[0]), add(key2, WEYL[1])
    return a, b, c, d


@cuda.jit(device=True)
def random4(k, state):
    """Return four random uint32 that belong to counter k."""
    return philox(uint32(k), state[1], NONE, NONE, state[0], NONE)


@cuda.jit(device=True)
def keep(random, value):
    """Return value, scaled, or 0 if its random number is below CUT."""
    return value * SCALE if random >= CUT else float32(0)


@cuda.jit(device=True)
def warp_sum(value):
    """Return the sum of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, step)
    return value


@cuda.jit(device=True)
def block_sum(value, turn):
    """Return the sum of a block's values, in all threads; turn: 0 or 1."""
    cells = cuda.shared.array((2, 32), float32)
    me = cuda.threadIdx.x
    mine = warp_sum(value)
    if me % 32 == 0:
        cells[turn, me // 32] = mine
    cuda.syncthreads()
    inside = me % 32 < cuda.blockDim.x // 32
    return warp_sum(cells[turn, me % 32] if inside else float32(0))


def device_functions():
    """Return the device functions that a learner's kernels may call."""
    return gelu, philox, random4, keep, warp_sum, block_sum


@cuda.jit
def add_one(x):
    """Add 1 to each element of x."""
    i = cuda.grid(1)

    if i < x.size:
        x[i] += float32(1)


@cuda.jit
def add_ones(x):
    """Add 1 to each element of x, a hundred times."""
    i = cuda.grid(1)

    if i < x.size:
        value = x[i]
        for _ in range(100):
            value += float32(1)
        x[i] = value


@cuda.jit
def add_bias(x, bias, out):
    """Write x + bias into out."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        out[row, col] = x[row, col] + bias[col]


@cuda.jit
def gelu_each(x, out):
    """Write the GELU of x into out."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        out[row, col] = gelu(x[row, col])


@cuda.jit
def bias_gelu_each(x, bias, out):
    """Write the GELU of x + bias into out, one column per thread."""
    row, col = cuda.blockIdx.y, cuda.grid(1)

    if col < x.shape[1]:
        out[row, col] = gelu(x[row, col] + bias[col])


@cuda.jit
def one_philox(counters, keys, out):
    """Write what Philox returns for four counters and two keys; one thread."""
    out[0], out[1], out[2], out[3] = philox(
        counters[0], counters[1], counters[2], counters[3], keys[0], keys[1]
    )


@cuda.jit(device=True)
def bell(z):
    """Return the density of the bell curve."""
    return DENSITY * exp2(POWER * z * z)


@cuda.jit(device=True)
def slope(z):
    """Return the derivative of GELU."""
    return HALF * (float32(1) + math.erf(z * ROOT_HALF)) + z * bell(z)


def layer_kernels(gelu, slope):
    """Make the kernels of bias, GELU and dropout: forward and backward."""

    @cuda.jit
    def layer(x, bias, state, out):
        row, first = int32(cuda.blockIdx.y), int32(4 * cuda.grid(1))

        if first < x.shape[1]:
            here, more = load4(x, (row, first)), load4(bias, first)
            lots = random4((row * x.shape[1] + first) // 4, state)

            p = keep(lots[0], gelu(here[0] + more[0]))
            q = keep(lots[1], gelu(here[1] + more[1]))
            r = keep(lots[2], gelu(here[2] + more[2]))
            s = keep(lots[3], gelu(here[3] + more[3]))
            store4(out, (row, first), p, q, r, s)

    @cuda.jit
    def layer_backward(x, bias, dy, state, dx):
        row, first = int32(cuda.blockIdx.y), int32(4 * cuda.grid(1))

        if first < x.shape[1]:
            here, more = load4(x, (row, first)), load4(bias, first)
            back = load4(dy, (row, first))
            lots = random4((row * x.shape[1] + first) // 4, state)

            p = keep(lots[0], back[0] * slope(here[0] + more[0]))
            q = keep(lots[1], back[1] * slope(here[1] + more[1]))
            r = keep(lots[2], back[2] * slope(here[2] + more[2]))
            s = keep(lots[3], back[3] * slope(here[3] + more[3]))
            store4(dx, (row, first), p, q, r, s)

    return layer, layer_backward


@cuda.jit(device=True)
def above(a):
    """Return the share of the bell curve above a, which is at least 0."""
    power = EXPONENT[0]
    for k in range(1, 9):
        power = power * a + EXPONENT[k]
    return exp2(power)


@cuda.jit(device=True)
def lean_gelu(z):
    """Return the GELU of one float32."""
    return max(z, float32(0)) - abs(z) * above(abs(z))


@cuda.jit(device=True)
def lean_slope(z):
    """Return the derivative of GELU."""
    share = above(abs(z))
    return (share if z < float32(0) else float32(1) - share) + z * bell(z)


layer, layer_backward = layer_kernels(gelu, slope)
lean_layer, lean_backward = layer_kernels(lean_gelu, lean_slope)


@cuda.jit
def dropout_step(x, step, out):
    """Like dropout, with the step as a number."""
    i = cuda.grid(1)
    if i < x.size // 4:
        four = load4(x, 4 * i)
        lots = philox(uint32(i), uint32(step), NONE, NONE, uint32(17), NONE)
        p, q = keep(lots[0], four[0]), keep(lots[1], four[1])
        r, s = keep(lots[2], four[2]), keep(lots[3], four[3])
        store4(out, 4 * i, p, q, r, s)


@cuda.jit
def tick(state):
    """Count the step up."""
    state[1] += uint32(1)


@cuda.jit
def norm_unknown(x, gamma, beta, out, mean, rstd):
    """layer_norm with indices that the compiler does not know."""
    kept = cuda.local.array(VALUES, float32)
    row, begin = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    size, step = x.shape[1], 4 * cuda.blockDim.x

    filled, total = 0, float32(0)
    for col in range(begin, size, step):
        piece = load4(x, (row, col))
        for n in range(4):
            kept[filled] = piece[n]
            total += piece[n]
            filled += 1
    middle = block_sum(total, 0) / float32(size)

    total = float32(0)
    for i in range(filled):
        total += (kept[i] - middle) * (kept[i] - middle)
    r = float32(1) / math.sqrt(block_sum(total, 1) / float32(size) + EPS)
    if begin == 0:
        mean[row], rstd[row] = middle, r

    i = 0
    for col in range(begin, size, step):
        w, v = load4(gamma, col), load4(beta, col)
        c = (kept[i] - middle) * r * w[0] + v[0]
        d = (kept[i + 1] - middle) * r * w[1] + v[1]
        e = (kept[i + 2] - middle) * r * w[2] + v[2]
        f = (kept[i + 3] - middle) * r * w[3] + v[3]
        store4(out, (row, col), c, d, e, f)
        i += 4
