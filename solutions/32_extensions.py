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
# - say what a launch passes to the driver, byte by byte, and launch a Numba kernel
#   without Numba;
# - compare Numba, CUDA C++ and Triton by what a *call* costs, and choose.
#
# **You need** about two hours. You do not need a GPU: the exercises run in the
# simulator, and the measurements then show times from the reference GPU, an H200. If
# you use a GPU, it needs compute capability 7.5 or higher. The C++ parts also need
# CUDA's compiler, `nvcc`; without it, those rows are left out.

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

# %% [markdown]
# ## The operator
#
# The running example is a **polynomial activation**, $P(x) = a x^3 + b x$, applied to
# every element of a tensor. Its kernel has nothing special. It has two signatures
# because gradients are tested in double precision.

# %%
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
# `torch.library.custom_op` makes an operator of a Python function. Its type annotations
# become the **schema**, here `poly_forward(Tensor x, float a, float b) -> Tensor`.
# `mutates_args=()` promises that no argument is changed. The function itself allocates
# the result and launches the kernel. Three things make it an operator that others can
# rely on:
#
# - **Layout.** A caller may pass any strides. PyTorch's own elementwise operators
#   return a result in the layout of the input, so that channels-last stays
#   channels-last. `torch.empty_like(x)` does it for you: if the elements of `x` fill
#   their memory without gaps or overlaps, the result has the strides of `x`. Otherwise
#   it gets strides without gaps. An elementwise kernel does not care about the order
#   of elements, as long as input and output agree on it.
# - **Stream.** PyTorch works on its *current stream*, which is the default stream only
#   until someone says `with torch.cuda.stream(...)`. `current_stream()` returns it for
#   Numba, to be used as `kernel[grid, block, stream]`. (Without a GPU it returns 0.)
# - **Emptiness.** A tensor may have no elements, and a grid of no blocks is an error.
#
# ```python
# poly_forward(x, a, b)    # x: any shape and strides -> the same, in x's layout
# ```
#
# `flat` gives you the elements in the order of memory, for tensors without gaps. It
# does *not* look whether there are any. The fake, which the next exercise is about, is
# already there: it promises the layout of `torch.empty_like(x)`. Stuck? Run
# `hint("poly_forward")`; there are three hints.


