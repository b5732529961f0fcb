# %% [markdown]
# # 25 · cuBLAS
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/25_cublas.ipynb)
#
# **After this lab, you can**
#
# - pass arrays that are stored by rows to a library that reads matrices by columns,
#   without moving a number;
# - bind a C function in a dozen lines, with handles, addresses and status codes;
# - choose the types, the compute type and the scalars of a product in mixed precision;
# - compute many small products with one call, and share an operand among them;
# - fuse a bias and an activation into a product with cuBLASLt, and choose among its
#   algorithms by measuring;
# - store a matrix in 8 bits, with one scale per row.
#
# **You need** about 135 minutes. You do not need a GPU: without one, your calls go to a
# model of the library. The model, which has been compared with NVIDIA's library,
# computes the same products and keeps track of handles, addresses and workspaces. The
# measurements then show times from the reference GPU, an H200. If you use a GPU, it
# needs compute capability 8.0 or higher.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
from ctypes import byref, c_float, c_int, c_void_p

import numpy as np
import torch
from numba import cuda, float32, int8

from weft import check, hint, quiz
from weft.libraries import CudaType, cublas, cublasLt, library
from weft.libraries.cublas import ComputeType, Operation
from weft.libraries.cublaslt import Epilogue, MatmulDescAttribute

chapter = weft.lab("25_cublas")
checks = chapter.checks

# %% [markdown]
# ## A C library
#
# cuBLAS is a file, `libcublas.so`. It was installed with your PyTorch, which calls it
# for nearly every `@`. The file exports C functions, and Python's `ctypes` can load it:

# %%
libcublas = library("cublas")
libcublas.cublasSgemm_v2

# %% [markdown]
# This is all that a binding needs. Three rules apply to nearly every function in the
# library.
#
# - The function returns a **status**, which is a number. 0 means success. C has no
#   exceptions, so if you do not check the status, you do not notice a failure.
# - Its first argument is a **handle**, which the library has created for you. A handle
#   is *opaque*: you keep an address as a number, and only the library knows what is at
#   this address. A handle has a stream, a workspace and a few modes.
# - Anything that is not an integer is passed by **address**: matrices on the device,
#   scalars on the host, and variables that the function sets.
#
# `create` and `destroy`, in `calls.py`, create and destroy a handle. `byref(handle)` is
# the address at which the library stores the handle.

# %% tags=["given"]
create, destroy = chapter.calls.create, chapter.calls.destroy
checked = chapter.calls.checked

# %%
handle = create(libcublas)
version = c_int()
libcublas.cublasGetVersion_v2.argtypes = [c_void_p, c_void_p]
checked(libcublas.cublasGetVersion_v2(handle, byref(version)))
destroy(libcublas, handle)
print(f"version {version.value}")

# %% [markdown]
# ## 1 · A binding of your own
#
# The function for float32 products has this prototype:
#
# ```c
# cublasStatus_t cublasSgemm_v2(
#     cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
#     int m, int n, int k, const float *alpha, const float *A, int lda,
#     const float *B, int ldb, const float *beta, float *C, int ldc);
# ```
#
# A `cublasHandle_t` is a pointer, and a `cublasOperation_t` is an `enum`, which C
# passes as an `int`. The function computes `C = alpha op(A) op(B) + beta C`; exercise 2
# explains the arguments. Here, write a Python function whose parameters are `library`
# and then those of the prototype, where
#
# - `handle`, `a`, `b` and `c` are Python integers; `a`, `b` and `c` are addresses on
#   the device;
# - `alpha` and `beta` are Python floats;
# - a status other than 0 raises an exception.
#
# Without `argtypes`, ctypes passes every Python integer as a C `int` of 32 bits. Try
# the call without `argtypes` first, and see what the check reports. Stuck?
# `hint("sgemm")`; there are three hints.

# %% tags=["given"]
N, T = Operation.N, Operation.T

