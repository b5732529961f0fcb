"""Specifications and data for the checks of lab 30."""

import itertools
import math
from numbers import Integral

import numpy as np
import torch


def torch_strides(shape, order):
    """Return what is asked, and the strides PyTorch gives to such a tensor."""
    stored = torch.empty([shape[dim] for dim in order])
    back = [order.index(dim) for dim in range(len(shape))]
    strides = stored.permute(back).stride()
    return {"shape": shape, "order": order, "strides": strides}


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
    """Return "" for the right strides, or else what is wrong with them.

    wanted: a result of `torch_strides` or `torch_expanded`.
    """
    strides, ordered = list(wanted["strides"]), "order" in wanted
    got = got.tolist() if hasattr(got, "tolist") else got
    if not isinstance(got, tuple | list) or len(got) != len(strides):
        many = "1 stride" if len(strides) == 1 else f"{len(strides)} strides"
        whose = "shape" if ordered else "target"
        return f"Return a tuple of {many}, one per dimension of the {whose}."
    if any(isinstance(step, float) for step in got):
        return "Strides count elements, so they are integers: divide with `//`."
    if not all(isinstance(step, Integral) for step in got):
        return "Strides count elements, so they are integers."
    got = [int(step) for step in got]
    if got == strides:
        return ""
    return wrong_for_order(got, **wanted) if ordered else wrong_for(got, **wanted)


def fill(strides, shape, order):
    """Return whether these are the strides of a tensor stored in this order."""
    step = 1
    for dim in reversed(order):
        if strides[dim] != step:
            return False
        step *= shape[dim]
    return True


def wrong_for_order(got, shape, order, strides):
    """Return what is wrong with the strides of a tensor stored in an order."""
    shape, order, strides = list(shape), list(order), list(strides)
    fastest, rows = order[-1], list(range(len(shape)))
    if got == [4 * step for step in strides]:
        return "Each of them is 4 times too large: strides count elements, not bytes."
    if got == [size * step for size, step in zip(shape, strides, strict=True)]:
        return (
            "Each of them includes the size of its own dimension. Dimension "
            f"{fastest} is the last in `order`, so it is the fastest: one step along "
            f"it moves by 1 and not by {got[fastest]}."
        )
    if fill(got, shape, rows):
        return (
            "These are the strides of a row-major tensor. In this order, dimension "
            f"{fastest} comes last, so it is the fastest, and not dimension {rows[-1]}."
        )
    if fill(got, shape, order[::-1]):
        return (
            f"Dimension {order[0]} comes first in `order`, so it is the slowest. "
            f"Here it has the stride of the fastest, {got[order[0]]}."
        )
    if got == [strides[dim] for dim in order]:
        return (
            "These are the right numbers, from the slowest dimension to the fastest. "
            "The stride at position d belongs to dimension d of the shape."
        )
    if sorted(got) == sorted(strides):
        return (
            "These are the right numbers in the wrong places: the stride at "
            "position d belongs to dimension d of the shape."
        )
    place = max(k for k, dim in enumerate(order) if got[dim] != strides[dim])
    return wrong_step(got[order[place]], shape, order[place], order[place + 1 :])


def wrong_step(step, shape, dim, faster):
    """Return why one step along a dimension moves by another number of elements.

    faster: the dimensions after it in the order.
    """
    if not faster:
        return (
            f"Dimension {dim} is the last in `order`, so it is the fastest: one step "
            f"along it moves by 1 and not by {step}."
        )
    sizes = [shape[each] for each in faster]
    if len(faster) == 1:
        whole = f"Dimension {faster[0]}, of {sizes[0]} elements, is"
    else:
        names = ", ".join(map(str, faster[:-1])) + f" and {faster[-1]}"
        product = " × ".join(map(str, sizes)) + f" = {math.prod(sizes)}"
        whole = f"Dimensions {names}, together {product} elements, are"
    said = f"{whole} faster than dimension {dim}: one step along it passes all of them."
    if len(sizes) > 1 and step == sizes[0]:
        return f"{said} {step} is the size of dimension {faster[0]} alone."
    return f"{said} A stride of {step} does not."


def torch_expanded(shape, strides, target):
    """Return what is asked, and the strides that PyTorch's expand gives."""
    wide = torch.empty_strided(shape, strides).expand(target).stride()
    return {"shape": shape, "own": strides, "target": target, "strides": wide}


