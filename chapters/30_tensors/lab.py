# %% [markdown]
# # 30 · Tensors
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/30_tensors.ipynb)
#
# **After this lab, you can**
#
# - compute the strides of any layout, channels-last included, and broadcast with
#   strides alone;
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

weft.lab("30_tensors")

# %% [markdown]
# ## One storage, many tensors
#
# A PyTorch tensor does not contain its numbers. It contains a reference to a
# **storage**, a flat run of bytes on one device, and a recipe for finding an element
# there: a **shape**, one **stride** per dimension, and an **offset**, the position of
# the first element. Element (`i`, `j`) of a matrix is number
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
# Let us start with the simplest case: a tensor that fills its storage without gaps. One
# step along the fastest dimension moves by one element. One step along the next moves
# by a whole run of the fastest dimension, and so on. In a tensor of shape (2, 3, 4) in
# row-major order, the strides are (12, 4, 1).
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
# memory differs. For PyTorch, **channels-last** is nothing more than such strides.
#
# ```python
# strides_for(shape, order)    # (2, 3, 4), (0, 1, 2) -> (12, 4, 1)
# ```
#
# The check compares your strides with PyTorch's on these shapes and on random ones, so
# in this exercise and the next two, do not use PyTorch. Stuck? Run
# `hint("strides_for")`; there are three hints.


# %% tags=["given"]
def torch_strides(shape, order):
    """Return the strides PyTorch gives to a tensor stored in this order."""
    stored = torch.empty([shape[dim] for dim in order])
    back = [order.index(dim) for dim in range(len(shape))]
    return stored.permute(back).stride()


def random_orders(rng):
    """Return shapes, each with an order of its dimensions."""
    cases = [((2, 3, 4), (0, 1, 2)), ((3, 4), (1, 0)), ((7,), (0,))]
    cases += [((2, 3, 4, 5), (0, 2, 3, 1)), ((4, 1, 3), (2, 1, 0))]
    for _ in range(12):
        rank = int(rng.integers(1, 6))
        shape = tuple(rng.integers(2, 6, rank).tolist())
        cases.append((shape, tuple(rng.permutation(rank).tolist())))
    return cases


def same_strides(got, wanted):
    """Return "" for the right strides, or else what is wrong with them."""
    got = got.tolist() if isinstance(got, np.ndarray) else got
    if not isinstance(got, tuple | list) or len(got) != len(wanted):
        return f"Return a tuple of {len(wanted)} strides, one per dimension."
    if any(isinstance(step, float) for step in got):
        return "Strides count elements, so they are integers: divide with `//`."
    if tuple(got) == tuple(wanted):
        return ""
    if sorted(got) == sorted(wanted):
        return (
            "These are the right numbers in the wrong places: the stride at "
            "position d belongs to dimension d of the shape."
        )
    dim = next(d for d, step in enumerate(got) if step != wanted[d])
    if wanted[dim] == 0:
        return (
            f"Every index along dimension {dim} must lead to the same "
            f"element, so a stride of {got[dim]} goes too far."
        )
    if got[dim] == 0:
        return f"With a stride of 0, dimension {dim} would repeat one element."
    return (
        f"One step along dimension {dim} should move by {wanted[dim]} in the "
        f"storage; a stride of {got[dim]} does not."
    )


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
    spec=torch_strides,
    inputs=random_orders,
    same=same_strides,
    without=("torch",),
)

# %% [markdown] tags=["solution"]
# `step` is the number of elements that the dimensions visited so far span. It is also
# the stride of the next dimension.
#
# Given a tensor, PyTorch asks the reverse question: are its strides those that its
# shape implies? If they are, in row-major order, the tensor is **contiguous**.
# `is_contiguous(memory_format=torch.channels_last)` asks the same question for the
# other order. Strides of dimensions of size 1 do not count, because the only index that
# ever multiplies them is 0. An image with one channel is therefore contiguous in both
# senses:

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
# The class below is a small strided tensor. It has a storage, a shape, strides and an
# offset, which is called `start`. Read `transpose` and `slice`: both return a new
# recipe for the same storage and touch none of its numbers. The last three methods rely
# on functions that you are about to write.


