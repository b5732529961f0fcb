# %% [markdown]
# # 27 · cuDNN
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/27_cudnn.ipynb)
#
# **After this lab, you can**
#
# - compute the sizes and the strides of a convolution's result;
# - run a convolution through cuDNN's C interface, with descriptors and a workspace;
# - choose the fastest algorithm within a memory limit, and a reproducible one if
#   required;
# - store images and filters in the order that tensor cores need, without hidden copies;
# - say which matrix product a convolution is, and where each of its operands comes
#   from;
# - fuse a convolution, a bias and a ReLU into one kernel with the graph interface, and
#   search its plans.
#
# **You need** about 110 minutes. You do not need a GPU: without one, your calls go to a
# model of cuDNN. The model computes the same convolutions, keeps track of handles,
# descriptors, layouts and workspaces, and has been compared with cuDNN 9.19. The
# measurements then show times from the reference GPU, an H200. If you use a GPU, it
# needs compute capability 8.0 or higher and 6 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

from typing import NamedTuple

import numpy as np
import torch
from numba import cuda, float32, int32, uint32
from torch.nn import functional

from weft import bench, check, hint, quiz
from weft.intrinsics import load4, store4
from weft.libraries import cudnn, on_device
from weft.libraries.cudnn import (
    ConvolutionMode,
    DataType,
    ForwardAlgo,
    MathType,
    Pointwise,
    TensorFormat,
)
from weft.libraries.graphs import Graph

chapter = weft.lab("27_cudnn")
arrays = weft.chapters.Chapter("26_curand_cufft").arrays
channels_last, zeros = arrays.channels_last, arrays.zeros
ready_convolutions = chapter.ready_convolutions
ONE, ZERO = ready_convolutions.ONE, ready_convolutions.ZERO
Forward, Fused = ready_convolutions.Forward, ready_convolutions.Fused
convolve = ready_convolutions.convolve

# %% [markdown]
# ## 1 · Sizes and strides
#
# Before cuDNN computes anything, it needs a description of every array: its type, its
# sizes and its strides, the distances between neighbouring elements along each axis.
# cuDNN lists the sizes in the order n, c, h, w (images, channels, height, width)
# *whatever the order in memory is*. The strides define the order in memory:
#
# - **NCHW**: w is the fastest axis, then h, then c. This is PyTorch's default.
# - **NHWC**: c is the fastest axis, then w, then h. PyTorch calls it `channels_last`.
#
# Return the shape and the strides of the result of a convolution, stored in **NHWC**
# without gaps.
#
# ```python
# described(x, w, pad, stride, dilation)    # -> (shape, strides)
# ```
#
# `x` is (n, c, h, w), the shape of the images. `w` is (k, c, r, s): k filters with c
# channels of r × s taps. `pad`, `stride` and `dilation` are pairs: the first number is
# for rows, the second for columns. The padding is added on both sides. With a dilation
# of d, neighbouring taps are d pixels apart, so r taps cover `d * (r - 1) + 1` rows.
# Return two tuples of four numbers, both in the order n, c, h, w.
#
# Stuck? `hint("described")`; there are three hints.


# %% tags=["given"]
def layers(rng):
    """Return convolutions: shapes, padding, stride and dilation."""
    yield (2, 3, 7, 9), (4, 3, 3, 2), (0, 0), (1, 1), (1, 1)
    yield (2, 3, 7, 9), (5, 3, 3, 2), (1, 2), (1, 1), (1, 1)
    yield (1, 4, 10, 8), (6, 4, 3, 5), (1, 0), (2, 3), (1, 1)
    yield (3, 2, 12, 15), (7, 2, 3, 2), (0, 1), (1, 2), (2, 4)
    for _ in range(6):
        n, c, k = (int(v) for v in rng.integers(1, 6, 3))
        h, w = (int(v) for v in rng.integers(12, 20, 2))
        r, s = (int(v) for v in rng.integers(1, 5, 2))
        pairs = [tuple(map(int, rng.integers(1, 4, 2))) for _ in range(3)]
        pad = pairs[0][0] - 1, pairs[0][1] - 1
        yield (n, c, h, w), (k, c, r, s), pad, pairs[1], pairs[2]


def by_torch(x, w, pad, stride, dilation):
    """Return what PyTorch makes of it, with nothing in memory."""
    images, filters = (torch.empty(size, device="meta") for size in (x, w))
    y = functional.conv2d(images, filters, None, stride, pad, dilation)
    n, k, p, q = y.shape
    return (n, k, p, q), torch.empty(n, p, q, k).permute(0, 3, 1, 2).stride()


def same_description(got, wanted):
    """Return "" for the right description, or else what is wrong with it."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        return "Return a tuple of two: the shape and the strides."
    if any(not hasattr(part, "__len__") or len(part) != 4 for part in got):
        return "The shape and the strides have four numbers each."
    shape, strides = tuple(got[0]), tuple(got[1])
    if any(not isinstance(v, int) for v in shape + strides):
        return "All of them are integers: divide with `//`."
    names = "images", "channels", "rows", "columns"
    hints = {
        "images": "A convolution has as many results as images.",
        "channels": "Every filter makes one channel.",
    }
    for name, size, aim in zip(names, shape, wanted[0], strict=True):
        if size != aim:
            why = hints.get(
                name,
                "In how many places do the taps lie inside the padded image? "
                "The first is always one of them.",
            )
            return f"The shape has {size} {name}. {why}"
    if strides != wanted[1]:
        if sorted(strides) == sorted(wanted[1]):
            return (
                f"The strides are {strides}: the right numbers, in another "
                "order. They are listed as n, c, h, w too."
            )
        return (
            f"The strides are {strides}. In NHWC, how far apart are two "
            "channels of a pixel, two pixels of a row, two rows?"
        )
    return ""


# %%
def described(x, w, pad, stride, dilation):
    """Return the shape and the NHWC strides of a convolution's result."""
    # about 6 lines
    # BEGIN SOLUTION
    p, q = (
        (x[2 + i] + 2 * pad[i] - dilation[i] * (w[2 + i] - 1) - 1) // stride[i]
        + 1
        for i in range(2)
    )
    k = w[0]
    return (x[0], k, p, q), (p * q * k, 1, q * k, k)
    # END SOLUTION


# %%
check(
    described,
    spec=by_torch,
    inputs=layers,
    same=same_description,
    without=("torch.nn.functional",),
)

# %% [markdown] tags=["solution"]
# The shape is the same in both layouts, and so are the indices by which a program
# accesses an element. Only the strides differ.

# %% [markdown]
# ## 2 · A convolution in C
#
# cuDNN's function for a convolution takes thirteen arguments:
#
# ```c
# cudnnConvolutionForward(handle, alpha, xDesc, x, wDesc, w, convDesc, algo,
#                         workSpace, workSpaceSizeInBytes, beta, yDesc, y)
# ```
#
# Four of these arguments are **descriptors**, which you create, set and destroy. The
# next cell creates and sets a tensor's descriptor (the binding `cudnn` uses C's names
# with underscores):


# %% tags=["given"]
def tensor_of(array):
    """Return a new descriptor of a float32 array, with the array's strides."""
    desc = cudnn.create_tensor_descriptor()
    cudnn.set_tensor4d_descriptor_ex(
        desc, DataType.FLOAT, *array.shape, *array.stride()
    )
    return desc