# %%
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    # about 10 lines
    # BEGIN SOLUTION
    address, integer = c_void_p, c_int
    library.cublasSgemm_v2.argtypes = [
        *(address, integer, integer, integer, integer, integer),
        *(address, address, integer, address, integer),
        *(address, address, integer),
    ]
    status = library.cublasSgemm_v2(
        *(handle, transa, transb, m, n, k),
        *(byref(c_float(alpha)), a, lda, b, ldb),
        *(byref(c_float(beta)), c, ldc),
    )
    checked(status)
    # END SOLUTION

# %%
check(
    sgemm,
    library="cublas",
    spec=checks.by_columns,
    inputs=checks.for_binding,
    given=checks.all_arguments,
    result="c",
    sizes=[(3, 4, 2), (6, 5, 7)],
    refuses="cublasSgemm",
    full=(96, 64, 128),
)

# %% [markdown] tags=["solution"]
# The fourteen parameters have only two types: `c_void_p` for every address and `c_int`
# for everything else. The scalars are passed by reference. `c_float(alpha)` has to be
# alive during the call, and it is, because the argument refers to it.
#
# C would not notice a missing argument or a float passed by value: the function would
# read a register that contains something else.

# %% [markdown]
# From here on you do not have to set any `argtypes`. The modules `cublas` and
# `cublasLt` have such bindings for two dozen functions. Their names and parameters are
# those of NVIDIA's own `nvmath.bindings`, so your code also runs with that package. The
# scalars are still passed by address, and you will need these two:

# %% tags=["given"]
one, zero = c_float(1), c_float(0)
ONE, ZERO = ctypes.addressof(one), ctypes.addressof(zero)

# %% [markdown]
# ## 2 · Rows and columns
#
# BLAS comes from Fortran, and cuBLAS has kept Fortran's order: a matrix is stored
# **column by column**. Your arrays are stored row by row. For each matrix, the library
# receives only an address, two sizes and a **leading dimension**, which is the
# distance, in elements, from the beginning of one column to the beginning of the next.
# Element (`i`, `j`) is number `i + j * ld` from that address on.
#
# If the library reads a row-major matrix in this way, it sees the transpose. You need
# not move any data, because a transpose is just as good an operand. Which product of
# transposes must the library compute, so that its result, read by rows, is `a @ b`?
#
# ```python
# matmul(handle, a, b, c)    # c = a @ b: (m, k) @ (k, n) -> (m, n), float32, row-major
# ```
#
# In half of the cases, the matrices are parts of larger matrices, such as
# `whole[:, :n]`, so there are gaps between their rows. `x.stride(0)` is the distance
# between the beginnings of two rows. (In a verdict, the fourth number of a size is
# `pad`, the number of elements between the rows of `a`.) Make no copies, and do not let
# the library transpose: with the right arguments, both operations are `N`. Stuck?
# `hint("matmul")`.
#
# ```python
# cublas.sgemm(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
# ```

# %%
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    # one call of cublas.sgemm
    # BEGIN SOLUTION
    lda, ldb, ldc = a.stride(0), b.stride(0), c.stride(0)
    cublas.sgemm(
        *(handle, N, N, n, m, k),
        *(ONE, b.data_ptr(), ldb, a.data_ptr(), lda),
        *(ZERO, c.data_ptr(), ldc),
    )
    # END SOLUTION

# %%
check(
    matmul,
    library="cublas",
    spec=lambda a, b, c: a @ b,
    inputs=checks.three,
    given=lambda on, a, b, c: (on.handle, a, b, c),
    result="c",
    sizes=[(5, 7, 3, 0), (6, 3, 8, 2), (3, 9, 4, 5), (4, 4, 4, 0)],
    limits={"calls": 1},
    full=(512, 384, 256, 8),
)

# %% [markdown] tags=["solution"]
# The operands change places, and so do `m` and `n`. The library sees `b` as an `n × k`
# matrix whose columns are `ldb` apart, and `a` as a `k × m` matrix. It writes an
# `n × m` product, the transpose of `c`, column by column, and these bytes are `c`, row
# by row.

