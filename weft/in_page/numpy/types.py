"""The types of numbers, such as `float32`, and `dtype`, which describes one."""

import math
import numbers
import struct
from array import array
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar


class dtype:
    """The type of an array's elements: numbers of `itemsize` bytes.

    code: the format for `struct` and memoryviews; for complex numbers, the format of
    the real part and of the imaginary part.
    """

    __module__ = "numpy"
    names = fields = None
    hasobject = False
    isnative = True
    byteorder = "="
    subdtype = None

    kind: str
    itemsize: int
    name: str
    type: Any
    code: Any
    str: Any

    def __new__(cls, given: Any = float, *_: Any, **__: Any) -> "dtype":
        """Return the number type that `given` names.

        Raises TypeError if it names none.
        """
        return _dtype(given)

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    def __eq__(self, other: Any) -> bool:
        try:
            return self is _dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"dtype('{self.name}')"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return dtype, (self.name,)

    @property
    def alignment(self) -> int:
        return self.itemsize // 2 if self.kind == "c" else self.itemsize

    @property
    def char(self) -> Any:
        return self.code

    def packed(self, values: list[Any]) -> bytes:
        """Convert numbers to bytes. Integers that do not fit wrap around."""
        if self.kind == "c":
            parts = [part for v in map(complex, values) for part in (v.real, v.imag)]
            return array(self.code, parts).tobytes()
        if self.kind == "b":
            return bytes(map(bool, values))
        if self.code == "e":
            return b"".join(map(_half, values))
        try:
            return array(self.code, values).tobytes()
        except (OverflowError, TypeError):
            if self.kind == "f":
                return array(self.code, map(float, values)).tobytes()
        return array(self.code, map(self.integer, values)).tobytes()

    def unpacked(self, data: Any) -> list[Any]:
        """Return the numbers in a memoryview of bytes."""
        if self.code == "e":
            return list(struct.unpack(f"{len(data) // 2}e", data))
        found: list[Any] = data.cast(self.code).tolist()
        if self.kind == "c":
            return list(map(complex, found[::2], found[1::2]))
        return found

    def integer(self, value: Any) -> int:
        """Convert a number to this integer type, wrapping around."""
        if isinstance(value, float) and not math.isfinite(value):
            value = -(1 << 63)  # x86's result
        whole = int(value) & (1 << 8 * self.itemsize) - 1
        signed = self.kind == "i" and whole >> 8 * self.itemsize - 1
        return whole - (1 << 8 * self.itemsize) if signed else whole


def _half(value: Any) -> bytes:
    try:
        return struct.pack("e", value)
    except OverflowError:
        return struct.pack("e", math.copysign(math.inf, value))


# One number


class generic:
    """A NumPy scalar: a number with a `dtype`."""

    __module__ = "numpy"
    __slots__ = ()
    dtype: ClassVar[Any]
    shape: ClassVar[tuple[int, ...]] = ()
    ndim, size = 0, 1

    def item(self) -> Any:
        """Return the value as a Python number."""
        raise NotImplementedError

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    nbytes = itemsize

    def astype(self, kind: Any, copy: bool = True) -> Any:
        return converted(_dtype(kind), self.item())

    def view(self, kind: Any) -> Any:
        """Reinterpret the number's bytes as a number of another type of that size."""
        other = _dtype(kind)
        return other.type(other.unpacked(memoryview(self.tobytes()))[0])

    def tobytes(self) -> bytes:
        return bytes(self.dtype.packed([self.item()]))

    def tolist(self) -> Any:
        return self.item()

    def copy(self) -> Any:
        return self

    def any(self) -> Any:
        return bool_(self.item())

    all = any

    def max(self) -> Any:
        return self

    min = sum = max

    def round(self, decimals: int = 0) -> Any:
        return converted(self.dtype, round(self.item(), decimals))

    def __getitem__(self, index: Any) -> Any:
        if index == () or index is Ellipsis:
            return self
        raise IndexError("a number has no index")

    def __reduce__(self) -> Any:
        return type(self), (self.item(),)

    def __hash__(self) -> int:
        return hash(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec)

    def __str__(self) -> str:
        return str(self.item())

    def __repr__(self) -> str:
        return f"np.{self.dtype.name}({self!s})"

    def __round__(self, digits: Any = None) -> Any:
        return round(self.item(), digits)

    def __trunc__(self) -> int:
        return int(self.item())


class number(generic):
    __module__ = "numpy"
    __slots__ = ()

    @property
    def real(self) -> Any:
        return converted(self.dtype, self.item().real)

    @property
    def imag(self) -> Any:
        return converted(self.dtype, self.item().imag)


class _Held:
    """A number whose type is not derived from a Python number type."""

    __slots__ = ("_value",)
    _value: Any

    def item(self) -> Any:
        return self._value


class integer(number):
    __module__ = "numpy"
    __slots__ = ()

    def __index__(self) -> int:
        return int(self.item())

    def bit_count(self) -> int:
        return int(self.item()).bit_count()