# %% [markdown]
# You create the other two kinds of descriptors with these functions:
#
# ```python
# create_filter_descriptor()
# set_filter4d_descriptor(desc, type, format, k, c, r, s)
#
# create_convolution_descriptor()
# set_convolution2d_descriptor(desc, pad_h, pad_w, stride_h, stride_w,
#                              dilation_h, dilation_w, mode, compute_type)
# ```
#
# For each `create_…` there is a `destroy_…`, which takes the descriptor.
#
# The format of the filters here is NCHW, and the compute type, in which products are
# added up, is `DataType.FLOAT`. Choose the mode that deep learning calls a convolution:
# like PyTorch, it applies the filter without reversing it. (`ConvolutionMode` has two
# members.)
#
# An algorithm may need a workspace, that is, memory for intermediate results, and some
# algorithms do not run without it. `get_convolution_forward_workspace_size(handle,
# x_desc, w_desc, conv_desc, y_desc, algo)` returns its size in bytes. Allocate it with
# `zeros(nbytes, dtype=torch.uint8)`, which returns an array on the device. The scalars
# are passed by address: `ONE` and `ZERO` are the addresses of a float 1 and a float 0.
#
# Write a float32 convolution that uses the algorithm `algo`. `x`, `w` and `y` are
# arrays on the device with `shape`, `stride()` and `data_ptr()`. Destroy every
# descriptor that you have created, but not the handle, which belongs to the caller.
#
# ```python
# conv2d(handle, x, w, y, pad, stride, algo)    # writes y
# ```
#
# Stuck? `hint("conv2d")`.


# %% tags=["given"]
def a_layer(rng, n, c, k, side):
    """Return x, w, y, padding, stride and an algorithm."""
    pad, stride, taps = (1, 0), (2, 1), (3, 2)
    algo = ForwardAlgo.IMPLICIT_PRECOMP_GEMM
    if n % 2 == 0:
        stride, taps = (1, 1), (3, 3)
        algo = ForwardAlgo.WINOGRAD_NONFUSED
    x = torch.from_numpy(rng.normal(0, 1, (n, c, side, side + 3))).float()
    w = torch.from_numpy(rng.normal(0, 1, (k, c, *taps))).float()
    y = torch.full_like(functional.conv2d(x, w, None, stride, pad), torch.nan)
    return x, w, y, pad, stride, algo


def correlated(x, w, y, pad, stride, algo):
    """Return the convolution as PyTorch defines it."""
    x, w = torch.from_numpy(x), torch.from_numpy(w)
    return functional.conv2d(x, w, None, stride, pad).numpy()


def turned_around(x, w, y, pad, stride, algo, got):
    """Return why this is not the result, if the filters are turned around."""
    x, w = x.double(), w.double().flip(2, 3)
    other = functional.conv2d(x, w, None, stride, pad)
    if got.shape == tuple(other.shape) and np.allclose(got, other, atol=1e-4):
        return "This is the result for filters that are turned around."
    return ""


# %%
def conv2d(handle, x, w, y, pad, stride, algo):
    """Write the convolution of x with the filters w into y."""
    # about 22 lines
    # BEGIN SOLUTION
    x_desc, y_desc = tensor_of(x), tensor_of(y)
    w_desc = cudnn.create_filter_descriptor()
    cudnn.set_filter4d_descriptor(
        w_desc, DataType.FLOAT, TensorFormat.NCHW, *w.shape
    )
    how = cudnn.create_convolution_descriptor()
    mode = ConvolutionMode.CROSS_CORRELATION
    cudnn.set_convolution2d_descriptor(
        how, *pad, *stride, 1, 1, mode, DataType.FLOAT
    )

    nbytes = cudnn.get_convolution_forward_workspace_size(
        handle, x_desc, w_desc, how, y_desc, algo
    )
    room = zeros(nbytes, dtype=torch.uint8)
    cudnn.convolution_forward(
        *(handle, ONE, x_desc, x.data_ptr(), w_desc, w.data_ptr(), how),
        *(algo, room.data_ptr(), nbytes, ZERO, y_desc, y.data_ptr()),
    )

    cudnn.destroy_convolution_descriptor(how)
    cudnn.destroy_filter_descriptor(w_desc)
    cudnn.destroy_tensor_descriptor(x_desc)
    cudnn.destroy_tensor_descriptor(y_desc)
    # END SOLUTION


# %%
check(
    conv2d,
    library="cudnn",
    spec=correlated,
    inputs=a_layer,
    given=lambda on, *arguments: (on.handle, *arguments),
    result="y",
    sizes=[(1, 2, 3, 5), (2, 3, 5, 4), (3, 4, 2, 7)],
    tolerance=1e-2,
    because=turned_around,
    full=(7, 32, 48, 28),
)

# %% [markdown] tags=["solution"]
# A program that runs a layer more than once keeps the descriptors and the workspace, as
# does the class `Forward`, which the measurements use. (If the workspace is too small,
# `WINOGRAD_NONFUSED` fails. `IMPLICIT_PRECOMP_GEMM` requests a workspace as well, but
# on the reference GPU it ran without one.)

# %% [markdown]
# ## Look: what cuDNN reports when it fails
#
# Every function returns a status. Since version 9, cuDNN also keeps a message about the
# last failure of each thread, which the binding adds to the exception. Without a GPU,
# you see the model's message instead.

# %%
def tried(what, function):
    """Print what the library says."""
    try:
        function()
        print(f"{what}: no complaint")
    except cudnn.cuDNNError as error:
        print(f"{what}: {error}")


def zeros_of(*shape):
    """Return an array of zeros on the device."""
    return on_device(torch.zeros(shape))


images = zeros_of(2, 8, 7, 9)
small, large = zeros_of(16, 8, 3, 3), zeros_of(16, 8, 7, 7)
right, wide = zeros_of(2, 16, 7, 9), zeros_of(2, 16, 7, 10)
unset = cudnn.create_tensor_descriptor()
for what, call in {
    "no channels": lambda: cudnn.set_tensor4d_descriptor(
        unset, 0, 0, 2, 0, 7, 9
    ),
    "y a column too wide": Forward(images, small, wide, (1, 1)),
    "Winograd for 7 x 7 taps": lambda: Forward(
        images, large, right, (3, 3)
    ).workspace(ForwardAlgo.WINOGRAD),
}.items():
    tried(what, call)
cudnn.destroy_tensor_descriptor(unset)

# %% [markdown] tags=["solution"]
# On a GPU, the message is the condition that failed, as it is written in cuDNN's own
# source. Such a message is terse, but it names the parameter.

# %% [markdown]
# ## 3 · Which algorithm?
#
# The legacy interface has eight algorithms, numbered 0 to 7. Two functions report on
# all of them: `cudnnGetConvolutionForwardAlgorithm_v7` ranks them by a heuristic,
# without times, and `cudnnFindConvolutionForwardAlgorithm` runs and times each of them.
# Both fill an array with one entry per algorithm. From an entry of the second function,
# we keep these five numbers:


