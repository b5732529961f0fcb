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
# - write a whole operation, forward and backward, from an empty cell;
# - train an MLP with an engine for which you have written the backward pass, the sums,
#   the loss and the gradients of products, and say where its time goes.
#
# **You need** about two and a quarter hours. You do not need a GPU: the exercises and a
# small training run use the simulator. Without a GPU, the measurements show times from
# the reference GPU, an H200. If you use a GPU, it needs compute capability 7.5 or
# higher and 2 GB of memory.

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

chapter = weft.lab("31_autograd")
checks, looks, measure = chapter.checks, chapter.looks, chapter.measure
engine, training = chapter.engine, chapter.training
DEVICE, LOWEST = chapter.kernels.DEVICE, chapter.kernels.LOWEST
mm, plus = chapter.kernels.mm, chapter.kernels.plus
warp_max, warp_sum = chapter.kernels.warp_max, chapter.kernels.warp_sum
elementwise, Tensor = chapter.kernels.elementwise, engine.Tensor

# %% [markdown]
# ## A number that remembers
#
# To differentiate a program, it is enough to know how to differentiate each of its
# steps. In the next cell, every number remembers which step computed it:

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
# Each edge has a function, its **vjp** (the name is explained further down). If the
# program's output changes by `g` per unit of this value, then, through this one step,
# it changes by `vjp(g)` per unit of the input. The rest is bookkeeping, which you write
# now.
#
# ## 1 · Backward
#
# Write `backward`. Start with the gradient of the output, which is given as `seed`.
# Then visit the values, from the output towards the leaves, which are values without
# edges. At each value, call the vjp of every edge *once*, with the **complete**
# gradient of that value, and add the result to the gradient of the edge's input.
#
# In `c = a * b + a`, for example, the gradient of `a` is complete only when it has a
# share from the product and a share from the sum. In general, a value may be visited
# only after **all** values that were computed from it. Here is one way to ensure this,
# which PyTorch also uses:
#
# 1. Walk through the graph once, and count for every value how many edges lead to it.
# 2. Whenever you follow an edge backward, subtract 1 from the count of its input. The
#    input is ready when its count is 0.
#
# Do not use recursion, since graphs are often deeper than the thousand nested calls
# that Python allows. Add two gradients with `plus(a, b)`: in this section gradients are
# floats, but soon they will be arrays, and then a kernel does the addition. There is no
# zero to start from, so take the first share as it is. The check compares your
# gradients with PyTorch's. One of its programs doubles a number 40 times. Its graph has
# 41 values, but a trillion paths between the first and the last, so there is no time to
# follow every path. Stuck? Run `hint("backward")`; there are three hints.
#
# ```python
# backward(output, seed, plus)    # -> {value: gradient}: output, and all values below
# ```

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
    spec=checks.torch_gradients,
    inputs=lambda rng: checks.programs(rng, Value),
    same=checks.same_gradients,
    without=("torch",),
    lines=300_000,
)

# %% [markdown] tags=["solution"]
# It is enough that each value comes after everything that was computed from it. Such an
# order is called a **topological order**. There are two other ways to get one. You can
# run a depth-first search that lists a value once all its inputs are listed, and read
# the list in reverse. You can also take the order of creation in reverse, since a value
# is always created after its inputs.
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
looks.fit(Value, backward)

# %% [markdown]
# This works, but it is very slow, because it makes one Python object per number. An
# engine becomes useful when each of its nodes is an operation on whole arrays, so that
# the overhead of a node is small compared with its work. `backward` need not change at
# all. We only need operations on arrays, and the vjp of each.
#
# ## Arrays and kernels
#
# From here on, all arrays are matrices of float32; a scalar is a 1 × 1 matrix. PyTorch
# provides the memory, as tensors on the GPU if you have one, and otherwise on the CPU.
# It also provides the views of chapter 30, which need no kernel. Every number is
# computed by a kernel of this lab; those that you do not write are in
# `chapters/31_autograd/kernels.py`. Those for elementwise operations need no extra code
# for broadcasting, because an expanded operand has a stride of 0.

# %%
matrix = torch.arange(6.0, device=DEVICE).view(2, 3)
row = torch.tensor([[10.0, 20.0, 30.0]], device=DEVICE)
print(plus(matrix, row))

