# %% [markdown]
# # 32 · Extensions
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
# - compare Numba, CUDA C++ and Triton by what a *call* costs, and choose between them.
#
# **You need** about two hours. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher. The C++ parts also
# need CUDA's compiler, `nvcc`; without it, the rows for C++ are left out.

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

weft.lab("32_extensions")
DEVICE = "cuda" if weft.GPU else "cpu"

# %% [markdown]
# ## The operator
#
# The running example is a **polynomial activation**, $P(x) = a x^3 + b x$, applied to
# every element of a tensor. Its kernel is an ordinary one. It has two signatures
# because gradients are tested in double precision.

# %% tags=["given"]
single = "void(float32[::1], float32, float32, float32[::1])"


@cuda.jit([single, single.replace("float32", "float64")])
def poly_kernel(x, a, b, out):
    """Write a x³ + b x into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = (a * x[i] * x[i] + b) * x[i]


# %% [markdown]
# ## 1 · From a kernel to an operator
#
# `torch.library.custom_op` turns a Python function into an operator. The function's
# type annotations become the **schema**, here `poly_forward(Tensor x, float a, float b)
# -> Tensor`. `mutates_args=()` promises that no argument is changed. `device_types`
# says where the function can run; a tensor on another device then causes an error,
# instead of passing an address that the kernel cannot read. The function itself
# allocates the result and launches the kernel. Three things make an operator reliable:
#
# - **Layout.** A caller may pass any strides. PyTorch's own elementwise operators
#   return a result in the layout of the input, so that channels-last stays
#   channels-last. `torch.empty_like(x)` does this for you: if the elements of `x` fill
#   their memory without gaps or overlaps, the result has the strides of `x`. Otherwise
#   the result gets strides without gaps. An elementwise kernel does not care about the
#   order of elements, as long as input and output agree on it.
# - **Stream.** PyTorch works on its *current stream*, which is the default stream
#   unless someone writes `with torch.cuda.stream(...)`. `current_stream()` returns the
#   current stream for use in Numba's `kernel[grid, block, stream]`. (Without a GPU, it
#   returns 0.)
# - **Emptiness.** A tensor may have no elements, and a grid of no blocks is an error.
#
# ```python
# poly_forward(x, a, b)    # x: any shape and strides -> the same, in x's layout
# ```
#
# `flat` gives you the elements in the order of memory, for tensors without gaps. It
# does *not* check that there are none. The fake, which the next exercise explains, is
# already given: it promises the layout of `torch.empty_like(x)`. Stuck? Run
# `hint("poly_forward")`; there are three hints.


# %% tags=["given"]
def flat(x):
    """Return the elements of a tensor without gaps, in the order of memory."""
    return x.as_strided((x.numel(),), (1,))


# %% tags=["given"]
def poly_spec(x, a, b):
    """Return a x³ + b x."""
    return a * x**3 + b * x


def poly_inputs(rng, *shape):
    """Return a tensor's numbers, and two coefficients."""
    return rng.uniform(-2, 2, shape).astype(np.float32), 0.5, -1.25


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
    spec=poly_spec,
    inputs=poly_inputs,
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
# ## 2 · The fake: everything but the numbers
#
# When `torch.compile` traces your code, there are no numbers yet, only **fake tensors**
# with a shape, strides, a dtype and a device. Your kernel cannot run on them. So every
# operator has a second implementation, its **fake**, which makes the result from these
# properties alone. The compiler trusts the fake: it allocates and indexes memory
# accordingly.
#
# Here is an operator whose result looks different from its input. It cuts a matrix into
# tiles of `rows` rows, of which the last may be smaller, and adds up the columns of
# each tile. The result is float32, whatever the dtype of the input.
#
# | x | rows | result |
# | --- | --- | --- |
# | (6, 40) float32 | 3 | (2, 40) float32 |
# | (7, 40) float32 | 3 | (3, 40) float32 |
# | (7, 40) float64 | 100 | (1, 40) float32 |
#
# Write its fake. While shapes are traced, `x.shape[0]` may be a symbol instead of a
# number, so stay with integer arithmetic: `+`, `-`, `*`, `//`. `x.new_empty(shape,
# dtype=...)` makes a tensor on the device of `x`. Stuck? `hint("tile_sums")`.


# %% tags=["given"]
@cuda.jit
def tile_sums_kernel(x, rows, out):
    """Write the column sums of each tile of x into a row of out."""
    col, tile = cuda.grid(2)

    if col < x.shape[1] and tile < out.shape[0]:
        total = float32(0)
        for row in range(tile * rows, min((tile + 1) * rows, x.shape[0])):
            total += float32(x[row, col])
        out[tile, col] = total


def tile_sums_spec(x, rows):
    """Return the column sums of each tile."""
    starts = range(0, len(x), rows)
    return np.stack([x[i : i + rows].sum(0) for i in starts])