# %% [markdown]
# ## Measure: what exchanging the operands saves
#
# The alternative is to transpose `a`, `b` and `c` with copies, so that everything is
# column-major. Is a call like yours as fast as PyTorch's, and how much time do the
# copies take? Some rows use two other types: tf32 and bfloat16. (All rows except
# `torch.mm` use `Product` from `ready.py`, which makes a call like yours.)
# Fill in your guesses, as multiples of the speed of `torch.mm` in float32.

# %%
guess = {"copies": None, "tf32": None, "bf16": None, "bf16, copies": None}

speeds = chapter.measure.speeds(guess)
speeds

# %% tags=["solution"]
speeds.expect("no copies", at_least=0.95, times="torch.mm")
speeds.expect("no copies", at_least=1.05, times="copies")
speeds.expect("tf32", at_least=4, times="torch.mm")
speeds.expect("bf16", at_least=8, times="torch.mm")
speeds.expect("bf16", at_least=1.4, times="bf16, copies")

# %% [markdown] tags=["solution"]
# `torch.mm` calls the same library and exchanges the operands in the same way, so your
# call is neither faster nor slower. Compared with a float32 product, three transposing
# copies take little time. In bfloat16, the product takes less than a tenth of its time
# in float32, but the copies do not become much faster. They now take most of the total
# time.

# %% [markdown]
# ## 3 · Types
#
# `cublasGemmEx` takes the type of every matrix, and a **compute type**, which
# determines how products are added up. The inputs of a layer are often bfloat16, for
# the tensor cores, while sums are kept in float32, for accuracy. The scalars have the
# *scale type*, which follows from the compute type: float for `COMPUTE_32F`, half for
# `COMPUTE_16F`, and double for `COMPUTE_64F`. Addresses are untyped, so nothing warns
# you if a scalar has the wrong type.
#
# A linear layer multiplies by the transpose of its weights, which have the shape
# (outputs, inputs). This time, let the library transpose: pass `T` for the operand that
# has to be transposed. The leading dimensions are still those of the matrices *as they
# are stored*. Again the fourth number of a size is `pad`, and there may be gaps between
# rows.
#
# Work queued on `stream` writes the inputs. A handle has its own stream, which is the
# default stream unless you change it. Set it to `stream`; otherwise the product may
# start before its inputs are ready. Stuck? `hint("linear")`.
#
# ```python
# linear(handle, stream, x, w, y)   # y = x @ w.T: (m, k), (n, k) -> (m, n)
#                                   # x, w bfloat16, y float32, sums in float32
# cublas.set_stream(handle, stream_id)
# cublas.gemm_ex(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb,
#                beta, c, ctype, ldc, compute_type, algo)    # algo: -1, the default
# ```

# %%
def linear(handle, stream, x, w, y):
    """Compute y = x @ w.T in float32, from bfloat16 arrays."""
    (m, k), n = x.shape, w.shape[0]
    half, single = CudaType.R_16BF, CudaType.R_32F
    # two calls
    # BEGIN SOLUTION
    cublas.set_stream(handle, stream)
    cublas.gemm_ex(
        *(handle, T, N, n, m, k, ONE),
        *(w.data_ptr(), half, w.stride(0), x.data_ptr(), half, x.stride(0)),
        *(ZERO, y.data_ptr(), single, y.stride(0), ComputeType.COMPUTE_32F, -1),
    )
    # END SOLUTION

# %%
check(
    linear,
    library="cublas",
    spec=lambda x, w, y: x @ w.T,
    because=checks.LINEAR,
    inputs=checks.layer,
    given=lambda on, x, w, y: (on.handle, on.stream, x, w, y),
    result="y",
    sizes=[(3, 6, 8, 0), (7, 2, 5, 3), (4, 4, 4, 0)],
    full=(512, 384, 256, 8),
)

