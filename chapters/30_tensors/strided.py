"""A small strided tensor, and random tests of it against PyTorch.

Its last three methods rely on functions that a learner writes; `use` takes them.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numba import cuda


def use(*parts):
    """Take strides_for, expanded, merge and make_contiguous, in this order."""
    global strides_for, expanded, merge, make_contiguous
    strides_for, expanded, merge, make_contiguous = parts


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
