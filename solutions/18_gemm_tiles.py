# %% [markdown]
# # 18 · GEMM in tiles
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/18_gemm_tiles.ipynb)
#
# **When you are through, you can**
#
# - write SGEMM for any m, n and k, with alpha and beta, as BLAS defines it;
# - say by hand, for each rung of a ladder, how often the SM has to serve a warp, how
#   many instructions a step takes and how many bytes move, and which sets the time;
# - stage tiles in shared memory, with two barriers, and say why one is not enough;
# - let tiles hang over the edge of a matrix without a wrong number or a missing
#   barrier;
# - read a transposed operand so that loads stay coalesced.
#
# **You need** about 100 minutes. No GPU: the exercises run in the simulator, and the
# measurements then show the rows of the reference GPU. With a GPU: compute
# capability 7.5 or higher and 1 GB of its memory. A C compiler, for one comparison;
# without it that is left out.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import itertools
import types

import numpy as np
from numba import cuda, float32, uint32

from weft import bench, check, explore, hint, quiz
from weft.c import folder, terminal

weft.lab("18_gemm_tiles")

# %% [markdown]
# ## What is asked
#
# **GEMM** is the *general matrix-matrix* product of BLAS, a standard of 1990 that all
# libraries of linear algebra follow. SGEMM is the one in *single* precision, float32:
#
#     c = alpha * a @ b + beta * c
#
# `a` is (m, k), `b` (k, n) and `c` (m, n). Two scalars come along. `alpha` scales the
# product. `beta` says what becomes of what was in `c`: with 1 the product is added to
# it, with 0 it is replaced. And with 0 nobody looks at it: `c` may be fresh memory with
# NaN in it, and 0 times NaN is NaN. All matrices here are **row-major**: element
# (`row`, `col`) of `c` is at `row * n + col`.
#
# Each of the m × n elements is a sum of k products: **2 m n k** operations, counting a
# multiplication and an addition as two. The definition as a program is three loops.

# %% tags=["given"]
def python_gemm(m, n, k, a, b, c):
    """Write the product of a and b into c; all three flat lists."""
    for row in range(m):
        for col in range(n):
            total = 0.0
            for i in range(k):
                total += a[row * k + i] * b[i * n + col]
            c[row * n + col] = total


# %% [markdown]
# The same in C, twice. In `dot` the innermost loop runs over `i`, as above: a row of
# `a` against a column of `b`. In `rows` the two inner loops are exchanged. The products
# are the same, in the same order for each element; what differs is where the next
# element of `b` lies.

# %% language="c" magic_args="sgemm" tags=["given"]
# void dot(int m, int n, int k, const float *a, const float *b, float *c)
# {
#     for (int row = 0; row < m; row++)
#         for (int col = 0; col < n; col++) {
#             float total = 0;
#             for (int i = 0; i < k; i++)
#                 total += a[row * k + i] * b[i * n + col];
#             c[row * n + col] = total;
#         }
# }
#
# void rows(int m, int n, int k, const float *a, const float *b, float *c)
# {
#     for (int row = 0; row < m; row++) {
#         for (int col = 0; col < n; col++)
#             c[row * n + col] = 0;
#         for (int i = 0; i < k; i++)
#             for (int col = 0; col < n; col++)
#                 c[row * n + col] += a[row * k + i] * b[i * n + col];
#     }
# }

# %%
terminal("gcc -Wall -O3 -march=native -fPIC -shared sgemm.c -o libsgemm.so")


def in_c(name):
    """Return a function of the library as one of (m, n, k, a, b, c)."""
    function = getattr(ctypes.CDLL(str(folder() / "libsgemm.so")), name)
    matrix = np.ctypeslib.ndpointer(np.float32, ndim=2, flags="C_CONTIGUOUS")
    function.argtypes = [ctypes.c_int] * 3 + [matrix] * 3
    function.restype = None
    return function


has_c = (folder() / "libsgemm.so").exists()

# %% [markdown]
# How many operations a second does each reach, all on one core? Python on matrices of
# 96 × 96, C on 512 × 512; the rate is what is comparable. The last row is PyTorch's
# product on the CPU, by a BLAS. A core runs at about 3 billion cycles a second. Guess
# first: how many times as fast as Python is `dot`, how many times is `rows`?

# %%
if weft.GPU:
    import torch

    torch.set_num_threads(1)  # on the CPU, like the others


def on_the_cpu(n, python=False):
    """Return what there is to time on n x n matrices."""
    rng = np.random.default_rng(18)
    p, q = (rng.random((n, n), np.float32) for _ in range(2))
    r = np.empty_like(p)
    if python:
        flat = [z.ravel().tolist() for z in (p, q, r)]
        return {"Python": lambda: python_gemm(n, n, n, *flat)}
    todo = {}
    for name in ("dot", "rows") if has_c else ():
        call = in_c(name)
        todo[f"C, {name}"] = lambda call=call: call(n, n, n, p, q, r)
        todo[f"C, {name}"]()
        assert np.allclose(r, p @ q, rtol=1e-3)
    x, y, z = map(torch.from_numpy, (p, q, r))
    return todo | {"a library": lambda: torch.mm(x, y, out=z)}


slow = bench.compare(
    "96 x 96 x 96 on one core",
    lambda: on_the_cpu(96, python=True),
    flops=2 * 96**3,
    host=True,
)
slow