# %% tags=["given"]
class Perf(NamedTuple):
    """What is known about one algorithm."""

    algo: int
    status: int  # 0: it works; otherwise nothing else here means anything
    time: float  # milliseconds
    memory: int  # bytes of workspace
    determinism: int  # 1: the same bits at every run

    def __repr__(self):
        """Return the five numbers."""
        return f"Perf{tuple(self)}"


# %% [markdown]
# Choose an algorithm from such a list. `limit` is the size of the available workspace,
# in bytes. If `reproducible` is true, the result must be bit for bit the same in every
# run. Return the number of the fastest algorithm that meets these conditions; if no
# algorithm does, return 0, `IMPLICIT_GEMM`, which needs no workspace.
#
# ```python
# choose(results, limit, reproducible)    # -> the algorithm's number
# ```
#
# The entries may come in any order. Stuck? `hint("choose")`.


# %% tags=["given"]
def lists_of_results(rng):
    """Return results to choose from, a limit, and whether to reproduce."""
    fails = 3000
    common = [
        Perf(1, 0, 0.31, 4_000, 1),
        Perf(0, 0, 0.42, 0, 1),
        Perf(7, 0, 0.24, 900_000, 1),
        Perf(2, 0, 0.55, 2_000_000, 1),
        Perf(4, 0, 0.20, 50_000_000, 0),
        Perf(6, fails, -1.0, 0, 1),
        Perf(3, fails, -1.0, 0, 0),
    ]
    yield common, 1 << 30, False
    yield common, 1 << 30, True
    yield common, 1 << 20, False
    yield common, 900_000, False
    yield common, 100, False
    yield list(reversed(common)), 5_000, True
    yield [Perf(6, fails, -1.0, 0, 1), Perf(4, 0, 0.2, 99, 0)], 1 << 20, True
    yield [Perf(5, 0, 0.2, 1 << 40, 1), Perf(3, fails, 0.0, 0, 1)], 8, False
    for reproducible in (False, True):
        algos = rng.permutation(8)
        yield (
            [
                Perf(
                    int(a),
                    int(fails * (rng.random() < 0.3)),
                    round(float(rng.random()), 3),
                    int(rng.integers(0, 100)),
                    int(rng.integers(0, 2)),
                )
                for a in algos
            ],
            60,
            reproducible,
        )


def best_of(results, limit, reproducible):
    """Return the number of the algorithm to choose."""
    able = [p for p in results if p.status == 0 and p.memory <= limit]
    able = [p for p in able if p.determinism or not reproducible]
    return min(able, key=lambda p: p.time).algo if able else 0


def why_not(results, limit, reproducible, got):
    """Return why this is not the algorithm to choose."""
    found = [p for p in results if p.algo == got]
    if not found:
        return "Return an algorithm's number, or 0 if none is suitable."
    (mine,) = found
    if mine.status:
        return f"Algorithm {got} has status {mine.status}: it cannot do this."
    if mine.memory > limit:
        return f"Algorithm {got} needs {mine.memory:,} bytes of workspace."
    if reproducible and not mine.determinism:
        return f"Algorithm {got} may give other bits at the next run."
    return f"Algorithm {got} is suitable, but another one is faster."


# %%
def choose(results, limit, reproducible):
    """Return the number of the fastest algorithm that is suitable, or 0."""
    # about 8 lines
    # BEGIN SOLUTION
    best = None
    for each in results:
        if each.status != 0 or each.memory > limit:
            continue
        if reproducible and not each.determinism:
            continue
        if best is None or each.time < best.time:
            best = each
    return best.algo if best is not None else 0
    # END SOLUTION


# %%
check(choose, spec=best_of, inputs=lists_of_results, because=why_not)

# %% [markdown] tags=["solution"]
# PyTorch makes a choice of this kind from the results of the search that
# `torch.backends.cudnn.benchmark = True` enables, and
# `torch.backends.cudnn.deterministic = True` corresponds to `reproducible`.

# %% [markdown]
# ## Measure: the algorithms of one layer
#
# The table times a layer from chapter 23: 32 images of 56 × 56 pixels, 64 input and 64
# output channels, and 3 × 3 taps, in float32 without TF32. `layer_tiled` is chapter
# 23's kernel for this layer. `torch` is `conv2d` with `benchmark` on, which times ten
# plans and keeps the fastest; `torch, all plans` has no such limit. The other rows are
# algorithms of the legacy interface, and `PRECOMP, default math` is
# `IMPLICIT_PRECOMP_GEMM` with TF32 allowed. The cell first prints the workspaces, the
# errors and the ranking of the heuristic.
#
# Winograd's algorithm computes a tile of 2 × 2 results from 16 products per channel
# instead of 36. How much faster do you expect it to be?

# %% tags=["given"]
DEEP = 8  # channels at a time
TAPS = 9 * DEEP


@cuda.jit(device=True)
def add_products(sums, v, q, taps, tap, f):
    """Add pixels v[q] ... v[q + 7] times eight filters' taps to the sums."""
    for half in range(2):
        w = load4(taps, (tap, f + 4 * half))
        for k in range(8):
            for g in range(4):
                sums[k, 4 * half + g] += v[q + k] * w[g]


@cuda.jit
def layer_tiled(x, w, out):
    """3 x 3 taps, 64 filters: w is (9 c, 64), out is (64 n h, w).

    Blocks of 256 threads and 8 x 32 pixels; w is a multiple of 4.
    """
    tile = cuda.shared.array((DEEP, 10, 36), float32)
    taps = cuda.shared.array((TAPS, 64), float32)
    sums = cuda.local.array((8, 8), float32)
    v = cuda.local.array(12, float32)
    t = uint32(cuda.threadIdx.x)
    tx, ty, f = 8 * (t % 4), t // 4 % 8, 8 * (t // 32)
    top, left = int32(8 * cuda.blockIdx.y), int32(32 * cuda.blockIdx.x)
    height, width, n = int32(x.shape[2]), int32(x.shape[3]), cuda.blockIdx.z

    for k in range(8):
        for g in range(8):
            sums[k, g] = float32(0)

    for first in range(0, x.shape[1], DEEP):
        for cell in range(t, 360, 256):
            a, b = cell // 36, cell % 36
            i, j = int32(top + a - 1), int32(left + b - 1)
            inside = 0 <= i < height and 0 <= j < width
            for c in range(DEEP):
                seen = float32(0)
                if inside:
                    seen = x[n, first + c, i, j]
                tile[c, a, b] = seen
        for four in range(t, 16 * TAPS, 256):
            at = four // 16, 4 * (four % 16)
            a, b, c, d = load4(w, (9 * first + at[0], at[1]))
            store4(taps, at, a, b, c, d)
        cuda.syncthreads()

        for c in range(DEEP):
            for p in range(3):
                for k in range(3):
                    v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3] = load4(
                        tile[c, ty + p], tx + 4 * k
                    )
                tap = 9 * c + 3 * p
                add_products(sums, v, 0, taps, tap, f)
                add_products(sums, v, 1, taps, tap + 1, f)
                add_products(sums, v, 2, taps, tap + 2, f)
        cuda.syncthreads()

    row = int32(top + ty)
    for g in range(8):
        to = (64 * n + f + g) * height + row
        for k in range(0, 8, 4):
            if row < height and left + tx + k < width:
                a, b = sums[k, g], sums[k + 1, g]
                c4, d = sums[k + 2, g], sums[k + 3, g]
                store4(out, (to, left + tx + k), a, b, c4, d)


