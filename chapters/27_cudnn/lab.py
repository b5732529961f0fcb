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

from weft import check, hint, quiz
from weft.libraries import cudnn, on_device
from weft.libraries.cudnn import (
    ConvolutionMode,
    DataType,
    ForwardAlgo,
    Pointwise,
    TensorFormat,
)
from weft.libraries.graphs import Graph

chapter = weft.lab("27_cudnn")
checks = chapter.checks
arrays = weft.chapters.Chapter("26_curand_cufft").arrays
channels_last, zeros = arrays.channels_last, arrays.zeros
ready_convolutions = chapter.ready_convolutions
ONE, ZERO = ready_convolutions.ONE, ready_convolutions.ZERO
convolve = ready_convolutions.convolve

# %% [markdown]
# ## 1 · Sizes and strides
#
# Before cuDNN computes anything, it needs a description of every array: its type, its
# sizes and its strides (the distances between neighbouring elements along each axis).
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
# Return two tuples of four numbers, both in the order n, c, h, w. Stuck?
# `hint("described")`; there are three hints.

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
    spec=checks.by_torch,
    inputs=checks.layers,
    same=checks.same_description,
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
# next cell creates and sets a tensor's descriptor (the binding `cudnn` writes C's names
# in snake case):

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
# An algorithm may use a **workspace** (memory for intermediate results), and some
# algorithms fail without one. `get_convolution_forward_workspace_size(handle, x_desc,
# w_desc, conv_desc, y_desc, algo)` returns its size in bytes. Allocate it with
# `zeros(nbytes, dtype=torch.uint8)`, which returns an array on the device. The scalars,
# alpha and beta, are passed by address: `ONE` and `ZERO` are the addresses of a float 1
# and a float 0.
#
# Write a float32 convolution that uses the algorithm `algo`. `x`, `w` and `y` are
# arrays on the device with `shape`, `stride()` and `data_ptr()`. Destroy every
# descriptor that you have created, but not the handle, which belongs to the caller.
# Stuck? `hint("conv2d")`.
#
# ```python
# conv2d(handle, x, w, y, pad, stride, algo)    # writes y
# ```

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
    spec=checks.correlated,
    inputs=checks.a_layer,
    given=lambda on, *arguments: (on.handle, *arguments),
    result="y",
    sizes=[(1, 2, 3, 5), (2, 3, 5, 4), (3, 4, 2, 7)],
    tolerance=1e-2,
    because=checks.turned_around,
    full=(7, 32, 48, 28),
)

# %% [markdown] tags=["solution"]
# A program that runs a layer more than once keeps the descriptors and the workspace, as
# does the class `Forward`, which the measurements use. (If the workspace is too small,
# `WINOGRAD_NONFUSED` fails. `IMPLICIT_PRECOMP_GEMM` requests a workspace as well, but
# on the reference GPU it ran without one.)

# %% [markdown]
# ## 3 · Which algorithm?
#
# The legacy interface, which you used in exercise 2, has eight algorithms, numbered 0
# to 7. Two functions report on all of them: `cudnnGetConvolutionForwardAlgorithm_v7`
# ranks them by a heuristic, without times, and `cudnnFindConvolutionForwardAlgorithm`
# runs and times each of them. Both fill an array with one entry per algorithm. Of each
# entry from the second function, we keep five numbers:
#
# | field | what it is |
# | --- | --- |
# | `algo` | the number of the algorithm |
# | `status` | 0 if it works; otherwise the other numbers mean nothing |
# | `time` | milliseconds |
# | `memory` | bytes of workspace |
# | `determinism` | 1: the same bits at every run |
#
# Choose an algorithm from such a list. `limit` is the size of the available workspace,
# in bytes. If `reproducible` is true, the result must be bit for bit the same in every
# run. Return the number of the fastest algorithm that meets these conditions; if no
# algorithm does, return 0, the number of `IMPLICIT_GEMM`, which needs no workspace.
#
# ```python
# choose(results, limit, reproducible)    # -> the algorithm's number
# ```
#
# The entries may come in any order. Stuck? `hint("choose")`.

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
check(
    choose,
    spec=checks.best_of,
    inputs=checks.lists_of_results,
    because=checks.why_not,
)

