"""Functions of whole arrays."""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from weft.in_page.numpy import arrays
from weft.in_page.numpy.arrays import (
    as_shape,
    asarray,
    broadcast_shape,
    broadcast_to,
    ndarray,
    new,
    spread,
    steps,
)
from weft.in_page.numpy.elementwise import UFUNCS, lines_of
from weft.in_page.numpy.types import BOOL, FLOAT64, INT64, _dtype, result_type

# New arrays


def empty(shape: Any, dtype: Any = float, order: str = "C", **_: Any) -> Any:
    return ndarray(shape, dtype, order=order)


zeros = empty


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any
) -> Any:
    made = empty(shape, asarray(fill_value).dtype if dtype is None else dtype, order)
    made[...] = fill_value
    return made


def ones(shape: Any, dtype: Any = float, order: str = "C", **_: Any) -> Any:
    return full(shape, 1, dtype, order)


def empty_like(a: Any, dtype: Any = None, **_: Any) -> Any:
    given = asarray(a)
    order = "C" if given.flags.c_contiguous or not given.flags.f_contiguous else "F"
    return empty(given.shape, given.dtype if dtype is None else dtype, order)


zeros_like = empty_like


def full_like(a: Any, fill_value: Any, dtype: Any = None, **_: Any) -> Any:
    made = empty_like(a, dtype)
    made[...] = fill_value
    return made


def ones_like(a: Any, dtype: Any = None, **_: Any) -> Any:
    return full_like(a, 1, dtype)


def arange(*given: Any, dtype: Any = None) -> Any:
    plain = [g.item() if hasattr(g, "item") else g for g in given]
    start, stop, step = [*plain, 1][:3] if len(plain) > 1 else (0, plain[0], 1)
    if len(plain) == 3:
        step = plain[2]
    many = max(0, math.ceil((stop - start) / step))
    values = [start + k * step for k in range(many)]
    kind = result_type(start, stop, step) if dtype is None else _dtype(dtype)
    return new(values, kind, (many,))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    step = (stop - start) / max(num - endpoint, 1)
    values = [start + k * step for k in range(num)]
    if endpoint and num > 1:
        values[-1] = stop
    return new(values, FLOAT64, (num,))


def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0
) -> Any:
    described = _dtype(dtype)
    data = memoryview(buffer).cast("B")[offset:]
    many = len(data) // described.itemsize if count < 0 else count
    values = described.unpacked(data[: many * described.itemsize])
    made = new(values, described, (many,))
    made._memory.data[:] = data[: many * described.itemsize]  # keeps NaNs as they are
    return made


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    found = asarray(a, dtype)
    return found if arrays.is_contiguous(found) else found.copy()


def eye(n: int, dtype: Any = float) -> Any:
    made = zeros((n, n), dtype)
    for k in range(n):
        made[k, k] = 1
    return made


def indices(dimensions: Any) -> Any:
    sides = as_shape(dimensions)
    flat = arange(math.prod(sides))
    return stack(arrays.unravel_index(flat, sides)).reshape(len(sides), *sides)


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    sides = shape[0] if shape and isinstance(shape[0], tuple) else shape
    return itertools.product(*map(range, sides))


# Joining arrays


def concatenate(given: Sequence[Any], axis: Any = 0) -> Any:
    parts = [asarray(part) for part in given]
    if axis is None:
        return concatenate([part.ravel() for part in parts])
    kind, at = result_type(*parts), axis % parts[0].ndim
    side = sum(part.shape[at] for part in parts)
    shape = (*parts[0].shape[:at], side, *parts[0].shape[at + 1 :])
    if not at:
        return new([v for p in parts for v in p._values()], kind, shape)
    made, begin = empty(shape, kind), 0
    for part in parts:
        end = begin + part.shape[at]
        made[(*[slice(None)] * at, slice(begin, end))] = part
        begin = end
    return made


def stack(given: Sequence[Any], axis: int = 0) -> Any:
    parts = [asarray(part) for part in given]
    at = axis % (parts[0].ndim + 1)
    index = (*[slice(None)] * at, None)
    return concatenate([part[index] for part in parts], at)


def append(a: Any, values: Any) -> Any:
    return concatenate([asarray(a).ravel(), asarray(values).ravel()])


