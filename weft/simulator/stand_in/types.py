"""Number types, array types and signatures, as kernels and their hosts write them.

    float32(x)              a conversion
    float32[:, ::1]         the type of an array
    void(float32[:], int32) a signature, which may be a string, too

Types are values: two with the same name are equal. The rules for converting arguments,
in `converts`, are Numba's; a test compares them with Numba.
"""

import sys
from dataclasses import dataclass
from typing import Any

from weft.simulator.arithmetic import numbers
from weft.simulator.arithmetic.conversions import convert


@dataclass(frozen=True)
class Type:
    """The type of a value in a kernel."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __getitem__(self, axes: Any) -> "Array":
        """Return an array type: give `:` for each axis, `::1` for a contiguous one."""
        listed = axes if isinstance(axes, tuple) else (axes,)
        if not all(isinstance(axis, slice) for axis in listed):
            raise KeyError(f"{self}[...] takes slices, as in {self}[:, ::1]")
        first, last = listed[0].step == 1, listed[-1].step == 1
        return Array(self, len(listed), "C" if last else "F" if first else "A")

    def __call__(self, *given: Any) -> Any:
        """Convert a value, or make the signature of a function returning this type."""
        if len(given) == 1 and not isinstance(given[0], Type):
            return self._converted(given[0])
        return Signature(given, self)

    def _converted(self, value: Any) -> Any:
        raise TypeError(f"{self} converts nothing")


@dataclass(frozen=True, repr=False)
class Number(Type):
    """A number type of `bitwidth` bits.

    A conversion returns a NumPy number, which keeps its type in a kernel. If NumPy is
    not loaded, it returns a Python number rounded to that many bits.
    """

    bitwidth: int

    def _converted(self, value: Any) -> Any:
        numpy = sys.modules.get("numpy")
        return (
            self._rounded(value) if numpy is None else getattr(numpy, self.name)(value)
        )

    def _rounded(self, value: Any) -> Any:
        raise NotImplementedError


class Integer(Number):
    """An integer type."""

    @property
    def signed(self) -> bool:
        return self.name.startswith("int")

    def _rounded(self, value: Any) -> int:
        """Truncate `value`. Raises OverflowError if the type cannot hold the result."""
        whole = int(value)
        low = -(1 << self.bitwidth - 1) if self.signed else 0
        if not low <= whole < low + (1 << self.bitwidth):
            raise OverflowError(f"{whole} is out of bounds for {self}")
        return whole


class Float(Number):
    """A floating-point type."""

    def _rounded(self, value: Any) -> float:
        """Round to the nearest number of this type."""
        wide, own = numbers.FLOAT64, numbers.NUMBERS[f"f{self.bitwidth}"]
        return float(convert(float(value), wide, own))


class Complex(Number):
    """A complex type: two floating-point numbers, each with half of its bits."""

    def _rounded(self, value: Any) -> complex:
        wide, own = numbers.COMPLEX128, numbers.NUMBERS[f"c{self.bitwidth}"]
        return complex(convert(complex(value), wide, own))


class Boolean(Type):
    """The type of True and False, which Numba does not count as a number type."""

    def _converted(self, value: Any) -> bool:
        return bool(value)


class Nothing(Type):
    """The type of the result of a kernel, which returns nothing."""


@dataclass(frozen=True, repr=False)
class Tuple(Type):
    """The type of a tuple, whose values have the types `parts`."""

    parts: tuple[Type, ...] = ()


class Array(Type):
    """The type of an array in global memory. layout: "C", "F", or "A" for any."""

    def __init__(self, dtype: Type, ndim: int, layout: str) -> None:
        super().__init__(f"array({dtype}, {ndim}d, {layout})")
        vars(self).update(dtype=dtype, ndim=ndim, layout=layout)

    dtype: Type
    ndim: int
    layout: str


@dataclass(frozen=True)
class Signature:
    """The types of a function's arguments and of its result."""

    args: tuple[Any, ...]
    return_type: Type

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.args))}) -> {self.return_type}"


INTEGERS = [Integer(f"int{bits}", bits) for bits in (8, 16, 32, 64)]
INTEGERS += [Integer(f"uint{bits}", bits) for bits in (8, 16, 32, 64)]
FLOATS = {bits: Float(f"float{bits}", bits) for bits in (16, 32, 64)}
COMPLEX = [Complex(f"complex{bits}", bits) for bits in (64, 128)]
BOOLEAN, NONE = Boolean("bool"), Nothing("none")
NUMBERS: dict[str, Type] = {
    kind.name: kind for kind in (*INTEGERS, *FLOATS.values(), *COMPLEX)
}