# %% tags=["given"]
@dataclass(frozen=True)
class Strided:
    """A tensor: a storage, and how to find an element in it."""

    storage: np.ndarray  # (n,) float32
    shape: tuple
    strides: tuple
    start: int = 0

    def at(self, *index):
        """Return one element."""
        steps = zip(index, self.strides, strict=True)
        return self.storage[self.start + sum(i * step for i, step in steps)]

    def numbers(self):
        """Return all elements, row by row."""
        everywhere = itertools.product(*map(range, self.shape))
        return [float(self.at(*index)) for index in everywhere]

    def transpose(self, a, b):
        """Swap two dimensions."""
        order = list(range(len(self.shape)))
        order[a], order[b] = b, a
        return replace(
            self,
            shape=tuple(self.shape[dim] for dim in order),
            strides=tuple(self.strides[dim] for dim in order),
        )

    def slice(self, dim, first, stop, step=1):
        """Keep elements first, first + step, ... before stop of a dimension."""
        shape, strides = list(self.shape), list(self.strides)
        shape[dim] = len(range(first, stop, step))
        strides[dim] *= step
        start = self.start + first * self.strides[dim]
        return Strided(self.storage, tuple(shape), tuple(strides), start)

    def expand(self, *shape):
        """Repeat dimensions of size 1, and add new ones on the left."""
        strides = tuple(expanded(self.shape, self.strides, shape))
        return replace(self, shape=shape, strides=strides)

    def flatten(self):
        """Return a tensor of one dimension: a view if possible."""
        shape, strides = merge(self.shape, self.strides)
        if len(shape) < 2:  # none at all is left of a single element
            return replace(self, shape=shape or (1,), strides=strides or (1,))
        whole = self.contiguous()
        return replace(whole, shape=(whole.storage.size,), strides=(1,))

    def contiguous(self):
        """Copy the elements, row by row, into a storage of their own."""
        out = cuda.to_device(np.zeros(math.prod(self.shape), np.float32))
        storage = cuda.to_device(self.storage)
        lengths = cuda.to_device(np.array(self.shape, np.int64))
        steps = cuda.to_device(np.array(self.strides, np.int64))
        launch = -(-out.size // 64), 64
        make_contiguous[launch](storage, lengths, steps, self.start, out)
        strides = strides_for(self.shape, range(len(self.shape)))
        return Strided(out.copy_to_host(), self.shape, tuple(strides))


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


# %% tags=["given"]
def torch_expanded(shape, strides, target):
    """Return the strides that PyTorch's expand gives."""
    return torch.empty_strided(shape, strides).expand(target).stride()


def random_targets(rng):
    """Return shapes with strides, and the shapes to expand them to."""
    cases = [((4,), (1,), (3, 4)), ((3, 1), (4, 1), (3, 4)), ((), (), (2, 3))]
    cases += [((2, 3), (3, 1), (2, 3)), ((3, 1), (1, 3), (5, 3, 2))]
    for _ in range(12):
        target = rng.integers(2, 6, rng.integers(1, 5)).tolist()
        shape = target[int(rng.integers(0, len(target))) :]
        shape = [1 if rng.random() < 0.4 else size for size in shape]
        order = rng.permutation(len(shape)).tolist()
        stored = torch.empty([shape[dim] for dim in order])
        view = stored.permute([order.index(dim) for dim in range(len(shape))])
        cases.append((tuple(shape), view.stride(), tuple(target)))
    return cases


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
    spec=torch_expanded,
    inputs=random_targets,
    same=same_strides,
    without=("torch",),
)

# %% [markdown] tags=["solution"]
# Broadcasting is nothing but a stride of 0. Nothing is copied, and a kernel that reads
# with these strides needs no special case.
#
# There is one consequence to know. An expanded tensor has fewer numbers in memory than
# elements, so writing to it in place is ambiguous, and PyTorch refuses when it notices:

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
# When is `x.reshape(-1)` free? It is free when one stride is enough to walk through all
# elements. More generally, two neighbouring dimensions can be **merged** into one if a
# step along the left one moves exactly as far as walking off the end of the right one.
#
# In shape (3, 4) with strides (4, 1), a step along the left dimension moves by 4
# elements, and the right dimension is 4 elements of stride 1 long: merged, they become
# shape (12,) with stride (1,). In the transpose, shape (4, 3) with strides (1, 4), a
# step along the left dimension moves by 1, but the right dimension is 3 × 4 = 12 long.
# These two do not merge.
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
# The check's spec uses PyTorch: it flattens two neighbours for as long as `view`, which
# never copies, allows it. Stuck? `hint("merge")`.


# %% tags=["given"]
def torch_merged(shape, strides):
    """Merge neighbours for as long as PyTorch can do it in a view."""
    x = torch.empty_strided(shape, strides).squeeze()
    dim = 0
    while dim + 1 < x.dim():
        try:
            x = x.view(*x.shape[:dim], -1, *x.shape[dim + 2 :])
        except RuntimeError:
            dim += 1
    return tuple(x.shape), x.stride()


def random_views(rng):
    """Return the shapes and strides of views of all kinds."""
    cases = [((2, 3, 4), (12, 4, 1)), ((4, 3), (1, 4)), ((2, 3, 2), (12, 4, 1))]
    cases += [((2, 1, 3), (3, 99, 1)), ((2, 3, 4, 5), (60, 1, 15, 3))]
    cases += [((5, 3, 4), (0, 4, 1)), ((3, 4), (0, 0)), ((1, 1), (7, 7))]
    cases += [((6,), (2,)), ((4, 1, 3), (3, 50, 1))]
    for _ in range(12):
        rank = int(rng.integers(2, 6))
        x = torch.empty(rng.integers(1, 5, rank).tolist())
        if rng.random() < 0.6:
            x = x.transpose(*rng.integers(0, rank, 2).tolist())
        if rng.random() < 0.6:
            dim = int(rng.integers(0, rank))
            x = x.narrow(dim, 0, max(1, x.shape[dim] - 1))
        cases.append((tuple(x.shape), x.stride()))
    return cases


