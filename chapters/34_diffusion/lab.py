# %% [markdown]
# # 34 · A diffusion model, step by step
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/34_diffusion.ipynb)
#
# **After this lab, you can**
#
# - read a profile as a list of upper bounds, and say, before you make a change, how
#   much it can gain;
# - run classifier-free guidance in one batch, and find out what need not be computed at
#   every step;
# - fuse a time embedding, a group norm and SiLU into one kernel on channels-last
#   bfloat16, and compute the sums for a norm in the kernel that writes the norm's
#   input;
# - find a saving in the mathematics that no compiler will find for you;
# - keep a worklog: one change at a time, with its time and its error, and also the
#   changes that did not help.
#
# **You need** a little over two hours. You do not need a GPU: the exercises run on a
# CPU and in the simulator, with a tiny model, and without a GPU the measurements show
# times from the reference GPU, an H200. If you use a GPU, it needs compute capability
# 8.0 or higher and 8 GB of memory; the measurements compile several models, which takes
# a few minutes.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import copy
import dataclasses
import functools
import inspect
import math
import types

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda, float32, int32

from weft import bench, check, hint, quiz
from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_pair,
    exp2,
    load4,
    store4,
)

chapter = weft.lab("34_diffusion")
checks, kernels, model = chapter.checks, chapter.kernels, chapter.model
block_sum, put, silu = kernels.block_sum, kernels.put, kernels.silu
ResBlock, embed = model.ResBlock, model.embed

# %% [markdown]
# ## The model
#
# The network that is called at every step of Stable Diffusion is a UNet. This lab's
# UNet has the same kinds of parts and shapes, but fewer of them: two levels instead of
# four, about 107 million parameters, and random weights from a fixed seed. Nothing is
# downloaded, so do not expect pictures. Each version of the network must compute the
# same numbers.
#
# The network is made of two kinds of blocks. A **ResBlock** applies *group norm, SiLU,
# convolution* twice, and adds the time of the step in between. A **Transformer** lets
# each pixel look at the other pixels (self-attention) and at the words of the text
# (cross-attention).


# %% [markdown]
# The UNet itself goes down to half the resolution and back up, and at each level on the
# way up it concatenates its image with the image of that level from the way down. `t`
# is the time of the step, one number per sample; `embed` turns it into a vector of
# sines and cosines, and two linear layers process that vector.
#
# All of this is in `model.py` in `chapters/34_diffusion`. Exercise 3 needs two of its
# classes, which the next cell prints. `net.res` and `net.att` are lists of a UNet's
# ResBlocks and transformers; a transformer `att` has its cross-attention in
# `att.cross`.


# %%
print(inspect.getsource(model.ResBlock))
print(inspect.getsource(model.Attention))

# %% [markdown]
# ## 1 · What is it worth?
#
# Entry 0 of every worklog is a profile: which kernels run, how often, and for how long.
# It is not always best to begin with the longest kernel. A kernel that is already as
# fast as the hardware allows cannot get faster, however long it takes.
#
# So compute for each row of the profile how long it would take at best. One call takes
# at least the time of its bytes at the full bandwidth, the time of its FLOPs at the
# full rate, and `floor`, the time of a kernel in a CUDA graph that does nothing. Memory
# and arithmetic overlap, so the longest of these three times is the limit. (Some rows
# are faster than this limit, because their data come from the cache. These rows have
# nothing to gain either.)
#
# Return the number of the row with the **most time to gain**, and the factor by which
# the **whole step** would be faster if that row reached its limit and nothing else
# changed. This is Amdahl's law (chapter 1).
#
# ```python
# worth(profile, bandwidth, rate, floor)    # -> (row, factor)
# ```
#
# `profile` is a list of rows `(calls, seconds, bytes, flops)`. The seconds are for
# *all* calls together, whereas the bytes and FLOPs are for *one* call. Stuck? Run
# `hint("worth")`; there are three hints.


