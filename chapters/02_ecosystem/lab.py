# %% [markdown]
# # 02 · The ecosystem
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/02_ecosystem.ipynb)
#
# **After this lab, you can**
#
# - run one model in several ways, and say which kernels each of them launches;
# - write one of its layers as your own kernel;
# - say in one number whether two programs compute the same results;
# - fix a function whose decisions an exporter would freeze;
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
import inspect
import io
import math
import warnings

import numpy as np
import torch
from numba import cuda, float32
from torch import nn

from weft import check, hint, quiz
from weft.lesson import answers

chapter = weft.lab("02_ecosystem")
checks = chapter.checks

# %% [markdown]
# ## The model
#
# The model has three linear layers, with a ReLU after each of the first two; 64 numbers
# go in, and 10 come out. A network can hardly be smaller. It is not trained: the
# weights are random, and so are the data. That makes no difference to the machine,
# which moves as many bytes, and adds up as many products, as for a trained model.
#
# Read `forward` as a recipe. `nn.Linear` multiplies by a matrix of weights and adds a
# bias; ReLU replaces negative numbers by 0.
#
# ```python
# def forward(self, x):
#     x = torch.relu(self.one(x))
#     x = torch.relu(self.two(x))
#     return self.three(x)
# ```

# %%
FEATURES, HIDDEN, CLASSES = 64, 1024, 10
print(chapter.model.model)
print("out:", tuple(chapter.model.model(chapter.model.few).shape))

# %% [markdown]
# How long should a *batch* of 32 inputs take on an H200? Compute it before you go on.
#
# - **Arithmetic.** A layer with `k` inputs and `n` outputs requires `2 * k * n`
#   operations per item of the batch. An H200 does 51 trillion float32 operations per
#   second (chapter 18 measures that).
# - **Bytes.** Each weight takes 4 bytes, which have to be read once. An H200's memory
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
# Mind the weights: PyTorch keeps a **row for each output**, so the weight is
# `w[col, k]` and not `w[k, col]`. The index, the guard and the two coordinates are
# given. (`//` and `%` turn a thread's number into a row and a column.) Write the loop
# over `k`, and what comes before and after it. Write zeros as `float32(0)`; chapter 5
# says why. The check allows a thread two loads per product and one load for the bias,
# and no float64. Stuck? `hint("linear_relu")`; there are three hints.
#
# ```python
# linear_relu(x, w, b, out)    # (m, k), (n, k), (n,) -> (m, n)  float32
# ```

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
# or as bytes, in which a difference may overflow, so compute in float64. An output with
# the wrong shape, or with a NaN, cannot be compared at all, so its error is infinite,
# `math.inf`. If all wanted numbers are zero, there is no magnitude to compare with.
# Then the error is 0 for an output of zeros, and infinite for any other. Stuck?
# `hint("relative_error")`.
#
# ```python
# relative_error(pair)    # pair.got, pair.wanted: NumPy arrays -> a float
# ```

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
    spec=checks.put_in,
    inputs=checks.pairs,
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# The error is relative to the largest element, not to each element itself, because an
# output near 0 is usually the small difference of large terms. Its own last digits are
# rounding errors, and no order of adding makes them right.
#
# The shapes have to be compared first, since NumPy would broadcast 32 × 1 against 32 ×
# 10 and compare without complaint. A NaN is not larger than any number, so `error >
# tolerance` reports that all is well. (`not error <= tolerance` would have been safe.)
#
# **Which error is small enough?** A float32 has 24 significant bits, so one rounding is
# off by 6e-8 at most. Sums of 1024 products in different orders differ by a few such
# errors, about 1e-7. A wrong program is off by 0.01 or more. Any limit in between will
# do, and this lab uses **1e-5**.

# %% [markdown]
# ## Ways to run it
#
# Now run the same model in several ways. `chapter.measure.doors` contains one function
# for each way, which takes no arguments and returns the output for the 32 inputs. The
# right answer is computed once, on the CPU in float64.
#
# **ONNX** is a file format: a graph of operations with their weights, and no Python.
# **ONNX Runtime** runs such files, from C++, C#, Java, JavaScript or Python. PyTorch's
# exporter runs your model once with an example, so you have to tell it which sizes may
# change later. In `measure.py`, `dynamic_shapes` says that the first size may change,
# and calls it `batch`.

# %%
chapter.measure.print_operations()

# %% [markdown]
# The file contains five operations, and nearly all of its bytes are weights. Nothing in
# it depends on a GPU or on PyTorch.
#
# The next ways need a GPU. **`torch.compile`** traces the Python code once, turns it
# into a graph, and has **Inductor** write new kernels where that is worthwhile. A
# **CUDA graph** keeps the kernels as they are, records their launches, and starts all
# of them with a single call.
#
# The last way is **by hand**. The first layer is your kernel. The second layer is a
# kernel in **Triton**. Like Numba, Triton is a kernel language embedded in Python (and
# has nothing to do with the Triton Inference Server). A Triton program handles a tile
# of the output, M × N numbers at a time, and `tl.dot` multiplies tiles. The third layer
# is PyTorch's own.
#
# The Triton kernel is `triton_layer` in `measure.py`, in `chapters/02_ecosystem`. Do
# not try to understand every line; chapter 29 takes this kernel apart. Find the parts
# of your own kernel in it: the loop, the products, the bias and the ReLU.

