# %% [markdown]
# # 31 · Autograd
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/31_autograd.ipynb)
#
# **After this lab, you can**
#
# - write the loop that every autograd system runs, and explain the order in which it
#   visits nodes;
# - derive the VJPs of a broadcast, a matrix product and softmax with cross-entropy, and
#   write their kernels;
# - predict which tensors an operation keeps for its backward pass, and how much memory
#   they take;
# - explain PyTorch's error about a tensor that was *modified by an inplace operation*,
#   and name a case that it misses;
# - train an MLP with an engine whose operations are all kernels of this lab, and say
#   where its time goes.
#
# **You need** about two hours. You do not need a GPU: the exercises run in the
# simulator, and so does a small training run. Without a GPU, the measurements show
# times from the reference GPU, an H200. If you use a GPU, it needs compute capability
# 7.5 or higher and 2 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import math
import operator
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from numba import cuda, float32
from torch.nn import functional

from weft import bench, check, hint, quiz
from weft.bench import results
from weft.lesson import answers

weft.lab("31_autograd")

# %% [markdown]
# ## A number that remembers
#
# To differentiate a program, it is enough to know how to differentiate each of its
# steps. So let every number remember which step computed it:


# %% tags=["given"]
class Value:
    """A number, and how it was computed.

    edges: a pair (input, vjp) per input. vjp takes the gradient of this
    value, and returns what this step contributes to the input's gradient.
    """

    def __init__(self, data, edges=(), name=""):
        self.data, self.edges, self.name = data, edges, name

    def __add__(self, other):
        edges = [(self, lambda g: g), (other, lambda g: g)]
        return Value(self.data + other.data, edges)

    def __mul__(self, other):
        one, two = self.data, other.data
        edges = [(self, lambda g: g * two), (other, lambda g: g * one)]
        return Value(one * two, edges)

    def __repr__(self):
        return self.name or f"Value({self.data:g})"


# %%
a, b = Value(3.0, name="a"), Value(4.0, name="b")
c = a * b + a
print(c.data)
for source, vjp in c.edges:
    print("made from", source.data, "whose share of the gradient is", vjp(1.0))

# %% [markdown]
# Each edge carries a function, its **vjp** (the name is explained further down). If the
# output changes by `g` per unit of this value, then it changes by `vjp(g)` per unit of
# the input, as far as this one step is concerned. The rest is bookkeeping, which you
# write now.
#
# ## 1 · Backward
#
# Write `backward`. Start with the gradient of the output, which is given as `seed`.
# Then visit the values, from the output towards the leaves, which are values without
# edges. At each, call the vjp of every edge *once*, with the **complete** gradient of
# that value, and add the result to the gradient of the edge's input.
#
# The word "complete" makes the task interesting. In `c = a * b + a`, `a` gets a share
# from the product and a share from the sum. In general, a value may be visited only
# after **all** values that were computed from it. Here is one way to ensure this, which
# PyTorch also uses:
#
# 1. Walk through the graph once, and count for every value how many edges lead to it.
# 2. Whenever you follow an edge backward, subtract 1 from the count of its input. The
#    input is ready when its count is 0.
#
# Do not use recursion, since graphs are often deeper than the thousand nested calls
# that Python allows. Add two gradients with `plus(a, b)`: in this section gradients are
# floats, but soon they will be arrays, and then a kernel does the addition. There is no
# zero to start from, so take the first share as it is.
#
# ```python
# backward(output, seed, plus)    # -> {value: gradient}: output, and all values below
# ```
#
# The check compares your gradients with PyTorch's. One of its programs doubles a number
# 40 times. This graph has 41 values, with a trillion paths between the first and the
# last, so there is no time to follow every path. Stuck? Run `hint("backward")`; there
# are three hints.


# %% tags=["given"]
class Share(float):
    """A gradient that only `add_shares` can add."""

    def __mul__(self, number):
        return Share(float(self) * number)

    def __add__(self, other):
        raise TypeError("gradients may be arrays: add them with plus(a, b)")

    __radd__ = __add__


def add_shares(a, b):
    if not (isinstance(a, Share) and isinstance(b, Share)):
        raise TypeError(f"plus({a!r}, {b!r}): both should be gradients")
    return Share(float(a) + float(b))


def repeated(step, times):
    """Return a function that applies a step to its argument many times."""

    def program(x, *others):
        for _ in range(times):
            x = step(x, *others)
        return x

    return program


PROGRAMS = {
    "a": lambda a: a,
    "a * b": lambda a, b: a * b,
    "a + a": lambda a: a + a,
    "a * b + a": lambda a, b: a * b + a,
    "c * c + c, where c = a + b": lambda a, b: (lambda c: c * c + c)(a + b),
    "c * (a + c), where c = a * b": lambda a, b: (lambda c: c * (a + c))(a * b),
    "c + (d + d * c), where c = a * a, d = c * b": lambda a, b: (
        lambda c: (lambda d: c + (d + d * c))(c * b)
    )(a * a),
    "3,000 times a = a + b": repeated(lambda a, b: a + b, 3000),
    "40 times a = a + a": repeated(lambda a: a + a, 40),
}


def traced(name, program, numbers):
    """Run a program on Values; the result knows how it was made."""
    named = zip(numbers, "abc", strict=False)
    leaves = [Value(number, name=letter) for number, letter in named]
    output = program(*leaves)
    if output not in leaves:
        output.name = name
    output.program, output.leaves = program, leaves
    return output


def random_program(rng):
    """Return a program of ten random steps on a, b and c."""
    steps = rng.integers(0, [2, 1 << 30, 1 << 30], (10, 3)).tolist()

    def program(*values):
        values = list(values)
        for kind, one, other in steps:
            one, other = values[one % len(values)], values[-1 - other % 3]
            values.append(one * other if kind else one + other)
        return values[-1]

    return program


def programs(rng):
    """Return outputs, each with a seed, and with how to add gradients."""
    cases = []
    for name, program in PROGRAMS.items():
        count = program.__code__.co_argcount
        numbers = (3.0, 4.0)[: 2 if "b" in name else count]
        cases.append((traced(name, program, numbers), 1.0, operator.add))
    both = "c * c + c, where c = a + b"
    again = traced(both, PROGRAMS[both], (3.0, 4.0))
    cases.append((again, Share(2.0), add_shares))
    for _ in range(6):
        numbers = rng.uniform(0.5, 1.5, 3).tolist()
        random = traced("ten random steps", random_program(rng), numbers)
        cases.append((random, float(rng.integers(1, 4)), operator.add))
    return cases


def torch_gradients(output, seed, plus):
    """Return (leaf, PyTorch's gradient, how often it is used) for each leaf."""
    wide = {"dtype": torch.float64, "requires_grad": True}
    leaves = [torch.tensor(leaf.data, **wide) for leaf in output.leaves]
    result = output.program(*leaves)
    start = torch.tensor(float(seed), dtype=torch.float64)
    found = torch.autograd.grad(result, leaves, start, allow_unused=True)
    uses, seen, left = {}, {output}, [output]
    while left:
        for source, _ in left.pop().edges:
            uses[source] = uses.get(source, 0) + 1
            if source not in seen:
                seen.add(source)
                left.append(source)
    return [
        (leaf, gradient.item(), uses.get(leaf, 0))
        for leaf, gradient in zip(output.leaves, found, strict=True)
        if gradient is not None
    ]


def same_gradients(got, wanted):
    """Return "" for the right gradients, or else what is wrong with them."""
    if not isinstance(got, dict):
        return "Return a dictionary: for each value, its gradient."
    for leaf, aim, uses in wanted:
        if leaf not in got:
            return f"The dictionary has no gradient for {leaf}."
        if not isinstance(got[leaf], float):
            return f"The gradient of {leaf} should be a number."
        if math.isclose(got[leaf], aim, rel_tol=1e-6):
            continue
        found = got[leaf]
        reason = f"The gradient of {leaf} is {found:g} and should be {aim:g}."
        if uses > 1:
            reason += (
                f" It is used {uses:,} times, and each use adds a share. One "
                "is missing or counted twice, or a value has passed on its "
                "gradient before it was complete."
            )
        return reason
    return ""