# %%
guess = {"FFT": None, "WINOGRAD_NONFUSED": None, "layer_tiled": None}


def relative(got, wanted):
    """Return the error of a result, relative to its size."""
    error = torch.linalg.vector_norm(got - wanted)
    return float(error / torch.linalg.vector_norm(wanted))


def algorithms():
    n, c, f, s = 32, 64, 64, 56
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    x = torch.randn(n, c, s, s, device="cuda")
    w = torch.randn(f, c, 3, 3, device="cuda") / 24
    y = torch.empty(n, f, s, s, device="cuda")
    layer = Forward(x, w, y, (1, 1), MathType.FMA_MATH)
    d_x, d_taps, d_y = map(
        cuda.as_cuda_array, (x, w.view(f, 9 * c).T.contiguous(), y.view(-1, s))
    )

    def by_torch():
        return functional.conv2d(x, w, padding=1)

    def tiled():
        layer_tiled[(2, 7, n), 256](d_x, d_taps, d_y)

    def all_plans():
        # Deterministic, so that the plan that `torch` keeps is not used again.
        switches = torch.backends.cudnn
        switches.deterministic, switches.benchmark_limit = True, 0
        try:
            return functional.conv2d(x, w, padding=1)
        finally:
            switches.deterministic, switches.benchmark_limit = False, 10

    ways = {
        "torch": by_torch,
        "torch, all plans": all_plans,
        "layer_tiled": tiled,
    }
    wanted = functional.conv2d(x.double(), w.double(), padding=1)
    for algo in layer.able():
        megabytes = layer.workspace(algo) / 1e6
        layer(algo)
        error = relative(y.double(), wanted)
        print(f"{algo.name:22}{megabytes:8.1f} MB   error {error:.1e}")
        ways[algo.name] = lambda algo=algo: layer(algo)
    allowed = Forward(x, w, y, (1, 1))  # the default math type: TF32
    allowed()
    print(f"default math          error {relative(y.double(), wanted):.1e}")
    ways["PRECOMP, default math"] = allowed
    for each in layer.ranked()[:4]:
        print(f"ranked: {ForwardAlgo(each['algo']).name}")
    return ways


table = bench.compare(
    "32 x 64 x 56 x 56, 64 filters of 3 x 3, float32",
    algorithms,
    baseline="torch",
    flops=2 * 32 * 64 * 64 * 9 * 56**2,
    guess=guess,
)
table

# %% tags=["solution"]
table.expect("layer_tiled", at_least=0.8)
table.expect("layer_tiled", at_least=0.9, times="IMPLICIT_PRECOMP_GEMM")
table.expect("WINOGRAD_NONFUSED", at_least=1.4)
table.expect("FFT_TILING", at_least=1.4)
table.expect("IMPLICIT_PRECOMP_GEMM", at_least=8, times="GEMM")
table.expect("PRECOMP, default math", at_least=2)

# %% [markdown] tags=["solution"]
# The heuristic's first choice, `IMPLICIT_PRECOMP_GEMM`, uses the same method as chapter
# 23's kernel, and their times are within a few per cent of each other. Two algorithms
# are nearly twice as fast, Winograd's and `FFT_TILING`, because they multiply less:
# counted by the operations of the definition, their rates are close to the arithmetic
# peak, 67 TFLOP/s. Both need a large workspace, and Winograd's rounding error is four
# times as large. The heuristic ranks both below `GEMM`, which is by far the slowest
# here.
#
# So compare your kernel with the fastest algorithm of a library, not with the algorithm
# that it chooses. On this layer, our kernel is about as fast as cuDNN's implicit GEMM,
# but only half as fast as cuDNN's fastest algorithms.

# %% [markdown]
# ## 4 · The channels last
#
# Tensor cores multiply 16-bit matrices whose rows are contiguous along the sum, and a
# convolution sums over channels. So they need NHWC, for the images *and* for the
# filters. For filters, the order in memory is then k, r, s, c (cuDNN calls it NHWC
# too).
#
# In this exercise, `x` and `y` are float16 arrays with the channels last. `w` is in
# PyTorch's default order, in which s is the fastest axis. Two things have to change
# together: the order of the filters in memory, and the format in their descriptor.
# Setting a descriptor does not move data, and moving data does not change a descriptor.
#
# `channels_last(w)` returns a copy with the channels last in memory and the same shape.
# Once you have set the descriptors, call `convolve(handle, x_desc, x, w_desc, w,
# y_desc, y, pad)`, which computes the convolution; it takes arrays, not addresses.
#
# ```python
# conv_channels_last(handle, x, w, y, pad)    # writes y; x, w, y are float16
# ```
#
# cuDNN tries to help here, which is a trap: with images in NHWC, it also accepts
# filters in NCHW, but converts them in a separate kernel at every call. The check
# counts these conversions. You need none. Stuck? `hint("conv_channels_last")`.


# %% tags=["given"]
def half_layer(rng, n, c, k, side):
    """Return x and y with the channels last, w without, and a padding."""
    last = torch.channels_last
    x = torch.from_numpy(rng.integers(-3, 4, (n, c, side, side + 2)))
    w = torch.from_numpy(rng.integers(-3, 4, (k, c, 3, 2))).half()
    y = torch.full((n, k, side, side + 3), torch.nan).half()
    x, y = (each.half().contiguous(memory_format=last) for each in (x, y))
    return x, w, y, (1, 1)


def padded(x, w, y, pad):
    """Return the convolution as PyTorch defines it."""
    x, w = torch.from_numpy(x), torch.from_numpy(w)
    return functional.conv2d(x, w, None, 1, pad).numpy()


# %%
def conv_channels_last(handle, x, w, y, pad):
    """Write the convolution of x with w into y, all in NHWC."""
    # about 13 lines
    # BEGIN SOLUTION
    half, order = DataType.HALF, TensorFormat.NHWC
    x_desc = cudnn.create_tensor_descriptor()
    y_desc = cudnn.create_tensor_descriptor()
    w_desc = cudnn.create_filter_descriptor()
    cudnn.set_tensor4d_descriptor(x_desc, order, half, *x.shape)
    cudnn.set_tensor4d_descriptor(y_desc, order, half, *y.shape)
    cudnn.set_filter4d_descriptor(w_desc, half, order, *w.shape)

    moved = channels_last(w)
    convolve(handle, x_desc, x, w_desc, moved, y_desc, y, pad)

    for desc in (x_desc, y_desc):
        cudnn.destroy_tensor_descriptor(desc)
    cudnn.destroy_filter_descriptor(w_desc)
    # END SOLUTION


# %%
check(
    conv_channels_last,
    library="cudnn",
    spec=padded,
    inputs=half_layer,
    given=lambda on, *arguments: (on.handle, *arguments),
    result="y",
    sizes=[(1, 2, 3, 4), (2, 3, 5, 4), (2, 8, 16, 5)],
    tolerance=1e-2,
    limits={"conversions": 0},
    full=(8, 64, 32, 28),
)

# %% [markdown] tags=["solution"]
# Look at the two functions that set descriptors: one takes the format first, and the
# other takes the type first. Both arguments are numbers. HALF is 2, which is not the
# format NHWC, so swapping the two fails. But FLOAT and NCHW are both 0, so swapping
# them would go unnoticed.