def wrong_for(got, shape, own, target, strides):
    """Return what is wrong with the strides of a view that is broadcast."""
    if got == list(strides)[::-1]:
        return (
            "These are the right strides, from the last dimension to the first. The "
            "stride at position d belongs to dimension d of the target."
        )
    dim = next(d for d, step in enumerate(got) if step != strides[d])
    at = dim - (len(target) - len(shape))  # the dimension of the shape
    far = (
        "Every index along it must lead to the same element, so a stride of "
        f"{got[dim]} goes too far."
    )
    if at < 0:
        return (
            f"Aligned at the right ends, the shape has nothing at dimension {dim} of "
            f"the target. {far}"
        )
    where = f"Dimension {dim} of the shape"
    if at != dim:
        where = (
            f"Aligned at the right ends, dimension {at} of the shape is at dimension "
            f"{dim} of the target. It"
        )
    if shape[at] == 1:
        return f"{where} has size 1. {far}"
    if got[dim] == 0:
        return (
            f"{where} has size {shape[at]}, as in the target. Nothing is repeated "
            "there, but a stride of 0 would repeat one element."
        )
    return (
        f"{where} has size {shape[at]}, as in the target. Nothing changes there, but "
        f"the stride is {got[dim]} and no longer {own[at]}."
    )


def random_targets(rng):
    """Return shapes with strides, and the shapes to expand them to."""
    cases = [((3, 4), (4, 1), (2, 3, 4))]  # backwards is not aligned at the left
    cases += [((4,), (1,), (3, 4)), ((3, 1), (4, 1), (3, 4)), ((), (), (2, 3))]
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
    """Return a view, and what it is when PyTorch merges all neighbours it can."""
    x = torch.empty_strided(shape, strides).squeeze()
    dim = 0
    while dim + 1 < x.dim():
        try:
            x = x.view(*x.shape[:dim], -1, *x.shape[dim + 2 :])
        except RuntimeError:
            dim += 1
    return {"view": (shape, strides), "merged": (tuple(x.shape), x.stride())}


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
    """Return "" for the right shape and strides, or else what is wrong.

    wanted: a result of `torch_merged`.
    """
    try:
        shape, strides = ([int(n) for n in part] for part in got)
    except (TypeError, ValueError):
        return "Return two tuples: the merged shape, and its strides."
    merged = [list(part) for part in wanted["merged"]]
    if [shape, strides] == merged:
        return ""
    if len(shape) != len(strides):
        return f"That is {len(shape)} sizes but {len(strides)} strides."
    count = math.prod(merged[0])
    if math.prod(shape) != count or min(shape, default=1) < 1:
        return (
            f"A shape of {tuple(shape)} has {math.prod(shape)} elements; the "
            f"view has {count}."
        )
    if places(shape, strides) != places(*wanted["view"]):
        return leads_elsewhere(shape, strides, *wanted["view"])
    return merges_further(shape, strides, *wanted["view"])


def places(shape, strides):
    """Return where the elements of a view are in the storage, row by row."""
    found = [0]
    for size, step in zip(shape, strides, strict=True):
        found = [start + n * step for start in found for n in range(size)]
    return found


def made_of(sizes, shape):
    """Return for each size which neighbours of a shape it consists of.

    Dimensions of size 1 are left out. Returns an empty list if the sizes are not
    products of neighbours.
    """
    left = [dim for dim, size in enumerate(shape) if size > 1]
    groups = []
    for size in sizes:
        group, product = [], 1
        while left and product < size:
            group.append(left.pop(0))
            product *= shape[group[-1]]
        if product != size:
            return []
        groups.append(group)
    return groups