# %% [markdown] tags=["solution"]
# PyTorch makes a choice of this kind from the results of the search that
# `torch.backends.cudnn.benchmark = True` enables, and
# `torch.backends.cudnn.deterministic = True` corresponds to `reproducible`.

# %% [markdown]
# ## Measure: the algorithms of one layer
#
# The table compares ways to compute a layer from chapter 23: 32 images of 56 × 56
# pixels, 64 input and 64 output channels, and 3 × 3 taps, in float32 without TF32.
# `layer_tiled` is chapter 23's kernel for this layer. `torch` is PyTorch's `conv2d`
# with `benchmark` on, which times ten of cuDNN's plans (exercise 6) and keeps the
# fastest; `torch, all plans` has no such limit. The other rows are algorithms of the
# legacy interface, and `PRECOMP, default math` is `IMPLICIT_PRECOMP_GEMM` with TF32
# allowed. The cell first prints the workspaces, the errors and the ranking of the
# heuristic.
#
# Winograd's algorithm computes a tile of 2 × 2 results from 16 products per channel
# instead of 36, or a tile of 4 × 4 results from 36 products instead of 144. This layer
# has 6272 tiles of 4 × 4, for which the algorithm stores 36 · (2 · 6272 · 64 + 64 · 64)
# floats. Is this the workspace that the cell prints? How much faster do you expect the
# algorithm to be?

# %%
guess = {"FFT": None, "WINOGRAD_NONFUSED": None, "layer_tiled": None}

table = chapter.measure.table(guess)
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
# are nearly twice as fast, Winograd's and `FFT_TILING`, because they need fewer
# multiplications. If you count the operations of the definition, their rates are close
# to the arithmetic peak, 67 TFLOP/s. Both need a large workspace, and Winograd's
# rounding error is four times as large. The heuristic ranks both below `GEMM`, which is
# by far the slowest here.
#
# The workspace of `WINOGRAD_NONFUSED` is that of tiles of 4 × 4, 116.2 MB. So the
# algorithm performs a quarter of the multiplications, but is less than twice as fast,
# probably because it writes and reads the workspace.
#
# So compare your kernel with the fastest algorithm of a library, not with the algorithm
# that it chooses. On this layer, our kernel is about as fast as cuDNN's implicit GEMM,
# but only half as fast as cuDNN's fastest algorithms.

# %% [markdown]
# ## 4 · The channels last
#
# cuDNN's kernels for tensor cores load 16-bit tiles that are contiguous along the axis
# of the sum, and a convolution sums over channels. So they need NHWC, for the images
# *and* for the filters. For filters, the order in memory is then k, r, s, c (cuDNN
# calls it NHWC too).
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
    spec=checks.padded,
    inputs=checks.half_layer,
    given=lambda on, *arguments: (on.handle, *arguments),
    result="y",
    sizes=[(1, 2, 3, 4), (2, 3, 5, 4), (2, 8, 16, 5)],
    tolerance=1e-2,
    limits={"conversions": 0},
    full=(8, 64, 32, 28),
)

# %% [markdown] tags=["solution"]
# Look at the two functions that set descriptors: one takes the format first, and the
# other takes the type first. Both arguments are numbers. HALF is 2, and format 2 is for
# vectors of int8, so the check notices if you swap the two. But FLOAT and NCHW are both
# 0, so swapping them would go unnoticed.

# %% [markdown]
# ## 5 · Implicit GEMM
#
# If you copy the numbers of the images into a large matrix, most of them several times,
# a convolution becomes a product of two matrices. **Implicit GEMM** computes the same
# product without storing the large matrix: when a block needs an element of its tile,
# it computes where in x this element comes from.
#
# This matrix, A, has one row per result pixel and one column per tap and channel, and
# is multiplied by a matrix of the filters:
#
# - A has n · p · q rows: row `(image * p + i) * q + j` belongs to pixel (i, j) of the
#   result for image `image`;
# - A has r · s · c columns: column `(a * s + b) * c + channel` belongs to tap (a, b)
#   and channel `channel`, so neighbouring columns are neighbouring channels;
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
check(
    source,
    spec=checks.looked_up,
    inputs=checks.places,
    because=checks.which_index,
)