# All types, by every name under which a file may import them.
TYPES: dict[str, Type] = {
    **NUMBERS,
    **dict.fromkeys(("boolean", "bool_", "b1"), BOOLEAN),
    **dict.fromkeys(("void", "none"), NONE),
    **{f"f{bits // 8}": FLOATS[bits] for bits in FLOATS},
    **{f"i{kind.bitwidth // 8}": kind for kind in INTEGERS if kind.signed},
    **{f"u{kind.bitwidth // 8}": kind for kind in INTEGERS if not kind.signed},
    **{f"c{kind.bitwidth // 8}": kind for kind in COMPLEX},
    "double": FLOATS[64],
    **dict.fromkeys(
        ("intp", "int_", "ssize_t", "long_", "longlong"), NUMBERS["int64"]
    ),
    **dict.fromkeys(
        ("uintp", "uint", "size_t", "ulong", "ulonglong"), NUMBERS["uint64"]
    ),
    **{
        short: NUMBERS[full]
        for short, full in (
            ("char", "int8"), ("uchar", "uint8"), ("byte", "uint8"),
            ("short", "int16"), ("ushort", "uint16"),
            ("intc", "int32"), ("uintc", "uint32"),
        )
    },
}  # fmt: skip


# The functions of `weft.meaning.Typing`


def is_signature(value: Any) -> bool:
    """Return whether a value is one signature: a string, type tuple or `void(...)`."""
    if isinstance(value, (str, Signature)):
        return True
    return isinstance(value, tuple) and all(isinstance(part, Type) for part in value)


def signature_types(signature: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the types of a signature's arguments, and its result's type or None.

    Raises TypeError if `signature` is not a signature. Evaluating a string may also
    raise other errors.
    """
    if isinstance(signature, str):
        signature = eval(signature, {"__builtins__": {}}, {**TYPES, "Array": Array})
    if isinstance(signature, Type):
        signature = (signature,)
    returned = None
    if isinstance(signature, Signature):
        returned = None if signature.return_type == NONE else signature.return_type
        signature = signature.args
    if not is_signature(signature):
        raise TypeError(f"{signature!r} is no tuple of types")
    return signature, returned


def array_type(dtype: Any, ndim: int, layout: str) -> Array:
    """Return the type of an array.

    dtype: a NumPy dtype. Raises ValueError if kernels have no such type.
    """
    return Array(_named(dtype.name), ndim, layout)


def value_type(value: Any) -> Type:
    """Return the type of a value. Raises ValueError if it has none."""
    kind = type(value)
    if kind is int:
        return NUMBERS["uint64" if value >= 1 << 63 else "int64"]
    if kind in (bool, float, complex):
        return {bool: BOOLEAN, float: FLOATS[64], complex: COMPLEX[1]}[kind]
    if kind is tuple:
        parts = tuple(map(value_type, value))
        return Tuple(f"Tuple({', '.join(map(str, parts))})", parts)
    if hasattr(value, "dtype") and not getattr(value, "shape", ()):
        return _named(value.dtype.name)
    raise ValueError(f"no type for {value!r}")


def _named(name: str) -> Type:
    """Return the type that NumPy calls `name`. Raises ValueError if there is none."""
    found = TYPES.get({"bool": "boolean"}.get(name, name))
    if found is None:
        raise ValueError(f"a kernel has no {name}")
    return found


def converts(given: Any, declared: Any) -> bool:
    """Return whether a launch converts an argument of type `given` to `declared`."""
    if isinstance(given, Array) and isinstance(declared, Array):
        same = (given.dtype, given.ndim) == (declared.dtype, declared.ndim)
        return same and declared.layout in ("A", given.layout)
    if isinstance(given, Tuple) and isinstance(declared, Tuple):
        same = len(given.parts) == len(declared.parts)
        return same and all(map(converts, given.parts, declared.parts))
    numbers = Number, Boolean
    if not (isinstance(given, numbers) and isinstance(declared, numbers)):
        return bool(given == declared)
    if isinstance(given, Complex):
        return isinstance(declared, Complex)
    return not (isinstance(given, Float) and isinstance(declared, Integer))
