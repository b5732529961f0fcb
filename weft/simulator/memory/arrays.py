"""Arrays as a simulated kernel sees them: all indices are checked, even negative ones.

A kernel never touches a NumPy array directly. It gets an `Array`, which looks like one
but refuses an index that on a GPU would lead to some other place in memory.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from weft.meaning import as_dtype
from weft.simulator.arithmetic.by_name import OPERATORS, cast_to
from weft.simulator.arithmetic.numbers import of_dtype, wide

# Poison: the contents of memory before it is written. Quiet NaNs whose payload says
# where they came from, because arithmetic passes the payload on.
_PAYLOADS = {"global": 0x0BAD, "shared": 0x5AFE, "local": 0x10CA}
_INTEGER_POISON = 0x5EEDBEEF

_NOTHING = nullcontext()
Raise = Callable[..., NoReturn]


def poison(data: np.ndarray[Any, Any], space: str) -> None:
    """Fill `data` with poison: NaN, an unlikely integer or True.

    A float32 or float64 NaN is marked with `space`.
    """
    kind, size = data.dtype.kind, data.dtype.itemsize
    payload = _PAYLOADS[space]
    if kind == "f" and size == 4:
        data.view(np.uint32)[...] = 0x7FC00000 | payload
    elif kind == "f" and size == 8:
        data.view(np.uint64)[...] = 0x7FF8000000000000 | (payload << 29)
    elif kind in "fc":
        data[...] = np.nan
    elif kind in "iu":
        data[...] = np.array(_INTEGER_POISON, np.int64).astype(data.dtype)
    elif kind == "b":
        data[...] = True
    elif kind == "V" and data.dtype.names:
        for name in data.dtype.names:
            poison(data[name], space)


def poisoned_by(value: Any) -> str | None:
    """Return the memory space whose poison `value` carries, or None."""
    if not isinstance(value, (np.float32, np.float64)) or value == value:
        return None
    if isinstance(value, np.float32):
        payload = int(value.view(np.uint32)) & 0xFFFF
    else:
        payload = (int(value.view(np.uint64)) >> 29) & 0xFFFF
    return next((s for s, p in _PAYLOADS.items() if p == payload), None)


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a kernel's array, and of all views of it.

    `name` is the kernel's name for the array, and `space` its memory space: 'global',
    'shared', 'local' or 'constant'. `site` is the call that made it in the kernel, or
    None if the host made it. A `loose` array might not begin on a 16-byte boundary. The
    `alignment` of a shared array is in bytes, and is a multiple of 16.
    """

    name: str
    space: str
    site: Any = None
    readonly: bool = False
    loose: bool = False
    alignment: int = 16