# %% [markdown] tags=["solution"]
# The weights are stored as (n, k) by rows, so the library sees them as `k × n`, and the
# operation `T` makes them `n × k`, the shape that the first operand of the `n × m`
# product must have. `lda` is still `w.stride(0)`, the distance between two columns of
# the stored matrix.

# %% [markdown]
# ## 4 · Many products, one call
#
# One product of small matrices cannot keep a whole GPU busy. If the matrices of a batch
# are at equal distances in memory, `cublasGemmStridedBatchedEx` computes all their
# products in one launch. Each operand has a **stride**: the distance, in elements, from
# one matrix to the next.
#
# A stride may be 0. In multi-query attention, every head has its own queries, but all
# heads share one set of keys. The keys need not be repeated in memory: with a stride of
# 0, every product reads the same matrix.
#
# ```python
# scores(handle, q, k, s)    # s[h] = q[h] @ k.T / sqrt(d), for every head h
#                            # (heads, m, d), (n, d) -> (heads, m, n), all bfloat16
# cublas.gemm_strided_batched_ex(handle, transa, transb, m, n, k, alpha,
#     a, atype, lda, stride_a, b, btype, ldb, stride_b, beta,
#     c, ctype, ldc, stride_c, batch_count, compute_type, algo)
# ```
#
# Use `alpha` for the division by sqrt(d). Stuck? `hint("scores")`.

# %%
def scores(handle, q, k, s):
    """Compute s[h] = q[h] @ k.T / sqrt(d) for all heads, in one call."""
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    # one call, and what it needs
    # BEGIN SOLUTION
    alpha = c_float(d**-0.5)
    cublas.gemm_strided_batched_ex(
        *(handle, T, N, n, m, d, ctypes.addressof(alpha)),
        *(k.data_ptr(), half, d, 0, q.data_ptr(), half, d, m * d),
        *(ZERO, s.data_ptr(), half, n, m * n),
        *(heads, ComputeType.COMPUTE_32F, -1),
    )
    # END SOLUTION

# %%
check(
    scores,
    library="cublas",
    spec=checks.scaled,
    because=checks.SCALES,
    inputs=checks.attention,
    given=lambda on, q, k, s: (on.handle, q, k, s),
    result="s",
    sizes=[(2, 4, 4, 4), (3, 5, 2, 6), (4, 3, 7, 5)],
    tolerance=1e-2,
    limits={"calls": 1},
    full=(32, 128, 128, 64),
)

# %% [markdown] tags=["solution"]
# `c_float(d**-0.5)` has a name because an address does not keep an object alive. The
# library reads the scalar during the call. By then, Python would already have freed a
# temporary `c_float(...)`, so its `addressof` would no longer be valid.

# %% [markdown]
# ## Descriptors and epilogues
#
# In `cublasGemmEx`, every new feature would add a parameter. cuBLASLt takes
# **descriptors** instead: opaque objects with attributes. There is one descriptor for
# the operation, and a **layout** for each matrix.
#
# cuBLASLt can do two things that cuBLAS cannot. An **epilogue** processes the product
# while it is still in registers: it adds a bias, applies an activation, or does both.
# You can also choose the **algorithm**: a *heuristic* lists the algorithms that it
# expects to be fast, along with the workspace that each of them needs.
#
# Two functions are given: `put(desc, attribute, value)` sets an attribute, which is
# passed by address with its size in bytes, and `algorithms` calls the heuristic.

# %% tags=["given"]
put, algorithms = chapter.calls.put, chapter.calls.algorithms