# %%
def worth(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    # about 6 lines
    # BEGIN SOLUTION
    gains = []
    for calls, seconds, moved, computed in profile:
        least = calls * max(moved / bandwidth, computed / rate, floor)
        gains.append(max(seconds - least, 0))
    whole = sum(seconds for _, seconds, _, _ in profile)
    most = max(gains)
    return gains.index(most), whole / (whole - most)
    # END SOLUTION


# %%
check(
    worth,
    spec=checks.worth_spec,
    because=checks.wrong_worth,
    inputs=checks.profiles,
)

# %% [markdown] tags=["solution"]
# The result is an upper bound, and is often lower than expected. A row that takes a
# fifth of the time and runs at half the speed of its limit can make the step at most
# 1.11 times as fast. You will find few rows that are worth a day of work.

# %% [markdown]
# ## 2 · Guidance in one batch
#
# **Classifier-free guidance** calls the model twice per step: once with the text, and
# once with an empty text. The difference between the two predictions is what the text
# contributes, and this difference is amplified by `scale`, the $s$ in the formula:
#
# $$\epsilon = \epsilon_{\rm empty} +
#   s \, (\epsilon_{\rm text} - \epsilon_{\rm empty})$$
#
# Two calls with small batches leave much of a GPU idle, so put both into **one** call
# with twice the batch size. Each sample needs its own time and its own text. There is
# one empty text for all samples.
#
# ```python
# guided(model, x, t, text, empty, scale)    # -> like x
# # x (n, c, h, w), t (n,), text (n, tokens, width), empty (tokens, width)
# ```
#
# `model(x, t, text)` treats the samples of its batch independently. The check allows
# only one call of the model. Stuck? Run `hint("guided")`.


# %%
def guided(model, x, t, text, empty, scale):
    """Return the guided prediction, from one call of the model."""
    # about 4 lines
    # BEGIN SOLUTION
    texts = torch.cat([empty.expand_as(text), text])
    both = model(torch.cat([x, x]), torch.cat([t, t]), texts)
    nothing, something = both.chunk(2)
    return nothing + scale * (something - nothing)
    # END SOLUTION


# %%
check(
    guided,
    spec=checks.in_two_calls,
    because=checks.GUIDED,
    inputs=checks.guidance_inputs,
    sizes=[(1, 5), (3, 4), (4, 1)],
    call=lambda guided, *given: guided(
        checks.Once(checks.toy_model), *given
    ),
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-4,
)

# %% [markdown] tags=["solution"]
# The order of the two halves is a convention, and an easy mistake: the code that splits
# the result has to use the same order. With the halves exchanged, the formula still
# gives numbers of a plausible size, but it guides *away* from the text.

# %% [markdown]
# ## 3 · What the step need not compute
#
# A denoising loop calls the same network twenty or fifty times. Only the latent and the
# time change from step to step, so two things can be computed once, before the loop:
#
# - the **keys and values of every cross-attention**, which depend on the text alone;
# - everything that depends on the **time alone**. The times of all steps are known in
#   advance, so one batch of them goes through `net.time` and through each ResBlock's
#   own layer. For each step, the shifts that a ResBlock adds to its channels before the
#   second norm are then a row of a table. Include the bias of the block's first
#   convolution in them, since it is added in the same place: this saves a pass over the
#   image later.
#
# Return both: a list with one table of shifts per ResBlock, and a list with the pair of
# keys and values of each transformer, split into heads as in `Attention.forward`.
#
# ```python
# constants(net, times, text)    # -> [(steps, width), ...], [(k, v), ...]
# # times (steps,), text (n, tokens, width); k, v (n, heads, tokens, head)
# ```
#
# The check counts operators, so it rejects a loop over the steps. Loops over the blocks
# are fine. Stuck? Run `hint("constants")`.


# %%
def constants(net, times, text):
    """Return each ResBlock's shifts, and each transformer's keys and values."""
    # about 6 lines
    # BEGIN SOLUTION
    vectors = F.silu(net.time(embed(times, net.widths[0]).to(text.dtype)))
    tables = [block.time(vectors) + block.conv1.bias for block in net.res]
    pairs = []
    for cross in (att.cross for att in net.att):
        pairs.append((cross.heads(cross.k(text)), cross.heads(cross.v(text))))
    return tables, pairs
    # END SOLUTION


# %%
check(
    constants,
    spec=checks.step_by_step,
    because=checks.CONSTANTS,
    inputs=checks.times_and_text,
    sizes=[(3, 2), (9, 1)],
    call=lambda constants, *given: checks.listed(
        *constants(checks.near_tiny, *given)
    ),
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-4,
    limits={"operators": 160},
)

# %% [markdown] tags=["solution"]
# `embed` and the linear layers work on a batch of times as they do on a batch of
# samples. Adding the bias takes almost no time here. If it were added at every step,
# the whole image would have to be read and written, unless the addition is fused.

# %% [markdown]
# ## 4 · Time, norm and SiLU in one kernel
#
# Between the two convolutions of a ResBlock, PyTorch adds the time, normalises each
# group of channels and applies SiLU. Each of these operations is at least one kernel
# over the same image, and a group norm needs a sum before it can write anything. Fuse
# the chain into one kernel:
#
# $$z = x + {\rm shift} \qquad
#   \hat z = \frac{z - {\rm mean}}{\sqrt{{\rm var} + {\rm EPS}}}\,\gamma + \beta \qquad
#   {\rm out} = \frac{\hat z}{1 + e^{-\hat z}}$$
#
# Mean and variance are those of a **group**, that is, of neighbouring channels at all
# pixels of one sample. They are computed *after* the shift, which is a different number
# for each channel.
#
# The image is channels-last bfloat16, so two neighbouring channels of a pixel are one
# `int32` **word** (chapter 21). `bf16_low(word)` and `bf16_high(word)` unpack it into
# two float32 numbers; the low half is the channel with the smaller number. One
# **block** handles one group of one sample: `blockIdx.x` is the group, `blockIdx.y` is
# the sample, and `gridDim.x` is the number of groups. Consecutive threads take
# consecutive words of the group, first those of one pixel and then those of the next.
#
# ```python
# group_norm_silu(x, shift, gamma, beta, out)
# # x (n, pixels, channels / 2) int32; shift (n, channels), gamma, beta (channels,)
# ```
#
# `put(out, sample, pixel, word, low, high)` stores the two channels of a word. Here it
# stores float32, so that the check can compare more than 8 bits; in the pipeline your
# kernel gets a `put` that packs them into bfloat16. `block_sum(value, turn)` adds up
# `value` over the block and returns the sum to every thread; two calls in a row need
# different turns, 0 and 1. `silu` is given too. Compute everything in float32, and
# compute the variance from the distances to the mean, because the mean of some groups
# is far from 0. Stuck? Run `hint("group_norm_silu")`.


# %% tags=["given"]
EPS = np.float32(1e-5)

# %%
@cuda.jit
def group_norm_silu(x, shift, gamma, beta, out):
    """Write silu(norm(x + shift)) into out; a block per group and sample."""
    group, sample = cuda.blockIdx.x, cuda.blockIdx.y
    width = int32(x.shape[2]) // int32(cuda.gridDim.x)  # words of a group
    first = int32(group) * width
    size = int32(x.shape[1]) * width
    me, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)

    # about 25 lines
    # BEGIN SOLUTION
    count = float32(2 * size)
    total = float32(0)
    for i in range(me, size, threads):
        word, c = first + i % width, int32(2) * (first + i % width)
        pair = x[sample, i // width, word]
        total += bf16_low(pair) + shift[sample, c]
        total += bf16_high(pair) + shift[sample, c + 1]
    mean = block_sum(total, 0) / count

    total = float32(0)
    for i in range(me, size, threads):
        word, c = first + i % width, int32(2) * (first + i % width)
        pair = x[sample, i // width, word]
        low = bf16_low(pair) + shift[sample, c] - mean
        high = bf16_high(pair) + shift[sample, c + 1] - mean
        total += low * low + high * high
    scale = float32(1) / math.sqrt(block_sum(total, 1) / count + EPS)

    for i in range(me, size, threads):
        word, c = first + i % width, int32(2) * (first + i % width)
        pair = x[sample, i // width, word]
        low = (bf16_low(pair) + shift[sample, c] - mean) * scale
        high = (bf16_high(pair) + shift[sample, c + 1] - mean) * scale
        low = silu(low * gamma[c] + beta[c])
        high = silu(high * gamma[c + 1] + beta[c + 1])
        put(out, sample, i // width, word, low, high)
    # END SOLUTION


# %%
check(
    group_norm_silu,
    spec=checks.normed,
    because=checks.NORMS,
    inputs=checks.norm_inputs,
    sizes=[(1, 7, 1), (2, 9, 5), (3, 30, 3)],
    launch=lambda n, pixels, width: (
        (checks.GROUPS, n),
        32 + 32 * (n % 3),
    ),
    full=(2, 4096, 5),
    tolerance=2e-4,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# The kernel reads the same image three times, and the second and third loops find it in
# the cache if it fits there. Nothing but the result is written. The shift no longer
# needs a separate pass.

# %% [markdown]
# ## 5 · Less arithmetic
#
# On the way up, the image is enlarged by `F.interpolate(y, scale_factor=2.0)`, which
# copies each pixel into a square of 2 × 2 equal pixels, and is then convolved with 3 ×
# 3 weights. Of the nine pixels under the weights, many are equal, so the convolution
# multiplies the same pixel by several weights, and adds the products.
#
# Instead, add up the weights, once. This leaves four convolutions of 2 × 2 on the
# **small** image, one for each **phase** (a, b) of the result, that is, for its rows `2
# i + a` and its columns `2 j + b`. For a single row of pixels $p$ and the weights $w_0,
# w_1, w_2$ of one row:
#
# ```
# small:                p(i - 1)     p(i)      p(i + 1)
# large:   ...  p(i - 1)  p(i - 1)  p(i)  p(i)  p(i + 1)  p(i + 1)  ...
#                                   ^     ^
#                          phase a: 0     1      the middle of the weights
# ```
#
# Which two pixels of the small row does each phase see, and with which weights? Then do
# the same along the columns. Return the weights of the four phases as one tensor,
# `merged`. In `merged[a, b]`, tap (0, 0) belongs to the pixel with the smallest row and
# column. Stuck? Run `hint("phases")`.
#
# ```python
# phases(weight)    # (out, in, 3, 3) -> (2, 2, out, in, 2, 2)
# ```

# %%
def phases(weight):
    """Return the weights of the four phases: (2, 2, out, in, 2, 2)."""
    # about 6 lines
    # BEGIN SOLUTION
    top, middle, bottom = weight.unbind(2)
    rows = [(top, middle + bottom), (top + middle, bottom)]
    merged = []
    for above, below in rows:
        left, centre, right = torch.stack([above, below], 2).unbind(3)
        merged.append(torch.stack([left, centre + right], 3))
        merged.append(torch.stack([left + centre, right], 3))
    return torch.stack(merged).unflatten(0, (2, 2))
    # END SOLUTION


# %%
check(
    phases,
    spec=lambda weight: checks.phases_by_trying(torch.as_tensor(weight)),
    because=checks.PHASES,
    inputs=lambda rng, m, n: rng.uniform(-1, 2, (m, n, 3, 3)).astype(
        np.float32
    ),
    sizes=[(1, 1), (2, 3), (4, 1)],
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-5,
)

# %% [markdown] tags=["solution"]
# Each of the four convolutions has four taps and computes a quarter of the pixels. So
# each result takes 4 multiplications per channel instead of 9. The compiler does not do
# this for you. It may not even be allowed to, since sums of bfloat16 weights round
# differently. Here the weights are added up in float32 and rounded once.

# %% [markdown]
# ## 6 · Sums where the image is written
#
# A ResBlock ends by adding the shortcut, and the next block begins with a norm, which
# has to read the whole image to find its sums. The kernel that adds the shortcut has
# every value of this image in its registers, so it can compute the sums, too.
#
# A block takes some consecutive pixels of a sample, with all of their channels:
# `blockIdx.x` is the number of this group of pixels, and `blockIdx.y` is the sample.
# `threadIdx.x` is a word, that is, two channels. `blockDim.y` threads share the pixels
# of a word: of the block's pixels, a thread takes numbers `threadIdx.y`,
# `threadIdx.y + blockDim.y`, and so on.
#
# $$\text{out} = x + y + {\rm shift}$$
#
# Write `out`, and for each block and each **unit** of consecutive channels the sum of
# the unit's values at the block's pixels, and the sum of their squares. All units have
# the same number of words. The norm adds up the sums of all blocks. (Units are needed
# because a group of a norm may contain channels of two images, whereas the channels of
# a unit belong to one image.)
#
# ```python
# add_with_sums(x, y, shift, out, sums)
# # x, y (n, pixels, channels / 2) int32; shift (channels,)
# # out as in exercise 4; sums (n, blocks, units, 2) float32
# ```
#
# `put` is that of exercise 4. Sum the values in float32, before they are rounded. A
# thread can keep its word's two sums in registers; `part` is for the sums of all
# threads of a block. Stuck? Run `hint("add_with_sums")`.


# %%
@cuda.jit
def add_with_sums(x, y, shift, out, sums):
    """Write x + y + shift, and the sums of each unit at some pixels."""
    part = cuda.shared.array((2, 1024), float32)
    word, deep = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    chunk, sample = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
    words, turns = int32(cuda.blockDim.x), int32(cuda.blockDim.y)
    pixels = int32(x.shape[1]) // int32(cuda.gridDim.x)  # of a block
    first, me = chunk * pixels, deep * words + word

    # about 22 lines
    # BEGIN SOLUTION
    total, squares = float32(0), float32(0)
    for pixel in range(first + deep, first + pixels, turns):
        a, b = x[sample, pixel, word], y[sample, pixel, word]
        low = bf16_low(a) + bf16_low(b) + shift[2 * word]
        high = bf16_high(a) + bf16_high(b) + shift[2 * word + 1]
        put(out, sample, pixel, word, low, high)
        total += low + high
        squares += low * low + high * high
    part[0, me], part[1, me] = total, squares
    cuda.syncthreads()

    units = int32(sums.shape[2])
    each = words // units  # words of a unit
    if me < units:
        total, squares = float32(0), float32(0)
        for turn in range(turns):
            for i in range(each):
                at = turn * words + me * each + i
                total += part[0, at]
                squares += part[1, at]
        sums[sample, chunk, me, 0] = total
        sums[sample, chunk, me, 1] = squares
    # END SOLUTION


# %%
check(
    add_with_sums,
    spec=checks.added,
    because=checks.ADDED,
    inputs=checks.two_images,
    sizes=[(1, 4, 1), (2, 12, 5), (3, 8, 3)],
    launch=lambda n, pixels, each: (
        (pixels // checks.PIXELS, n),
        (checks.UNITS * each, 1 + n % 3),
    ),
    full=(2, 4096, 5),
    tolerance=1e-4,
    limits={"float64": 0},
)

# %% [markdown] tags=["solution"]
# A separate kernel for the sums would have to read the image once more. The sums
# themselves are small: two numbers per block and unit.

# %% [markdown]
# ## The worklog
#
# From here on, the worklog changes how the parts of the network are computed, but not
# their results. `parts.py` has the UNet's forward pass, without the parts that exercise
# 3 computes in advance. Its class `Parts` has a method for each part, written in
# PyTorch. An entry of the worklog is a subclass that overrides some of these methods.
#
# - `Rewritten` needs no kernel: it has one matrix product for queries, keys and values,
#   and computes your phases as one convolution with four times the channels. You can
#   do all this in PyTorch.
# - `Kernels` replaces every group norm and every addition by two kernels. `add_sums`
#   performs the additions, and computes partial sums for the next norm in the same
#   pass. `norm_words` reads these partial sums, of one image or of two images whose
#   channels are concatenated.
#
# The table shows a step for one image: latents of 64 × 64, two texts of 77 tokens of
# 768 numbers (one of them empty), and 20 times, one for each denoising step. Each row
# keeps the changes of the rows above it:
#
# | row | what changes |
# | --- | --- |
# | *float32* | nothing: the model runs eagerly, with two calls per step |
# | *TF32* | float32 products run on tensor cores |
# | *bfloat16* | the type of weights and images |
# | *channels-last* | the layout of weights and images |
# | *one call* | guidance in one batch (exercise 2) |
# | *graph* | the step is one CUDA graph |
# | *compiled* | `torch.compile` before the recording of the graph |
# | *rewritten* | exercises 3 and 5, and one product for queries, keys and values |
# | *two kernels* | `add_sums` and `norm_words` compute the norms and sums |
# | *your sums* | your kernel of exercise 6, where two images are added |
#
# `torch.compile` also plans memory: tensors that are never alive at the same time share
# it. With *one call* as 1.0, how fast are the other rows? How fast can the last row be
# at most, if the norms and the sums take a fifth of the time of the row before it?

# %%
chapter.learner.use(
    guided=guided,
    constants=constants,
    group_norm_silu=group_norm_silu,
    phases=phases,
    add_with_sums=add_with_sums,
)
guess = {
    "float32": None,
    "graph": None,
    "compiled": None,
    "two kernels": None,
    "your sums": None,
}

one = chapter.measure.one_image(guess)
one

# %% tags=["solution"]
one.expect("graph", at_least=1.5)
one.expect("compiled", at_least=1.1, times="graph")
one.expect("rewritten", at_least=1.02, times="compiled")
one.expect("two kernels", at_least=0.95, times="rewritten")
one.expect("your sums", at_least=0.9, times="rewritten")

# %% [markdown]
# ## More measurements
#
# The measurements below are in `measure.py` in `chapters/34_diffusion`.
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Four images
#
# This table is for four images. Which rows gain more from a larger batch, and which
# gain less?

# %%
guess = {
    "graph": None,
    "compiled": None,
    "two kernels": None,
    "your sums": None,
}

four = chapter.measure.four_images(guess)
four

# %% tags=["solution"]
four.expect("two kernels", at_least=1.1, times="rewritten")
four.expect("your sums", at_least=1, times="rewritten")

# %% [markdown]
# ### Is it still the same model?
#
# The entries round differently. So the cell runs all 20 steps with each entry, from the
# same noise, and compares the latents with those of float32. The error is the length of
# the difference, in per cent of the distance that the latents have moved. An error of
# up to twice that of plain bfloat16, run eagerly, is accepted. Which entries should not
# change the error at all?


# %%
error = chapter.measure.error()

# %% tags=["solution"]
if error:
    assert max(error.values()) < 2 * error["bfloat16"]

# %% [markdown]
# ### The profile after the last entry
#
# The cell groups one step's kernels by their purpose and adds up their times, for the
# compiled model and for the model with the two kernels. Which row would you work on
# next, and how much could it gain at most?


# %%
before = chapter.measure.profile_of("compiled")

# %%
after = chapter.measure.profile_of("two kernels")

# %% [markdown]
# ### The norm alone
#
# Each row computes shift, norm and SiLU for two samples of 64 × 64 pixels with 320
# channels, 5.2 MB, as a CUDA graph of many calls. Your kernel has one block per group
# and sample. How many blocks does it launch, and how many SMs does the GPU have?

# %%
guess = {"compiled": None, "yours": None, "two kernels": None}

alone = chapter.measure.norm_alone(guess)
alone

# %% tags=["solution"]
alone.expect("two kernels", at_least=0.6, times="compiled")
alone.expect("two kernels", at_least=1.2, times="yours")
alone.expect("compiled", at_least=1.5, times="eager")

# %% [markdown]
# ### What did not help
#
# A worklog should also list failures, so that nobody tries them again. Here are three
# attempts, each with the entry that it was meant to improve:
#
# - *four steps in a graph*, instead of four replays of a graph of one step;
# - *your norm* in the rewritten model, without the compiler;
# - PyTorch's own *flash attention* instead of cuDNN's attention, in the same model.


# %%
tried = chapter.measure.tried()
tried

# %% tags=["solution"]
tried.expect("a graph of 4 steps", at_most=1.05, times="4 graphs of a step")
tried.expect("4 with flash attention", at_most=1.0)

# %% [markdown]
# ### If you want more
#
# - Fuse the gate of the MLP into the product before it: a Triton program with two
#   accumulators (chapter 29), so that the 4096 × 2560 intermediate never reaches
#   memory.
# - In cross-attention, the keys are constant. So is the product of `q.weight` and the
#   keys: compute it in advance, as one matrix per head. When does this save work?
# - Fold the shift into the first norm of the next block, so that `add_sums` need not
#   write its result.
# - Run the shortcut's product on a second stream beside the two convolutions, within
#   the graph. When is that faster?

# %% [markdown]
# ## What you learned
#
# 1. A profile gives bounds. A row that is at its limit has nothing to gain, and a row
#    that takes a tenth of the step cannot make the step more than 1.11 times as fast.
# 2. First remove work: what is constant over the steps, what is computed twice, and
#    what algebra makes smaller. Then compile. Then write kernels for what is left.
# 3. Guidance needs one call per step, with twice the batch size.
# 4. A norm needs its sums before it can write anything. The kernel that writes its
#    input can compute these sums in the same pass.
# 5. Every entry of a worklog has a time and an error, even if the change is discarded.

# %%
quiz()