# %% [markdown] tags=["solution"]
# `IMPLICIT_GEMM` computes these divisions in its kernel. In the name of the next
# algorithm, `IMPLICIT_PRECOMP_GEMM`, "precomp" says that offsets are computed
# beforehand, and its small workspace is for these offsets.

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
# pack**: the uid and the address of every tensor that is not virtual, and the address
# of a workspace.
#
# In C, all of these objects are descriptors: you create a descriptor, set its
# attributes one by one, and finalize it. The next cell does this for one tensor:

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
#   first. `plan.workspace` is the size of the workspace that the plan needs, in bytes;
# - `graph.pack(addresses, workspace)` returns a variant pack: `addresses` is a dict
#   with an address for each uid, and `workspace` is the address of a workspace;
# - `graph.execute(plan, pack)` launches the plan;
# - `graph.destroy()` frees all descriptors.
#
# All tensors of a graph have the same number of axes. So a bias of k numbers has to be
# described with four sizes: k for the channels and 1 for each of the others.
#
# Write a layer: y = relu(x ∗ w + bias). The modes are `Pointwise.ADD` and
# `Pointwise.RELU_FWD`. `x`, `w` and `y` are float16 with the channels last, and `bias`
# has shape (k,). Store only y: the intermediate results must be virtual. Stuck?
# `hint("conv_bias_relu")`.
#
# ```python
# conv_bias_relu(handle, x, w, bias, y, pad)    # writes y
# ```

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
    spec=checks.one_step_each,
    inputs=checks.biased_layer,
    given=lambda on, *arguments: (on.handle, *arguments),
    result="y",
    sizes=[(1, 8, 16, 4), (2, 8, 24, 5), (2, 16, 8, 6)],
    tolerance=1e-2,
    because=checks.what_is_missing,
    limits={"calls": 1},
    full=(8, 64, 128, 28),
)

# %% [markdown] tags=["solution"]
# Most of the time goes into building the plans, since some engines compile a kernel in
# this step. A program should build them once per layer and shape, and keep the plan,
# the pack and the workspace.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: what cuDNN
# reports, and six more measurements, each with a prediction. Their code is in
# `measure.py`, in `chapters/27_cudnn`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### A layout and a math type
#
# The layer has 32 images of 28 × 28 pixels with 256 channels, and 256 filters of 3 × 3,
# in float16. The first four rows call `cudnnConvolutionForward` with
# `IMPLICIT_PRECOMP_GEMM`. `NHWC` has all arrays in NHWC, `NCHW` has all arrays in NCHW,
# and `filters NCHW` has only the filters in NCHW. `NHWC, default math` differs from
# `NHWC` in one number, the math type in the convolution's descriptor: `DEFAULT_MATH`
# instead of `TENSOR_OP_MATH`. `torch, channels_last` is PyTorch's `conv2d` on tensors
# in this memory format, and `torch` is the same on tensors in NCHW.
#
# Compute by hand: how long do the operations take at 800 TFLOP/s? How many bytes does a
# conversion of x and y read and write, and how long do these bytes take at 4.2 TB/s?

# %%
guess = {"NCHW": None, "filters NCHW": None, "NHWC, default math": None}

layout = chapter.measure.layout(guess)
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
chapter.measure.show_kernels()

# %% [markdown] tags=["solution"]
# With the default math type, cuDNN does not use tensor cores for float16. It converts
# images and filters to float32 *and* to NCHW, runs a kernel for sm_80 that does not use
# tensor cores, and converts the result back. It reports neither an error nor a warning.
# For float32, the same default has the opposite effect: from sm_80 on, it allows TF32,
# and thus tensor cores. This is why the float32 table above used `FMA_MATH`. The graph
# interface, which PyTorch uses, has no math type: each engine states what it does.

# %% [markdown]
# ### One channel more
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