# %% [markdown]
# ## Measure: a layout and a math type
#
# The layer has 32 images of 28 × 28 pixels with 256 channels, and 256 filters of 3 × 3,
# in float16. The first four rows call `cudnnConvolutionForward` with
# `IMPLICIT_PRECOMP_GEMM`. `NHWC` has all arrays in NHWC, `NCHW` has all arrays in NCHW,
# and `filters NCHW` has only the filters in NCHW. `NHWC, default math` differs from
# `NHWC` in one number, the math type in the convolution's descriptor: `DEFAULT_MATH`
# instead of `TENSOR_OP_MATH`. `torch, channels_last` is `conv2d` on tensors in this
# memory format, and `torch` is `conv2d` on tensors in NCHW.
#
# Compute by hand: how long do the operations take at 800 TFLOP/s? How many bytes does a
# conversion of x and y read and write, and how long do these bytes take at 4.2 TB/s?

# %%
guess = {"NCHW": None, "filters NCHW": None, "NHWC, default math": None}
LARGE = (32, 256, 28, 28), (256, 256, 3, 3)
TENSOR_CORES = MathType.TENSOR_OP_MATH


def tensors_in(order, dtype=torch.float16):
    """Return x, w and y of the large layer in a memory format."""
    x, w = (torch.randn(s, device="cuda", dtype=dtype) / 8 for s in LARGE)
    return (
        each.contiguous(memory_format=order)
        for each in (x, w, torch.empty_like(x))
    )


def legacy_ways():
    """Return convolutions of the large layer by the legacy interface."""
    x, w, y = tensors_in(torch.channels_last)
    x2, w2, y2 = tensors_in(torch.contiguous_format)
    turned = w.contiguous()
    ways = {
        "NHWC": Forward(x, w, y, (1, 1), TENSOR_CORES),
        "filters NCHW": Forward(x, turned, y, (1, 1), TENSOR_CORES),
        "NCHW": Forward(x2, w2, y2, (1, 1), TENSOR_CORES),
        "NHWC, default math": Forward(x, w, y, (1, 1)),
    }
    for way in ways.values():
        way()
    return ways


def layouts():
    torch.backends.cudnn.benchmark = False
    ways = legacy_ways()
    x, w, _ = tensors_in(torch.channels_last)
    x2, w2, _ = tensors_in(torch.contiguous_format)
    ways["torch, channels_last"] = lambda: functional.conv2d(x, w, padding=1)
    ways["torch"] = lambda: functional.conv2d(x2, w2, padding=1)
    return ways


layout = bench.compare(
    "32 x 256 x 28 x 28, 256 filters of 3 x 3, float16",
    layouts,
    baseline="NHWC",
    flops=2 * 32 * 256 * 256 * 9 * 28**2,
    guess=guess,
    graph=True,
)
layout

# %% tags=["solution"]
layout.expect("NHWC", at_least=10, times="NHWC, default math")
layout.expect("NHWC", at_least=1.3, times="NCHW")
layout.expect("NHWC", at_least=1.02, times="filters NCHW")
layout.expect("NHWC", at_least=0.9, times="torch, channels_last")
layout.expect("torch, channels_last", at_least=1.3, times="torch")

# %% [markdown]
# Which kernels does cuDNN launch? On a GPU, the profiler prints their names.


# %%
def kernels_of(function):
    """Print the names of the kernels that one call launches."""
    function()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        function()
        torch.cuda.synchronize()
    for event in seen.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            print("   ", event.name[:100])


if weft.GPU:
    for name, way in legacy_ways().items():
        print(name)
        kernels_of(way)
else:
    print("The solution shows what an H200 said.")

# %% [markdown] tags=["solution"]
# With the default math type, cuDNN does not use tensor cores for float16. It converts
# images and filters to float32 *and* to NCHW, runs a kernel made for sm_80 without
# tensor cores, and converts the result back. It reports neither an error nor a warning.
# For float32, the same default has the opposite effect: from sm_80 on, it allows TF32,
# and so tensor cores. This is why the float32 table above used `FMA_MATH`. The graph
# interface, which PyTorch uses, has no math type: each engine states what it does.

# %% [markdown]
# ## 5 · The product that a convolution is
#
# The algorithm `GEMM` unrolls the images into a large matrix, in which every number is
# a copy. **Implicit GEMM** multiplies the same matrix without writing it: when a block
# needs an element of its tile, it computes where in x this element comes from.
#
# This matrix, A, has one row per result pixel and one column per tap and channel, and
# is multiplied by a matrix of the filters:
#
# - A has n · p · q rows: row `(image * p + i) * q + j` belongs to pixel (i, j) of the
#   result for this image;
# - A has r · s · c columns: column `(a * s + b) * c + channel` belongs to tap (a, b)
#   and this channel, so neighbouring columns are neighbouring channels;
# - the other matrix has r · s · c rows and one column per filter.
#
# For element (`row`, `col`) of A, return its **offset in x**, in elements, where x is
# stored in **NHWC** without gaps. Return -1 if the element is a zero of the padding.
#
# ```python
# source(row, col, x, y, taps, pad, stride, dilation)    # -> offset in x, or -1
# ```
#
# The shape of the images, `x`, is (n, c, h, w), that of the results, `y`, is (n, k, p,
# q), and `taps` is (r, s). Tap (a, b) of result pixel (i, j) is in row i · stride + a ·
# dilation - pad of the image, and its column is computed in the same way. Stuck?
# `hint("source")`.


# %% tags=["given"]
def places(rng):
    """Return elements of unrolled matrices."""
    problems = [
        ((2, 4, 5, 7), (2, 3, 5, 6), (3, 2), (1, 0), (1, 1), (1, 1)),
        ((2, 3, 9, 8), (2, 6, 5, 3), (3, 4), (1, 0), (2, 2), (1, 1)),
        ((3, 2, 8, 9), (3, 5, 4, 3), (3, 2), (1, 2), (2, 3), (2, 4)),
    ]
    yield 0, 0, *problems[0]
    yield 7, 3, *problems[0]
    for problem in problems:
        x, y, taps, *_ = problem
        rows, cols = x[0] * y[2] * y[3], taps[0] * taps[1] * x[1]
        for _ in range(14):
            row, col = int(rng.integers(0, rows)), int(rng.integers(0, cols))
            yield row, col, *problem
        yield rows - 1, cols - 1, *problem


def unrolled(x, y, taps, pad, stride, dilation):
    """Return the whole matrix of offsets."""
    (n, c, h, w), (_, _, p, q), (r, s) = x, y, taps
    at = torch.arange(n * h * w * c).reshape(n, h, w, c)
    bottom, right = 2 * r * dilation[0] + h, 2 * s * dilation[1] + w
    wide = torch.full((n, h + pad[0] + bottom, w + pad[1] + right, c), -1)
    wide[:, pad[0] : pad[0] + h, pad[1] : pad[1] + w] = at
    rows = torch.arange(p)[:, None] * stride[0] + dilation[0] * torch.arange(r)
    cols = torch.arange(q)[:, None] * stride[1] + dilation[1] * torch.arange(s)
    seen = wide[:, rows[:, None, :, None], cols[None, :, None, :]]
    return seen.reshape(n * p * q, r * s * c)