def same_runs(got, wanted):
    """Return "" for the right shape and strides, or else what is wrong."""
    try:
        shape, strides = ([int(n) for n in part] for part in got)
    except (TypeError, ValueError):
        return "Return two tuples: the merged shape, and its strides."
    if (tuple(shape), tuple(strides)) == wanted:
        return ""
    if len(shape) != len(strides):
        return f"That is {len(shape)} sizes but {len(strides)} strides."
    if math.prod(shape) != math.prod(wanted[0]):
        return (
            f"A shape of {tuple(shape)} has {math.prod(shape)} elements; the "
            f"view has {math.prod(wanted[0])}."
        )
    if len(shape) > len(wanted[0]):
        return f"It merges further, to {len(wanted[0])} of these dimensions."
    if len(shape) < len(wanted[0]):
        return (
            f"That merges too much: it takes {len(wanted[0])} strides to reach "
            "every element of this view."
        )
    return f"Shape {tuple(shape)} is right, but these strides lead elsewhere."


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
    spec=torch_merged,
    inputs=random_views,
    same=same_runs,
    without=("torch",),
)

# %% [markdown] tags=["solution"]
# The merged dimension takes the stride of its right half, because that half is the
# faster one. The comparison is with the **latest** merged dimension, not with the
# original neighbour.
#
# You have just written the test that decides whether `reshape` copies: a new shape is
# free if each of its dimensions can be cut out of one merged dimension, and impossible
# without a copy if any of them would have to straddle two. You have also written a step
# of every elementwise operation in PyTorch: `TensorIterator` merges the dimensions of
# all operands in the same way before it launches a kernel, because every dimension
# costs the kernel a division.

# %% [markdown]
# ## 4 · View or copy?
#
# Which of these lines copy? `x` is a contiguous float32 tensor of shape (4, 6). Answer
# `"view"` if the result uses the storage of `x` (being `x` itself counts), and `"copy"`
# if it has its own storage.
#
# There is no list to learn by heart. Ask of each line: do an offset and one stride per
# dimension lead to the right elements? PyTorch's strides are never negative. If you are
# unsure, print `merge` of the shape and strides.
#
# ```python
# copies(line)    # "x.t()" -> "view" or "copy"
# ```
#
# Stuck? `hint("copies")`.


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
# `reshape` is the treacherous one: the same call may or may not copy, depending on
# strides that you do not see. `view` never copies. Use it where a copy would be a
# mistake, and you get an error instead of a slow program.

# %% [markdown]
# ## Look: what PyTorch does
#
# You need not take the check's word for what copies. Below the layer that records
# gradients, every operation passes a point where Python can listen in: a
# `TorchDispatchMode`. The mode below prints the operations that arrive there, and
# reports whether the result shares the storage of an argument.