class Array:
    """A checked view of a NumPy array, of any number of dimensions.

    `fault` raises a `Fault` at the kernel's current line. `written`, if given, is a
    Boolean array of the same shape in which every store leaves a mark.
    """

    __slots__ = tuple(
        "_before _data _fault _marks _memory _readonly _rows _written".split()
    )

    _before: int
    _rows: Any
    _marks: Any

    def __init__(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        fault: Raise,
        written: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self._data = data
        self._memory = memory
        self._fault = fault
        self._written = written
        self._readonly = memory.readonly

    @property
    def rows(self) -> Any:
        """The nested rows that a translated kernel indexes; see `nested`."""
        try:
            return self._rows
        except AttributeError:
            self._rows = nested(self._data, self._readonly)
            return self._rows

    @property
    def marks(self) -> Any:
        """The nested rows in which stores leave marks; None if they leave none."""
        if self._written is None:
            return None
        try:
            return self._marks
        except AttributeError:
            self._marks = nested(self._written, False)
            return self._marks

    @property
    def _name(self) -> str:
        return self._memory.name

    @property
    def _space(self) -> str:
        return self._memory.space

    @property
    def _skipped(self) -> int:
        """The number of elements before this view in its memory."""
        try:
            return self._before
        except AttributeError:
            root = self._data
            while isinstance(root.base, np.ndarray):
                root = root.base
            start, first = (
                int(data.__array_interface__["data"][0]) for data in (root, self._data)
            )
            self._before = (first - start) // self.itemsize
            return self._before

    @property
    def _loose(self) -> bool:
        return self._memory.loose

    # Reading and writing

    def __getitem__(self, index: Any) -> Any:
        return self._read(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index, "write")
        self._store(index, value)

    def _read(self, index: Any) -> Any:
        self._check(index, "read")
        found = self._data[index]
        if isinstance(found, np.ndarray) and found.ndim:
            marks = None if self._written is None else self._written[index]
            return self._view(found, marks)
        if isinstance(found, np.void):
            return Record(self, index)
        return found

    def _store(self, index: Any, value: Any) -> None:
        """Store a value at a checked index, or raise a fault if that fails."""
        if self._readonly:
            self._fault(*_constant(self._memory))
        if isinstance(value, Array):
            value = value._data
        try:
            self._data[index] = value
        except OverflowError:  # a GPU wraps around, NumPy refuses
            number = of_dtype(self._data.dtype)
            assert number is not None
            self._data[index] = cast_to(number)(value)
        except (TypeError, ValueError) as error:
            self._fault("type", f"{self._name} cannot hold this value: {error}")
        if self._written is not None:
            self._written[index] = True

    def _check(self, index: Any, verb: str) -> None:
        """Refuse an index that is out of bounds, negative or not an integer."""
        wrong = refused(self, index, verb)
        if wrong is not None:
            self._fault(*wrong)

    def as_one(self, size: int) -> AbstractContextManager[Any]:
        """Count accesses in a `with` block as a single vector access of `size` bytes.

        Here nothing is counted; a traced array overrides this.
        """
        return _NOTHING

    # What Numba provides on an array inside a kernel

    def _view(
        self, data: np.ndarray[Any, Any], written: np.ndarray[Any, Any] | None
    ) -> "Array":
        return Array(data, self._memory, self._fault, written)

    def field(self, name: str) -> "Array":
        """Return a view of one field of all records."""
        return self._view(self._data[name], self._written)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._data.shape
        return shape

    @property
    def size(self) -> int:
        return self._data.size

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._data.dtype
        return dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return self._data.strides

    @property
    def itemsize(self) -> int:
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    @property
    def T(self) -> "Array":
        return self._view(
            self._data.T, None if self._written is None else self._written.T
        )

    @property
    def flat(self) -> "Flat":
        return Flat(self)

    def reshape(self, *shape: Any) -> "Array":
        marks = None if self._written is None else self._written.reshape(*shape)
        return self._view(self._data.reshape(*shape), marks)

    def view(self, dtype: Any) -> "Array":
        data = self._data.view(as_dtype(dtype))
        same = data.shape == self._data.shape
        if not same and self._written is not None:
            self._written[...] = True  # marks do not fit the new elements: set all
        return self._view(data, self._written if same else None)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self._data)))

    # Methods that read every element: each thread that calls one reads the whole array.

    def _reduced(self, step: Callable[[Any, Any], Any], start: Any) -> Any:
        """Fold the elements into `start` with `step`; convert integers to 64 bits."""
        number = of_dtype(self.dtype)
        give = cast_to(wide(number)) if number is not None else lambda value: value
        start = give(start)
        for value in Flat(self):
            start = give(step(start, value))
        return start

    def sum(self) -> Any:
        return self._reduced(OPERATORS["add"], 0)

    def prod(self) -> Any:
        return self._reduced(OPERATORS["mul"], 1)

    def any(self) -> bool:
        return any(Flat(self))

    def all(self) -> bool:
        return all(Flat(self))

    def mean(self) -> Any:
        return OPERATORS["truediv"](self.sum(), self.size)

    def _whole_array(self, *_: Any, **__: Any) -> NoReturn:
        self._fault(
            "type",
            f"`{self._name}` is used as a whole here",
            f"A kernel works on single elements, such as `{self._name}[i]`: each "
            f"thread handles its own.",
        )

    __array__ = __array_ufunc__ = __array_function__ = _whole_array
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _whole_array
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _whole_array
    __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _whole_array
    __and__ = __or__ = __xor__ = __neg__ = __abs__ = _whole_array
    __lt__ = __le__ = __gt__ = __ge__ = _whole_array

    def __repr__(self) -> str:
        return f"<{self._space} array {self._name} {self.shape} {self.dtype}>"


Said = tuple[str, str, str]  # the kind of a fault, what happened, and why it is wrong


def refused(x: Array, index: Any, verb: str) -> Said | None:
    """Return what is wrong with an index, as the arguments of a `Fault`, or None."""
    parts = index if isinstance(index, tuple) else (index,)
    shape = x._data.shape
    axes = len(shape)
    if len(parts) > axes and ... not in parts:
        return (
            "type",
            f"`{x._name}` has {axes} dimension{'s' * (axes != 1)}, but {len(parts)} "
            "indices were given",
            "",
        )
    for axis, part in enumerate(parts):
        if part.__class__ is int:  # by far the most common
            if 0 <= part < shape[axis]:
                continue
            return _outside(x, parts, axis, verb)
        if part is ...:
            break
        if part is None or isinstance(part, (slice, str)):
            continue
        if isinstance(part, (float, np.floating)):
            return (
                "type",
                f"`{x._name}` is indexed with {float(part)!r}, which is not an integer",
                "`/` always gives a float; `//` gives an integer.",
            )
        if not 0 <= part < shape[axis]:
            return _outside(x, parts, axis, verb)
    return None


