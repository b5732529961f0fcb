"""Numeric functions of `cuda`, `cuda.fp16` and `libdevice`, on Python numbers.

Each of `of_cuda("popc", INT32)`, `of_half("hadd", FLOAT16, FLOAT16)` and
`of_libdevice("sqrtf", FLOAT32)` returns the `Operation` that computes the function.
"""

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import cbrt, fsum, inf, isfinite
from typing import Any

from weft.simulator.arithmetic.bits import SAME_BITS, round32
from weft.simulator.arithmetic.conversions import Conversion, conversion
from weft.simulator.arithmetic.mathematics import (
    ONE,
    PARTS,
    TESTS,
    TWO,
    ceil,
    computed,
    cosine,
    cut,
    exp10,
    exponential,
    exponential2,
    floor,
    logarithm,
    logarithm2,
    logarithm10,
    nearest,
    root,
    rsqrt,
    sine,
)
from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    NUMBERS,
    UINT64,
    Number,
    rule_of_one,
)
from weft.simulator.arithmetic.operations import Operation, quotient
from weft.simulator.arithmetic.python_functions import greatest, least

# cuda


@cache
def of_cuda(name: str, *given: Number) -> Operation | None:
    """Return the `Operation` for a function of `cuda`, or None if Numba lacks it."""
    if name == "fma" and len(given) == 3:
        return _fused(given)
    if len(given) != 1 or name not in (*_ON_BITS, "cbrt"):
        return None
    rule = rule_of_one(f"cuda.{name}", given[0])
    if rule is None:
        return None
    converts = (conversion(given[0], rule.operands[0]),)
    if name == "cbrt":
        rounds = None if rule.result is FLOAT64 else rule.result
        return Operation(rule.results, cbrt, converts, "", rounds)
    if not given[0].whole:
        return None  # Numba converts it to an int8, which is never intended
    return Operation(rule.results, _ON_BITS[name](given[0]), converts)


def _popc(number: Number) -> Callable[[int], int]:
    """Return a function that counts the set bits of a number of type `number`."""
    mask = _mask(number)
    return lambda x: (x & mask).bit_count()


def _clz(number: Number) -> Callable[[int], int]:
    """Return a function that counts the zero bits above the highest set bit."""
    mask, bits = _mask(number), _signed(number).bits
    return lambda x: bits - (x & mask).bit_length()


def _ffs(number: Number) -> Callable[[int], int]:
    """Return a function that gives the position of the lowest set bit, from 1 up.

    For a number without a set bit it gives 0.
    """
    return lambda x: (x & -x).bit_length()


def _brev(number: Number) -> Callable[[int], int]:
    """Return a function that reverses the bits of a number as Numba does.

    It reverses 64 bits of a uint64, and 32 bits of any other type.
    """
    form = f"{{:0{64 if number is UINT64 else 32}b}}".format
    return lambda x: int(form(x)[::-1], 2)


def _signed(number: Number) -> Number:
    return NUMBERS["i8"] if number is BOOL else number


def _mask(number: Number) -> int:
    return (1 << _signed(number).bits) - 1


_ON_BITS: dict[str, Callable[[Number], Callable[[int], int]]] = {
    **{"popc": _popc, "clz": _clz, "ffs": _ffs, "brev": _brev},
}


# Fused multiply-add: one rounding for a product and a sum


def _fused(given: tuple[Number, ...]) -> Operation | None:
    rules = [rule_of_one("cuda.cbrt", number) for number in given]
    takes = [rule.result for rule in rules if rule is not None]
    if len(takes) < 3:
        return None
    number = FLOAT64 if FLOAT64 in takes else FLOAT32
    converts = tuple(conversion(n, number) for n in given)
    return _fma(number, converts)


def _fma(number: Number, converts: tuple[Conversion | None, ...]) -> Operation:
    if number is FLOAT32:
        return Operation((number,), _product_and_sum, converts, "", number)
    return Operation((number,), fma, converts)


def _product_and_sum(a: float, b: float, c: float) -> float:
    """Compute `a * b + c` for float32 values in float64, where the product is exact.

    The sum is rounded to float64 first, so the float32 result may be rounded twice.
    """
    return a * b + c


def fma(a: float, b: float, c: float) -> float:
    """Compute `a * b + c` for float64 values with a single rounding.

    The product is split exactly into two float64s (Dekker, "A floating-point technique
    for extending the available precision", 1971), and `fsum` adds these and `c` with
    one rounding. If the parts might leave the range of a float64, fractions are used
    instead.
    """
    whole = a * b
    if not (1e-200 < abs(whole) < 1e200 and abs(c) < 1e300):
        return _at_the_limits(a, b, c)
    if not (1e-250 < abs(a) < 1e250 and 1e-250 < abs(b) < 1e250):
        return _at_the_limits(a, b, c)
    high, up = a * 134217729.0, b * 134217729.0  # 2^27 + 1
    high, up = high - (high - a), up - (up - b)
    low, down = a - high, b - up
    error = low * down - (((whole - high * up) - low * up) - high * down)
    return fsum((whole, error, c))


def _at_the_limits(a: float, b: float, c: float) -> float:
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return c if isfinite(a) and isfinite(b) else a * b + c
    if not a or not b:
        return a * b + c
    if not c:
        return a * b
    from fractions import Fraction  # its import is slow, and it is seldom needed

    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        found = float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf
    return found or (-0.0 if exact < 0 else 0.0)