class signedinteger(integer):
    __module__ = "numpy"
    __slots__ = ()


class unsignedinteger(integer):
    __module__ = "numpy"
    __slots__ = ()


class inexact(number):
    __module__ = "numpy"
    __slots__ = ()


class floating(inexact):
    __module__ = "numpy"
    __slots__ = ()

    def is_integer(self) -> bool:
        return float(self.item()).is_integer()


class complexfloating(inexact):
    __module__ = "numpy"
    __slots__ = ()


class flexible(generic):
    __module__ = "numpy"
    __slots__ = ()


class void(flexible):
    """NumPy's base type for structured types, none of which this package has."""

    __module__ = "numpy"
    __slots__ = ()


class bool_(_Held, generic):
    __module__ = "numpy"
    __slots__ = ()

    def __init__(self, value: Any = False) -> None:
        self._value = bool(value)


bool_.__name__ = bool_.__qualname__ = "bool"


def _whole(self: Any, value: Any = 0, *_: Any) -> None:
    """Store an integer. Raises OverflowError if a Python integer does not fit."""
    described = self.dtype
    if type(value) is int:
        fits = described.integer(value)
        if fits != value:
            raise OverflowError(
                f"Python integer {value} out of bounds for {described.name}"
            )
    elif isinstance(value, str):
        fits = described.integer(int(value))
    else:
        fits = described.integer(_plain(value))
    self._value = fits


def _rounded(self: Any, value: Any = 0.0) -> None:
    described = self.dtype
    self._value = described.unpacked(memoryview(described.packed([_float(value)])))[0]


def _float(value: Any) -> Any:
    if isinstance(value, str):
        return float(value)
    plain = _plain(value)
    try:
        return float(plain)
    except OverflowError:
        return math.copysign(math.inf, plain)


def _complex(self: Any, value: Any = 0j) -> None:
    described = self.dtype
    self._value = described.unpacked(memoryview(described.packed([_plain(value)])))[0]


def _plain(value: Any) -> Any:
    """Return a NumPy number, or the only element of an array, as a Python number."""
    item = getattr(value, "item", None)
    return value if item is None else item()


class float64(floating, float):
    __module__ = "numpy"
    __slots__ = ()

    def __new__(cls, value: Any = 0.0) -> Any:
        return float.__new__(cls, _float(value))

    def __init__(self, value: Any = 0.0) -> None: ...

    def item(self) -> float:
        return float.__float__(self)

    __float__ = item


class complex128(complexfloating, complex):
    __module__ = "numpy"
    __slots__ = ()

    def __new__(cls, value: Any = 0j) -> Any:
        return complex.__new__(cls, _plain(value))

    def item(self) -> complex:
        return complex(complex.real.__get__(self), complex.imag.__get__(self))

    @property
    def real(self) -> Any:
        return complex.real.__get__(self)

    @property
    def imag(self) -> Any:
        return complex.imag.__get__(self)


def shortest(self: Any) -> str:
    """Format a number with the fewest digits that read back as the same number."""
    value = self.item()
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if type(self)(float(text)).item() == value:
            return repr(float(text))
    return repr(value)


def _made(name: str, base: type, init: Callable[..., None]) -> type:
    members: dict[str, Any] = {
        "__module__": "numpy",
        "__slots__": (),
        "__init__": init,
    }
    if base is floating:
        members["__str__"] = shortest
    return type(name, (_Held, base), members)


_CODES = {
    **{"int8": "b", "int16": "h", "int32": "i", "int64": "q"},
    **{"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"},
    **{"float16": "e", "float32": "f", "float64": "d", "bool": "?"},
    **{"complex64": "f", "complex128": "d"},
}
_KINDS: dict[str, tuple[Any, Any]] = {
    "i": (signedinteger, _whole),
    "u": (unsignedinteger, _whole),
}
_KINDS |= {"f": (floating, _rounded), "c": (complexfloating, _complex)}
SCALARS: dict[str, Any] = {
    "bool": bool_,
    "float64": float64,
    "complex128": complex128,
}
DTYPES: dict[str, dtype] = {}


def _describe(name: str, code: str) -> dtype:
    made: dtype = object.__new__(dtype)
    made.name, made.code = name, code
    made.kind = name[0]
    made.itemsize = struct.calcsize(code) * (1 + (made.kind == "c"))
    made.str = f"{'|' if made.itemsize == 1 else '<'}{made.kind}{made.itemsize}"
    if name not in SCALARS:
        SCALARS[name] = _made(name, *_KINDS[made.kind])
    made.type = SCALARS[name]
    made.type.dtype = made
    return made


for _name, _code in _CODES.items():
    DTYPES[_name] = _describe(_name, _code)

