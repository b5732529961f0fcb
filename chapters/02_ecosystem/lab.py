# %% [markdown]
# # 02 · The ecosystem
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/02_ecosystem.ipynb)
#
# **After this lab, you can**
#
# - run one model in several ways, and say which kernels each of them launches;
# - write a layer of it as a kernel of your own;
# - say in one number whether two programs compute the same results;
# - fix a function that an exporter would freeze;
# - compute what an experiment costs on a rented GPU, and what to change first.
#
# **You need** about 70 minutes. You do not need a GPU: without one, the exercises run
# all the same, and the measurements show times from the reference GPU. If you use a
# GPU, it needs compute capability 7.5 or higher (8.0 for the Triton part) and 1 GB of
# memory. One of the ways to run the model needs three more packages. Its cell names
# them, and does nothing without them.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import contextlib
import functools
import inspect
import io
import logging
import math
import os
import warnings

import numpy as np
import torch
from numba import cuda, float32
from torch import nn

from weft import bench, check, hint, quiz
from weft.lesson import answers

weft.lab("02_ecosystem")

# %% [markdown]
# ## The model
#
# The model has three linear layers, with a ReLU after each of the first two; 64 numbers
# go in, and 10 come out. It is the smallest thing that deserves the name of a network.
# The model is not trained. The weights are random, and so are the data, which makes no
# difference to the machine: it moves as many bytes, and adds up as many products, as in
# a trained model.
#
# Read `forward` as a recipe. `nn.Linear` multiplies by a matrix of weights and adds a
# bias; ReLU replaces negative numbers by 0.

# %%
torch.set_grad_enabled(False)  # we only ask, we do not train
logging.disable(logging.WARNING)  # exporters talk much
warnings.filterwarnings("ignore", message="TensorFloat32")  # off on purpose
THREADS = min(8, os.cpu_count())  # for what runs on the CPU
torch.set_num_threads(THREADS)
FEATURES, HIDDEN, CLASSES = 64, 1024, 10


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(FEATURES, HIDDEN)
        self.two = nn.Linear(HIDDEN, HIDDEN)
        self.three = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        x = torch.relu(self.one(x))
        x = torch.relu(self.two(x))
        return self.three(x)


torch.manual_seed(2)
model = MLP().eval()
few = torch.randn(32, FEATURES)  # a batch of 32 inputs
print(model)
print("out:", tuple(model(few).shape))

# %% [markdown]
# How long should a batch of 32 take on an H200? Compute it before you go on.
#
# - **Arithmetic.** A layer with `k` inputs and `n` outputs requires `2 * k * n`
#   operations per item of the batch. An H200 does 51 trillion float32 operations per
#   second (chapter 18 measures that).
# - **Bytes.** Each weight has 4 bytes and has to be read once. An H200's memory
#   delivers 4.2 trillion bytes per second.

# %%
weights = FEATURES * HIDDEN + HIDDEN * HIDDEN + HIDDEN * CLASSES
print(f"arithmetic  {2 * 32 * weights / 51e12 * 1e6:5.2f} us")
print(f"bytes       {4 * weights / 4.2e12 * 1e6:5.2f} us")

# %% [markdown]
# So the limit is between one and two microseconds. Keep it in mind: the first
# measurement below shows how many microseconds each way of running the model takes.
#
# ## 1 · A layer of your own
#
# Whichever way you choose, kernels run in the end. So write one: a linear layer with
# its bias and its ReLU, all in one kernel. One thread computes one number of the
# output.
#
# For row `row` of `x` and output `col`, that number is
#
#     relu(x[row, 0] * w[col, 0] + x[row, 1] * w[col, 1] + … + b[col])
#
# Mind the weights: PyTorch keeps a **row for each output**, so the weight is `w[col,
# k]` and not `w[k, col]`. The index, the guard and the two coordinates are given. (`//`
# and `%` turn a thread's number into a row and a column.) What is missing is the loop
# over `k` and what comes before and after it. Write zeros as `float32(0)`; chapter 5
# says why. The check allows a thread two loads per product and one load for the bias,
# and no float64.
#
# ```python
# linear_relu(x, w, b, out)    # (m, k), (n, k), (n,) -> (m, n)  float32
# ```
#
# Stuck? `hint("linear_relu")`; there are three hints.


# %%
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        # about 4 lines
        # BEGIN SOLUTION
        total = b[col]
        for k in range(x.shape[1]):
            total += x[row, k] * w[col, k]
        out[row, col] = max(total, float32(0))
        # END SOLUTION