padding = chapter.measure.padding(guess)
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
# ### What cuDNN reports when it fails
#
# Every function returns a status. Since version 9, cuDNN also keeps a message about the
# last failure of each thread, which the binding adds to the exception. Without a GPU,
# you see the model's message instead.

# %%
unset = cudnn.create_tensor_descriptor()
chapter.measure.failures(unset)
cudnn.destroy_tensor_descriptor(unset)

# %% [markdown] tags=["solution"]
# On a GPU, the message is the condition that caused the failure, as it is written in
# cuDNN's own source. Such a message is terse, but it names the parameter.

# %% [markdown]
# ### Which graphs have engines?
#
# Is there an engine for every graph? The next cell requests plans in NHWC for a
# convolution alone, with a GELU after it, and with a ReLU *before* it, and also plans
# for the last of these in NCHW. For which of these four graphs do you expect no plan?
# (Only a GPU shows the answer. The model makes up two plans for any graph.)

# %%
chapter.measure.show_engines()

# %% [markdown]
# ### The plans
#
# `graph.plans()` returns a list that is ranked by a heuristic. How good is this
# ranking? The next cell builds up to 40 plans for the layer with 256 channels, with
# bias and ReLU, times each of them, and compares:
#
# - `first plan`: the first plan in the heuristic's ranking;
# - `best plan` and `slowest plan`: the fastest and the slowest plan, found by timing
#   all plans;
# - `fallback`: the first plan of the mode `FALLBACK`, which promises only that its
#   plans work;
# - `compiled plan`: the first plan of `FALLBACK` whose kernel is compiled when the plan
#   is built;
# - `conv alone`: the convolution without bias and ReLU, by PyTorch;
# - `eager`: the layer in PyTorch, operation by operation, and `torch.compile`: the same
#   code, compiled;
# - `cudnn_convolution_relu`: PyTorch's own call of cuDNN's fused layer, an operator
#   that PyTorch's documentation does not list.

# %%
guess = {"best plan": None, "fallback": None, "torch.compile": None}

fused = chapter.measure.fused(guess)
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
# same comparison for a layer with 64 channels and 112 × 112 pixels, where this ratio is
# much lower.

# %%
guess = {"first plan": None, "torch.compile": None}

less = chapter.measure.less(guess)
less

# %% tags=["solution"]
less.expect("first plan", at_least=2, times="eager")
less.expect("first plan", at_least=1.2, times="torch.compile")
less.expect("first plan", at_least=0.9, times="conv alone")
less.expect("first plan", at_least=0.9, times="cudnn_convolution_relu")

# %% [markdown]
# ### How long a plan takes
#
# This table uses the host's clock. One row executes an existing plan; one builds a plan
# and executes it, as `conv_bias_relu` does; and one computes the layer with PyTorch,
# operation by operation.

# %%
guess = {"build and execute": None}

plans = chapter.measure.plans(guess)
plans

# %% tags=["solution"]
plans.expect("execute", at_least=15, times="build and execute")

# %% [markdown]
# ### Attention
#
# cuDNN also has engines for attention, which is another graph. PyTorch has a backend
# that builds it, so you need not build it by hand. The table compares three backends of
# `scaled_dot_product_attention` and the backend that PyTorch chooses (`default`) in the
# forward pass for 4 sequences of 4096 tokens with 16 heads of 128 numbers, in bfloat16.

# %%
guess = {"cuDNN": None, "memory-efficient": None}

attended = chapter.measure.attended(guess)
attended

# %% tags=["solution"]
attended.expect("cuDNN", at_least=1.5)
attended.expect("default", at_least=0.9, times="cuDNN")

# %% [markdown]
# ### If you want more
#
# - Write a binding for `cudnnConvolutionBackwardData`: its prototype is in NVIDIA's
#   manual. Which of its arguments does the function write to?
# - Add another input to the graph: y = relu(x ∗ w + bias + z), as in a residual block.
#   How many bytes of traffic does the fused kernel save now?
# - Build plans with `HeurMode.B` and with `HeurMode.FALLBACK`. How do the two lists
#   differ?

# %% [markdown]
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
