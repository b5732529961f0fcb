# %% [markdown]
# # 30 · Inside PyTorch tensors
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/30_tensors.ipynb)
#
# **After this lab, you can**
#
# - compute the strides of any layout, such as channels-last, and broadcast with strides
#   alone;
# - predict which PyTorch operations return a view and which copy, and why;
# - write the kernel that makes any view contiguous;
# - follow `torch.add` through the dispatcher to a kernel, on an ordinary release build;
# - say how a layout affects the time of an elementwise operation, and how much host
#   time a call takes.
#
# **You need** about 100 minutes. You do not need a GPU: the exercises run in the
# simulator, and without a GPU the measurements show times from the reference GPU, an
# H200. If you use a GPU, it needs compute capability 7.5 or higher and 4 GB of memory.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import contextlib
import itertools
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torchgen
from numba import cuda, int32, uint32
from torch.utils._python_dispatch import TorchDispatchMode

from weft import bench, check, hint, quiz
from weft.lesson import answers

chapter = weft.lab("30_tensors")
checks, looks, measure = chapter.checks, chapter.looks, chapter.measure
Strided = chapter.strided.Strided

# %% [markdown]
# ## One storage, many tensors
#
# A PyTorch tensor does not contain its numbers. It contains a reference to a
# **storage**, a flat run of bytes on one device, and a recipe for finding an element in
# the storage. The recipe consists of a **shape**, one **stride** per dimension, and an
# **offset**, the position of the first element. Element (`i`, `j`) of a matrix is
# number
#
# `offset + i * stride[0] + j * stride[1]`
#
# of the storage. A tensor that uses the storage of another tensor is a **view** of that
# tensor. Here are five tensors that share one storage of 12 numbers:

# %%
x = torch.arange(12.0).view(3, 4)
views = {
    "x": x,
    "x.t()": x.t(),
    "x[1]": x[1],
    "x[:, ::2]": x[:, ::2],
    "x[:, :1].expand(3, 4)": x[:, :1].expand(3, 4),
}

print(f"{'':24}{'shape':10}{'strides':10}offset")
for name, view in views.items():
    shape, strides = str(tuple(view.shape)), str(view.stride())
    print(f"{name:24}{shape:10}{strides:10}{view.storage_offset():6}")
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()

# %% [markdown]
# ## 1 · Strides
#
# The simplest case is a tensor that fills its storage without gaps. One step along the
# fastest dimension moves by one element. One step along the next dimension moves by the
# whole length of the fastest, and so on. In a tensor of shape (2, 3, 4) in row-major
# order, the strides are (12, 4, 1).
#
# The fastest dimension need not be the last one. `order` lists the dimensions from the
# slowest to the fastest:
#
# | shape | order | strides |
# | --- | --- | --- |
# | (2, 3, 4) | (0, 1, 2): row-major | (12, 4, 1) |
# | (3, 4) | (1, 0): column-major | (1, 3) |
# | (2, 3, 4, 5) | (0, 2, 3, 1): channels-last | (60, 1, 15, 3) |
#
# In the last row the shape is (image, channel, row, column) as usual; only the order in
# memory differs. For PyTorch, a tensor is **channels-last** if it has such strides. The
# check compares your strides with PyTorch's on these shapes and on random ones, so in
# this exercise and the next two, do not use PyTorch. Stuck? Run `hint("strides_for")`;
# there are three hints.
#
# ```python
# strides_for(shape, order)    # (2, 3, 4), (0, 1, 2) -> (12, 4, 1)
# ```

# %%
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    # about 6 lines
    # BEGIN SOLUTION
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)
    # END SOLUTION

# %%
check(
    strides_for,
    spec=checks.torch_strides,
    inputs=checks.random_orders,
    same=checks.same_strides,
    without=("torch",),
)

# %% [markdown] tags=["solution"]
# `step` is the product of the sizes visited so far, which is also the stride of the
# next dimension.
#
# PyTorch also goes the other way, and compares the strides of a tensor with those that
# its shape implies. If they agree for the row-major order, the tensor is
# **contiguous**. `is_contiguous(memory_format=torch.channels_last)` asks the same
# question for the other order. Strides of dimensions of size 1 do not count, because
# the only index that ever multiplies them is 0. An image with one channel is therefore
# contiguous in both orders:

# %% tags=["solution"]
for channels in (3, 1):
    image = torch.empty(2, channels, 4, 5)
    last = image.to(memory_format=torch.channels_last)
    for name, each in {"as made": image, "channels last": last}.items():
        rows = each.is_contiguous()
        pixels = each.is_contiguous(memory_format=torch.channels_last)
        title = f"{channels} channels, {name}"
        print(f"{title:26}{each.stride()!s:17}{rows!s:6}{pixels}")

# %% [markdown]
# ## A tensor of your own
#
# The class `Strided`, in `chapters/30_tensors/strided.py`, is a small strided tensor.
# It has a storage, a shape, strides and an offset, which is called `start`. Read its
# `transpose` and `slice`: both return a new recipe for the same storage and touch none
# of its numbers. The last three methods, `expand`, `flatten` and `contiguous`, rely on
# functions that you are about to write.

# %%
mine = Strided(np.arange(12, dtype=np.float32), (3, 4), (4, 1))
corner = mine.transpose(0, 1).slice(0, 1, 4, 2)
print(corner.shape, corner.strides, corner.start, corner.numbers())
theirs = x.t()[1:4:2]
print(tuple(theirs.shape), theirs.stride(), theirs.storage_offset())

# %% [markdown]
# ## 2 · Broadcasting
#
# To add a row of 4 numbers to a matrix of 3 × 4, PyTorch does not make three copies of
# the row. It **expands** the row into a view of shape (3, 4) in which all three rows
# are the same four numbers.
#
# The rule is NumPy's. Align the two shapes at their **right** ends. Where the sizes
# agree, nothing changes. Where a size is 1, or where the shorter shape has no dimension
# at all, the elements are repeated. Which stride makes every index along a dimension
# lead to the same element?
#
# | shape | strides | target | new strides |
# | --- | --- | --- | --- |
# | (4,) | (1,) | (3, 4) | (?, 1) |
# | (3, 1) | (4, 1) | (3, 4) | (4, ?) |
#
# ```python
# expanded(shape, strides, target)    # -> strides, one per dimension of target
# ```
#
# All sizes in `target` are at least 2, and `shape` always fits. Stuck?
# `hint("expanded")`.

# %%
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    # about 5 lines
    # BEGIN SOLUTION
    result = [0] * len(target)
    for dim in range(1, len(shape) + 1):  # from the right
        if shape[-dim] == target[-dim]:
            result[-dim] = strides[-dim]
    return tuple(result)
    # END SOLUTION

# %%
check(
    expanded,
    spec=checks.torch_expanded,
    inputs=checks.random_targets,
    same=checks.same_strides,
    without=("torch",),
)

# %% [markdown] tags=["solution"]
# Broadcasting takes only a stride of 0. Nothing is copied, and a kernel that reads with
# these strides needs no special case.
#
# An expanded tensor has fewer numbers in memory than elements, so writing to it in
# place is ambiguous. PyTorch refuses if it notices this:

# %% tags=["solution"]
wide = torch.zeros(4).expand(3, 4)
numbers = wide.untyped_storage().nbytes() // 4
print(f"{wide.numel()} elements, {numbers} numbers")
try:
    wide.add_(1)
except RuntimeError as error:
    print(str(error).split(". ")[0])

# %% [markdown]
# ## 3 · Merging dimensions
#
# `x.reshape(-1)` is free if one stride is enough to walk through all elements. More
# generally, two neighbouring dimensions can be **merged** into one if a step along the
# left dimension moves exactly as far as the whole length of the right one.
#
# In shape (3, 4) with strides (4, 1), a step along the left dimension moves by 4
# elements. The right dimension has 4 elements of stride 1, so its length is 4 too.
# Merged, the two become shape (12,) with stride (1,). In the transpose, shape (4, 3)
# with strides (1, 4), a step along the left dimension moves by 1, but the right
# dimension has a length of 3 × 4 = 12. These two do not merge.
#
# Merge as far as you can, and leave out dimensions of size 1. Return the new shape and
# the new strides.
#
# | shape | strides | merged |
# | --- | --- | --- |
# | (2, 3, 4) | (12, 4, 1) | (24,), (1,) |
# | (4, 3) | (1, 4) | (4, 3), (1, 4) |
# | (2, 3, 2) | (12, 4, 1) | (6, 2), (4, 1) |
# | (2, 1, 3) | (3, 99, 1) | (6,), (1,) |
#
# ```python
# merge(shape, strides)    # -> (shape, strides)
# ```
#
# The check's spec uses PyTorch: it flattens two neighbours at a time, as long as
# `view`, which never copies, allows it. Stuck? `hint("merge")`.