# %% [markdown]
# ## 2 · The VJP of broadcasting
#
# In `out = x + bias`, with `x` of shape (n, m) and `bias` of shape (1, m), one number
# of the bias is added to all n elements of its column. That number influences n
# outputs, so its gradient is a sum of n shares. It is the sum of a column of `g`, the
# gradient of `out`.
#
# In general, **a gradient is summed along every dimension that was broadcast**, because
# it must have the shape of the tensor that it belongs to. (By PyTorch's rule,
# dimensions that were missing on the left are summed too, and disappear.)
#
# Write one kernel for all four cases: `out` has the shape (rows, cols), where `rows` is
# 1 or the height of `g`, and `cols` is 1 or the width of `g`. There is one thread per
# element of `out`. Keep the sum in float32. Stuck? `hint("sum_to")`.
#
# ```python
# sum_to(g, rows, cols, out)    # g (n, m), out (rows, cols)  float32
# ```

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
    spec=checks.summed_by_numpy,
    because=checks.TOTALS,
    inputs=checks.to_be_summed,
    sizes=[
        (3, 4, 1, 4),
        (5, 3, 5, 1),
        (4, 5, 1, 1),
        (3, 5, 3, 5),
        (7, 20, 1, 20),
    ],
    sized=checks.sum_size,
    launch=lambda n, m, rows, cols: (
        (1 if cols == 1 else -(-m // 16), 1 if rows == 1 else -(-n // 16)),
        (16, 16),
    ),
    full=(1000, 300, 1, 300),
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# One pair of loops serves all four cases. With `rows == 1`, the outer range starts at 0
# and takes every row; with `rows == n`, it starts at `row`, and the next value would
# already be outside.
#
# Broadcasting and summing are a pair: the VJP of a broadcast is a sum, and the VJP of a
# sum is a broadcast. For a bias, this kernel is good enough, because neighbouring
# threads read neighbouring columns. For a sum over everything, a single thread adds up
# one number after the other; chapter 14 has better kernels for that case.

# %% [markdown]
# Next comes the matrix product, `mm(a, b)`. Its kernel is the one with tiles in shared
# memory from chapter 18. It requires only that `a` and `b` can be indexed, so it also
# accepts transposed views: `mm(a.t(), b)` copies nothing.
#
# %% [markdown]
# ## 3 · The two VJPs of a matrix product
#
# Let `out = a @ b`, with `a` of shape (n, k) and `b` of shape (k, m), and let `g`, of
# shape (n, m), be the gradient of `out`. Element (i, p) of `a` is a factor in
#
# `out[i, j] = ... + a[i, p] * b[p, j] + ...`    for every j,
#
# so its gradient is the sum over j of `g[i, j] * b[p, j]`. Write this sum as a matrix
# product. Then derive the gradient of element (p, j) of `b` in the same way. The shapes
# help you to remember the results: there is only one way to multiply `g` and `b`, one
# of them transposed, that gives the shape of `a`. Write both products with `mm`, but
# compute and return only the gradient that `which` selects: in the first layer of a
# network, `a` is the data, and its gradient is not needed. Stuck? `hint("matmul_vjp")`.
#
# ```python
# matmul_vjp(g, a, b, which)    # which = 0: the gradient of a; which = 1: of b
# ```

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
    spec=checks.matmul_gradients,
    because=checks.RESHAPED,
    inputs=checks.products,
    sizes=[(5, 3, 4, 0), (5, 3, 4, 1), (4, 4, 4, 0), (4, 4, 4, 1)],
    sized=checks.product_size,
    call=checks.by_one_product,
    tensors=True,
    gradient=False,
    launches=True,
)

# %% [markdown] tags=["solution"]
# A transposed view swaps two strides, so the same compiled kernel computes the forward
# product and both backward products. cuBLAS handles transposition in a similar way: its
# matrix product has a flag per operand for *transposed*. A backward pass therefore
# computes two matrix products for each product of the forward pass. This explains the
# rule of thumb that a training step takes three times as much work as an evaluation.

# %% [markdown]
# ## 4 · Softmax and cross-entropy
#
# A classifier usually ends in this loss. For each row of scores `x`, with the number of
# the right class in `target`, the loss is `-log(p[target])`, where `p` is the softmax
# of the row. The loss of the batch is the mean over its n rows.
#
# If you split the loss into exponentials, a sum, a division, a logarithm and a mean, it
# takes five nodes, most of which keep something for the backward pass. As a single
# step, it has a surprisingly simple gradient:
#
# `gradient of x[i, j] = (p[i, j] - (1 if j == target[i] else 0)) / n`
#
# A kernel that has `p` can write this gradient at once. Write a kernel that computes
# the gradient and each row's share of the mean loss. As in chapter 16,
#
# - subtract the row's maximum, `top`, before you compute exponentials: `p[j]` is
#   `exp(x[j] - top)`, divided by `total`, the sum of these exponentials over the row;
# - do not take the logarithm of `p`, which may have rounded to 0. The loss of a row is
#   `log(total) + top - x[target]`.
#
# A block is one warp, and it handles one row. `warp_max` and `warp_sum` combine the
# values of the warp's lanes, and all lanes get the result. `LOWEST` is the lowest
# float32. Stuck? `hint("softmax_loss")`.
#
# ```python
# softmax_loss(x, target, losses, grad)
#     # x, grad (n, c), losses (n, 1) float32; target (n,) int64
# ```

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
    spec=checks.losses_and_gradient,
    because=checks.wrong_losses,
    inputs=checks.scores,
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
#
# `exp(x[j] - (log(total) + top))` also equals `p[j]`, and saves a division. The check
# accepts this formula, although it loses digits: in float32, a sum near 500 is off by
# up to 0.000015, so `p[j]` is wrong in the fifth digit.

# %% [markdown]
# ## 5 · What has to be kept?
#
# A vjp is called long after its operation has run. Whatever the vjp needs from the
# forward pass has to be kept in memory in the meantime. This is why training takes so
# much more memory than evaluation. Look at the formula of each gradient. Does it
# contain the operands? Can it be written with the *result*, which is often kept anyway
# because the next operation needs it as its input? Or does it contain neither?
#
# Say what PyTorch keeps for each operation: `"inputs"` (even if it is only one input),
# `"output"` or `"nothing"`. Shapes and Python numbers do not count. `x` and `y` are
# float32 matrices that require gradients. Stuck? `hint("keeps")`.
#
# ```python
# keeps(line)    # "x + y" -> "inputs", "output" or "nothing"
# ```

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
# ## Try it: what PyTorch keeps

# %% [markdown]
# You can observe this in PyTorch: `saved_tensors_hooks` calls one function for every
# tensor that is kept, and another function when the tensor is needed again.

# %%
looks.what_is_kept()

# %% [markdown] tags=["solution"]
# ReLU could keep its input just as well, since input and output are positive in the
# same places. Keeping the output is better: in a network, the output is the input of
# the next layer's product, which keeps it in any case, so two nodes share one array.
# GELU has no such choice, so it keeps an extra array in every layer.

# %% [markdown]
# ## Tensors of our own
#
# A `Value` is both a number and a node of the graph. For arrays, this would waste
# memory: a node is kept until the backward pass, and so is the array it contains,
# whether or not the array is needed. So here numbers and nodes are separate. A `Tensor`
# has its numbers, `data`, and a `node`; edges lead from node to node.
#
# Two more things are new. A tensor whose gradient is not needed has no node, and edges
# to it are left out. And a tensor has a `memory`, shared by all views of the same
# numbers, whose `version` counts how often these numbers were changed in place. The
# classes are in `chapters/31_autograd/engine.py`.
#
# %% [markdown]
# ## 6 · A whole operation
#
# Now write an operation from an empty cell, kernels included: `tanh(x)`, for every
# element of a `Tensor`. With $y = \tanh x$, the derivative is $1 - y^2$.
#
# - Two kernels with `@cuda.jit`, one for the result and one for the vjp. They get
#   matrices and a result of the same shape. `elementwise(kernel, *arrays)` launches
#   `kernel(*arrays, out)` with one thread per element, for matrices of any strides,
#   and returns `out`. In a kernel, `col, row = cuda.grid(2)` may be outside `out`.
# - `tanh` returns `Tensor(data, edges)`: the result, and a list with the pair
#   `(x, vjp)`. `vjp(g)` returns the gradient of `x` if `g` is that of the result.
# - `x.data` may change in place before the backward pass. Keep only the output.
#
# ```python
# tanh(x)    # Tensor (n, m) -> Tensor (n, m), float32
# ```
#
# Stuck? `hint("tanh")`.

# %%
# BEGIN SOLUTION
# was:
@cuda.jit
def tanh_kernel(x, out):
    """Write tanh(x) into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = math.tanh(x[row, col])


@cuda.jit
def tanh_vjp_kernel(y, g, out):
    """Write g (1 - y²) into out."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        here = y[row, col]
        out[row, col] = g[row, col] * (float32(1) - here * here)


# END SOLUTION
def tanh(x):
    """Return the tanh of each element, as a Tensor that knows its vjp."""
    # about 20 lines, kernels included
    # BEGIN SOLUTION
    y = elementwise(tanh_kernel, x.data)
    return Tensor(y, [(x, lambda g: elementwise(tanh_vjp_kernel, y, g))])
    # END SOLUTION

# %%
check(
    tanh,
    spec=lambda x, g: (np.tanh(x), g * (1 - np.tanh(x) ** 2)),
    because=checks.TANH,
    inputs=checks.scores_and_gradient,
    sizes=[(2, 3), (5, 17), (18, 4)],
    call=checks.both_ways,
    outputs=("tanh(x).data", "vjp(g)"),
    tensors=True,
    gradient=False,
    launches=True,
)

# %% [markdown] tags=["solution"]
# The vjp is a function that is called later, and it holds on to `y` until then. Nothing
# holds on to `x.data`: once the next operation has read it, its memory is free.

# %% [markdown]
# ## 7 · A version counter
#
# A step of gradient descent, `descend`, is the dangerous part: it changes the weights
# in place. Suppose that an operation has kept `w` for its vjp, as your `tanh` keeps its
# output, and `w` is changed in place before the backward pass. Then the gradient would
# be computed from the wrong numbers, and nothing would tell you.
#
# So a tensor is kept together with the version it had. Write `saved`, which is called
# when an operation runs, and returns a function without arguments, which the vjp will
# call. That function returns `tensor.data` itself, not a copy. But if the version in
# the tensor's memory has changed in the meantime, the function raises a `RuntimeError`.
# Stuck? `hint("saved")`.
#
# ```python
# saved(tensor)    # -> a function that returns tensor.data, or raises RuntimeError
# ```

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
    inputs=checks.subjects,
    same=checks.same_story,
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
# Now put the parts together. `engine.py` has the rest: six operations, each with its
# forward computation and the vjps of its inputs. Its `matmul`, for example, keeps both
# inputs with your `saved`, and calls your `matmul_vjp` in the vjp of each.
#
# The next cell puts five of your functions into the engine. Run it again whenever you
# change one of them. Of the kernels that a step launches, `sum_to` and `softmax_loss`
# are yours. The kernels for sums, products, ReLU and the descent are given.

# %%
engine.use(backward, sum_to, matmul_vjp, softmax_loss, saved)

# %% [markdown]
# ## Train
#
# A loss curve shows whether an engine works. The cell below trains a linear regression
# and then a network of two layers with a ReLU between them, twice each, from the same
# start and on the same data: once with your engine and once with PyTorch. The images
# are small digits, drawn in a font of 5 × 7 pixels, at random places and with noise.
#
# Without a GPU, images have 8 × 8 pixels, and there are 16 hidden units.

# %%
curves = training.train()
training.plot_and_print(curves)

# %% tags=["solution"]
for title, pair in curves.items():
    bench.always(f"{title}: equal curves", training.apart(pair) < 1e-3)
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
# Your `tanh` is an operation like the engine's own. Here it replaces the ReLU:

# %%
training.with_activation(tanh)

# %% [markdown]
# ## Measure: a training step
#
# A training step of the engine has 19 launches: 7 in the forward pass, 8 in the
# backward pass and 4 for updates. The rows are times of whole steps as the host sees
# them, for images of 28 × 28, 256 hidden units and a batch of 128.
#
# - `PyTorch`: the step as most people write it, with `torch.optim.SGD`.
# - `mine`: your engine.
# - `19 launches, tensors`: a kernel that does nothing, launched as the engine launches
#   its kernels: with three tensors as arguments, on PyTorch's current stream.
# - `19 launches, arrays`: the same with three Numba arrays.
# - `19 launches, bare`: the same with arrays, but on the default stream.
# - `PyTorch, graph` and `mine, graph`: the same two steps, captured in a CUDA graph
#   once and then replayed (chapter 17), so that Python plays no part.
# - `torch.compile, graph`: PyTorch's step, with loss and optimiser compiled in the
#   default mode and everything captured; `autotuned, graph`: the same with
#   `mode="max-autotune-no-cudagraphs"`.
# - `mine, graph, warps`: your engine in a graph, with another kernel for sums: a warp
#   per element of the result, instead of a thread.
#
# Write down your guesses, as multiples of PyTorch's speed. For what fraction of your
# engine's time is the GPU busy? Do three little sums matter?

# %%
guess = {
    "mine": None,
    "PyTorch, graph": None,
    "mine, graph": None,
    "mine, graph, warps": None,
}

small = measure.small(guess)
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
small.expect("autotuned, graph", at_least=0.9, times="torch.compile, graph")

# %% [markdown] tags=["solution"]
# Most of the time of `mine` goes into launches. Launches from Numba take long if their
# arguments are tensors, which have to be converted. The GPU is idle most of the time,
# which is why the same kernels in a graph are so much faster. PyTorch's step also
# consists mostly of launches, but these take less time.
#
# Without the launches, the three sums take most of the time. They add up only 34,000
# numbers, but take longer than all the other kernels together, because each thread adds
# up 128 numbers one after the other. With a warp per sum, 32 threads share this work,
# and the engine is nearly as fast as PyTorch's own kernels in a graph.

# %% [markdown]
# ## More measurements
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### A larger network
#
# Now measure a larger network, with a batch of 4096 and 2048 hidden units. What
# determines the time here?

# %%
guess = {
    "mine": None,
    "PyTorch, graph": None,
    "mine, graph": None,
    "mine, graph, warps": None,
}

large = measure.large(guess)
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
# go through `mm`, so a better kernel, such as the one you wrote in chapter 19, would
# speed up all three at once.

# %% [markdown]
# ### Memory
#
# On a GPU, PyTorch's allocator, which serves both engines, can tell how many bytes are
# alive between the forward and the backward pass. The network is the large one: a
# hidden layer of 4096 × 2048 numbers is 33.6 MB. Before you run the cell, predict how
# many arrays of this size PyTorch keeps without gradients, with ReLU and with GELU, and
# how many your engine keeps. In the last row, a list keeps the output of every
# operation, as nodes would if they contained their tensors.

# %%
kept = measure.kept()

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
# ### Two opinions on the gradient
#
# There are two ways to check an engine's gradients.
#
# The first way uses the definition of a derivative. Change one number by `h` in both
# directions, and divide the difference of the losses by `2h`. This method is called
# **gradcheck**. It needs two evaluations per number, so it is useful for tests but not
# for training. It is done in float64, for a reason that the next section shows. Our
# kernels compute in float32, so the losses come from a NumPy version of the network.
#
# The second way is to compare with another engine.

# %%
looks.two_opinions()

# %% [markdown]
# ### Why float64?
#
# If `h` is too large, the function is not a straight line between the two points. If
# `h` is too small, both losses are nearly equal, so their difference consists mostly of
# rounding errors, which are then divided by a very small number. Here is the error of
# the slope for one weight, for many `h`, in both precisions.

# %%
errors = looks.slopes_by_step()

# %% [markdown] tags=["solution"]
# From right to left, the error first falls with h², according to Taylor's formula, and
# then rises with 1/h, because of rounding. In float64, the best h leaves about eleven
# correct digits, and h = 1e-6 is nearly as good. In float32, five digits are left at
# best, and at h = 1e-6 not even one is right. `torch.autograd.gradcheck` uses h = 1e-6,
# and warns if its inputs are not float64.

# %% tags=["solution"]
best = {name: min(values) for name, values in errors.items()}
bench.always("float32 is worse", best["float32"] > 1e3 * best["float64"])

# %% [markdown]
# ### The graph in PyTorch
#
# In PyTorch, the node is called `grad_fn`, and the edges are called `next_functions`. A
# leaf has no `grad_fn`; a node called `AccumulateGrad` represents the leaf and adds to
# its `grad`.
#
# The cell prints beside each node the names under which it keeps something: tensors,
# but also shapes, strides and numbers such as `alpha`. `MmBackward0` keeps
# `_saved_self`, the first operand, but not `_saved_mat2`. The second operand, `w`, is
# needed only for the gradient of the first. The first comes from `torch.ones` and needs
# no gradient.

# %%
w = torch.rand(3, 2, requires_grad=True)
bias = torch.zeros(2, requires_grad=True)
looks.show((torch.ones(4, 3) @ w + bias).relu().sum().grad_fn)

# %% [markdown]
# ### What PyTorch's counter sees
#
# Each of these programs changes a tensor in place between the forward and the backward
# pass. Which of them give the right gradient, which raise an error, and which return a
# wrong gradient without an error? The last program writes with a kernel of ours.
#
# Without any change, the gradients are 2.718, 0.540 and 3.000. A change that PyTorch
# records counts as part of the function. After `multiplied`, the gradients should
# therefore be three times as large. After `through_a_view`, they should be 0 in the
# first row, which is the row that is printed. The last three changes are not recorded,
# so they should not affect the gradient.

# %%
looks.what_is_noticed()

# %% [markdown] tags=["solution"]
# `sin` keeps its input and `3 * x` keeps no tensor, so it does no harm to change their
# outputs. The first two changes are recorded as separate steps. The others are not
# recorded, so the gradient is that of the function without the change.
#
# `exp` keeps its output, so every change that the counter sees is refused. The two
# zeros in its column are wrong: the gradient of exp at 1 is 2.718. The counter has two
# blind spots. `y.data` shares the numbers of `y` but not its counter, so **do not use
# it**. Your own kernel writes to an address, which PyTorch does not notice.
# `torch.autograd.graph.increment_version(y)` reports the change. Better still, register
# the kernel as an operator that declares what it changes (chapter 32).

# %%
looks.versions()

# %% [markdown]
# ### A Jacobian, row by row or column by column
#
# For a function from n numbers to m numbers, all the derivatives form a matrix of m ×
# n, the **Jacobian** J. Reverse mode never builds this matrix. A backward pass that
# starts with the seed `g` computes `g @ J`, a **vector-Jacobian product** or VJP. With
# a seed of all zeros except for a single 1, the product is one row of J.
#
# **Forward mode** computes `J @ v`, a JVP, along with the function itself. With a `v`
# of all zeros except for a single 1, the product is one column of J. Forward mode keeps
# nothing for later.

# %%
looks.jacobians()

# %% [markdown] tags=["solution"]
# A loss has m = 1, and n is often in the millions, so one VJP gives all derivatives,
# whereas forward mode would need one pass per parameter. For a function with few inputs
# and many outputs, the opposite is true.

# %% [markdown]
# ### If you want more
#
# - Give the engine `exp` and division. Which of these two need `saved` for the output?
#   Compare the gradients with PyTorch's on random expressions.
# - Let `relu` keep one bit per element: a ballot (chapter 8) turns 32 comparisons into
#   one word. When does this save memory, and why does it not save any in our network?
# - Replace `matmul_kernel` with your best kernel from chapter 19, and measure the large
#   step again. Your kernel will have to handle transposed operands.
# - Launch `sum_to` with one thread per element of `g`, and add with atomics. For which
#   shapes is that faster? Is the training still reproducible?
# - Write `matmul_vjp` with operations of the engine instead of `mm`, and let `backward`
#   record them. Then differentiate a gradient times a vector: the result is a
#   Hessian-vector product.

# %% [markdown]
# ## What you learned
#
# 1. Reverse mode visits every node once, after all nodes that were computed from it,
#    and adds up the shares that reach a value along different paths.
# 2. An operation consists of its forward kernel, a VJP per input, and what it keeps for
#    these VJPs. The VJP of a broadcast is a sum; the VJPs of a matrix product are
#    matrix products with transposed views.
# 3. What is kept determines how much memory training takes. ReLU keeps its output,
#    which the next product keeps anyway.
# 4. With a version counter, changing a kept tensor becomes an error. The counter does
#    not see what is written through `.data` or by your own kernel.
# 5. At small sizes, an engine spends its time on launches, which a CUDA graph avoids.
#    At large sizes, it spends its time in the kernels, and the sum for a bias is one of
#    them.

# %%
quiz()