# %% [markdown]
# ## 5 · cuBLASLt
#
# Write the linear layer again, with a bias and GELU in the epilogue. All arrays are
# bfloat16, row-major and without gaps, and the library reads them by columns. So for
# the library, the matrix D that it writes is `n × m`. The library's bias vector has one
# element for each *row* of D, that is, one for each output of the layer, as required.
#
# You need
#
# - a descriptor: `cublasLt.matmul_desc_create(compute_type, scale_type)`, with the
#   attributes `TRANSA`, `EPILOGUE` and `BIAS_POINTER` of `MatmulDescAttribute`;
# - three layouts: `cublasLt.matrix_layout_create(type, rows, cols, ld)`, with the sizes
#   as the library reads the arrays *before* an operation is applied;
# - an algorithm, once the attributes are set: `found = algorithms(light_handle, desc,
#   a, b, d, workspace.nbytes)`, where `a`, `b` and `d` are the layouts, returns an
#   array with one algorithm, at the address `found.ctypes.data`;
# - the call, in which C and D may be the same array:
#
# ```python
# cublasLt.matmul(light_handle, desc, alpha, a, adesc, b, bdesc, beta, c, cdesc,
#                 d, ddesc, algo, workspace, workspace_size_in_bytes, stream)
# ```
#
# - finally, `cublasLt.matmul_desc_destroy` and `cublasLt.matrix_layout_destroy`, for
#   everything that you have created.
#
# Stuck? `hint("linear_gelu")`.

# %%
def linear_gelu(light_handle, stream, x, w, bias, y, workspace):
    """Compute y = gelu(x @ w.T + bias), all in bfloat16, in one launch."""
    (m, k), n = x.shape, w.shape[0]
    half, what = CudaType.R_16BF, MatmulDescAttribute
    # about 20 lines
    # BEGIN SOLUTION
    desc = cublasLt.matmul_desc_create(ComputeType.COMPUTE_32F, CudaType.R_32F)
    put(desc, what.TRANSA, T)
    put(desc, what.EPILOGUE, Epilogue.GELU_BIAS)
    put(desc, what.BIAS_POINTER, bias.data_ptr())
    layouts = [
        cublasLt.matrix_layout_create(half, rows, cols, rows)
        for rows, cols in ((k, n), (k, m), (n, m))
    ]
    a, b, d = layouts
    found = algorithms(light_handle, desc, a, b, d, workspace.nbytes)
    out = y.data_ptr()
    cublasLt.matmul(
        *(light_handle, desc, ONE, w.data_ptr(), a, x.data_ptr(), b),
        *(ZERO, out, d, out, d, found.ctypes.data),
        *(workspace.data_ptr(), workspace.nbytes, stream),
    )
    for layout in layouts:
        cublasLt.matrix_layout_destroy(layout)
    cublasLt.matmul_desc_destroy(desc)
    # END SOLUTION

# %%
check(
    linear_gelu,
    library="cublasLt",
    spec=lambda x, w, bias, y: checks.gelu(x @ w.T + bias),
    because=checks.EPILOGUES,
    inputs=checks.biased,
    given=checks.all_of_it,
    result="y",
    sizes=[(16, 24, 8), (8, 16, 32), (8, 8, 8)],
    tolerance=1e-2,
    full=(512, 384, 256),
)

# %% [markdown] tags=["solution"]
# A program that calls the layer often would create the descriptors once and keep them,
# as it keeps the plan of an FFT. The addresses of the matrices are arguments of the
# call, so one set of descriptors can be used for any number of layers of the same
# shape. Only the address of the bias is part of the descriptor.

# %% [markdown]
# ## 6 · Which algorithm?
#
# The heuristic does not run any algorithm. The first in its list is only its best
# guess. To know which algorithm is fastest, you have to time the candidates, and there
# are several pitfalls:
#
# - the first run of an algorithm is slow, because it loads the kernel;
# - some runs are slow by chance;
# - the GPU's clock rate drifts, so an algorithm that is timed later runs at a different
#   rate;
# - an algorithm may fail to run; then `run` raises `cublasLt.cuBLASLtError`.
#
# Write a function that chooses the fastest of `count` algorithms. `run(i)` runs
# algorithm `i` once and returns its time in milliseconds.
#
# ```python
# fastest(run, count)    # -> the number of the fastest, 0 to count - 1
# ```
#
# The check uses a model of a GPU whose clock rate falls as it warms up. Run each
# algorithm at most 20 times. Stuck? `hint("fastest")`.