def split(a: Any, at: Any) -> list[ndarray]:
    whole = asarray(a)
    if isinstance(at, int):
        each = len(whole) // at
        at = [each * k for k in range(1, at)]
    else:
        at = asarray(at).tolist()
    return [whole[b:e] for b, e in itertools.pairwise([0, *at, len(whole)])]


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    whole = asarray(a)
    if axis is not None and whole.ndim > 1:
        rows = repeat(arange(whole.shape[axis]), repeats)
        return whole[(*[slice(None)] * (axis % whole.ndim), rows)]
    values, times = whole._values(), spread(repeats, (whole.size,))
    found = [v for v, n in zip(values, times, strict=True) for _ in range(n)]
    return new(found, whole.dtype, (len(found),))


def roll(a: Any, shift: int, axis: Any = None) -> Any:
    whole = asarray(a)
    if axis is None:
        return roll(whole.ravel(), shift, 0).reshape(whole.shape)
    order = (arange(whole.shape[axis]) - shift) % max(whole.shape[axis], 1)
    return whole[(*[slice(None)] * (axis % whole.ndim), order)]


def where(condition: Any, *both: Any) -> Any:
    if not both:
        return arrays.nonzero(asarray(condition))
    a, b = both
    shape = broadcast_shape(*(getattr(x, "shape", ()) for x in (condition, a, b)))
    chosen = zip(
        spread(condition, shape), spread(a, shape), spread(b, shape), strict=True
    )
    return new([x if c else y for c, x, y in chosen], result_type(a, b), shape)


def clip(a: Any, least: Any = None, most: Any = None) -> Any:
    found = a if least is None else UFUNCS["maximum"](a, least)
    return found if most is None else UFUNCS["minimum"](found, most)


def diff(a: Any, prepend: Any = None, append: Any = None) -> Any:
    parts = [asarray(a)]
    if prepend is not None:
        parts.insert(0, asarray(prepend).reshape(-1))
    if append is not None:
        parts.append(asarray(append).reshape(-1))
    whole = concatenate(parts) if len(parts) > 1 else parts[0]
    if whole.dtype is BOOL:
        return whole[..., 1:] != whole[..., :-1]
    return whole[..., 1:] - whole[..., :-1]


# Searching


def flatnonzero(a: Any) -> Any:
    found = [k for k, value in enumerate(asarray(a)._values()) if value]
    return new(found, INT64, (len(found),))


def argwhere(a: Any) -> Any:
    return stack(arrays.nonzero(asarray(a)), 1)


def count_nonzero(a: Any, axis: Any = None) -> Any:
    return UFUNCS["add"].reduce(asarray(a).astype(bool), axis)


def _ordered(value: Any) -> Any:
    """Return the sort key of a number: NaN comes last."""
    return (value != value, value)


def argsort(a: Any, axis: int = -1, kind: Any = None, stable: Any = None) -> Any:
    whole = asarray(a)
    lines, _ = lines_of(whole, axis)
    found = []
    for line in lines:
        keys = list(map(_ordered, line)) if whole.dtype.kind == "f" else line
        found += sorted(range(len(line)), key=keys.__getitem__)
    return _along(found, INT64, whole, axis)


def _along(found: list[Any], kind: Any, whole: ndarray, axis: int) -> Any:
    """Reshape numbers that were computed along an axis to the shape of `whole`."""
    at = axis % whole.ndim
    rest = [n for k, n in enumerate(whole.shape) if k != at]
    turned = new(found, kind, (*rest, whole.shape[at]))
    order = [*range(len(rest))]
    order.insert(at, len(rest))
    return turned.transpose(order) if whole.ndim > 1 else turned


def sort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    whole = asarray(a)
    if axis is None:
        whole, axis = whole.ravel(), -1
    key = _ordered if whole.dtype.kind == "f" else None
    lines, _ = lines_of(whole, axis)
    found = [value for line in lines for value in sorted(line, key=key)]
    return _along(found, whole.dtype, whole, axis)


def lexsort(keys: Any) -> Any:
    rows = list(zip(*(asarray(key)._values() for key in reversed(keys)), strict=True))
    found = sorted(range(len(rows)), key=rows.__getitem__)
    return new(found, INT64, (len(found),))


def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    values, find = asarray(a)._values(), bisect_left if side == "left" else bisect_right
    wanted = asarray(v)
    found = [find(values, each) for each in wanted._values()]
    return new(found, INT64, wanted.shape)[()]