# cuda.fp16


def _is(name: str) -> Operation:
    return Operation((BOOL,), getattr(operator, name))


def _half(function: Callable[..., Any], exact: bool = False) -> Operation:
    return Operation((FLOAT16,), function, (), "", None if exact else FLOAT16)


HALF: dict[str, Operation] = {
    **{f"h{n}": _half(getattr(operator, n)) for n in ("add", "sub", "mul")},
    **{"hdiv": _half(quotient), "hfma": _half(_product_and_sum)},
    **{"hneg": _half(operator.neg, True), "habs": _half(abs, True)},
    **{"hsin": _half(sine), "hcos": _half(cosine), "hlog": _half(logarithm)},
    **{"hlog2": _half(logarithm2), "hlog10": _half(logarithm10)},
    **{"hexp": _half(exponential), "hexp2": _half(exponential2)},
    **{"hexp10": _half(exp10), "hsqrt": _half(root), "hrsqrt": _half(rsqrt)},
    "hrcp": _half(lambda x: quotient(1.0, x)),
    **{"hceil": _half(ceil, True), "hfloor": _half(floor, True)},
    **{"htrunc": _half(cut, True), "hrint": _half(nearest, True)},
    **{f"h{name}": _is(name) for name in ("eq", "ne", "ge", "gt", "le", "lt")},
    **{"hmax": _half(greatest, True), "hmin": _half(least, True)},
}
_OPERANDS = dict.fromkeys("hadd hsub hmul hdiv heq hne hge hgt hle hlt".split(), 2)
_OPERANDS |= {"hmax": 2, "hmin": 2, "hfma": 3}


@cache
def of_half(name: str, *given: Number) -> Operation | None:
    """Return the `Operation` for a function of `cuda.fp16`; None if Numba lacks it."""
    found = HALF.get(name)
    if found is None or len(given) != _OPERANDS.get(name, 1):
        return None
    if any(number.kind == "c" for number in given):
        return None
    converts = tuple(conversion(number, FLOAT16) for number in given)
    return Operation(found.results, found.function, converts, "", found.rounds)


# libdevice


def _rsqrt32(x: float) -> float:
    return quotient(1.0, round32(root(x)))


# with the number of arguments
_OF_DEVICE: dict[str, tuple[int, Callable[..., float]]] = {
    **{"cbrt": (1, cbrt), "exp10": (1, exp10), "rsqrt": (1, rsqrt)},
    **{"rint": (1, nearest), "rcp": (1, lambda x: quotient(1.0, x))},
    **{"fdivide": (2, quotient), "fmax": (2, greatest), "fmin": (2, least)},
}
_TESTS = {f"{name}{end}": name for name in ("isnan", "isinf") for end in "df"}
_TESTS |= {"finitef": "isfinite", "isfinited": "isfinite"}
_STEMS = {*_OF_DEVICE, *ONE, *TWO, *PARTS, "ldexp", "fma"}


@cache
def of_libdevice(name: str, *given: Number) -> Operation | None:
    """Return the `Operation` for a libdevice function, or None if none takes `given`.

    `fast_expf` and `expf` are the same here: there is no reduced precision.
    """
    takes, operation = _of_device(name)
    if len(takes) != len(given) or any(number.kind == "c" for number in given):
        return None
    converts = tuple(conversion(n, to) for n, to in zip(given, takes, strict=True))
    return replace(operation, converts=converts)


def in_libdevice(name: str) -> bool:
    """Return whether the simulator has the libdevice function `name`."""
    return bool(_of_device(name)[0])


_Typed = tuple[tuple[Number, ...], Operation]
_NOTHING: _Typed = (), Operation((), abs)


def _of_device(name: str) -> _Typed:
    """Return a libdevice function's parameter types and operation, or `_NOTHING`."""
    if name in SAME_BITS:
        takes, gives, function = SAME_BITS[name]
        return (NUMBERS[takes],), Operation((NUMBERS[gives],), function)
    if name in _TESTS:
        test = TESTS[_TESTS[name]]
        wide = FLOAT32 if name.endswith("f") else FLOAT64
        return (wide,), Operation((INT32,), lambda x: +test(x))
    return _by_stem(*_width(name.removeprefix("fast_")))


def _width(name: str) -> tuple[str, Number]:
    """Return a name without its suffix "f", and the type that the name implies.

    An "f" that belongs to the name, as in "erf", is kept.
    """
    if name in _STEMS:
        return name, FLOAT64
    return name.removesuffix("f"), FLOAT32


def _by_stem(stem: str, wide: Number) -> _Typed:
    narrow = wide is FLOAT32
    if stem not in _STEMS:
        return _NOTHING
    if stem == "fma":
        return (wide,) * 3, _fma(wide, (None,) * 3)
    if stem == "ldexp":
        return (wide, INT32), computed(stem, (wide,), ())
    if stem in PARTS:
        both = wide, INT32 if stem == "frexp" else wide
        return (wide,), computed(stem, both, ())
    if stem not in _OF_DEVICE:
        return (wide,) * (1 if stem in ONE else 2), computed(stem, (wide,), ())
    count, function = _OF_DEVICE[stem]
    if stem == "rsqrt" and narrow:
        function = _rsqrt32
    exact = stem in ("rint", "fmax", "fmin") or not narrow
    rounds = None if exact else wide
    return (wide,) * count, Operation((wide,), function, (), "", rounds)