# %%
def fastest(run, count):
    """Return the number of the fastest of `count` algorithms."""
    # about 12 lines
    # BEGIN SOLUTION
    times = {i: [] for i in range(count)}
    for _ in range(9):
        for i in list(times):
            try:
                times[i].append(run(i))
            except cublasLt.cuBLASLtError:
                del times[i]
    return min(times, key=lambda i: np.median(times[i][1:]))
    # END SOLUTION

# %%
check(
    fastest,
    spec=checks.really_fastest,
    inputs=checks.clocks,
    because=checks.why_slower,
    lines=5000,
)

# %% [markdown] tags=["solution"]
# The most important point is to interleave the runs of the algorithms: then all run at
# about the same clock rates. The median ignores single slow runs, and the first run of
# each algorithm is left out. `weft.bench` does the same with the rows of a table.

# %% [markdown]
# ## 7 · A scale per row
#
# To multiply in 8 bits, a layer needs a kernel that turns its activations into
# **codes** and **scales**. Each element of `x` is about its code times the scale of its
# row. The scale is chosen so that the element of largest magnitude in the row gets the
# code 127 or -127:
#
# - the scale is the largest magnitude of the row, divided by 127;
# - a code is the element divided by the scale, rounded to the nearest integer;
# - a row of zeros gets the scale 1 and the codes 0.
#
# One block of 256 threads processes one row. Each thread of the block passes a value to
# `block_max(value)`, which returns the largest value to all threads; call it once.
# `nearest(value)` rounds a float32 to an integer, and returns a float32. (Python's
# `round` computes in float64 in a kernel.) A store to `codes` converts to int8. Stuck?
# `hint("quantise")`.
#
# ```python
# quantise(x, codes, scales)    # x (rows, cols) float32
#                               # -> codes (rows, cols) int8, scales (rows,) float32
# ```

# %% tags=["given"]
block_max, nearest = chapter.kernels.block_max, chapter.kernels.nearest

# %%
@cuda.jit
def quantise(x, codes, scales):
    """Write the codes of each row of x, and its scale."""
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols, width = x.shape[1], cuda.blockDim.x

    # about 9 lines
    # BEGIN SOLUTION
    most = float32(0)
    for col in range(t, cols, width):
        most = max(most, abs(x[row, col]))
    most = block_max(most)

    scale = most / float32(127) if most > 0 else float32(1)
    if t == 0:
        scales[row] = scale
    for col in range(t, cols, width):
        codes[row, col] = int8(nearest(x[row, col] / scale))
    # END SOLUTION

# %%
check(
    quantise,
    spec=checks.coded,
    inputs=checks.rows_of_all_sizes,
    sizes=[(1, 1), (3, 40), (4, 700)],
    launch=lambda rows, cols: (rows, 256),
    full=(300, 5001),
    limits={"sectors": 5, "loads": 8, "float64": 0},
    because=checks.why_other_codes,
)

# %% [markdown] tags=["solution"]
# The scale belongs to a row of `x`, so it is the same for all terms of a sum over k.
# The product adds up only codes, and multiplies each sum by the scale of its row and
# that of its column. A scale for each *column* of `x` would change from term to term.
#
# For e4m3, put 448 instead of 127. The conversion then rounds, and `nearest` is not
# needed.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: six more
# measurements, each with a prediction. Their code is in `measure.py`, in
# `chapters/25_cublas`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### How good is the guess?
#
# The product in this table has few results and very long sums, 64 × 64 × 65536. The
# rows use the heuristic's first algorithm with a workspace of up to 32 MiB, the fastest
# of its first eight (found by your `fastest`), and the fastest that needs no workspace.
# To keep the whole GPU busy, the sum over k has to be split, and the partial sums have
# to be stored somewhere. Is the first algorithm the best?

