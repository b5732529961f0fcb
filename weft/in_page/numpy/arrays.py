"""Arrays: memory, viewed as numbers of one type, with a shape and strides."""

import itertools
import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from weft.in_page.numpy.types import (
    BOOL,
    DTYPES,
    INT64,
    _dtype,
    dtype,
    generic,
    result_type,
)

ALIGNED = 256  # bytes to which memory is aligned


Described = dtype  # the name `dtype` is also an attribute of arrays


class Memory:
    """The bytes of an array and of all its views. address: made up, but unique."""

    __slots__ = ("address", "data")
    _next = ALIGNED

    def __init__(self, data: bytearray) -> None:
        self.data = data
        self.address = Memory._next
        Memory._next += -(-(len(data) + 1) // ALIGNED) * ALIGNED


class ndarray:
    """An array of numbers."""

    __module__ = "numpy"
    __slots__ = (
        "__weakref__", "_memory", "_offset", "_writeable",
        "base", "dtype", "shape", "strides",
    )  # fmt: skip
    base: Any
    dtype: "Described"
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    _memory: "Memory"
    _offset: int
    _writeable: bool

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = "C",
    ) -> Any:
        if buffer is not None or offset or strides is not None:
            raise NotImplementedError(
                "in a page, np.ndarray takes no buffer, offset or strides"
            )
        described, sides = _dtype(dtype), as_shape(shape)
        memory = Memory(bytearray(math.prod(sides) * described.itemsize))
        return seen(
            memory, 0, described, sides, steps(sides, described.itemsize, order or "C")
        )

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    # Its properties

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        return SimpleNamespace(
            c_contiguous=is_contiguous(self),
            f_contiguous=is_contiguous(self.T),
            writeable=self._writeable,
            aligned=not self._offset % self.dtype.alignment,
            owndata=self.base is None,
        )

    @property
    def __array_interface__(self) -> dict[str, Any]:
        at = self._memory.address + self._offset
        return {"data": (at, not self._writeable), "shape": self.shape}

    @property
    def data(self) -> Any:
        """The elements as a memoryview.

        Raises ValueError if their layout does not allow one.
        """
        code, size = self.dtype.code, self.dtype.itemsize
        whole = memoryview(self._memory.data)
        if is_contiguous(self):
            part = whole[self._offset : self._offset + self.nbytes].cast(code)
            found = part.cast("B").cast(code, self.shape) if self.ndim > 1 else part
        elif self.ndim == 1 and not (self._offset % size or self.strides[0] % size):
            step, at = self.strides[0] // size, self._offset // size
            numbers = whole[: len(whole) // size * size].cast(code)
            stop = at + step * len(self)
            found = numbers[at : stop if stop >= 0 else None : step]
        else:
            raise ValueError("this memory has no memoryview")
        return found if self._writeable else found.toreadonly()

    @property
    def T(self) -> Any:
        return self._view(shape=self.shape[::-1], strides=self.strides[::-1])

    @property
    def flat(self) -> "Flat":
        return Flat(self)

    @property
    def real(self) -> Any:
        return self

    def _view(self, **changed: Any) -> Any:
        """Return a view of the same memory with the attributes in `changed`."""
        made = seen(
            self._memory,
            changed.get("offset", self._offset),
            changed.get("dtype", self.dtype),
            changed.get("shape", self.shape),
            changed.get("strides", self.strides),
        )
        made.base, made._writeable = self, self._writeable
        return made

    # Its numbers, in row-major order

    def _values(self) -> list[Any]:
        whole = memoryview(self._memory.data)
        if is_contiguous(self):
            return self.dtype.unpacked(whole[self._offset : self._offset + self.nbytes])
        lines = lines_in(self)
        if lines is not None:
            return list(itertools.chain.from_iterable(line.tolist() for line in lines))
        return self._numbers(offsets(self))

    def _numbers(self, at: list[int]) -> list[Any]:
        """Return the numbers that begin at the byte offsets `at` of the memory."""
        size, unpacked = self.dtype.itemsize, self.dtype.unpacked
        whole = memoryview(self._memory.data)
        if self._offset % size or any(step % size for step in self.strides):
            return [unpacked(whole[k : k + size])[0] for k in at]
        flat = unpacked(whole[: len(whole) // size * size])
        return [flat[k // size] for k in at]

    def _fill(self, values: list[Any]) -> None:
        """Store `values`, one for each element, in row-major order."""
        if not self._writeable:
            raise ValueError("assignment destination is read-only")
        packed, size = self.dtype.packed(values), self.dtype.itemsize
        data = self._memory.data
        if is_contiguous(self):
            data[self._offset : self._offset + len(packed)] = packed
            return
        lines = lines_in(self)
        if lines is not None:
            numbers = memoryview(packed).cast(self.dtype.code)
            side = self.shape[-1]
            for number, line in enumerate(lines):
                line[:] = numbers[number * side : (number + 1) * side]
            return
        for number, at in enumerate(offsets(self)):
            data[at : at + size] = packed[number * size : (number + 1) * size]

    def _number(self, at: int) -> Any:
        data = memoryview(self._memory.data)[at : at + self.dtype.itemsize]
        value = self.dtype.unpacked(data)[0]
        return self.dtype.type(value)

    def tolist(self) -> Any:
        return nested(self._values(), self.shape)

    def item(self, *index: Any) -> Any:
        if index:
            at = index if len(index) > 1 else index[0]
            found = self.ravel()[at] if isinstance(at, int) else self[at]
            return found.item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._values()[0]

    def tobytes(self, order: Any = "C") -> bytes:
        return self.dtype.packed(self._values())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        return bool(self._values()[0])

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to an index")
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __repr__(self) -> str:
        kind = (
            "" if self.dtype.name in ("int64", "float64", "bool") else self.dtype.name
        )
        return f"array({self.tolist()}{f', dtype={kind}' if kind else ''})"

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, _: Any) -> Any:
        return self.copy()

    __copy__ = lambda self: self.copy()  # noqa: E731

    # Other forms

    def copy(self, order: Any = "C") -> Any:
        kept = order in ("F", "K", "A") and not is_contiguous(self)
        if kept and is_contiguous(self.T):
            return self.T.copy().T
        if not is_contiguous(self):
            return new(self._values(), self.dtype, self.shape)
        memory = Memory(self._memory.data[self._offset : self._offset + self.nbytes])
        strides = steps(self.shape, self.itemsize)
        return seen(memory, 0, self.dtype, self.shape, strides)

    def astype(self, kind: Any, copy: bool = True, **_: Any) -> Any:
        wanted = _dtype(kind)
        if wanted is self.dtype:
            return self.copy() if copy else self
        values = self._values()
        if self.dtype.kind == "c" and wanted.kind != "c":
            values = [v.real for v in values]
        if self.dtype.kind == "f" and wanted.kind in "iu":
            values = list(map(wanted.integer, values))
        return new(values, wanted, self.shape)

    def view(self, kind: Any = None, type: Any = None) -> Any:
        wanted = self.dtype if kind is None or kind is ndarray else _dtype(kind)
        was, now = self.dtype.itemsize, wanted.itemsize
        if was == now:
            return self._view(dtype=wanted)
        last = self.shape[-1] * was
        if last % now or (self.strides[-1] != was and self.shape[-1] > 1):
            raise ValueError("the last axis must be contiguous, and whole afterwards")
        return self._view(
            dtype=wanted,
            shape=(*self.shape[:-1], last // now),
            strides=(*self.strides[:-1], now),
        )

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        sides = as_shape(shape[0] if len(shape) == 1 else shape)
        if -1 in sides:
            known = -math.prod(sides)
            if not known or self.size % known:
                raise ValueError(f"cannot reshape array of size {self.size}")
            sides = tuple(self.size // known if s == -1 else s for s in sides)
        if math.prod(sides) != self.size:
            raise ValueError(
                f"cannot reshape array of size {self.size} into shape {sides}"
            )
        if order == "F":
            return self.T.reshape(sides[::-1]).T
        new_steps = restepped(self, sides)
        if new_steps is not None:
            return self._view(shape=sides, strides=new_steps)
        return new(self._values(), self.dtype, sides)

    def ravel(self, order: str = "C") -> Any:
        return self.reshape(-1, order="F" if order == "F" else "C")

    def flatten(self, order: str = "C") -> Any:
        return self.ravel(order).copy()

    def transpose(self, *axes: Any) -> Any:
        if not axes or axes == (None,):
            return self.T
        order = axes[0] if isinstance(axes[0], Sequence) else axes
        order = [axis % self.ndim for axis in order]
        return self._view(
            shape=tuple(self.shape[axis] for axis in order),
            strides=tuple(self.strides[axis] for axis in order),
        )

    def swapaxes(self, one: int, other: int) -> Any:
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transpose(order)

    def squeeze(self, axis: Any = None) -> Any:
        kept = [k for k, side in enumerate(self.shape) if side != 1]
        if axis is not None:
            kept = [k for k in range(self.ndim) if k != axis % self.ndim]
        return self._view(
            shape=tuple(self.shape[k] for k in kept),
            strides=tuple(self.strides[k] for k in kept),
        )

    def fill(self, value: Any) -> None:
        self[...] = value

    # Its parts

    def __getitem__(self, index: Any) -> Any:
        """Return a number, a view or, if any index is an array, a copy."""
        if type(index) is int and len(self.shape) == 1:
            return self._number(
                self._offset + self.strides[0] * within(index, len(self))
            )
        if type(index) is slice and len(self.shape) == 1:
            return self._stretch(index)
        if type(index) is tuple and len(index) == len(self.shape) and ints(index):
            return self._number(position(self, index))
        parts = expanded(index, self.shape)
        if not any(isinstance(part, ndarray) for part in parts):
            found = basic(self, parts)
            if found.shape or index is Ellipsis or Ellipsis in _as_tuple(index):
                return found
            return found._number(found._offset)
        whole = fast(self, parts)
        if whole is not None:
            return whole
        at, shape = gathered(self, parts)
        return (
            new(self._numbers(at), self.dtype, shape) if shape else self._number(at[0])
        )

    def _stretch(self, part: slice) -> Any:
        """Return a view of a slice of a vector."""
        (side,), (step,) = self.shape, self.strides
        start, stop, by = part.indices(side)
        many = len(range(start, stop, by))
        offset = self._offset + start * step if many else self._offset
        made = seen(self._memory, offset, self.dtype, (many,), (step * by,))
        made.base, made._writeable = self, self._writeable
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        """Store `value`, broadcast to the selected part."""
        if not self._writeable:
            raise ValueError("assignment destination is read-only")
        at = (index,) if type(index) is int else index
        if type(at) is tuple and len(at) == len(self.shape) and ints(at):
            begin = position(self, at)
            number = value.item() if hasattr(value, "item") else value
            end = begin + self.dtype.itemsize
            self._memory.data[begin:end] = self.dtype.packed([number])
            return
        if type(index) is slice and len(self.shape) == 1:
            there = self._stretch(index)
            there._fill(spread(value, there.shape))
            return
        parts = expanded(index, self.shape)
        if not any(isinstance(part, ndarray) for part in parts):
            there = basic(self, parts)
            there._fill(spread(value, there.shape))
            return
        at, shape = gathered(self, parts)
        packed, size = self.dtype.packed(spread(value, shape)), self.dtype.itemsize
        data = self._memory.data
        for number, k in enumerate(at):
            data[k : k + size] = packed[number * size : (number + 1) * size]


class Flat:
    """The elements of an array in row-major order."""

    def __init__(self, array: ndarray) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return self._array.ravel()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        whole = self._array.ravel().copy()
        whole[index] = value
        self._array._fill(whole._values())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array.ravel())

    def __len__(self) -> int:
        return self._array.size


# Making arrays


def seen(
    memory: Memory,
    offset: int,
    described: dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Any:
    """Return an array over existing memory."""
    made: ndarray = object.__new__(ndarray)
    made._memory, made._offset, made.dtype = memory, offset, described
    made.shape, made.strides = shape, strides
    made.base, made._writeable = None, True
    return made


def new(values: list[Any], described: dtype, shape: tuple[int, ...]) -> Any:
    """Make an array from numbers in row-major order."""
    memory = Memory(bytearray(described.packed(values)))
    return seen(memory, 0, described, shape, steps(shape, described.itemsize))


def array(
    given: Any, dtype: Any = None, copy: Any = True, order: Any = "K", ndmin: int = 0
) -> Any:
    """Make an array from another array, a number, or nested sequences of numbers."""
    if isinstance(given, ndarray):
        made = given.astype(dtype) if dtype is not None else given.copy(order or "K")
    else:
        values: list[Any] = []
        shape = measured(given, values)
        if dtype is not None:
            described = _dtype(dtype)
        elif values:
            described = result_type(*{_kind(v): v for v in values}.values())
            if all(type(v) is int for v in values) and max(values) > 2**63 - 1:
                described = DTYPES["uint64"]
        else:
            described = DTYPES["float64"]
        plain = [v.item() if isinstance(v, generic) else v for v in values]
        if described.kind in "iu":
            plain = [described.integer(v) for v in plain]
        made = new(plain, described, shape)
    while made.ndim < ndmin:
        made = made[None]
    return made


def _kind(value: Any) -> Any:
    kind = type(value)
    if kind not in (bool, int, float, complex) and not isinstance(value, generic):
        raise TypeError(f"an array of numbers cannot hold {value!r}")
    return kind


def measured(given: Any, values: list[Any]) -> tuple[int, ...]:
    """Return the shape of nested sequences; append their numbers to `values`."""
    if isinstance(given, ndarray):
        plain = given._values()
        values += map(given.dtype.type, plain)
        return given.shape
    if isinstance(given, memoryview):
        given = given.tolist()
    if not isinstance(given, (list, tuple, range, Flat)):
        values.append(given)
        return ()
    shapes = {measured(part, values) for part in given}
    if len(shapes) > 1:
        raise ValueError("setting an array element with a sequence: not in equal rows")
    return (len(given), *(shapes.pop() if shapes else ()))


def asarray(given: Any, dtype: Any = None, **_: Any) -> Any:
    if isinstance(given, ndarray) and (dtype is None or _dtype(dtype) is given.dtype):
        return given
    return array(given, dtype)


def as_shape(shape: Any) -> tuple[int, ...]:
    if hasattr(shape, "__index__") and not isinstance(shape, tuple):
        return (shape.__index__(),)
    return tuple(side.__index__() for side in shape)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def steps(shape: Sequence[int], size: int, order: str = "C") -> tuple[int, ...]:
    """Return a contiguous array's stride along each axis, in bytes.

    size: the size of an element in bytes.
    """
    if order == "F":
        return steps(shape[::-1], size)[::-1]
    found = []
    for side in reversed(shape):
        found.append(size)
        size *= max(side, 1)
    return tuple(found[::-1])


def is_contiguous(a: ndarray) -> bool:
    size = a.dtype.itemsize
    for side, step in zip(reversed(a.shape), reversed(a.strides), strict=True):
        if side != 1 and step != size:
            return 0 in a.shape
        size *= side
    return True


def restepped(a: ndarray, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides of another shape over the same memory, or None.

    None means that a copy is necessary.
    """
    if is_contiguous(a):
        return steps(shape, a.dtype.itemsize)
    old = [(n, s) for n, s in zip(a.shape, a.strides, strict=True) if n != 1]
    new_sides = [n for n in shape if n != 1]
    found: list[int] = []
    while old and new_sides:
        sides, strides = [old[0][0]], [old[0][1]]
        old.pop(0)
        mine = [new_sides.pop(0)]
        while math.prod(sides) != math.prod(mine):
            if math.prod(sides) < math.prod(mine):
                if not old or strides[-1] != old[0][0] * old[0][1]:
                    return None
                sides.append(old[0][0])
                strides.append(old.pop(0)[1])
            else:
                mine.append(new_sides.pop(0))
        found += [strides[-1] * math.prod(mine[k + 1 :]) for k in range(len(mine))]
    each = iter(found)
    return tuple(next(each) if n != 1 else a.dtype.itemsize for n in shape)


def lines_in(a: ndarray) -> list[memoryview] | None:
    """Return the memory along the last axis as memoryviews, or None.

    The result is None if memoryviews cannot represent that memory.
    """
    size, code = a.dtype.itemsize, a.dtype.code
    steps_ = (a._offset, *a.strides)
    if not a.ndim or not a.size or code == "e" or a.dtype.kind == "c":
        return None
    if any(step % size for step in steps_) or not a.strides[-1]:
        return None
    whole = memoryview(a._memory.data)
    numbers = whole[: len(whole) // size * size].cast(code)
    step, side = a.strides[-1] // size, a.shape[-1]
    starts = offsets(a[..., 0]) if a.ndim > 1 else [a._offset]
    found = []
    for start in starts:
        at = start // size
        stop = at + step * side
        found.append(numbers[at : stop if stop >= 0 else None : step])
    return found


def offsets(a: ndarray) -> list[int]:
    """Return the byte offsets of the elements in memory, in row-major order."""
    found = [a._offset]
    for side, step in zip(a.shape, a.strides, strict=True):
        jumps = [step * k for k in range(side)]
        found = [at + jump for at in found for jump in jumps]
    return found


def nested(values: list[Any], shape: tuple[int, ...]) -> Any:
    """Return a flat list as nested lists of the given shape."""
    if not shape:
        return values[0]
    for side in reversed(shape[1:]):
        many = len(values) // side if side else math.prod(shape[:-1])
        values = [values[k * side : (k + 1) * side] for k in range(many)]
    return values


# Indices


def ints(index: tuple[Any, ...]) -> bool:
    return all(type(part) is int for part in index)


def position(a: ndarray, index: tuple[int, ...]) -> int:
    """Return the byte offset of one element."""
    steps_ = zip(index, a.shape, a.strides, strict=True)
    return a._offset + sum(within(k, side) * step for k, side, step in steps_)


def within(index: int, side: int) -> int:
    if not -side <= index < side:
        raise IndexError(f"index {index} is out of bounds for axis with size {side}")
    return index % side


def expanded(index: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return one index per axis: an int, a slice, or an array of integers.

    A None in the index stays, and adds an axis.
    """
    parts: list[Any] = []
    for part in _as_tuple(index):
        if isinstance(part, list):
            part = asarray(part) if part else new([], INT64, (0,))
        if isinstance(part, ndarray) and part.dtype is BOOL:
            parts += nonzero(part)
        elif isinstance(part, ndarray) and not part.ndim:
            parts.append(part.item())
        elif part is None or part is Ellipsis or isinstance(part, slice | ndarray):
            parts.append(part)
        elif isinstance(part, bool):
            raise IndexError("a bool is no index here")
        elif hasattr(part, "__index__"):
            parts.append(part.__index__())
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) "
                "and integer or boolean arrays are valid indices"
            )
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but "
            f"{used} were indexed"
        )
    rest = [slice(None)] * (len(shape) - used)
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), None)
    if at is None:
        return parts + rest
    return [*parts[:at], *rest, *parts[at + 1 :]]


def basic(a: ndarray, parts: list[Any]) -> Any:
    """Return a view of the part of an array that ints, slices and None select."""
    offset, shape, strides = a._offset, [], []
    sides = zip(a.shape, a.strides, strict=True)
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(0)
            continue
        side, step = next(sides)
        if isinstance(part, slice):
            start, stop, by = part.indices(side)
            many = len(range(start, stop, by))
            offset += start * step if many else 0
            shape.append(many)
            strides.append(step * by)
        else:
            offset += within(part, side) * step
    return a._view(offset=offset, shape=tuple(shape), strides=tuple(strides))


def fast(a: ndarray, parts: list[Any]) -> Any:
    """Return the elements of a vector at an array of indices.

    Returns None if `a` is not a vector or `parts` is not a single array.
    """
    first, *rest = parts
    if not isinstance(first, ndarray) or any(part != slice(None) for part in rest):
        return None
    if any(isinstance(part, ndarray) for part in rest) or a.ndim > 1:
        return None
    values, side = a._values(), len(a)
    numbers = first._values()
    if numbers and not (-side <= min(numbers) and max(numbers) < side):
        within(min(numbers), side)
        within(max(numbers), side)
    return new([values[k] for k in numbers], a.dtype, first.shape)


def gathered(a: ndarray, parts: list[Any]) -> tuple[list[int], tuple[int, ...]]:
    """Return the offsets of the elements selected by index arrays, and their shape."""
    chosen = [k for k, part in enumerate(parts) if isinstance(part, ndarray | int)]
    side = broadcast_shape(*(np_shape(parts[k]) for k in chosen))
    together = chosen == list(range(chosen[0], chosen[-1] + 1))
    place = chosen[0] if together else 0
    axes = iter(zip(a.shape, a.strides, strict=True))
    # for each slice: the position of its axis, its byte offsets
    jumps: list[tuple[int, list[int]]] = []
    moved = [0] * math.prod(side)
    for k, part in enumerate(parts):
        if part is None:
            jumps.append((k, [0]))
            continue
        length, step = next(axes)
        if isinstance(part, slice):
            jumps.append((k, [step * n for n in range(*part.indices(length))]))
            continue
        each = spread(part, side)
        moved = [m + step * within(n, length) for m, n in zip(moved, each, strict=True)]
    found, shape = [a._offset], []
    before = [jump for k, jump in jumps if together and k < place]
    after = [jump for k, jump in jumps if not (together and k < place)]
    for jump in before:
        found = [at + j for at in found for j in jump]
    found = [at + j for at in found for j in moved]
    for jump in after:
        found = [at + j for at in found for j in jump]
    shape = [*map(len, before), *side, *map(len, after)]
    return found, tuple(shape)


def np_shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, ndarray) else ()


def nonzero(a: ndarray) -> tuple[ndarray, ...]:
    """Return the indices of the elements that are not zero, axis by axis."""
    flat = [k for k, value in enumerate(a._values()) if value]
    return unravel_index(new(flat, INT64, (len(flat),)), a.shape)


def unravel_index(index: Any, shape: Any) -> tuple[Any, ...]:
    """Convert flat row-major indices to one array of indices per axis."""
    sides = as_shape(shape)
    numbers = asarray(index)
    values, found = numbers._values(), []
    if values and not (min(values) >= 0 and max(values) < math.prod(sides)):
        raise ValueError(f"index is out of bounds for array with shape {sides}")
    for side in reversed(sides):
        found.append(new([v % side for v in values], INT64, numbers.shape))
        values = [v // side for v in values]
    if numbers.ndim:
        return tuple(found[::-1])
    return tuple(each[()] for each in found[::-1])


# Broadcasting


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for sides in itertools.zip_longest(*(s[::-1] for s in shapes), fillvalue=1):
        wide = {side for side in sides if side != 1}
        if len(wide) > 1:
            raise ValueError(
                "operands could not be broadcast together with shapes "
                + " ".join(map(str, shapes))
            )
        found.append(wide.pop() if wide else 1)
    return tuple(found[::-1])


def broadcast_to(given: Any, shape: Any) -> Any:
    a, sides = asarray(given), as_shape(shape)
    missing = len(sides) - a.ndim
    if missing < 0 or broadcast_shape(a.shape, sides) != sides:
        raise ValueError(f"could not broadcast input array from {a.shape} into {sides}")
    strides = [
        step if side == wanted else 0
        for side, wanted, step in zip(a.shape, sides[missing:], a.strides, strict=True)
    ]
    made = a._view(shape=sides, strides=(*[0] * missing, *strides))
    made._writeable = False
    return made


def spread(value: Any, shape: tuple[int, ...]) -> Any:
    """Return the numbers of `value`, broadcast to `shape`."""
    if isinstance(value, generic):
        return [value.item()] * math.prod(shape)
    if isinstance(value, (int, float, complex)):
        return [value] * math.prod(shape)
    a = asarray(value)
    if a.shape == shape:
        return a._values()
    while a.ndim > len(shape) and a.shape[0] == 1:
        a = a[0]
    return broadcast_to(a, shape)._values()