_BY_TEXT = {d.str: d for d in DTYPES.values()}
_BY_TEXT |= {f"{d.kind}{d.itemsize}": d for d in DTYPES.values()} | DTYPES
_BY_TEXT |= {d.str.replace("|", "<"): d for d in DTYPES.values()}
_BY_TEXT |= {"?": DTYPES["bool"], "int": DTYPES["int64"], "float": DTYPES["float64"]}
_BY_TEXT |= {"b1": DTYPES["bool"], "e": DTYPES["float16"]}
_BY_TEXT |= {d.code: d for d in DTYPES.values() if d.kind != "c"}
_BY_TYPE: dict[Any, dtype] = {
    **{d.type: d for d in DTYPES.values()},
    **{bool: DTYPES["bool"], int: DTYPES["int64"]},
    **{float: DTYPES["float64"], complex: DTYPES["complex128"]},
}
BOOL, INT64, FLOAT64 = DTYPES["bool"], DTYPES["int64"], DTYPES["float64"]


def _dtype(given: Any) -> dtype:
    if type(given) is dtype:
        return given
    if given is None:
        return FLOAT64
    found = _BY_TEXT.get(given) if isinstance(given, str) else None
    if found is None and isinstance(given, type):
        found = _BY_TYPE.get(given)
    if found is None:
        described = getattr(given, "dtype", None)
        if type(described) is dtype:
            return described
        raise TypeError(f"Cannot interpret {given!r} as a data type")
    return found


def converted(described: dtype, value: Any) -> Any:
    """Convert a Python number to the type `described`. Integers wrap around."""
    if described.kind in "iu":
        value = described.integer(value)
    elif isinstance(value, complex) and described.kind != "c":
        value = value.real
    return described.type(value)


numbers.Integral.register(integer)
numbers.Real.register(floating)
numbers.Complex.register(complexfloating)


# Type promotion


@cache
def promoted(a: dtype, b: dtype) -> dtype:
    """Return the type to which NumPy promotes the types `a` and `b`."""
    if a is b or b.kind == "b":
        return a
    if a.kind == "b":
        return b
    if "c" in (a.kind, b.kind):
        real = promoted(_part(a), _part(b))
        return DTYPES["complex128" if real.itemsize == 8 else "complex64"]
    if "f" in (a.kind, b.kind):
        size = max(_as_float(a), _as_float(b))
        return DTYPES[f"float{8 * size}"]
    if a.kind == b.kind:
        return a if a.itemsize >= b.itemsize else b
    signed, other = (a, b) if a.kind == "i" else (b, a)
    if signed.itemsize > other.itemsize:
        return signed
    size = 2 * other.itemsize
    return DTYPES[f"int{8 * size}"] if size <= 8 else FLOAT64


def _part(a: dtype) -> dtype:
    return DTYPES[f"float{4 * a.itemsize}"] if a.kind == "c" else a


def _as_float(a: dtype) -> int:
    """Return the size in bytes of the float type to which type `a` is promoted."""
    return a.itemsize if a.kind == "f" else min(max(2 * a.itemsize, 2), 8)


_RANK = {bool: 0, int: 1, float: 2, complex: 3}
_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def result_type(*given: Any) -> dtype:
    """Return the type that can represent all the given types, arrays and numbers.

    Python's own numbers determine only the kind, not the width.
    """
    weak = [type(each) for each in given if type(each) in _RANK]
    typed = [_dtype(each) for each in given if type(each) not in _RANK]
    if not typed:
        return _BY_TYPE[max(weak, key=_RANK.__getitem__)]
    found = typed[0]
    for each in typed[1:]:
        found = promoted(found, each)
    kind = max(weak, key=_RANK.__getitem__, default=bool)
    if _RANK[kind] <= _RANKS[found.kind]:
        return found
    if kind is complex and found.kind == "f":
        return DTYPES["complex128" if found.itemsize == 8 else "complex64"]
    return promoted(found, _BY_TYPE[kind]) if found.kind == "b" else _BY_TYPE[kind]


class iinfo:
    """The range of an integer type."""

    __module__ = "numpy"

    def __init__(self, kind: Any) -> None:
        self.dtype = _dtype(kind)
        self.kind, self.bits = self.dtype.kind, 8 * self.dtype.itemsize
        self.min = -(1 << self.bits - 1) if self.kind == "i" else 0
        self.max = (1 << self.bits - (self.kind == "i")) - 1


class finfo:
    """The range and the precision of a floating-point type."""

    __module__ = "numpy"

    def __init__(self, kind: Any) -> None:
        self.dtype = _dtype(kind)
        self.bits = 8 * self.dtype.itemsize
        self.nmant = {16: 10, 32: 23, 64: 52}[self.bits]
        self.maxexp = {16: 16, 32: 128, 64: 1024}[self.bits]
        self.minexp = 2 - self.maxexp
        one = self.dtype.type
        self.eps = one(2.0**-self.nmant)
        self.epsneg = one(2.0 ** -(self.nmant + 1))
        largest = (2 - 2.0**-self.nmant) * 2.0 ** (self.maxexp - 1)
        self.max, self.min = one(largest), one(-largest)
        self.tiny = self.smallest_normal = one(2.0**self.minexp)
        self.smallest_subnormal = one(2.0 ** (self.minexp - self.nmant))
