"""Layouts as data, with CuTe's algebra on them: shape:stride, in plain Python.

A layout is a function from coordinates to indices. `(4,(2,3)):(1,(4,8))` has the shape
(4, (2, 3)) and the strides (1, (4, 8)). Shapes are nested tuples, and coordinates run
column-major: the leftmost mode is the fastest. Wherever a layout takes a nested
coordinate it also takes the number of that coordinate.

Nothing here runs in a kernel. Labs compute with these functions what a kernel will do,
and compare a learner's own functions with them.

Source: CUTLASS documentation, "CuTe Layouts" and "CuTe Layout Algebra".
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

IntTuple = int | tuple["IntTuple", ...]
EXAMPLE = "shape:stride, as in (4,2):(1,4)"


@dataclass(frozen=True, repr=False)
class Layout:
    """A shape and its strides, nested alike; without strides, column-major.

    A layout with a size of 0 has no coordinates. Raises ValueError for negative sizes,
    and for strides nested in another way.
    """

    shape: Any
    stride: Any = None

    def __post_init__(self) -> None:
        shape = _tuples(self.shape, "shape")
        if self.stride is None:
            stride = _compact(shape)
        else:
            stride = _tuples(self.stride, "stride")
        if any(n < 0 for n in _leaves(shape)):
            raise ValueError(f"shape {written(shape)}: no size is negative")
        if _form(shape) != _form(stride):
            raise ValueError(
                f"{written(shape)}:{written(stride)} has no stride for every size: "
                "shape and stride are nested alike"
            )
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)

    def __repr__(self) -> str:
        return f"{written(self.shape)}:{written(self.stride)}"

    def __call__(self, *coordinate: Any) -> int:
        """Return the index of a coordinate: layout(7), layout(1, 2), layout((1, 2))."""
        whole = coordinate[0] if len(coordinate) == 1 else coordinate
        return crd2idx(whole, self.shape, self.stride)

    def __len__(self) -> int:
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    def __getitem__(self, mode: int) -> "Layout":
        """Return the layout of one mode."""
        if isinstance(self.shape, tuple):
            return Layout(self.shape[mode], self.stride[mode])
        if mode not in (0, -1):
            raise IndexError(f"{self} has one mode, 0")
        return self

    def __iter__(self) -> Iterator["Layout"]:
        return (self[mode] for mode in range(len(self)))

    @property
    def size(self) -> int:
        """How many coordinates it has."""
        return size(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest index: how many elements the memory must have."""
        if not self.size:
            return 0
        return 1 + sum((n - 1) * step for n, step in modes(self) if step > 0)

    def table(self) -> list[int]:
        """Return all its indices, in the order of the coordinates."""
        return [self(i) for i in range(self.size)]


def parse(text: str) -> Layout:
    """Read a layout as it is written, "(4,(2,3)):(1,(4,8))" or "8:2".

    Without a colon the strides are column-major. Raises ValueError, for sizes of 0 as
    well.
    """
    parts = text.split(":")
    if len(parts) > 2:
        raise ValueError(f"{text!r} is no layout; write {EXAMPLE}")
    layout = Layout(*(_read(part, text) for part in parts))
    if not layout.size:
        raise ValueError(f"{text!r} has no coordinates: every size is at least 1")
    return layout


def written(value: IntTuple) -> str:
    """Write a shape, a stride or a coordinate as CuTe does: (4,(2,3))."""
    if isinstance(value, tuple):
        return f"({','.join(map(written, value))})"
    return str(value)


def size(shape: IntTuple) -> int:
    """Return how many coordinates a shape has."""
    return math.prod(_leaves(shape))


def modes(layout: Layout) -> list[tuple[int, int]]:
    """Return the (size, stride) pairs of a layout, without their nesting."""
    return list(zip(_leaves(layout.shape), _leaves(layout.stride), strict=True))


def crd2idx(coordinate: Any, shape: IntTuple, stride: IntTuple) -> int:
    """Return the index of a coordinate: an integer, or nested at most as the shape is.

    Raises ValueError for a coordinate of another form.
    """
    if not isinstance(shape, tuple) or not isinstance(stride, tuple):
        if isinstance(coordinate, tuple):
            raise ValueError(f"{written(coordinate)} has modes, {shape} has none")
        return int(coordinate * stride)
    if not isinstance(coordinate, tuple):
        coordinate = _split(coordinate, shape)
    if len(coordinate) != len(shape):
        raise ValueError(
            f"{written(coordinate)} has {len(coordinate)} modes, the shape "
            f"{written(shape)} has {len(shape)}"
        )
    return sum(map(crd2idx, coordinate, shape, stride))


def idx2crd(number: int, shape: IntTuple) -> IntTuple:
    """Return coordinate number `number` of a shape, nested as the shape is."""
    if not isinstance(shape, tuple):
        return number
    return tuple(map(idx2crd, _split(number, shape), shape))


def make_layout(*layouts: Layout) -> Layout:
    """Return the layout whose modes are these layouts."""
    return Layout(tuple(a.shape for a in layouts), tuple(a.stride for a in layouts))


def coalesce(layout: Layout) -> Layout:
    """Return the same function with as few modes as possible, and no nesting."""
    sizes, steps = [1], [0]
    for n, step in modes(layout):
        if n == 1:
            continue
        if sizes[-1] == 1:
            sizes[-1], steps[-1] = n, step
        elif step == sizes[-1] * steps[-1]:
            sizes[-1] *= n
        else:
            sizes.append(n)
            steps.append(step)
    return _flat(sizes, steps)