# %% [markdown]
# Do all these ways give the same numbers? Your `relative_error` answers that. (If
# exercise 1 or 2 is still open, the output shows it, and nothing breaks.)

# %%
chapter.measure.use(linear_relu)  # as the first layer "by hand"
chapter.measure.judge(chapter.measure.doors, relative_error)

# %% [markdown]
# Two more ways gain speed from shorter numbers, so their results are *not* the same: in
# **TF32**, the GPU rounds the factors of a product to 11 significant bits, and in
# **bfloat16**, every number has 8. Guess their errors before you run the cell.

# %%
chapter.measure.judge_formats(relative_error)

# %% [markdown]
# ## Measure: a batch of 32
#
# You computed a limit of one to two microseconds. How long does a program wait for
# its result in each case? The times include everything, even the host's part, and
# each call starts as soon as the one before returns, as in a server that is never
# idle. Guess relative to eager: 2 is twice as fast, 0.5 half as fast. Does the CPU
# have any chance?

# %%
guess = {
    "torch.compile": None,
    "eager, CUDA graph": None,
    "compile, CUDA graph": None,
    "by hand": None,
    "ONNX Runtime, CPU": None,
}

small = chapter.measure.small(guess)
small

# %% tags=["solution"]
small.expect("eager, CUDA graph", at_least=1.2)
small.expect("compile, CUDA graph", at_least=1.2)

# %% [markdown] tags=["solution"]
# No row comes near two microseconds, and the table falls into two parts. Both graphs
# take about 40 µs, which is the time of the kernels. In the other rows on the GPU, the
# host sets the time. PyTorch calls eight operators, and getting from `nn.Linear` to the
# launches takes at least as long as the GPU's work. The GPU is idle for half of the
# time or more. Compared with that, the CPU with eight threads is only a few times
# slower.
#
# `torch.compile` is *slower* than eager here. Each call first checks that nothing has
# changed since the graph was made, then runs a Python function that Inductor wrote. Its
# kernels are not slower: as a graph, they win. (`mode="reduce-overhead"` does that for
# you.) The model by hand suffers most: Numba and Triton inspect their arguments at each
# launch, and the Triton kernel is no match for cuBLAS at this shape.
#
# The kernels alone take 40 µs, probably because 32 rows are too few to fill the GPU;
# the records below suggest that.

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
# questions: in which kernel of A is the first layer's bias added, and in which of C?
# The answer is "the product", "the ReLU" or "one of its own". The check gives a reason
# where it disagrees. Stuck? `hint("read_record")`.
#
# ```python
# read_record(question)    # "A", …, "E", "bias in A", "bias in C" -> a text
# ```

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
# (It would save some if there were more operations between the products, such as a
# normalisation, a dropout or a residual connection.)

# %% [markdown]
# ## 4 · What an exporter sees
#
# An exporter has no use for your Python. It runs the function once, on a stand-in array
# that records every operation, and keeps the record. The file `exporter.py` in
# `chapters/02_ecosystem` contains an exporter of fewer than a hundred lines; read it
# from the bottom up. `torch.export`, `jax.jit` and `torch.compile` are more
# sophisticated, but built on the same idea.

# %% [markdown]
# Here is a function that runs before the model: it scales a batch down if any element
# is larger than 1, and then subtracts the mean of each column. As Python, the function
# is right. It is about to be exported with an example of 6 rows that contain only small
# numbers.

# %% tags=["given"]
exported_with = chapter.exporter.exported_with


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
# Fix the function so that its graph does what the Python function does, for any batch.
# Every decision has to become an *operation* on arrays, which the graph can record. The
# line with the `@` exports the function with `calm` as the example. The check exports
# it in the same way, and runs the graph on other batches. Stuck? `hint("prepare")`.
#
# ```python
# prepare(x)    # (m, 3) -> (m, 3), for any m
# ```

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
# of the starter never divides by `top`. `len(x)` was a plain 6, which is in the graph
# as a constant, whatever the size of the batch.
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
# ## 5 · What does it cost?
#
# Prices of GPUs go out of date within months, but the way to compute a bill does not. A
# run has
#
# - `steps` steps of `ms` milliseconds each, measured without interruptions;
# - a share of the time, `busy` per cent, in which steps are computed. During the rest
#   of the time, data are loaded, checkpoints are written, and results are inspected;
# - `idle` minutes during which you pay and nothing runs: set-up, downloads, and the
#   time until you notice that the run has finished;
# - `gpus` GPUs, rented together, at `price` cents per GPU per hour. A partial hour is
#   charged as a full one.
#
# The check computes the bill hour by hour, as a clerk would. Write a function that
# computes the same bill without a loop. It returns whole cents. Stuck? `hint("bill")`.
#
# ```python
# bill(steps, ms, busy, idle, gpus, price)    # whole numbers -> cents
# ```

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
    spec=checks.clerk,
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
# tenth less time, or a data loader that raises the share from 40 % to 60 %? If only the
# steps get faster, the waiting takes as long as before, so the share falls.