# %%
cpu = bench.compare(
    "512 x 512 x 512 on one core",
    lambda: on_the_cpu(512),
    flops=2 * 512**3,
    host=True,
)
cpu

# %% [markdown] tags=["solution"]
# `dot` walks down a column of `b`: from one product to the next it is 2 KB further on,
# so each step touches another cache line and uses 4 bytes of it. Its additions form a
# chain besides, each waiting for the last. `rows` walks along rows of `b` and `c`:
# neighbours in memory, no chain, and the compiler does 8 or 16 at a time. **The same
# arithmetic in another order**: keep an eye on that. The library, on the same core, is
# faster by another factor. It does what this chapter and the next are about: it works
# in tiles.

# %% [markdown]
# ## By hand: what could a GPU do?
#
# All that follows is about 4096 × 4096 × 4096 float32. For an H200:
#
# - **work**: 2 × 4096³ = 137 GFLOP. At 67 TFLOP/s, the arithmetic peak: 2.05 ms;
# - **bytes**: three matrices of 67 MB, each moved once: 201 MB. At 4.8 TB/s: 0.04 ms.
#
# So there is time to move everything fifty times over. A product of this size has no
# excuse: it ought to run at the peak. How near does the library come, and how near do
# you?
#
# Count in steps. A **step** is one turn of the innermost loop for one warp: 32
# multiply-adds, 64 operations. The product has 4096³ / 32 = 2.1 billion of them. Three
# things happen in a step, and the SM has a rate for each:
#
# - the arithmetic: it can do 128 multiply-adds a cycle, four warps' worth;
# - instructions of any kind: it issues four a cycle, each for a warp;
# - loads: its L1 cache and its shared memory, which are one piece of hardware, make
#   one **pass** a cycle. A request of a warp takes one pass if everything it wants
#   lies in one line of 128 bytes (in shared memory: in different banks), and more if
#   not.
#
# Whichever takes longest in a step sets the time.

# %% tags=["given"]
SMS, CLOCK = 132, 1.98e9  # an H200; the clock at its highest


def bound(passes, instructions, n=4096):
    """Return the least ms of n^3 multiply-adds, from what a step takes."""
    cycles = max(passes, instructions / 4)
    return n**3 / 32 * cycles / SMS / CLOCK * 1e3


def show_bound(name, passes, instructions):
    ms = bound(passes, instructions)
    print(
        f"{name:12} {passes:6.2f} passes, {instructions:6.2f} instructions "
        f"a step: {ms:6.1f} ms, {2 * 4096**3 / ms / 1e9:5.2f} TFLOP/s"
    )


# %%
show_bound("the ideal", 0, 1)

# %% [markdown]
# ## 1 · The definition
#
# A thread for each element of `c`. It runs along a row of `a` and down a column of
# `b`, sums up, and writes `alpha` times the sum plus `beta` times what was there. The
# first line takes `row` from x and `col` from y, just as *row* comes before *column*.
#
# ```python
# gemm_naive(alpha, a, b, beta, c)    # (m, k), (k, n), in place (m, n)  float32
# ```
#
# Sum into a local variable that begins as `float32(0)`. Where `beta` is 0, do not read
# `c`. The scalars are float32 as well: a Python `1.0` would be a float64 to Numba, and
# so would be all that meets it, which is why the launches below say `np.float32(1)`.
#
# The sizes of the check are m × n × k × beta, where 2 stands for a beta of -2.
#
# Stuck? `hint("gemm_naive")`; there are three hints.

# %%
@cuda.jit
def gemm_naive(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, (m, n); a is (m, k)."""
    row, col = cuda.grid(2)

    # about 8 lines
    # BEGIN SOLUTION
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION


# %% tags=["given"]
def operands(rng, m, n, k, beta):
    """Return alpha, a, b and beta; 2 stands for -2."""
    a = rng.random((m, k), np.float32) - np.float32(0.3)
    b = rng.random((k, n), np.float32) - np.float32(0.2)
    return np.float32(1.5), a, b, np.float32(beta if beta < 2 else -beta)


def before(alpha, a, b, beta):
    """Return what is in c at first: NaN if beta is 0, as nobody may look."""
    c = np.full((len(a), b.shape[1]), np.nan, np.float32)
    if beta:
        c[:] = np.arange(c.size).reshape(c.shape) % 7 - 3
    return c


def gemm(alpha, a, b, beta):
    """Return what should be in c afterwards."""
    product = alpha * (a @ b)
    return product + beta * before(alpha, a, b, beta) if beta else product


# %%
check(
    gemm_naive,
    spec=gemm,
    inputs=operands,
    out=before,
    sizes=[(32, 8, 4, 1), (1, 1, 1, 0), (37, 5, 11, 2), (9, 21, 6, 0)],
    launch=lambda m, n, k, beta: ((-(-m // 32), -(-n // 8)), (32, 8)),
    full=(1000, 129, 127, 2),
    limits={"loads": 13, "float64": 0},
)

# %% [markdown] tags=["solution"]
# The branch on `beta` is not for speed. `0 * c` would be NaN wherever `c` is NaN, and
# memory that nobody has written may hold anything. The BLAS standard says that `c` need
# not be set on entry when `beta` is 0, and cuBLAS says so too.

# %% [markdown]
# ## 2 · Which index along x?
#
# Launched in blocks of 32 × 8, a warp of `gemm_naive` has 32 values of `row` and one
# value of `col`. Have a look at what it asks for, on a small product; the costliest
# access comes first.

# %%
rng = np.random.default_rng(0)
small = operands(rng, 32, 8, 32, 1)
explore(gemm_naive)[1, (32, 8)](*small, before(*small))

# %% [markdown]
# So in each step the load of `a` wants 32 rows: 32 lines, 32 passes. The load of `b` is
# one element for all lanes, 1 pass. The 33 passes are what a step costs, even if
# everything is in the cache. And the loop that Numba makes has 36.5 instructions per
# step, says its machine code (four steps make one turn).

# %%
show_bound("naive", 32 + 1, 36.5)

# %% [markdown]
# Now turn it round: neighbouring lanes should have neighbouring *columns*. You could
# exchange `row` and `col` in one line. Do it in a way that will serve you for the next
# two chapters: launch blocks of one dimension, and decide yourself what a thread's
# number means. The block has 256 threads and covers **8 rows and 32 columns** of `c`;
# `blockIdx.y` counts such pieces downwards, `blockIdx.x` to the right. The check allows
# four sectors per request.
#
# ```python
# gemm_coalesced(alpha, a, b, beta, c)    # blocks of 256 threads in x
# ```
#
# Stuck? `hint("gemm_coalesced")`.

# %%
@cuda.jit
def gemm_coalesced(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, in blocks of 8 x 32."""
    t = cuda.threadIdx.x  # 0 to 255

    # about 10 lines, most of them from exercise 1
    # BEGIN SOLUTION
    row = cuda.blockIdx.y * 8 + t // 32
    col = cuda.blockIdx.x * 32 + t % 32

    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]

        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION


# %%
check(
    gemm_coalesced,
    spec=gemm,
    inputs=operands,
    out=before,
    sizes=[(8, 32, 4, 1), (1, 1, 1, 0), (5, 37, 11, 2), (12, 64, 8, 1)],
    launch=lambda m, n, k, beta: ((-(-n // 32), -(-m // 8)), 256),
    full=(129, 1000, 127, 0),
    limits={"sectors": 4, "loads": 17, "float64": 0},
)

# %% [markdown] tags=["solution"]
# `t % 32` is the lane, so the lane is the column: 32 neighbours of `b` and of `c`, and
# one element of `a` for all. `t // 32` is the warp, and a warp has one row.

# %% [markdown]
# A step takes 1 + 1 passes now, and by passes alone it would be 16 times as fast. But
# the instructions are the same 36.5. Before you measure, here is a rung that you need
# not write: indices that cannot be negative and have 32 bits. Numba wraps a negative
# index round, as Python does, so it tests every index that might be negative, and it
# computes addresses in 64 bits. With `uint32` for all three indices, the loop's too,
# the tests go, and most of the address arithmetic moves out of the loop: 7.75
# instructions per step.

# %% tags=["given"]
@cuda.jit
def gemm_unsigned(alpha, a, b, beta, c):
    """gemm_coalesced, with indices that cannot be negative."""
    warp, lane = divmod(cuda.threadIdx.x, 32)
    r = uint32(8 * cuda.blockIdx.y + warp)
    q = uint32(32 * cuda.blockIdx.x + lane)
    k = uint32(a.shape[1])

    if r < c.shape[0] and q < c.shape[1]:
        acc, i = float32(0), uint32(0)
        while i < k:
            acc += a[r, i] * b[i, q]
            i += uint32(1)

        acc *= alpha
        if beta != 0:
            acc += beta * c[r, q]
        c[r, q] = acc


# %%
show_bound("naive", 32 + 1, 36.5)
show_bound("coalesced", 1 + 1, 36.5)
show_bound("unsigned", 1 + 1, 7.75)

# %% [markdown]
# The same kernel in CUDA C++ for comparison, and cuBLAS, which PyTorch calls, in true
# float32: TF32, which rounds the inputs to 10 bits of mantissa so that tensor cores can
# be used, is off. Write down how fast each will be, beside cuBLAS (1.0). The bounds
# above help; so does 67 TFLOP/s for the peak.

# %% tags=["given"]
CUDA_CPP = """
extern "C" __global__
void direct(float alpha, const float* a, const float* b, float beta, float* c,
            int m, int n, int k)
{
    int row = blockIdx.y * 8 + threadIdx.x / 32;
    int col = blockIdx.x * 32 + threadIdx.x % 32;

    if (row < m && col < n) {
        float total = 0;
        for (int i = 0; i < k; ++i)
            total += a[row * k + i] * b[i * n + col];

        total *= alpha;
        if (beta != 0)
            total += beta * c[row * n + col];
        c[row * n + col] = total;
    }
}

extern "C" __global__
void tiled(float alpha, const float* a, const float* b, float beta, float* c,
           int m, int n, int k)
{
    __shared__ float ta[32][32], tb[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float total = 0;

    for (int start = 0; start < k; start += 32) {
        int i = start + tx, j = start + ty;
        ta[ty][tx] = row < m && i < k ? a[row * k + i] : 0.0f;
        tb[ty][tx] = j < k && col < n ? b[j * n + col] : 0.0f;
        __syncthreads();

        for (int l = 0; l < 32; ++l)
            total += ta[ty][l] * tb[l][tx];
        __syncthreads();
    }

    if (row < m && col < n) {
        total *= alpha;
        if (beta != 0)
            total += beta * c[row * n + col];
        c[row * n + col] = total;
    }
}
"""

# %%
N = 4096
one, zero = np.float32(1), np.float32(0)

if weft.on_gpu("the matrices live in its memory"):
    import cuda.core as core

    if not hasattr(core, "Program"):  # older versions keep it elsewhere
        import cuda.core.experimental as core

    torch.set_float32_matmul_precision("highest")  # float32, no TF32
    torch.manual_seed(18)
    a, b = (torch.rand(N, N, device="cuda") for _ in range(2))
    c = torch.empty(N, N, device="cuda")
    d_a, d_b, d_c = (cuda.as_cuda_array(x) for x in (a, b, c))

    core.Device().set_current()
    options = core.ProgramOptions(arch=weft.device.find().sm)
    program = core.Program(CUDA_CPP, code_type="c++", options=options)
    compiled = program.compile("cubin")


def in_cpp(name, grid, block):
    """Return a function that launches one of the C++ kernels."""
    kernel = compiled.get_kernel(name)
    config = core.LaunchConfig(grid=grid, block=block)
    stream, sizes = core.Device().default_stream, [np.int32(N)] * 3
    given = one, a.data_ptr(), b.data_ptr(), zero, c.data_ptr(), *sizes
    return lambda: core.launch(stream, config, kernel, *given)


# %%
guess = {"naive": None, "coalesced": None, "unsigned": None, "C++": None}

on_rows, on_cols = ((N // 32, N // 8), (32, 8)), ((N // 32, N // 8), 256)


def direct_ones():
    given = one, d_a, d_b, zero, d_c
    return {
        "cuBLAS": lambda: torch.mm(a, b, out=c),
        "naive": lambda: gemm_naive[on_rows](*given),
        "coalesced": lambda: gemm_coalesced[on_cols](*given),
        "unsigned": lambda: gemm_unsigned[on_cols](*given),
        "C++": in_cpp("direct", *on_cols),
    }


direct = bench.compare(
    "4096 x 4096 x 4096, direct",
    direct_ones,
    baseline="cuBLAS",
    flops=2 * N**3,
    guess=guess,
)
direct

# %% tags=["solution"]
direct.expect("coalesced", at_least=1.8, times="naive")
direct.expect("unsigned", at_least=2.3, times="coalesced")
direct.expect("cuBLAS", at_least=5, times="unsigned")

# %% [markdown] tags=["solution"]
# The first bound is met almost exactly: `naive` is limited by its passes and by nothing
# else. It waits for a unit that serves its lanes one by one, from a cache that has
# nearly everything. `coalesced` has left that behind, and its 36.5 instructions are in
# the way;
# most of them are integer arithmetic, of which an SM does half as much in a cycle as of
# additions in float32, so it stays away from its bound. `unsigned` computes the same
# sums with a fifth of the instructions, and C++ is about there too: its indices are
# `int`, and it need not test them.
#
# Neither comes up to its bound. Where a request misses the L1 cache a warp waits, and
# how long a warp can go on before it waits is up to the order of its instructions. Here
# is the kernel once more, with another ending, which adds `beta * c` in one expression:

# %% tags=["solution"]
@cuda.jit
def gemm_two_rounds(alpha, a, b, beta, c):
    """gemm_unsigned, but for the last lines."""
    warp, lane = divmod(cuda.threadIdx.x, 32)
    r = uint32(8 * cuda.blockIdx.y + warp)
    q = uint32(32 * cuda.blockIdx.x + lane)
    k = uint32(a.shape[1])

    if r < c.shape[0] and q < c.shape[1]:
        acc, i = float32(0), uint32(0)
        while i < k:
            acc += a[r, i] * b[i, q]
            i += uint32(1)

        old = beta * c[r, q] if beta != 0 else float32(0)
        c[r, q] = alpha * acc + old


rounds = bench.compare(
    "4096 x 4096 x 4096, another ending",
    lambda: {
        "unsigned": lambda: gemm_unsigned[on_cols](one, d_a, d_b, zero, d_c),
        "another ending": lambda: gemm_two_rounds[on_cols](
            one, d_a, d_b, zero, d_c
        ),
    },
    baseline="unsigned",
    flops=2 * N**3,
)
rounds

# %% [markdown] tags=["solution"]
# What is timed is the loop, and the loop is the same in Python. In the machine code a
# turn of it is four steps. In `unsigned` all eight loads stand first, and then four
# multiply-adds: one wait a turn. With the other ending the compiler keeps its registers
# differently, and puts the first multiply-add before the last three loads: two waits a
# turn. So it was where this was measured; another version of the compiler may choose
# otherwise. What it says about the kernel will remain: it waits, and it lives on the
# loads that are in flight.

# %% [markdown]
# ## 3 · Bytes, by hand
#
# Two loads for each multiply-add are 8 bytes for 2 operations: **0.25 FLOP per byte**,
# and 550 GB in all. From an H200's memory, at 4.2 TB/s, that would take 131 ms.
# `unsigned` is several times faster than that, so most of it comes from the L1 cache:
# the warps of a block want the same rows of `b`, and neighbours in the rows of `a`.
#
# A cache is a guess about what will be wanted again. You need not guess. Give a block a
# square of `tile` × `tile` elements of `c`. It needs `tile` whole rows of `a` and
# `tile` whole columns of `b`. If it brings each of them in once, how many **bytes** do
# all blocks together load? `tile` need not divide m or n. The blocks at the edge load
# only what is there.
#
# Write the formula, without a loop. A plain Python function; `-(-m // tile)` rounds up.
#
# ```python
# traffic(m, n, k, tile)    # four integers -> bytes of a and b loaded
# ```
#
# Stuck? `hint("traffic")`.

# %%
def traffic(m, n, k, tile):
    """Return the bytes of a and b that blocks of tile x tile elements load."""
    # about 3 lines
    # BEGIN SOLUTION
    down, across = -(-m // tile), -(-n // tile)  # blocks
    return 4 * (across * m * k + down * k * n)
    # END SOLUTION


# %% tags=["given"]
def counted(m, n, k, tile):
    """Return the bytes, block by block."""
    a, b = np.empty((m, k), np.float32), np.empty((k, n), np.float32)
    return sum(
        a[row : row + tile].nbytes + b[:, col : col + tile].nbytes
        for row in range(0, m, tile)
        for col in range(0, n, tile)
    )


def why(m, n, k, tile, answer):
    """Say what an answer that is wrong has counted."""
    down, across = -(-m // tile), -(-n // tile)
    if 4 * answer == counted(m, n, k, tile):
        return "Those are elements. How many bytes has one?"
    if answer == 4 * (m * k + k * n):
        return "That is each element once. How many blocks want a row of a?"
    if answer == 4 * (down * m * k + across * k * n):
        return (
            "The blocks that want one row of a lie side by side: which of the "
            "two matrices says how many these are?"
        )
    if answer == 4 * (n // tile * m * k + m // tile * k * n):
        return "The last block may hang over the edge, but it is there."
    if answer == 4 * down * across * tile * 2 * k:
        return "At the edge a block has fewer rows, or fewer columns, to load."
    return (
        "Take one row of a: which blocks want it, and how many are they? Then "
        "the same for one column of b."
    )


# %%
check(
    traffic,
    spec=counted,
    inputs=[
        (64, 32, 10, 16),
        (100, 40, 7, 16),
        (33, 65, 3, 32),
        (5, 9, 2, 1),
    ],
    because=why,
)

# %% [markdown] tags=["solution"]
# Each row of `a` is loaded once for each block across, each column of `b` once for
# each block down. With `tile` = 1 the formula counts what the direct kernels ask for:
# two elements for each multiply-add. In general, and away from the edges, 2 m n k
# operations over 4 (2 m n k / tile) bytes: **tile / 4 FLOP per byte**.

# %%
for tile in (1, 16, 32, 64, 128):
    moved = traffic(N, N, N, tile)
    if moved is None:
        print("Write `traffic` first.")
        break
    print(
        f"tile {tile:3}: {moved / 1e9:7.2f} GB, "
        f"{2 * N**3 / moved:5.2f} FLOP per byte, "
        f"{moved / 4.2e12 * 1e3:7.2f} ms at the 4.2 TB/s of a copy"
    )

# %% [markdown] tags=["solution"]
# With tiles of 16, an H200's memory would need 8 ms, less than any kernel so far has
# taken; with tiles of 128 half of what the arithmetic needs. So bytes can be taken care
# of. (This is what the blocks ask for. A good part of it the L2 cache answers.)

# %% [markdown]
# ## 4 · Tiles in shared memory
#
# A block of 16 × 16 threads computes a tile of `c`, one element per thread. It goes
# along k in strides of 16. At each stop
#
# 1. every thread loads one element of `a` and one of `b` into shared memory, so that
#    the block has a tile of each;
# 2. all wait;
# 3. every thread runs along a row of the one tile and down a column of the other, and
#    adds 16 products to its sum;
# 4. all wait again: no thread may load the next tiles while another still reads these.
#
# In this exercise 16 divides m, n and k. The check counts a thread's loads from global
# memory, two for each stop, and a block's barriers, likewise two. It allows neither
# scattered requests nor bank conflicts.
#
# ```python
# gemm_tiled(alpha, a, b, beta, c)    # blocks of TILE x TILE threads
# ```
#
# Stuck? `hint("gemm_tiled")`.

# %% tags=["given"]
TILE = 16


def launch_tiles(m, n, k, beta):
    """Return the grid and the block for a c of (m, n)."""
    return (-(-n // TILE), -(-m // TILE)), (TILE, TILE)


# %%
@cuda.jit
def gemm_tiled(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c; TILE divides all sizes."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    # about 14 lines
    # BEGIN SOLUTION
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        ta[ty, tx] = a[row, start + tx]
        tb[ty, tx] = b[start + ty, col]
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    total *= alpha
    if beta != 0:
        total += beta * c[row, col]
    c[row, col] = total
    # END SOLUTION


# %%
check(
    gemm_tiled,
    spec=gemm,
    inputs=operands,
    out=before,
    sizes=[(16, 16, 16, 1), (32, 16, 32, 0), (16, 32, 32, 2)],
    launch=launch_tiles,
    full=(1024, 512, 768, 0),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 5, "float64": 0}
    | {"barriers": 5},
)

# %% [markdown] tags=["solution"]
# Both tiles are loaded along rows: `tx` is part of the last index both times. When they
# are read, `ta[ty, i]` is one word for all lanes of a row of threads, and `tb[i, tx]`
# are 16 neighbours.
#
# The first barrier keeps a thread from reading what is not there yet, the second from
# overwriting what is still wanted. The loop repeats: what comes *after* the products
# is the next load.

# %% [markdown]
# ## 5 · Any m, n and k
#
# 16 rarely divides everything. Three things can hang over an edge: the rows of `c`, its
# columns, and the last tiles along k. A thread beyond the edge of `c` has nothing to
# write. But it has tiles to help load, and barriers to come to: if it returns at the
# top, its block waits for it, or reads what it should have loaded.
#
# What goes into a tile where the matrix has ended? Something that changes no sum.
#
# ```python
# gemm_ragged(alpha, a, b, beta, c)    # any m, n, k; TILE x TILE threads
# ```
#
# Begin with a copy of `gemm_tiled`. Write `TILE` wherever you mean it, and not 16: the
# measurement below compiles the kernel once more, with 32, and the check runs it with 8
# and 32 as well. Work out inside the kernel what follows from it, as `TILE * TILE`: a
# name that is computed before keeps its old value.
#
# Stuck? `hint("gemm_ragged")`.

# %%
@cuda.jit
def gemm_ragged(alpha, a, b, beta, c):
    """Write alpha * a @ b + beta * c into c, of any sizes, in tiles."""
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]

    # about 16 lines
    # BEGIN SOLUTION
    total = float32(0)
    for start in range(0, k, TILE):
        i, j = start + tx, start + ty  # column of a, row of b
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[ty, tx] = b[j, col] if j < k and col < n else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION


# %%
check(
    gemm_ragged,
    spec=gemm,
    inputs=operands,
    out=before,
    sizes=[(16, 16, 16, 1), (1, 1, 1, 0), (17, 20, 18, 2), (5, 24, 24, 1)],
    launch=launch_tiles,
    full=(1000, 129, 127, 2),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 5, "float64": 0}
    | {"barriers": 5},
    constants=[{"TILE": 8}, {"TILE": 32}],
)

# %% [markdown] tags=["solution"]
# Three guards, and each asks about something else: is there such an element of `a`, of
# `b`, of `c`? `row < m` and `col < n` alone would read beyond the end of a row of `a`,
# which in memory is the next row: wrong numbers rather than an error.
#
# A zero in `ta` would be enough to cancel what is in `tb`, were it not for garbage that
# happens to be NaN or infinite: 0 times either is NaN. So both are filled.

# %% [markdown]
# ## Measure: the ladder so far
#
# By hand again, in passes of the unit that serves both L1 and shared memory. With tiles
# of 16, a stop is 16 steps, in which a warp makes
#
# - two loads from global memory, each of two rows of 16: 2 × 2 passes;
# - two stores into the tiles: 2 passes;
# - 16 loads from `tb`, one pass each;
# - 16 loads from `ta`, neighbours in a row, which the compiler turns into 4 loads of 16
#   bytes per lane. Such a load takes two passes: 8.
#
# That makes 30 for 16 steps. With tiles of 32 it is 2 + 2 + 32 + 16 = 52 for 32 steps.
# The machine code has 5.8 and 4.0 instructions per step, and 3.0 in C++.

# %%
show_bound("unsigned", 1 + 1, 7.75)
show_bound("tiles of 16", 30 / 16, 5.8)
show_bound("tiles of 32", 52 / 32, 4.0)
show_bound("C++, of 32", 52 / 32, 3.0)

# %% [markdown]
# A sixteenth of the bytes, and 6 % fewer passes? Write down what tiles of 16 and
# of 32 will reach, beside cuBLAS. `with_tile` compiles your `gemm_ragged` again with
# another `TILE`.

# %% tags=["given"]
def with_tile(kernel, tile):
    """Return a kernel compiled anew, with another TILE."""
    function = kernel.py_func
    scope = function.__globals__ | {"TILE": tile}
    return cuda.jit(types.FunctionType(function.__code__, scope))


# %%
guess = {"tiles of 16": None, "tiles of 32": None, "C++, tiles of 32": None}


def in_tiles(kernel, tile, x_a, x_b, x_c):
    """Return a function that launches a kernel with tiles of this size."""
    launch = (-(-N // tile), -(-N // tile)), (tile, tile)
    sized = with_tile(kernel, tile)
    return lambda: sized[launch](one, x_a, x_b, zero, x_c)


def rungs():
    kernel, given = gemm_ragged, (d_a, d_b, d_c)
    return direct_ones() | {
        "tiles of 16": in_tiles(kernel, 16, *given),
        "tiles of 32": in_tiles(kernel, 32, *given),
        "C++, tiles of 32": in_cpp("tiled", (N // 32, N // 32), (32, 32)),
    }


ladder = bench.compare(
    "4096 x 4096 x 4096 float32",
    rungs,
    baseline="cuBLAS",
    flops=2 * N**3,
    guess=guess,
)
ladder

# %% tags=["solution"]
ladder.expect("tiles of 16", at_least=1.1, times="unsigned")
ladder.expect("tiles of 32", at_least=1.1, times="unsigned")
ladder.expect("tiles of 16", at_least=4, times="coalesced")
ladder.expect("cuBLAS", at_least=3.5, times="tiles of 32")

# %% [markdown] tags=["solution"]
# If you expected 16 or 32 times as much, you counted bytes. The tile removed what was
# not in the way: the caches had answered most of the direct kernel's requests before.
# What is gained comes from the loads that no longer wait for L2, from fewer passes, and
# from fewer instructions.
#
# Tiles of 32 have fewer passes than tiles of 16, and in Python they are no faster. A
# block of 32 × 32 threads is 32 warps, and an SM holds two of those: while one waits at
# a barrier, only the other is left to work. Of the smaller blocks it holds eight.
#
# What is left is plain in the count. A multiply-add wants two operands, and both come
# from shared memory: three passes for two steps. At that rate the multipliers cannot be
# busy for more than a sixth of the time, however large the tile. The way on is not a
# larger tile but an operand that is used more than once when it has been read: a thread
# that computes several elements of `c`, from registers. That is chapter 19, and the
# rest of the way to cuBLAS.

# %% [markdown] tags=["solution"]
# Is it right, in every shape, at full size? Each of 1, 31, 127, 129 and 1000 for m, n
# and k, 125 products, against float64:

# %% tags=["solution"]
def worst_error(kernel, tile):
    """Return the largest relative error over many shapes, beta 0 and 2."""
    worst = 0.0
    sized = with_tile(kernel, tile)
    sides = 1, 31, 127, 129, 1000
    for m, n, k in itertools.product(sides, repeat=3):
        p = torch.rand(m, k, device="cuda")
        q = torch.rand(k, n, device="cuda")
        for beta in (0, 2):
            r = torch.full((m, n), np.nan if beta == 0 else 1.0, device="cuda")
            want = 1.5 * (p.double() @ q.double())
            want += beta * (r.double() if beta else 0)
            launch = (-(-n // tile), -(-m // tile)), (tile, tile)
            x, y, z = map(cuda.as_cuda_array, (p, q, r))
            sized[launch](np.float32(1.5), x, y, np.float32(beta), z)
            worst = max(worst, ((r - want).norm() / want.norm()).item())
    return worst


if weft.on_gpu("the shapes are too large for the simulator"):
    for tile in (16, 32):
        worst = worst_error(gemm_ragged, tile)
        print(f"tiles of {tile}: relative error {worst:.1e} at most")
        assert worst < 1e-5

    product = torch.mm(a, b)
    in_tiles(gemm_ragged, 32, d_a, d_b, d_c)()
    print(f"the bits of cuBLAS, 4096 cubed: {torch.equal(c, product)}")

# %% [markdown]
# ## 6 · A transposed operand
#
# BLAS calls take two letters more, which say of `a` and of `b` whether it is to be
# taken as it is (N) or transposed (T). Layers of a network store their weights as
# (outputs, inputs) and multiply by the transpose, `x @ w.T`. So let **`b` be (n, k)**
# and compute `alpha * a @ b.T + beta * c`.
#
# `b.T` as a view would do: its element (`i`, `col`) is `b[col, i]`. But then a warp
# that loads a tile goes down a column of memory. The columns of `c` that a block
# computes belong to the rows of `b` from `blockIdx.x * TILE` on. So let thread (`tx`,
# `ty`) load from row `blockIdx.x * TILE + ty`, along that row, and turn the tile over
# **in shared memory**: either when it is stored, or when it is read.
#
# One of the two then goes down a column of the tile, and chapter 13 has the cure:
# rows that are wider than the tile. But which width? Blocks are 16 wide here, so a warp
# has *two* of their rows, `ty` and `ty + 1`. Count the passes of both ways:

# %% tags=["given"]
def passes(words):
    """Return how many passes serve these words of one request."""
    banks = [word % 32 for word in set(words)]
    return max(banks.count(bank) for bank in banks)


# %%
warp = [(tx, ty) for ty in (0, 1) for tx in range(16)]

for width in (16, 17, 20, 24):
    along = passes([width * ty + tx for tx, ty in warp])  # tb[ty, tx]
    down = passes([width * tx + 5 for tx, ty in warp])  # tb[tx, 5]
    turned = passes([width * tx + ty for tx, ty in warp])  # tb[tx, ty]
    print(f"width {width}: stored as it lies {along}, then read down {down};")
    print(f"          stored turned {turned}, then read along 1")

# %% [markdown]
# Try other widths, until you find one for which one of the two ways takes a single
# pass throughout. The check allows no conflict at all. A shared array's shape is
# written in numbers or names of constants: a sum with a name in it, such as `TILE + 1`,
# does not compile for a GPU.
#
# ```python
# gemm_transposed(alpha, a, b, beta, c)    # b is (n, k); TILE x TILE threads
# ```
#
# Stuck? `hint("gemm_transposed")`.

# %%
@cuda.jit
def gemm_transposed(alpha, a, b, beta, c):
    """Write alpha * a @ b.T + beta * c into c; b is (n, k)."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    (m, n), k = c.shape, a.shape[1]

    # about 18 lines, most of them from exercise 5
    # BEGIN SOLUTION
    total = float32(0)
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, 18), float32)
    other = cuda.blockIdx.x * TILE + ty  # row of b

    for start in range(0, k, TILE):
        i = start + tx
        ta[ty, tx] = a[row, i] if row < m and i < k else float32(0)
        tb[tx, ty] = b[other, i] if other < n and i < k else float32(0)
        cuda.syncthreads()

        for i in range(TILE):
            total += ta[ty, i] * tb[i, tx]
        cuda.syncthreads()

    if row < m and col < n:
        total *= alpha
        if beta != 0:
            total += beta * c[row, col]
        c[row, col] = total
    # END SOLUTION


# %%
def with_turned(rng, m, n, k, beta):
    """Return alpha, a, b and beta, where b is (n, k)."""
    alpha, a, b, beta = operands(rng, m, n, k, beta)
    return alpha, a, np.ascontiguousarray(b.T), beta


check(
    gemm_transposed,
    spec=lambda alpha, a, b, beta: gemm(alpha, a, b.T, beta),
    inputs=with_turned,
    out=lambda alpha, a, b, beta: before(alpha, a, b.T, beta),
    sizes=[(16, 16, 16, 1), (1, 1, 1, 0), (17, 20, 18, 2), (5, 24, 24, 1)],
    launch=launch_tiles,
    full=(129, 1000, 127, 0),
    limits={"sectors": 4, "bank_conflicts": 0, "loads": 5, "float64": 0}
    | {"barriers": 5},
)

# %% [markdown] tags=["solution"]
# `other` is a row of `b`, and becomes a column of `c`: it is computed from `blockIdx.x`
# and `ty`, while `col` has `blockIdx.x` and `tx`. After the tile has been turned over,
# nothing differs from exercise 5.
#
# Stored turned over in rows of 18 words, lane (`tx`, `ty`) meets bank
# (18 `tx` + `ty`) mod 32: an even bank for each `tx`, all different, and the odd one
# beside it for the warp's second row. With 17, the usual cure, two lanes meet in one
# bank. For tiles of 32, where a warp is one row, 33 is right.

# %% [markdown]
# ## Measure: three ways to a transpose
#
# Four kernels for `a @ b.T`, with `b` as (4096, 4096): the direct one on the view
# `b.T`; `gemm_ragged` on the view; your `gemm_transposed`; and `gemm_ragged` on a `b`
# that needs no transposing, for comparison. Count first: how many passes does each
# request for the view take, and how many such requests are there in 16 steps? How
# fast will they be beside cuBLAS?

# %%
guess = {"direct, on the view": None, "tiles, on the view": None, "yours": None}


def turned_ones():
    w = b.t().contiguous()  # (n, k): the weights of a layer, say
    d_w, view = cuda.as_cuda_array(w), cuda.as_cuda_array(w.t())
    tiles = (N // TILE, N // TILE), (TILE, TILE)
    return {
        "cuBLAS": lambda: torch.mm(a, w.t(), out=c),
        "direct, on the view": lambda: gemm_unsigned[on_cols](
            one, d_a, view, zero, d_c
        ),
        "tiles, on the view": lambda: gemm_ragged[tiles](
            one, d_a, view, zero, d_c
        ),
        "yours": lambda: gemm_transposed[tiles](one, d_a, d_w, zero, d_c),
        "tiles, not transposed": lambda: gemm_ragged[tiles](
            one, d_a, d_b, zero, d_c
        ),
    }


turned = bench.compare(
    "4096 x 4096 x 4096, b transposed",
    turned_ones,
    baseline="cuBLAS",
    flops=2 * N**3,
    guess=guess,
)
turned

# %% tags=["solution"]
turned.expect("yours", at_least=5, times="direct, on the view")
turned.expect("yours", at_least=1.1, times="tiles, on the view")
turned.expect("yours", at_least=0.75, times="tiles, not transposed")

# %% [markdown] tags=["solution"]
# On the view, the load of `b` in the direct kernel touches 32 lines in each step: it is
# the naive kernel again. The tiled kernel makes that load once in 16 steps, where it
# costs 16 passes instead of 2: 44 instead of 30, and so it is some way behind, not
# sixteen times. A tile forgives. Read along its rows and turned over in shared memory,
# the transposed operand costs nothing.

# %% [markdown]
# ## If you want more
#
# - The other operand: `a` as (k, m), for `a.T @ b`. Which way do the lanes go now, and
#   is a padding needed at all?
# - Take the padding away from `gemm_transposed`. Count the passes of a stop, predict
#   its time from that, then measure.
# - One barrier at each stop is enough if there are two pairs of tiles, used in turns.
#   Say why, then write it, then measure. What does the second pair cost?
# - Tiles of 16 along k for a block of 32 × 32: half of the threads would have nothing
#   to load. Let the first 512 load `a` and the others `b`. Does it pay?
# - What happens to the ladder for 64 × 64 × 65,536? How many blocks are there, and how
#   many SMs? Let several blocks share one tile of `c` and split k between them.
# - Operands of 2 bytes, float16, halve the traffic. Which of the three prices of a step
#   would change for `gemm_ragged`, and by how much?
#
# ## What you learned
#
# 1. SGEMM is `c = alpha * a @ b + beta * c`, and with beta = 0 `c` is never read.
# 2. A step has a price in passes, in instructions and in bytes. Count all three; the
#    dearest sets the time.
# 3. Lanes along columns: 2 passes per step instead of 33. And indices that cannot be
#    negative: a fifth of the instructions.
# 4. A tile of T loads a T-th of the bytes. What it does not change is that each
#    multiply-add takes both operands from the unit that makes one pass a cycle.
# 5. Any size: zeros in the tiles, guards at the accesses, barriers for all.

# %%
quiz()