# %%
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    # about 17 lines
    # BEGIN SOLUTION
    waiting, stack = {output: 0}, [output]
    while stack:
        for source, _ in stack.pop().edges:
            if source not in waiting:
                waiting[source] = 0
                stack.append(source)
            waiting[source] += 1

    gradients, ready = {output: seed}, [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                share = plus(gradients[source], share)
            gradients[source] = share
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return gradients
    # END SOLUTION


# %%
check(
    backward,
    spec=torch_gradients,
    inputs=programs,
    same=same_gradients,
    without=("torch",),
    lines=300_000,
)

# %% [markdown] tags=["solution"]
# Any order will do in which a value comes after everything that was computed from it.
# Such an order is a **topological order**, and there are other ways to get one: run a
# depth-first search that lists a value once all its inputs are listed, and read the
# list in reverse; or take the order of creation in reverse, since a value is always
# created after its inputs.
#
# PyTorch's engine combines two of these methods. It counts dependencies, as you did,
# and among the nodes that are ready it takes the one that was created last.
#
# The 40 doublings show why each value is visited only once: the work is proportional to
# the number of edges, which is 80, not to the number of paths.

# %% [markdown]
# ## Look: a line, fitted
#
# `backward` is already enough to train something. Here are eight points near the line y
# = 2x + 1, and 60 steps of gradient descent that start from w = b = 0.

# %%
rng = np.random.default_rng(31)
xs = np.linspace(-1, 1, 8)
ys = 2 * xs + 1 + rng.normal(0, 0.05, 8)


def squared_error(w, b):
    """Return the sum of squared errors of the line w * x + b."""
    loss = Value(0.0)
    for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
        error = w * Value(x) + b + Value(-y)
        loss = loss + error * error
    return loss


def fit(steps):
    """Fit the line, and print how it goes."""
    w, b = 0.0, 0.0
    for step in range(steps + 1):
        w_now, b_now = Value(w), Value(b)
        loss = squared_error(w_now, b_now)
        gradients = backward(loss, 1.0, operator.add)
        if gradients is None:
            print("Solve exercise 1 first.")
            return
        if step % 20 == 0:
            print(f"step {step:2}  w {w:.3f}  b {b:.3f}  loss {loss.data:.4f}")
        w -= 0.05 * gradients[w_now]
        b -= 0.05 * gradients[b_now]


fit(60)

# %% [markdown]
# This works, but it is hopelessly slow: it makes one Python object per number. An
# engine becomes useful when each of its nodes is an operation on whole arrays, so that
# the overhead of a node is small compared with its work. `backward` need not change at
# all. What we need is operations on arrays, and the vjp of each.
#
# ## Arrays and kernels
#
# From here on, all arrays are matrices of float32, scalars being 1 × 1. PyTorch
# provides the memory, as tensors on the GPU if you have one and on the CPU if not. It
# also provides the views of chapter 30, which need no kernel. Every number is computed
# by a kernel of this lab.
#
# All kernels for elementwise operations are alike. They need no extra code for
# broadcasting: an expanded operand has a stride of 0.

# %% tags=["given"]
DEVICE = "cuda" if weft.GPU else "cpu"
TILE = 16


def empty(rows, cols):
    """Return a matrix of float32 without values, where the kernels run."""
    return torch.empty(rows, cols, device=DEVICE)


def launch(kernel, shape, *arguments):
    """Launch a kernel with one thread per element of a matrix."""
    grid = -(-shape[1] // TILE), -(-shape[0] // TILE)
    kernel[grid, (TILE, TILE), bench.stream()](*arguments)


def elementwise(kernel, *arrays):
    """Launch kernel(*arrays, out) on arrays that are broadcast; return out."""
    shape = torch.broadcast_shapes(*(array.shape for array in arrays))
    out = empty(*shape)
    launch(kernel, shape, *(array.expand(shape) for array in arrays), out)
    return out


@cuda.jit
def add_kernel(x, y, out):
    """Write x + y into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[row, col] + y[row, col]


@cuda.jit
def mul_kernel(x, y, out):
    """Write x * y into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[row, col] * y[row, col]


def plus(x, y):
    return elementwise(add_kernel, x, y)


def times(x, y):
    return elementwise(mul_kernel, x, y)


# %%
matrix = torch.arange(6.0, device=DEVICE).view(2, 3)
row = torch.tensor([[10.0, 20.0, 30.0]], device=DEVICE)
print(plus(matrix, row))

# %% [markdown]
# ## 2 · The VJP of broadcasting
#
# In `out = x + bias`, with `x` of shape (n, m) and `bias` of shape (1, m), one number
# of the bias is added to all n elements of its column. That number influences n
# outputs, so its gradient is the sum of n shares: the sum of its column of `g`, where
# `g` is the gradient of `out`.
#
# In general, **a gradient is summed along every dimension that was broadcast**, because
# it must have the shape of the tensor that it belongs to. (By PyTorch's rule,
# dimensions that were missing on the left are summed too, and disappear.)
#
# Write one kernel for all four cases: `out` has the shape (rows, cols), where `rows` is
# 1 or the height of `g`, and `cols` is 1 or the width of `g`. There is one thread per
# element of `out`. Keep the sum in float32.
#
# ```python
# sum_to(g, rows, cols, out)    # g (n, m), out (rows, cols)  float32
# ```
#
# Stuck? `hint("sum_to")`.


# %% tags=["given"]
def summed_by_numpy(g, rows, cols):
    """Return the sums of g along the dimensions where out has size 1."""
    total = g.sum(axis=0, keepdims=True) if rows == 1 else g
    return total.sum(axis=1, keepdims=True) if cols == 1 else total


def to_be_summed(rng, n, m, rows, cols):
    """Return small whole numbers, whose sums are exact, and out's shape."""
    g = rng.integers(1, 10, (n, m)).astype(np.float32)
    return g, 1 if rows == 1 else n, 1 if cols == 1 else m


# %%
@cuda.jit
def sum_to(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast."""
    col, row = cuda.grid(2)

    # about 6 lines
    # BEGIN SOLUTION
    if row < rows and col < cols:
        total = float32(0)
        for i in range(row, g.shape[0], rows):
            for j in range(col, g.shape[1], cols):
                total += g[i, j]
        out[row, col] = total
    # END SOLUTION


# %%
check(
    sum_to,
    spec=summed_by_numpy,
    inputs=to_be_summed,
    sizes=[
        (3, 4, 1, 4),
        (5, 3, 5, 1),
        (4, 5, 1, 1),
        (3, 5, 3, 5),
        (7, 20, 1, 20),
    ],
    launch=lambda n, m, rows, cols: (
        (1 if cols == 1 else -(-m // 16), 1 if rows == 1 else -(-n // 16)),
        (16, 16),
    ),
    full=(1000, 300, 1, 300),
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# One pair of loops serves all four cases. With `rows == 1`, the outer range starts at 0
# and takes every row; with `rows == n`, it starts at `row`, and its next value would be
# outside.
#
# Broadcasting and summing are a pair: the VJP of a broadcast is a sum, and the VJP of a
# sum is a broadcast. For a bias, this kernel is good enough, because neighbouring
# threads read neighbouring columns. For a sum over everything, a single thread adds up
# one number after the other; chapter 14 has better kernels for that case.

# %% [markdown]
# Next comes the matrix product. Its kernel is the one with tiles in shared memory from
# chapter 13. It requires only that `a` and `b` can be indexed, so it accepts transposed
# views as well: `mm(a.t(), b)` copies nothing.


# %% tags=["given"]
def sum_by_threads(g, out):
    """Launch your kernel: a thread per element of out."""
    launch(sum_to, out.shape, g, *out.shape, out)


SUMS = {"way": sum_by_threads}


def sum_over(g, shape):
    """Return g, summed along the dimensions in which `shape` has size 1."""
    if tuple(g.shape) == tuple(shape):
        return g
    out = empty(*shape)
    SUMS["way"](g, out)
    return out


@cuda.jit
def matmul_kernel(a, b, out):
    """Write a @ b into out, tile by tile."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

    dot = float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = tile_b[ty, tx] = float32(0)
        if row < a.shape[0] and start + tx < a.shape[1]:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and col < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            dot += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = dot


def mm(a, b):
    """Return a @ b, computed by matmul_kernel. Raises ValueError."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"mm of {tuple(a.shape)} and {tuple(b.shape)}: the width of the "
            "first has to be the height of the second"
        )
    mm.calls += 1
    out = empty(a.shape[0], b.shape[1])
    launch(matmul_kernel, out.shape, a, b, out)
    return out


mm.calls = 0

# %% [markdown]
# ## 3 · The two VJPs of a matrix product
#
# Let `out = a @ b`, with `a` of shape (n, k), `b` of shape (k, m), and `g`, of shape
# (n, m), the gradient of `out`. Element (i, p) of `a` is a factor in
#
# `out[i, j] = ... + a[i, p] * b[p, j] + ...`    for every j,
#
# so its gradient is the sum over j of `g[i, j] * b[p, j]`. Write this sum as a matrix
# product. Then derive the gradient of element (p, j) of `b` in the same way. The shapes
# help you to remember the results: there is only one way to multiply `g` and `b`, one
# of them transposed, that gives the shape of `a`.
#
# Compute both gradients with the kernel above, by calling `mm`. Return the gradient
# that `which` selects, and do not compute the other: in the first layer of a network,
# `a` is the data, and its gradient is not needed.
#
# ```python
# matmul_vjp(g, a, b, which)    # which = 0: the gradient of a; which = 1: of b
# ```
#
# Stuck? `hint("matmul_vjp")`.


# %% tags=["given"]
def matmul_gradients(g, a, b, which):
    """Return the gradient of a or of b, with NumPy."""
    wanted = "ij,pj->ip" if which == 0 else "ij,ip->pj"
    return np.einsum(wanted, g, b if which == 0 else a)


def products(rng, n, k, m, which):
    """Return g, a and b, and of which of them the gradient is wanted."""
    shapes = (n, m), (n, k), (k, m)
    arrays = [rng.normal(0, 1, shape).astype(np.float32) for shape in shapes]
    return *arrays, which


def by_one_product(vjp, *inputs):
    """Call a vjp, and see that it computes one matrix product, with mm."""
    before = mm.calls
    gradient = vjp(*inputs)
    calls = mm.calls - before
    if gradient is not None and calls == 0:
        raise RuntimeError(
            "it does not call mm: the gradient should be computed by our "
            "kernel, in one product"
        )
    if gradient is not None and calls > 1:
        raise RuntimeError(
            f"it calls mm {calls} times, and one gradient takes one product: "
            "the gradient that is not asked for should not be computed"
        )
    return gradient


# %%
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    # about 3 lines
    # BEGIN SOLUTION
    if which == 0:
        return mm(g, b.t())
    return mm(a.t(), g)
    # END SOLUTION


# %%
check(
    matmul_vjp,
    spec=matmul_gradients,
    inputs=products,
    sizes=[(5, 3, 4, 0), (5, 3, 4, 1), (4, 4, 4, 0), (4, 4, 4, 1)],
    call=by_one_product,
    tensors=True,
    gradient=False,
    launches=True,
)

# %% [markdown] tags=["solution"]
# A transposed view swaps two strides, so the same compiled kernel computes the forward
# product and both backward products. cuBLAS handles transposition in a similar way: its
# matrix product has a flag per operand for *transposed*. A backward pass therefore
# computes two matrix products for each one of the forward pass. Hence the rule of thumb
# that a training step is three times the work of an evaluation.

# %% [markdown]
# ## 4 · Softmax and cross-entropy
#
# A classifier usually ends in this loss. For each row of scores `x`, with the number of
# the right class in `target`, the loss is `-log(p[target])`, where `p` is the softmax
# of the row. The loss of the batch is the mean over its n rows.
#
# Split into exponentials, a sum, a division, a logarithm and a mean, the loss takes
# five nodes, most of which would keep something for the backward pass. Treated as one
# step, it has a surprisingly simple gradient:
#
# `gradient of x[i, j] = (p[i, j] - (1 if j == target[i] else 0)) / n`
#
# A kernel that has `p` can write this gradient at once. So write a kernel that computes
# both each row's share of the mean loss and the gradient. As in chapter 16,
#
# - subtract the row's maximum, `top`, before you compute exponentials: `p[j]` is
#   `exp(x[j] - top)`, divided by `total`, the sum of these exponentials over the row;
# - do not take the logarithm of `p`, which may have rounded to 0. The loss of a row is
#   `log(total) + top - x[target]`.
#
# `exp(x[j] - (log(total) + top))` equals `p[j]` as well, and saves a division. The
# check accepts it, but it loses digits: in float32, a sum near 500 is off by up to
# 0.000015, so `p[j]` is wrong in the fifth digit.
#
# A block is one warp, and it handles one row. `warp_max` and `warp_sum` combine the
# values of the warp's lanes, and all lanes get the result.
#
# ```python
# softmax_loss(x, target, losses, grad)
#     # x, grad (n, c), losses (n, 1) float32; target (n,) int64
# ```
#
# Stuck? `hint("softmax_loss")`.

# %% tags=["given"]
FULL = 0xFFFFFFFF
LOWEST = np.float32(np.finfo(np.float32).min)


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


def losses_and_gradient(x, target):
    """Return each row's share of the mean loss, and the gradient of x."""
    n = len(x)
    shifted = x - x.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    right = np.arange(n), target
    gradient = np.exp(log_p)
    gradient[right] -= 1
    return -log_p[right][:, None] / n, gradient / n


def scores(rng, n, c):
    """Return scores of very different sizes, and the right classes."""
    x = rng.normal(0, 1, (n, c))
    x[0::3] *= 60
    x[1::3] += 500
    x[2::3] -= 500
    target = rng.integers(0, c, n)
    target[-1] = c - 1
    return x.astype(np.float32), target


# %%
@cuda.jit
def softmax_loss(x, target, losses, grad):
    """Write each row's share of the mean loss, and the gradient of x."""
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    n, classes = x.shape

    # about 15 lines
    # BEGIN SOLUTION
    top = LOWEST
    for j in range(lane, classes, 32):
        top = max(top, x[row, j])
    top = warp_max(top)

    total = float32(0)
    for j in range(lane, classes, 32):
        total += math.exp(x[row, j] - top)
    total = warp_sum(total)

    for j in range(lane, classes, 32):
        p = math.exp(x[row, j] - top) / total
        if j == target[row]:
            losses[row, 0] = (math.log(total) + top - x[row, j]) / float32(n)
            p -= float32(1)
        grad[row, j] = p / float32(n)
    # END SOLUTION


# %%
check(
    softmax_loss,
    spec=losses_and_gradient,
    inputs=scores,
    sizes=[(1, 2), (4, 10), (3, 45)],
    launch=lambda n, c: (n, 32),
    full=(1000, 300),
    tolerance=1e-4,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# This node keeps one array, which is the finished gradient. Its VJP is a multiplication
# by a single number, `g`, which is 1 if the loss is what you differentiate. PyTorch
# keeps the logarithm of the softmax instead and computes the gradient from it in a
# second kernel.

# %% [markdown]
# ## 5 · What has to be kept?
#
# A vjp is called long after its operation has run. Whatever it needs from the forward
# pass has to be kept in memory in the meantime, and this is why training takes so much
# more memory than evaluation.
#
# Look at the formula of each gradient. Does it contain the operands? Can it be written
# with the *result*, which is often kept anyway because the next operation needs it as
# its input? Or does it contain neither?
#
# Say what PyTorch keeps for each operation: `"inputs"` (even if it is only one input),
# `"output"` or `"nothing"`. Shapes and Python numbers do not count. `x` and `y` are
# float32 matrices that require gradients.
#
# ```python
# keeps(line)    # "x + y" -> "inputs", "output" or "nothing"
# ```
#
# Stuck? `hint("keeps")`.


# %%
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    # one dictionary; replace each of the Nones
    answer = {
        "x + y": None,
        "x * y": None,
        "x * 2": None,
        "x @ y": None,
        "x.t()": None,
        "x.sum()": None,
        "x.relu()": None,
        "x.exp()": None,
        "x.log()": None,
        "x.tanh()": None,
        "x.sin()": None,
        "gelu(x)": None,
    }
    # BEGIN SOLUTION
    output = ("x.relu()", "x.exp()", "x.tanh()")
    inputs = ("x * y", "x @ y", "x.log()", "x.sin()", "gelu(x)")
    answer = dict.fromkeys(answer, "nothing")
    answer |= dict.fromkeys(output, "output") | dict.fromkeys(inputs, "inputs")
    # END SOLUTION
    return answer[line]


# %%
check(keeps, **answers("keeps"))

# %% [markdown]
# ## Look: what PyTorch keeps
#
# PyTorch lets you listen in. `saved_tensors_hooks` calls one function for every tensor
# that is kept, and another function when the tensor is needed again.

# %%
x, y = (torch.rand(3, 3, requires_grad=True) for _ in "xy")
names = {"x": x, "y": y, "gelu": functional.gelu}

for line in ("x + y", "x * y", "x @ y", "x.relu()", "x.log()", "gelu(x)"):
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor, kept=kept: kept.append(tensor.data_ptr()), lambda _: None
    ):
        z = eval(line, names)
    owners = {x.data_ptr(): "x", y.data_ptr(): "y", z.data_ptr(): "the output"}
    said = " and ".join(sorted(owners[p] for p in kept)) or "nothing"
    print(f"{line:10} {type(z.grad_fn).__name__:16} keeps {said}")

# %% [markdown] tags=["solution"]
# ReLU could keep its input just as well, since input and output are positive in the
# same places. Keeping the output is a choice with consequences: in a network, the
# output is the input of the next layer's product, which keeps it in any case. So two
# nodes share one array. GELU has no such choice, so it keeps an extra array in every
# layer.

# %% [markdown]
# ## Tensors of our own
#
# A `Value` is a number and a node of the graph in one. For arrays, that would be a
# costly mistake: a node is kept until the backward pass, and so is the array it
# contains, whether or not the array is needed. So here numbers and nodes are separate.
# A `Tensor` has its numbers and a `Node`; edges lead from node to node. This is also
# why `grad_fn` is an object of its own in PyTorch.
#
# Two more things are new. A tensor whose gradient is not needed has no node, and edges
# to it are left out. And a tensor has a `Memory`, shared by all views of the same
# numbers, which counts how often these numbers were changed in place.


# %% tags=["given"]
class Node:
    """A tensor's place in the graph. edges: pairs (node, vjp), as in Value."""

    def __init__(self, edges):
        self.edges = edges


class Memory:
    """The numbers of a tensor and of its views. version: changes so far."""

    def __init__(self):
        self.version = 0


class Tensor:
    """A matrix, and how it was computed.

    data: its numbers. edges: a pair (input, vjp) per input. needs: whether
    the gradient of a leaf is wanted. memory: that of the tensor it views.
    """

    def __init__(self, data, edges=(), needs=False, memory=None):
        self.data = data
        edges = [(x.node, vjp) for x, vjp in edges if x.node is not None]
        self.node = Node(edges) if edges or needs else None
        self.memory = memory or Memory()

    def t(self):
        """Return the transposed view."""
        edges = [(self, lambda g: g.t())]
        return Tensor(self.data.t(), edges, memory=self.memory)

    def detach(self):
        """Return the same numbers, without a place in the graph."""
        return Tensor(self.data, memory=self.memory)


@cuda.jit
def descend_kernel(g, rate, w):
    """Subtract rate * g from w."""
    col, row = cuda.grid(2)

    if row < w.shape[0] and col < w.shape[1]:
        w[row, col] -= rate * g[row, col]


def descend(w, g, rate):
    """Take a step of gradient descent, in place."""
    launch(descend_kernel, w.data.shape, g, np.float32(rate), w.data)
    w.memory.version += 1


# %% [markdown]
# ## 6 · A version counter
#
# `descend` is the dangerous part. Suppose that an operation has kept `w` for its vjp,
# and `w` is changed in place before the backward pass. Then the gradient would be
# computed from the wrong numbers, and nothing would tell you.
#
# So a tensor is kept together with the version it had. Write `saved`, which is called
# when an operation runs, and returns a function without arguments, which the vjp will
# call. That function returns `tensor.data` itself, not a copy. But if the version in
# the tensor's memory has changed in the meantime, the function raises a `RuntimeError`.
#
# ```python
# saved(tensor)    # -> a function that returns tensor.data, or raises RuntimeError
# ```
#
# Stuck? `hint("saved")`.

# %% tags=["given"]
KEPT, REFUSED = "gives the numbers back", "raises RuntimeError"
SHOULD = {KEPT: "give the numbers back", REFUSED: "raise RuntimeError"}


def bump(tensor):
    """Count a change in place."""
    tensor.memory.version += 1


def change_and_undo(tensor):
    tensor.data.add_(1)
    bump(tensor)
    tensor.data.sub_(1)
    bump(tensor)


STORIES = {  # name -> (changes before it is saved, steps after that)
    "nothing happens": (0, [(None, KEPT)]),
    "the tensor is changed in place": (0, [(bump, REFUSED)]),
    "the tensor was changed before it was saved, not after": (
        3,
        [(None, KEPT)],
    ),
    "the tensor was changed before it was saved, and again after": (
        2,
        [(bump, REFUSED)],
    ),
    "the tensor is asked for twice": (0, [(None, KEPT), (None, KEPT)]),
    "the tensor is asked for, then changed, then asked for again": (
        1,
        [(None, KEPT), (bump, REFUSED)],
    ),
    "the tensor's transpose is changed": (
        0,
        [(lambda x: bump(x.t()), REFUSED)],
    ),
    "the tensor's detached twin is changed": (
        0,
        [(lambda x: bump(x.detach()), REFUSED)],
    ),
    "the tensor is changed and changed back": (
        0,
        [(change_and_undo, REFUSED)],
    ),
    "another tensor is changed": (
        0,
        [(lambda x: bump(Tensor(x.data.clone())), KEPT)],
    ),
}


class Subject(Tensor):
    """A tensor to which something happens."""

    def __repr__(self):
        return "tensor"


def subjects(rng):
    """Return one tensor for each story."""
    cases = []
    for story, (before, _) in STORIES.items():
        tensor = Subject(torch.rand(2, 3))
        tensor.story, tensor.memory.version = story, before
        cases.append((tensor,))
    return cases


def same_story(give_back, tensor):
    """Return "" if the function does what each step of the story asks for."""
    if not callable(give_back):
        return "Return a function, without calling it."
    for change, wanted in STORIES[tensor.story][1]:
        if change is not None:
            change(tensor)
        try:
            got, found = give_back(), KEPT
        except RuntimeError:
            got, found = None, REFUSED
        except Exception as error:
            got, found = None, f"raises {type(error).__name__}"
        if found != wanted:
            return (
                f"When {tensor.story}, the function {found}; "
                f"it should {SHOULD[wanted]}."
            )
        if found == KEPT and not isinstance(got, torch.Tensor):
            return "The function should return the numbers, `tensor.data`."
        if found == KEPT and got is not tensor.data:
            return "The function returns a copy. That doubles the memory."
    return ""


# %%
def saved(tensor):
    """Keep a tensor for a vjp; return a function that gives it back."""
    # about 8 lines
    # BEGIN SOLUTION
    version = tensor.memory.version

    def give_back():
        now = tensor.memory.version
        if now != version:
            message = f"changed in place: at version {now}, kept at {version}"
            raise RuntimeError(message)
        return tensor.data

    return give_back
    # END SOLUTION


# %%
check(
    saved,
    spec=lambda tensor: tensor,
    inputs=subjects,
    same=same_story,
    unseen=False,
)

# %% [markdown] tags=["solution"]
# Comparing the numbers themselves would require a copy, which takes as much memory as
# the tensor that it protects, and a comparison of all elements. A counter takes one
# integer. The price is that the counter is too cautious: it also rejects a tensor that
# was changed and then restored, and a change to a part of the memory that this vjp does
# not read.

# %% [markdown]
# ## The engine
#
# Now put the parts together. This is the whole engine, apart from `backward` and the
# kernels: six operations, each with its forward computation and the vjps of its inputs.


# %% tags=["given"]
def add(x, y):
    """Return x + y, broadcast."""
    return Tensor(
        plus(x.data, y.data),
        [(z, lambda g, s=z.data.shape: sum_over(g, s)) for z in (x, y)],
    )


def mul(x, y):
    """Return x * y, broadcast."""
    old_x, old_y = saved(x), saved(y)
    return Tensor(
        times(x.data, y.data),
        [
            (x, lambda g: sum_over(times(g, old_y()), old_x().shape)),
            (y, lambda g: sum_over(times(g, old_x()), old_y().shape)),
        ],
    )


def matmul(x, w):
    """Return x @ w."""
    old_x, old_w = saved(x), saved(w)
    return Tensor(
        mm(x.data, w.data),
        [
            (x, lambda g: matmul_vjp(g, old_x(), old_w(), 0)),
            (w, lambda g: matmul_vjp(g, old_x(), old_w(), 1)),
        ],
    )


def total(x):
    """Return the sum of all elements, 1 x 1."""
    shape = x.data.shape
    return Tensor(sum_over(x.data, (1, 1)), [(x, lambda g: g.expand(shape))])


@cuda.jit
def relu_kernel(x, out):
    """Write the positive part of x into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = max(x[row, col], float32(0))


@cuda.jit
def relu_vjp_kernel(y, g, out):
    """Write g into out where y is positive, and 0 elsewhere."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = g[row, col] if y[row, col] > 0 else float32(0)


def relu(x):
    """Return the positive part of x; keep the output, not the input."""
    out = Tensor(
        elementwise(relu_kernel, x.data),
        [(x, lambda g: elementwise(relu_vjp_kernel, old_out(), g))],
    )
    old_out = saved(out.detach())
    return out


def cross_entropy(x, target):
    """Return the mean loss of a classifier's scores, 1 x 1."""
    losses, grad = empty(len(x.data), 1), empty(*x.data.shape)
    softmax_loss[len(x.data), 32, bench.stream()](x.data, target, losses, grad)
    return total(Tensor(losses, [(x, lambda g: times(grad, g))]))


def gradients_of(loss, leaves):
    """Return the gradient of a loss for each leaf."""
    found = backward(loss.node, torch.ones(1, 1, device=DEVICE), plus)
    return [found[leaf.node] for leaf in leaves]


# %% [markdown]
# (Why does `relu` keep `out.detach()` and not `out`? `out` refers to its node, the node
# refers to the vjp, and the vjp would refer to `out`. Python's garbage collector would
# have to find this cycle before the memory is freed. PyTorch takes the same
# precaution.)
#
# And here is a network: two layers with a ReLU between them, written once for our
# engine and once for PyTorch.


# %% tags=["given"]
def ready():
    """Return whether the engine has all its parts; say so if it does not."""
    x = Tensor(torch.ones(2, 1, device=DEVICE), needs=True)
    w = Tensor(torch.ones(1, 1, device=DEVICE), needs=True)
    even = Tensor(torch.zeros(1, 2, device=DEVICE))
    try:
        loss = total(matmul(x, w))
        works = None not in gradients_of(loss, [x, w]) and loss.data.item() == 2
        loss = cross_entropy(even, torch.zeros(1, dtype=int, device=DEVICE))
        works = works and abs(loss.data.item() - math.log(2)) < 1e-3
    except TypeError:
        works = False
    if not works:
        print("Solve exercises 1, 2, 3, 4 and 6 first: this uses all of them.")
    return works


def my_loss(x, target, w1, b1, w2, b2):
    """Return the loss of a network of two layers, with our engine."""
    hidden = relu(add(matmul(Tensor(x), w1), b1))
    return cross_entropy(add(matmul(hidden, w2), b2), target)


def torch_loss(x, target, w1, b1, w2, b2):
    """Return the loss of the same network, with PyTorch."""
    hidden = torch.relu(x @ w1 + b1)
    return functional.cross_entropy(hidden @ w2 + b2, target)


def parameters(inputs, hidden, classes, seed=0):
    """Return the starting values of w1, b1, w2 and b2."""
    rng = np.random.default_rng(seed)
    shapes = (inputs, hidden), (1, hidden), (hidden, classes), (1, classes)
    made = [rng.normal(0, 1 / math.sqrt(shape[0]), shape) for shape in shapes]
    made[1][:], made[3][:] = 0, 0
    return [torch.tensor(p, dtype=torch.float32, device=DEVICE) for p in made]


# %% [markdown]
# ## Check: two opinions on the gradient
#
# Never trust an engine whose gradients you have not checked. There are two ways to
# check them.
#
# The first way is the definition. Nudge one number by `h` in both directions, and
# divide the difference of the losses by `2h`. This method is called **gradcheck**. It
# needs two evaluations per number, so it is for tests, not for training. It is done in
# float64, for a reason that the next section shows. Our kernels compute in float32, so
# the losses come from a NumPy version of the network.
#
# The second way is to compare with another engine.


# %%
def loss64(x, target, w1, b1, w2, b2):
    """Return the loss of the network in NumPy, in the precision it is given."""
    hidden = np.maximum(x @ w1 + b1, 0)
    losses, _ = losses_and_gradient(hidden @ w2 + b2, target)
    return losses.sum()


def slopes(function, array, h):
    """Return the slope of a function for each element, by central differences.

    function: takes no arguments and reads `array`, which is nudged in place.
    """
    found = np.empty_like(array)
    for index in np.ndindex(array.shape):
        middle = array[index]
        array[index] = middle + h
        above = function()
        array[index] = middle - h
        found[index] = (above - function()) / (2 * h)
        array[index] = middle
    return found


def two_opinions():
    """Compare the engine's gradients with differences, and with PyTorch."""
    rng = np.random.default_rng(31)
    x = rng.normal(0, 1, (6, 3)).astype(np.float32)
    x = torch.tensor(x, device=DEVICE)
    target = torch.tensor(rng.integers(0, 3, 6), device=DEVICE)
    start = parameters(3, 5, 3)
    mine = [Tensor(p.clone(), needs=True) for p in start]
    theirs = [p.clone().requires_grad_() for p in start]

    ours = gradients_of(my_loss(x, target, *mine), mine)
    torchs = torch.autograd.grad(torch_loss(x, target, *theirs), theirs)
    wide = [p.cpu().numpy().astype(np.float64) for p in (x, *start)]
    numbers = wide[0], target.cpu().numpy(), *wide[1:]
    print("largest difference    from slopes   from PyTorch")
    for name, array, got, other in zip(
        ("w1", "b1", "w2", "b2"), wide[1:], ours, torchs, strict=True
    ):
        slope = slopes(lambda: loss64(*numbers), array, 1e-6)
        far = np.abs(got.cpu().numpy() - slope).max()
        print(f"{name:20} {far:12.1e} {(got - other).abs().max():14.1e}")
        bench.always(f"gradient of {name}", far < 1e-5)


if ready():
    two_opinions()

# %% [markdown]
# ## Look: why float64?
#
# How small should `h` be? If it is too large, the function is not a straight line
# between the two points. If it is too small, both losses are nearly equal: their
# difference consists mostly of rounding errors, which are then divided by a very small
# number. Here is the error of the slope for one weight, for many `h`, in both
# precisions.

# %%
steps = 10.0 ** np.arange(-9, 0)


def slope_errors(dtype):
    """Return the error of a central difference in a given precision, per h."""
    inputs = np.random.default_rng(31).normal(0, 1, 8)
    weight = np.array([0.7])

    def loss(weight, inputs):
        return np.log(np.exp(weight * inputs).sum())

    powers = np.exp(weight * inputs)
    exact = (powers * inputs).sum() / powers.sum()
    narrow, inputs = weight.astype(dtype), inputs.astype(dtype)
    errors = []
    for h in steps:
        slope = slopes(lambda: loss(narrow, inputs), narrow, dtype(h))
        errors.append(max(abs(float(slope[0]) - exact), 1e-17))
    return errors


errors = {
    "float32": slope_errors(np.float32),
    "float64": slope_errors(np.float64),
}

_, axes = plt.subplots(figsize=(7, 4), dpi=72)
for (name, values), mark in zip(errors.items(), ("o--", "s-"), strict=True):
    axes.loglog(steps, values, mark, label=name)
axes.set_xlabel("h")
axes.set_ylabel("error of the slope")
axes.grid(alpha=0.3)
axes.legend()
plt.show()

# %% [markdown] tags=["solution"]
# From right to left, the error first falls with h², as Taylor's formula says, and then
# rises with 1/h, as rounding takes over. In float64, the best h leaves about eleven
# correct digits, and h = 1e-6 is nearly as good. In float32, five digits are left at
# best, and at h = 1e-6 not even one is right. `torch.autograd.gradcheck` uses h = 1e-6,
# and warns if its inputs are not float64.

# %% tags=["solution"]
best = {name: min(values) for name, values in errors.items()}
bench.always("float32 is worse", best["float32"] > 1e3 * best["float64"])

# %% [markdown]
# ## Train
#
# The proof of an engine is a loss curve. The cell below trains a linear regression and
# then the network, twice each, from the same start and on the same data: once with your
# engine and once with PyTorch. The images are small digits, drawn from a font of 5 × 7
# pixels, at random places and with noise.
#
# Without a GPU, everything is small: 8 × 8 pixels and 16 hidden units. With a GPU, the
# images have 28 × 28 pixels, there are 256 hidden units, and the batch size is 128.

# %% tags=["given"]
FONT = (  # ten digits, each of seven rows of five pixels
    *("0e11131519110e", "040c040404040e", "0e11010204081f", "0e11010601110e"),
    *("02060a121f0202", "1f101e0101110e", "0608101e11110e", "1f010204080808"),
    *("0e11110e11110e", "0e11110f01020c"),
)


def digits(rng, count, side):
    """Return images of digits, (count, side * side), and the digits."""
    scale = side // 8
    labels = rng.integers(0, 10, count)
    images = rng.normal(0, 0.3, (count, side, side))
    for image, label in zip(images, labels, strict=True):
        rows = bytes.fromhex(FONT[label])
        bits = [[row >> (4 - i) & 1 for i in range(5)] for row in rows]
        drawn = np.kron(np.array(bits), np.ones((scale, scale)))
        height, width = drawn.shape
        top, left = rng.integers(0, [side - height + 1, side - width + 1])
        image[top : top + height, left : left + width] += drawn
    return images.reshape(count, -1).astype(np.float32), labels


def my_step(loss_of, batch, leaves, rate):
    """Take a step of gradient descent with our engine; return the loss."""
    loss = loss_of(*batch, *leaves)
    for leaf, gradient in zip(leaves, gradients_of(loss, leaves), strict=True):
        descend(leaf, gradient, rate)
    return loss.data


def torch_step(loss_of, batch, leaves, rate):
    """Take the same step with PyTorch."""
    loss = loss_of(*batch, *leaves)
    found = torch.autograd.grad(loss, leaves)
    with torch.no_grad():
        for leaf, gradient in zip(leaves, found, strict=True):
            leaf -= rate * gradient
    return loss.detach()


def both_curves(losses_of, start, batches, rate):
    """Train with both engines; return the losses of each, step by step."""
    mine = [Tensor(p.clone(), needs=True) for p in start]
    theirs = [p.clone().requires_grad_() for p in start]
    curves = {"mine": [], "PyTorch": []}
    for batch in batches:
        loss = my_step(losses_of[0], batch, mine, rate)
        curves["mine"].append(loss.view(1))
        loss = torch_step(losses_of[1], batch, theirs, rate)
        curves["PyTorch"].append(loss.view(1))
    return {name: torch.cat(each).tolist() for name, each in curves.items()}


# %%
def my_regression(x, y, w, b):
    """Return the mean squared error of x @ w + b, with our engine."""
    error = add(add(matmul(Tensor(x), w), b), Tensor(-y))
    share = torch.full((1, 1), 1 / len(x), device=DEVICE)
    return mul(total(mul(error, error)), Tensor(share))


def torch_regression(x, y, w, b):
    return functional.mse_loss(x @ w + b, y)


def regression_data(rng, count, inputs):
    """Return points on a plane, with noise."""
    x = rng.normal(0, 1, (count, inputs))
    y = x @ rng.normal(0, 1, (inputs, 1)) + 0.5 + rng.normal(0, 0.1, (count, 1))
    return [torch.tensor(v, dtype=torch.float32, device=DEVICE) for v in (x, y)]


def train():
    """Return the loss curves of the regression and of the network."""
    rng = np.random.default_rng(31)
    points, inputs, steps = (512, 32, 100) if weft.GPU else (16, 3, 6)
    batch = regression_data(rng, points, inputs)
    start = [
        torch.zeros(inputs, 1, device=DEVICE),
        torch.zeros(1, 1, device=DEVICE),
    ]
    losses = my_regression, torch_regression
    line = both_curves(losses, start, [batch] * steps, 0.1)

    sizes = (28, 256, 128, 300) if weft.GPU else (8, 16, 16, 8)
    side, hidden, count, steps = sizes
    batches = []
    for _ in range(steps if weft.GPU else 1):
        images, labels = digits(rng, count, side)
        pair = torch.tensor(images), torch.tensor(labels)
        batches.append([each.to(DEVICE) for each in pair])
    batches = (batches * steps)[:steps]
    start = parameters(side * side, hidden, 10)
    network = both_curves((my_loss, torch_loss), start, batches, 0.3)
    return {"linear regression": line, "network on digits": network}


curves = train() if ready() else {}

# %%
if curves:
    _, places = plt.subplots(1, 2, figsize=(9, 3.5), dpi=72)
    for axes, (title, pair) in zip(places, curves.items(), strict=True):
        axes.plot(pair["PyTorch"], "-", linewidth=4, alpha=0.4, label="PyTorch")
        axes.plot(pair["mine"], "k--", label="mine")
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        axes.set_ylim(0)
        axes.legend()
    plt.show()


def apart(pair):
    """Return how far two curves are from each other, relative to the start."""
    mine, other = (np.array(pair[name]) for name in ("mine", "PyTorch"))
    return float(np.abs(mine - other).max() / other[0])


for title, pair in curves.items():
    first, last = pair["mine"][0], pair["mine"][-1]
    print(f"{title}: {first:.3f} -> {last:.3f}, {apart(pair):.0e} apart")

# %% tags=["solution"]
for title, pair in curves.items():
    bench.always(f"{title}: equal curves", apart(pair) < 1e-3)
    first, last = pair["mine"][0], pair["mine"][-1]
    bench.always(f"{title}: it learns", last < 0.8 * first)
if weft.GPU and curves:
    first, *_, last = curves["network on digits"]["mine"]
    *_, other = curves["network on digits"]["PyTorch"]
    case = {"case": "network on digits, losses", "unit": ""}
    results.record(
        "31_autograd",
        [
            case | {"name": "first", "value": round(first, 3)},
            case | {"name": "last, mine", "value": round(last, 4)},
            case | {"name": "last, PyTorch", "value": round(other, 4)},
        ],
    )

# %% [markdown] tags=["solution"]
# The dashed lines lie on top of the solid lines. The losses are not bit-identical: the
# kernels add in different orders, and each step builds on the rounding errors of the
# previous step.

# %% [markdown]
# ## Measure: a training step
#
# How does the engine's time compare? The step has 19 launches: 7 in the forward pass, 8
# in the backward pass and 4 for updates. (18 of them are ours. The other one is
# PyTorch's, and it writes the 1 with which the backward pass starts.) The rows are
# times of whole steps as the host sees them, for images of 28 × 28, 256 hidden units
# and a batch of 128.
#
# - `PyTorch`: the step as most people write it, with `torch.optim.SGD`.
# - `mine`: your engine.
# - `19 launches, tensors`: a kernel that does nothing, launched as the engine launches
#   its kernels: with three tensors as arguments, on PyTorch's current stream.
# - `19 launches, arrays`: the same with three arrays of Numba.
# - `19 launches, bare`: the same with arrays, but on the default stream.
# - `PyTorch, graph` and `mine, graph`: the same two steps, captured in a CUDA graph
#   once and then replayed (chapter 17), so that Python is out of the picture.
# - `torch.compile, graph`: PyTorch's step, compiled and then captured, which is the
#   best that PyTorch can do here.
# - `mine, graph, warps`: your engine in a graph, with another kernel for sums: a warp
#   per element of the result, instead of a thread.
#
# Write down your guesses, as multiples of PyTorch's speed. During how much of your
# engine's time is the GPU busy? And do three little sums matter?

# %%
guess = {
    "mine": None,
    "PyTorch, graph": None,
    "mine, graph": None,
    "mine, graph, warps": None,
}


@cuda.jit
def sum_to_warps_kernel(g, rows, cols, out):
    """Sum g along the dimensions that were broadcast: a warp per element."""
    col, row, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    high = g.shape[0] if rows == 1 else 1
    wide = g.shape[1] if cols == 1 else 1

    mine = float32(0)
    for k in range(lane, high * wide, 32):
        mine += g[row + k // wide, col + k % wide]
    mine = warp_sum(mine)
    if lane == 0:
        out[row, col] = mine


def sum_by_warps(g, out):
    """Launch a warp per element of out."""
    rows, cols = out.shape
    warps = sum_to_warps_kernel[(cols, rows), 32, bench.stream()]
    warps(g, rows, cols, out)


@cuda.jit
def nothing_kernel(a, b, out):
    """Do nothing."""


def graphed(step):
    """Return a function that replays one captured step."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compiles and allocates before the capture
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def torch_training(loss_of, batch, start):
    """Return a training step as most people write it."""
    leaves = [p.clone().requires_grad_() for p in start]
    optimiser = torch.optim.SGD(leaves, lr=0.01)

    def step():
        optimiser.zero_grad()
        loss_of(*batch, *leaves).backward()
        optimiser.step()

    return step


def my_training(batch, start):
    """Return a training step with our engine."""
    leaves = [Tensor(p.clone(), needs=True) for p in start]
    return lambda: my_step(my_loss, batch, leaves, 0.01)


def my_graphs(batch, start):
    """Return the engine's step in a graph, with either kernel for sums."""
    rows = {"mine, graph": graphed(my_training(batch, start))}
    SUMS["way"] = sum_by_warps
    rows["mine, graph, warps"] = graphed(my_training(batch, start))
    SUMS["way"] = sum_by_threads
    return rows


def nineteen_launches(x):
    """Return launches of an empty kernel, in three ways."""
    array = cuda.as_cuda_array(x)

    def launches(argument):
        for _ in range(19):
            launch(nothing_kernel, (128, 256), argument, argument, argument)

    def bare():
        for _ in range(19):
            nothing_kernel[(16, 8), (TILE, TILE)](array, array, array)

    return {
        "19 launches, tensors": lambda: launches(x),
        "19 launches, arrays": lambda: launches(array),
        "19 launches, bare": bare,
    }


def training_steps(count, hidden, compiled):
    """Return what builds the candidates for one size."""

    def build():
        images, labels = digits(np.random.default_rng(0), count, 28)
        batch = [torch.tensor(v, device="cuda") for v in (images, labels)]
        start = parameters(28 * 28, hidden, 10)
        rows = {"PyTorch": torch_training(torch_loss, batch, start)}
        mine = ready()
        if mine:
            rows["mine"] = my_training(batch, start)
        if compiled:
            rows |= nineteen_launches(batch[0])
        theirs = torch_training(torch_loss, batch, start)
        rows["PyTorch, graph"] = graphed(theirs)
        if compiled:
            warnings.filterwarnings("ignore", "TensorFloat32 tensor cores")
            faster = torch_training(torch.compile(torch_loss), batch, start)
            rows["torch.compile, graph"] = graphed(faster)
        if mine:
            rows |= my_graphs(batch, start)
        return rows

    return build


small = bench.compare(
    "a step: batch 128, 256 hidden units",
    training_steps(128, 256, compiled=True),
    baseline="PyTorch",
    host=True,
    guess=guess,
)
small

# %% tags=["solution"]
small.expect("PyTorch", at_least=1.5, times="mine")
small.expect("19 launches, tensors", at_least=1, at_most=1.7, times="mine")
small.expect("19 launches, arrays", at_least=1.6, times="19 launches, tensors")
small.expect("19 launches, bare", at_least=1, times="19 launches, arrays")
small.expect("mine, graph", at_least=7, times="mine")
small.expect("mine, graph, warps", at_least=1.9, times="mine, graph")
small.expect("mine, graph, warps", at_least=0.75, times="PyTorch, graph")
small.expect("PyTorch, graph", at_least=7)
small.expect("torch.compile, graph", at_least=1.2, times="PyTorch, graph")

# %% [markdown] tags=["solution"]
# Most of the time of `mine` goes into launches. Launches from Numba take long if their
# arguments are tensors, which have to be converted. The GPU is idle most of the time,
# and this is why the same kernels in a graph are so much faster. PyTorch's step
# consists mostly of launches, too; they are just cheaper.
#
# Once the launches are gone, a surprise is left. The three sums add up only 34,000
# numbers, but take longer than all the other kernels together: a thread that adds up
# 128 numbers does so one after the other. In a warp, 32 threads share the work. With a
# warp per sum, the engine is nearly as fast as PyTorch's own kernels in a graph.

# %% [markdown]
# Now measure a larger network, with a batch of 4096 and 2048 hidden units. What
# determines the time here?

# %%
guess = {
    "mine": None,
    "PyTorch, graph": None,
    "mine, graph": None,
    "mine, graph, warps": None,
}

large = bench.compare(
    "a step: batch 4096, 2048 hidden units",
    training_steps(4096, 2048, compiled=False),
    baseline="PyTorch",
    host=True,
    guess=guess,
)
large

# %% tags=["solution"]
large.expect("PyTorch", at_least=5, times="mine")
large.expect("mine, graph", at_least=0.9, at_most=1.2, times="mine")
large.expect("mine, graph, warps", at_least=1.5, times="mine, graph")
large.expect("PyTorch, graph", at_least=4, times="mine, graph, warps")

# %% [markdown] tags=["solution"]
# The launches no longer matter, and a graph saves next to nothing. The sums, now over
# 4096 rows, still take about half of the time. The rest is probably spent in the matrix
# products: cuBLAS multiplies several times as fast as a kernel with tiles of 16 × 16,
# even without TF32, which is off by default in PyTorch. All three products of a layer
# go through `mm`, so a better kernel would speed up all three at once. You wrote such a
# kernel in chapter 19.

# %% [markdown]
# ## Measure: memory
#
# How many bytes are alive between the forward and the backward pass? On a GPU, ask
# PyTorch's allocator, which serves both engines. The network is the large one: a hidden
# layer of 4096 × 2048 numbers is 33.6 MB. Predict how many arrays of this size each row
# keeps. In the last row, a list keeps the output of every operation alive, just as
# nodes would if they contained their tensors.


# %%
def my_outputs(x, target, w1, b1, w2, b2):
    """Return the loss of the network, and all outputs before it."""
    product = matmul(Tensor(x), w1)
    shifted = add(product, b1)
    hidden = relu(shifted)
    loss = cross_entropy(add(matmul(hidden, w2), b2), target)
    return product, shifted, hidden, loss


def kept_bytes():
    """Return the megabytes that a forward pass leaves alive, per network."""
    images, labels = digits(np.random.default_rng(0), 4096, 28)
    x, target = (torch.tensor(v, device="cuda") for v in (images, labels))
    start = parameters(28 * 28, 2048, 10)
    leaves = [p.clone().requires_grad_() for p in start]

    def forward(activation):
        w1, b1, w2, b2 = leaves
        scores = activation(x @ w1 + b1) @ w2 + b2
        return functional.cross_entropy(scores, target)

    def without_gradients():
        with torch.no_grad():
            return forward(torch.relu)

    networks = {
        "PyTorch, no_grad": without_gradients,
        "PyTorch, ReLU": lambda: forward(torch.relu),
        "PyTorch, GELU": lambda: forward(functional.gelu),
    }
    if ready():
        mine = [Tensor(p, needs=True) for p in start]
        networks["mine, ReLU"] = lambda: my_loss(x, target, *mine)
        networks["mine, all outputs"] = lambda: my_outputs(x, target, *mine)
    found = {}
    for name, network in networks.items():
        network()  # libraries allocate their workspaces
        before = torch.cuda.memory_allocated()
        loss = network()
        found[name] = (torch.cuda.memory_allocated() - before) / 1e6
        del loss
    return found


KEPT_CASE = "kept for backward: batch 4096, 2048 hidden units"
if weft.GPU:
    kept = kept_bytes()
    rows = [
        {"case": KEPT_CASE, "name": name, "value": round(size, 1), "unit": "MB"}
        for name, size in kept.items()
    ]
    results.record("31_autograd", rows)
else:
    recorded = results.of_case(results.reference("31_autograd"), KEPT_CASE)
    kept = {name: row["value"] for name, row in recorded.items()}
    print("No GPU here. On the reference GPU:" if kept else "Not measured yet.")
for name, size in kept.items():
    print(f"{name:18} {size:6.1f} MB")

# %% tags=["solution"]
if kept:
    bench.always("no_grad keeps nothing", kept["PyTorch, no_grad"] < 1)
    bench.always("ReLU keeps one", 33 < kept["PyTorch, ReLU"] < 36)
    bench.always("GELU keeps two", 66 < kept["PyTorch, GELU"] < 70)
    bench.always("mine keeps one", 33 < kept["mine, ReLU"] < 36)
    bench.always("all outputs are three", 99 < kept["mine, all outputs"] < 104)

# %% [markdown] tags=["solution"]
# One array is kept with ReLU, two with GELU, and none without gradients. In both
# engines, the product `x @ w1` and, with ReLU, the sum after it are freed as soon as
# the next operation has read them, because no node refers to them. If nodes contained
# their tensors, as `Value` does, three arrays would be kept.

# %% [markdown]
# ## Look: the graph in PyTorch
#
# In PyTorch, the node is called `grad_fn`, and the edges `next_functions`. A leaf has
# no `grad_fn`; a node called `AccumulateGrad` represents the leaf and adds to its
# `grad`.
#
# The cell prints beside each node the names under which it keeps something: tensors,
# but also shapes, strides and numbers such as `alpha`. `MmBackward0` keeps
# `_saved_self`, the first operand, but not `_saved_mat2`. The latter would be `w`,
# which is needed only for the gradient of the first operand; that operand comes from
# `torch.ones` and needs no gradient.


# %%
def show(node, depth=0):
    """Print a graph of PyTorch's, from the output down."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    saved_here = [name for name in names if getattr(node, name) is not None]
    print("   " * depth + type(node).__name__, *saved_here)
    for source, _ in node.next_functions:
        if source is not None:
            show(source, depth + 1)


w = torch.rand(3, 2, requires_grad=True)
bias = torch.zeros(2, requires_grad=True)
show((torch.ones(4, 3) @ w + bias).relu().sum().grad_fn)

# %% [markdown]
# ## Look: what PyTorch's counter sees
#
# Each of these programs changes a tensor in place between the forward and the backward
# pass. Which of them give the right gradient, which raise an error, and which return a
# wrong gradient without an error? The last program writes with a kernel of ours.
#
# Without any change, the gradients are 2.718, 0.540 and 3.000. A change that PyTorch
# records counts as part of the function. So after `multiplied` the gradients should be
# three times as large, and after `through_a_view` they should be 0 in the first row,
# which is the row printed. The last three changes are not recorded, so they should not
# affect the gradient.


# %%
def multiplied(y):
    y.mul_(3)


def through_a_view(y):
    y[0].zero_()


def through_detach(y):
    y.detach().zero_()


def through_data(y):
    y.data.zero_()


def by_a_kernel(y):
    launch(relu_kernel, y.shape, torch.zeros_like(y), y.detach())


def outcome(function, change):
    """Return "error" if PyTorch refuses, or else the first gradient."""
    x = torch.ones(2, 2, device=DEVICE, requires_grad=True)
    y = function(x)
    change(y)
    try:
        return f"{torch.autograd.grad(y.sum(), x)[0][0, 0]:.3f}"
    except RuntimeError:
        return "error"


operations = {"exp": torch.exp, "sin": torch.sin, "3 * x": lambda x: 3 * x}
print(f"{'gradient after':16}", *(f"{name:>8}" for name in operations))
changes = multiplied, through_a_view, through_detach, through_data, by_a_kernel
for change in changes:
    found = [outcome(function, change) for function in operations.values()]
    print(f"{change.__name__:16}", *(f"{text:>8}" for text in found))

# %% [markdown] tags=["solution"]
# `sin` keeps its input and `3 * x` keeps no tensor, so their outputs may change. The
# first two changes are recorded, as steps of their own; the others are not, and the
# gradient is that of the function alone.
#
# `exp` keeps its output, so every change that the counter sees is refused. The two
# zeros in its column are wrong: the gradient of exp at 1 is 2.718. The counter has two
# blind spots. `y.data` shares the numbers of `y` but not its counter, so **do not use
# it**. And a kernel of yours writes to an address, which PyTorch does not notice.
# `torch.autograd.graph.increment_version(y)` reports the change. Better still, register
# the kernel as an operator that declares what it changes (chapter 32).

# %%
y = torch.ones(2, 2, device=DEVICE, requires_grad=True).exp()
versions = [y._version]
by_a_kernel(y)
versions.append(y._version)
torch.autograd.graph.increment_version(y)
print("version at first, after our kernel, after increment_version:")
print(*versions, y._version)

# %% [markdown]
# ## Look: a Jacobian, row by row or column by column
#
# For a function from n numbers to m numbers, all the derivatives form a matrix of m ×
# n, the **Jacobian** J. Reverse mode never builds this matrix. A backward pass that
# starts with the seed `g` computes `g @ J`, a **vector-Jacobian product**, hence the
# name VJP. With a seed of all zeros except for a single 1, the product is one row of J.
#
# **Forward mode** computes `J @ v`, a JVP, along with the function itself. With a `v`
# of all zeros except for a single 1, the product is one column of J. Forward mode keeps
# nothing for later.

# %%
matrix = torch.rand(2, 3, dtype=torch.float64)


def two_of_three(x):
    """Return two numbers that depend on three."""
    return torch.sin(matrix @ x)


x = torch.rand(3, dtype=torch.float64)
_, vjp = torch.func.vjp(two_of_three, x)
rows = torch.stack([vjp(seed)[0] for seed in torch.eye(2, dtype=torch.float64)])
columns = torch.stack(
    [
        torch.func.jvp(two_of_three, (x,), (direction,))[1]
        for direction in torch.eye(3, dtype=torch.float64)
    ],
    dim=1,
)
print("2 VJPs and 3 JVPs agree:", torch.allclose(rows, columns))
print("with jacrev:", torch.allclose(rows, torch.func.jacrev(two_of_three)(x)))
print("with jacfwd:", torch.allclose(rows, torch.func.jacfwd(two_of_three)(x)))

# %% [markdown] tags=["solution"]
# A loss has m = 1, and n is often in the millions, so one VJP gives all derivatives,
# whereas forward mode would need one pass per parameter. For a function with few inputs
# and many outputs, the opposite is true.

# %% [markdown]
# ## If you want more
#
# - Give the engine `tanh`, `exp` and division. Which of them need `saved` for the
#   output? Compare the gradients with PyTorch's on random expressions.
# - Let `relu` keep one bit per element: a ballot (chapter 8) turns 32 comparisons into
#   one word. When does that save memory, and why does it save none in our network?
# - Replace `matmul_kernel` by your best kernel from chapter 19, and measure the large
#   step again. Your kernel will have to handle transposed operands.
# - Launch `sum_to` with one thread per element of `g`, and add with atomics. For which
#   shapes is that faster? Is the training still reproducible?
# - Write `matmul_vjp` with operations of the engine instead of `mm`, and let `backward`
#   record them. Then differentiate a gradient times a vector: the result is a
#   Hessian-vector product.
#
# ## What you learned
#
# 1. Reverse mode visits every node once, after all nodes that were computed from it,
#    and adds the shares that reach a value over different paths.
# 2. An operation consists of its forward kernel, a VJP per input, and what it keeps for
#    these VJPs. The VJP of a broadcast is a sum; the VJPs of a matrix product are
#    matrix products with transposed views.
# 3. What is kept determines how much memory training takes. ReLU keeps its output,
#    which the next product keeps anyway.
# 4. A version counter makes it an error to change what was kept. The counter does not
#    see what is written through `.data` or by your own kernel.
# 5. At small sizes an engine's time goes into launches, and a CUDA graph removes their
#    cost. At large sizes it goes into the kernels, and the sum for a bias is one of
#    them.

# %%
quiz()