def looked_up(row, col, *problem):
    """Return one element of the matrix of offsets."""
    return int(unrolled(*problem)[row, col])


def which_index(row, col, x, y, taps, pad, stride, dilation, got):
    """Return which index of an answer is wrong."""
    right = looked_up(row, col, x, y, taps, pad, stride, dilation)
    _, c, h, w = x
    if not isinstance(got, int | np.integer):
        return "An offset is an integer."
    if right == -1:
        return (
            "This tap lies outside the image, so it reads a zero of the "
            f"padding. Offset {got} belongs to another pixel."
        )
    if got == -1:
        return "The tap lies inside the image here, so there is an offset."
    if not 0 <= got < x[0] * c * h * w:
        return f"The images have {x[0] * c * h * w} elements in all."
    names = "image", "row", "column", "channel"
    mine = np.unravel_index(got, (x[0], h, w, c))
    wanted = np.unravel_index(right, (x[0], h, w, c))
    wrong = [
        f"{name} {int(a)}"
        for name, a, b in zip(names, mine, wanted, strict=True)
        if a != b
    ]
    verb = "is" if len(wrong) == 1 else "are"
    which = " and ".join(wrong)
    return f"In NHWC, this offset has {which}, which {verb} wrong."


# %%
def source(row, col, x, y, taps, pad, stride, dilation):
    """Return where in x (NHWC) element (row, col) of A comes from, or -1."""
    # about 10 lines
    # BEGIN SOLUTION
    (_, c, h, w), (_, _, p, q), (_, s) = x, y, taps
    image, pixel = divmod(row, p * q)
    i, j = divmod(pixel, q)
    tap, channel = divmod(col, c)
    a, b = divmod(tap, s)
    up = i * stride[0] + a * dilation[0] - pad[0]
    left = j * stride[1] + b * dilation[1] - pad[1]
    if not (0 <= up < h and 0 <= left < w):
        return -1
    return ((image * h + up) * w + left) * c + channel
    # END SOLUTION


# %%
check(source, spec=looked_up, inputs=places, because=which_index)

# %% [markdown] tags=["solution"]
# `IMPLICIT_GEMM` computes these divisions in its kernel. In the name of the next
# algorithm, `IMPLICIT_PRECOMP_GEMM`, "precomp" says that offsets are computed
# beforehand, and its small workspace is for these offsets.

# %% [markdown]
# ## Measure: one channel more
#
# Channels are the fastest axis of both operands, so a load of 16 bytes reads eight
# channels. In the table, only the number of input channels changes: the layer has 32
# images of 28 × 28 and 256 filters of 3 × 3, in float16 and NHWC. `260 in 264` is a
# layer with 260 channels whose images and filters are stored with 264 channels, of
# which four are zero, and `260 in 320` stores 320 channels.
#
# Which of these layers do you expect to be slower than `256`? By how much?

# %%
guess = {"260": None, "264": None, "260 in 320": None}


def channels():
    last = torch.channels_last

    def with_channels(c, stored=None):
        x = torch.randn(32, stored or c, 28, 28, device="cuda").half()
        w = torch.randn(256, stored or c, 3, 3, device="cuda").half() / 48
        x[:, c:], w[:, c:] = 0, 0
        x, w = (each.contiguous(memory_format=last) for each in (x, w))
        return lambda: functional.conv2d(x, w, padding=1)

    torch.backends.cudnn.benchmark = True  # the best that PyTorch can do
    ways = {str(c): with_channels(c) for c in (256, 248, 252, 255, 260, 264)}
    ways["260 in 264"] = with_channels(260, 264)
    ways["260 in 320"] = with_channels(260, 320)
    return ways


padding = bench.compare(
    "32 x c x 28 x 28, 256 filters of 3 x 3, float16",
    channels,
    baseline="256",
    guess=guess,
    graph=True,
)
padding

# %% tags=["solution"]
padding.expect("256", at_least=1.4, times="260")
padding.expect("256", at_least=1.2, times="264")
padding.expect("260 in 264", at_least=1.05, times="260")

# %% [markdown] tags=["solution"]
# 256 is special: it is a multiple of 64, the depth of the tiles that the fastest kernel
# uses. Other multiples of eight come next. So if you can choose a size, choose a
# multiple of 64, and pad any other size at least to a multiple of eight.

# %% [markdown]
# ## 6 · A graph
#
# `cudnnConvolutionForward` computes a convolution and nothing else. The **graph
# interface** takes a description of several operations and looks for an engine that
# computes them together. You describe
#
# - the **tensors**, each with its own number, the `uid`. A **virtual** tensor only
#   connects two operations and is never stored;
# - the **operations**, each with its input and output tensors.
#
# From this description, cuDNN builds **plans**. To execute a plan, you pass a **variant
# pack**: the address of every tensor that is not virtual, by its uid, and the address
# of a workspace.
#
# In C, all of these objects are descriptors: you create a descriptor, set its
# attributes one by one, and finalize it. This cell does so for one tensor:

# %%
x = on_device(torch.zeros(2, 8, 4, 6))
graph = Graph(cudnn.create())
desc = cudnn.backend_create_descriptor(cudnn.Descriptor.TENSOR)
for name, kind, values in [
    ("TENSOR_UNIQUE_ID", "INT64", np.int64([1])),
    ("TENSOR_DATA_TYPE", "DATA_TYPE", np.int32([DataType.FLOAT])),
    ("TENSOR_DIMENSIONS", "INT64", np.int64(x.shape)),
    ("TENSOR_STRIDES", "INT64", np.int64(x.stride())),
    ("TENSOR_BYTE_ALIGNMENT", "INT64", np.int64([16])),
]:
    cudnn.backend_set_attribute(
        desc,
        cudnn.Attribute[name],
        cudnn.AttributeType[kind],
        values.size,
        values.ctypes.data,
    )
cudnn.backend_finalize(desc)
cudnn.backend_destroy_descriptor(desc)
cudnn.destroy(graph.handle)

# %% [markdown]
# The class `Graph` does this work for you:
#
# - `graph.tensor(uid, array)` returns a tensor with the array's sizes, strides and
#   type;
# - `graph.tensor(uid, array, shape)` does the same for an array with fewer axes, which
#   it describes with the given shape;
# - `graph.virtual(uid, array)` returns a virtual float32 tensor with the array's sizes;
# - `graph.convolution(x, w, y=y, padding=pad)` adds the operation y = x ∗ w;
# - `graph.pointwise(mode, x, b, y=y)` adds y = mode(x, b). Leave `b` out if the mode
#   has one input;
# - `graph.plans(most=1)` returns a list of at most `most` plans, with the best guess
#   first. The `workspace` of a plan is the size that it needs, in bytes;
# - `graph.pack(addresses, workspace)` returns a variant pack, made from a dict with an
#   address for each uid, and the address of a workspace;
# - `graph.execute(plan, pack)` launches the plan;
# - `graph.destroy()` frees all descriptors.
#
# All tensors of a graph have the same number of axes. So a bias of k numbers has to be
# described with four sizes: k for the channels and 1 for each of the others.
#
# Write a layer: y = relu(x ∗ w + bias). The modes are `Pointwise.ADD` and
# `Pointwise.RELU_FWD`. `x`, `w` and `y` are float16 with the channels last, and `bias`
# has shape (k,). Store only y: the intermediate results must be virtual.
#
# ```python
# conv_bias_relu(handle, x, w, bias, y, pad)    # writes y
# ```
#
# Stuck? `hint("conv_bias_relu")`.