# %%
guess = {"the fastest of 8": None, "no workspace": None}

choice = chapter.measure.choice(fastest, guess)
choice

# %% tags=["solution"]
choice.expect("the first", at_least=0.9, times="the fastest of 8")
choice.expect("the first", at_least=3, times="no workspace")

# %% [markdown] tags=["solution"]
# Here the heuristic's guess is good: the algorithm that `fastest` chose is hardly
# faster when it is timed again, and PyTorch takes as long as the first algorithm. A run
# takes about ten microseconds, but the host needs longer to launch it. So `timed`
# launches ten runs while the GPU is still busy with other work, and these ten run
# without gaps.
#
# The workspace matters far more. Without space for partial sums, the library probably
# cannot split k among enough blocks. So check `workspace_size` before you reduce the
# workspace to save memory.

# %% [markdown]
# ### What a leading dimension costs
#
# All matrices below are 4096 × 4096 in bfloat16. Only the leading dimension differs:
# the rows are 4096 elements apart, or 4097, 4098 and so on. The arithmetic is the same
# for all. Do you expect the same speed?

# %%
guess = {"4097": None, "4098": None, "4104": None}

apart = chapter.measure.apart(guess)
apart

# %% tags=["solution"]
apart.expect("4096", at_least=3, times="4097")
apart.expect("4096", at_least=2, times="4098")
apart.expect("4104", at_least=0.85, times="4096")

# %% [markdown]
# Which kernels did the library choose? If you have a GPU, the profiler prints their
# names:

# %%
chapter.measure.show_kernels()

# %% [markdown] tags=["solution"]
# If the distance between rows is a multiple of 16 bytes, or 8 elements in bfloat16, the
# library uses a kernel made for Hopper (`sm90`). It loads tiles with the TMA, the
# Tensor Memory Accelerator, which accepts only such distances. 4104 is a multiple of 8,
# but 4100 is not. For 4097, 4098 and 4100, the library uses CUTLASS kernels for older
# GPUs, whose names end in the alignment that they need, in elements: `align1` for 4097,
# and `align2` for the other two. So pad your leading dimensions: a vocabulary of 50,257
# words is better stored as one of 50,304.

# %% [markdown]
# ### One call or a thousand
#
# The table compares ways to compute 1000 products of 64 × 64 matrices in bfloat16: a
# loop of 1000 calls, one batched call, and `torch.bmm`. In two more rows, all products
# share the second operand: one row uses a stride of 0, the other all of `a` as a single
# tall matrix. Everything is timed as a CUDA graph, so the time of the host is not
# included, even for the loop.

# %%
guess = {"a loop": None, "shared, stride 0": None, "one tall product": None}

many = chapter.measure.many(guess)
many

# %% tags=["solution"]
many.expect("one call", at_least=0.9, times="torch.bmm")
many.expect("one call", at_least=50, times="a loop")
many.expect("one tall product", at_least=1.2, times="shared, stride 0")

# %% [markdown] tags=["solution"]
# In the loop, each small product is a separate launch, which uses only a few of the
# GPU's many SMs, and the next product has to wait until it ends. The stride of 0 saves
# memory but no time, probably because all these matrices fit in the L2 cache in any
# case. If *all* products share an operand, they are in fact one product. If the rows of
# the other operand follow each other without gaps, pass that operand as one tall
# matrix.

# %% [markdown]
# ### What the epilogue saves
#
# The alternative is a product followed by a kernel that reads it, adds the bias,
# applies GELU and writes the result; `torch.compile` generates this kernel. In the row
# `compiled`, `torch.compile` is applied to the product and the activation together;
# `_addmm_activation` is PyTorch's own function that uses the epilogue. How much time
# does the fusion save when m, n and k are equal, and how much when k is small?

# %%
guess = {"cuBLASLt": None, "_addmm_activation": None, "no activation": None}

cube = chapter.measure.cube(guess)
cube

# %%
flat = chapter.measure.flat()
flat

