"""Specifications and data for the checks of lab 30."""

import itertools
import math

import numpy as np
import torch


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
    got = got.tolist() if hasattr(got, "tolist") else got
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
        return "-1 means that no key is left, but at least one is."
    if not 0 <= got < len(KEYS):
        return f"The keys are numbered 0 to {len(KEYS) - 1}."
    name, bit = KEYS[got], 1 << int(got)
    offered = Keys(included)
    for each in arguments:
        offered = Keys(offered | each)
    if not offered & bit:
        return f"Number {got} is {name}, which neither an argument nor the thread has."
    if excluded & bit:
        return f"Number {got} is {name}, which this thread excludes."
    if not kernels & bit:
        return f"Number {got} is {name}, where the operator has no kernel."
    return f"Number {got} is {name}, but a key of higher priority is left."
