# %% [markdown]
# # 33 · Making training fast
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/33_training_speed.ipynb)
#
# **After this lab, you can**
#
# - determine whether a training step waits for the GPU, the host or the input, before
#   you change a line;
# - feed a GPU without blocking copies, and without float32 on the bus;
# - find and remove hidden synchronisations and graph breaks;
# - use autocast, channels-last, gradient accumulation and checkpointing, and still get
#   the right gradients;
# - capture a training step in a CUDA graph, and replay it on new batches;
# - make a slow training script several times as fast, and show which change did it.
#
# **You need** about two and a half hours. You do not need a GPU: the checks listen to
# PyTorch and count waits, copies, operators and bytes on any machine, and without a
# GPU the measurements show times from the reference GPU, an H200. If you use a GPU,
# it needs compute capability 8.0 or higher and 16 GB of memory; the measurements
# compile two models, which takes a few minutes.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import functools
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from weft import bench, check, hint, quiz
from weft.bench import results

chapter = weft.lab("33_training_speed")
checks, measure = chapter.checks, chapter.measure

DEVICE = torch.device("cuda" if weft.GPU else "cpu", 0)
CHANNELS_LAST = torch.channels_last

# %% [markdown]
# ## Two models
#
# Everything in this lab is tried on two small but real networks, with random data. The
# first is a residual network for images, built like ResNet-18. The check of the last
# exercise uses a tiny version, and the measurements use a large version.
#
# The second is a stack of transformer blocks that predicts the next token, built like a
# small GPT. Both are in `chapters/33_training_speed/models.py`.

# %% [markdown]
# ## 1 · Feeding the GPU
#
# A batch of images begins on the host, as bytes from 0 to 255, of shape (b, 3, h, w).
# The network needs the images on the device, normalised to `(x / 255 - mean) / std`. To
# augment the data, image `k` is mirrored if `flips[k]` is true.
#
# The function below does all of that, but slowly. The result is right. What is wrong is
# *where* things happen, and how many operators the function calls. The batch and
# `flips` are already in pinned memory; `mean` and `std`, of shape (3, 1, 1), are on the
# device.
#
# ```python
# prepare(images, flips, mean, std, device)    # -> (b, 3, h, w) float32, on the device
# ```
#
# The check requires the same numbers, and three more things: no unnecessary byte
# crosses the bus, the host never waits, and the number of operators does not grow with
# the batch. Stuck? `hint("prepare")`.

