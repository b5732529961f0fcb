"""Arrays over plain memory, as a translated kernel indexes them.

Memory is a `memoryview` of bytes: natively NumPy lends it, elsewhere it is a bytearray.
An array of one dimension is seen as a memoryview of its numbers, one of two as a list
of such rows: `view[i][j]` then checks both indices at their upper ends, in C.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from weft.simulator.arithmetic.numbers import Number

# Formats of `struct` and `memoryview`, by the name of a type of number.
FORMATS = {
    **{"b": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I"},
    **{"i64": "q", "u64": "Q", "f16": "e", "f32": "f", "f64": "d"},
}

# Poison: what memory holds before it is written. Quiet NaNs whose payload says where
# they came from, as arithmetic hands the payload on; an unlikely integer.
_PAYLOADS = {"global": 0x0BAD, "shared": 0x5AFE, "local": 0x10CA}
_INTEGER_POISON = 0x5EEDBEEF


def size_of(number: Number) -> int:
    """How many bytes a number takes in memory."""
    return max(number.bits // 8, 1)


def poison(number: Number, space: str) -> bytes:
    """The bytes of a number that no thread has written to memory of this space."""
    size, payload = size_of(number), _PAYLOADS[space]
    if number.kind == "b":
        return b"\x01"
    if number.kind in "iu":
        low = _INTEGER_POISON & (1 << 8 * size) - 1
        return low.to_bytes(size, "little")
    bits = {
        2: 0x7E00,
        4: 0x7FC00000 | payload,
        8: 0x7FF8000000000000 | payload << 29,
    }[size]
    return bits.to_bytes(size, "little")


def poisoned_by(value: Any) -> str | None:
    """The memory space whose poison `value` carries, None if it carries none.

    A float32 that became a Python float has its payload 29 bits higher.
    """
    if not isinstance(value, float) or value == value:
        return None
    payload = struct.unpack("<Q", struct.pack("<d", value))[0] >> 29 & 0xFFFF
    return next((s for s, p in _PAYLOADS.items() if p == payload), None)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a kernel's array is, whatever part of it is seen.

    `name` is what the kernel calls it, `space` the memory it is in: 'global', 'shared',
    'local' or 'constant'. `base` is the address of its first byte in that space. Of a
    `loose` one nothing says that it begins on a boundary of 16 bytes.
    """

    name: str
    space: str
    base: int = 0
    readonly: bool = False
    loose: bool = False