def tile_sums_inputs(rng, m, n):
    """Return a matrix, and the rows of a tile."""
    return rng.uniform(-1, 1, (m, n)).astype(np.float32), 3


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
    spec=tile_sums_spec,
    inputs=tile_sums_inputs,
    sizes=[(6, 4), (2, 33), (7, 5)],
    gradient=False,
    dtype="float32",
    limits={"graph_breaks": 0},
)

# %% [markdown] tags=["solution"]
# `new_empty` takes the device from `x`, and you state the dtype. On some versions of
# PyTorch, `math.ceil` would turn a symbolic size into a number, and the compiled code
# would then work for that size alone.

# %% [markdown]
# ## A shorter launch
#
# The exercises that follow are about gradients. Their operators launch their kernels
# with this function, which makes everything contiguous, results included.


# %% tags=["given"]
def launched(kernel, tensors, *numbers):
    """Launch an elementwise kernel, and return its result, contiguous."""
    given = [tensor.detach().contiguous() for tensor in tensors]
    out = torch.empty_like(given[0])
    if out.numel():
        launch = -(-out.numel() // 256), 256, current_stream()
        kernel[launch](*(x.view(-1) for x in given), *numbers, out.view(-1))
    return out


def contiguous_fake(x, *others):
    """Return an empty tensor that looks like what `launched` returns."""
    return torch.empty_like(x, memory_format=torch.contiguous_format)


# %% [markdown]
# ## 3 · Backward
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
# also traces `backward`, so the second kernel has to be in an operator as well. Here it
# is:


# %% tags=["given"]
double = single.replace("void(", "void(float32[::1], ")


@cuda.jit([double, double.replace("float32", "float64")])
def slope_kernel(grad, x, a, b, out):
    """Write grad · (3 a x² + b) into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = grad[i] * (float32(3) * a * x[i] * x[i] + b)


@torch.library.custom_op("lab32::slope", mutates_args=(), device_types=DEVICE)
def slope(
    grad: torch.Tensor, x: torch.Tensor, a: float, b: float
) -> torch.Tensor:
    """Return grad · (3 a x² + b)."""
    return launched(slope_kernel, [grad, x], a, b)


@slope.register_fake
def _(grad, x, a, b):
    return contiguous_fake(x)


# %% [markdown]
# `slope(grad, x, a, b)` is ready to be called. Write `keep` and `backward`. The check
# compares your gradients with those of the formula, for several incoming gradients, one
# of which is the expanded tensor that `sum()` passes back. The check also runs
# `torch.library.opcheck` and `torch.autograd.gradcheck`, and compiles the operator.
# Stuck? `hint("poly")`.


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
    spec=poly_spec,
    inputs=poly_inputs,
    sizes=[(0, 3), (2, 3), (9, 31)],
    launches=True,
    stream=True,
    limits={"graph_breaks": 0},
    full=(1000, 1001),
)

# %% [markdown] tags=["solution"]
# `save_for_backward` does more than store tensors. It notices when a saved tensor is
# changed in place before the backward pass runs, and it keeps no reference cycle alive.
# Numbers need neither service.
#
# Here the input has to be saved, because $x$ cannot be recovered from $P(x)$. Saving it
# is usually free: `x` lives on anyway, in the previous layer.

# %% [markdown]
# ## 4 · Backward of the backward
#
# Some losses contain a gradient: penalties on the gradient's norm, physics-informed
# networks, meta-learning. Differentiating such a loss means differentiating *your
# backward*. Your backward calls `slope`, which PyTorch cannot differentiate either:

# %%
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
# What is its derivative with respect to $g$, and what is it with respect to $x$?
# Multiply each derivative by the incoming gradient `grad_out`. Here you may use
# PyTorch's operators on tensors instead of a kernel, since a backward of a backward is
# rarely where the time goes. The cell below defines the operator anew, as `steep`.
# Stuck? `hint("steep")`.


# %%
@torch.library.custom_op("lab32::steep", mutates_args=(), device_types=DEVICE)
def steep(
    grad: torch.Tensor, x: torch.Tensor, a: float, b: float
) -> torch.Tensor:
    """Return grad · (3 a x² + b)."""
    return launched(slope_kernel, [grad, x], a, b)


steep.register_fake(contiguous_fake)


def keep_steep(ctx, inputs, output):
    """Save what the backward needs; inputs: grad, x, a, b."""
    # about 2 lines
    # BEGIN SOLUTION
    grad, x, ctx.a, ctx.b = inputs
    ctx.save_for_backward(grad, x)
    # END SOLUTION


def steep_backward(ctx, grad_out):
    """Return the gradients of grad, x, a and b."""
    # about 4 lines
    # BEGIN SOLUTION
    grad, x = ctx.saved_tensors
    for_grad = steep(grad_out, x, ctx.a, ctx.b)
    for_x = grad_out * grad * (6 * ctx.a) * x
    return for_grad, for_x, None, None
    # END SOLUTION


steep.register_autograd(steep_backward, setup_context=keep_steep)


# %% tags=["given"]
def steep_inputs(rng, *shape):
    """Return two tensors' numbers, and two coefficients."""
    grad = rng.uniform(-1, 1, shape).astype(np.float32)
    return grad, *poly_inputs(rng, *shape)


# %%
check(
    steep,
    spec=lambda grad, x, a, b: grad * (3 * a * x**2 + b),
    inputs=steep_inputs,
    sizes=[(2, 3), (9, 31)],
    launches=True,
    limits={"graph_breaks": 0},
)

# %% [markdown] tags=["solution"]
# The function is linear in `grad`, so the gradient with respect to `grad` is the same
# operator again. That is typical: a backward is always linear in the incoming gradient.
# And since `steep_backward` consists of operators that have gradients, it can itself be
# differentiated, as often as you like.

# %% [markdown]
# ## Try it: what the registrations buy
#
# Your two functions fit `slope` as well. Once they are registered for `slope`, `poly`
# is differentiable twice. PyTorch has a test for second derivatives, `gradgradcheck`,
# which compares them with finite differences in double precision. This is what the
# second signature of the kernels is for.

# %%
slope.register_autograd(steep_backward, setup_context=keep_steep)


def attempt(title, test):
    """Print what a test says, or its error."""
    try:
        print(f"{title:24}{test()}")
    except Exception as error:
        first = str(error).strip().splitlines()[0][:50]
        print(f"{title:24}{type(error).__name__}: {first}")


def doubles(*shape):
    """Return random numbers in double precision that require a gradient."""
    made = torch.rand(shape, dtype=torch.float64, device=DEVICE)
    return made.requires_grad_(True)


torch.manual_seed(32)
curve = lambda x: poly(x, 0.5, -1.25)  # noqa: E731
attempt("gradcheck", lambda: torch.autograd.gradcheck(curve, doubles(5)))
attempt(
    "gradgradcheck", lambda: torch.autograd.gradgradcheck(curve, doubles(5))
)

# %% [markdown]
# **Autocast** converts the arguments of operators it knows, but it does not know yours.
# Given a float16 tensor, the launch fails, because no signature fits. One line
# registers the rule to convert to float32 first.

# %%
torch.library.register_autocast("lab32::poly", DEVICE, torch.float32)
half = torch.tensor([1.0, 2.0], dtype=torch.float16, device=DEVICE)
attempt("without autocast", lambda: poly(half, 1.0, 0.0).dtype)
with torch.autocast(DEVICE):
    attempt("with autocast", lambda: poly(half, 1.0, 0.0).dtype)

# %% [markdown]
# **Export** traces a model into one graph, in which your operator is a node like any
# other. Without the fake, the operator could not be traced.


# %%
class Model(torch.nn.Module):
    def forward(self, x):
        return poly(2 * x, 0.5, -1.25).sum(0)


def exported():
    """Return the operators in the graph of an exported model."""
    example = torch.rand(4, 3, device=DEVICE)
    program = torch.export.export(Model(), (example,))
    called = [node.target for node in program.graph.nodes]
    return [str(each) for each in called if "." in str(each)]


attempt("exported", exported)

# %% [markdown]
# ## 5 · Bias and GELU
#
# Chapter 17 fused a bias and a GELU into one kernel: $\mathrm{gelu}(x + b)$, with a row
# of biases that is added to every row of a matrix. This operator has two tensor inputs
# that may need a gradient.
#
# - The gradient of `x` is `gelu_slope(grad, x, bias)`, an operator that is ready below.
# - `bias` has been **broadcast**. Every row has used the same $b_j$, and the
#   contributions of all rows add up, so its gradient is a sum, in the shape of `bias`.
#   (If you return the unsummed matrix, PyTorch 2.13 sums it. Sum it yourself all the
#   same.)
# - In fine-tuning, biases or whole layers are frozen. `ctx.needs_input_grad` is a tuple
#   with a boolean for each input. Compute only the gradients that are needed, and
#   return `None` for the others.
#
# Stuck? `hint("bias_gelu")`.


# %% tags=["given"]
@cuda.jit
def bias_gelu_kernel(x, bias, out):
    """Write the GELU of x + bias into out."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        z = x[row, col] + bias[col]
        out[row, col] = (
            float32(0.5)
            * z
            * (float32(1) + math.erf(z * float32(0.7071067811865476)))
        )


@cuda.jit
def gelu_slope_kernel(grad, x, bias, out):
    """Write grad times the derivative of the GELU at x + bias into out."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        z = x[row, col] + bias[col]
        below = float32(0.5) * (
            float32(1) + math.erf(z * float32(0.7071067811865476))
        )
        bell = float32(0.3989422804014327) * math.exp(float32(-0.5) * z * z)
        out[row, col] = grad[row, col] * (below + z * bell)


def over_rows(kernel, *tensors):
    """Launch a kernel with a thread per element, and return its result."""
    m, n = tensors[0].shape
    out = tensors[0].new_empty((m, n))
    launch = (-(-n // 32), -(-m // 8)), (32, 8), current_stream()
    kernel[launch](*(x.detach() for x in tensors), out)
    return out


@torch.library.custom_op(
    "lab32::gelu_slope", mutates_args=(), device_types=DEVICE
)
def gelu_slope(
    grad: torch.Tensor, x: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Return grad times the derivative of the GELU at x + bias."""
    return over_rows(gelu_slope_kernel, grad, x, bias)


gelu_slope.register_fake(contiguous_fake)


def gelu_spec(x, bias):
    """Return the GELU of x + bias."""
    return torch.nn.functional.gelu(x + bias)


def gelu_inputs(rng, m, n):
    """Return a matrix and a row."""
    x = rng.uniform(-2, 2, (m, n)).astype(np.float32)
    return x, rng.uniform(-1, 1, n).astype(np.float32)


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
    spec=gelu_spec,
    inputs=gelu_inputs,
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
# ## What is in a launch?
#
# All of these operators are correct. The next question is what a *call* costs. The
# kernel takes about a microsecond for a thousand numbers. Before the kernel starts, the
# host has work to do: Python, the dispatcher, the allocation of the result, and the
# launch itself.
#
# Numba's part is the largest. In every launch, Numba looks at the type of each
# argument, wraps each tensor in one of its own arrays, and builds a list of parameters.
# But in our operator the types never change. What remains if most of this is done only
# once?
#
# In the end, every launch is a call of one function of the driver, `cuLaunchKernel`. It
# receives a handle of the kernel, the grid, the block, a stream, and the
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
# As in a C struct, a value of 4 bytes is at a multiple of 4, a value of 8 bytes is at a
# multiple of 8, and bytes are skipped where necessary.
#
# ## 6 · The parameters of a launch
#
# Write the function that lays out this struct. It gets the arguments in order. Each is
# a `Vector`, which has the address, the length and the size of an element; a Python
# `float`, which becomes a float32; or an `int`, which becomes an int64. Return a list
# of `(offset, kind, value)`, where `offset` is the position in bytes and `kind` is
# `"q"` for an int64 or `"f"` for a float32. A vector becomes seven such tuples.
#
# ```python
# parameters([7, 0.5, 0.25, 9])
#     # -> [(0, "q", 7), (8, "f", 0.5), (12, "f", 0.25), (16, "q", 9)]
# parameters([7, 0.5, 9])
#     # -> [(0, "q", 7), (8, "f", 0.5), (16, "q", 9)], with 4 bytes skipped
# ```
#
# Stuck? `hint("parameters")`.


# %% tags=["given"]
class Vector(NamedTuple):
    """A contiguous array of one dimension on a GPU."""

    address: int
    length: int
    itemsize: int

    def __repr__(self):
        return f"Vector({self.address:#x}, {self.length}, {self.itemsize})"


def c_struct(arguments):
    """Return where a C compiler puts the arguments in a struct."""
    words = []
    for each in arguments:
        if type(each) is Vector:
            place, count, size = each
            words += [0, 0, count, size, place, count, size]
        else:
            words.append(each)
    kinds = ["f" if isinstance(word, float) else "q" for word in words]
    types = {"f": ctypes.c_float, "q": ctypes.c_int64}
    fields = [(f"field{k}", types[kind]) for k, kind in enumerate(kinds)]
    made = type("Parameters", (ctypes.Structure,), {"_fields_": fields})
    places = [getattr(made, name).offset for name, _ in fields]
    return list(zip(places, kinds, words, strict=True))


def random_arguments(rng):
    """Return the arguments of launches, some real and some random."""
    x, out = Vector(0x7000, 1000, 4), Vector(0x9000, 1000, 4)
    cases = [([7, 0.5, 0.25, 9],), ([7, 0.5, 9],), ([0.5],), ([x],)]
    cases += [([x, 0.5, -1.25, out],), ([x, 0.5, out],), ([1.5, x, 7, out],)]
    for _ in range(6):
        kinds = rng.integers(0, 3, rng.integers(2, 6))
        values = [
            Vector(int(rng.integers(1, 99)) * 256, int(rng.integers(1, 99)), 4),
            float(rng.integers(-8, 8)) / 4,
            int(rng.integers(0, 99)),
        ]
        cases.append(([values[kind] for kind in kinds],))
    return cases


WORDS = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")


def same_fields(got, wanted):
    """Return "" for the right fields, or else what is wrong with them."""
    if not isinstance(got, list | tuple):
        return "Return a list of (offset, kind, value)."
    got = [tuple(field) if isinstance(field, list) else field for field in got]
    for k, (one, two) in enumerate(zip(got, wanted, strict=False)):
        if one == two:
            continue
        if not isinstance(one, tuple) or len(one) != 3:
            return f"Entry {k} is not an (offset, kind, value)."
        if one[2] != two[2]:
            return f"Entry {k} has the value {one[2]}; it should be {two[2]}."
        if one[1] != two[1]:
            kinds = f"the kind {one[1]!r}; it should be {two[1]!r}"
            return f"Entry {k}, {one[2]}, has {kinds}."
        size = 4 if two[1] == "f" else 8
        return (
            f"Entry {k}, {one[2]}, has {size} bytes; a C compiler puts it "
            f"at byte {two[0]}, not {one[0]}."
        )
    if len(got) != len(wanted):
        return f"There should be {len(wanted)} entries, not {len(got)}."
    return ""


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
    spec=c_struct,
    inputs=random_arguments,
    same=same_fields,
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
# ## Try it: a launch without Numba
#
# On a GPU, this cell launches Numba's compiled kernel with your parameters. The cell
# reads the handle from private attributes of Numba, whose names may change.
# `ctypes.PyDLL` calls a C function without releasing Python's lock, which is right for
# a function that returns in a microsecond.


# %%
@cuda.jit(single)
def poly_single(x, a, b, out):
    """Write a x³ + b x into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = (a * x[i] * x[i] + b) * x[i]


def launch_by_hand(kernel, grid, block, arguments):
    """Launch a compiled kernel through the driver, with your parameters."""
    library = next(iter(kernel.overloads.values()))._codelibrary
    handle = ctypes.c_void_p(int(library.get_cufunc().handle))
    fields = parameters(arguments)
    at, kind, _ = fields[-1]
    data = bytearray(at + struct.calcsize(kind))
    for at, kind, value in fields:
        struct.pack_into(kind, data, at, value)
    data = bytes(data)
    size = ctypes.c_size_t(len(data))
    extra = (ctypes.c_void_p * 5)(  # names and values are those of cuda.h
        1,  # CU_LAUNCH_PARAM_BUFFER_POINTER
        ctypes.cast(data, ctypes.c_void_p),
        2,  # CU_LAUNCH_PARAM_BUFFER_SIZE
        ctypes.cast(ctypes.byref(size), ctypes.c_void_p),
        0,  # CU_LAUNCH_PARAM_END
    )
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    driver = ctypes.PyDLL("libcuda.so.1")
    shape = (grid, 1, 1, block, 1, 1, 0)
    return driver.cuLaunchKernel(handle, *shape, stream, None, extra)


if weft.on_gpu("there is no driver to call"):
    x = torch.linspace(-1, 1, 1000, device="cuda")
    out = torch.zeros_like(x)
    ours = [Vector(t.data_ptr(), t.numel(), 4) for t in (x, out)]
    try:
        error = launch_by_hand(
            poly_single, 4, 256, [ours[0], 0.5, -1.25, ours[1]]
        )
        right = torch.allclose(out, poly_spec(x, 0.5, -1.25))
        print(f"error {error}, result right: {right}")
    except TypeError:  # `parameters` returns nothing yet
        print("Solve exercise 6 first.")

# %% [markdown]
# `weft.prepare(kernel)` applies the same idea to any signature, in under two hundred
# lines of Python: it generates a function that packs the arguments into a buffer that
# each thread keeps, checks dtype, device and contiguity, and calls `cuLaunchKernel` on
# the current stream. The code is in `weft/launching.py`.
#
# The registration can be leaner, too. `custom_op` is convenient, but it wraps your
# function several times: to support devices that are registered later, and to redirect
# gradients. A `torch.library.Library` adds no such wrappers. You write the schema
# yourself, and register one function for one dispatch key (chapter 30).

# %%
KEY = "CUDA" if weft.GPU else "CPU"
library = None  # run again, the cell first forgets what it defined
library = torch.library.Library("lab32_lean", "DEF")
library.define("poly(Tensor x, float a, float b) -> Tensor")
library.define("plain(Tensor x, float a, float b) -> Tensor")
library.define("slope(Tensor grad, Tensor x, float a, float b) -> Tensor")

slope_single = cuda.jit(double)(slope_kernel.py_func)
launch_poly = weft.prepare(poly_single)
launch_slope = weft.prepare(slope_single)


def lean_poly(x, a, b):
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        launch_poly(-(-n // 256), 256, x, a, b, out)
    return out


def plain_poly(x, a, b):
    return launched(poly_single, [x], a, b)


def lean_slope(grad, x, a, b):
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        launch_slope(-(-n // 256), 256, grad, x, a, b, out)
    return out


registered = {"poly": lean_poly, "plain": plain_poly, "slope": lean_slope}
for name, function in registered.items():
    library.impl(name, function, KEY)
    torch.library.register_fake(f"lab32_lean::{name}", contiguous_fake)

lean = torch.ops.lab32_lean.poly.default
print(lean(torch.tensor([1.0, 2.0], device=DEVICE), 1.0, 0.5))

# %% [markdown]
# ## The launch in C++
#
# Now write the launch in C++. The kernel remains Numba's: C++ receives its handle as a
# number. What moves to C++ is the *host's* part, that is, all that runs for each call.
# Read the code from the bottom:
#
# - `TORCH_LIBRARY` defines the schema, and `TORCH_LIBRARY_IMPL` registers a function
#   for a dispatch key, as `Library` does in Python.
# - `poly` allocates and launches. `CUDAGuard` makes the tensor's device the current
#   device, and `getCurrentCUDAStream()` returns the current stream.
# - `Parameters` is the struct of exercise 6, and the C++ compiler lays it out.
# - `Poly` is an autograd function. It is registered for the key `Autograd`, and is used
#   only if a gradient is needed.

# %%
LAUNCHER_CPP = r"""
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Vector {
  int64_t meminfo = 0, parent = 0, items, itemsize = 4;
  void* data;
  int64_t shape, stride = 4;
  Vector(const Tensor& x)
      : items(x.numel()), data(x.data_ptr()), shape(x.numel()) {}
};
struct Parameters { Vector x; float a, b; Vector out; };
struct SlopeParameters { Vector grad, x; float a, b; Vector out; };

CUfunction poly_kernel, slope_kernel;

void use(int64_t poly, int64_t slope) {
  poly_kernel = reinterpret_cast<CUfunction>(poly);
  slope_kernel = reinterpret_cast<CUfunction>(slope);
}

template <typename T>
void launch(CUfunction kernel, int64_t n, T parameters) {
  if (n == 0) return;
  size_t size = sizeof(parameters);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUresult error = cuLaunchKernel(
      kernel, (n + 255) / 256, 1, 1, 256, 1, 1, 0,
      c10::cuda::getCurrentCUDAStream(), nullptr, extra);
  TORCH_CHECK(error == CUDA_SUCCESS, "cuLaunchKernel: error ", int(error));
}

Tensor checked(const Tensor& x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "float32, not ", x.scalar_type());
  return x.contiguous();
}

Tensor poly(const Tensor& given, double a, double b) {
  c10::cuda::CUDAGuard guard(given.device());
  Tensor x = checked(given), out = at::empty_like(x);
  launch(poly_kernel, x.numel(), Parameters{x, float(a), float(b), out});
  return out;
}

Tensor slope(const Tensor& g, const Tensor& given, double a, double b) {
  c10::cuda::CUDAGuard guard(given.device());
  Tensor grad = checked(g), x = checked(given), out = at::empty_like(x);
  launch(slope_kernel, x.numel(),
         SlopeParameters{grad, x, float(a), float(b), out});
  return out;
}

template <typename F>
auto find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>();
}

Tensor call_poly(const Tensor& x, double a, double b) {
  static auto op = find<decltype(poly)>("lab32_cpp::poly");
  at::AutoDispatchBelowADInplaceOrView below;
  return op.call(x, a, b);
}

struct Poly : torch::autograd::Function<Poly> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double a,
                        double b) {
    ctx->save_for_backward({x});
    ctx->saved_data["a"] = a;
    ctx->saved_data["b"] = b;
    return call_poly(x, a, b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    static auto op = find<decltype(slope)>("lab32_cpp::slope");
    return {op.call(grads[0], ctx->get_saved_variables()[0],
                    ctx->saved_data["a"].toDouble(),
                    ctx->saved_data["b"].toDouble()),
            Tensor(), Tensor()};
  }
};

Tensor poly_autograd(const Tensor& x, double a, double b) {
  bool record = at::GradMode::is_enabled() && x.requires_grad();
  return record ? Poly::apply(x, a, b) : call_poly(x, a, b);
}

TORCH_LIBRARY(lab32_cpp, m) {
  m.def("poly(Tensor x, float a, float b) -> Tensor");
  m.def("slope(Tensor grad, Tensor x, float a, float b) -> Tensor");
  m.def("use(int poly, int slope) -> ()", &use);
}
TORCH_LIBRARY_IMPL(lab32_cpp, CUDA, m) {
  m.impl("poly", &poly);
  m.impl("slope", &slope);
}
TORCH_LIBRARY_IMPL(lab32_cpp, Autograd, m) { m.impl("poly", &poly_autograd); }
"""

# %% [markdown]
# And here is the operator as PyTorch's documentation would have you write it, kernel
# included, in CUDA C++:

# %%
KERNEL_CU = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

__global__ void poly_kernel(const float* x, float a, float b, float* out,
                            int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;

  if (i < n) out[i] = (a * x[i] * x[i] + b) * x[i];
}

at::Tensor poly(const at::Tensor& given, double a, double b) {
  TORCH_CHECK(given.scalar_type() == at::kFloat, "float32 is needed");
  c10::cuda::CUDAGuard guard(given.device());
  at::Tensor x = given.contiguous(), out = at::empty_like(x);
  int64_t n = x.numel();
  if (n > 0) {
    poly_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.const_data_ptr<float>(), a, b, out.mutable_data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

TORCH_LIBRARY(lab32_cuda, m) {
  m.def("poly(Tensor x, float a, float b) -> Tensor");
}
TORCH_LIBRARY_IMPL(lab32_cuda, CUDA, m) { m.impl("poly", &poly); }
"""

# %% [markdown]
# `load_inline` compiles a string and loads the result. Of the options,
# `no_implicit_headers` matters most: by default, all of PyTorch's headers are included,
# and that alone takes a minute.


# %%
def build(name, cpp="", cu=""):
    """Compile and load C++ or CUDA C++; return whether that worked."""
    from torch.utils.cpp_extension import CUDA_HOME, load_inline

    if CUDA_HOME is None:
        print(f"{name}: skipped, since there is no nvcc here")
        return False
    options = {"no_implicit_headers": True, "is_python_module": False}
    if cu:
        load_inline(name, cpp_sources="", cuda_sources=cu, **options)
    else:
        flags = [f"-L{CUDA_HOME}/lib64/stubs", "-lcuda"]
        load_inline(name, cpp, with_cuda=True, extra_ldflags=flags, **options)
    print(f"{name}: built")
    return True


def handle_of(kernel):
    """Return the driver's number for a compiled kernel."""
    overload = next(iter(kernel.overloads.values()))
    return int(overload._codelibrary.get_cufunc().handle)


BUILT = weft.on_gpu("nothing to launch from C++") and (
    build("lab32_cpp", cpp=LAUNCHER_CPP) and build("lab32_cuda", cu=KERNEL_CU)
)
if BUILT:
    torch.ops.lab32_cpp.use(handle_of(poly_single), handle_of(slope_single))
    torch.library.register_fake("lab32_cpp::poly", contiguous_fake)
    torch.library.register_fake("lab32_cpp::slope", contiguous_fake)

# %% [markdown]
# ## Measure: what a call costs
#
# Each row makes 100 calls with 1000 numbers, and the time includes the host's work. All
# rows are operators with the same schema, apart from the first three.
#
# - `torch.add`, one of PyTorch's own operators, adds two such tensors.
# - `formula` is `(a * x * x + b) * x`, and `formula, compiled` is what `torch.compile`
#   makes of it.
# - `Numba, custom_op` is your operator of exercise 1.
# - `Numba, Library` has the same launch, but is registered with `Library`.
# - `Numba, prepared` is registered with `Library`, and launched by `weft.prepare`.
# - `Numba, C++ launcher` is Numba's kernel, launched by the C++ above.
# - `CUDA C++` has its kernel in C++ as well.
# - `Triton, triton_op` is registered with `torch.library.triton_op`, which lets
#   `torch.compile` look inside, and `Triton` with `Library`.
#
# Fill in your guesses, as multiples of the speed of CUDA C++.


# %%
def triton_operators():
    """Return the polynomial in Triton, as two operators."""
    import triton
    import triton.language as tl

    @triton.jit
    def poly_program(x, a, b, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n)
        tl.store(out + i, (a * value * value + b) * value, mask=i < n)

    def through(wrap):
        def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
            x = x.contiguous()
            out = torch.empty_like(x)
            n = x.numel()
            if n:
                blocks = triton.cdiv(n, 256)
                wrap(poly_program)[(blocks,)](x, a, b, out, n, BLOCK=256)
            return out

        return poly

    wrapped = torch.library.triton_op("lab32_triton::wrapped", mutates_args=())
    lean = torch.library.Library("lab32_triton", "FRAGMENT")
    lean.define("lean(Tensor x, float a, float b) -> Tensor")
    lean.impl("lean", through(lambda program: program), "CUDA")
    triton_operators.library = lean  # lives as long as the operator is needed
    op = wrapped(through(torch.library.wrap_triton))
    return op, torch.ops.lab32_triton.lean.default


def hundred(call, *arguments):
    """Return a function that makes a hundred calls."""

    def run():
        for _ in range(100):
            call(*arguments)

    return run


def formula(x, a, b):
    return (a * x * x + b) * x


def calls():
    """Return what is timed, each of them tried."""
    x = torch.linspace(-1, 1, 1000, device="cuda")
    in_triton, lean_triton = triton_operators()
    operators = {
        "formula": formula,
        "formula, compiled": torch.compile(formula),
        "Numba, custom_op": poly_forward,
        "Numba, Library": torch.ops.lab32_lean.plain.default,
        "Numba, prepared": lean,
        "Triton, triton_op": in_triton,
        "Triton": lean_triton,
    }
    if BUILT:
        operators["CUDA C++"] = torch.ops.lab32_cuda.poly.default
        operators["Numba, C++ launcher"] = torch.ops.lab32_cpp.poly.default
    for name, operator in operators.items():
        right = torch.allclose(
            operator(x, 0.5, -1.25), poly_spec(x, 0.5, -1.25)
        )
        assert right, name
    timed = {"torch.add": hundred(torch.add, x, x)}
    return timed | {
        name: hundred(operator, x, 0.5, -1.25)
        for name, operator in operators.items()
    }


guess = {"Numba, custom_op": None, "Numba, C++ launcher": None, "Triton": None}
overhead = bench.compare(
    "100 calls, 1,000 numbers",
    calls,
    baseline="CUDA C++" if BUILT or not weft.GPU else "torch.add",
    guess=guess,
    host=True,
)
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
# in C++, a call of Numba's kernel costs about as much as a call of the CUDA C++ kernel.
# The host's part of both is the same C++, apart from a key for autograd that only ours
# has. What a call costs depends on the language of the launch, not on that of the
# kernel.

# %% [markdown]
# ## Measure: with a gradient
#
# Now `x` requires a gradient, and each row makes 100 forward and 100 backward passes.
# `Python` is the prepared operator with `register_autograd`; `C++` is the one whose
# autograd function is in C++. Both launch the same two Numba kernels.

# %%
torch.library.register_autograd(
    "lab32_lean::poly",
    lambda ctx, grad: (
        torch.ops.lab32_lean.slope.default(
            grad, *ctx.saved_tensors, ctx.a, ctx.b
        ),
        None,
        None,
    ),
    setup_context=lambda ctx, inputs, output: (
        ctx.save_for_backward(inputs[0]),
        setattr(ctx, "a", inputs[1]),
        setattr(ctx, "b", inputs[2]),
    ),
)


def steps():
    """Return forward and backward, a hundred times."""
    x = torch.linspace(-1, 1, 1000, device="cuda", requires_grad=True)
    grad = torch.ones_like(x)

    def step(function):
        out = function(x, 0.5, -1.25)
        return torch.autograd.grad(out, x, grad)[0]

    functions = {
        "formula": formula,
        "formula, compiled": torch.compile(formula),
        "Python": lean,
    }
    if BUILT:
        functions["C++"] = torch.ops.lab32_cpp.poly.default
    for name, function in functions.items():
        wanted = (1.5 * x * x - 1.25).detach()
        assert torch.allclose(step(function), wanted, atol=1e-5), name
    return {name: hundred(step, each) for name, each in functions.items()}


with_gradient = bench.compare(
    "100 steps, 1,000 numbers", steps, baseline="formula", host=True
)
with_gradient

# %% tags=["solution"]
if BUILT or not weft.GPU:
    with_gradient.expect("C++", at_least=1.05, times="Python")

# %% [markdown]
# ## Measure: in a CUDA graph
#
# A CUDA graph records launches once and replays them without the host's part (chapter
# 17). It records what is launched on the stream that is being captured, which is the
# current one. All of your operators launch there.


# %%
def in_graph():
    """Return calls that can be captured."""
    x = torch.linspace(-1, 1, 1000, device="cuda")
    operators = {"Numba, custom_op": poly_forward, "Numba, prepared": lean}
    if BUILT:
        operators["CUDA C++"] = torch.ops.lab32_cuda.poly.default
        operators["Numba, C++ launcher"] = torch.ops.lab32_cpp.poly.default
    return {
        name: lambda operator=operator: operator(x, 0.5, -1.25)
        for name, operator in operators.items()
    }


graphs = bench.compare(
    "in a CUDA graph, 1,000 numbers",
    in_graph,
    baseline="Numba, custom_op",
    graph=True,
)
graphs

# %% tags=["solution"]
graphs.expect("Numba, prepared", at_least=0.8, times="Numba, custom_op")
if BUILT or not weft.GPU:
    graphs.expect("Numba, custom_op", at_least=0.8, times="CUDA C++")

# %% [markdown] tags=["solution"]
# In a graph, it no longer matters how a kernel was launched during the recording. Only
# the kernel is left.

# %% [markdown]
# ## No graph breaks
#
# The last test uses the operator that is launched in C++, or the prepared operator
# where there is no compiler: `fullgraph=True` turns a graph break into an error.

# %%
chosen = torch.ops.lab32_cpp.poly.default if BUILT else lean


def model(x):
    return chosen(torch.sin(x), 0.5, -1.25) + 1


backend = "inductor" if weft.GPU else "aot_eager"
whole = torch.compile(model, fullgraph=True, backend=backend)
x = torch.linspace(-1, 1, 12, device=DEVICE, requires_grad=True)
print(f"graph breaks: {torch._dynamo.explain(model)(x).graph_break_count}")
print(f"the same result: {torch.allclose(whole(x), model(x))}")
slopes = [torch.autograd.grad(f(x).sum(), x)[0] for f in (whole, model)]
print(f"the same gradient: {torch.allclose(*slopes)}")

# %% [markdown]
# ## If you want more
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
#
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
# 5. What a call costs depends on the language of the launch, not on that of the kernel.
#    In a CUDA graph, neither language matters.

# %%
quiz()