# %%
check(
    linear_relu,
    spec=lambda x, w, b: np.maximum(x @ w.T + b, 0),
    inputs=lambda rng, m, k, n: (
        rng.standard_normal((m, k), np.float32),
        rng.standard_normal((n, k), np.float32),
        rng.standard_normal(n, np.float32),
    ),
    sizes=[(4, 3, 7), (1, 1, 1), (5, 8, 3)],
    launch=lambda m, k, n: (-(-m * n // 32), 32),
    full=(300, 64, 500),
    # a thread: 8 of x, 8 of w, 1 of b
    limits={"loads": 2 * 8 + 1, "float64": 0},
)

# %% [markdown] tags=["solution"]
# This is a matrix product and two small operations in one kernel: the sum starts with
# the bias, stays in its thread while it grows, and goes through the ReLU on its way to
# memory. That is **fusion**, and it came without effort because you wrote the whole
# kernel. PyTorch's `relu(linear(x))` first writes the sums to memory and then reads
# them back for the ReLU.
#
# It is also a slow kernel, for a reason that is the subject of chapter 12: neighbouring
# threads read weights that are far apart. You will see how slow.

# %% [markdown]
# ## 2 · Are they the same?
#
# Several programs are about to compute the same 320 numbers, and no two will get
# exactly the same bits: each adds in a different order, and each addition rounds. So
# `==` is not a useful test. Nor is a fixed tolerance: an error of 0.01 is negligible
# next to 10,000, but enormous next to 0.001.
#
# Use a **relative error**: how far off is the worst element, compared with the largest
# magnitude among the wanted elements? Return that ratio. Some outputs come as float16
# or as bytes, in which a difference may overflow, so compute in float64. Two kinds of
# output cannot be compared at all, those whose shape is not the wanted one and those
# with a NaN: their error is infinite, `math.inf`. If all wanted numbers are zero, there
# is no magnitude to compare with: the error is 0 if the output is all zeros, and
# infinite otherwise.
#
# ```python
# relative_error(pair)    # pair.got, pair.wanted: NumPy arrays -> a float
# ```
#
# Stuck? `hint("relative_error")`.


# %% tags=["given"]
class Pair:
    """What a program got and what was wanted; `words` describe the pair."""

    def __init__(self, got, wanted, words="a pair"):
        self.got, self.wanted = np.asarray(got), np.asarray(wanted)
        self.words = words

    def __repr__(self):
        return self.words


PUT_IN = {}  # pair: its relative error


def pairs(rng):
    """Return pairs whose relative error is known, since it was put in."""
    x = rng.uniform(-1, 1, (32, 10)).astype(np.float32)
    x[20, 7] = -2  # the largest magnitude is 2

    def moved(place, by, scale=1.0):
        y = x.copy()
        y[place] += by
        error = abs(float(y[place]) - float(x[place])) / 2
        return np.float32(scale) * y, np.float32(scale) * x, error

    up, down = moved((3, 3), 0.125), moved((5, 1), -0.25)
    far = moved((8, 8), 32.0)
    x[4, 4] = 2**-20
    small, tiny = moved((4, 4), 2**-8), moved((9, 0), 0.5, 2**-40)
    huge = moved((7, 7), 2**-12, 2**14)
    half = np.array([60000, 1, 2], np.float16)
    byte = np.array([3, 200, 9], np.uint8)
    lost, endless = x.copy(), x.copy()
    lost[31, 9], endless[3, 1] = np.nan, np.inf
    none = np.zeros_like(x)
    found = {
        Pair(x, x, "the same twice"): 0.0,
        Pair(*up[:2], "one element too large"): up[2],
        Pair(*down[:2], "one element too small"): down[2],
        Pair(*far[:2], "one element far too large"): far[2],
        Pair(*small[:2], "one small element slightly off"): small[2],
        Pair(*tiny[:2], "outputs of 1e-12, one far off"): tiny[2],
        Pair(*huge[:2], "outputs of 3e4, one a little off"): huge[2],
        Pair(half * np.float16([-1, 1, 1]), half, "float16, wrong sign"): 2.0,
        Pair(byte + np.uint8([2, 0, 0]), byte, "uint8, one too large"): 0.01,
        Pair(byte - np.uint8([2, 0, 0]), byte, "uint8, one too small"): 0.01,
        Pair(x.ravel(), x, "320 against 32 x 10"): math.inf,
        Pair(x[:, :1], x, "32 x 1 against 32 x 10"): math.inf,
        Pair(x.reshape(10, 32), x, "10 x 32 against 32 x 10"): math.inf,
        Pair(lost, x, "a NaN among them"): math.inf,
        Pair(lost, lost, "a NaN on both sides"): math.inf,
        Pair(endless, x, "an infinity among them"): math.inf,
        Pair(none, none, "zeros, as wanted"): 0.0,
        Pair(x, none, "zeros wanted, and others came"): math.inf,
    }
    PUT_IN.update(found)
    return [(pair,) for pair in found]


def put_in(pair):
    """Return the relative error that was put into a pair."""
    return PUT_IN[pair]


# %%
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    # about 8 lines
    # BEGIN SOLUTION
    if pair.got.shape != pair.wanted.shape:
        return math.inf

    got, wanted = pair.got.astype(np.float64), pair.wanted.astype(np.float64)
    worst, largest = np.abs(got - wanted).max(), np.abs(wanted).max()
    if worst == 0:
        return 0.0
    if np.isnan(worst) or largest == 0:
        return math.inf
    return worst / largest
    # END SOLUTION


# %%
check(
    relative_error,
    spec=put_in,
    inputs=pairs,
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# Why relative to the largest element, and not to each element itself? Because an output
# near 0 is usually the small difference of large terms. Its own last digits are
# rounding errors, and no order of adding makes them right.
#
# The shapes have to be compared first, since NumPy would broadcast 32 × 1 against 32 ×
# 10 and compare without complaint. And a NaN is not larger than anything, so `error >
# tolerance` reports that all is well. (`not error <= tolerance` would have been safe.)
#
# **Which error is small enough?** A float32 has 24 significant bits, so one rounding is
# off by 6e-8 at most. Sums of 1024 products in different orders differ by a few such
# errors, about 1e-7. A wrong program is off by 0.01 or more. Any limit in between will
# do, and this lab uses **1e-5**.

# %% [markdown]
# ## Ways to run it
#
# Now run the same model in one way after another. `doors` will contain a function for
# each way, which takes no arguments and returns the output for the 32 inputs. The right
# answer is computed once, on the CPU in float64.

# %%
exact = MLP().double()
exact.load_state_dict(model.state_dict())
wanted = exact(few.double())

doors = {"eager, CPU": lambda: model(few)}

# %% [markdown]
# **ONNX** is a file format: a graph of operations with their weights, and no Python.
# **ONNX Runtime** runs such files, from C++, C#, Java, JavaScript or Python. PyTorch's
# exporter runs your model once with an example, so you have to tell it which sizes may
# change later: here `dynamic_shapes` says that the first one may, and calls it `batch`.

# %%
try:
    import onnxruntime
    import onnxscript  # torch.onnx needs it
except ModuleNotFoundError as missing:
    onnxruntime = None
    print(f"Skipped: {missing.name} is not installed here. This door needs")
    print("         pip install onnx onnxruntime onnxscript")


def exported(x, **options):
    """Return the model as bytes of ONNX, exported with x as its example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about PyTorch's own code
        options |= {"dynamo": True, "verbose": False}
        return torch.onnx.export(model, (x,), **options).model_proto


if onnxruntime:
    proto = exported(few, dynamic_shapes=({0: "batch"},))
    print("operations:", *(node.op_type for node in proto.graph.node))
    print(f"size: {proto.ByteSize():,} bytes")

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = THREADS

    def runtime(proto):
        model = proto.SerializeToString()
        return onnxruntime.InferenceSession(
            model, settings, providers=["CPUExecutionProvider"]
        )

    session = runtime(proto)
    feed = {session.get_inputs()[0].name: few.numpy()}
    doors["ONNX Runtime, CPU"] = lambda: session.run(None, feed)[0]

# %% [markdown]
# The file contains five operations, and nearly all of its bytes are weights. Nothing in
# it depends on a GPU or on PyTorch.
#
# The next ways need a GPU. **`torch.compile`** traces the Python code once, turns it
# into a graph, and has **Inductor** write new kernels where that pays. A **CUDA graph**
# keeps the kernels as they are, records their launches, and starts all of them with a
# single call.

# %%
if weft.on_gpu("what these doors lead to"):
    there = MLP().cuda()
    there.load_state_dict(model.state_dict())
    x = few.cuda()
    compiled = torch.compile(there, dynamic=False)

    def as_graph(function):
        """Return a function that replays what `function` launches."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # compiles, allocates: not recorded
            function()
        torch.cuda.current_stream().wait_stream(side)

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = function()

        def replay():
            graph.replay()
            return out

        return replay

    doors["eager"] = lambda: there(x)
    doors["torch.compile"] = lambda: compiled(x)
    doors["eager, CUDA graph"] = as_graph(doors["eager"])
    doors["compile, CUDA graph"] = as_graph(doors["torch.compile"])

# %% [markdown]
# The last way is **by hand**. The first layer is your kernel. The second layer is a
# kernel in **Triton**, which is, like Numba, a language for kernels embedded in Python
# (and has nothing to do with the Triton Inference Server). A Triton program handles a
# tile of the output, M × N numbers at a time, and `tl.dot` multiplies tiles. The third
# layer is PyTorch's own.
#
# Do not try to understand every line; chapter 29 takes this kernel apart. Find the
# parts of your own kernel in it: the loop, the products, the bias and the ReLU.

# %%
has_triton = weft.device.find().capability >= (8, 0)

if weft.on_gpu("Triton's machine code needs one") and has_triton:
    import triton
    import triton.language as tl

    @triton.jit
    def triton_layer(
        x,  # (m, k)
        w,  # (n, k)
        b,  # (n,)
        out,  # (m, n)
        n,
        k,
        M: tl.constexpr,
        N: tl.constexpr,
        K: tl.constexpr,
        PRECISION: tl.constexpr,
    ):
        row = tl.program_id(0) * M + tl.arange(0, M)
        col = tl.program_id(1) * N + tl.arange(0, N)

        total = tl.zeros((M, N), tl.float32)
        for first in range(0, k, K):  # sizes are multiples of the tile's
            inner = first + tl.arange(0, K)
            left = tl.load(x + row[:, None] * k + inner[None, :])
            right = tl.load(w + col[None, :] * k + inner[:, None])
            total = tl.dot(left, right, total, input_precision=PRECISION)

        total = tl.maximum(total + tl.load(b + col)[None, :], 0)
        tl.store(out + row[:, None] * n + col[None, :], total)

    SMALL = {"M": 16, "N": 32, "K": 64, "num_warps": 4}
    LARGE = {"M": 128, "N": 128, "K": 32, "num_warps": 8}

    def by_triton(x, layer, out, tile, precision="ieee"):
        (m, k), n = x.shape, len(layer.bias)
        grid = (m // tile["M"], n // tile["N"])
        w, b = layer.weight, layer.bias
        triton_layer[grid](x, w, b, out, n, k, PRECISION=precision, **tile)


if weft.on_gpu("the simulator would take hours for a layer of this size"):

    def by_numba(x, layer, out):
        arrays = (x, layer.weight.detach(), layer.bias.detach(), out)
        views = [cuda.as_cuda_array(array) for array in arrays]
        grid = out.numel() // 128
        return lambda: linear_relu[grid, 128, bench.stream()](*views)

    def by_hand(x, tile):
        first = torch.empty(len(x), HIDDEN, device="cuda")
        second = torch.empty_like(first)
        layer_one = by_numba(x, there.one, first)

        def run():
            layer_one()
            by_triton(first, there.two, second, tile)
            return there.three(second)

        return run

    if has_triton:
        doors["by hand"] = by_hand(x, SMALL)

# %% [markdown]
# Do all these ways give the same numbers? Your `relative_error` answers that. (If
# exercise 1 or 2 is still open, the output shows it, and nothing breaks.)

# %%
LIMIT = 1e-5


def judge(named):
    """Print the relative error of each door."""
    for name, door in named.items():
        got = door()
        if isinstance(got, torch.Tensor):
            got = got.cpu().float().numpy()
        error = relative_error(Pair(got, wanted.numpy()))
        if error is None:
            print(f"{name:22} exercise 2 is still open")
        else:
            verdict = "same" if error <= LIMIT else "NOT the same"
            print(f"{name:22} {error:8.1e}  {verdict}")


judge(doors)

# %% [markdown]
# Two more ways are fast because their results are *not* the same: in **TF32**, the GPU
# rounds the factors of a product to 11 significant bits, and in **bfloat16**, every
# number has 8. Guess their errors before you run the cell.


# %%
def in_tf32(function):
    """Call a function with TF32 allowed in matrix products."""
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return function()
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


if weft.on_gpu("on a CPU these formats are another story"):
    low = MLP().cuda().bfloat16()
    low.load_state_dict(model.state_dict())
    judge(
        {
            "eager, TF32": lambda: in_tf32(doors["eager"]),
            "eager, bfloat16": lambda: low(x.bfloat16()),
        }
    )

# %% [markdown]
# ## Measure: a batch of 32
#
# You computed a limit of one to two microseconds. How long does a program wait for its
# result in each case? The times include everything, also the host's part, and each call
# starts as soon as the one before returns, as in a server that is never idle. Guess
# relative to eager: 2 is twice as fast, 0.5 half as fast. Does the CPU have any chance?

# %%
guess = {
    "torch.compile": None,
    "eager, CUDA graph": None,
    "compile, CUDA graph": None,
    "by hand": None,
    "ONNX Runtime, CPU": None,
}

small = bench.compare(
    "a batch of 32",
    lambda: doors,
    baseline="eager",
    guess=guess,
    host=True,
)
small

# %% tags=["solution"]
small.expect("eager, CUDA graph", at_least=1.2)
small.expect("compile, CUDA graph", at_least=1.2)

# %% [markdown] tags=["solution"]
# No row comes near two microseconds, and the table falls into two parts. Both graphs
# take about 40 µs, which is the time of the kernels. In the other rows on the GPU, the
# host sets the time: PyTorch's path from `nn.Linear` to a launch, eight operators in
# all, takes as long as the GPU's work or longer. The GPU is idle for half of the time
# or more. Compared with that, the CPU with eight threads is only a few times slower.
#
# `torch.compile` is *slower* than eager here. Each call first checks that nothing has
# changed since the graph was made, then runs a Python function that Inductor wrote. Its
# kernels are not slower: as a graph, they win. (`mode="reduce-overhead"` does that for
# you.) The model by hand suffers most: Numba and Triton inspect their arguments at each
# launch, and the Triton kernel is no match for cuBLAS at this shape.
#
# Why do the kernels take 40 µs? The records below suggest that 32 rows are too few to
# fill the GPU.
# %% [markdown]
# ## Measure: a batch of 8192
#
# A batch of 8192 is 256 times the work. The arithmetic alone now takes 0.36 ms in
# float32. What happens to the differences between the ways?

# %%
MANY = 8192


def with_many():
    many = torch.randn(MANY, FEATURES)
    x = many.cuda()
    x16 = x.bfloat16()
    rungs = {
        "eager": lambda: there(x),
        "torch.compile": lambda: compiled(x),
        "compile, CUDA graph": as_graph(lambda: compiled(x)),
        "eager, TF32": lambda: in_tf32(lambda: there(x)),
        "eager, bfloat16": lambda: low(x16),
    }
    if has_triton:
        rungs["by hand"] = by_hand(x, LARGE)
    if onnxruntime:
        feed = {session.get_inputs()[0].name: many.numpy()}
        rungs["ONNX Runtime, CPU"] = lambda: session.run(None, feed)
    return rungs


# %%
guess = {
    "torch.compile": None,
    "compile, CUDA graph": None,
    "by hand": None,
    "eager, TF32": None,
    "eager, bfloat16": None,
}

large = bench.compare(
    "a batch of 8192",
    with_many,
    baseline="eager",
    flops=2 * MANY * weights,
    guess=guess,
    host=True,
)
large

# %% tags=["solution"]
large.expect("eager, TF32", at_least=2)
large.expect("eager", at_least=3, times="by hand")
large.expect("compile, CUDA graph", at_least=0.7)

# %% [markdown] tags=["solution"]
# PyTorch's three ways in float32 now take equally long. The host queues its launches
# while the GPU is working, so its time no longer shows; what remains is the time of the
# same three cuBLAS products, at three quarters of what float32 can do here. The CPU
# takes about 50 times as long.
#
# What makes a difference now is the *format*. TF32 and bfloat16 send the products to
# the tensor cores, the subject of chapter 21. Both are several times as fast, but their
# results are not the same: your `relative_error` said so. Whether 5e-4 matters depends
# on the model, not on the GPU.

# %% [markdown]
# ## Measure: the second layer alone
#
# Nearly all of that time goes into one layer, 1024 × 1024 with its ReLU. Here that
# layer is measured alone, and only on the GPU: as PyTorch's two kernels, as what
# Inductor makes of them, as your kernel and as the Triton kernel. All rows are in
# float32 with TF32 off, except for the last two.

# %%
guess = {"torch.compile": None, "Numba": None, "Triton": None}


def second_layer():
    x = torch.rand(MANY, HIDDEN, device="cuda")
    out = torch.empty_like(x)

    def layer(x):
        return torch.relu(there.two(x))

    fused = torch.compile(layer, dynamic=False)
    rungs = {
        "eager": lambda: layer(x),
        "torch.compile": lambda: fused(x),
        "Numba": by_numba(x, there.two, out),
    }
    if has_triton:
        rungs["Triton"] = lambda: by_triton(x, there.two, out, LARGE)
    rungs["eager, TF32"] = lambda: in_tf32(lambda: layer(x))
    if has_triton:
        rungs["Triton, TF32"] = functools.partial(
            *(by_triton, x, there.two, out, LARGE, "tf32")
        )
    return rungs


layer = bench.compare(
    "8192 x 1024 -> 1024, with ReLU",
    second_layer,
    baseline="eager",
    flops=2 * MANY * HIDDEN * HIDDEN,
    guess=guess,
)
layer

# %% tags=["solution"]
layer.expect("eager", at_least=30, times="Numba")
layer.expect("Triton", at_least=15, times="Numba")
layer.expect("eager, TF32", at_least=3)

# %% [markdown] tags=["solution"]
# Inductor's kernels are about one per cent ahead of eager's, and there are two of them
# as well: a product and a small kernel. The ReLU takes 15 of the 375 µs, so fusing it
# completely would save four per cent at most. Your kernel does fuse it, but takes
# nearly a hundred times as long as cuBLAS to compute the same result. In float32 the
# Triton kernel, with about twenty lines, reaches half the speed of cuBLAS. In TF32, it
# is ahead of PyTorch's two kernels, probably because it fuses the ReLU. That is
# Triton's strength: its compiler knows tensor cores, and you did not have to.

# %% [markdown]
# ## 3 · Read a record
#
# `torch.profiler` records which kernels ran, in order. These five records show a batch
# of 8192 on an H200, run in five different ways. Times are in µs, and names are
# shortened; the last line of each record lists PyTorch's operators on the host.
#
#     A   sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         39.9
#         elementwise_kernel<launch_clamp_scalar>       15.1
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n        360.6
#         elementwise_kernel<launch_clamp_scalar>       16.0
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         34.5
#         host: linear, addmm, relu, linear, addmm, relu, linear, addmm
#
#     B   linear_relu                                 2160.9
#         triton_layer                                 779.6
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         32.5
#         host: linear, addmm
#
#     C   sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         36.9
#         triton_poi_fused_addmm_relu_0                 12.3
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n        352.1
#         triton_poi_fused_addmm_relu_0                 14.5
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         31.6
#         host: nothing
#
#     D   nvjet_sm90_tst                                 7.9
#         elementwise_kernel<launch_clamp_scalar>        7.1
#         nvjet_sm90_tst                                26.3
#         elementwise_kernel<launch_clamp_scalar>        7.1
#         cutlass_80_tensorop_bf16_s16816gemm_bf16      11.7
#         host: linear, addmm, relu, linear, addmm, relu, linear, addmm
#
#     E   sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         39.5
#         elementwise_kernel<launch_clamp_scalar>       14.7
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n        357.9
#         elementwise_kernel<launch_clamp_scalar>       15.1
#         sm80_xmma_gemm_f32f32_f32f32_f32_tn_n         34.7
#         host: nothing
#
# A *gemm* is a matrix product, and so is `nvjet`. `clamp` replaces numbers below 0 by
# 0: it is the ReLU. `addmm` is a product and an addition. You can ignore `tn`, `sm80`
# and similar parts.
#
# For each letter, return the way in which the model was run: "eager", "eager, CUDA
# graph", "compile, CUDA graph", "bfloat16" or "by hand". Then there are two more
# questions: in which kernel is the first layer's bias added, in A and in C? The answer
# is "the product", "the ReLU" or "one of its own". The check gives a reason where it
# disagrees.
#
# ```python
# read_record(question)    # "A", …, "E", "bias in A", "bias in C" -> a text
# ```
#
# Stuck? `hint("read_record")`.


# %%
def read_record(question):
    """Return what a record tells."""
    # one line: a dictionary with seven entries, and a look into it
    # BEGIN SOLUTION
    return {
        "A": "eager",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager, CUDA graph",
        "bias in A": "the product",
        "bias in C": "the ReLU",
    }[question]
    # END SOLUTION


# %%
check(read_record, **answers("read_record"))

# %% [markdown] tags=["solution"]
# Eager calls cuBLAS for `addmm`, a product with an addition, and the library adds the
# bias while it writes the result. The ReLU is the next operator, with a kernel of its
# own. Inductor has seen both operators. It takes the bare product and makes one kernel
# of the bias and the ReLU. So both ways have five kernels, and the fusion saves none.
# (It would pay if there were more operations between the products: a normalisation, a
# dropout, a residual connection.)

# %% [markdown]
# ## Look: your own records
#
# Here are the records of your machine, for the batch of 32. Which kernels does PyTorch
# choose for so few rows? And which of the three layers takes the longest?


# %%
def record(door):
    """Print the kernels that a door launches, and their µs."""
    from torch.profiler import ProfilerActivity, profile

    door()
    what = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=what, acc_events=True) as seen:
        door()
        torch.cuda.synchronize()
    kernels = [e for e in seen.events() if e.device_type.name == "CUDA"]
    for kernel in sorted(kernels, key=lambda e: e.time_range.start):
        print(f"{kernel.time_range.elapsed_us():8.1f}  {kernel.name[:66]}")


if weft.on_gpu("there are no kernels to record"):
    for name in ("eager", "compile, CUDA graph", "by hand"):
        if name in doors:
            print(name)
            record(doors[name])

# %% [markdown] tags=["solution"]
# On the H200 the third layer takes the longest, with only one per cent of the
# arithmetic: a product with 10 columns makes four entries in the record and takes
# nearly half of the time. Probably no kernel has been tuned for that shape. The large
# layer, if it is cut into tiles of 32 × 32, makes 32 blocks, for 132 SMs. So neither
# bytes nor arithmetic explain the 40 µs. Most of the GPU is probably idle while a few
# blocks run.

# %% [markdown]
# ## 4 · What an exporter sees
#
# An exporter has no use for your Python. It runs the function once, with a stand-in for
# the array that records every operation, and keeps the record. Here is an exporter in
# fewer than a hundred lines; read it from the bottom up. `torch.export`, `jax.jit` and
# `torch.compile` are more sophisticated, but built on the same idea.


# %% tags=["given"]
class Graph:
    """What is left of a function after export: operations, in order."""

    def __init__(self, function, example):
        self.nodes = []
        self.result = function(Traced(self, 0, example))

    def note(self, name, operation, parts, options):
        """Note an operation, and do it to the example."""
        example = operation(*map(example_of, parts), **options)
        self.nodes.append((name, operation, parts, options))
        return Traced(self, len(self.nodes), example)

    def __call__(self, x):
        """Do the operations to another array."""
        values = [x]

        def value(part):
            return values[part.place] if isinstance(part, Traced) else part

        for _, operation, parts, options in self.nodes:
            values.append(operation(*map(value, parts), **options))
        return value(self.result)

    def __repr__(self):
        lines = []
        for place, (name, _, parts, options) in enumerate(self.nodes, 1):
            said = [*map(repr, parts)]
            said += [f"{key}={value}" for key, value in options.items()]
            lines.append(f"%{place} = {name}({', '.join(said)})")
        return "\n".join([*lines, f"return {self.result!r}"])


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array while a function is exported."""

    def __init__(self, graph, place, example):
        self.graph, self.place, self.example = graph, place, example

    def __array_ufunc__(self, ufunc, method, *parts, out=None, **options):
        done = getattr(ufunc, method)  # x + y, np.maximum(x, y), …
        return self.graph.note(ufunc.__name__, done, parts, options)

    def __array_function__(self, function, types, parts, options):
        return self.graph.note(function.__name__, function, parts, options)

    def max(self, *axis, **options):
        return np.max(self, *axis, **options)

    def min(self, *axis, **options):
        return np.min(self, *axis, **options)

    def sum(self, *axis, **options):
        return np.sum(self, *axis, **options)

    def mean(self, *axis, **options):
        return np.mean(self, *axis, **options)

    # What Python itself wants to know, only the example can answer.
    def __bool__(self):
        return bool(self.example)

    def __float__(self):
        return float(self.example)

    def __len__(self):
        return len(self.example)

    @property
    def shape(self):
        return self.example.shape

    def __repr__(self):
        return f"%{self.place}" if self.place else "x"


def example_of(part):
    return part.example if isinstance(part, Traced) else part


def exported_with(example):
    """Make a function run as the graph that an export with `example` gives."""

    def replace(function):
        @functools.wraps(function)
        def run(x):
            run.graph = Graph(function, example)
            return run.graph(x)

        return run

    return replace


# %% [markdown]
# And here is a function that runs before the model: it scales a batch down if any
# element is larger than 1, and then subtracts the mean of each column. In Python it is
# right. It is about to be exported with an example of 6 rows that contain only small
# numbers.


# %% tags=["given"]
def in_python(x):
    """Scale a batch down to at most 1, then centre its columns."""
    top = abs(x).max()
    if top > 1:
        x = x / top
    return x - x.sum(axis=0) / len(x)


calm = np.random.default_rng(2).uniform(-0.5, 0.5, (6, 3))


# %%
prepare = exported_with(calm)(in_python)
print(prepare(calm) - in_python(calm))
prepare.graph

# %% [markdown]
# On the example, there is no difference. Now read the graph, line by line. Two things
# that the Python function does are missing from it. Which?
#
# Fix the function so that its graph does what the Python did, for any batch. Whatever a
# decision depends on has to be an *operation* on arrays, which the graph can record.
# The line with the `@` exports the function with `calm` as the example. The check
# exports it in the same way, and runs the graph on other batches.
#
# ```python
# prepare(x)    # (m, 3) -> (m, 3), for any m
# ```
#
# Stuck? `hint("prepare")`.


# %% tags=["broken"]
@exported_with(calm)
def prepare(x):
    """Scale a batch down to at most 1, then centre its columns."""
    # BEGIN SOLUTION
    # was: top = abs(x).max()
    # was: if top > 1:
    # was:     x = x / top
    # was: return x - x.sum(axis=0) / len(x)
    x = x / np.maximum(abs(x).max(), 1)
    return x - x.mean(axis=0)
    # END SOLUTION


# %%
# exported with calm, whatever is above it
prepare = exported_with(calm)(inspect.unwrap(prepare))

check(
    prepare,
    spec=in_python,
    inputs=lambda rng: [
        (calm,),
        (rng.uniform(-5, 5, (6, 3)),),
        (rng.uniform(-0.5, 0.5, (4, 3)),),
        (rng.uniform(-5, 5, (9, 3)),),
    ],
)

# %% [markdown] tags=["solution"]
# Python evaluated the `if` once, on the example, so it is not in the graph: the graph
# of the starter never divides by `top`. And `len(x)` was a plain 6, which is in the
# graph as a constant, whatever the size of the batch.
#
# The cure is to express both with arrays. "Divide by the largest, if that is above 1"
# is "divide by the larger of the two". "Sum over length" is `mean`, an operation that
# looks at the size of its argument when it runs. Where there is no such formula,
# `np.where` computes both branches and picks one. Python's own `max(top, 1)` is an `if`
# in disguise.

# %% tags=["solution"]
prepare(calm)
prepare.graph

# %% [markdown]
# ## Look: the real ones
#
# The same function goes through two of PyTorch's exporters. `torch.jit.trace` is the
# old one, from TorchScript, which is deprecated but still alive in many programs.
# `torch.export` is its successor. What does each make of the `if`?


# %%
class Prepare(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function


wild = torch.linspace(-5, 5, 12).view(4, 3)
example = (torch.from_numpy(calm).float(),)

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    old = torch.jit.trace(in_python, example)
right = in_python(wild)
print("trace:", sum("Tracer" in str(w.category) for w in said), "warnings")
print("trace: right on another batch?", torch.allclose(old(wild), right))

try:
    with contextlib.redirect_stderr(io.StringIO()):  # its notes
        torch.export.export(Prepare(in_python), example)
except Exception as error:
    print("export:", type(error).__name__)
    print("       ", str(error).splitlines()[0])

# %% [markdown]
# What happens to the batch size in ONNX? The next cell exports the model once more,
# without saying that a size may change, and then gives it 7 inputs.

# %%
if onnxruntime:
    frozen = runtime(exported(few))
    seven = {frozen.get_inputs()[0].name: few[:7].numpy()}

    print("frozen, its input:", frozen.get_inputs()[0].shape)
    try:
        frozen.run(None, seven)
    except Exception as error:
        print("frozen, 7 inputs:", type(error).__name__)
        print(*str(error).splitlines()[:2], sep="\n")

    print("free, its input:", session.get_inputs()[0].shape)
    print("free, 7 inputs:", session.run(None, seven)[0].shape)

# %% [markdown] tags=["solution"]
# The three tools behave in three ways. `torch.jit.trace` warns and goes on, with a
# graph that is wrong for other inputs. `torch.export` refuses. ONNX Runtime insists on
# the sizes in the file, and says so. Before you trust a file from an exporter that you
# do not know, find out how it behaves: give it inputs of another size, and data that
# take the other branch.


# %% tags=["solution"]
def mended(x):
    x = x / torch.clamp(abs(x).max(), min=1)
    return x - x.mean(dim=0)


sizes = ({0: torch.export.Dim("rows", min=2)},)
new = torch.export.export(Prepare(mended), example, dynamic_shapes=sizes)
same = torch.allclose(new.module()(wild), right, atol=1e-6)
print("export, mended: right on another batch?", same)
assert same

# %% [markdown]
# ## 5 · What does it cost?
#
# Prices of GPUs go out of date within months. How to compute a bill does not. A run has
#
# - `steps` steps of `ms` milliseconds each, measured without interruptions;
# - a share of the time, `busy` per cent, in which steps are computed. During the rest
#   of the time, data are loaded, checkpoints are written, and results are inspected;
# - `idle` minutes during which you pay and nothing runs: set-up, downloads, and the
#   time until you notice that the run has finished;
# - `gpus` GPUs, rented together, at `price` cents per GPU per hour. Every hour that has
#   begun is charged in full.
#
# The clerk below computes the bill hour by hour. Write a function that computes the
# same bill without a loop. It returns whole cents.
#
# ```python
# bill(steps, ms, busy, idle, gpus, price)    # whole numbers -> cents
# ```
#
# Stuck? `hint("bill")`.


# %% tags=["given"]
def clerk(steps, ms, busy, idle, gpus, price):
    """Return the bill in cents: rent by the hour until all is done."""
    waiting, work = idle * 60_000, steps * ms
    cents = 0

    while waiting > 0 or work > 0:  # another hour begins
        cents += gpus * price
        hour = 3_600_000
        waited = min(hour, waiting)
        waiting -= waited
        work -= (hour - waited) * busy // 100

    return cents


# %%
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    # about 2 lines
    # BEGIN SOLUTION
    time = idle * 60_000 + steps * ms * 100 / busy
    return math.ceil(time / 3_600_000) * gpus * price
    # END SOLUTION


# %%
check(
    bill,
    spec=clerk,
    inputs=[
        (36_000, 100, 100, 0, 1, 200),  # one hour exactly
        (36_000, 100, 50, 0, 1, 200),
        (36_000, 100, 60, 0, 1, 200),
        (36_000, 100, 50, 30, 1, 200),
        (10_000, 150, 80, 20, 8, 250),
        (500_000, 90, 40, 90, 4, 310),
        (100, 20, 90, 5, 1, 75),
    ],
)

# %% [markdown] tags=["solution"]
# The share `busy` goes into the denominator: at 50 % the steps take twice as long. All
# GPUs wait together, so the idle minutes are paid for each of them.
#
# Now put numbers in. What saves more on the run of 500,000 steps: steps that take a
# tenth less time, or a data loader that raises the share from 40 % to 60 %? Note that
# if only the steps get faster, the waiting takes as long as before, so the share falls.

# %% tags=["solution"]
run = {"steps": 500_000, "ms": 90, "busy": 40}
run |= {"idle": 90, "gpus": 4, "price": 310}
waiting = 90 / 0.4 - 90  # ms a step
faster = {"ms": 81, "busy": 81 / (81 + waiting) * 100}
for change in ({}, faster, {"busy": 60}):
    print(f"{bill(**run | change) / 100:9,.2f}  {change or 'as it is'}")

# %% [markdown]
# ## Look: the price of a million answers
#
# Your tables say how long a batch takes. A million answers require 1,000,000 batches
# divided by the batch size. For each way of running the model, the cell prints how many
# seconds of rented GPU time that takes.

# %%
for table, batch in ((small, 32), (large, MANY)):
    for row in table:
        seconds = row.ms / 1e3 * 1_000_000 / batch
        print(f"{table.case:16} {row.name:22} {seconds:9.3f} s")

# %% [markdown] tags=["solution"]
# The way of running the model matters, but the size of the batch matters more. Waiting
# until a few thousand requests have come together gains more here than any compiler.
# That is what an inference server is for.

# %% [markdown]
# ## If you want more
#
# - Compile the model with `torch.compile(there, mode="max-autotune")`, and look at its
#   record. Which kernels multiply now?
# - Give ONNX Runtime a GPU: `pip install onnxruntime-gpu`, and
#   `providers=["CUDAExecutionProvider"]`. Which kernels are in its record?
# - Save the exported model with `torch.export.save`, load it in a fresh process, and
#   find out whether your class `MLP` is needed there.
# - At which batch size do eager and the CUDA graph take equally long? Estimate it from
#   the two tables first, then measure.
# - Look at the code that Inductor writes: run a script of your own with
#   `TORCH_LOGS=output_code python`.
#
# ## What you learned
#
# 1. Every way to run a model ends in kernels. The ways differ in what chooses the
#    kernels, when it does so, and how much Python still runs at the same time.
# 2. For small work, you pay for the path to the kernel; for large work, every path
#    leads to the same product.
# 3. "The same" is a number: the largest error over the largest magnitude, in float64,
#    once shapes and NaNs have been checked.
# 4. An exporter keeps operations on arrays. An `if`, a `len` and a `float()` are
#    evaluated once, on the example.
# 5. A bill is a time multiplied by the number of GPUs and their price, and the time is
#    the work divided by the utilisation, plus the idle time. Measure the utilisation
#    before you pay for a faster GPU.

# %%
quiz()
