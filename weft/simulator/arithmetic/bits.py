"""The bits of numbers: rounding floats, truncating integers, reinterpreting bits.

A float of any width is a Python float; a float32 or float16 always has a value that its
type can represent. A NaN keeps its sign and as much of its payload as fits.
"""

import struct
from collections.abc import Callable
from functools import cache
from math import copysign, inf

# One buffer, viewed as numbers of several types.
_FOUR, _EIGHT, _TWO = bytearray(4), bytearray(8), bytearray(2)
_FLOAT32 = memoryview(_FOUR).cast("f")
_INT32, _UINT32 = memoryview(_FOUR).cast("i"), memoryview(_FOUR).cast("I")
_FLOAT64 = memoryview(_EIGHT).cast("d")
_INT64, _UINT64 = memoryview(_EIGHT).cast("q"), memoryview(_EIGHT).cast("Q")
_UINT16 = memoryview(_TWO).cast("H")
# A value stored here is rounded to float32, as fast as Python can do it.
FOUR_SINGLES = memoryview(bytearray(16)).cast("f")
_HALF = struct.Struct("e")
_pack, _unpack, _pack_into = _HALF.pack, _HALF.unpack, _HALF.pack_into

_NAN64 = 0x7FF << 52
_CUT = 42  # bits of a float64's fraction that a float16 lacks


# Rounding floats: to nearest, ties to even; what is too large becomes infinite


def round32(x: float) -> float:
    """Round a float, or an integer of at most 53 bits, to the nearest float32."""
    _FLOAT32[0] = x
    return _FLOAT32[0]


def round16(x: float) -> float:
    """Round a float to the nearest float16, in one step."""
    if x != x:
        return float_of16(bits_of16(x))
    try:
        return _unpack(_pack(x))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return copysign(inf, x)


def round_complex(z: complex) -> complex:
    """Round a complex number to the nearest complex64."""
    _FLOAT32[0] = z.real
    real = _FLOAT32[0]
    _FLOAT32[0] = z.imag
    return complex(real, _FLOAT32[0])


# Truncating integers


def wrap8(x: int) -> int:
    return x if -0x80 <= x <= 0x7F else (x + 0x80 & 0xFF) - 0x80


def wrap16(x: int) -> int:
    return x if -0x8000 <= x <= 0x7FFF else (x + 0x8000 & 0xFFFF) - 0x8000


def wrap32(x: int) -> int:
    if -0x8000_0000 <= x <= 0x7FFF_FFFF:
        return x
    return (x + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def wrap64(x: int) -> int:
    if -0x8000_0000_0000_0000 <= x <= 0x7FFF_FFFF_FFFF_FFFF:
        return x
    return (x + 0x8000_0000_0000_0000 & 0xFFFF_FFFF_FFFF_FFFF) - 0x8000_0000_0000_0000


def cut8(x: int) -> int:
    return x & 0xFF


def cut16(x: int) -> int:
    return x & 0xFFFF


def cut32(x: int) -> int:
    return x & 0xFFFF_FFFF


def cut64(x: int) -> int:
    return x & 0xFFFF_FFFF_FFFF_FFFF


# Reinterpreting the bits of a float as an integer, and back


def int_of32(x: float) -> int:
    """Return the bits of a float32 as an int32."""
    _FLOAT32[0] = x
    return _INT32[0]


def bits_of32(x: float) -> int:
    """Return the bits of a float32 as a uint32."""
    _FLOAT32[0] = x
    return _UINT32[0]


def float_of32(bits: int) -> float:
    """Return the float32 whose bits are `bits`, given as an int32 or a uint32."""
    _UINT32[0] = bits & 0xFFFF_FFFF
    return _FLOAT32[0]


def int_of64(x: float) -> int:
    """Return the bits of a float64 as an int64."""
    _FLOAT64[0] = x
    return _INT64[0]


def bits_of64(x: float) -> int:
    """Return the bits of a float64 as a uint64."""
    _FLOAT64[0] = x
    return _UINT64[0]


def float_of64(bits: int) -> float:
    """Return the float64 whose bits are `bits`, given as an int64 or a uint64."""
    _UINT64[0] = bits & 0xFFFF_FFFF_FFFF_FFFF
    return _FLOAT64[0]


# float16, for which a memoryview has no format before Python 3.12: its elements are
# read and written as uint16


def bits_of16(x: float) -> int:
    """Return the bits of the float16 nearest to a float."""
    if x != x:
        whole = bits_of64(x)
        return whole >> 48 & 0x8000 | 0x7C00 | (whole >> _CUT & 0x3FF or 1)
    try:
        _pack_into(_TWO, 0, x)
    except OverflowError:
        return 0x7C00 if x > 0 else 0xFC00
    return _UINT16[0]


def float_of16(bits: int) -> float:
    """Return the float16 whose bits are `bits`, given as an int16 or a uint16."""
    return all_float16()[bits & 0xFFFF]


@cache
def all_float16() -> list[float]:
    """Return a list of all float16 values, indexed by their bits."""
    found = list(struct.unpack("65536e", struct.pack("65536H", *range(0x10000))))
    for bits in (*range(0x7C01, 0x8000), *range(0xFC01, 0x10000)):
        sign, payload = bits & 0x8000, bits & 0x3FF
        found[bits] = float_of64(sign << 48 | _NAN64 | payload << _CUT)
    return found


# `libdevice`'s names, with the types of argument and result
SAME_BITS: dict[str, tuple[str, str, Callable[..., float]]] = {
    "float_as_int": ("f32", "i32", int_of32),
    "float_as_uint": ("f32", "u32", bits_of32),
    "int_as_float": ("i32", "f32", float_of32),
    "uint_as_float": ("u32", "f32", float_of32),
    "double_as_longlong": ("f64", "i64", int_of64),
    "longlong_as_double": ("i64", "f64", float_of64),
}