# %%
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
@torch.library.custom_op("lab32::poly_forward", mutates_args=())
def poly_forward(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, in the layout of x."""
    # about 6 lines
    # BEGIN SOLUTION
    out = torch.empty_like(x)
    if x.stride() != out.stride():  # gaps or overlaps: a copy without them
        x = torch.empty_like(x).copy_(x)
    if x.numel() > 0:
        grid = -(-x.numel() // 256)
        poly_kernel[grid, 256, current_stream()](flat(x), a, b, flat(out))
    return out
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
# `torch.empty_like(x)` has answered the question before you ask it: if its strides are
# those of `x`, then `x` has neither gaps nor overlaps, and the two flat views list the
# elements in the same order. Only an expanded or sliced tensor is copied, and the copy
# gets the strides of the result.
#
# `x.contiguous()` would be right as well, for this exercise's numbers. It copies every
# transposed and every channels-last tensor, and the result then has other strides than
# the fake has promised.

# %% [markdown]
# ## 2 · The fake: everything but the numbers
#
# When `torch.compile` traces your code, there are no numbers yet, only **fake tensors**
# with a shape, strides, a dtype and a device. Your kernel cannot run on them. So every
# operator has a second implementation that makes its result from these properties
# alone. What it says is believed: the compiler allocates and indexes memory
# accordingly.
#
# Here is an operator whose result looks different from its input. It cuts a matrix into
# tiles of `rows` rows, of which the last may be smaller, and adds up the columns of
# each tile, in float32 whatever the input is.
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
@torch.library.custom_op("lab32::tile_sums", mutates_args=())
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
    sizes=[(6, 4), (7, 5), (2, 33)],
    gradient=False,
    dtype="float32",
    limits={"graph_breaks": 0},
)

# %% [markdown] tags=["solution"]
# `new_empty` takes the device of `x` along, and the dtype is said. `math.ceil` would
# turn a symbolic size into a number on some versions of PyTorch, and the compiled code
# would then be for that size alone.

# %% [markdown]
# ## A shorter launch
#
# The exercises that follow are about gradients. Their operators launch their kernels
# with this function, which makes everything contiguous, results included.


# %%
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
# PyTorch cannot differentiate a kernel. You tell it how, with two functions:
#
# - `keep(ctx, inputs, output)` runs after every forward. It saves what the backward
#   needs: tensors with `ctx.save_for_backward(...)`, anything else as an attribute of
#   `ctx`.
# - `backward(ctx, grad)` gets the gradient of the loss with respect to the *result*,
#   and returns one value per *input*: a gradient, or `None` for what has none, such as
#   a number.
#
# The derivative of $a x^3 + b x$ is $3 a x^2 + b$, so the gradient with respect to $x$
# is `grad` $\cdot\, (3 a x^2 + b)$. This calls for a second kernel. `torch.compile`
# traces a backward too, so that kernel has to be in an operator as well. Here it is:


# %% tags=["given"]
double = single.replace("void(", "void(float32[::1], ")


@cuda.jit([double, double.replace("float32", "float64")])
def slope_kernel(grad, x, a, b, out):
    """Write grad · (3 a x² + b) into out."""
    i = cuda.grid(1)

    if i < out.size:
        out[i] = grad[i] * (float32(3) * a * x[i] * x[i] + b)


@torch.library.custom_op("lab32::slope", mutates_args=())
def slope(
    grad: torch.Tensor, x: torch.Tensor, a: float, b: float
) -> torch.Tensor:
    """Return grad · (3 a x² + b)."""
    return launched(slope_kernel, [grad, x], a, b)


slope.register_fake(contiguous_fake)

# %% [markdown]
# `slope(grad, x, a, b)` is ready to be called. Write `keep` and `backward`. The check
# compares your gradients with those of the formula, for several incoming gradients, one
# of which is the expanded one that `sum()` sends. It also runs `torch.library.opcheck`
# and `torch.autograd.gradcheck`, and compiles the operator. Stuck? `hint("poly")`.


# %%
@torch.library.custom_op("lab32::poly", mutates_args=())
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
# `save_for_backward` is more than a list. It notices when a saved tensor is changed in
# place before the backward runs, and it keeps no reference cycle alive. Numbers need
# neither.
#
# Save inputs rather than results where you have the choice. `x` usually lives on anyway,
# in the layer before; and $x$ cannot be recovered from $P(x)$.

# %% [markdown]
# ## 4 · Backward of the backward
#
# Some losses contain a gradient: penalties on the gradient's norm, physics-informed
# networks, meta-learning. Their backward goes through *your backward*. It calls `slope`,
# and PyTorch cannot differentiate that either:

# %%
x = torch.tensor([1.0, 2.0], requires_grad=True)
try:
    (first,) = torch.autograd.grad(
        poly(x, 1.0, 0.0).sum(), x, create_graph=True
    )
    torch.autograd.grad(first.sum(), x)
except Exception as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")

# %% [markdown]
# The remedy needs no new idea. `slope` is an operator, so give it a backward of its own.
# It has two inputs that are tensors:
#
# $$s(g, x) = g \cdot (3 a x^2 + b)$$
#
# What is the derivative with respect to $g$, and with respect to $x$? Multiply each by
# the incoming gradient `grad_out`. Here you may use PyTorch's operators on tensors
# instead of a kernel, since a backward of a backward is rarely where the time goes. The
# cell below defines the operator anew, under a name of its own. Stuck?
# `hint("steep")`.


# %%
@torch.library.custom_op("lab32::steep", mutates_args=())
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
# With respect to `grad` the function is linear, so its derivative is the same operator
# again. That is typical of a backward: it is always linear in the incoming gradient.
# And since `steep_backward` consists of operators that have gradients, it can itself be
# differentiated, as often as you like.

# %% [markdown]
# ## Try it: what the registrations buy
#
# With `steep` in its backward, the polynomial can be differentiated twice. PyTorch has
# a test for that as well, `gradgradcheck`, which compares with finite differences, in
# double precision. This is what the second signature of the kernels was for.


# %%
def smooth_backward(ctx, grad):
    """Return the gradients of x, a and b."""
    (x,) = ctx.saved_tensors
    return steep(grad, x, ctx.a, ctx.b), None, None


@torch.library.custom_op("lab32::smooth", mutates_args=())
def smooth(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
    """Return a x³ + b x, to be differentiated any number of times."""
    return launched(poly_kernel, [x], a, b)


smooth.register_fake(contiguous_fake)
smooth.register_autograd(smooth_backward, setup_context=keep)
DEVICE = "cuda" if weft.GPU else "cpu"


def attempt(title, test):
    """Print what a test says; its error, if the exercises are not solved yet."""
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
curve = lambda x: smooth(x, 0.5, -1.25)  # noqa: E731
attempt("gradcheck", lambda: torch.autograd.gradcheck(curve, doubles(5)))
attempt(
    "gradgradcheck", lambda: torch.autograd.gradgradcheck(curve, doubles(5))
)

# %% [markdown]
# **Autocast** converts the arguments of operators it knows, and does not know yours.
# Given a float16 tensor, the launch fails, for no signature fits. One line registers
# what to do: convert to float32 first.

# %%
torch.library.register_autocast("lab32::smooth", DEVICE, torch.float32)
half = torch.tensor([1.0, 2.0], dtype=torch.bfloat16, device=DEVICE)
attempt("without autocast", lambda: smooth(half, 1.0, 0.0).dtype)
with torch.autocast(DEVICE):
    attempt("with autocast", lambda: smooth(half, 1.0, 0.0).dtype)

# %% [markdown]
# **Export** traces a model into one graph, in which your operator is a node like any
# other. Without the fake it could not be traced.


# %%
class Model(torch.nn.Module):
    def forward(self, x):
        return smooth(2 * x, 0.5, -1.25).sum(0)


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
# of biases that is added to every row of a matrix. As an operator it has two tensors
# that may need a gradient.
#
# - The gradient of `x` is `gelu_slope(grad, x, bias)`, an operator that is ready below.
# - `bias` has been **broadcast**. Every row has used the same $b_j$, and the
#   contributions of all rows add up. Its gradient must have the shape of `bias`.
# - In fine-tuning, biases or whole layers are frozen. `ctx.needs_input_grad` is a tuple
#   with a boolean for each input. Compute only what is needed, and return `None` for
#   the rest.
#
# Stuck? `hint("bias_gelu")`.


# %% tags=["given"]
@cuda.jit
def bias_gelu_kernel(x, bias, out):
    """Write the GELU of x + bias into out."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        z = x[row, col] + bias[col]
        out[row, col] = float32(0.5) * z * (
            float32(1) + math.erf(z * float32(0.7071067811865476))
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


@torch.library.custom_op("lab32::gelu_slope", mutates_args=())
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
@torch.library.custom_op("lab32::bias_gelu", mutates_args=())
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
# Broadcasting and summing are each other's backward. What was repeated in the forward
# pass is added up in the backward pass, and the other way around. With symbols it is the
# chain rule: $b_j$ appears in every row $i$, so its derivative is a sum over $i$.
#
# `through` is needed in both cases, and the sum only for the bias. Chapter 17's
# backward kernel made partial sums in the same pass instead of reading `through` again.
