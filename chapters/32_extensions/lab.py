# %% [markdown]
# # 32 · Custom PyTorch operators
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/32_extensions.ipynb)
#
# **After this lab, you can**
#
# - turn a Numba kernel into an operator of PyTorch that works with any layout, on any
#   stream, under autograd, autocast and `torch.compile`;
# - write its fake, its backward, and the backward of its backward;
# - say byte by byte what a launch passes to the driver, and launch a Numba kernel
#   without Numba;
# - write a kernel and its launcher in CUDA C++ for `load_inline`;
# - compare Numba, CUDA C++ and Triton by what a *call* costs, and choose between them.
#
# **You need** about two and a half hours. You do not need a GPU: the exercises run in
# the simulator, and without a GPU the measurements show times from the reference GPU,
# an H200. If you use a GPU, it needs compute capability 7.5 or higher. The C++ parts
# also need CUDA's compiler, `nvcc`; without it, the rows for C++ are left out.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import math
import struct
from typing import NamedTuple

import numpy as np
import torch
from numba import cuda, float32

from weft import bench, check, current_stream, hint, quiz

chapter = weft.lab("32_extensions")
checks, looks, measure = chapter.checks, chapter.looks, chapter.measure
flat, launched = chapter.kernels.flat, chapter.kernels.launched
contiguous_fake = chapter.kernels.contiguous_fake
over_rows = chapter.kernels.over_rows
poly_kernel = chapter.kernels.poly_kernel
tile_sums_kernel = chapter.kernels.tile_sums_kernel
slope_kernel = chapter.kernels.slope_kernel
bias_gelu_kernel = chapter.kernels.bias_gelu_kernel
slope, gelu_slope = chapter.kernels.slope, chapter.kernels.gelu_slope
Vector = checks.Vector

DEVICE = "cuda" if weft.GPU else "cpu"

# %% [markdown]
# ## The operator
#
# The running example is a **polynomial activation**, $P(x) = a x^3 + b x$, applied to
# every element of a tensor. Its kernel, `poly_kernel(x, a, b, out)`, is an ordinary
# one, in which each thread computes one element. All arrays have one dimension. The
# kernel has two signatures, since gradients are tested in double precision. The kernels
# of this lab are in `chapters/32_extensions/kernels.py`.

# %% [markdown]
# ## 1 · From a kernel to an operator
#
# `torch.library.custom_op` turns a Python function into an operator. The function's
# type annotations become the **schema**, here `poly_forward(Tensor x, float a, float b)
# -> Tensor`. `mutates_args=()` promises that no argument is changed. `device_types`
# says where the function can run; a tensor on another device then causes an error, and
# the kernel never gets an address that it cannot read. The function itself allocates
# the result and launches the kernel. Three things make an operator reliable:
#
# - **Layout.** A caller may pass any strides. PyTorch's own elementwise operators
#   return a result in the layout of the input, so that channels-last stays
#   channels-last. `torch.empty_like(x)` does this for you: if the elements of `x` fill
#   their memory without gaps or overlaps, the result has the strides of `x`. Otherwise
#   the result gets strides without gaps. An elementwise kernel does not care about the
#   order of elements, as long as input and output agree on it.
# - **Stream.** PyTorch works on its *current stream*, which is the default stream
#   unless the program selects another one, `with torch.cuda.stream(...)`.
#   `current_stream()` returns the current stream for use in Numba's
#   `kernel[grid, block, stream]`. (Without a GPU, it returns 0.)
# - **Emptiness.** A tensor may have no elements, and a launch with no blocks is an
#   error.
#
# ```python
# poly_forward(x, a, b)    # x: any shape and strides -> the same, in x's layout
# ```
#
# `flat(x)` gives you the elements in the order of memory, for tensors without gaps. It
# does *not* check for gaps. Numba refuses a tensor that requires a gradient, even
# inside an operator. `x.detach()` returns the same elements without that requirement;
# in this exercise, no `x` has it. The fake, which the next exercise explains, is
# already given: it promises the layout of `torch.empty_like(x)`. Stuck? Run
# `hint("poly_forward")`; there are three hints.