def leads_elsewhere(sizes, steps, shape, strides):
    """Return why merged sizes and steps lead to other elements than a view does."""
    groups = made_of(sizes, shape)
    for size, step, dims in zip(sizes, steps, groups, strict=False):
        for left, right in itertools.pairwise(dims):
            length = shape[right] * strides[right]
            if strides[left] != length:
                return (
                    f"Dimensions {left} and {right} of the view do not merge: a step "
                    f"along dimension {left} moves by {strides[left]}, and the length "
                    f"of dimension {right} is {shape[right]} × {strides[right]} = "
                    f"{length}."
                )
        if len(dims) > 1 and step != strides[dims[-1]]:
            names = ", ".join(map(str, dims[:-1])) + f" and {dims[-1]}"
            return (
                f"Merged, dimensions {names} of the view are {size} elements with "
                f"stride {strides[dims[-1]]}, that of dimension {dims[-1]}, and not "
                f"{step}."
            )
        if len(dims) == 1 and step != strides[dims[0]]:
            return (
                f"Dimension {dims[0]} of the view has stride {strides[dims[0]]}, and "
                f"no longer has it: here it is {step}."
            )
    return (
        f"No neighbours of the shape {tuple(shape)} merge into {tuple(sizes)}. The "
        "dimensions keep their order."
    )


def merges_further(sizes, steps, shape, strides):
    """Return which dimensions of a result, which leads to the right elements, merge."""
    if 1 in sizes:
        dim = sizes.index(1)
        return (
            f"Dimension {dim} of the result has size 1. Leave it out: its stride, "
            f"{steps[dim]}, is never multiplied by anything but 0."
        )
    groups = made_of(sizes, shape)
    for dim, step in enumerate(steps[:-1]):
        size, last = sizes[dim + 1], steps[dim + 1]
        if step != size * last:
            continue
        said = (
            f"Dimensions {dim} and {dim + 1} of the result merge: a step along the "
            f"left one moves by {step}, the whole length of the right one, {size} × "
            f"{last}."
        )
        left, right = groups[dim : dim + 2] if groups else ([0], [1])
        if len(left) > 1 or len(right) > 1:
            return f"{said} What has been merged can merge with its next neighbour."
        if right[0] - left[0] > 1:
            return (
                f"{said} What is between them in the view has size 1 and is left out, "
                f"so dimensions {left[0]} and {right[0]} of the view are neighbours."
            )
        return said
    return f"Shape {tuple(sizes)} is not that of the merged view."


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


def wrong_place(storage, shape, strides, start, out):
    """Return why an element was read from another place of the storage."""
    right = elements(storage, shape, strides, start)
    number = int(np.flatnonzero(out != right)[0])
    index = np.unravel_index(number, shape)
    index, shape, strides = (tuple(map(int, v)) for v in (index, shape, strides))
    said = (
        f"In shape {shape}, out[{number}] has the index {index}. The strides are "
        f"{strides}, and `start` is {start}."
    )
    columns = right.reshape(shape).ravel("F")
    if np.array_equal(out, columns):
        return (
            f"{said} The elements come in the order in which dimension 0 is the "
            "fastest. Row by row, the last dimension is."
        )
    parts = {f"of dimension {d}": n * strides[d] for d, n in enumerate(index)}
    parts = {"that `start` adds": int(start)} | parts
    lacks = (right[number] - out[number]) / 10
    fitting = [name for name, part in parts.items() if part == lacks != 0]
    if storage.size < 1999 and len(fitting) == 1:
        return f"{said} What is missing is exactly the part {fitting[0]}, {lacks:g}."
    return said


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
    if not isinstance(got, Integral):
        return "The number of a key is an integer."
    left = by_sets(arguments, included, excluded, kernels)
    if got == -1:
        return "-1 means that no key is left, but one is. " + why_left(
            arguments, included, excluded, kernels, left
        )
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
    return f"Number {got} is {name}, but a key of higher priority is left. " + why_left(
        arguments, included, excluded, kernels, left
    )


def why_left(arguments, included, excluded, kernels, left):
    """Return why this key, the highest of those left, is left."""
    bit = 1 << left
    having = [n for n, each in enumerate(arguments) if each & bit]
    named = f"Number {left} is {KEYS[left]}"
    if included & bit and not having:
        return f"{named}, which the thread includes."
    said = f"{named}, which argument {having[0]} has." if having else f"{named}."
    if not included & bit and len(having) < len(arguments):
        return f"{said} One argument is enough."
    offered = included
    for each in arguments:
        offered |= each
    above = (offered & ~excluded & ~kernels) >> (left + 1)
    if above:
        key = left + above.bit_length()
        return (
            f"{said} {KEYS[key]} has a higher priority, but no kernel: it is skipped."
        )
    return said
