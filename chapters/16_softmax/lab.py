# %% [markdown]
# # 16 · Softmax
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/16_softmax.ipynb)
#
# **When you have finished, you can**
#
# - compute a softmax that does not overflow, and say how it handles minus infinity;
# - merge the pairs (maximum, sum) of two pieces of a row, in any order;
# - read each row only once, whether a warp, a block or several blocks hold it;
# - choose among the three for a given shape, and say what then limits the speed;
# - write the backward pass with a warp per row, and read it in the other two ways.
#
# **You need** about 110 minutes. You do not need a GPU: without one, the exercises run
# in the simulator, and the measurements show the results of the reference GPU. If you
# have one, it needs compute capability 7.5 or higher (8.0 for bfloat16) and 6 GB of
# memory. From 8.0 on, it also needs 22 multiprocessors: with fewer, kernels whose
# blocks wait for each other would wait for ever, and the first cell says so.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import functools
import itertools
import logging
import math
import time
import warnings

import numpy as np
from numba import cuda, float32, int32, uint32, uint64
from numba.cuda import libdevice

from weft import bench, check, hint, quiz
from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_max,
    bf16_pair,
    commit_group,
    copy4_async,
    exp2,
    load4,
    peek,
    poke,
    store4,
    wait_group,
)

weft.lab("16_softmax")

# %% [markdown]
# ## Look: a formula that fails
#
# A softmax turns a row of scores into shares that add up to 1. Each score's share is
# $e^{x_j}$, divided by the sum of all $e^{x_k}$ of its row.
#
# Below are four rows of three scores. In each row the scores rise by 1 from left to
# right, so all four rows have the same shares. For which rows does the formula give the
# right shares in float32, whose largest number is 3.4e38?

# %%
four_rows = np.float32([[1], [81], [101], [-120]]) + np.float32([0, 1, 2])

with np.errstate(all="ignore"):
    powers = np.exp(four_rows)
    for row, share in zip(
        four_rows, powers / powers.sum(axis=1, keepdims=True), strict=True
    ):
        print(row, "->", share)

# %% [markdown] tags=["solution"]
# $e^{89}$ is larger than 3.4e38, so from there on the formula divides infinity by
# infinity. Far below zero, all powers round to 0, and the formula divides 0 by 0.
#
# The shares do not change if you subtract the same number from all scores of a row,
# because all powers then shrink by the same factor. Subtract the **largest**. The
# largest power is then $e^0 = 1$, nothing overflows, and the sum is at least 1.

# %% [markdown]
# The reference of this lab subtracts the maximum first. Scores of **minus infinity**
# are common: attention uses them to exclude elements, since $e^{-\infty}$ is 0. A row
# that contains nothing else has no softmax. PyTorch returns NaN for such a row, and so
# does the reference.

# %% tags=["given"]
LOWEST = np.float32(np.finfo(np.float32).min)  # the lowest finite float32
NOTHING = np.float32(-np.inf)