# %%
@torch.library.custom_op(
    "lab32::poly_forward", mutates_args=(), device_types=DEVICE
)
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    # about 6 lines
    # BEGIN SOLUTION
    result = torch.empty_like(x)
    if x.stride() != result.stride():  # gaps or overlaps: a copy without them
        x = torch.empty_like(x).copy_(x)
    if x.numel() > 0:
        grid = -(-x.numel() // 256)
        poly_kernel[grid, 256, current_stream()](flat(x), a, b, flat(result))
    return result
    # END SOLUTION


@poly_forward.register_fake
def _(x, a, b):
    return torch.empty_like(x)

# %%
check(
    poly_forward,
    spec=checks.poly_spec,
    because=checks.EXCHANGED,
    inputs=checks.poly_inputs,
    sizes=[(0, 3), (1, 5), (13, 41)],
    gradient=False,
    launches=True,
    stream=True,
    full=(1000, 1001),
)

# %% [markdown] tags=["solution"]
# The result of `torch.empty_like(x)` tells you whether `x` has gaps: if the result has
# the strides of `x`, then `x` has neither gaps nor overlaps, and the two flat views
# list the elements in the same order. Only an expanded or sliced tensor is copied, and
# the copy gets the strides of the result.
#
# With `x.contiguous()`, the numbers would be right as well. But it copies every
# transposed and every channels-last tensor, and the result then has strides that differ
# from those that the fake has promised.

# %% [markdown]
# ## 2 · Fake tensors
#
# When `torch.compile` traces your code, there are no numbers yet, only **fake tensors**
# with a shape, strides, a dtype and a device. Your kernel cannot run on them. So every
# operator has a second implementation, its **fake**, which computes the same properties
# of the result, but no numbers. The compiler trusts the fake: it allocates and indexes
# memory accordingly.
#
# Here is an operator whose result has a different shape from its input. It cuts a
# matrix into tiles of `rows` rows (the last tile may be smaller), and adds up the
# columns of each tile. The result is float32, whatever the dtype of the input.
#
# | x | rows | result |
# | --- | --- | --- |
# | (6, 40) float32 | 3 | (2, 40) float32 |
# | (7, 40) float32 | 3 | (3, 40) float32 |
# | (7, 40) float64 | 100 | (1, 40) float32 |
#
# Write its fake. While shapes are traced, `x.shape[0]` may be a symbol instead of a
# number. Integer arithmetic with `+`, `-`, `*` and `//` works for symbols in every
# version of PyTorch. `x.new_empty(shape, dtype=...)` makes a tensor on the device of
# `x`. Stuck? `hint("tile_sums")`.

# %%
@torch.library.custom_op(
    "lab32::tile_sums", mutates_args=(), device_types=DEVICE
)
def tile_sums(x: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the column sums of each `rows` rows, in float32."""
    tiles = math.ceil(x.shape[0] / rows)
    out = torch.zeros((tiles, x.shape[1]), dtype=torch.float32, device=x.device)
    grid = math.ceil(x.shape[1] / 32), math.ceil(tiles / 2)
    tile_sums_kernel[grid, (32, 2), current_stream()](x.detach(), rows, out)
    return out


@tile_sums.register_fake
def tile_sums_fake(x, rows):
    """Return an empty tensor that looks like the result."""
    # about 2 lines
    # BEGIN SOLUTION
    tiles = (x.shape[0] + rows - 1) // rows
    return x.new_empty((tiles, x.shape[1]), dtype=torch.float32)
    # END SOLUTION

# %%
check(
    tile_sums,
    spec=checks.tile_sums_spec,
    inputs=checks.tile_sums_inputs,
    sizes=[(6, 4), (2, 33), (7, 5)],
    sized=lambda m, n: f"x {m} × {n}, rows = {checks.ROWS}",
    gradient=False,
    dtype="float32",
    limits={"graph_breaks": 0},
)

# %% [markdown] tags=["solution"]
# `new_empty` takes the device from `x`, and you state the dtype. On some versions of
# PyTorch, `math.ceil` would turn a symbolic size into a number, and the compiled code
# would then work for that size alone.

# %% [markdown]
# ## 3 · Backward
#
# The exercises that follow are about gradients. Their operators launch their kernels
# with `launched(kernel, tensors, *numbers)`, which makes everything contiguous, results
# included. Their fakes are `contiguous_fake`.
#
# PyTorch cannot differentiate a kernel. You supply the derivative, with two functions:
#
# - `keep(ctx, inputs, output)` runs after every forward. It saves what the backward
#   needs: tensors with `ctx.save_for_backward(...)`, anything else as an attribute of
#   `ctx`.
# - `backward(ctx, grad)` gets the gradient of the loss with respect to the *result*,
#   and returns one value per *input*: a gradient, or `None` for an input that has none,
#   such as a number.
#
# The derivative of $a x^3 + b x$ is $3 a x^2 + b$, so the gradient with respect to $x$
# is `grad` $\cdot\, (3 a x^2 + b)$. This calls for a second kernel. `torch.compile`
# also traces `backward`, so the second kernel has to be in an operator as well,
# `slope(grad, x, a, b)`. This operator is given.
#
# Write `keep` and `backward`. The check compares your gradients with those of the
# formula, for several incoming gradients, one of which is the expanded tensor that
# `sum()` passes back. The check also runs `torch.library.opcheck` and
# `torch.autograd.gradcheck`, and compiles the operator. Stuck? `hint("poly")`.

# %%
@torch.library.custom_op("lab32::poly", mutates_args=(), device_types=DEVICE)
def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x."""
    return launched(poly_kernel, [x], a, b)


poly.register_fake(contiguous_fake)


def keep(ctx, inputs, output):
    """Save what the backward needs; inputs: x, a, b."""
    # about 2 lines
    # BEGIN SOLUTION
    x, ctx.a, ctx.b = inputs
    ctx.save_for_backward(x)
    # END SOLUTION


def backward(ctx, grad):
    """Return the gradients of x, a and b."""
    # about 2 lines
    # BEGIN SOLUTION
    (x,) = ctx.saved_tensors
    return slope(grad, x, ctx.a, ctx.b), None, None
    # END SOLUTION


poly.register_autograd(backward, setup_context=keep)

# %%
check(
    poly,
    spec=checks.poly_spec,
    because_gradient=checks.POWERS,
    inputs=checks.poly_inputs,
    sizes=[(0, 3), (2, 3), (9, 31)],
    launches=True,
    stream=True,
    limits={"graph_breaks": 0},
    full=(1000, 1001),
)

# %% [markdown] tags=["solution"]
# `save_for_backward` does more than store tensors. It notices when a saved tensor is
# changed in place before the backward pass runs, and it avoids reference cycles.
# Numbers need neither.
#
# Here the input has to be saved, because $x$ cannot be recovered from $P(x)$. Saving it
# is usually free, because the previous layer keeps `x` in memory anyway.

# %% [markdown]
# ## 4 · Backward of the backward
#
# Some losses contain a gradient, as in gradient penalties, physics-informed networks
# and meta-learning. Differentiating such a loss means differentiating *your backward*.
# Your backward calls `slope`, which PyTorch cannot differentiate either:

# %% tags=["folded"]
x = torch.tensor([1.0, 2.0], device=DEVICE, requires_grad=True)
try:
    (first,) = torch.autograd.grad(
        poly(x, 1.0, 0.0).sum(), x, create_graph=True
    )
    torch.autograd.grad(first.sum(), x)
except Exception as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")

# %% [markdown]
# The remedy needs no new idea. `slope` is an operator, so give it its own backward. Two
# of its inputs are tensors:
#
# $$s(g, x) = g \cdot (3 a x^2 + b)$$
#
# What are its derivatives with respect to $g$ and to $x$? Multiply each derivative by
# the incoming gradient `grad_out`. Here you may use PyTorch's operators on tensors
# instead of a kernel, since a backward of a backward is rarely where the time goes.
#
# This time you write everything after the signature. The cell defines the operator
# again, under the name `steep`. Launch `slope_kernel(grad, x, a, b, out)`, register a
# fake, write the backward and a function that saves what the backward needs, and
# register both. Then register the same two functions for `slope`, so that `poly`, too,
# can be differentiated twice. Stuck? `hint("steep")`.

# %%
@torch.library.custom_op("lab32::steep", mutates_args=(), device_types=DEVICE)
def steep(
    grad: torch.Tensor, x: torch.Tensor, a: float, b: float
) -> torch.Tensor:
    """Return grad · (3 a x² + b)."""
    # one line: the launch
    # BEGIN SOLUTION
    return launched(slope_kernel, [grad, x], a, b)
    # END SOLUTION


# about 14 lines: the fake, what is kept, the backward, and their registrations
# BEGIN SOLUTION
steep.register_fake(contiguous_fake)


def keep_steep(ctx, inputs, output):
    """Save what the backward needs; inputs: grad, x, a, b."""
    grad, x, ctx.a, ctx.b = inputs
    ctx.save_for_backward(grad, x)


def steep_backward(ctx, grad_out):
    """Return the gradients of grad, x, a and b."""
    grad, x = ctx.saved_tensors
    for_grad = steep(grad_out, x, ctx.a, ctx.b)
    for_x = grad_out * grad * (6 * ctx.a) * x
    return for_grad, for_x, None, None


steep.register_autograd(steep_backward, setup_context=keep_steep)
slope.register_autograd(steep_backward, setup_context=keep_steep)
# END SOLUTION

# %%
check(
    steep,
    spec=lambda grad, x, a, b: grad * (3 * a * x**2 + b),
    inputs=checks.steep_inputs,
    sizes=[(2, 3), (9, 31)],
    launches=True,
    limits={"graph_breaks": 0},
    also=(slope,),
)

# %% [markdown] tags=["solution"]
# The function is linear in `grad`, so the gradient with respect to `grad` is the same
# operator again. That is typical: a backward is always linear in the incoming gradient.
# And since `steep_backward` consists of operators that have gradients, it can itself be
# differentiated, as often as you like.

# %% [markdown]
# ## Try it: what the registrations buy

# %% [markdown]
# `gradcheck` compares gradients with finite differences in double precision, and
# `gradgradcheck` does the same for second derivatives. This is why the kernels have a
# second signature, for float64. The second test needs your registration for `slope`.

# %%
torch.manual_seed(32)
looks.derivatives(poly)

# %% [markdown]
# **Autocast** converts the arguments of operators it knows, but it does not know yours.
# Given a float16 tensor, the launch fails, because no signature fits. One line
# registers a rule: convert to float32 first.

# %%
torch.library.register_autocast("lab32::poly", DEVICE, torch.float32)
looks.half_precision(poly)

# %% [markdown]
# **Export** traces a model into one graph, in which your operator is a node like any
# other. Without the fake, the operator could not be traced.

# %%
looks.export(poly)

# %% [markdown]
# ## 5 · Bias and GELU
#
# Chapter 17 fused a bias and a GELU into one kernel: $\mathrm{gelu}(x + b)$, with a row
# of biases that is added to every row of a matrix. This operator has two tensor inputs
# that may need a gradient.
#
# - The gradient of `x` is `gelu_slope(grad, x, bias)`, an operator that is given.
# - `bias` has been **broadcast**. Every row has used the same $b_j$, and the
#   contributions of all rows add up, so the gradient of `bias` is a sum over the rows,
#   in the shape of `bias`.
# - In fine-tuning, biases or whole layers are frozen. `ctx.needs_input_grad` is a tuple
#   with a Boolean for each input. Compute only the gradients that are needed, and
#   return `None` for the others.
#
# Stuck? `hint("bias_gelu")`.

# %%
@torch.library.custom_op(
    "lab32::bias_gelu", mutates_args=(), device_types=DEVICE
)
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the GELU of x + bias; x: (m, n), bias: (n,)."""
    return over_rows(bias_gelu_kernel, x, bias)


bias_gelu.register_fake(contiguous_fake)


def keep_gelu(ctx, inputs, output):
    """Save what the backward needs; inputs: x, bias."""
    ctx.save_for_backward(*inputs)


def gelu_backward(ctx, grad):
    """Return the gradients of x and bias, None where none is needed."""
    # about 5 lines
    # BEGIN SOLUTION
    x, bias = ctx.saved_tensors
    for_x, for_bias = ctx.needs_input_grad
    through = gelu_slope(grad, x, bias)  # (m, n)
    return through if for_x else None, through.sum(0) if for_bias else None
    # END SOLUTION


bias_gelu.register_autograd(gelu_backward, setup_context=keep_gelu)

# %%
check(
    bias_gelu,
    spec=lambda x, bias: torch.nn.functional.gelu(x + bias),
    inputs=checks.gelu_inputs,
    sizes=[(1, 3), (5, 4), (11, 35)],
    tolerance=1e-5,
    launches=True,
    stream=True,
    frozen=True,
    limits={"graph_breaks": 0},
    full=(500, 601),
)

# %% [markdown] tags=["solution"]
# The backward of broadcasting is summing, and that of summing is broadcasting. What was
# repeated in the forward pass is added up in the backward pass. In formulas, this is
# the chain rule: $b_j$ appears in every row $i$, so its derivative is a sum over $i$.
#
# `through` is needed for both gradients, and the sum only for that of the bias. Chapter
# 17's backward kernel made partial sums in the same pass instead of reading `through`
# again.

# %% [markdown]
# ## 6 · The parameters of a launch
#
# All of these operators are correct. But what does a *call* cost? Numba's part is the
# largest. In every launch, Numba looks at the type of each argument, wraps each tensor
# in one of its own arrays, and builds a list of parameters. In our operator the types
# never change. What remains if most of this is done only once?
#
# In the end, every launch is a call of one function of the driver, `cuLaunchKernel`. It
# receives a handle to the kernel, the grid, the block, a stream, and the
# **parameters**: one block of memory, laid out as a C struct. For an array of one
# dimension, Numba passes seven 64-bit integers:
#
# | field | meaning | for 1000 float32 numbers |
# | --- | --- | --- |
# | `meminfo`, `parent` | not used on a GPU | 0, 0 |
# | `nitems`, `itemsize` | elements, bytes per element | 1000, 4 |
# | `data` | the address | e.g. 0x7f2a40000000 |
# | `shape` | elements | 1000 |
# | `strides` | bytes from one element to the next | 4 |
#
# The kernel's scalar arguments go between the arrays, in the order of its parameters.
# As in a C struct, a value of 4 bytes starts at a multiple of 4, a value of 8 bytes at
# a multiple of 8, and bytes are skipped where necessary.
#
# Write the function that lays out this struct. It gets the arguments in order. Each is
# a `Vector`, which has an `address`, a `length` and an `itemsize`; a Python `float`,
# which becomes a float32; or an `int`, which becomes an int64. Return a list of
# `(offset, kind, value)`, where `offset` is the position in bytes and `kind` is `"q"`
# for an int64 or `"f"` for a float32. A vector becomes seven such tuples. Stuck?
# `hint("parameters")`.
#
# ```python
# parameters([7, 0.5, 0.25, 9])
#     # -> [(0, "q", 7), (8, "f", 0.5), (12, "f", 0.25), (16, "q", 9)]
# parameters([7, 0.5, 9])
#     # -> [(0, "q", 7), (8, "f", 0.5), (16, "q", 9)], with 4 bytes skipped
# ```

# %%
def parameters(arguments):
    """Return (offset, kind, value) for each field of a launch's parameters."""
    # about 13 lines
    # BEGIN SOLUTION
    fields, at = [], 0
    for value in arguments:
        if isinstance(value, Vector):
            n, item = value.length, value.itemsize
            words = [0, 0, n, item, value.address, n, item]
        else:
            words = [value]
        kind, size = ("f", 4) if isinstance(value, float) else ("q", 8)
        at = (at + size - 1) // size * size
        for word in words:
            fields.append((at, kind, word))
            at += size
    return fields
    # END SOLUTION

# %%
check(
    parameters,
    spec=checks.c_struct,
    inputs=checks.random_arguments,
    same=checks.same_fields,
    without=("ctypes",),
)

# %% [markdown] tags=["solution"]
# Alignment is nothing more than rounding `at` up to a multiple of the size. Here only
# the first field after a float32 can need it, since all seven words of a vector have 8
# bytes.
#
# Python's `struct.pack` does this for you: in a format without a prefix, such as
# `"7qf7q"`, it aligns as C does. Packing each argument on its own and joining the
# pieces would leave out the gaps.

# %% [markdown]
# ## Try it: launches without Numba

# %% [markdown]
# ### In Python
#
# On a GPU, this cell launches Numba's compiled kernel with your parameters. The code is
# in `chapters/32_extensions/launcher.py`. It reads the handle from private attributes
# of Numba, whose names may change. `ctypes.PyDLL` calls a C function without releasing
# Python's lock, which is right for a function that returns quickly.

# %%
chapter.launcher.without_numba(parameters)

# %% [markdown]
# `weft.prepare(kernel)` applies the same idea to any signature, in about two hundred
# lines of Python: it generates a function that packs the arguments into a buffer that
# each thread keeps, checks dtype, device and contiguity, and calls `cuLaunchKernel` on
# the current stream. The code is in `weft/launching.py`.
#
# The registration can be leaner, too. `custom_op` is convenient, but it wraps your
# function several times: to support devices that are registered later, and to redirect
# gradients. A `torch.library.Library` adds no such wrappers. You write the schema
# yourself, and register one function for one dispatch key (chapter 30). The polynomial
# as such an operator is in `chapters/32_extensions/prepared.py`.

# %%
numbers = torch.tensor([1.0, 2.0], device=DEVICE)
print(chapter.prepared.lean(numbers, 1.0, 0.5))

# %% [markdown]
# ### In C++
#
# The launch can also be written in C++. The kernel remains Numba's: C++ receives its
# handle as a number. What moves to C++ is the *host's* part, that is, everything that
# runs for each call. The code is `LAUNCHER_CPP` in
# `chapters/32_extensions/launcher.py`. Read it from the bottom:
#
# - `TORCH_LIBRARY` defines the schema, and `TORCH_LIBRARY_IMPL` registers a function
#   for a dispatch key, as `Library` does in Python.
# - `poly` allocates and launches. `CUDAGuard` makes the tensor's device the current
#   device, and `getCurrentCUDAStream()` returns the current stream.
# - `Parameters` is the struct of exercise 6, and the C++ compiler lays it out.
# - `Poly` is an autograd function. It is registered for the key `Autograd`, and is used
#   only if a gradient is needed.
#
# `KERNEL_CU` is the operator as PyTorch's documentation would have you write it, kernel
# included, in CUDA C++. `load_inline` compiles a string and loads the result. Of the
# options, `no_implicit_headers` matters most: by default, all of PyTorch's headers are
# included, and these take longer to compile than everything else.

# %% [markdown]
# ## 7 · A kernel and its launcher in CUDA C++
#
# Now write one yourself: $\max(x + b, 0)$ for a matrix and a row of biases. A source
# file for `load_inline` contains both the kernel and its launcher. These are their
# declarations, without `__global__`:
#
# ```cpp
# void bias_relu_kernel(const float *x, const float *bias, float *out,
#                       int64_t n, int64_t columns);
# at::Tensor bias_relu(const at::Tensor &x, const at::Tensor &bias);
# ```
#
# - The **kernel** computes element `i` of `n`, counted row by row. Its bias is
#   `bias[i % columns]`.
# - The **launcher** runs on the host. It may get *any* two tensors, and a kernel trusts
#   every address that it gets. `TORCH_CHECK(condition, message)` raises an exception if
#   the condition is false. Use it to refuse whatever the kernel cannot handle: tensors
#   that are not on the same GPU, types other than float32 (`at::kFloat`), other numbers
#   of dimensions, and a bias that is not as long as a row.
# - Tensors with any strides, and empty tensors, are valid inputs. The result is a new
#   tensor, `(m, n)` and contiguous.
# - Launch on the current stream of the tensors' GPU. After the launch,
#   `C10_CUDA_KERNEL_LAUNCH_CHECK()` checks whether it has failed.
#   `print(measure.KERNEL_CU)` shows the guard, the stream and the data pointers of
#   another operator.
#
# The check needs no GPU: it compiles the cell with a stand-in for PyTorch's headers, in
# which a launch runs its threads one after another, and calls the launcher with valid
# and invalid tensors. On a GPU with `nvcc` and `ninja`, `load_inline` then builds the
# extension, which takes about a minute. Stuck? `hint("bias_relu")`.

# %%
import weft.c  # lets a cell begin with %%c

# %% language="c" magic_args="bias_relu.cu"
# #include <ATen/core/Tensor.h>
# #include <ATen/ops/empty_like.h>
# #include <c10/cuda/CUDAException.h>
# #include <c10/cuda/CUDAGuard.h>
# #include <c10/cuda/CUDAStream.h>
#
# // about 25 lines
# // BEGIN SOLUTION
# __global__ void bias_relu_kernel(const float *x, const float *bias, float *out,
#                                  int64_t n, int64_t columns)
# {
#     int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
#
#     if (i < n)
#         out[i] = fmaxf(x[i] + bias[i % columns], 0);
# }
#
# at::Tensor bias_relu(const at::Tensor &x, const at::Tensor &bias)
# {
#     TORCH_CHECK(x.is_cuda(), "x is on ", x.device(), ", not on a GPU");
#     TORCH_CHECK(bias.device() == x.device(), "bias is on ", bias.device());
#     TORCH_CHECK(x.scalar_type() == at::kFloat, "x is ", x.scalar_type());
#     TORCH_CHECK(bias.scalar_type() == at::kFloat, "bias is not float32");
#     TORCH_CHECK(x.dim() == 2 && bias.dim() == 1, "not a matrix and a row");
#     TORCH_CHECK(bias.size(0) == x.size(1), "not as long as a row");
#
#     c10::cuda::CUDAGuard guard(x.device());
#     at::Tensor rows = x.contiguous(), row = bias.contiguous();
#     at::Tensor out = at::empty_like(rows);
#     int64_t n = rows.numel(), blocks = (n + 255) / 256;
#
#     if (n > 0) {
#         auto stream = c10::cuda::getCurrentCUDAStream();
#         bias_relu_kernel<<<blocks, 256, 0, stream>>>(
#             rows.const_data_ptr<float>(), row.const_data_ptr<float>(),
#             out.mutable_data_ptr<float>(), n, row.numel());
#         C10_CUDA_KERNEL_LAUNCH_CHECK();
#     }
#     return out;
# }
# // END SOLUTION

# %%
check(
    bias_relu,
    prototype=checks.BIAS_RELU_KERNEL,
    host="at::Tensor bias_relu(const at::Tensor &x, const at::Tensor &bias)",
    spec=lambda x, bias: np.maximum(x + bias, 0),
    inputs=checks.gelu_inputs,
    call=checks.kernel_arguments,
    refused=checks.misfits,
    sizes=[(2, 3), (0, 5), (13, 41), (40, 60)],
    launch=lambda m, n: (-(-m * n // 256), 256),
    full=(3000, 1001),
)

# %% [markdown] tags=["solution"]
# Each line before the launch answers a question that a kernel cannot ask.
# `const_data_ptr<float>()` compares the type as well, so the two checks of
# `scalar_type` only give a better message; with `(float *)x.data_ptr()` they would be
# all that stands between the kernel and the bytes of another type. The guard matters
# for programs with several GPUs: `getCurrentCUDAStream()` then belongs to the tensors'
# GPU, and so does the launch.

# %% [markdown]
# ## Measure: what a call costs
#
# Each row times 100 calls on 1000 numbers, including the host's work. All rows are
# operators with the same schema, apart from the first three.
#
# - `torch.add`, one of PyTorch's own operators, adds two tensors of this size.
# - `formula` is `(a * x * x + b) * x`, and `formula, compiled` is what `torch.compile`
#   makes of it.
# - `Numba, custom_op` is your operator of exercise 1.
# - `Numba, Library` has the same launch, but is registered with `Library`.
# - `Numba, prepared` is registered with `Library`, and launched by `weft.prepare`.
# - `Numba, C++ launcher` is Numba's kernel, launched by C++.
# - `CUDA C++` has its kernel in C++ as well.
# - `Triton, triton_op` is registered with `torch.library.triton_op`, which lets
#   `torch.compile` look inside; `Triton` is registered with `Library`.
#
# The first cell compiles the C++. Fill in your guesses, as multiples of the speed of
# CUDA C++.

# %% tags=["folded"]
if weft.has_tools("g++", "ninja"):
    BUILT = measure.built()
else:
    BUILT = False

# %%
guess = {"Numba, custom_op": None, "Numba, C++ launcher": None, "Triton": None}

overhead = measure.overhead(poly_forward, BUILT, guess)
overhead

# %% tags=["solution"]
if BUILT or not weft.GPU:
    ours = "Numba, C++ launcher"
    overhead.expect(ours, at_least=1 / 1.3, times="CUDA C++")
    overhead.expect(ours, at_least=1 / 1.3, times="Triton")
    overhead.expect(ours, at_least=6, times="Numba, custom_op")
    overhead.expect(ours, at_least=1.15, times="Numba, prepared")
overhead.expect("Numba, Library", at_least=1.1, times="Numba, custom_op")
overhead.expect("Numba, prepared", at_least=2, times="Numba, Library")
overhead.expect("Triton", at_least=1.2, times="Triton, triton_op")

# %% [markdown] tags=["solution"]
# The kernel is the same in all of Numba's rows, and so is the result. With the launch
# in C++, a call of Numba's kernel costs little more than a call of the CUDA C++ kernel.
# The host's part of both is nearly the same C++, but only ours has a key for autograd,
# for example. What a call costs is decided by what its launcher does at each call: the
# prepared launch is also Python, and far faster than Numba's own.

# %% [markdown]
# ## More measurements
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### With a gradient
#
# Now `x` requires a gradient, and each row times 100 forward and 100 backward passes.
# `Python` is the prepared operator with `register_autograd`; `C++` is the one whose
# autograd function is in C++. Both launch the same two Numba kernels.

# %%
with_gradient = measure.with_gradient(BUILT)
with_gradient

# %% tags=["solution"]
if BUILT or not weft.GPU:
    with_gradient.expect("C++", at_least=1.05, times="Python")

# %% [markdown]
# ### In a CUDA graph
#
# A CUDA graph records launches once and replays them without the host's part (chapter
# 17). It records what is launched on the stream that is being captured, which is the
# current one. All of your operators launch there.

# %%
graphs = measure.graphs(poly_forward, BUILT)
graphs

# %% tags=["solution"]
graphs.expect("Numba, prepared", at_least=0.8, times="Numba, custom_op")
if BUILT or not weft.GPU:
    graphs.expect("Numba, custom_op", at_least=0.8, times="CUDA C++")

# %% [markdown] tags=["solution"]
# In a graph, it no longer matters how a kernel was launched during the recording. Only
# the kernel is left.

# %% [markdown]
# ### No graph breaks
#
# With `fullgraph=True`, a graph break is an error. In this way, the last test compiles
# the operator that is launched in C++, or the prepared operator if there is no
# compiler.

# %%
looks.compiled(BUILT)

# %% [markdown]
# ### If you want more
#
# - Make an in-place version, `poly_(x, a, b) -> None` with `mutates_args=("x",)`, and
#   `check` it with `gradient=False`. What does `opcheck` say if you leave
#   `mutates_args` empty?
# - Register a batching rule with `torch.library.register_vmap`, and compare
#   `torch.vmap(poly)` with a loop.
# - Let `gelu_backward` launch one kernel that also computes partial sums for the bias,
#   as in chapter 17, and give its schema two results. What does its fake return?
# - Give `LAUNCHER_CPP` a function `apply(int kernel, Tensor[] inputs, float[] numbers)`
#   that launches *any* elementwise Numba kernel. How much time do the lists add per
#   call?
# - Compile your kernel ahead of time with `numba.cuda.compile_ptx`, load the PTX with
#   `cuModuleLoadData`, and launch it on a machine without Numba.

# %% [markdown]
# ## What you learned
#
# 1. An operator consists of a schema, a kernel per device, a fake and a gradient. Other
#    code relies on each of them, and each can be tested.
# 2. An elementwise operator keeps the layout of its input, launches on the current
#    stream, and handles empty tensors.
# 3. A backward calls operators. If these have a backward as well, gradients of
#    gradients work; if they have a fake, so does `torch.compile`.
# 4. A launch is one call of the driver with a C struct. What Numba adds is flexibility,
#    and where types are fixed you can do without it.
# 5. A launcher in C++ checks what a kernel cannot: device, type, sizes. It launches on
#    the current stream, and checks whether the launch has failed.
# 6. What a call costs depends on what its launcher does at each call, not on the
#    language of the kernel. In a CUDA graph, neither matters.

# %%
quiz()