# %% tags=["given"]
def biased_layer(rng, n, c, k, side):
    """Return x, w, bias and y, the images with the channels last."""
    last = torch.channels_last
    x = torch.from_numpy(rng.integers(-3, 4, (n, c, side, side + 2))).half()
    w = torch.from_numpy(rng.integers(-3, 4, (k, c, 3, 3))).half() / 16
    bias = torch.from_numpy(rng.integers(-9, 9, k)).half() / 4
    y = torch.full((n, k, side, side + 2), torch.nan).half()
    x, w, y = (each.contiguous(memory_format=last) for each in (x, w, y))
    return x, w, bias, y, (1, 1)


def one_step_each(x, w, bias, y, pad):
    """Return relu(conv(x, w) + bias)."""
    x, w, bias = map(torch.from_numpy, (x, w, bias))
    return functional.conv2d(x, w, bias, 1, pad).relu().numpy()


def what_is_missing(x, w, bias, y, pad, got):
    """Return which step is missing, or in the wrong place."""
    x, w, bias = (each.double() for each in (x, w, bias))
    sums = functional.conv2d(x, w, None, 1, pad)
    shift = bias[:, None, None]
    for reason, other in {
        "This is the convolution alone.": sums,
        "The bias is missing.": sums.relu(),
        "The ReLU is missing.": sums + shift,
        "The ReLU comes before the bias.": sums.relu() + shift,
    }.items():
        if np.allclose(got, other.numpy(), atol=0.02):
            return reason
    return ""


# %%
def conv_bias_relu(handle, x, w, bias, y, pad):
    """Write relu(conv(x, w) + bias) into y, as one graph."""
    # about 15 lines
    # BEGIN SOLUTION
    graph = Graph(handle)
    images, filters = graph.tensor(1, x), graph.tensor(2, w)
    shift = graph.tensor(3, bias, (1, bias.shape[0], 1, 1))
    result = graph.tensor(4, y)
    sums, shifted = graph.virtual(5, y), graph.virtual(6, y)
    graph.convolution(images, filters, y=sums, padding=pad)
    graph.pointwise(Pointwise.ADD, sums, shift, y=shifted)
    graph.pointwise(Pointwise.RELU_FWD, shifted, y=result)

    (plan,) = graph.plans(most=1)
    room = zeros(plan.workspace, dtype=torch.uint8)
    addresses = [each.data_ptr() for each in (x, w, bias, y)]
    pack = graph.pack(dict(enumerate(addresses, 1)), room.data_ptr())
    graph.execute(plan, pack)
    graph.destroy()
    # END SOLUTION


# %%
check(
    conv_bias_relu,
    library="cudnn",
    spec=one_step_each,
    inputs=biased_layer,
    given=lambda on, *arguments: (on.handle, *arguments),
    result="y",
    sizes=[(1, 8, 16, 4), (2, 8, 24, 5), (2, 16, 8, 6)],
    tolerance=1e-2,
    because=what_is_missing,
    limits={"calls": 1},
    full=(8, 64, 128, 28),
)

# %% [markdown] tags=["solution"]
# Building the plans takes the most time, since some engines compile a kernel in this
# step. A program should do it once per layer and shape, and keep the plan, the pack and
# the workspace.

# %% [markdown]
# ## Look: which graphs have engines?
#
# Is there an engine for every graph? The next cell requests plans for a convolution
# alone, for a convolution with a GELU after it, and for a convolution with a ReLU
# *before* it, which it also tries in NCHW. For which of these four graphs do you expect
# no plan? (Only a GPU shows the answer. The model makes up two plans for any graph.)


# %%
def engines_for(what, order):
    """Print how many plans a graph has, and how many compile a kernel."""
    x, w, y = tensors_in(order)
    graph = Graph(cudnn.create())
    before, taps = graph.tensor(1, x), graph.tensor(2, w)
    result, between = graph.tensor(3, y), graph.virtual(4, y, torch.float16)
    if what == "ReLU before":
        graph.pointwise(Pointwise.RELU_FWD, before, y=between)
        graph.convolution(between, taps, y=result, padding=(1, 1))
    elif what == "GELU after":
        graph.convolution(before, taps, y=between, padding=(1, 1))
        graph.pointwise(Pointwise.GELU_FWD, between, y=result)
    else:
        graph.convolution(before, taps, y=result, padding=(1, 1))
    try:
        plans = graph.plans(most=20)
        compiled = sum(plan.compiled for plan in plans)
        print(f"{what}: {len(plans)} plans, {compiled} of them compiled")
    except cudnn.cuDNNError as error:
        print(f"{what}: {error}")
    graph.destroy()
    cudnn.destroy(graph.handle)


if weft.GPU:
    for what in ("alone", "GELU after", "ReLU before"):
        engines_for(what, torch.channels_last)
    print("in NCHW")
    engines_for("ReLU before", torch.contiguous_format)
else:
    print("The solution shows what an H200 said.")

# %% [markdown]
# ## Measure: the plans
#
# `graph.plans()` returns a list that is ranked by a heuristic. How good is this
# ranking? The next cell builds up to 40 plans for the layer `LARGE`, with bias and
# ReLU, times each of them, and compares:
#
# - `first plan`: the first plan in the heuristic's ranking;
# - `best plan` and `slowest plan`: the fastest and the slowest plan, found by timing
#   all plans;
# - `fallback`: the first plan of the mode `FALLBACK`, which promises only that its
#   plans work;
# - `compiled plan`: a plan of the same mode whose kernel is compiled when the plan is
#   built;
# - `conv alone`: the convolution without bias and ReLU, by PyTorch;
# - `eager`: the layer in PyTorch, operation by operation, and `torch.compile`: the same
#   code, compiled;
# - `cudnn_convolution_relu`: PyTorch's own call of cuDNN's fused layer, an operator
#   that PyTorch's documentation does not list.

# %%
guess = {"best plan": None, "fallback": None, "torch.compile": None}


def timed(run, calls=10):
    """Return the milliseconds of a call, from a CUDA graph of several."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            run()
    times = []
    for _ in range(6):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    return float(np.median(times[1:]))


def by_pytorch(x, w, bias):
    """Return PyTorch's ways to compute the layer."""

    def eager():
        return functional.conv2d(x, w, bias, padding=1).relu()

    ones = (1, 1)
    return {
        "conv alone": lambda: functional.conv2d(x, w, padding=1),
        "eager": eager,
        "torch.compile": torch.compile(eager),
        "cudnn_convolution_relu": lambda: torch.cudnn_convolution_relu(
            x, w, bias, ones, ones, ones, 1
        ),
    }