def shares(x):
    """Return the softmax of each row of x, as NumPy computes it."""
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def scores(rng, rows, cols):
    """Return scores, some -inf, all of row 2; odd rows are far below 0."""
    x = rng.normal(0, 40, (rows, cols)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = -np.inf
    x[:, cols // 2] = 3
    x[1::2] -= 500
    x[2:3] = -np.inf
    return x


# %%
print(shares(four_rows))

# %% [markdown]
# ## 1 · Three passes
#
# A block processes one row, in three passes, which compute
#
# 1. the largest element;
# 2. the sum of $e^{x - \text{largest}}$;
# 3. the shares, which it writes to `out`.
#
# Each thread takes every 256th column, as in a grid-stride loop, but within its row.
# The functions below combine the threads' results. They are the same as in chapter 14,
# with one change: the shuffles are butterflies (chapter 8), so **all** threads get the
# result.
#
# You can use `max` and `math.exp` in a kernel. Start the maximum from `LOWEST`, the
# lowest finite number, and not from minus infinity; exercise 2 says why.
#
# ```python
# softmax_passes(x, out)    # (rows, cols) -> (rows, cols)  float32; blocks of 256
# ```
#
# Stuck? `hint("softmax_passes")`; there are three hints.

# %% tags=["given"]
FULL = 0xFFFFFFFF


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


# %%
@cuda.jit
def softmax_passes(x, out):
    """Write the softmax of each row of x into out, in three passes."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    # about 12 lines
    # BEGIN SOLUTION
    top = LOWEST
    for col in range(t, cols, width):
        top = max(top, x[row, col])
    top = block_max(top)

    total = float32(0)
    for col in range(t, cols, width):
        total += math.exp(x[row, col] - top)
    scale = float32(1) / block_sum(total)

    for col in range(t, cols, width):
        out[row, col] = math.exp(x[row, col] - top) * scale
    # END SOLUTION


# %%
check(
    softmax_passes,
    spec=shares,
    inputs=lambda rng, rows, cols: (scores(rng, rows, cols),),
    sizes=[(1, 1), (3, 40), (2, 700)],
    launch=lambda rows, cols: (rows, 256),
    full=(300, 5001),
    limits={"sectors": 5, "loads": 12, "float64": 0},
)

# %% [markdown] tags=["solution"]
# In the row that contains only -inf, `top` stays at `LOWEST`, all powers are 0, and so
# is their sum. 1 / 0 is infinity, and 0 times infinity is NaN, as it should be.

# %% [markdown]
# ## Measure: what do three passes cost?
#
# By hand: 8192 × 8192 float32 are 268 MB. Three passes read the matrix three times and
# write it once, which moves 1.07 GB. A copy reads it once and writes it once. If each
# read came from memory, what share of the copy's speed would the three passes reach?
#
# But the second pass reads what the first has just read. A row is 32 KB. An SM holds 8
# of these blocks, so the rows that it is working on take 256 KB, and those of all 132
# SMs take 35 MB. The H200 has 256 KB of L1 and shared memory on each SM, and 60 MB of
# L2. Where will the second and third passes find their row?
#
# If `torch.softmax` is 1.0, how fast do you expect your kernel to be, and how fast a
# copy? Write both down. The L2 cache is cleared before each call, for all candidates.

# %%
guess = {"copy": None, "three passes": None}


def square_candidates():
    import torch

    x = torch.randn(8192, 8192, device="cuda")
    out = torch.empty_like(x)
    d_x, d_out = map(cuda.as_cuda_array, (x, out))
    return {
        "copy": lambda: out.copy_(x),
        "torch.softmax": lambda: torch.softmax(x, 1),
        "three passes": lambda: softmax_passes[8192, 256](d_x, d_out),
    }


square = bench.compare(
    "three passes, 8192 x 8192 float32",
    square_candidates,
    baseline="torch.softmax",
    bytes=2 * 4 * 8192 * 8192,
    ceiling="copy",
    guess=guess,
)
square

# %% tags=["solution"]
square.expect("copy", at_least=1.5)
square.expect("copy", at_least=1.3, times="three passes")

# %% [markdown] tags=["solution"]
# Neither kernel comes close to the copy. If all three reads came from memory, the
# kernel would take twice the copy's time. It takes longer than that, although most of
# the second and third reads come from a cache. So it is not limited by bytes. It is
# probably limited by latency: there are three passes, one after the other, with 4 bytes
# per load and two block-wide reductions in between. The kernel also computes two
# exponentials for each element, of eight instructions each.
#
# PyTorch's kernel for rows of this length reads each row once, into registers, but is
# not much faster: it uses a block of 1024 threads for each row, 4 bytes per load, and
# two reductions.
#
# So the goal is to **read each element once**, and to do that well.

# %% [markdown]
# ## 2 · Merge two pieces
#
# The sum needs the maximum, and the maximum needs the whole row. Or does it? Suppose
# you know, for one piece of a row, its maximum $m$ and its sum $s$ of $e^{x - m}$. For
# another piece you know $m_2$ and $s_2$. For both pieces together:
#
# - the maximum is the larger of $m$ and $m_2$; call it $M$;
# - $s$ was summed relative to $m$. Relative to $M$, this sum is $s \cdot e^{m - M}$,
#   and $s_2$ changes in the same way.
#
# So two pairs **merge** into one, and the order in which pieces are merged does not
# matter. A single element is also a piece: its pair is $(x, 1)$. The sum of an empty
# piece is 0.
#
# And what is the maximum of an empty piece? With minus infinity, merging two empty
# pieces would compute $-\infty - (-\infty)$, which is NaN. With `LOWEST` the difference
# is 0, as it should be: `LOWEST` is finite, and no element except -inf is below it.
#
# Write `merge`, a device function that returns the two numbers of the merged pair. The
# kernel below it calls `merge` for each row, with a pair from `a` and a pair from `b`.
#
# ```python
# merge(m, s, m2, s2)         # two pairs -> their pair
# merge_pairs(a, b, out)      # (n, 2), (n, 2) -> (n, 2)  float32
# ```
#
# Stuck? `hint("merge_pairs")`.

# %%
@cuda.jit(device=True)
def merge(m, s, m2, s2):
    """Return maximum and sum of two pieces, given those of each."""
    # about 2 lines
    # BEGIN SOLUTION
    top = max(m, m2)
    return top, s * math.exp(m - top) + s2 * math.exp(m2 - top)
    # END SOLUTION


@cuda.jit
def merge_pairs(a, b, out):
    """Merge the pairs in the rows of a and b."""
    i = cuda.grid(1)

    if i < out.shape[0]:
        m, s = merge(a[i, 0], a[i, 1], b[i, 0], b[i, 1])
        out[i, 0] = m
        out[i, 1] = s


# %%
def pair_of(pieces):
    """Return maximum and sum of each row, of what is not -inf."""
    tops = np.maximum(pieces.max(axis=1), LOWEST)
    return tops, np.exp(pieces - tops[:, None]).sum(axis=1)


def two_pairs(rng, n):
    """Return pairs of n pieces and of n others; some pieces are empty."""
    spread = np.where(np.arange(n) % 2, 2, 100)[:, None]
    pieces = (rng.normal(0, 1, (2, n, 5)) * spread).astype(np.float32)
    pieces[0, 1::5] = -np.inf
    pieces[1, 3::5] = -np.inf
    pairs = [np.stack(pair_of(piece), axis=1) for piece in pieces]
    return tuple(pair.astype(np.float32) for pair in pairs)


def merged(a, b):
    top = np.maximum(a[:, 0], b[:, 0])
    total = a[:, 1] * np.exp(a[:, 0] - top) + b[:, 1] * np.exp(b[:, 0] - top)
    return np.stack([top, total], axis=1)


check(
    merge_pairs,
    spec=merged,
    inputs=two_pairs,
    sizes=[1, 16, 70],
    launch=lambda n: (-(-n // 64), 64),
    full=100_000,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# One of the two factors is always $e^0 = 1$. The other is at most 1, so nothing can
# overflow, however large the scores.

# %% [markdown]
# With `merge`, a thread gets both numbers in **one** pass over its columns. This is
# called the **online softmax**. A second pass is still needed, to write the shares.
# Here is the kernel. It works for rows of any length, and the lab uses it when nothing
# better fits.

# %% tags=["given"]
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


# %% [markdown]
# ## 3 · A warp per row
#
# One read is enough if you keep the row until its sum is known. The nearest place to
# keep it is in **registers**, as an array that belongs to one thread:
# `cuda.local.array(32, float32)`. If the compiler knows the length of every loop over
# the array, it unrolls the loops, and each element becomes a register.
#
# The arrays of a warp's threads have 32 × 32 = 1024 elements. So a row of up to 1024
# columns fits, and you need no shared memory and no barrier. `warp_max` and `warp_sum`
# combine the lanes' results.
#
# Lane `lane` takes columns `lane`, `lane + 32`, and so on. A column beyond the end
# counts as -inf (`NOTHING`), which adds 0 to the sum. The check allows each thread 32
# loads.
#
# ```python
# softmax_warp(x, out)    # (rows, cols <= 1024)  float32; 4 warps per block
# ```
#
# Stuck? `hint("softmax_warp")`.

# %%
@cuda.jit
def softmax_warp(x, out):
    """Write the softmax of each row of x into out, one warp per row."""
    values = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= x.shape[0]:
        return

    # about 16 lines
    # BEGIN SOLUTION
    top = LOWEST
    for i in range(32):
        col = lane + 32 * i
        values[i] = x[row, col] if col < x.shape[1] else NOTHING
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(32):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    scale = float32(1) / warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < x.shape[1]:
            out[row, col] = values[i] * scale
    # END SOLUTION


# %%
check(
    softmax_warp,
    spec=shares,
    inputs=lambda rng, rows, cols: (scores(rng, rows, cols),),
    sizes=[(1, 1), (5, 33), (3, 1000)],
    launch=lambda rows, cols: (-(-rows // 4), (32, 4)),
    full=(3001, 900),
    limits={"sectors": 5, "loads": 32, "local": 0, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The condition on `row` is the same for all 32 lanes, so a warp returns as a whole, and
# no lane is missing from a shuffle.
#
# Each element's power is computed only once, whereas the three passes computed it
# twice.

# %% [markdown]
# ## 4 · A block per row
#
# 4096 columns are too many for a warp: each lane would need 128 values, and a thread
# has 255 registers at most. They are not too many for a block of 256 threads, with 16
# values each:
#
# 1. each warp finds its own maximum, and its sum relative to **its own** maximum: a
#    pair;
# 2. lane 0 of each warp puts the pair into shared memory;
# 3. all threads wait at the **only** barrier;
# 4. every warp loads the 8 pairs, one per lane, and merges them: it finds the maximum
#    of all maxima, and adds up all sums, each rescaled to that maximum;
# 5. each thread's powers are relative to its warp's maximum. A single factor, the same
#    for all 16 powers, turns them into shares.
#
# The loads are given, 16 bytes at a time. For the stores, use `store4(out, (row,
# col), a, b, c, d)`, under the same condition as `load4`.
#
# ```python
# softmax_block(x, out)    # (rows, cols <= 4096, a multiple of 4)  float32
# ```
#
# Stuck? `hint("softmax_block")`.

# %% tags=["given"]
THREADS, WARPS = 256, 8


# %%
@cuda.jit
def softmax_block(x, out):
    """Write the softmax of each row of x into out, one block per row."""
    values = cuda.local.array(16, float32)
    tops = cuda.shared.array(WARPS, float32)
    totals = cuda.shared.array(WARPS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    warp, lane = t // 32, t % 32

    for i in range(4):
        a = b = c = d = NOTHING
        col = 4 * (t + THREADS * i)
        if col < x.shape[1]:
            a, b, c, d = load4(x, (row, col))
        values[4 * i], values[4 * i + 1] = a, b
        values[4 * i + 2], values[4 * i + 3] = c, d

    # about 20 lines
    # BEGIN SOLUTION
    top = LOWEST
    for i in range(16):
        top = max(top, values[i])
    top = warp_max(top)

    total = float32(0)
    for i in range(16):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    total = warp_sum(total)
    if lane == 0:
        tops[warp], totals[warp] = top, total
    cuda.syncthreads()

    m = tops[lane] if lane < WARPS else LOWEST
    s = totals[lane] if lane < WARPS else float32(0)
    whole = warp_max(m)
    scale = math.exp(top - whole) / warp_sum(s * math.exp(m - whole))

    for k in range(0, 16, 4):
        at = 4 * t + THREADS * k
        if at < x.shape[1]:
            a, b = values[k] * scale, values[k + 1] * scale
            c, d = values[k + 2] * scale, values[k + 3] * scale
            store4(out, (row, at), a, b, c, d)
    # END SOLUTION


# %%
check(
    softmax_block,
    spec=shares,
    inputs=lambda rng, rows, cols: (scores(rng, rows, 4 * cols),),
    sizes=[(1, 1), (3, 70), (2, 1000)],
    launch=lambda rows, cols: (rows, 256),
    full=(300, 1001),
    limits={
        "sectors": 16,
        "loads": 4,
        "load_bytes": 16,
        "store_bytes": 16,
        "barriers": 1,
        "local": 0,
        "float64": 0,
    },
)

# %% [markdown] tags=["solution"]
# For a row of 4096, only 16 numbers go through shared memory. And there is only one
# barrier, whereas finding first the maximum and then the sum would have needed two.
#
# A warp whose columns are all -inf has the pair (`LOWEST`, 0). In the merge its sum
# contributes $0 \cdot e^{\dots} = 0$, which is right.

# %% [markdown]
# Here is the same kernel in CUDA C++, for rows of 4096. There, too, the loops have
# constant lengths, and `v` is kept in registers for the same reason. `__expf` is the
# fast exponential.

# %%
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

if weft.on_gpu("NVRTC's machine code needs one"):
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    gpu = core.Device()
    gpu.set_current()
    options = core.ProgramOptions(arch=weft.device.find().sm)  # sm_90, say
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    cpp_kernel = program.compile("cubin").get_kernel("softmax_block")

    def cpp_softmax(x, out):
        config = core.LaunchConfig(grid=len(x), block=256)
        pointers = x.data_ptr(), out.data_ptr()
        core.launch(gpu.default_stream, config, cpp_kernel, *pointers)


# %% [markdown]
# ## Measure: one read
#
# There are two shapes, both with 16.8 million elements, or 67 MB: 16,384 rows of 1024,
# and 4096 rows of 4096. *One read* is a warp per row for the first shape and a block
# per row for the second. For comparison, both tables include the kernel with three
# passes and the online kernel with two. How close do these kernels come to the copy?

# %%
guess = {"three passes": None, "two passes": None, "one read": None}


def rung_candidates(rows, cols):
    def build():
        import torch

        x = torch.randn(rows, cols, device="cuda")
        out = torch.empty_like(x)
        d_x, d_out = map(cuda.as_cuda_array, (x, out))
        by_warp = rows // 4, (32, 4)
        one_read = {
            1024: lambda: softmax_warp[by_warp](d_x, d_out),
            4096: lambda: softmax_block[rows, 256](d_x, d_out),
        }
        candidates = {
            "copy": lambda: out.copy_(x),
            "torch.softmax": lambda: torch.softmax(x, 1),
            "three passes": lambda: softmax_passes[rows, 256](d_x, d_out),
            "two passes": lambda: softmax_online[rows, 256](d_x, d_out),
            "one read": one_read[cols],
        }
        if cols == 4096:
            candidates["CUDA C++"] = lambda: cpp_softmax(x, out)
            cpp_softmax(x, out)
            aim = torch.softmax(x, 1)
            assert (out - aim).norm() < 1e-5 * aim.norm()
        return candidates

    return build


rungs = {
    cols: bench.compare(
        f"rungs, {rows} x {cols} float32",
        rung_candidates(rows, cols),
        baseline="torch.softmax",
        bytes=2 * 4 * rows * cols,
        ceiling="copy",
        guess=guess,
    )
    for rows, cols in ((16384, 1024), (4096, 4096))
}
rungs[1024]

# %%
rungs[4096]

# %% tags=["solution"]
for table in rungs.values():
    table.expect("one read", at_least=1.5, times="three passes")
    table.expect("one read", ceiling=0.65)
rungs[4096].expect("one read", at_least=1.2)

# %% [markdown] tags=["solution"]
# *One read* moves as many bytes as the copy. At 4096 columns it is as fast as the copy,
# to within a few per cent. At 1024 columns it is slower than the copy, and slower than
# PyTorch's kernel for short rows, which uses the same idea and also loads 4 bytes at a
# time. The family of kernels below moves 16 bytes at a time.
#
# Two passes are only a few per cent faster than three. The read that they save came
# from a cache, and `merge` has to compute two exponentials for each element. The online
# softmax pays off where the second read would come from memory, or where it removes the
# second read.

# %% [markdown]
# ## 5 · Backward
#
# In training, softmax also has a backward pass. `y` is the output of the forward pass,
# `dy` is the gradient with respect to `y`, and the gradient to compute is
#
# $$dx_j = y_j \left( dy_j - \sum_k y_k \, dy_k \right)$$
#
# The pattern is the same again: first something about the whole row, this time one sum,
# and then each element. Three arrays move instead of two. Use a warp per row, for up to
# 1024 columns, and read everything once, into two arrays in registers. The check allows
# each thread 64 loads.
#
# ```python
# softmax_backward(y, dy, dx)    # (rows, cols <= 1024), twice -> (rows, cols)
# ```
#
# Stuck? `hint("softmax_backward")`.

# %%
@cuda.jit
def softmax_backward(y, dy, dx):
    """Write the gradient of the softmax's input into dx, one warp per row."""
    ys = cuda.local.array(32, float32)
    dys = cuda.local.array(32, float32)
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x

    if row >= y.shape[0]:
        return

    # about 11 lines
    # BEGIN SOLUTION
    total = float32(0)
    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            ys[i], dys[i] = y[row, col], dy[row, col]
            total += ys[i] * dys[i]
    total = warp_sum(total)

    for i in range(32):
        col = lane + 32 * i
        if col < y.shape[1]:
            dx[row, col] = ys[i] * (dys[i] - total)
    # END SOLUTION


# %%
check(
    softmax_backward,
    spec=lambda y, dy: y * (dy - (y * dy).sum(axis=1, keepdims=True)),
    inputs=lambda rng, rows, cols: (
        shares(rng.normal(0, 1, (rows, cols))).astype(np.float32),
        rng.normal(0, 1, (rows, cols)).astype(np.float32),
    ),
    sizes=[(1, 1), (5, 33), (3, 1000)],
    launch=lambda rows, cols: (-(-rows // 4), (32, 4)),
    full=(3001, 900),
    limits={"sectors": 5, "loads": 64, "local": 0, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The backward pass does not need `x`, only `y`, which the forward pass has computed.
# And it has no exponential.

# %% [markdown]
# ## Read: a family
#
# You have written all the kernels that this lab asks for; from here on you read. What
# follows is a softmax, with its backward pass, for float32 and bfloat16 and for rows of
# any length. It consists of the kernels that you have written, with the numbers of
# pieces and threads as parameters, and of two more kinds of kernels, for rows that no
# block can hold. The chapter's second page, *Rows over several blocks*, explains those
# step by step. Read that page first if you like.
#
# **Bfloat16** is the upper half of a float32: it has the same range, but only 8 bits of
# precision. Numba has no such type, so a kernel sees a matrix of int32, each of which
# contains two bfloat16. `bf16_low` and `bf16_high` unpack them to float32, which is
# exact, and `bf16_pair` rounds two float32 and packs them. All arithmetic is in
# float32. A load of 16 bytes gets 8 elements.
#
# **`exp2`.** The hardware computes powers of 2 in one instruction; `math.exp` uses
# seven more to get the last bits right. Here, six correct digits are enough, so the
# kernels use `exp2`, with $e^x = 2^{x \cdot \log_2 e}$.
#
# Each of the next cells makes kernels. `whole` means that the row fills all pieces, so
# no guard is needed. To *weigh* a piece is to find its pair and to turn its scores into
# powers.

# %% tags=["given"]
LOG2E = np.float32(np.log2(np.e))


def moves(half, pieces, width, whole):
    """Make functions that load a thread's part of a row, and store it, scaled.

    A part has `pieces` pieces of 16 bytes, `width` pieces apart.
    """
    if half:

        @cuda.jit(device=True, inline=True)
        def load(x, row, first, v):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < x.shape[1]:
                    four = load4(x, (row, at))
                    for j in range(4):
                        v[8 * k + 2 * j] = bf16_low(four[j])
                        v[8 * k + 2 * j + 1] = bf16_high(four[j])
                else:
                    for j in range(8):
                        v[8 * k + j] = NOTHING

        @cuda.jit(device=True, inline=True)
        def store(out, row, first, v, r):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < out.shape[1]:
                    p = bf16_pair(v[8 * k] * r, v[8 * k + 1] * r)
                    q = bf16_pair(v[8 * k + 2] * r, v[8 * k + 3] * r)
                    s = bf16_pair(v[8 * k + 4] * r, v[8 * k + 5] * r)
                    t = bf16_pair(v[8 * k + 6] * r, v[8 * k + 7] * r)
                    store4(out, (row, at), p, q, s, t)

    else:

        @cuda.jit(device=True, inline=True)
        def load(x, row, first, v):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < x.shape[1]:
                    four = load4(x, (row, at))
                    for j in range(4):
                        v[4 * k + j] = four[j]
                else:
                    for j in range(4):
                        v[4 * k + j] = NOTHING

        @cuda.jit(device=True, inline=True)
        def store(out, row, first, v, r):
            for k in range(pieces):
                at = first + 4 * width * k
                if whole or at < out.shape[1]:
                    p, q = v[4 * k] * r, v[4 * k + 1] * r
                    s, t = v[4 * k + 2] * r, v[4 * k + 3] * r
                    store4(out, (row, at), p, q, s, t)

    return load, store


def weighing(count):
    """Make a function that turns scores into powers and returns the pair."""

    @cuda.jit(device=True, inline=True)
    def weigh(v):
        m = LOWEST
        for k in range(count):
            m = max(m, v[k])
        m = warp_max(m)
        s = float32(0)
        for k in range(count):
            v[k] = exp2((v[k] - m) * LOG2E)
            s += v[k]
        return m, warp_sum(s)

    return weigh


@cuda.jit(device=True, inline=True)
def merge_warp(m, s):
    """Return the pair of 32 pairs, one in each lane."""
    peak = warp_max(m)
    return peak, warp_sum(s * exp2((m - peak) * LOG2E))


# %% [markdown]
# Here are the two kinds that you know: a warp per row and a block per row. `x` and
# `out` are matrices of float32, or of int32 with two bfloat16 in each.

# %% tags=["given"]
def warp_kernel(half, pieces, threads, whole):
    count = (8 if half else 4) * pieces
    load, store = moves(half, pieces, 32, whole)
    weigh = weighing(count)

    @cuda.jit
    def kernel(x, out):
        v = cuda.local.array(count, float32)
        row = int32(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)
        first = int32(4 * cuda.threadIdx.x)
        if row >= x.shape[0]:
            return
        load(x, row, first, v)
        _, s = weigh(v)
        store(out, row, first, v, float32(1) / s)

    return kernel


def block_kernel(half, pieces, threads, whole):
    count, warps = (8 if half else 4) * pieces, threads // 32
    load, store = moves(half, pieces, threads, whole)
    weigh = weighing(count)

    @cuda.jit
    def kernel(x, out):
        ms = cuda.shared.array(warps, float32)
        ss = cuda.shared.array(warps, float32)
        v = cuda.local.array(count, float32)
        row, me = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
        load(x, row, 4 * me, v)
        m, s = weigh(v)
        if me % 32 == 0:
            ms[me // 32], ss[me // 32] = m, s
        cuda.syncthreads()
        peak, weight = LOWEST, float32(0)
        if me % 32 < warps:
            peak, weight = ms[me % 32], ss[me % 32]
        peak, weight = merge_warp(peak, weight)
        store(out, row, 4 * me, v, exp2((m - peak) * LOG2E) / weight)

    return kernel


# %% [markdown]
# **Rows that no block can hold.** An SM has 256 KB of registers, but a row of 262,144
# float32 is 1 MB. So several blocks hold a row, and have to exchange their results.
# Each block publishes the pair of its piece, then waits for the pairs of the others.
#
# How does a pair get from block to block? The maximum and the sum have 32 bits each, so
# both fit into **one** 64-bit word, which is stored and loaded as a whole. No fence is
# needed, since the word is all that is exchanged. `poke(slots, i, word)` is a store
# that other blocks can see, and `peek(slots, i)` is a load that reads memory anew each
# time. With `slots[i]`, the compiler could load the word once, and the loop would never
# end.
#
# And how does a block know that a word is *new*, and not left over from the launch
# before? Launches are numbered 0 and 1 in alternation, and the last bit of the sum says
# which launch stored it. (In barriers, this technique is called **sense reversal**.)
# `turns` holds that number, the *turn*, and a counter. The last block to have read the
# turn changes it for the next launch, and `atomic.inc` resets the counter to 0 by
# itself (chapter 9).
#
# Instead of the maximum $m$, these kernels keep $a = m \log_2 e$, the exponent for a
# power of 2. Then $2^{x \log_2 e - a}$ takes one multiply-add before the power. (A
# score beyond 2 × 10^38 would become infinite, but no real score is that large.)

# %% tags=["given"]
@cuda.jit(device=True, inline=True)
def merge_powers(a, s):
    """Return the pair of 32 pairs, whose maxima are powers of 2."""
    peak = warp_max(a)
    return peak, warp_sum(s * exp2(a - peak))


@cuda.jit(device=True)
def publish(slots, row, piece, a, s, turn):
    """Store the pair of a piece for others to see, marked with the turn."""
    word = uint64(uint32(libdevice.float_as_int(a))) << uint64(32)
    low = uint32(libdevice.float_as_int(s)) & uint32(0xFFFFFFFE)
    poke(slots, (row, piece), word | uint64(low | turn))


@cuda.jit(device=True)
def meet(slots, row, pieces, turn):
    """Wait for the pairs of all pieces and merge them; for a whole warp."""
    a, s = LOWEST, float32(0)
    for k in range(cuda.threadIdx.x % 32, pieces, 32):
        word = peek(slots, (row, k))
        while uint32(word & uint64(1)) != turn:
            word = peek(slots, (row, k))
        a2 = libdevice.int_as_float(int32(word >> uint64(32)))
        s2 = libdevice.int_as_float(int32(word & uint64(0xFFFFFFFE)))
        peak = max(a, a2)
        s = s * exp2(a - peak) + s2 * exp2(a2 - peak)
        a = peak
    return merge_powers(a, s)


# %% [markdown]
# **Which block has which piece.** Chapter 14 said that blocks must not wait for one
# another, because the block that is waited for may not have started. Here they may, on
# one condition: blocks have to *start* in the order of `blockIdx.x`. A row's blocks
# have neighbouring numbers, so when one of them is waiting, those with lower numbers
# have started, and those with higher numbers start next; and the few blocks of one row
# fit on the GPU together. Every GPU we know starts blocks in that order, but CUDA does
# not promise it. With `ticket`, a block gets its number from an atomic counter instead
# of `blockIdx.x`. The numbers are then in the order in which blocks start, whatever
# that order is.
#
# Four blocks share an SM, and all of them start at the same time. If their pieces had
# the same size, the blocks would stay in lockstep: all would load, then all would wait
# for each other while memory is idle, then all would store. So the blocks are
# **staggered**. The first rows are cut more finely, into pieces of a quarter, a half
# and three quarters of the usual size. The blocks of these rows finish sooner, and from
# then on one block on an SM loads while another waits. `cut` returns how the rows are
# cut. `find` goes from a block's number to its piece.

# %% tags=["given"]
UNIT = 256  # words: a piece begins on a boundary of 1 KB


def cut(rows, words, span, places, layers):
    """Say how to cut rows: first block, first row, pieces per row; again.

    No piece has more than `span` words. `places` blocks fit on the GPU at a
    time, `layers` of them on each SM.
    """
    units, cuts, block, row = -(-words // UNIT), [], 0, 0
    whole = -(-units // (span // UNIT))
    if rows * whole > 2 * places:
        for k in range(1, layers):
            length = -(-units // -(-whole * layers // k))
            pieces = -(-units // length)
            some = max(1, round(places / layers / pieces))
            some = min(some, rows - row - 1)  # one row is left for the rest
            if some > 0:
                cuts += [block, row, pieces]
                block, row = block + some * pieces, row + some
    return (*cuts, block, row, whole)


@cuda.jit(device=True)
def number_of_block(turns, ticket):
    """Return a block's number: all its threads get it."""
    if not ticket:
        return int32(cuda.blockIdx.x)
    mine = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        last = uint32(cuda.gridDim.x - 1)
        mine[0] = int32(cuda.atomic.inc(turns, 2, last))
    cuda.syncthreads()
    return mine[0]


@cuda.jit(device=True, inline=True)
def find(cuts, number):
    """Return the row and the piece that a block does, and the row's pieces."""
    first, row, pieces = int32(0), int32(0), int32(cuts[2])
    for k in range(3, len(cuts), 3):
        if number >= cuts[k]:
            first, row = int32(cuts[k]), int32(cuts[k + 1])
            pieces = int32(cuts[k + 2])
    number -= first
    return row + number // pieces, number % pieces, pieces


@cuda.jit(device=True, inline=True)
def part_of(piece, pieces, cols, threads):
    """Return where a thread's part of a piece begins, and how many fours."""
    units = (cols + int32(UNIT - 1)) // int32(UNIT)
    span = int32(UNIT) * ((units + pieces - int32(1)) // pieces)
    mine = int32(4 * cuda.threadIdx.x)
    left = min(span, cols - piece * span) - mine
    fours = int32(0)
    if left > 0:
        fours = (left + int32(4 * threads - 1)) // int32(4 * threads)
    return piece * span + mine, fours


# %% [markdown]
# Here is the kernel. The larger the part of the matrix that an SM holds, the more work
# there is while some of that part waits. So a block uses both places that an SM has for
# data. A *four* is one access of 16 bytes. Of each thread's part, `kept` fours go to
# **shared memory**. For each of them, `copy4_async` starts a copy that does not pass
# through a register. `commit_group()` closes the list of such copies, and
# `wait_group(0)` waits until this thread's copies have arrived. No other thread reads
# them, so no barrier is needed. The other `held` fours go to **registers**, without
# being unpacked, so a register holds two bfloat16. The powers are computed twice rather
# than kept.

# %% tags=["given"]
PAIR_OF_NOTHING = np.uint32(0xFF80FF80).view(np.int32)  # two bfloat16 of -inf


def arithmetic(half):
    """Make functions of a register's content: one float32, or two bfloat16."""
    if half:

        @cuda.jit(device=True, inline=True)
        def larger(p, q):
            return bf16_max(p, q)

        @cuda.jit(device=True, inline=True)
        def top_of(w):
            return max(bf16_low(w), bf16_high(w))

        @cuda.jit(device=True, inline=True)
        def weight_of(w, a):
            low = exp2(bf16_low(w) * LOG2E - a)
            return low + exp2(bf16_high(w) * LOG2E - a)

        @cuda.jit(device=True, inline=True)
        def share_of(w, a, r):
            low = exp2(bf16_low(w) * LOG2E - a) * r
            return bf16_pair(low, exp2(bf16_high(w) * LOG2E - a) * r)

    else:

        @cuda.jit(device=True, inline=True)
        def larger(p, q):
            return max(p, q)

        @cuda.jit(device=True, inline=True)
        def top_of(w):
            return w

        @cuda.jit(device=True, inline=True)
        def weight_of(w, a):
            return exp2(w * LOG2E - a)

        @cuda.jit(device=True, inline=True)
        def share_of(w, a, r):
            return exp2(w * LOG2E - a) * r

    @cuda.jit(device=True, inline=True)
    def share(out, row, at, four, a, r):
        p, q = share_of(four[0], a, r), share_of(four[1], a, r)
        t, u = share_of(four[2], a, r), share_of(four[3], a, r)
        store4(out, (row, at), p, q, t, u)

    return larger, top_of, weight_of, share


def many_kernel(half, held, kept, threads, registers, ticket=False):
    kind, nothing = (int32, PAIR_OF_NOTHING) if half else (float32, NOTHING)
    count, cells, warps = 4 * held, 4 * max(kept, 1) * threads, threads // 32
    larger, top_of, weight_of, share = arithmetic(half)
    apart = 4 * threads

    @cuda.jit(**({"max_registers": registers} if weft.GPU else {}))
    def kernel(x, out, slots, turns, cuts):
        tile = cuda.shared.array(cells, kind, alignment=16)
        peaks = cuda.shared.array(warps, float32)
        sums = cuda.shared.array(warps, float32)
        both = cuda.shared.array(2, float32)
        w = cuda.local.array(count, kind)
        me, cols = int32(cuda.threadIdx.x), int32(x.shape[1])
        seen, ended = peek(turns, 0), uint32(0)
        row, piece, pieces = find(cuts, number_of_block(turns, ticket))
        at, fours = part_of(piece, pieces, cols, threads)

        for k in range(kept):
            here = at + apart * k
            copy4_async(tile, 4 * me + apart * k, x, (row, here), k < fours)
        commit_group()
        for k in range(held):
            if kept + k < fours:
                four = load4(x, (row, at + apart * (kept + k)))
                for j in range(4):
                    w[4 * k + j] = four[j]
            else:
                for j in range(4):
                    w[4 * k + j] = nothing

        most = kind(nothing)
        wait_group(0)
        for k in range(kept):
            if k < fours:
                four = load4(tile, 4 * me + apart * k)
                for j in range(4):
                    most = larger(most, four[j])
        for k in range(count):
            most = larger(most, w[k])
        a = warp_max(max(LOWEST, top_of(most) * LOG2E))
        s = float32(0)
        for k in range(kept):
            if k < fours:
                four = load4(tile, 4 * me + apart * k)
                for j in range(4):
                    s += weight_of(four[j], a)
        for k in range(count):
            s += weight_of(w[k], a)
        s = warp_sum(s)
        if me % 32 == 0:
            peaks[me // 32], sums[me // 32] = a, s
        cuda.syncthreads()

        turn = uint32(1) - seen
        if me < 32:
            a, s = LOWEST, float32(0)
            if me < warps:
                a, s = peaks[me], sums[me]
            a, s = merge_powers(a, s)
            if me == 0:
                publish(slots, row, piece, a, s, turn)
                last = uint32(cuda.gridDim.x - 1)
                ended = cuda.atomic.inc(turns, 1, last)
            a, s = meet(slots, row, pieces, turn)
            if me == 0:
                both[0], both[1] = a, float32(1) / s
        cuda.syncthreads()

        a, r = both[0], both[1]
        for k in range(kept):
            if k < fours:
                four = load4(tile, 4 * me + apart * k)
                share(out, row, at + apart * k, four, a, r)
        for k in range(held):
            if kept + k < fours:
                i, here = 4 * k, at + apart * (kept + k)
                four = w[i], w[i + 1], w[i + 2], w[i + 3]
                share(out, row, here, four, a, r)
        if me == 0 and ended == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel


# %% [markdown]
# **Persistent blocks.** A matrix of few long rows takes only two or three waves of
# blocks, too few for staggering to help. For such a matrix there is a fourth kind of
# kernel: it has as many blocks as the GPU holds at a time, and they stay until all rows
# are done. The blocks that share a row are a **team**; each team takes every `teams`-th
# row. Where four blocks fit on an SM, all blocks start at once, and their order does
# not matter. On SMs with 100 KB of shared memory only three fit, and the last quarter
# of the blocks start when others have finished. Then the condition above applies:
# blocks have to start in order, and the GPU needs room for a team.
#
# A block does not wait for its team at once (see chapter 15). It publishes the pair of
# its piece of a row, goes on to its next row and to the row after that, and only **two
# rows later** looks for the pairs of the others. By then, these have usually been
# published. This is **software pipelining**: four rows are in flight at any time. One
# row is being loaded into shared memory, one has arrived there and is being weighed,
# and two are in registers, `v` and `w`, until their pairs have been merged.
#
# The tile, `peaks`, `sums` and `both` each have two halves, and `side` says which half
# belongs to a row: this is **double buffering**. One barrier per row is enough, because
# a thread that writes to a half has passed the barrier that comes after the last read
# of that half. The tile needs no barrier, because each thread reads only what it has
# copied itself, and overwrites only what it has read.
#
# A piece is weighed in one pass, two fours at a time, with the online softmax of
# exercise 2.

# %% tags=["given"]
def team_kernel(half, fours, threads, registers):
    kind, nothing = (int32, PAIR_OF_NOTHING) if half else (float32, NOTHING)
    count, apart, warps = 4 * fours, 4 * threads, threads // 32
    cells = fours * apart
    larger, top_of, weight_of, share = arithmetic(half)

    @cuda.jit(device=True, inline=True)
    def fetch(tile, side, x, row, at, end):
        to = int32(4 * cuda.threadIdx.x)
        while at < end:
            copy4_async(tile, (side, to), x, (row, at), True)
            at, to = int32(at + apart), int32(to + apart)
        commit_group()

    @cuda.jit(**({"max_registers": registers} if weft.GPU else {}))
    def kernel(x, out, slots, turns, number):
        tile = cuda.shared.array((2, cells), kind, alignment=16)
        peaks = cuda.shared.array((2, warps), float32)
        sums = cuda.shared.array((2, warps), float32)
        both = cuda.shared.array((2, 2), float32)
        ended = cuda.shared.array(1, uint32)
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        u = cuda.local.array(8, kind)
        me, rows = int32(cuda.threadIdx.x), int32(x.shape[0])
        teams, side = int32(number), int32(0)
        size = int32(cuda.gridDim.x // teams)
        first = int32(cuda.blockIdx.x // size)
        piece = int32(cuda.blockIdx.x % size)
        at = int32(4 * me + piece * int32(cells))
        end = int32((piece + 1) * int32(cells))
        turn = uint32(1 - peek(turns, 0))
        for k in range(count):
            v[k] = nothing

        fetch(tile, side, x, first, at, end)
        cuda.syncthreads()
        if me == 0:
            ended[0] = cuda.atomic.inc(turns, 1, uint32(cuda.gridDim.x - 1))
        done = int32(first - 2 * teams)
        while done < rows:
            row = int32(done + 2 * teams)
            if row < rows:
                wait_group(0)
                if row + teams < rows:
                    fetch(tile, int32(1 - side), x, int32(row + teams), at, end)
                a, s = LOWEST, float32(0)
                for k in range(0, fours, 2):
                    most = kind(nothing)
                    for i in range(2):
                        four = load4(tile, (side, 4 * me + apart * (k + i)))
                        for j in range(4):
                            u[4 * i + j] = four[j]
                            most = larger(most, four[j])
                    peak = max(a, top_of(most) * LOG2E)
                    s *= exp2(a - peak)
                    for i in range(8):
                        s += weight_of(u[i], peak)
                    a = peak
                a, s = merge_powers(a, s)
                if me % 32 == 0:
                    peaks[side, me // 32], sums[side, me // 32] = a, s
            if me >= threads - 32 and done >= 0:
                a, s = meet(slots, done, size, turn)
                if me == threads - 32:
                    both[side, 0], both[side, 1] = a, float32(1) / s
            cuda.syncthreads()

            if me < 32 and row < rows:
                a, s = LOWEST, float32(0)
                if me < warps:
                    a, s = peaks[side, me], sums[side, me]
                a, s = merge_powers(a, s)
                if me == 0:
                    publish(slots, row, piece, a, s, turn)
            if done >= 0:
                a, r = both[side, 0], both[side, 1]
                for k in range(fours):
                    i, here = 4 * k, at + apart * k
                    four = w[i], w[i + 1], w[i + 2], w[i + 3]
                    share(out, done, here, four, a, r)
            for k in range(count):
                w[k] = v[k]
            if row < rows:
                for k in range(fours):
                    four = load4(tile, (side, 4 * me + apart * k))
                    for j in range(4):
                        v[4 * k + j] = four[j]
            side = int32(1 - side)
            done = int32(done + teams)
        if me == 0 and ended[0] == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel


# %% [markdown]
# Which kernel is used? For a row of up to 2 KB, it is a warp per row. For up to 32,768
# elements, it is a block per row, with the numbers of threads and pieces that were
# fastest when we tried them. For longer rows, it is as many blocks as needed, of 256
# threads with 19 fours each (float32) or 16 (bfloat16), which is up to 76 or 64 KB per
# block. With 64 registers per thread, four such blocks share an SM. If this took fewer
# than five waves (`FEW`), and the row consists of whole pieces of 16 KB, teams are used
# instead, in blocks of 128 threads with 8 fours each. GPUs before Ampere have no
# `copy4_async`: there, a block keeps its piece in registers alone, and there are no
# teams.

# %% tags=["given"]
FORWARD = {  # words of 4 bytes per row -> pieces and threads
    False: {512: (4, 32), 1024: (4, 64), 4096: (8, 128), 8192: (2, 1024)}
    | {16384: (8, 512), 32768: (8, 1024)},
    True: {512: (4, 32), 2048: (4, 128), 4096: (2, 512), 8192: (4, 512)}
    | {16384: (4, 1024)},
}
BACKWARD = {
    False: {1024: (8, 32), 4096: (4, 256), 8192: (4, 512), 16384: (4, 1024)},
    True: {512: (4, 32), 2048: (2, 256), 4096: (2, 512), 8192: (4, 512)},
}
# beyond: fours held and kept, threads, registers, blocks on an SM
LONG = {False: (8, 11, 256, 64, 4), True: (8, 8, 256, 64, 4)}
LONG_BACKWARD = dict.fromkeys((False, True), (4, 5, 256, 64, 4))
if weft.GPU and weft.device.find().capability < (8, 0):
    LONG[False] = 14, 0, 256, 80, 3
    LONG_BACKWARD[False] = 7, 0, 256, 80, 3
TEAM = 8, 128, 128, 4  # fours, threads, registers, blocks on an SM
FEW = 5  # rounds
SMS = weft.device.find().sms or 1


def plan(table, words, half):
    """Return how to compute rows of that many words: kind, pieces, threads."""
    for span, (pieces, threads) in table[half].items():
        if words <= span:
            if threads == 32:
                return "warp", -(-words // 128), 32
            return "block", pieces, threads
    return "many", None, None


@functools.cache
def kernel_for(make, *how):
    """Return a kernel, made once."""
    return make(*how)


@functools.cache
def meeting_place(rows, pieces, *whose):
    """Return the words and counters through which blocks meet, all 0.

    A kernel has its own for each way to cut: others' words would mislead it.
    """
    words = cuda.to_device(np.zeros((rows, pieces), np.uint64))
    return words, cuda.to_device(np.zeros(3, np.uint32))


def launch_many(make, how, in_step, ticket, *arrays):
    """Launch a kernel for rows that several blocks hold."""
    rows, words = arrays[0].shape
    half = arrays[0].dtype == np.int32
    held, kept, threads, registers, layers = how
    span = 4 * (held + kept) * threads
    # Rows in step: as if there were always room for all of them.
    places = rows * words if in_step else layers * SMS
    cuts = cut(rows, words, span, places, layers)
    *_, block, row, pieces = cuts
    place = meeting_place(rows, max(cuts[2::3]), make, half, how, cuts, ticket)
    kernel = kernel_for(make, half, held, kept, threads, registers, ticket)
    grid = block + (rows - row) * pieces
    kernel[grid, threads, bench.stream()](*arrays, *place, cuts)


def launch_teams(how, places, x, out):
    """Launch a persistent kernel, with as many blocks as there are places."""
    rows, words = x.shape
    half = x.dtype == np.int32
    fours, threads, registers, _ = how
    size = words // (4 * fours * threads)
    number = min(rows, places // size)
    place = meeting_place(rows, size, team_kernel, half, how, number)
    kernel = kernel_for(team_kernel, half, fours, threads, registers)
    kernel[size * number, threads, bench.stream()](x, out, *place, number)


def suits_teams(x):
    """Whether rows that several blocks hold are few, and fill their pieces."""
    rows, words = x.shape
    held, kept, threads, _, layers = LONG[x.dtype == np.int32]
    rounds = rows * words / (4 * (held + kept) * threads * layers * SMS)
    piece, places = 4 * TEAM[0] * TEAM[1], SMS * TEAM[3]
    fits = words % piece == 0 and words // piece <= places
    return kept > 0 and fits and rounds < FEW


def launch(makers, table, long, ticket, *arrays):
    rows, words = arrays[0].shape
    half = arrays[0].dtype == np.int32
    if words % 4:
        raise ValueError(f"rows of {4 * words} bytes; a multiple of 16, please")
    kind, pieces, threads = plan(table, words, half)
    if kind == "many":
        launch_many(makers[kind], long[half], False, ticket, *arrays)
        return
    whole = words % (4 * pieces * threads) == 0
    kernel = kernel_for(makers[kind], half, pieces, threads, whole)
    if kind == "block":
        kernel[rows, threads, bench.stream()](*arrays)
    else:
        kernel[-(-rows // 4), (32, 4), bench.stream()](*arrays)


def softmax(x, out, ticket=False):
    """Write the softmax of each row of x into out.

    x, out: float32, or int32 that hold two bfloat16 each; on the GPU.
    """
    if x.shape[1] % 4 and x.dtype == np.float32:
        softmax_online[x.shape[0], 256](x, out)  # rows begin anywhere
        return
    kind, *_ = plan(FORWARD, x.shape[1], x.dtype == np.int32)
    if kind == "many" and not ticket and suits_teams(x):
        launch_teams(TEAM, SMS * TEAM[3], x, out)
        return
    makers = {"warp": warp_kernel, "block": block_kernel, "many": many_kernel}
    launch(makers, FORWARD, LONG, ticket, x, out)


# %% [markdown]
# Here is the backward pass, in the first three kinds. In `many_backward`, the blocks
# have only a sum to exchange. They send the pair (1, sum): with equal maxima, merging
# is adding.

# %% tags=["given"]
def products(half):
    """Make functions of two registers' content."""
    if half:

        @cuda.jit(device=True, inline=True)
        def add_product(s, a, b):
            s += bf16_low(a) * bf16_low(b)
            return s + bf16_high(a) * bf16_high(b)

        @cuda.jit(device=True, inline=True)
        def gradient(a, b, s):
            low = bf16_low(a) * (bf16_low(b) - s)
            return bf16_pair(low, bf16_high(a) * (bf16_high(b) - s))

    else:

        @cuda.jit(device=True, inline=True)
        def add_product(s, a, b):
            return s + a * b

        @cuda.jit(device=True, inline=True)
        def gradient(a, b, s):
            return a * (b - s)

    return add_product, gradient


def gradients(half, pieces, width, whole):
    """Make functions that load parts of y and dy, and that store dx."""
    kind = int32 if half else float32
    add_product, gradient = products(half)

    @cuda.jit(device=True, inline=True)
    def load(y, dy, row, first, v, w):
        s = float32(0)
        for k in range(pieces):
            at = first + 4 * width * k
            if whole or at < y.shape[1]:
                four, more = load4(y, (row, at)), load4(dy, (row, at))
                for j in range(4):
                    v[4 * k + j], w[4 * k + j] = four[j], more[j]
            else:
                for j in range(4):
                    v[4 * k + j] = w[4 * k + j] = kind(0)
        for k in range(4 * pieces):
            s = add_product(s, v[k], w[k])
        return warp_sum(s)

    @cuda.jit(device=True, inline=True)
    def store(dx, row, first, v, w, s):
        for k in range(pieces):
            at = first + 4 * width * k
            if whole or at < dx.shape[1]:
                p = gradient(v[4 * k], w[4 * k], s)
                q = gradient(v[4 * k + 1], w[4 * k + 1], s)
                t = gradient(v[4 * k + 2], w[4 * k + 2], s)
                u = gradient(v[4 * k + 3], w[4 * k + 3], s)
                store4(dx, (row, at), p, q, t, u)

    return load, store


def warp_backward(half, pieces, threads, whole):
    kind, count = int32 if half else float32, 4 * pieces
    load, store = gradients(half, pieces, 32, whole)

    @cuda.jit
    def kernel(y, dy, dx):
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        row = int32(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)
        first = int32(4 * cuda.threadIdx.x)
        if row >= y.shape[0]:
            return
        s = load(y, dy, row, first, v, w)
        store(dx, row, first, v, w, s)

    return kernel


def block_backward(half, pieces, threads, whole):
    kind, count = int32 if half else float32, 4 * pieces
    load, store = gradients(half, pieces, threads, whole)

    @cuda.jit
    def kernel(y, dy, dx):
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        row, me = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
        s = load(y, dy, row, 4 * me, v, w)
        s = block_sum(s if me % 32 == 0 else float32(0))
        store(dx, row, 4 * me, v, w, s)

    return kernel


def many_backward(half, held, kept, threads, registers, ticket=False):
    kind = int32 if half else float32
    count, cells, warps = 4 * held, 4 * max(kept, 1) * threads, threads // 32
    add_product, gradient = products(half)
    apart = 4 * threads

    @cuda.jit(device=True, inline=True)
    def give(dx, row, at, a, b, s):
        p, q = gradient(a[0], b[0], s), gradient(a[1], b[1], s)
        t, u = gradient(a[2], b[2], s), gradient(a[3], b[3], s)
        store4(dx, (row, at), p, q, t, u)

    @cuda.jit(**({"max_registers": registers} if weft.GPU else {}))
    def kernel(y, dy, dx, slots, turns, cuts):
        tile = cuda.shared.array((2, cells), kind, alignment=16)
        sums = cuda.shared.array(warps, float32)
        whole = cuda.shared.array(1, float32)
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        me, cols = int32(cuda.threadIdx.x), int32(y.shape[1])
        seen, ended = peek(turns, 0), uint32(0)
        row, piece, pieces = find(cuts, number_of_block(turns, ticket))
        at, fours = part_of(piece, pieces, cols, threads)

        for k in range(kept):
            to, here = 4 * me + apart * k, (row, at + apart * k)
            copy4_async(tile, (0, to), y, here, k < fours)
            copy4_async(tile, (1, to), dy, here, k < fours)
        commit_group()
        for k in range(held):
            if kept + k < fours:
                here = row, at + apart * (kept + k)
                a, b = load4(y, here), load4(dy, here)
                for j in range(4):
                    v[4 * k + j], w[4 * k + j] = a[j], b[j]
            else:
                for j in range(4):
                    v[4 * k + j] = w[4 * k + j] = kind(0)

        s = float32(0)
        for k in range(count):
            s = add_product(s, v[k], w[k])
        wait_group(0)
        for k in range(kept):
            to = 4 * me + apart * k
            a, b = load4(tile, (0, to)), load4(tile, (1, to))
            for j in range(4):
                s = add_product(s, a[j], b[j])
        s = warp_sum(s)
        if me % 32 == 0:
            sums[me // 32] = s
        cuda.syncthreads()

        turn = uint32(1) - seen
        if me < 32:
            s = warp_sum(sums[me] if me < warps else float32(0))
            if me == 0:
                publish(slots, row, piece, float32(0), s, turn)
                last = uint32(cuda.gridDim.x - 1)
                ended = cuda.atomic.inc(turns, 1, last)
            _, s = meet(slots, row, pieces, turn)
            if me == 0:
                whole[0] = s
        cuda.syncthreads()

        s = whole[0]
        for k in range(kept):
            if k < fours:
                to = 4 * me + apart * k
                a, b = load4(tile, (0, to)), load4(tile, (1, to))
                give(dx, row, at + apart * k, a, b, s)
        for k in range(held):
            if kept + k < fours:
                i = 4 * k
                a = v[i], v[i + 1], v[i + 2], v[i + 3]
                b = w[i], w[i + 1], w[i + 2], w[i + 3]
                give(dx, row, at + apart * (kept + k), a, b, s)
        if me == 0 and ended == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel


def backward(y, dy, dx, ticket=False):
    """Write the gradient of the softmax's input into dx; see softmax."""
    makers = {"warp": warp_backward, "block": block_backward}
    makers |= {"many": many_backward}
    launch(makers, BACKWARD, LONG_BACKWARD, ticket, y, dy, dx)


# %% [markdown]
# Does the family compute what it should? The next cell compares each kind with NumPy
# once, guards and -inf included. A row that contains only -inf has to give NaN in both.
# The kernels for long rows get short rows here: in the simulator, a row of 262,144
# would take a minute.

# %%
def pairs_of_bf16(x):
    """Return float32 rounded towards 0 to bfloat16, two to an int32."""
    upper = np.ascontiguousarray(x).view(np.uint32) >> 16
    return (upper[:, ::2] | upper[:, 1::2] << 16).view(np.int32)


def from_pairs(words):
    """Return bfloat16 pairs as float32."""
    words = words.view(np.uint32)
    low, high = words << 16, words & np.uint32(0xFFFF0000)
    both = np.stack([low, high], axis=-1).reshape(len(words), -1)
    return both.view(np.float32)


def largest_error(rows, cols, half, how):
    """Return how far forward and backward are from what they should be.

    how: of the kernels of long rows; None lets the family choose. Four
    numbers are for teams, forward.
    """

    def both(x, y, dy, dx):
        if how is None:
            softmax(x, y)
            backward(y, dy, dx)
        elif len(how) == 4:
            launch_teams(how, 8, x, y)
            backward(y, dy, dx)
        else:
            launch_many(many_kernel, how, False, False, x, y)
            launch_many(many_backward, how, False, False, y, dy, dx)

    rng = np.random.default_rng(16)
    x = scores(rng, rows, cols) / np.float32(8)
    dy = rng.normal(0, 1, x.shape).astype(np.float32)
    if half:
        x, dy = (from_pairs(pairs_of_bf16(a)) for a in (x, dy))
    wanted = shares(x.astype(np.float64))

    pack = pairs_of_bf16 if half else lambda a: a
    unpack = from_pairs if half else lambda a: a
    d_x, d_dy = (cuda.to_device(pack(a)) for a in (x, dy))
    d_y, d_dx = (cuda.to_device(np.zeros_like(pack(x))) for _ in "yx")
    both(d_x, d_y, d_dy, d_dx)
    y, dx = unpack(d_y.copy_to_host()), unpack(d_dx.copy_to_host())
    both(d_x, d_y, d_dy, d_dx)  # blocks meet in words of the launch before
    assert np.array_equal(unpack(d_y.copy_to_host()), y, equal_nan=True)
    assert np.array_equal(unpack(d_dx.copy_to_host()), dx, equal_nan=True)
    there = y.astype(np.float64)
    exact = there * (dy - (there * dy).sum(axis=1, keepdims=True))

    worst = 0
    for got, aim in ((y, wanted), (dx, exact)):
        assert np.array_equal(np.isnan(got), np.isnan(aim))
        off = np.abs(np.nan_to_num(got) - np.nan_to_num(aim)).max()
        worst = max(worst, off / np.abs(np.nan_to_num(aim)).max())
    return worst


small = 1, 1, 32, 64, 4  # long rows' kernels, with 1 KB to a block
team = 2, 64, 64, 4  # 2 KB
sizes = [(5, 40, None), (3, 1040, None), (5, 2000, small), (2, 3000, small)]
sizes += [(5, 2048, team)]
if weft.GPU:
    sizes += [(5, 33_104, None)]
for rows, cols, how in sizes:
    full = largest_error(rows, cols, False, how)
    half = largest_error(rows, cols, True, how)
    print(f"{rows} x {cols:6}: float32 {full:.0e}, bfloat16 {half:.0e}")
    assert full < 1e-4
    assert half < 1e-2

# %% [markdown]
# ## Measure: seven shapes, twice
#
# There are seven shapes, in float32 and in bfloat16, from many short rows to few long
# rows. The family is compared with a copy, with `torch.softmax` and with
# `torch.compile`, whose tuning is fully on (`mode="max-autotune-no-cudagraphs"`,
# `dynamic=False`). `torch.compile` generates a kernel for each shape, and the times do
# not include compilation. Because it tries many variants, it takes more than a minute
# for the fourteen cases. If you would rather not wait, lower `PATIENCE`: once
# compilation has taken that many seconds, `torch.compile` is left out of the remaining
# cases.
#
# The L2 cache is cleared before each call. Where a copy takes less than about 50 µs,
# calls are timed as CUDA graphs instead, and cycle through so many arrays that none
# is still in the cache when its turn comes.
#
# On which shapes will PyTorch be furthest from the copy, and on which the family? Guess
# one number: how many times as fast as `torch.softmax` is the family, on average over
# these cases?

# %%
guess = {"family": None}

SHAPES = [
    (4096, 1024),
    (4096, 4096),
    (8192, 8192),
    (16384, 16384),
    (32768, 1024),
    (1024, 131072),
    (128, 262144),
]
HALF = weft.device.find().capability >= (8, 0)
PATIENCE = {"forward": 90, "backward": 60}  # s of compiling
spent = {"forward": 0.0, "backward": 0.0}


def tuned(what, function, *args):
    """Return what torch.compile makes of function, while there is patience."""
    if spent[what] > PATIENCE[what]:
        return []
    import torch

    begun = time.perf_counter()
    torch._logging.set_logs(all=logging.ERROR)
    torch._dynamo.reset()  # or it keeps count of shapes, and gives up at eight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(
            function, mode="max-autotune-no-cudagraphs", dynamic=False
        )
        compiled(*args)
    torch.cuda.synchronize()
    spent[what] += time.perf_counter() - begun
    print(f"compiled {tuple(args[0].shape)}: {spent[what]:.1f} s")
    return [("torch.compile", compiled)]


def as_words(tensor):
    """Return a tensor as Numba's kernels see it."""
    import torch

    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int32)
    return cuda.as_cuda_array(tensor)


def taking_turns(sets, call):
    """Return a function that calls with another of the sets each time.

    What it returns is kept until its turn comes again: outputs take turns too.
    """
    turn, kept = itertools.cycle(range(len(sets))), {}

    def once():
        k = next(turn)
        kept[k] = call(*sets[k])

    return once


def is_short(case, arrays):
    """Whether a copy of so many arrays takes less than about 50 µs."""
    rows, cols, half = case
    return arrays * rows * cols * (2 if half else 4) < 200e6


def sets_of(case, arrays, make):
    """Return as many sets of arrays as fill the L2 cache several times."""
    rows, cols, half = case
    size = arrays * rows * cols * (2 if half else 4)
    count = -(-400_000_000 // size) if is_short(case, arrays) else 1
    return [make() for _ in range(count)]


def forward_candidates(rows, cols, half):
    def build():
        import torch

        kind = torch.bfloat16 if half else torch.float32

        def make():
            x = torch.randn(rows, cols, device="cuda").to(kind)
            out = torch.empty_like(x)
            return x, out, as_words(x), as_words(out)

        sets = sets_of((rows, cols, half), 2, make)
        x, out, d_x, d_out = sets[0]
        softmax(d_x, d_out)
        aim = torch.softmax(x, 1)
        near = 1e-2 if half else 1e-5
        assert (out - aim).float().norm() < near * aim.float().norm()
        calls = {
            "copy": lambda x, out, d_x, d_out: out.copy_(x),
            "torch.softmax": lambda x, *_: torch.softmax(x, 1),
            "family": lambda x, out, d_x, d_out: softmax(d_x, d_out),
        }
        for name, call in tuned("forward", lambda x: torch.softmax(x, 1), x):
            calls[name] = lambda x, *_, call=call: call(x)
        return {name: taking_turns(sets, call) for name, call in calls.items()}

    return build


def name_of(rows, cols, half):
    return f"{rows} x {cols} {'bfloat16' if half else 'float32'}"


def fits(rows, cols, half):
    """Whether the GPU has this type, and memory enough; true without a GPU."""
    if not weft.GPU:
        return True
    import torch

    need = 8 * max(rows * cols * (2 if half else 4), 5e7)
    return (HALF or not half) and need < torch.cuda.mem_get_info()[1]


order = (2, 13, 0, 5, 10, 8, 6, 7, 3, 12, 1, 9, 4, 11)  # all kinds first
table_order = [(*shape, half) for half in (False, True) for shape in SHAPES]
cases = [table_order[k] for k in order]
forward = {
    case: bench.compare(
        f"softmax, {name_of(*case)}",
        forward_candidates(*case),
        baseline="torch.softmax",
        bytes=2 * case[0] * case[1] * (2 if case[2] else 4),
        ceiling="copy",
        guess=guess,
        graph=is_short(case, 2),
    )
    for case in cases
    if fits(*case)
}


def overview(tables, torch_name):
    """Print a line for each shape: the family and the others."""
    heads = f"{'copy':>11}{'of copy':>9}{'x PyTorch':>11}{'x compile':>11}"
    print(f"{'':24}{heads}")
    for case in table_order:
        table = tables.get(case, ())
        if not len(table):
            continue
        ms = {row.name: row.ms for row in table}
        ours = ms["family"]
        compiled = ms.get("torch.compile", math.nan) / ours
        print(
            f"{name_of(*case):24}{ms['copy'] * 1000:8.1f} µs"
            f"{ms['copy'] / ours:9.1%}{ms[torch_name] / ours:11.2f}"
            + (f"{compiled:11.2f}" if compiled == compiled else "")
        )


overview(forward, "torch.softmax")

# %% tags=["solution"]
for (_, cols, _), table in forward.items():
    table.expect("family", at_least=1.0)
    table.expect("family", ceiling=0.92 if cols <= 32768 else 0.7)

# %%
forward.get((1024, 131072, False))

# %% [markdown] tags=["solution"]
# All these numbers are for the H200; no other GPU has run these tables yet. Where a
# warp or a block holds the row, the family is within 4 % of the copy, and no kernel can
# be much faster, because the bytes are the same. In this run `torch.compile` comes as
# close in float32 at 32,768 × 1024, and reaches 89 to 95 % of the copy on the other
# four shapes. In bfloat16 it reaches 82 to 90 % of the copy at 1024 columns, and less
# than half of it on longer rows.
#
# On the long rows the libraries lose much more, because they go through such a row two
# or three times. The family loses 5 to 11 %, and the most at 128 rows in bfloat16. That
# matrix is only 67 MB, so the kernel's start and end probably take much of its time.

# %% [markdown]
# ## Measure: what a long row needs
#
# Here is the kernel for long rows, with one technique added at a time: *registers*
# keeps pieces in registers alone, 40 KB per block; *both stores* keeps them in
# registers and shared memory, 76 KB; *out of step* has staggered blocks as well; *with
# ticket* adds the ticket. Last come the *teams*, whose blocks stay. In all of them,
# four blocks share an SM.
#
# By hand: four blocks of 40 KB on each of 132 SMs hold 21.6 MB, which is 1/25 of the
# 537 MB of a matrix of 1024 × 131,072. So memory is idle 25 times, for as long as it
# takes to compute a pair and to exchange it. At two microseconds each time, that is 50
# µs, on top of 255 µs for the copy on an H200. With 76 KB, memory is idle 13 times. And
# how often is it idle in *out of step*? If *registers* is 1.0, guess how fast the other
# four are for 1024 rows. (The third table, in bfloat16, has only *out of step*, which
# is 1.0 there, and *teams*.)

# %%
guess = {"both stores": None, "out of step": None}
guess |= {"with ticket": None, "teams": None}


def long_candidates(rows, cols, half):
    def build():
        import torch

        kind = torch.bfloat16 if half else torch.float32

        def make():
            x = torch.randn(rows, cols, device="cuda").to(kind)
            out = torch.empty_like(x)
            return x, out, as_words(x), as_words(out)

        def many(how, in_step=False, ticket=False):
            return lambda x, out, *words: launch_many(
                many_kernel, how, in_step, ticket, *words
            )

        def teams(x, out, *words):
            launch_teams(TEAM, SMS * TEAM[3], *words)

        sets = sets_of((rows, cols, half), 2, make)
        calls = {"copy": lambda x, out, *_: out.copy_(x)}
        if not half:
            calls["registers"] = many((10, 0, *LONG[False][2:]), in_step=True)
            calls["both stores"] = many(LONG[False], in_step=True)
        calls["out of step"] = many(LONG[half])
        if not half:
            calls["with ticket"] = many(LONG[False], ticket=True)
        if LONG[half][1]:
            calls["teams"] = teams

        x, out, *_ = sets[0]
        aim, near = torch.softmax(x, 1), 1e-2 if half else 1e-5
        for name, call in calls.items():
            call(*sets[0])
            off = (out - aim).float().norm() / aim.float().norm()
            assert name == "copy" or off < near, name
        return {name: taking_turns(sets, call) for name, call in calls.items()}

    return build


long_rows = {
    (rows, half): bench.compare(
        f"long rows, {name_of(rows, cols, half)}",
        long_candidates(rows, cols, half),
        baseline="out of step" if half else "registers",
        bytes=2 * rows * cols * (2 if half else 4),
        ceiling="copy",
        guess=guess,
        graph=is_short((rows, cols, half), 2),
    )
    for rows, cols, half in (
        (1024, 131072, False),
        (128, 262144, False),
        (128, 262144, True),
    )
    if fits(rows, cols, half)
}
long_rows.get((1024, False))

# %%
long_rows.get((128, False))

# %%
long_rows.get((128, True))

# %% [markdown] tags=["solution"]
# For 1024 rows, two microseconds per wave was a fair guess on the H200: *registers*
# loses 57 µs in 25 waves, *both stores* 22 µs in 13, *out of step* 12 µs in all. For
# 128 rows there are six, three and three waves, and two in bfloat16. The ticket takes
# one more trip to L2 before a block knows what to load. If blocks are staggered, other
# blocks can fill most of that time.
#
# Teams have no waves. In its first three iterations a block stores nothing, and in its
# last three it loads nothing, but in between there is hardly any waiting. The price is
# paid in every iteration: registers are moved, and there is a barrier for every 16 KB.
# So teams win where there would be few waves, on the H200 by 14 % with two waves and by
# 2 % with three. With 1024 rows they are slower.

# %% tags=["solution"]
for (_, half), table in long_rows.items():
    if half:
        table.expect("teams", at_least=1.05)
    else:
        table.expect("out of step", at_least=1.05)
        table.expect("out of step", ceiling=0.85)

# %% tags=["given"]
def long_kernels():
    """Return the kernels for long rows that have run, and their threads."""
    found = {}
    for half, kind in ((False, "float32"), (True, "bfloat16")):
        for back, (make, how) in {
            "forward": (many_kernel, LONG),
            "backward": (many_backward, LONG_BACKWARD),
        }.items():
            *parts, _ = how[half]
            kernel = kernel_for(make, half, *parts, False)
            found[f"{kind}, {back}"] = kernel, parts[2]
        kernel = kernel_for(team_kernel, half, *TEAM[:3])
        found[f"{kind}, teams"] = kernel, TEAM[1]
    return found


# %% [markdown]
# ## Measure: backward, twice seven shapes
#
# Three arrays move here. The ceiling is a copy that moves the same number of bytes.
# PyTorch's own backward pass of softmax is `torch._softmax_backward_data`;
# `torch.compile` compiles the formula.

# %%
guess = {"family": None}


def backward_candidates(rows, cols, half):
    def build():
        import torch

        kind = torch.bfloat16 if half else torch.float32

        def make():
            y = torch.randn(rows, cols, device="cuda").softmax(1).to(kind)
            dy = torch.randn(rows, cols, device="cuda").to(kind)
            dx = torch.empty_like(y)
            half_of_it = 3 * rows * cols // 2  # copied: as many bytes move
            source = torch.empty(half_of_it, device="cuda", dtype=kind)
            target = torch.empty_like(source)
            return y, dy, dx, source, target, *map(as_words, (y, dy, dx))

        def formula(y, dy):
            product = y.float() * dy.float()
            inner = dy.float() - product.sum(1, keepdim=True)
            return (y.float() * inner).to(y.dtype)

        sets = sets_of((rows, cols, half), 3, make)
        y, dy, dx, _, _, *words = sets[0]
        backward(*words)
        aim = torch._softmax_backward_data(dy, y, 1, kind)
        near = 2e-2 if half else 1e-4
        assert (dx - aim).float().norm() < near * aim.float().norm()
        theirs = torch._softmax_backward_data
        calls = {
            "copy": lambda y, dy, dx, source, target, *_: target.copy_(source),
            "PyTorch": lambda y, dy, *_: theirs(dy, y, 1, kind),
            "family": lambda *args: backward(*args[5:]),
        }
        for name, call in tuned("backward", formula, y, dy):
            calls[name] = lambda y, dy, *_, call=call: call(y, dy)
        return {name: taking_turns(sets, call) for name, call in calls.items()}

    return build


gradients_of = {
    case: bench.compare(
        f"backward, {name_of(*case)}",
        backward_candidates(*case),
        baseline="PyTorch",
        bytes=3 * case[0] * case[1] * (2 if case[2] else 4),
        ceiling="copy",
        guess=guess,
        graph=is_short(case, 3),
    )
    for case in cases
    if fits(*case)
}
overview(gradients_of, "PyTorch")

# %% tags=["solution"]
for (_, cols, _), table in gradients_of.items():
    table.expect("family", at_least=1.2)
    table.expect("family", ceiling=0.9 if cols <= 32768 else 0.8)

# %% [markdown]
# The next table shows the compiled kernels for long rows. Their *shared memory* holds a
# part of each piece. *Local memory* would mean that some values did not fit in
# registers.

# %%
bench.compiled("long rows", long_kernels)

# %% [markdown] tags=["solution"]
# The backward pass has no exponential and no maximum, and for 1024 long rows the family
# comes closer to the copy than in the forward pass. PyTorch first multiplies `dy` by
# `y` in a separate kernel. On the H200, `torch.compile` is faster than the family, by
# up to 5 %, in the ten cases whose rows one block can hold, but much slower on the long
# rows. In seven of the ten cases the family is faster than the copy, which moves as
# many bytes but writes more of them.

# %% [markdown]
# ## The same in Triton
#
# In Triton (chapter 5) a program handles a row as if it were one value, and the
# compiler distributes the row over registers: exercise 4 takes six lines. The program
# loads all columns at once, padded to a power of 2, so it reads each row only once, as
# long as the row fits in registers.

# %%
has_triton = weft.device.find().capability >= (8, 0)

if weft.on_gpu("Triton's machine code needs one") and has_triton:
    import triton
    import triton.language as tl

    @triton.jit
    def triton_softmax(x, out, cols, WIDTH: tl.constexpr):
        col = tl.arange(0, WIDTH)
        at = tl.program_id(0).to(tl.int64) * cols + col
        v = tl.load(x + at, mask=col < cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + at, e / tl.sum(e, 0), mask=col < cols)

# %% [markdown]
# How fast is the Triton kernel on rows of 1024, 8192 and 131,072? In the family, these
# are held by a small block, a large block and several blocks.

# %%
guess = {"Triton": None}


def triton_candidates(rows, cols):
    def build():
        import torch

        x = torch.randn(rows, cols, device="cuda")
        out = torch.empty_like(x)
        d_x, d_out = as_words(x), as_words(out)
        candidates = {
            "copy": lambda: out.copy_(x),
            "torch.softmax": lambda: torch.softmax(x, 1),
            "family": lambda: softmax(d_x, d_out),
        }
        if has_triton:
            width = triton.next_power_of_2(cols)
            warps = min(max(width // 1024, 4), 32)
            candidates["Triton"] = lambda: triton_softmax[(rows,)](
                x, out, cols, WIDTH=width, num_warps=warps
            )
            candidates["Triton"]()
            aim = torch.softmax(x, 1)
            assert (out - aim).norm() < 1e-5 * aim.norm()
        return candidates

    return build


in_triton = {
    cols: bench.compare(
        f"Triton, {rows} x {cols} float32",
        triton_candidates(rows, cols),
        baseline="torch.softmax",
        bytes=2 * 4 * rows * cols,
        ceiling="copy",
        guess=guess,
    )
    for rows, cols in ((32768, 1024), (8192, 8192), (1024, 131072))
}
in_triton[1024]

# %%
in_triton[8192]

# %%
in_triton[131072]

# %% tags=["solution"]
for table in in_triton.values():
    table.expect("family", at_least=1.0)

# %% [markdown] tags=["solution"]
# For the longest rows, the program has more values than registers: 131,072 values for
# 1024 threads are 128 per thread, but a thread can have only 64 registers. Compare
# Triton's result for these rows with its other two.

# %% [markdown]
# ## If you want more
#
# - Write `log_softmax`, $x - m - \log s$. Which of the passes change? And how many
#   bytes move in the cross-entropy loss, which needs only one element of each row?
# - A mask or a scale that is applied as the scores are read takes no extra pass through
#   memory. Add both.
# - Process rows of 131,072 in pieces of 32 KB, or with five blocks on an SM (`LONG`).
#   Predict first whether this is faster, and why.
# - Write teams for the backward pass, with four fours of `y` and four of `dy` per
#   thread. In which of the four cases with long rows will they win?
# - Where a row fits into the shared memory of a **cluster** (chapter 8), its blocks can
#   exchange their pairs there instead of through L2. What would that save?
# - Write a softmax of columns, `torch.softmax(x, 0)`. Which elements should each thread
#   hold, so that requests are coalesced?
#
# ## What you learned
#
# 1. Subtract the maximum first. The pairs (maximum, sum) of pieces merge in any
#    order, so one pass finds both.
# 2. A softmax is a copy with some arithmetic: read once, keep the row in registers,
#    write once.
# 3. A row is held by a warp, a block or several blocks, depending on its length. The
#    idea is the same, and only the place where pairs are merged differs.
# 4. Blocks can exchange words that are stored and loaded as a whole, if all of these
#    blocks are on the GPU, or soon will be.
# 5. The time in which a block neither loads nor stores has to be filled: by the other
#    blocks of its SM, or by its own next rows, if it is persistent and looks later.

# %%
quiz()