# %%
flatter = chapter.measure.flatter()
flatter

# %% tags=["solution"]
cube.expect("cuBLASLt", at_least=1.04, times="mm, then pointwise")
cube.expect("cuBLASLt", at_least=1.03, times="compiled")
flat.expect("cuBLASLt", at_least=1.15, times="mm, then pointwise")
flat.expect("cuBLASLt", at_least=1.1, times="compiled")
flatter.expect("cuBLASLt", at_least=1.3, times="mm, then pointwise")

# %% [markdown] tags=["solution"]
# The separate kernel moves `2 m n` elements, and the time of the product is
# proportional to `m n k`. So with a larger k, the fusion can save only a smaller share.
# `compiled` is only 1 to 5 % faster than two calls: Inductor leaves large products to
# cuBLAS and fuses only the operations after them. The epilogue takes time too: compare
# `cuBLASLt` with the last row, which has neither bias nor activation.

# %% [markdown]
# ### Eight bits
#
# In cuBLASLt, an 8-bit type is just another type for a layout. On Hopper, `e4m3`
# requires that, in the library's order, the first operand is transposed and the second
# is not, and that `k` is a multiple of 16. Our layer already meets the first condition:
# `k` is the contiguous axis of both the activations and the weights. `fast sums` sets
# the attribute `FAST_ACCUM`, which lets the tensor cores accumulate with fewer bits.
# The last row is PyTorch's own function. (On GPUs before compute capability 8.9, the
# rows other than `bf16` are missing.)

# %%
guess = {"fp8": None, "fp8, fast sums": None}

narrow = chapter.measure.narrow(guess)
narrow

# %% tags=["solution"]
narrow.expect("fp8", at_least=1.5, times="bf16")
narrow.expect("fp8, fast sums", at_least=0.97, times="fp8")

# %% [markdown]
# ### How long a handle takes
#
# Creating a handle allocates memory and loads kernels. The table compares three ways to
# compute 100 small products, 64 × 64 in float32, including the host's time: PyTorch,
# our binding with one handle, and our binding with a handle created and destroyed for
# each call.

# %%
guess = {"binding": None, "a handle per call": None}

costs = chapter.measure.costs(guess)
costs

# %% tags=["solution"]
costs.expect("binding", at_least=3, times="a handle per call")

# %% [markdown]
# ### If you want more
#
# - Write `linear` with cuBLASLt and row-major layouts, set by the attribute `ORDER`,
#   and add the bias. What does the library report, and why is it still better to
#   exchange the operands?
# - Set `EPILOGUE` to `GELU_AUX_BIAS`, which also stores the input of GELU. Which step
#   of training needs this input?
# - A handle has a math mode. Set it to `TF32_TENSOR_OP_MATH` and measure the effect on
#   the result of `matmul`, and on its speed.
# - Pad the vocabulary of a language model: time (4096, 768) @ (768, 50257), and then
#   the same product with 50,304 columns.
# - Bind `cublasSgemmBatched`, which takes an array of addresses for each operand. In
#   which memory does this array have to be?

# %% [markdown]
# ## What you learned
#
# 1. A C library has handles, descriptors and status codes. You keep a handle as a
#    number, check every status, and destroy what you have created.
# 2. Read by columns, a row-major matrix is its transpose. If you exchange the operands
#    and the sizes, no data have to be moved. The leading dimension accounts for gaps
#    between rows.
# 3. The types of each matrix and of the sums are separate arguments, and the type of
#    the scalars follows from these. Nothing checks what is at an address.
# 4. Many small products belong in one call, and products that share an operand are
#    often one product.
# 5. cuBLASLt adds epilogues and lets you choose the algorithm. The heuristic's first
#    algorithm is a good guess. Before you replace it, time the candidates in
#    interleaved runs.
# 6. A number in 8 bits is a code times a scale. Scales that do not change along k can
#    be taken out of the sum.

# %%
quiz()