# %%
class Watch(TorchDispatchMode):
    """Prints each operation that arrives, and whether it made a new storage."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            given = [arg for arg in args if isinstance(arg, torch.Tensor)]
            storages = {arg.untyped_storage().data_ptr() for arg in given}
            shared = out.untyped_storage().data_ptr() in storages
            print(f"   {function!s:28}", "shares" if shared else "new storage")
        return out


x, w = torch.randn(4, 6), torch.randn(5, 6)
lines = {
    "x[:2].reshape(12)": lambda: x[:2].reshape(12),
    "x.t().reshape(24)": lambda: x.t().reshape(24),
    "linear(x, w)": lambda: torch.nn.functional.linear(x, w),
    "x += 1": lambda: x.add_(1),
}
for name, line in lines.items():
    print(name)
    with Watch():
        line()

# %% [markdown] tags=["solution"]
# `reshape` and `linear` never arrive. They are **composite**: they are written in terms
# of other operations, and only these reach this layer. What remains of `reshape` is a
# view if that is possible, and otherwise a `clone` and a view of the clone.

# %% [markdown]
# ## 5 · Contiguous, by a kernel
#
# Sometimes a copy is what you want. Write the kernel that makes any view contiguous.
# Thread `i` writes element `i` of `out`, which is filled row by row. So the thread has
# to find out where that element is in the storage.
#
# The element's index comes out of `i` one dimension at a time, the fastest first. In
# shape (2, 3, 4), element 17 has the index (1, 1, 1):
#
# - 17 % 4 = **1** is the index along the last dimension, and 17 // 4 = 4 is left;
# - 4 % 3 = **1** is the index along the middle dimension, and 4 // 3 = 1 is left;
# - 1 % 2 = **1** is the index along the first dimension.
#
# Each index moves the position on by index × stride. `shape` and `strides` are arrays
# with one number per dimension, and `shape.size` is the number of dimensions.
#
# ```python
# make_contiguous(storage, shape, strides, start, out)
#     # storage (s,), out (n,) float32; shape, strides (d,) int64; start int
# ```
#
# The views of the check are transposed, sliced with steps, and broadcast. Their storage
# contains 0, 10, 20, …, so the verdict on a wrong value can say where you read it.
# Stuck? `hint("make_contiguous")`.


# %% tags=["given"]
def scattered(rng, *sizes):
    """Return a storage and a random view of it, which starts inside it.

    sizes: the view's shape; ones on the left are left out.
    """
    shape = list(itertools.dropwhile(lambda size: size == 1, sizes))
    strides, size = [0] * len(shape), 1
    repeated = int(rng.integers(0, len(shape))) if len(shape) > 2 else -1
    for dim in rng.permutation(len(shape)).tolist():
        if dim != repeated:
            step = int(rng.integers(1, 3))
            strides[dim] = size * step
            size *= shape[dim] * step
    start = int(rng.integers(1, 9))
    numbers = 10 * (np.arange(start + size) % 1999)
    storage = numbers.astype(np.float32)
    return storage, np.array(shape), np.array(strides), start


def elements(storage, shape, strides, start):
    """Return the elements of a view, row by row, with NumPy."""
    steps = strides * storage.itemsize
    view = np.lib.stride_tricks.as_strided(storage[start:], shape, steps)
    return view.ravel()


def read_from(index, got, wanted):
    """Return which elements of the storage the two values are."""
    source = "which is not in the storage"
    if 0 <= got < 19_990 and got % 10 == 0:
        source = f"from storage[{got / 10:g}]"
    belongs = f"storage[{wanted / 10:g}]"
    return f"out[{index}] is {got:g}, {source}, and should be {belongs}."


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
    spec=elements,
    inputs=scattered,
    sizes=[(1, 1, 4, 6), (1, 1, 1, 70), (1, 3, 1, 5), (2, 3, 4, 5)],
    launch=lambda *sizes: (-(-math.prod(sizes) // 64), 64),
    full=(50, 60, 7, 80),
    limits={"float64": 0},
    describe={"out": read_from},
)

# %% [markdown] tags=["solution"]
# The writes are coalesced, whatever the view. The reads are coalesced only if the
# view's last dimension has stride 1. And each dimension costs a division and a
# remainder of 64-bit integers, for which a GPU has no instruction: the compiler emits a
# routine of dozens of instructions instead. Keep that in mind for the measurement.

# %% [markdown]
# ## Your tensor against PyTorch
#
# Now put the parts together. The cell below makes random tensors, applies the same
# random chain of operations to your tensor and to PyTorch's, and compares the two after
# every step: the shape, the elements, and whether the storage is still the original
# one. The cell stops at the first difference. Tests of this kind are called
# **property-based**: they state what must hold for every input, and let a generator
# look for an input that breaks it.


# %%
def random_step(rng, mine, theirs):
    """Apply one random operation to both; return them, and its name."""
    rank = len(mine.shape)
    dim, other = (int(n) for n in rng.integers(0, rank, 2))
    kind = rng.choice(["transpose", "slice", "expand", "flatten"])
    if kind == "transpose":
        return mine.transpose(dim, other), theirs.transpose(dim, other), kind
    if kind == "slice":
        first = int(rng.integers(0, mine.shape[dim]))
        index = [slice(None)] * rank
        index[dim] = slice(first, mine.shape[dim], 2)
        sliced = mine.slice(dim, first, mine.shape[dim], 2)
        return sliced, theirs[tuple(index)], kind
    if kind == "expand":
        shape = tuple(3 if size == 1 else size for size in mine.shape)
        shape = (2, *shape) if rank < 4 else shape
        return mine.expand(*shape), theirs.expand(shape), kind
    return mine.flatten(), theirs.flatten(), kind


def first_difference(rng):
    """Return where a random chain differs from PyTorch's, "" for nowhere."""
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)).tolist())
    theirs = torch.rand(shape)
    base, pointer = theirs, theirs.untyped_storage().data_ptr()
    mine = Strided(theirs.numpy().ravel(), shape, theirs.stride())
    storage, chain = mine.storage, [str(shape)]
    for _ in range(int(rng.integers(1, 6))):
        mine, theirs, kind = random_step(rng, mine, theirs)
        chain.append(str(kind))
        same = mine.shape == tuple(theirs.shape)
        same = same and mine.numbers() == theirs.flatten().tolist()
        viewed = theirs.untyped_storage().data_ptr() == pointer
        if not same or viewed != (mine.storage is storage):
            return " -> ".join(chain)
    assert base.numel() == math.prod(shape)  # keeps the first storage alive
    return ""