class Misused(TypeError):
    """An array used in a way that no kernel can."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(message)
        self.message, self.why = message, why


class Array:
    """A view of memory as numbers of one type.

    `data` are the bytes of the whole piece of memory, `offset` where the view begins
    in it, `steps` from one element to the next along each axis, all in bytes. `view`
    is what is indexed; `first` the number of the first element in its memory space,
    counted in elements.
    """

    __slots__ = tuple(
        "data first memory number offset shape steps strides view".split()
    )

    def __init__(
        self,
        data: memoryview,
        offset: int,
        shape: tuple[int, ...],
        steps: tuple[int, ...],
        number: Number,
        memory: Memory,
    ) -> None:
        self.data, self.offset, self.shape, self.steps = data, offset, shape, steps
        self.number, self.memory = number, memory
        size = size_of(number)
        self.first = (memory.base + offset) // size
        self.strides = tuple(step // size for step in steps)

    def __getattr__(self, name: str) -> Any:
        if name != "view":
            raise AttributeError(name)
        self.view = nested(self)
        return self.view

    # What Numba gives an array inside a kernel

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return size_of(self.number)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def contiguous(self) -> bool:
        return self.steps == contiguous(self.shape, self.itemsize)

    def part(self, index: tuple[Any, ...]) -> "Array":
        """The view that integers and slices, fewer than the axes or as many, leave."""
        offset, shape, steps = self.offset, [], []
        for axis, step in enumerate(self.steps):
            at = index[axis] if axis < len(index) else slice(None)
            if isinstance(at, slice):
                start, stop, by = at.indices(self.shape[axis])
                shape.append(len(range(start, stop, by)))
                steps.append(step * by)
                offset += start * step
            else:
                offset += at * step
        return self._as(offset, tuple(shape), tuple(steps))

    def _as(
        self, offset: int, shape: tuple[int, ...], steps: tuple[int, ...]
    ) -> "Array":
        return Array(self.data, offset, shape, steps, self.number, self.memory)

    @property
    def T(self) -> "Array":
        return self._as(self.offset, self.shape[::-1], self.steps[::-1])

    def reshape(self, *shape: Any) -> "Array":
        """The same elements in another shape; Numba has it for contiguous arrays."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if not self.contiguous:
            raise Misused("reshape() supports contiguous array only", "")
        if -1 in sizes:
            known = -math.prod(sizes)
            sizes = tuple(self.size // known if s == -1 else s for s in sizes)
        if math.prod(sizes) != self.size:
            raise ValueError("total size of new array must be unchanged")
        return self._as(self.offset, sizes, contiguous(sizes, self.itemsize))

    def seen_as(self, number: Number) -> "Array":
        """The same bytes as numbers of another type."""
        old, new = self.itemsize, size_of(number)
        if self.steps[-1] != old or self.shape[-1] * old % new:
            raise ValueError("the last axis must be contiguous and fit the new type")
        shape = *self.shape[:-1], self.shape[-1] * old // new
        steps = *self.steps[:-1], new
        return Array(self.data, self.offset, shape, steps, number, self.memory)

    def __len__(self) -> int:
        return self.shape[0]

    def get(self, index: tuple[int, ...]) -> Any:
        found = self.view
        for at in index:
            found = found[at]
        return found

    def put(self, index: tuple[int, ...], value: Any) -> None:
        row = self.view
        for at in index[:-1]:
            row = row[at]
        row[index[-1]] = value

    def element(self, index: tuple[int, ...]) -> int:
        """The number of an element in its memory space, counted in elements."""
        return self.first + sum(
            at * stride for at, stride in zip(index, self.strides, strict=True)
        )

    def numbers(self) -> Iterator[Any]:
        """All elements, in order."""
        return flattened(self.view, len(self.shape))

    def __repr__(self) -> str:
        where, name = self.memory.space, self.memory.name
        return f"<{where} array {name} {self.shape} {self.number}>"

    def _whole_array(self, *_: Any) -> NoReturn:
        name = self.memory.name
        raise Misused(
            f"`{name}` is used as a whole here",
            f"A kernel works on single elements, such as `{name}[i]`: each thread "
            "handles its own.",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _whole_array
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _whole_array
    __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _whole_array
    __and__ = __or__ = __xor__ = __neg__ = __abs__ = _whole_array
    __lt__ = __le__ = __gt__ = __ge__ = _whole_array


def flattened(view: Any, axes: int) -> Iterator[Any]:
    if axes == 1:
        yield from view
        return
    for row in view:
        yield from flattened(row, axes - 1)


def contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The steps, in bytes, of an array whose elements lie side by side, by rows."""
    steps = []
    for length in reversed(shape):
        steps.append(size)
        size *= length
    return tuple(reversed(steps))


def fresh(shape: tuple[int, ...], number: Number, memory: Memory) -> Array:
    """New memory, which no thread has written: poisoned."""
    data = bytearray(poison(number, memory.space) * math.prod(shape))
    steps = contiguous(shape, size_of(number))
    return Array(memoryview(data), 0, shape, steps, number, memory)


def nested(x: Array) -> Any:
    """What is indexed of an array: numbers, or rows of them, or rows of rows."""
    data = x.data.toreadonly() if x.memory.readonly else x.data
    return _rows(data, x.offset, x.shape, x.steps, x.number)


def _rows(
    data: memoryview,
    offset: int,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    number: Number,
) -> Any:
    if len(shape) > 1:
        return [
            _rows(data, offset + i * steps[0], shape[1:], steps[1:], number)
            for i in range(shape[0])
        ]
    (count,), (step,), size = shape, steps, size_of(number)
    code = FORMATS[number.name]
    if not count:
        return data[:0].cast(code)
    if step % size or not step or code == "e":
        return Strided(data, offset, count, step, code)
    if step == size:
        return data[offset : offset + count * size].cast(code)
    low = min(offset, offset + (count - 1) * step)
    high = max(offset, offset + (count - 1) * step) + size
    return data[low:high].cast(code)[:: step // size]


class Strided:
    """Numbers that a memoryview cannot show: any step, and half precision."""

    __slots__ = "_code", "_count", "_data", "_offset", "_step"

    def __init__(
        self, data: memoryview, offset: int, count: int, step: int, code: str
    ) -> None:
        self._data, self._offset, self._count = data, offset, count
        self._step, self._code = step, struct.Struct(code)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> Any:
        if not 0 <= i < self._count:
            raise IndexError("index out of bounds")
        return self._code.unpack_from(self._data, self._offset + i * self._step)[0]

    def __setitem__(self, i: int, value: Any) -> None:
        if not 0 <= i < self._count:
            raise IndexError("index out of bounds")
        try:
            self._code.pack_into(self._data, self._offset + i * self._step, value)
        except OverflowError:  # of a float16
            value = math.copysign(math.inf, value)
            self._code.pack_into(self._data, self._offset + i * self._step, value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._count))