def composition(a: Layout, b: Layout) -> Layout:
    """Return the layout R with R(c) = A(B(c)), whose coordinates are those of B.

    Raises ValueError where B's steps do not fit A's modes, or one of them is empty.
    """
    if not a.size or not b.size:
        raise ValueError(f"no layout is {a} o {b}: one of them has no coordinates")
    found = _composed(a, b)
    for c in range(b.size):
        if b(c) < a.size and found(c) != a(b(c)):
            raise ValueError(
                f"no layout is {a} o {b}: two modes of {b} meet inside a mode of {a}"
            )
    return found


def _composed(a: Layout, b: Layout) -> Layout:
    """Compose A with each mode of B by itself."""
    if isinstance(b.shape, tuple):
        return make_layout(*(_composed(a, mode) for mode in b))
    if b.size == 1 or b.stride == 0:
        return Layout(b.shape, 0)
    *faster, (_, last) = modes(coalesce(a))
    sizes, steps = [], []
    n, step = b.shape, b.stride
    for length, unit in faster:
        if n == 1 or step % length == 0:
            step //= length
            continue
        taken = min(length // step, n)
        if length % step:
            raise ValueError(
                f"no layout is {a} o {b}: steps of {step} do not divide a mode of "
                f"{length}"
            )
        if n % taken:
            raise ValueError(
                f"no layout is {a} o {b}: {n} elements do not split into runs of "
                f"{taken}, as many as a mode of {length} holds"
            )
        sizes.append(taken)
        steps.append(step * unit)
        n, step = n // taken, 1
    return coalesce(_flat([*sizes, n], [*steps, step * last]))


def complement(layout: Layout, target: int) -> Layout:
    """Return the layout of what `layout` leaves out of the first `target` indices.

    Its strides increase, and together the two reach each index once. Raises ValueError
    where no layout does that.
    """
    if not layout.size:
        raise ValueError(f"{layout} has no complement: it has no coordinates")
    sizes, steps, reached = [], [], 1
    for step, n in sorted((step, n) for n, step in modes(layout)):
        if n == 1 or step == 0:
            continue
        if step % reached:
            raise ValueError(
                f"{layout} has no complement: stride {step} is not a multiple of "
                f"{reached}, which the modes of smaller strides take up"
            )
        sizes.append(step // reached)
        steps.append(reached)
        reached = n * step
    return coalesce(_flat([*sizes, -(-target // reached)], [*steps, reached]))


def logical_divide(layout: Layout, tiler: Layout) -> Layout:
    """Split a layout into (what `tiler` picks, how that is repeated)."""
    rest = complement(tiler, layout.size)
    return composition(layout, make_layout(tiler, rest))


def logical_product(layout: Layout, tiler: Layout) -> Layout:
    """Repeat a layout: (the layout itself, where `tiler` puts each repetition)."""
    rest = complement(layout, layout.size * tiler.cosize)
    return make_layout(layout, composition(rest, tiler))


def zipped_divide(layout: Layout, *tilers: Layout) -> Layout:
    """Divide mode by mode; return ((each tile's modes), (the modes over the tiles))."""
    divided = [logical_divide(a, b) for a, b in zip(layout, tilers, strict=True)]
    return make_layout(*(make_layout(*(d[k] for d in divided)) for k in (0, 1)))


def swizzle(bits: int, base: int, shift: int) -> Callable[[int], int]:
    """Return CuTe's Swizzle<bits, base, shift>, a function from index to index.

    Bits base + shift and up, as many as `bits`, are added to those from `base` on,
    without carry. Raises ValueError if the two groups overlap.
    """
    if min(bits, base) < 0 or shift < bits:
        raise ValueError(
            f"Swizzle<{bits},{base},{shift}>: bits and base are at least 0, and shift "
            "is at least bits; the two groups of bits would overlap"
        )
    mask = ((1 << bits) - 1) << base
    return lambda index: index ^ (index >> shift & mask)


def _split(number: int, shape: tuple[IntTuple, ...]) -> tuple[int, ...]:
    """A number as one number per mode; the last mode takes what is left."""
    parts = []
    for mode in shape[:-1]:
        number, part = divmod(number, size(mode))
        parts.append(part)
    return (*parts, number)


def _leaves(value: IntTuple) -> list[int]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


def _flat(sizes: list[int], steps: list[int]) -> Layout:
    """A layout without nesting; of a single mode, without a tuple."""
    if len(sizes) == 1:
        return Layout(sizes[0], steps[0])
    return Layout(tuple(sizes), tuple(steps))


def _compact(shape: IntTuple, step: int = 1) -> IntTuple:
    """Column-major strides for a shape."""
    if not isinstance(shape, tuple):
        return step
    steps = []
    for mode in shape:
        steps.append(_compact(mode, step))
        step *= size(mode)
    return tuple(steps)


def _form(value: IntTuple) -> Any:
    """How a tuple is nested, without its numbers."""
    return tuple(map(_form, value)) if isinstance(value, tuple) else None


def _tuples(value: Any, what: str) -> IntTuple:
    """`value` with tuples for lists and int for NumPy's integers."""
    if isinstance(value, tuple | list):
        if not value:
            raise ValueError(f"an empty tuple in a {what}; a single mode is a number")
        return tuple(_tuples(part, what) for part in value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{value!r} in a {what}; it is made of integers and tuples")
    return int(value)


def _read(text: str, whole: str) -> IntTuple:
    """A nested tuple out of its notation, in which (4) is a tuple and 4 is none."""
    lists = text.replace("(", "[").replace(")", "]").replace(",]", "]")
    try:
        return _tuples(json.loads(lists), "layout")
    except (json.JSONDecodeError, TypeError):
        raise ValueError(f"{whole!r} is no layout; write {EXAMPLE}") from None