def unique(
    a: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
) -> Any:
    """Return the sorted distinct numbers or, along an axis, the distinct rows."""
    whole = asarray(a)
    if axis is None:
        values = whole._values()
    else:
        lines, _ = lines_of(whole, tuple(k for k in range(whole.ndim) if k != axis))
        values = list(map(tuple, lines))
    first: dict[Any, int] = {}
    for k, value in enumerate(values):
        first.setdefault(value, k)
    key = _ordered if axis is None and whole.dtype.kind == "f" else None
    order = sorted(first, key=key)
    flat = new(order, whole.dtype, (len(order),)) if axis is None else None
    if flat is None:
        flat = asarray(order, whole.dtype) if order else whole[:, :0]
        flat = flat.T if axis and order else flat
    found = [flat]
    if return_index:
        found.append(new([first[v] for v in order], INT64, (len(order),)))
    number = {value: k for k, value in enumerate(order)}
    each = [number[v] for v in values]
    if return_inverse:
        shape = whole.shape if axis is None else (len(each),)
        found.append(new(each, INT64, shape))
    if return_counts:
        found.append(bincount(new(each, INT64, (len(each),)), minlength=len(order)))
    return found[0] if len(found) == 1 else tuple(found)


def isin(a: Any, among: Any, **_: Any) -> Any:
    whole, known = asarray(a), set(asarray(among)._values())
    return new([value in known for value in whole._values()], BOOL, whole.shape)[...]


def setdiff1d(a: Any, b: Any, assume_unique: bool = False) -> Any:
    first = asarray(a).ravel() if assume_unique else unique(a)
    return first[~isin(first, b)]


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    numbers = asarray(x)._values()
    many = max(max(numbers, default=-1) + 1, int(minlength))
    if weights is None:
        counts = [0] * many
        for k in numbers:
            counts[k] += 1
        return new(counts, INT64, (many,))
    sums = [0.0] * many
    for k, weight in zip(numbers, asarray(weights)._values(), strict=True):
        sums[k] += weight
    return new(sums, FLOAT64, (many,))


# Reductions


def sum_of(a: Any, axis: Any = None, dtype: Any = None, **more: Any) -> Any:
    return UFUNCS["add"].reduce(a, axis, dtype, **more)


def prod(a: Any, axis: Any = None, dtype: Any = None, **more: Any) -> Any:
    return UFUNCS["multiply"].reduce(a, axis, dtype, **more)


def max_of(a: Any, axis: Any = None, initial: Any = None, **more: Any) -> Any:
    return UFUNCS["maximum"].reduce(a, axis, initial=initial, **more)


def min_of(a: Any, axis: Any = None, initial: Any = None, **more: Any) -> Any:
    return UFUNCS["minimum"].reduce(a, axis, initial=initial, **more)


def all_of(a: Any, axis: Any = None, **more: Any) -> Any:
    return UFUNCS["logical_and"].reduce(a, axis, **more)


def any_of(a: Any, axis: Any = None, **more: Any) -> Any:
    return UFUNCS["logical_or"].reduce(a, axis, **more)


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    whole = asarray(a)
    return UFUNCS["add"].accumulate(
        whole.ravel() if axis is None else whole, axis or 0, dtype
    )


def mean(a: Any, axis: Any = None, **more: Any) -> Any:
    whole = asarray(a)
    total = UFUNCS["add"].reduce(whole.astype("float64"), axis, **more)
    many = whole.size // max(math.prod(getattr(total, "shape", ())), 1)
    kind = whole.dtype if whole.dtype.kind == "f" else FLOAT64
    return (total / many).astype(kind)


def ptp(a: Any, axis: Any = None) -> Any:
    return max_of(a, axis) - min_of(a, axis)


def argmax(a: Any, axis: Any = None) -> Any:
    return _position(a, axis, max)


def argmin(a: Any, axis: Any = None) -> Any:
    return _position(a, axis, min)


def _position(a: Any, axis: Any, best: Any) -> Any:
    lines, shape = lines_of(asarray(a), axis)
    found = []
    for line in lines:
        nan = next((k for k, value in enumerate(line) if value != value), None)
        found.append(line.index(best(line)) if nan is None else nan)
    return new(found, INT64, shape)[()]


def norm(a: Any) -> Any:
    return FLOAT64.type(math.sqrt(math.fsum(abs(v) ** 2 for v in asarray(a)._values())))