# %% tags=["solution"]
run = {"steps": 500_000, "ms": 90, "busy": 40}
run |= {"idle": 90, "gpus": 4, "price": 310}
waiting = 90 / 0.4 - 90  # ms a step
faster = {"ms": 81, "busy": 81 / (81 + waiting) * 100}
for change in ({}, faster, {"busy": 60}):
    print(f"{bill(**run | change) / 100:9,.2f}  {change or 'as it is'}")

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The rest of the lab is for the curious: two measurements
# (each with a prediction), the records of your own machine, two real exporters, and a
# price. The code of the measurements is in `measure.py` in `chapters/02_ecosystem`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### A batch of 8192
#
# A batch of 8192 takes 256 times as much work as one of 32. The arithmetic alone now
# takes 0.36 ms in float32. What happens to the differences between the ways?

# %%
guess = {
    "torch.compile": None,
    "compile, CUDA graph": None,
    "by hand": None,
    "eager, TF32": None,
    "eager, bfloat16": None,
}

large = chapter.measure.large(guess)
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
# results are not the same, as your `relative_error` showed. Whether 5e-4 matters
# depends on the model, not on the GPU.

# %% [markdown]
# ### The second layer alone
#
# Nearly all of that time goes into one layer, 1024 × 1024 with its ReLU. Here that
# layer is measured alone, and only on the GPU: as PyTorch's two kernels, as what
# Inductor makes of them, as your kernel and as the Triton kernel. All rows are in
# float32 with TF32 off, except for the last two.

# %%
guess = {"torch.compile": None, "Numba": None, "Triton": None}

layer = chapter.measure.layer_alone(guess)
layer

# %% tags=["solution"]
layer.expect("eager", at_least=30, times="Numba")
layer.expect("Triton", at_least=15, times="Numba")
layer.expect("eager, TF32", at_least=3)

# %% [markdown] tags=["solution"]
# Inductor's kernels are about one per cent faster than eager's. There are also two of
# them, a product and a small kernel. The ReLU takes 15 of the 375 µs, so fusing it
# completely would save four per cent at most. Your kernel does fuse it, but takes
# nearly a hundred times as long as cuBLAS to compute the same result. In float32 the
# Triton kernel, with about twenty lines, reaches half the speed of cuBLAS. In TF32, it
# is ahead of PyTorch's two kernels, probably because it fuses the ReLU. That is
# Triton's strength: its compiler uses the tensor cores, and you need not know how they
# work.

# %% [markdown]
# ### Your own records
#
# Here are the records of your machine, for the batch of 32. Which kernels does PyTorch
# choose for so few rows? And which of the three layers takes the longest?

# %%
chapter.measure.print_records()

# %% [markdown] tags=["solution"]
# On the H200 the third layer takes the longest, although it has only one per cent of
# the arithmetic. Its product, with 10 columns, makes four entries in the record and
# takes nearly half of the time. Probably no kernel has been tuned for that shape. If
# the large layer is cut into tiles of 32 × 32, it has only 32 blocks for 132 SMs. So
# neither bytes nor arithmetic explain the 40 µs. Most of the GPU is probably idle while
# a few blocks run.

# %% [markdown]
# ### The real ones
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
chapter.measure.try_other_sizes()

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
# ### The price of a million answers
#
# Your tables say how long a batch takes. The number of batches for a million answers is
# 1,000,000 divided by the batch size. For each way of running the model, the cell
# prints how many seconds of rented GPU time these batches take.

# %%
for table, batch in ((small, 32), (large, chapter.measure.MANY)):
    for row in table:
        seconds = row.ms / 1e3 * 1_000_000 / batch
        print(f"{table.case:16} {row.name:22} {seconds:9.3f} s")

# %% [markdown] tags=["solution"]
# The way of running the model matters, but the size of the batch matters more. Waiting
# until a few thousand requests have come together gains more here than any compiler.
# That is what an inference server is for.

# %% [markdown]
# ### If you want more
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

# %% [markdown]
# ## What you learned
#
# 1. Every way to run a model ends in kernels. The ways differ in what chooses the
#    kernels, when it does so, and how much Python still runs at the same time.
# 2. If there is little work, you pay for the path to the kernel. If there is much,
#    every path leads to the same product.
# 3. "The same" is a number: the largest error over the largest magnitude, in float64,
#    once shapes and NaNs have been checked.
# 4. An exporter keeps operations on arrays. An `if`, a `len` and a `float()` are
#    evaluated once, on the example.
# 5. A bill is a time multiplied by the number of GPUs and their price. The time is what
#    the steps take, divided by the share `busy`, plus the idle time. Measure the share
#    before you pay for a faster GPU.

# %%
quiz()