def refused_store(x: Array) -> Said | None:
    """Return what is wrong with any store to an array, or None if it allows stores."""
    return _constant(x._memory) if x._readonly else None


def _outside(x: Array, parts: tuple[Any, ...], axis: int, verb: str) -> Said:
    """Describe an index that is out of bounds along an axis."""
    shown = ", ".join(str(int(p)) if hasattr(p, "__index__") else ":" for p in parts)
    name, shape = x._name, x._data.shape
    if len(shape) == 1:
        room = f"{name} has {shape[0]} element{'s' * (shape[0] != 1)}"
        if shape[0]:
            room += f" (0 to {shape[0] - 1})"
    else:
        room = f"the shape of {name} is {shape}"
    if parts[axis] < 0:
        return (
            "negative-index",
            f"{verb}s {name}[{shown}], but {room}",
            "In Python a negative index counts from the end. In CUDA C++ it reads "
            "whatever is in memory before the array, so do not rely on it in a "
            "kernel.",
        )
    beyond = "whatever is in memory after the array"
    if len(shape) > 1:
        last = f"ends at {shape[axis] - 1}" if shape[axis] else "has no elements"
        room += f": axis {axis} {last}"
    if axis > 0:
        beyond = "another row of the array, or whatever is in memory after it"
    return (
        "out-of-bounds",
        f"{verb}s {name}[{shown}], but {room}",
        f"On a GPU nothing stops this: the access hits {beyond}.",
    )


def _constant(memory: Memory) -> Said:
    """Describe a store to memory that a kernel must not change."""
    if memory.space == "constant":
        return (
            "type",
            f"the kernel writes to {memory.name}, which is a constant to it",
            "It was made outside the kernel. Results go into an output, which is an "
            "argument.",
        )
    return (
        "input-written",
        f"the kernel writes to {memory.name}, which is an input",
        "The caller still needs it. Results belong in the output.",
    )


def nested(data: np.ndarray[Any, Any], readonly: bool) -> Any:
    """Return an array in a form that is indexed one axis at a time: `view[i][j]`.

    Rows are memoryviews or `Numbers`: they return plain numbers, round floats to the
    type of the array, and refuse an index beyond their end, but not a negative one.
    """
    if data.ndim > 1:
        return [nested(row, readonly) for row in data]
    if data.dtype.kind not in "biuf" or data.dtype == np.float16:
        return Numbers(data, readonly)
    view = data.data
    return view.toreadonly() if readonly else view


class Numbers:
    """A row of numbers that a memoryview does not support, such as float16 values."""

    __slots__ = ("_data", "_readonly")

    def __init__(self, data: np.ndarray[Any, Any], readonly: bool) -> None:
        self._data, self._readonly = data, readonly

    def __getitem__(self, i: Any) -> Any:
        return self._data[i].item()

    def __setitem__(self, i: Any, value: Any) -> None:
        if self._readonly:
            raise TypeError("cannot modify read-only memory")
        self._data[i] = value


class Flat:
    """`x.flat`: the elements of an array of any shape, in row-major order."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def _at(self, index: Any) -> Any:
        """Convert a flat index to an index of the array.

        An index out of bounds stays out of bounds.
        """
        shape = self._array.shape
        if len(shape) == 1 or not 0 <= index < self._array.size:
            return index if len(shape) == 1 else (index, *[0] * (len(shape) - 1))
        return tuple(int(k) for k in np.unravel_index(int(index), shape))

    def __getitem__(self, index: Any) -> Any:
        return self._array[self._at(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[self._at(index)] = value

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))


class Record:
    """One element of an array of structures: `p[i].x` and `p[i]["x"]` are the same.

    Only its fields are read and written, each through an array with its own strides.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Array, index: Any) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_index", index)

    def __getitem__(self, field: str) -> Any:
        return self._array.field(field)[self._index]

    def __setitem__(self, field: str, value: Any) -> None:
        self._array.field(field)[self._index] = value

    def __getattr__(self, field: str) -> Any:
        if field not in (self._array.dtype.names or ()):
            raise AttributeError(f"this record has no field {field!r}")
        return self[field]

    def __setattr__(self, field: str, value: Any) -> None:
        self[field] = value


__all__ = ["Array", "Memory", "poison", "poisoned_by"]