def agree(chains):
    """Compare random chains with PyTorch, and print what came of it."""
    rng = np.random.default_rng(30)
    for count in range(chains):
        try:
            where = first_difference(rng)
        except TypeError:  # a function that returns nothing yet
            print("Solve exercises 1, 2, 3 and 5 first.")
            return
        if where:
            print(f"chain {count + 1} differs: {where}")
            return
    print(f"{chains} random chains agree with PyTorch")


agree(100)

# %% [markdown]
# ## Measure: making a view contiguous
#
# A batch of 64 images with 64 channels of 128 × 128 pixels, 268 MB of float32, goes
# from row-major to channels-last. `copy` moves as many bytes and reorders nothing.
#
# - `torch` is PyTorch's `permute(0, 2, 3, 1).contiguous()`.
# - `4 dimensions` is your kernel on the shape (64, 128, 128, 64).
# - `3 dimensions` is your kernel on the merged shape (64, 16384, 64).
# - `32-bit` is the kernel below, on the same merged shape. It computes with unsigned
#   integers of 32 bits, with one division per dimension and no remainder.
#
# How much does it help to save a dimension, and how much do cheaper divisions help?
# Fill in your guesses, as multiples of PyTorch's speed.


# %%
@cuda.jit
def make_contiguous32(storage, shape, strides, start, out):
    """make_contiguous, counting in 32 bits."""
    i = cuda.grid(1)

    if i < out.size:
        at = int32(start)
        left = uint32(i)
        for step in range(shape.size):
            dim = shape.size - 1 - step
            size = uint32(shape[dim])
            quotient = uint32(left // size)
            index = int32(left - quotient * size)
            at = int32(at + index * strides[dim])
            left = quotient
        out[i] = storage[at]


guess = {"4 dimensions": None, "3 dimensions": None, "32-bit": None}

IMAGES, CHANNELS, SIDE = 64, 64, 128


def rearrangements():
    """Return the ways from row-major to channels-last."""
    images = torch.rand(IMAGES, CHANNELS, SIDE, SIDE, device="cuda")
    same, out = torch.empty_like(images), torch.empty_like(images)
    view = images.permute(0, 2, 3, 1)
    flat, d_out = (cuda.as_cuda_array(t.view(-1)) for t in (images, out))
    launch = out.numel() // 256, 256

    def ours(kernel, view, dtype):
        recipe = [
            cuda.as_cuda_array(torch.tensor(part, dtype=dtype, device="cuda"))
            for part in (view.shape, view.stride())
        ]
        return lambda: kernel[launch](flat, *recipe, 0, d_out)

    merged = view.flatten(1, 2)
    return {
        "copy": lambda: same.copy_(images),
        "torch": lambda: view.contiguous(),
        "4 dimensions": ours(make_contiguous, view, torch.int64),
        "3 dimensions": ours(make_contiguous, merged, torch.int64),
        "32-bit": ours(make_contiguous32, merged, torch.int32),
    }


channels_last = bench.compare(
    "to channels-last",
    rearrangements,
    baseline="torch",
    bytes=2 * 4 * IMAGES * CHANNELS * SIDE * SIDE,
    ceiling="copy",
    guess=guess,
)
channels_last

# %% tags=["solution"]
channels_last.expect("copy", at_least=1.3, times="torch")
channels_last.expect("3 dimensions", at_least=1.0, times="4 dimensions")
channels_last.expect("32-bit", at_least=1.0, times="3 dimensions")

# %% [markdown] tags=["solution"]
# All these kernels move the same bytes and write along rows. What differs is how much a
# thread has to compute before it knows where to read. PyTorch's kernel for strided
# copies applies the same ideas thoroughly: dimensions are merged, indices have 32 bits,
# and every division is replaced by a multiplication by a number computed beforehand.
#
# None of them comes near the copy. They read down columns, and a kernel like the
# transpose of chapter 13, with a tile in shared memory, would probably do better.

# %% [markdown]
# ## Measure: what a layout costs
#
# Most of the time, you need no contiguous tensor, because elementwise operations accept
# any strides. But how fast are they? Each row adds two matrices of 8192 × 8192, with
# the result in whatever layout PyTorch chooses:
#
# - `row-major`: both as they were made;
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


def additions():
    n = 8192
    x, y = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
    wide_x = torch.rand(n, 2 * n, device="cuda")
    wide_y = torch.rand(n, 2 * n, device="cuda")
    return {
        "row-major": lambda: x + y,
        "both transposed": lambda: x.t() + y.t(),
        "one transposed": lambda: x + y.t(),
        "a row, broadcast": lambda: x + y[0],
        "every second column": lambda: wide_x[:, ::2] + wide_y[:, ::2],
    }


layouts = bench.compare(
    "x + y, 8192 x 8192", additions, baseline="row-major", guess=guess
)
layouts

# %% tags=["solution"]
layouts.expect("both transposed", at_least=0.9, times="row-major")
layouts.expect("row-major", at_least=1.5, times="one transposed")
layouts.expect("a row, broadcast", at_least=0.8, at_most=1.5, times="row-major")
layouts.expect("row-major", at_least=1.2, times="every second column")

# %% [markdown] tags=["solution"]
# Two transposed matrices are added as fast as two that are not transposed.
# `TensorIterator` sorts the dimensions by stride, merges them, and finds one long run
# of neighbours; it also gives the result the same strides. That is how channels-last
# spreads through a network by itself. Only operands that **disagree** are slow, because
# then no order of the elements is good for both.
#
# The broadcast row saves a third of the bytes: it is read from memory once, and then
# from the cache. On an H200 this saves no time, probably because PyTorch's fast kernel,
# which moves several elements per load, is for contiguous operands only; with a stride
# of 0 among the operands, an offset is computed for each element. Slices with a step
# waste bytes, because memory delivers whole sectors of 32 bytes, half of which are not
# needed.

# %%
x, y = torch.empty(2, 3, 4, 5), torch.empty(2, 3, 4, 5)
last = x.to(memory_format=torch.channels_last)
print("last + last ", (last + last).stride())
print("last + y    ", (last + y).stride())
print("y + last    ", (y + last).stride())

# %% [markdown]
# ## From torch.add to a kernel
#
# How does `torch.add` find its kernel? There are many kernels to choose from: for CPUs,
# for GPUs, for sparse tensors. And before any of them runs, autograd may have to record
# the operation, autocast may have to convert its arguments, and so on. All of this is
# decided by one mechanism, the **dispatcher**.
#
# All operators are described in one file, `native_functions.yaml`, which is installed
# along with PyTorch. Here is the entry for addition with an output. It names no
# function for CPUs or GPUs, because these functions are generated from
# `ufunc_inner_loop`.

# %%
entries = Path(torchgen.__file__).parent / "packaged/ATen/native"
text = (entries / "native_functions.yaml").read_text()
entry = re.search(r"- func: add\.out\(.*?\n\n", text, re.DOTALL)
print(entry[0])

# %% [markdown]
# For each operator, the dispatcher keeps a table with one row per **dispatch key**. The
# kernel to run is in the row of one of these keys. Here are some rows for
# `aten::add.Tensor`, with the source file of each kernel. *Fallthrough* means that the
# key has nothing to do for this operator.

# %%
DEVICE = "cuda" if weft.GPU else "cpu"
KEY = DEVICE.upper()


def rows(operator, *keys):
    """Print the rows of an operator's dispatch table."""
    table = torch._C._dispatch_dump_table(operator)
    for key in keys:
        row = re.search(rf"^{key}: (.*)$", table, re.MULTILINE)[1]
        kind = "fallthrough, " if row.startswith("fallthrough") else ""
        source = re.search(r"/pytorch/(?:pytorch/)?(\S+?):\d+", row)
        print(f"{key:17}{kind}{source[1] if source else row}")


rows(
    "aten::add.Tensor",
    *(f"Autocast{KEY}", f"Autograd{KEY}", "ADInplaceOrView", KEY),
)

# %% [markdown]
# Which key decides? Every tensor carries a set of keys. The thread has two sets as
# well: keys to include and keys to exclude.

# %%
t = torch.ones(3, device=DEVICE)
with torch.inference_mode():
    made = torch.ones(3, device=DEVICE)
kinds = {
    "a tensor": t,
    "a lazy conjugate": torch.ones(3, dtype=torch.cfloat, device=DEVICE).conj(),
    "made for inference": made,
}
for name, each in kinds.items():
    print(f"{name:20}{torch._C._dispatch_keys(each)}")

excluded = torch._C._dispatch_tls_local_exclude_set()
autocast = torch._C._parse_dispatch_key(f"Autocast{KEY}")
print(f"{'this thread adds':20}{torch._C._dispatch_tls_local_include_set()}")
print(f"and excludes Autocast{KEY}: {excluded.has(autocast)}")

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
# `n.bit_length()` is the number of bits that `n` needs: 1 for 1, 3 for 4.
#
# ```python
# dispatch_key(arguments, included, excluded, kernels)
#     # a list of key sets, and three more of them -> the number of a key
# ```
#
# Stuck? `hint("dispatch_key")`.

# %% tags=["given"]
KEYS = (  # from the lowest to the highest
    *("CPU", "CUDA", "Meta", "Python", "Conjugate", "ADInplaceOrView"),
    *("AutogradCPU", "AutogradCUDA", "AutocastCPU", "AutocastCUDA"),
)


class Keys(int):
    """A set of dispatch keys: an integer with a bit for each, shown by name."""

    def __repr__(self):
        names = [key for n, key in enumerate(KEYS) if self >> n & 1]
        return "{" + ", ".join(names) + "}"


def keys(*names):
    """Return a set of keys, given by name."""
    return Keys(sum(1 << KEYS.index(name) for name in names))


TENSORS = {
    "cpu": keys("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"),
    "cuda": keys("CUDA", "ADInplaceOrView", "AutogradCUDA", "AutocastCUDA"),
    "meta": keys("Meta", "ADInplaceOrView"),
    "conj": keys("CPU", "Conjugate", "ADInplaceOrView", "AutogradCPU"),
    "inference": keys("CUDA", "AutocastCUDA"),
}
AUTOCAST = keys("AutocastCPU", "AutocastCUDA")
AUTOGRAD = keys("AutogradCPU", "AutogradCUDA")
VIEW = keys("ADInplaceOrView")
PYTHON = keys("Python")
BACKENDS = keys("CPU", "CUDA", "Meta", "Python", "Conjugate")
ADD = Keys(BACKENDS | AUTOGRAD)  # where torch.add has a kernel
MATMUL = Keys(ADD | AUTOCAST)
IN_PLACE = Keys(ADD | VIEW)


def calls(rng):
    """Return calls as the dispatcher sees them, some real and some random."""
    cpu, gpu, meta, conj, inference = TENSORS.values()
    cases = [
        ([gpu, gpu], VIEW, AUTOCAST, ADD),
        ([gpu, cpu], VIEW, AUTOCAST, ADD),
        ([conj], VIEW, Keys(AUTOCAST | AUTOGRAD), ADD),
        ([meta], VIEW, AUTOCAST, ADD),
        ([gpu], Keys(0), Keys(AUTOCAST | AUTOGRAD | VIEW), IN_PLACE),
        ([inference], VIEW, AUTOCAST, IN_PLACE),
        ([cpu], VIEW, AUTOCAST, MATMUL),
        ([cpu], VIEW, keys("AutocastCUDA"), MATMUL),
        ([gpu], Keys(VIEW | PYTHON), Keys(AUTOCAST | AUTOGRAD), ADD),
        ([gpu], AUTOCAST, AUTOCAST, MATMUL),
        ([cpu], Keys(0), Keys(0), keys("CUDA", "AutogradCUDA")),
    ]
    for _ in range(12):
        sets = [Keys(int(n)) for n in rng.integers(0, 1 << len(KEYS), 5)]
        cases.append((sets[:2], *sets[2:]))
    return cases


def by_sets(arguments, included, excluded, kernels):
    """Return the key to dispatch to, found with sets of Python."""

    def members(bits):
        return {number for number in range(len(KEYS)) if bits >> number & 1}

    left = members(included).union(*map(members, arguments)) - members(excluded)
    return max(left & members(kernels), default=-1)


def why_not(arguments, included, excluded, kernels, got):
    """Return why a key is not the one to dispatch to."""
    if got == -1:
        return "-1 says that no key is left, but at least one is."
    if not 0 <= got < len(KEYS):
        return f"The keys are numbered 0 to {len(KEYS) - 1}."
    name, bit = KEYS[got], 1 << int(got)
    offered = Keys(included)
    for each in arguments:
        offered = Keys(offered | each)
    if not offered & bit:
        return f"Number {got} is {name}: no argument has it, nor the thread."
    if excluded & bit:
        return f"Number {got} is {name}, which this thread excludes."
    if not kernels & bit:
        return f"Number {got} is {name}, where the operator has no kernel."
    return f"Number {got} is {name}. A key of higher priority is left as well."


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
check(dispatch_key, spec=by_sets, inputs=calls, because=why_not)

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
def trail(call):
    """Define an operator, call it, and return the keys whose kernels ran."""
    ran = []

    def layer(key):
        number = torch._C._parse_dispatch_key(key)
        below = torch._C._dispatch_keyset_full_after(number)

        def kernel(keyset, x):
            ran.append(key)
            return operator.redispatch(keyset & below, x)

        return kernel

    def last(keyset, x):
        ran.append(KEY)
        return x + x

    with torch.library._scoped_library("weft30", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        operator = torch.ops.weft30.twice.default
        for key in (f"Autocast{KEY}", f"Autograd{KEY}", "ADInplaceOrView"):
            library.impl("twice", layer(key), key, with_keyset=True)
        library.impl("twice", last, KEY, with_keyset=True)
        call(operator)
    return ran


contexts = {
    "plainly": contextlib.nullcontext,
    "with no_grad": torch.no_grad,
    "with inference_mode": torch.inference_mode,
    "with autocast": lambda: torch.autocast(DEVICE),
}
for name, context in contexts.items():
    with context():
        print(f"{name:20}", *trail(lambda operator: operator(t)))
print(f"{'made for inference':20}", *trail(lambda operator: operator(made)))

# %% [markdown] tags=["solution"]
# `no_grad` changes nothing on this path. Autograd's kernel still runs, sees that
# nothing is to be recorded, and passes the call on. `inference_mode` excludes the keys
# of autograd, so the kernel is not called at all. And a tensor *made* in inference mode
# does not even carry these keys. In return, autograd refuses to save such a tensor for
# a backward pass.

# %% [markdown]
# ## Look: the profiler's view
#
# The profiler lists the operators that were called, and shows which operator called
# which. With `with_stack=True`, it also records the Python functions above them. On a
# GPU, it adds the kernels that each operator launched.


# %%
def called(function):
    """Print the operators that a function calls, and their kernels."""
    from torch.profiler import ProfilerActivity, profile

    what = [ProfilerActivity.CPU]
    if weft.GPU:
        what.append(ProfilerActivity.CUDA)
    function()  # warm
    with profile(activities=what, with_stack=True, acc_events=True) as seen:
        function()
        if weft.GPU:
            torch.cuda.synchronize()
    for event in seen.events():
        if not event.name.startswith("aten::"):
            continue
        above, parent = [], event.cpu_parent
        while parent is not None:
            above.append(parent.name)
            parent = parent.cpu_parent
        depth = sum(name.startswith("aten::") for name in above)
        python = re.match(r"<built-in \w+ \w+", above[0]) if above else None
        note = f"   from {python[0]}>" if python else ""
        print("  " * depth + event.name + note)
        for kernel in getattr(event, "kernels", ()):
            print("  " * depth + f"  [{kernel.name[:60]}]")


a, w = torch.randn(64, 32, device=DEVICE), torch.randn(16, 32, device=DEVICE)
print("- a + a")
called(lambda: torch.add(a, a))
print("- a.t().reshape(-1)")
called(lambda: a.t().reshape(-1))
print("- linear(a, w)")
called(lambda: torch.nn.functional.linear(a, w))

# %% [markdown] tags=["solution"]
# Here the composite operators show up as well, since the profiler observes calls at the
# entrance and not below autograd. `a.t()` calls `aten::t`, then `aten::transpose`, then
# `aten::as_strided`, which is where the new strides are finally set.

# %% [markdown]
# ## Measure: what a call costs
#
# The GPU has next to nothing to do for one number, so what remains is the host's work:
# Python, the dispatcher, autograd, the allocator and the launch. Each row makes 100
# calls and includes the host's time. Which row is the fastest, and how much does a
# dispatch mode in Python cost?


# %%
class Silent(TorchDispatchMode):
    """Passes every operation on."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


guess = {"requires grad": None, "a view": None, "dispatch mode": None}


def hundred_calls():
    a, b, c = (torch.ones(1, device="cuda") for _ in range(3))
    leaf = torch.ones(1, device="cuda", requires_grad=True)

    def hundred(call, context=contextlib.nullcontext):
        def run():
            with context():
                for _ in range(100):
                    call()

        return run

    def add():
        torch.add(a, b)

    return {
        "torch.add": hundred(add),
        "with out=": hundred(lambda: torch.add(a, b, out=c)),
        "requires grad": hundred(lambda: torch.add(leaf, b)),
        "no_grad": hundred(lambda: torch.add(leaf, b), torch.no_grad),
        "inference_mode": hundred(add, torch.inference_mode),
        "a view": hundred(lambda: a.view(1)),
        "dispatch mode": hundred(add, Silent),
    }


overhead = bench.compare(
    "100 calls, one number",
    hundred_calls,
    baseline="torch.add",
    guess=guess,
    host=True,
)
overhead

# %% tags=["solution"]
overhead.expect("torch.add", at_least=1.0, times="requires grad")
overhead.expect("a view", at_least=1.5, times="torch.add")
overhead.expect("torch.add", at_least=1.5, times="dispatch mode")

# %% [markdown] tags=["solution"]
# A view pays for Python, the dispatcher and the bookkeeping of views, but for no
# allocation and no launch. Recording for a gradient adds the cost of a node of the
# graph. The dispatch mode returns to Python for every operation, which is fine for
# inspection but not for production.

# %% [markdown]
# ## If you want more
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
#   *composite* appear, and what does that say about gradients?
#
# ## What you learned
#
# 1. A tensor is a storage, an offset, a shape and strides. Transposing, slicing,
#    expanding and channels-last change only the recipe.
# 2. An operation is free if its result can be described by an offset and one stride per
#    dimension. `reshape` copies if a new dimension would straddle two merged
#    dimensions.
# 3. Elementwise operations sort and merge dimensions before they launch. Operands with
#    the same order of strides are fast in any layout; operands with different orders
#    are not.
# 4. The dispatcher takes the union of key sets, masks it, and runs the kernel of the
#    highest key. Autograd has such a kernel, which redispatches.
# 5. You can watch all of this on a release build, with the operator's table, a dispatch
#    mode, the profiler, and your own operator.

# %%
quiz()