def matmul(a: Any, b: Any) -> Any:
    """Multiply two matrices, or stacks of them."""
    one, other = asarray(a), asarray(b)
    if one.ndim > 2 or other.ndim > 2:
        return stack([matmul(x, y) for x, y in zip(one, other, strict=True)])
    rows, columns = one.reshape(-1, one.shape[-1]), other.T.reshape(-1, other.shape[0])
    right = [column.tolist() for column in columns]
    found = [
        math.fsum(map(float.__mul__, map(float, row), map(float, column)))
        for row in rows.tolist()
        for column in right
    ]
    shape = (*one.shape[:-1], *other.shape[1:])
    return new(found, result_type(one, other), shape)[()]


# Comparisons


def isclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    shape = broadcast_shape(*(getattr(x, "shape", ()) for x in (a, b)))
    relative, absolute = float(rtol), float(atol)

    def near(x: Any, y: Any) -> bool:
        if x == y:
            return True
        if x != x or y != y:
            return equal_nan and x != x and y != y
        size = abs(y)
        return size != math.inf and bool(abs(x - y) <= absolute + relative * size)

    return new(list(map(near, spread(a, shape), spread(b, shape))), BOOL, shape)[()]


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, **more: Any) -> bool:
    return bool(all_of(isclose(a, b, rtol, atol, **more)))


def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    one, other = asarray(a), asarray(b)
    if one.shape != other.shape:
        return False
    pairs = zip(one._values(), other._values(), strict=True)
    return all(x == y or (equal_nan and x != x and y != y) for x, y in pairs)


def may_share_memory(a: ndarray, b: ndarray) -> bool:
    if a._memory is not b._memory or not a.size or not b.size:
        return False
    (low, high), (begin, end) = byte_bounds(a), byte_bounds(b)
    return low < end and begin < high


def byte_bounds(a: ndarray) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the byte after its last."""
    low = high = a._memory.address + a._offset
    for side, step in zip(a.shape, a.strides, strict=True):
        if step < 0:
            low += (side - 1) * step
        else:
            high += (side - 1) * step
    return low, high + a.dtype.itemsize


@contextmanager
def errstate(**_: Any) -> Iterator[None]:
    """Do nothing: there are no warnings here."""
    yield


def shape_of(a: Any) -> Any:
    return asarray(a).shape


def ndim_of(a: Any) -> Any:
    return asarray(a).ndim


def size_of(a: Any) -> Any:
    return asarray(a).size


def method_of(name: str, function: Any) -> None:
    setattr(ndarray, name, lambda self, *a, **k: function(self, *a, **k))


for _name, _function in {
    "sum": sum_of, "prod": prod, "max": max_of, "min": min_of, "all": all_of,
    "any": any_of, "cumsum": cumsum, "mean": mean, "argmax": argmax, "argmin": argmin,
    "argsort": argsort, "clip": clip, "repeat": repeat, "searchsorted": searchsorted,
    "nonzero": arrays.nonzero, "__matmul__": matmul, "dot": matmul,
}.items():  # fmt: skip
    method_of(_name, _function)


def _sorted(self: ndarray, axis: int = -1, kind: Any = None) -> None:
    self._fill(sort(self, axis)._values())


setattr(ndarray, "sort", _sorted)  # noqa: B010

MEMBERS: dict[str, Any] = {
    name: value
    for name, value in {**globals(), **vars(arrays)}.items()
    if callable(value) and not name.startswith("_") and name not in (
        *"Any Iterator Sequence Iterable contextmanager method_of Memory Flat".split(),
        *"lines_of new seen spread steps generic as_shape".split(),
    )
}  # fmt: skip
MEMBERS |= {"sum": sum_of, "max": max_of, "amax": max_of, "min": min_of}
MEMBERS |= {"amin": min_of, "all": all_of, "any": any_of, "shape": shape_of}
MEMBERS |= {"ndim": ndim_of, "size": size_of, "dot": matmul, "steps": steps}
MEMBERS |= {"broadcast_to": broadcast_to, "copy": lambda a: asarray(a).copy()}
MEMBERS |= {
    "ravel": lambda a, order="C": asarray(a).ravel(order),
    "reshape": lambda a, shape: asarray(a).reshape(shape),
    "transpose": lambda a, axes=None: asarray(a).transpose(axes),
    "squeeze": lambda a: asarray(a).squeeze(),
}