def fusions():
    torch.backends.cudnn.benchmark = True
    x, w, y = tensors_in(torch.channels_last)
    bias = torch.randn(256, device="cuda").half()
    layer = Fused(x, w, bias, y, (1, 1), most=40)
    spare = Fused(x, w, bias, y, (1, 1), 8, cudnn.HeurMode.FALLBACK)
    ways = by_pytorch(x, w, bias)

    wanted, times = ways["eager"]().double(), []
    for number in range(len(layer.plans)):
        layer(number)
        assert relative(y.double(), wanted) < 1e-2
        times.append(timed(lambda number=number: layer(number)))
    best, slowest = int(np.argmin(times)), int(np.argmax(times))
    for name, plans in {"A": layer.plans, "fallback": spare.plans}.items():
        compiled = sum(plan.compiled for plan in plans)
        engines = sorted({plan.engine for plan in plans})
        print(
            f"mode {name}: {len(plans)} plans of engines {engines}, {compiled} "
            "of them compiled when they are built"
        )
    print(f"number {best} of the ranking is the fastest, {slowest} the slowest")
    late = next(i for i, plan in enumerate(spare.plans) if plan.compiled)
    spare(), spare(late)
    return {
        "first plan": layer,
        "best plan": lambda: layer(best),
        "slowest plan": lambda: layer(slowest),
        "fallback": spare,
        "compiled plan": lambda: spare(late),
        **ways,
    }


fused = bench.compare(
    "conv, bias and ReLU, 32 x 256 x 28 x 28",
    fusions,
    baseline="eager",
    flops=2 * 32 * 256 * 256 * 9 * 28**2,
    guess=guess,
    graph=True,
)
fused

# %% tags=["solution"]
fused.expect("first plan", at_least=0.9, times="best plan")
fused.expect("first plan", at_least=1.3, times="slowest plan")
fused.expect("first plan", at_least=10, times="fallback")
fused.expect("first plan", at_least=1.5, times="compiled plan")
fused.expect("first plan", at_least=0.9, times="conv alone")
fused.expect("first plan", at_least=1.25, times="eager")
fused.expect("first plan", at_least=0.9, times="cudnn_convolution_relu")

# %% [markdown] tags=["solution"]
# Here the heuristic's first plan is about as fast as the best plan, and the fused layer
# takes as long as the convolution alone. The engine of this plan is pre-compiled: this
# graph is common enough for cuDNN to include special kernels for it. `fallback`, as its
# name suggests, is only a last resort.

# %% [markdown]
# How much time fusion saves depends on the arithmetic per byte. The next cell makes the
# same comparison for a layer with 64 channels and 112 × 112 pixels, which has much less
# arithmetic per byte.

# %%
guess = {"first plan": None, "torch.compile": None}


def thin():
    torch.backends.cudnn.benchmark = True
    last = torch.channels_last
    x = torch.randn(64, 64, 112, 112, device="cuda").half()
    w = torch.randn(64, 64, 3, 3, device="cuda").half() / 24
    bias = torch.randn(64, device="cuda").half()
    x, w, y = (
        each.contiguous(memory_format=last)
        for each in (x, w, torch.empty_like(x))
    )
    layer = Fused(x, w, bias, y, (1, 1), most=1)
    layer()
    return {"first plan": layer, **by_pytorch(x, w, bias)}


less = bench.compare(
    "conv, bias and ReLU, 64 x 64 x 112 x 112",
    thin,
    baseline="eager",
    flops=2 * 64 * 64 * 64 * 9 * 112**2,
    guess=guess,
    graph=True,
)
less

# %% tags=["solution"]
less.expect("first plan", at_least=2, times="eager")
less.expect("first plan", at_least=1.2, times="torch.compile")
less.expect("first plan", at_least=0.9, times="conv alone")
less.expect("first plan", at_least=0.9, times="cudnn_convolution_relu")

# %% [markdown]
# ## Measure: how long a plan takes
#
# This table uses the host's clock. Its rows execute an existing plan; build a plan from
# its operations and execute it, as `conv_bias_relu` does; and compute the layer with
# PyTorch, operation by operation.

# %%
guess = {"build and execute": None}


def building():
    torch.backends.cudnn.benchmark = True
    x, w, y = tensors_in(torch.channels_last)
    bias = torch.randn(256, device="cuda").half()
    kept = Fused(x, w, bias, y, (1, 1), most=1)

    def build():
        layer = Fused(x, w, bias, y, (1, 1), most=1)
        layer()
        layer.graph.destroy()
        cudnn.destroy(layer.handle)

    return {
        "execute": kept,
        "build and execute": build,
        "torch": lambda: functional.conv2d(x, w, bias, padding=1).relu(),
    }


plans = bench.compare(
    "conv, bias and ReLU, on the host's clock",
    building,
    baseline="execute",
    guess=guess,
    host=True,
)
plans

# %% tags=["solution"]
plans.expect("execute", at_least=15, times="build and execute")

# %% [markdown]
# ## Measure: attention
#
# cuDNN also has engines for the graph of attention. PyTorch has a backend that builds
# this graph, so you need not build it by hand. The table times the forward pass for 4
# sequences of 4096 tokens with 16 heads of 128 numbers, in bfloat16, by three backends
# of `scaled_dot_product_attention` and by the backend that PyTorch chooses (`default`).

# %%
guess = {"cuDNN": None, "memory-efficient": None}


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (
        torch.randn(4, 16, 4096, 128, device="cuda").bfloat16()
        for _ in range(3)
    )

    def by(backend):
        def run():
            with sdpa_kernel(backend):
                return functional.scaled_dot_product_attention(q, k, v)

        return run

    return {
        "FlashAttention": by(SDPBackend.FLASH_ATTENTION),
        "cuDNN": by(SDPBackend.CUDNN_ATTENTION),
        "memory-efficient": by(SDPBackend.EFFICIENT_ATTENTION),
        "default": lambda: functional.scaled_dot_product_attention(q, k, v),
    }


attended = bench.compare(
    "attention forward, 4 x 16 x 4096 x 128, bfloat16",
    attention,
    baseline="FlashAttention",
    flops=4 * 4 * 16 * 4096**2 * 128,
    guess=guess,
)
attended

# %% tags=["solution"]
attended.expect("cuDNN", at_least=1.5)
attended.expect("default", at_least=0.9, times="cuDNN")

# %% [markdown]
# ## If you want more
#
# - Write a binding for `cudnnConvolutionBackwardData`: its prototype is in NVIDIA's
#   manual. Which of its arguments does the function write to?
# - Add another input to the graph: y = relu(x ∗ w + bias + z), as in a residual block.
#   How many bytes of traffic does the fused kernel save now?
# - Build plans with `HeurMode.B` and with `HeurMode.FALLBACK`. How do the two lists
#   differ?
#
# ## What you learned
#
# 1. Sizes are always listed as n, c, h, w. Strides define the order in memory, and a
#    descriptor only *describes* this order: the data and the descriptor have to change
#    together.
# 2. To choose an algorithm, weigh time, workspace and reproducibility. The numbers of
#    an entry mean nothing unless its status is 0.
# 3. A convolution is the product of an (n·p·q) × (r·s·c) matrix, which need not be
#    stored, and the matrix of the filters. Channels should be the contiguous axis of
#    both: store them last, in multiples of eight.
# 4. In a graph, fusion saves the traffic of the virtual tensors. Plans are slow to
#    build but fast to execute.
# 5. A heuristic's first plan is a guess. Only timing all plans shows which is the
#    fastest.

# %%
quiz()