# %%
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    # about 11 lines
    # BEGIN SOLUTION
    sizes, steps = [], []
    for size, step in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if steps and steps[-1] == size * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)
    # END SOLUTION

# %%
check(
    merge,
    spec=checks.torch_merged,
    inputs=checks.random_views,
    same=checks.same_runs,
    without=("torch",),
)

# %% [markdown] tags=["solution"]
# The merged dimension takes the stride of its right half, because that half is the
# faster one. Compare with the **latest** merged dimension, not with the original
# neighbour.
#
# You have just written the test that decides whether `reshape` copies. A new shape is
# free if each of its dimensions can be cut out of one merged dimension. If a new
# dimension would have to straddle two merged ones, a copy is needed. You have also
# written a step of every elementwise operation in PyTorch: `TensorIterator` merges the
# dimensions of all operands in the same way before it launches a kernel, because the
# kernel needs a division for every dimension.

# %% [markdown]
# ## 4 · View or copy?
#
# Which of these lines copy? `x` is a contiguous float32 tensor of shape (4, 6). Answer
# `"view"` if the result uses the storage of `x`, even if it is `x` itself, and `"copy"`
# if it has its own storage.
#
# There is no list to learn by heart. Ask of each line: do an offset and one stride per
# dimension lead to the right elements? PyTorch's strides are never negative. If you are
# unsure, print `merge` of the shape and strides. Stuck? `hint("copies")`.
#
# ```python
# copies(line)    # "x.t()" -> "view" or "copy"
# ```

# %%
def copies(line):
    """Return what a line of Python gives: "view" or "copy"."""
    # one dictionary; replace each of the Nones
    answer = {
        "x.t()": None,
        "x.t().contiguous()": None,
        "x.contiguous()": None,
        "x[:, ::2]": None,
        "x[[0, 2]]": None,
        "x.flip(0)": None,
        "x.reshape(24)": None,
        "x.t().reshape(24)": None,
        "x[:2].reshape(12)": None,
        "x[:, :2].reshape(8)": None,
        "x[0].expand(4, 6)": None,
        "x.to(torch.float32)": None,
    }
    # BEGIN SOLUTION
    made = ["x.t().contiguous()", "x[[0, 2]]", "x.flip(0)"]
    made += ["x.t().reshape(24)", "x[:, :2].reshape(8)"]
    answer = {each: "copy" if each in made else "view" for each in answer}
    # END SOLUTION
    return answer[line]

# %%
check(copies, **answers("copies"))

# %% [markdown] tags=["solution"]
# Slices have a stride, but a list of indices, in general, has none. Reversing would
# need a stride of −1, which PyTorch does not have. `contiguous()` and `to()` return the
# tensor itself if there is nothing to do, so neither is a reliable way to get a copy;
# `clone()` is.
#
# `reshape` is treacherous, because the same call may or may not copy, depending on
# strides that you do not see. `view` never copies. Use it where a copy would be a
# mistake, and you get an error instead of a slow program.

# %% [markdown]
# ## Look: what PyTorch does
#
# You can observe for yourself what copies. Below the layer that records gradients,
# every operation passes a point at which Python code can intercept it, with a
# `TorchDispatchMode`. The mode `Watch` prints the operations that arrive there, and
# reports whether the result shares the storage of an argument.

# %%
looks.what_copies()

# %% [markdown] tags=["solution"]
# `reshape` and `linear` never arrive. They are **composite**: they consist of calls of
# other operations, and only these reach this layer. `reshape` becomes a view if that is
# possible, and otherwise a `clone` and a view of the clone.

# %% [markdown]
# ## 5 · Contiguous, by a kernel
#
# Sometimes a copy is what you want. Write the kernel that makes any view contiguous.
# Thread `i` writes element `i` of `out`, which is filled row by row. For that, the
# thread has to find out where the element is in the storage.
#
# The element's index is computed from `i` one dimension at a time, the fastest first.
# In shape (2, 3, 4), element 17 has the index (1, 1, 1):
#
# - 17 % 4 = **1** is the index along the last dimension, and 17 // 4 = 4 is left;
# - 4 % 3 = **1** is the index along the middle dimension, and 4 // 3 = 1 is left;
# - 1 % 2 = **1** is the index along the first dimension.
#
# Each index adds index × stride to the position. `shape` and `strides` are arrays with
# one number per dimension, and `shape.size` is the number of dimensions. The views of
# the check are transposed, sliced with steps, and broadcast. Their storage contains 0,
# 10, 20, …, so that the verdict on a wrong value can name the place that was read.
# Stuck? `hint("make_contiguous")`.
#
# ```python
# make_contiguous(storage, shape, strides, start, out)
#     # storage (s,), out (n,) float32; shape, strides (d,) int64; start int
# ```