# %% tags=["broken"]
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised, with some images mirrored."""
    # BEGIN SOLUTION
    # was: batch = (images.float() / 255 - mean.cpu()) / std.cpu()
    # was: for k in range(len(batch)):
    # was:     if flips[k]:
    # was:         batch[k] = batch[k].flip(-1)
    # was: return batch.to(device)
    batch = images.to(device, non_blocking=True)
    mask = flips.to(device, non_blocking=True).view(-1, 1, 1, 1)
    batch = torch.where(mask, batch.flip(-1), batch)
    return batch.float().sub_(255 * mean).div_(255 * std)
    # END SOLUTION

# %%
check(
    prepare,
    spec=checks.prepared,
    because=checks.PREPARED,
    inputs=checks.random_batch,
    sizes=[(3, 4), (12, 6)],
    call=lambda prepare, *given: prepare(*given, DEVICE),
    tensors=True,
    gradient=False,
    strided=False,
    host=(0, 1),
    limits={"synchronisations": 0, "copied": 1.0, "operators": 20},
)

# %% [markdown] tags=["solution"]
# One byte per value crosses the bus instead of four. `non_blocking=True` lets the copy
# run while Python goes on, which works because the batch is pinned. And `torch.where`
# handles all images at once: it needs a mirrored copy of the whole batch, of which
# about half is thrown away. That is little work for a GPU, and it saves the host two
# operators per image.
#
# The images are mirrored while they are still bytes, which moves a quarter of the bytes
# that float32 would. After that, two in-place operations do the arithmetic.

# %% [markdown]
# ## 2 · A decision that stays on the GPU
#
# Gradients that are too large are scaled down: if the norm of all gradients together is
# more than `most`, each gradient is multiplied by `most / norm`. Here is a version that
# you will find in many repositories. It asks the GPU for a number once per parameter,
# and each `.item()` waits until the GPU has computed everything that was queued before.
#
# Rewrite it without a single wait. The question "is the norm too large?" needs an
# answer, but Python does not have to know it.
#
# ```python
# clip_(gradients, most)    # changes them in place, returns their norm before
# ```
#
# Return the norm as a tensor. (PyTorch has such a function; here you learn what it has
# to avoid.) Stuck? `hint("clip_")`.

# %% tags=["broken"]
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    # BEGIN SOLUTION
    # was: total = 0.0
    # was: for gradient in gradients:
    # was:     total += gradient.norm().item() ** 2
    # was: norm = total**0.5
    # was: if norm > most:
    # was:     for gradient in gradients:
    # was:         gradient.mul_(most / norm)
    # was: return torch.tensor(norm)
    norm = torch.stack([each.norm() for each in gradients]).norm()
    factor = (most / norm).clamp(max=1)
    for each in gradients:
        each.mul_(factor)
    return norm
    # END SOLUTION

# %%
check(
    clip_,
    spec=checks.clipped,
    because=checks.why_clipped,
    inputs=checks.three_gradients,
    sizes=[4, 7, 1, 33],
    call=checks.call_clip,
    tensors=True,
    gradient=False,
    strided=False,
    limits={"synchronisations": 0},
)

# %% [markdown] tags=["solution"]
# The `if` has become a `clamp`. The gradients are multiplied in every case, by 1 if
# they were small enough: this is a little work for the GPU, and it spares the host a
# wait. Where the norm is 0, `most / norm` is infinite and the clamp makes it 1.
#
# PyTorch's own `clip_grad_norm_` does the same. Other decisions that depend on the
# numbers of a training step can stay on the GPU as well, with `torch.where`, `clamp`,
# `minimum` or a multiplication by a mask.

# %% [markdown]
# ## 3 · Gradient accumulation
#
# A batch that does not fit into memory is cut into parts. Each part adds its gradients
# to those of the earlier parts, and the optimiser steps once at the end. The result
# should be the same as for the whole batch.
#
# Often it is not. The mean of the parts' means is the mean of the whole only if the
# same number of samples counts in every part. Here it does not: the last part is
# shorter, and some labels are −100, which `cross_entropy` ignores. In the check's
# longest batch, all labels of one part are −100. For years, widely used trainers made
# the mistake of averaging the means.
#
# ```python
# accumulate(model, parts)
#     # parts: list of (x, y), x (n, 8) float32, y (n,) int64 with some -100
#     # adds to the gradients of model
#     # -> the mean loss, a tensor that requires no gradient
# ```
#
# In the check, the model already has gradients. Add the new gradients to them: clearing
# them is the caller's job.
#
# The check compares the loss and the gradients with those of the whole batch, counts
# waits, and measures how many bytes are alive at the peak, because saving memory is the
# point. Stuck? `hint("accumulate")`.

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check

# %% tags=["broken"]
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    # BEGIN SOLUTION
    # was: total = 0.0
    # was: for x, y in parts:
    # was:     loss = F.cross_entropy(model(x), y)
    # was:     loss.backward()
    # was:     total += loss.item()
    # was: return torch.tensor(total / len(parts))
    count = sum((labels != -100).sum() for _, labels in parts)
    total = 0
    for samples, labels in parts:
        scores = model(samples)
        loss = F.cross_entropy(scores, labels, reduction="sum") / count
        loss.backward()
        total += loss.detach()
    return total
    # END SOLUTION

# %%
check(
    accumulate,
    spec=checks.at_once,
    because=checks.why_accumulated,
    inputs=checks.labelled,
    sizes=[40, 16, 150],
    call=checks.call_accumulate,
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-3,
    limits={"synchronisations": 0, "attached": 0, "memory": 2.2},
)

# %% [markdown] tags=["solution"]
# Each part's loss is a *sum*, and all sums are divided by the number of labels that
# count in the whole batch. That number is a tensor, so nothing waits for it. If all
# labels of a part are ignored, its sum is 0, whereas its mean would be 0/0. That NaN
# would make all gradients NaN.
#
# `loss.backward()` inside the loop frees each part's graph before the next part begins;
# one `backward` of the total at the end would give the same gradients but keep all
# graphs until then. `detach()` serves the same purpose: without it, `total` would keep
# each loss's graph alive.

# %% [markdown]
# ## 4 · One graph
#
# `torch.compile` follows your function and collects its operators into a graph. It has
# to give up wherever Python needs a value from a tensor. There the graph ends, Python
# runs, and a second graph begins. This is a **graph break**.
#
# `damped` is a layer with a safety valve: if an output is too large, all outputs are
# scaled down, so that the largest is `MOST`. Rewrite it so that it compiles to one
# graph, with the same results.
#
# The function has a second fault, which no profiler shows. The scale depends on the
# outputs, so it has a gradient. `.item()` returns a plain number, which autograd cannot
# follow, so that part of the gradient is lost. The check requires the whole gradient.
# Stuck? `hint("damped")`.
#
# ```python
# damped(x, weight)    # x (n, 6), weight (6, 6) -> (n, 6)
# ```

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check
MOST = 4.0

# %% tags=["broken"]
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    # BEGIN SOLUTION
    # was: top = y.abs().max().item()
    # was: if top > MOST:
    # was:     print(f"damped: {top:.1f}")
    # was:     y = y * (MOST / top)
    # was: return x + y
    top = y.abs().max()
    return x + y * (MOST / top).clamp(max=1)
    # END SOLUTION

# %%
check(
    damped,
    spec=checks.damped_in_steps,
    because=checks.why_damped,
    because_gradient=checks.CONSTANT_SCALE,
    inputs=checks.layer,
    sizes=[2, 9, 20],
    tensors=True,
    strided=False,
    tolerance=1e-4,
    limits={"synchronisations": 0, "graph_breaks": 0},
)

# %% [markdown] tags=["solution"]
# The largest output stays a tensor, and the `if` becomes a clamp, as in exercise 2. All
# operations are in one graph now, so the compiler can fuse them, and autograd
# differentiates the scale as well. Printing cannot be part of a graph. What a log needs
# can be returned as a tensor and printed once in a while.

# %% [markdown]
# ## 5 · Recomputing within a budget
#
# Every block keeps tensors for the backward pass. **Activation checkpointing** keeps
# only a block's input, and runs the block a second time when its gradient is needed.
#
# There is usually enough memory to keep the tensors of some blocks, and recomputing
# those blocks as well would be a waste. Run the blocks one after the other on `x`, so
# that exactly `keep` of them keep their activations, and all others are checkpointed.
# Then take the mean of the squares of the last block's output as the loss, call
# `backward`, and return the loss.
#
# *Which* blocks should keep their activations? Think of the moment when a checkpointed
# block is recomputed: which tensors are alive then?
#
# ```python
# within(blocks, x, keep)    # blocks: list of modules; x (n, 16), requires grad
# ```
#
# Use `checkpoint(function, x, use_reentrant=False)`. In the check, there are eight
# blocks, and `keep` is 3 or 0. The check counts which blocks run a second time, the
# bytes that are alive at the peak, and the operators, so it notices if you recompute
# too little or too much. Stuck? `hint("within")`.

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check

# %%
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    # about 5 lines
    # BEGIN SOLUTION
    recomputed = len(blocks) - keep
    for block in blocks[:recomputed]:
        x = checkpoint(block, x, use_reentrant=False)
    for block in blocks[recomputed:]:
        x = block(x)
    # END SOLUTION
    loss = x.square().mean()
    loss.backward()
    return loss.detach()

# %%
check(
    within,
    spec=checks.all_kept,
    because=checks.why_within,
    inputs=checks.samples_and_keep,
    sizes=[(3, 3), (3, 0), (200, 3)],
    sized=lambda n, keep: f"{n} samples, `keep` = {keep}",
    call=checks.call_within,
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-4,
    limits={"memory": 47, "operators": 343},
)

# %% [markdown] tags=["solution"]
# The **last** blocks keep their activations. The backward pass begins with these
# blocks, so their activations are freed before any checkpointed block is run again. If
# the first blocks kept their activations, these would still be alive while the other
# blocks are recomputed.

# %% [markdown]
# ## 6 · A step as a CUDA graph
#
# A **CUDA graph** records the launches of a step once, and one call replays them all.
# Write the function that turns a training step into such a graph, and returns a
# function that trains on any batch of the same shape. These are the parts:
#
# ```python
# recorded = torch.cuda.CUDAGraph()
# with torch.cuda.graph(recorded):  # records what is launched; nothing runs
#     ...
# recorded.replay()                 # runs it on the current stream
# ```
#
# - A graph keeps **addresses**. A new batch has to be where the graph reads, and the
#   caller's batches must not be changed.
# - The **first** step of a training run is not like the others: here, it creates the
#   optimiser's momentum. So let the step run at least once before you capture it, on
#   the first batch. This trains the model, which the check takes into account.
#   PyTorch's manual runs this step on a second stream, `torch.cuda.Stream()`. Before
#   the step, the second stream has to wait for the current one, and after the step, the
#   current one for the second: `a.wait_stream(b)` makes stream `a` wait for stream `b`.
#   (The second wait is customary: before a capture by `torch.cuda.graph` you could
#   leave it out, because the capture begins by waiting for the whole GPU.)
# - The caller collects the losses, and reads them at the end.
#
# ```python
# as_graph(step, x, answers)    # x, answers: a first batch, on the device
#     # step(x, answers) trains on a batch, and returns the loss, a tensor
#     # -> replay(x, answers), which does the same by a graph
# ```
#
# Without a GPU, the check replaces `torch.cuda`'s streams and graphs with a model, and
# follows which memory they read and write. Stuck? `hint("as_graph")`.

# %%
def as_graph(step, x, answers):
    """Capture a training step; return a function that replays it on a batch."""
    # about 16 lines
    # BEGIN SOLUTION
    held_x, held_answers = x.clone(), answers.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(held_x, held_answers)
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(held_x, held_answers)

    def replay(x, answers):
        held_x.copy_(x)
        held_answers.copy_(answers)
        graph.replay()
        return loss.clone()

    return replay
    # END SOLUTION

# %%
check(
    as_graph,
    captured=True,
    made=checks.small_step,
    inputs=checks.random_points,
    sizes=[(4, 3), (6, 8)],
)

# %% [markdown] tags=["solution"]
# Two copies put a batch at the addresses that the graph knows, and a third saves the
# loss before the next replay overwrites it. All three are on the current stream, before
# and after the replay, so they need no other ordering.
#
# The step before the capture is an ordinary step on the first batch, so it trains the
# model, too.

# %% [markdown]
# ## 7 · The whole script
#
# Here is a training script with eight faults. Its results are right. You have met each
# of the faults in this lab or on the page:
#
# 1. images are normalised on the host, and they cross the bus as float32;
# 2. images are mirrored one by one;
# 3. the copies block the host;
# 4. images and weights are in NCHW, although the tensor cores need channels-last;
# 5. everything is computed in float32;
# 6. clipping reads one number per parameter;
# 7. the loss is read at every step;
# 8. the optimiser takes more than one kernel per step to update the parameters (without
#    a GPU, it loops over them, and only then does the check see this fault).
#
# Fix them all, in any order. After each fix, run the check: it names the lines to look
# at next. You may use your `prepare` and `clip_` if they pass their checks, or
# PyTorch's `clip_grad_norm_`. (This check allows a `clip_` with two operators per
# gradient, but not with three.)
#
# ```python
# train(model, batches, mean, std, device)
#     # batches: list of (images, labels, flips), pinned, on the host
#     # -> the loss at each step, (steps,) float32, which requires no gradient
# ```
#
# The model, `mean` and `std` are on the device. Autocast takes `device.type`, and
# bfloat16 needs no loss scaling. Stuck? `hint("train")`.

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check
RATE, MOMENTUM, LONGEST = 0.2, 0.9, 1.2  # of the optimiser; the largest norm


# %% tags=["broken"]
def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    # BEGIN SOLUTION
    # was: mean, std = mean.cpu(), std.cpu()
    # was: optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    model.to(memory_format=CHANNELS_LAST)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM, fused=True)
    # END SOLUTION
    losses = []
    for images, labels, flips in batches:
        # BEGIN SOLUTION
        # was: images = (images.float() / 255 - mean) / std
        # was: for k in range(len(images)):
        # was:     if flips[k]:
        # was:         images[k] = images[k].flip(-1)
        # was: images, labels = images.to(device), labels.to(device)
        images = prepare(images, flips, mean, std, device)
        images = images.contiguous(memory_format=CHANNELS_LAST)
        labels = labels.to(device, non_blocking=True)
        # END SOLUTION

        optimiser.zero_grad()
        # BEGIN SOLUTION
        # was: loss = F.cross_entropy(model(images), labels)
        with torch.autocast(device.type, torch.bfloat16):
            scores = model(images)
            loss = F.cross_entropy(scores, labels)
        # END SOLUTION
        loss.backward()
        # BEGIN SOLUTION
        # was: total = 0.0
        # was: for parameter in model.parameters():
        # was:     total += parameter.grad.norm().item() ** 2
        # was: if total**0.5 > LONGEST:
        # was:     for parameter in model.parameters():
        # was:         parameter.grad.mul_(LONGEST / total**0.5)
        nn.utils.clip_grad_norm_(model.parameters(), LONGEST)
        # END SOLUTION
        optimiser.step()
        # BEGIN SOLUTION
        # was: losses.append(loss.item())
        losses.append(loss.detach())
        # END SOLUTION
    # BEGIN SOLUTION
    # was: return torch.tensor(losses)
    return torch.stack(losses)
    # END SOLUTION

# %%
check(
    train,
    spec=checks.losses_of,
    because=checks.why_trained,
    inputs=checks.random_steps,
    sizes=[(6, 5, 32), (6, 10, 32)],
    call=checks.call_train,
    tensors=True,
    dtype="float32",
    gradient=False,
    strided=False,
    unseen=False,
    tolerance=0.04,
    host=(0, 1, 2),
    limits={
        "synchronisations": 0,
        "copied": 1.0,
        "products": "bfloat16",
        "operators": 1200,
        "channels_last": 0,
        "attached": 0,
    },
    because_limits={"operators": checks.why_so_many},
)

# %% [markdown]
# ## Measure: your script
#
# The scripts train on four batches of 512 images of 112 × 112, with three blocks per
# stage. `as given` is the script before you changed it. `yours` is your `train`, and
# `yours, compiled` is your `train` with a network whose `compile()` was called. `best
# known` is our own version: it is compiled, it prepares the images in the same graph,
# and it copies each batch on a separate stream while the previous step is running. Its
# code is in `chapters/33_training_speed/scripts.py`, so solve the exercise first.
#
# Your script should be at least three times as fast as the original. Compiled, it
# should reach 90 % of the speed of the best known version or, better, 95 %. Guess
# first: how many times as fast as the original is yours?

# %%
guess = {"yours": None}

whole = measure.whole(train, guess)
whole

# %% tags=["solution"]
whole.expect("yours", at_least=3)
whole.expect("yours, compiled", at_least=0.9, times="yours")
whole.expect("yours, compiled", ceiling=0.9)

# %% [markdown] tags=["solution"]
# Which of the eight fixes helped most? The cell below fixes the faults one after the
# other. The finished script is slower than the best known version, probably because its
# copy waits its turn on the same stream: on a separate stream, the copy can run during
# the previous step.

# %% tags=["solution"]
steps = measure.one_by_one()
steps

# %% tags=["solution"]
steps.expect("8 fused optimiser", at_least=3)
steps.expect("9 compiled", at_least=0.9, times="8 fused optimiser")
steps.expect("5 autocast", at_least=1.1, times="3 copies that do not block")

# %% [markdown] tags=["solution"]
# The order matters. As long as the host prepares images, that takes most of the step,
# and any other fix saves only a small part of the time. That is why you profile again
# after each change.

# %% [markdown]
# ## More measurements
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Who waits for whom
#
# Profile first. A step takes as long as the slowest of three parts: the GPU, the host
# that gives it work, and the input. The cell below measures the GPU's part in the
# simplest way that works: it adds up the time of all kernels and divides the sum by the
# time of the step.
#
# - `float32`: 16 sequences of 512 tokens, without tensor cores;
# - `bfloat16`: the same under autocast;
# - `bfloat16, 2 x 128`: two sequences of 128 tokens, which is 1/32 of the work.
#
# In which of these cases is the GPU busy all the time? Write down three percentages
# first.

# %%
gpu_busy = measure.gpu_busy()

# %% [markdown] tags=["solution"]
# In float32 the GPU sets the pace, so look at what its kernels do. With a small batch
# the host sets the pace: it takes about as long for a small batch as for a large one,
# since it calls the same operators. Faster kernels would change nothing in that case.

# %% [markdown]
# ### Precision and layout
#
# Each row times five training steps: of the transformer stack in the first table, and
# of the image network, with 512 images of 112 × 112, in the second. `TF32` is float32
# whose products are computed on tensor cores with 10 bits of mantissa. PyTorch allows
# it for convolutions by default, but for matrix products only on request. `bfloat16`
# and `float16` use autocast, and float16 needs a scaler. `bfloat16 weights` uses no
# autocast.
#
# How many times as fast as float32 is each row? And how much does channels-last gain,
# in TF32 and in bfloat16?

# %%
guess = {"TF32": None, "bfloat16": None, "float16, scaler": None}

precision = measure.precision(guess)
precision

# %%
guess = {
    "TF32": None,
    "TF32, channels-last": None,
    "bfloat16, channels-last": None,
}

layout = measure.layout(guess)
layout

# %% tags=["solution"]
precision.expect("TF32", at_least=2)
precision.expect("bfloat16", at_least=3)
precision.expect("bfloat16", at_least=0.97, times="float16, scaler")
layout.expect("TF32, channels-last", at_least=1.2)
layout.expect("bfloat16, channels-last", at_least=1.5, times="bfloat16")
layout.expect("bfloat16", at_most=1.4)

# %% [markdown] tags=["solution"]
# Without channels-last, bfloat16 gains nothing for the image network. cuDNN's kernels
# for tensor cores need the channels of a pixel next to each other, and where they are
# not, images are rearranged before and after a convolution. What the two changes gain
# together depends on the host, too: once it is slower than the GPU, a faster
# convolution gains nothing.
#
# Weights in bfloat16 are faster still, as no casts are left, but they are a trap: with
# eight significant bits, an update smaller than 1/512 of the weight disappears in
# rounding. Autocast keeps the weights in float32 and casts copies.

# %% [markdown]
# ### Fp8
#
# From the H100 on, tensor cores multiply 8-bit floats, at twice the rate of bfloat16.
# Such a float has three bits of mantissa and a small range, so each tensor is scaled to
# use the whole range. The product here is that of a linear layer: 8192 tokens, 4096
# input features and 16,384 output features.
#
# - `bfloat16`: the product;
# - `fp8, product alone`: both operands are fp8 already;
# - `fp8, scaled and cast`: from bfloat16 to bfloat16, with PyTorch's operators;
# - `fp8, compiled`: the same under `torch.compile`.

# %%
fp8 = measure.fp8()
fp8

# %% tags=["solution"]
if fp8 is not None:
    fp8.expect("fp8, product alone", at_least=1.5)
    fp8.expect("bfloat16", at_least=1.0, times="fp8, scaled and cast")
    fp8.expect("fp8, compiled", at_least=1.1, times="fp8, scaled and cast")

# %% [markdown] tags=["solution"]
# The product is faster, but the operations around it eat up the gain: finding the
# largest element reads each tensor once, and scaling and casting read it again.
# Compiled, these operations become a few fused kernels. Libraries for fp8 training go
# further: they take the scale from earlier steps or give each block of a tensor its own
# scale.

# %% [markdown]
# ### The loader
#
# Before `prepare` comes the loader. A `DataLoader` with workers makes batches in other
# processes while the GPU is computing. The cell measures the time per batch of 256
# images, with a GPU that has nothing else to do, for a dataset in memory:
#
# - `0 workers, float32`: the dataset normalises each image, in this process;
# - `8 workers, float32`: eight processes normalise the images;
# - `8 workers, bytes`: the dataset returns bytes, and the GPU normalises;
# - `8 workers, bytes, pinned`: the same with `pin_memory=True` and copies that do not
#   block.

# %%
loading = measure.loading()

# %% [markdown]
# ### Waits, and the host
#
# What does a wait cost? That depends on which side is ahead. Each row times five steps
# of the stack in bfloat16. There is one table for 16 × 512 tokens and one for 2 × 128:
#
# - `plain`: a fused AdamW and nothing else;
# - `loss.item()`: the loss is read at every step;
# - `clipped by item`: clipping with the code that you were given in exercise 2, with a
#   wait for every parameter;
# - `clip_grad_norm_`: PyTorch's way;
# - `foreach` and `looping`: the other two implementations of AdamW;
# - `a CUDA graph`: the whole step is recorded once and replayed.
#
# In which of the two tables will the CUDA graph matter more?

# %%
large = measure.large()
large

# %%
small = measure.small()
small

# %% tags=["solution"]
small.expect("a CUDA graph", at_least=2)
small.expect("plain", at_least=1.5, times="looping")
small.expect("plain", at_least=1.1, times="clipped by item")
small.expect("plain", at_least=0.9, times="loss.item()")
large.expect("a CUDA graph", at_least=0.95, at_most=1.7)

# %% [markdown] tags=["solution"]
# One `.item()` per step costs little, because it waits at a point where the host has
# nearly finished the step. One `.item()` per parameter costs a round trip each time.
# With a small batch the host is the bottleneck, so anything that makes the host faster
# helps: fewer operators, as in the fused optimiser, or none at all, as in a replayed
# graph. With a large batch the GPU is busy for most of the step anyway, so a graph
# gains less.

# %% [markdown]
# ### Compiled
#
# Each row again times five steps of the stack, with 16 × 512 tokens in bfloat16.
#
# - `compiled, with breaks`: each block ends in a test for NaN, `if not
#   torch.isfinite(x).all(): raise ...`, which breaks the graph;
# - `compiled`: `torch.compile(model, fullgraph=True)`;
# - `compiled, CUDA graph`: the whole compiled step, optimiser included, is recorded.

# %%
by_compiler = measure.by_compiler()
by_compiler

# %% tags=["solution"]
by_compiler.expect("compiled", at_least=0.85)
by_compiler.expect("compiled", at_least=0.97, times="compiled, with breaks")
by_compiler.expect("compiled, CUDA graph", at_least=0.97, times="compiled")

# %% [markdown]
# ### Memory for time
#
# The cell trains the stack on 16 × 512 tokens in bfloat16 in four ways: with all
# activations kept, with two of the four blocks recomputed, with all four recomputed,
# and with the batch in four parts. The second table has the same four steps in CUDA
# graphs, without the host's part. Which way needs the least memory, and which takes the
# most time? Guess first.

# %%
memory_time = measure.memory_time()
memory_time

# %%
memory_time_in_graphs = measure.memory_time_in_graphs()
memory_time_in_graphs

# %%
peak = measure.peak()

# %% tags=["solution"]
memory_time.expect("all kept", at_least=1.1, times="4 of 4 recomputed")
memory_time.expect("2 of 4 recomputed", at_least=1.0, times="4 of 4 recomputed")
memory_time_in_graphs.expect("4 of 4 recomputed", at_least=0.7)
memory_time_in_graphs.expect("in 4 parts", at_least=0.7)
if peak:
    assert (
        peak["4 of 4 recomputed"] < peak["2 of 4 recomputed"] < peak["all kept"]
    )

# %% [markdown]
# ### The never-list
#
# Lists of things that you must never do are long, but few of them come with numbers.
# Here are six such things, measured over five steps of the stack with 16 × 512 tokens
# in bfloat16. Which of them deserve the word *never*?

# %%
never = measure.never()
never

# %% [markdown]
# ### If you want more
#
# - Run the finished script under `torch.cuda.set_sync_debug_mode("warn")`, and then run
#   it with one of the faults back in. What does this mode report, and which waits does
#   it miss?
# - Record a memory snapshot of one step: `torch.cuda.memory._record_memory_history()`,
#   then `torch.cuda.memory._dump_snapshot("step.pickle")`, and drop the file on
#   pytorch.org/memory_viz. Which tensors are alive at the peak?
# - Write your own loss scaler for float16, without a wait: a step with an infinite
#   gradient must change nothing. Multiplying by 0 is not enough. Why?
# - Choose which blocks to checkpoint by their size: give `within` a list of costs, and
#   keep the activations that save the most time per byte.
# - Put the whole fixed script into one CUDA graph with your `as_graph`. Which of its
#   lines cannot be in the graph?

# %% [markdown]
# ## What you learned
#
# 1. A step is as slow as the slowest of GPU, host and input. Find out which it is
#    before you change anything, and again after each change.
# 2. Send images to the GPU as bytes, from pinned memory and without blocking, and do
#    the arithmetic after the copy.
# 3. Every value that Python reads from a tensor on the GPU costs a wait, and under
#    `torch.compile` usually a graph break. Decisions can stay in tensors.
# 4. For convolutions, autocast and channels-last belong together. Weights stay in
#    float32.
# 5. The losses of all parts are divided by the number of labels that count in the whole
#    batch. Checkpointing gives the same gradients with less memory and more time, so
#    checkpoint as few blocks as you can.

# %%
quiz()