# %%
@cuda.jit
def make_contiguous(storage, shape, strides, start, out):
    """Write the elements of a view into out, row by row."""
    i = cuda.grid(1)

    # about 7 lines
    # BEGIN SOLUTION
    if i < out.size:
        place = start
        rest = i
        for dim in range(shape.size - 1, -1, -1):
            place += rest % shape[dim] * strides[dim]
            rest //= shape[dim]
        out[i] = storage[place]
    # END SOLUTION

# %%
check(
    make_contiguous,
    spec=checks.elements,
    inputs=checks.scattered,
    sizes=[(1, 1, 4, 6), (1, 1, 1, 70), (1, 3, 1, 5), (2, 3, 4, 5)],
    launch=lambda *sizes: (-(-math.prod(sizes) // 64), 64),
    full=(50, 60, 7, 80),
    limits={"float64": 0},
    describe={"out": checks.read_from},
    because=checks.wrong_place,
)

# %% [markdown] tags=["solution"]
# The writes are coalesced, whatever the view. The reads are coalesced only if the
# view's last dimension has stride 1. Each dimension takes a division and a remainder of
# 64-bit integers, for which a GPU has no instruction, so the compiler emits a routine
# of dozens of instructions instead.

# %% [markdown]
# ## Your tensor against PyTorch
#
# Now put the parts together. The cell below makes random tensors, applies the same
# random chain of operations to your tensor and to PyTorch's, and compares the two after
# every step: the shape, the elements, and whether the storage is still the original
# one. The cell stops at the first difference. Tests of this kind are called
# **property-based**: they state what must be true of every input, and let a generator
# look for a counterexample.

# %%
chapter.strided.use(strides_for, expanded, merge, make_contiguous)
chapter.strided.agree(100)

# %% [markdown]
# ## Measure: making a view contiguous
#
# A batch of 64 images with 64 channels of 128 × 128 pixels, 268 MB of float32, is
# converted from row-major to channels-last. `copy` moves the same number of bytes and
# reorders nothing.
#
# - `torch` is PyTorch's `permute(0, 2, 3, 1).contiguous()`.
# - `4 dimensions` is your kernel on the shape (64, 128, 128, 64).
# - `3 dimensions` is your kernel on the merged shape (64, 16384, 64).
# - `32-bit` is `make_contiguous32` in `chapters/30_tensors/kernels.py`, on the same
#   merged shape. It computes with unsigned integers of 32 bits, with one division per
#   dimension and no remainder.
#
# How much does it help to save a dimension, and how much do faster divisions help? Fill
# in your guesses, as multiples of PyTorch's speed.

# %%
guess = {"4 dimensions": None, "3 dimensions": None, "32-bit": None}

channels_last = measure.channels_last(make_contiguous, guess)
channels_last

# %% tags=["solution"]
channels_last.expect("copy", at_least=1.3, times="torch")
channels_last.expect("3 dimensions", at_least=1.0, times="4 dimensions")
channels_last.expect("32-bit", at_least=1.0, times="3 dimensions")

# %% [markdown] tags=["solution"]
# All these kernels move the same bytes and write along rows. They differ in how much a
# thread has to compute before it knows where to read. PyTorch's kernel for strided
# copies applies the same ideas thoroughly: dimensions are merged, indices have 32 bits,
# and every division is replaced by a multiplication by a number computed beforehand.
#
# None of these kernels is nearly as fast as the copy, because they read down columns. A
# kernel like the transpose of chapter 13, with a tile in shared memory, would probably
# be faster.

# %% [markdown]
# ## From torch.add to a kernel
#
# `torch.add` has many kernels: for CPUs, for GPUs, for sparse tensors. Before any of
# them runs, autograd may have to record the operation, autocast may have to convert its
# arguments, and so on. One mechanism decides all of this: the **dispatcher**.
#
# All operators are described in one file, `native_functions.yaml`, which is installed
# along with PyTorch. Here is the entry for addition with an output. It names no
# function for CPUs or GPUs, because these functions are generated from
# `ufunc_inner_loop`.

# %%
looks.entry()

# %% [markdown]
# For each operator, the dispatcher keeps a table with one row per **dispatch key**. The
# kernel to run is in the row of one of these keys. Here are some rows for
# `aten::add.Tensor`, with the source file of each kernel. *Fallthrough* means that the
# key has nothing to do for this operator.

# %%
KEY = looks.KEY  # "CUDA", or "CPU" without a GPU
keys = f"Autocast{KEY}", f"Autograd{KEY}", "ADInplaceOrView", KEY
looks.rows("aten::add.Tensor", *keys)

# %% [markdown]
# The row is chosen by sets of keys. Every tensor has such a set, and the thread has two
# more: keys to include and keys to exclude.

# %%
looks.key_sets()

# %% [markdown]
# ## 6 · Which kernel?
#
# A set of keys is a 64-bit number with one bit per key, and the position of the bit is
# the key's priority. So the dispatcher needs no loop over keys and no comparisons. For
# every call of every operator, it does the following:
#
# 1. Take the **union** of the key sets of all tensor arguments.
# 2. Add the keys that the thread includes.
# 3. Remove the keys that the thread excludes.
# 4. Keep only the keys for which the operator has a kernel, which drops those that fall
#    through.
# 5. The **highest** key that is left determines which kernel to run.
#
# Write these steps for the ten keys below; PyTorch has more than a hundred. Return the
# highest key's number, or −1 if no key is left. (PyTorch then raises
# `NotImplementedError`.) Python's operators on sets of bits are `|`, `&` and `~`, and
# `n.bit_length()` is the number of bits that `n` needs: 1 for 1, 3 for 4. Stuck?
# `hint("dispatch_key")`.
#
# ```python
# dispatch_key(arguments, included, excluded, kernels)
#     # a list of key sets, and three more of them -> the number of a key
# ```

# %% tags=["given"]
KEYS = checks.KEYS  # from the lowest to the highest
KEYS

# %%
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    # about 5 lines
    # BEGIN SOLUTION
    left = included
    for argument in arguments:
        left |= argument
    left &= ~excluded & kernels
    return left.bit_length() - 1
    # END SOLUTION

# %%
check(
    dispatch_key,
    spec=checks.by_sets,
    inputs=checks.calls,
    because=checks.why_not,
)

# %% [markdown] tags=["solution"]
# PyTorch's line is `((ks | local.included_) - local.excluded_) & key_mask`, in
# `DispatchKeyExtractor.h`. The order matters: a key that is both included and excluded
# is excluded.
#
# A key therefore costs nothing in calls that do not use it. A key that falls through is
# masked out by step 4, together with all others, in the same instruction.

# %% [markdown]
# ## Look: a call on its way down
#
# The first kernel that runs is rarely the last. The kernel for `AutogradCUDA` records
# the operation, and then calls the operator **again**, with its own key and all higher
# keys masked out. This is *redispatching*. A debug build of PyTorch can print each
# step; a release build cannot. But you can add an operator of your own, with a kernel
# at each layer that prints its key and redispatches.

# %%
looks.trails()

# %% [markdown] tags=["solution"]
# `no_grad` changes nothing on this path. Autograd's kernel still runs, sees that
# nothing is to be recorded, and passes the call on. `inference_mode` excludes the keys
# of autograd, so the kernel is not called at all. A tensor that was *made* in inference
# mode does not even have these keys. In return, autograd refuses to save such a tensor
# for a backward pass.

# %% [markdown]
# ## More measurements
#
# You have done the exercises. The solution and the chapter's page explain what each
# table shows. The last section has ideas for more.

# %% [markdown]
# ### The profiler's view
#
# The profiler lists the operators that were called, and shows which operator called
# which. With `with_stack=True`, it also records the Python functions above them. On a
# GPU, it adds the kernels that each operator launched.

# %%
looks.calls()

# %% [markdown] tags=["solution"]
# This list also contains the composite operators, since the profiler observes calls at
# the entrance and not below autograd. `a.t()` calls `aten::t`, then `aten::transpose`,
# then `aten::as_strided`, which is where the new strides are finally set.

# %% [markdown]
# ### What a layout costs
#
# Most of the time, you do not need a contiguous tensor, because elementwise operations
# accept any strides. The next table shows how fast they are. Each row adds two matrices
# of 8192 × 8192, with the result in whatever layout PyTorch chooses:
#
# - `row-major`: `x + y`;
# - `both transposed`: `x.t() + y.t()`;
# - `one transposed`: `x + y.t()`;
# - `a row, broadcast`: `x + y[0]`;
# - `every second column`: both are slices of matrices twice as wide.
#
# Two of these rows take about as long as the first one. Which?

# %%
guess = {
    "both transposed": None,
    "one transposed": None,
    "a row, broadcast": None,
    "every second column": None,
}

layouts = measure.layouts(guess)
layouts

# %% tags=["solution"]
layouts.expect("both transposed", at_least=0.9, times="row-major")
layouts.expect("row-major", at_least=1.5, times="one transposed")
layouts.expect("a row, broadcast", at_least=0.8, at_most=1.5, times="row-major")
layouts.expect("row-major", at_least=1.2, times="every second column")

# %% [markdown] tags=["solution"]
# Two transposed matrices are added as fast as two that are not transposed.
# `TensorIterator` sorts the dimensions by stride, merges them, and finds one long run
# of neighbours; it also gives the result the same strides. In this way, channels-last
# spreads through a network without further calls. Only operands that **disagree** are
# slow, because then no order of the elements is good for both.
#
# The broadcast row saves a third of the bytes: it is read from memory once, and then
# from the cache. On an H200 this saves no time, probably because PyTorch's fast kernel,
# which moves several elements per load, is only for contiguous operands. With a stride
# of 0 among the operands, an offset is computed for each element. Slices with a step
# waste bytes: memory delivers whole sectors of 32 bytes, of which half is not needed.

# %%
x, y = torch.empty(2, 3, 4, 5), torch.empty(2, 3, 4, 5)
last = x.to(memory_format=torch.channels_last)
print("last + last ", (last + last).stride())
print("last + y    ", (last + y).stride())
print("y + last    ", (y + last).stride())

# %% [markdown]
# ### What a call costs
#
# The GPU has next to nothing to do for one number, so the table shows the host's work:
# Python, the dispatcher, autograd, the allocator and the launch. Each row times 100
# calls, including the host's time. Which row is the fastest, and how much time does a
# dispatch mode in Python add?

# %%
guess = {"requires grad": None, "a view": None, "dispatch mode": None}

overhead = measure.overhead(guess)
overhead

# %% tags=["solution"]
overhead.expect("torch.add", at_least=1.0, times="requires grad")
overhead.expect("a view", at_least=1.5, times="torch.add")
overhead.expect("torch.add", at_least=1.5, times="dispatch mode")

# %% [markdown] tags=["solution"]
# A view takes the time of Python, the dispatcher and the bookkeeping of views, but
# needs no allocation and no launch. Recording for a gradient adds a node of the graph.
# The dispatch mode returns to Python for every operation, which is fine for inspection
# but not for production.

# %% [markdown]
# ### If you want more
#
# - Give `Strided` a method `view(shape)` that never copies: merge first, then cut the
#   new dimensions out of the merged ones, from the right. Compare the result with that
#   of `torch.Tensor.view`.
# - Write `windows(x, size)`: all windows of a vector, as a matrix, in a view. Which
#   strides does the view need? Use `torch.as_strided`, and then find out what happens
#   if you add 1 to such a view in place.
# - Make `make_contiguous` fast for channels-last with a tile in shared memory, as in
#   chapter 13.
# - Let `Watch` keep a list of all storages that a training step makes. How many bytes
#   do they have in total, and how many bytes are alive at once?
# - Print the rows of `aten::linear` and `aten::matmul`. Where does the word *math* or
#   *composite* appear, and what does that mean for gradients?

# %% [markdown]
# ## What you learned
#
# 1. A tensor is a storage, an offset, a shape and strides. Transposing, slicing,
#    expanding and channels-last change only the recipe.
# 2. An operation is free if its result can be described by an offset and one stride per
#    dimension. `reshape` copies if a new dimension would straddle two dimensions that
#    do not merge.
# 3. Elementwise operations sort and merge dimensions before they launch. Operands with
#    the same order of strides are fast in any layout; operands with different orders
#    are not.
# 4. The dispatcher takes the union of key sets, masks it, and runs the kernel of the
#    highest key. Autograd has such a kernel, which redispatches.
# 5. You can watch all of this on a release build, with the operator's table, a dispatch
#    mode, the profiler, and your own operator.

# %%
quiz()
