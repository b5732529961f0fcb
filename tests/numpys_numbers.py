"""Arithmetic on NumPy's numbers, with which the simulator's is compared.

Values are NumPy's, which show their types, but for Python's integers, which are int64,
and Booleans.
"""

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from weft.simulator.arithmetic.numbers import (
    BOOL,
    FLOAT64,
    INT64,
    NUMBERS,
    UINT32,
    UINT64,
    Number,
    Rule,
    number_of,
    rule_of_one,
    rule_of_two,
    unified,
)
from weft.simulator.arithmetic.operations import COMPARISONS, SYMBOLS

_EXACT = 1 << 53  # every integer up to here is a float64
_SIGN, _WIDTH = 1 << 63, 1 << 64


def wrapped(value: int) -> int:
    """An integer as 64 bits with a sign hold it."""
    return value if -_SIGN <= value < _SIGN else (value + _SIGN) % _WIDTH - _SIGN


def _int64(value: Any) -> int:
    if isinstance(value, (float, np.floating)):
        return _whole(value, 64, True)
    return wrapped(int(value))


def _whole(value: Any, bits: int, signed: bool) -> int:
    """A float as an integer of so many bits."""
    low = -(1 << bits - 1) if signed else 0
    high = (1 << bits - signed) - 1
    if value != value:
        return (
            0 if bits < 64 and isinstance(value, np.float32) else low or high // 2 + 1
        )
    if value <= low:
        return low
    return min(int(value), high) if value < 2.0**bits else high


def _integer(number: Number) -> Callable[[Any], Any]:
    """The conversion to an integer type other than int64.

    There is no conversion from a float to 8 bits: it goes through 16.
    """
    kind, mask = number.dtype.type, (1 << number.bits) - 1
    signed, sign = number.kind == "i", 1 << number.bits - 1
    through = max(number.bits, 16)

    def cast(value: Any) -> Any:
        if value.__class__ is kind:
            return value
        if isinstance(value, (float, np.floating)):
            value = _whole(value, through, signed)
        value = int(value) & mask
        return kind(value - 2 * sign if signed and value & sign else value)

    return cast


def _floating(number: Number) -> Callable[[Any], Any]:
    """The conversion to a float: one rounding, also of a large integer."""
    kind = number.dtype.type

    def cast(value: Any) -> Any:
        if isinstance(value, int) and not -_EXACT <= value <= _EXACT:
            wide = np.int64 if value < _SIGN else np.uint64
            return wide(value).astype(kind)
        return kind(value)

    return cast


def _boolean(value: Any) -> bool:
    return bool(value != 0)


@cache
def cast_to(number: Number) -> Callable[[Any], Any]:
    """The function that converts a value to `number`.

    An int64 is a Python integer, a Boolean Python's; every other number is NumPy's.
    """
    if number is INT64:
        return _int64
    if number.kind == "b":
        return _boolean
    return _integer(number) if number.whole else _floating(number)


Two = Callable[[Any, Any], Any]
One = Callable[[Any], Any]

_MOST_MULTIPLIED = 0x10000  # a larger exponent goes through `math.pow`
_LOWEST = -(1 << 63)


def _floordiv(a: int, b: int) -> int:
    return 0 if b == 0 or (a == _LOWEST and b == -1) else a // b


def _mod(a: int, b: int) -> int:
    return 0 if b == 0 or (a == _LOWEST and b == -1) else a % b


def _lshift(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _rshift(a: int, b: int) -> int:
    if 0 <= b < 64:
        return a >> b
    return -1 if a < 0 else 0


_WHOLE: dict[str, Callable[[int, int], int]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul")},
    **{name: getattr(operator, name) for name in ("and_", "or_", "xor")},
    **{"floordiv": _floordiv, "mod": _mod, "lshift": _lshift, "rshift": _rshift},
}
_REAL: dict[str, Two] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv")},
    **{name: getattr(operator, name) for name in COMPARISONS},
}


def _quotient(a: Any, b: Any) -> Any:
    """`a // b` of two floats: rounded down, as C's `fmod` leaves it to be."""
    return np.floor_divide(a, b) if b != 0 else a / b


def _remainder(a: Any, b: Any) -> Any:
    """`a % b` of two floats: with the sign of `b`."""
    return np.mod(a, b) if b != 0 else np.fmod(a, b)


def _multiplied(base: Any, exponent: int, one: Any) -> Any:
    """`base ** exponent` by squaring, as Numba unrolls or loops it."""
    result = one
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        base = base * base
    return result


def _whole_power(base: int, exponent: int, number: Number) -> int:
    """`base ** exponent` of integers; see Numba's `int_power_impl`."""
    if exponent < 0:
        if base == 0:
            return _LOWEST
        if base not in (1, -1):
            return 0
        exponent = -exponent
    if exponent > _MOST_MULTIPLIED:
        with np.errstate(all="ignore"):
            return int(
                cast_to(number)(np.power(np.float64(base), np.float64(exponent)))
            )
    if exponent < 64:
        return int(base**exponent)
    return pow(base, exponent, 1 << 64)


def _real_power(a: Any, b: Any) -> Any:
    """A float to the power of a float, or of an integer by multiplying."""
    if isinstance(b, (int, np.integer)):
        kind, exponent = type(a), int(b)
        if abs(exponent) > _MOST_MULTIPLIED:
            return np.power(a, kind(exponent))
        result = _multiplied(a, abs(exponent), kind(1))
        return kind(1) / result if exponent < 0 else result
    return np.power(a, b)


@cache
def binary(name: str, a: Number, b: Number) -> Two | None:
    """The function for `a name b`, None where Numba has none."""
    rule = rule_of_two(name, a, b)
    if rule is None:
        return None
    first, second = (cast_to(operand) for operand in rule.operands)
    result = rule.result
    if name in COMPARISONS:
        compare: Two = getattr(operator, name)
        return lambda x, y: bool(compare(first(x), second(y)))
    if not result.whole:
        if name == "truediv" and rule.operands[0].whole:
            first = second = cast_to(FLOAT64)
        real = _REAL.get(name) or {
            "floordiv": _quotient,
            "mod": _remainder,
            "pow": _real_power,
        }.get(name)
        assert real is not None
        return lambda x, y: real(first(x), second(y))
    give = cast_to(result)
    if result.kind == "b":
        both: Two = _WHOLE[name]
        return lambda x, y: bool(both(bool(x), bool(y)))
    if name == "pow":
        return lambda x, y: give(_whole_power(int(x), int(y), result))
    whole = _WHOLE[name]
    if result is INT64:
        if (a.kind == "u" and a.bits == 64) or (b.kind == "u" and b.bits == 64):
            return lambda x, y: wrapped(whole(wrapped(int(x)), wrapped(int(y))))
        return lambda x, y: wrapped(whole(int(x), int(y)))
    return lambda x, y: give(whole(int(x), int(y)))


@cache
def unary(name: str, a: Number) -> One | None:
    """The function for an operator of one number: "neg", "pos", "invert", "not_"."""
    rule = rule_of_one(name, a)
    if rule is None:
        return None
    if a.kind == "b" and name == "invert":
        return operator.not_
    if name == "not_":
        return operator.not_
    apply: One = getattr(operator, name)
    give = cast_to(rule.result)
    if not a.whole:
        return lambda x: apply(give(x))
    if a.kind == "b":
        return lambda x: apply(int(x))
    narrow = cast_to(a)  # negated and inverted before they are widened
    return lambda x: give(int(narrow(apply(int(x)))))


def _either(name: str) -> Two:
    """The operator for whatever it meets; Python's own for what is no number."""
    plain: Two = getattr(operator, name)

    def apply(a: Any, b: Any) -> Any:
        of_a, of_b = number_of(a), number_of(b)
        if of_a is None or of_b is None:
            return plain(a, b)
        function = binary(name, of_a, of_b)
        return plain(a, b) if function is None else function(a, b)

    return apply


BINARY: dict[str, Two] = {name: _either(name) for name in SYMBOLS}


Function = Callable[..., Any]


def _scalar(function: Callable[[float], float]) -> Function:
    """A function that NumPy does not have, worked out in double precision."""

    def apply(value: Any) -> Any:
        try:
            return type(value)(function(float(value)))
        except (ValueError, OverflowError):
            return type(value)(np.nan)

    return apply


def _gamma(value: float) -> float:
    try:
        return math.gamma(value)
    except OverflowError:
        return math.inf
    except ValueError:  # at 0 and the negative integers
        return math.copysign(math.inf, value) if value == 0 else math.nan


def _lgamma(value: float) -> float:
    try:
        return math.lgamma(value)
    except (OverflowError, ValueError):
        return math.inf


def _frexp(value: Any) -> tuple[Any, Any]:
    fraction, exponent = np.frexp(value)
    return fraction, np.int32(exponent)


def _modf(value: Any) -> tuple[Any, Any]:
    fraction, whole = np.modf(value)
    return fraction, whole


_ONE: dict[str, Function] = {
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "sin", "tan")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("cosh", "sinh", "tanh")},
    **{
        name: getattr(np, name)
        for name in tuple(
            (
                "cos cosh sin sinh tan tanh exp exp2 expm1 log log10 log1p log2 "
                "sqrt fabs floor ceil trunc degrees radians"
            ).split()
        )
    },
    "erf": _scalar(math.erf),
    "erfc": _scalar(math.erfc),
    "gamma": _scalar(_gamma),
    "lgamma": _scalar(_lgamma),
    "frexp": _frexp,
    "modf": _modf,
}
_TESTS: dict[str, Function] = {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
}


def _power(a: Any, b: Any) -> Any:
    return np.power(a, type(a)(b))


_TWO: dict[str, tuple[str, Function]] = {
    "atan2": ("atan2", np.arctan2),
    "copysign": ("copysign", np.copysign),
    "fmod": ("fmod", np.fmod),
    "hypot": ("hypot", np.hypot),
    "ldexp": ("ldexp", np.ldexp),
    "pow": ("math.pow", _power),
}


def _refused(name: str, *values: Any) -> TypeError:
    kinds = ", ".join(str(number_of(v) or type(v).__name__) for v in values)
    return TypeError(f"{name} of {kinds} is nothing that Numba compiles")


def _converted(rule: Rule, values: tuple[Any, ...]) -> list[Any]:
    """The arguments in the types that a function of `math` computes in."""
    made = [cast_to(n)(v) for n, v in zip(rule.operands, values, strict=True)]
    wide = any(result.name == "f64" for result in rule.results)
    return [
        np.float64(v) if wide and isinstance(v, (int, np.uint64)) else v for v in made
    ]


def _of_one(name: str, function: Function) -> Function:
    def apply(value: Any) -> Any:
        number = number_of(value)
        rule = None if number is None else rule_of_one(name, number)
        if rule is None:
            raise _refused(f"math.{name}", value)
        if rule.result is BOOL:
            return bool(
                function(np.float64(value) if isinstance(value, int) else value)
            )
        with np.errstate(all="ignore"):
            return function(*_converted(rule, (value,)))

    return apply


def _of_two(name: str, key: str, function: Function) -> Function:
    def apply(a: Any, b: Any) -> Any:
        of_a, of_b = number_of(a), number_of(b)
        rule = None if of_a is None or of_b is None else rule_of_two(key, of_a, of_b)
        if rule is None:
            raise _refused(f"math.{name}", a, b)
        first, second = _converted(rule, (a, b))
        if name == "ldexp":
            second = int(b)
        elif rule.operands[0].whole:
            first, second = np.float64(first), np.float64(second)
        with np.errstate(all="ignore"):
            return function(first, second)

    return apply


# What a kernel finds in `math`, by name.
MATH: dict[str, Any] = {
    **{
        name: np.float64(getattr(math, name))
        for name in ("pi", "e", "tau", "inf", "nan")
    },
    **{name: _of_one(name, function) for name, function in (_ONE | _TESTS).items()},
    **{name: _of_two(name, *two) for name, two in _TWO.items()},
}


# Python's own functions


def absolute(value: Any) -> Any:
    """`abs`: the type stays, so that the lowest integer stays negative."""
    number = number_of(value)
    if number is None:
        return abs(value)
    rule = rule_of_one("abs", number)
    assert rule is not None
    if not number.whole:
        return abs(cast_to(number)(value))
    return cast_to(rule.result)(abs(int(value)))


def nearest(value: Any, digits: Any = None) -> Any:
    """`round`: to even. With a number of digits the result is a float."""
    number = number_of(value)
    if number is None:
        return round(value)
    if digits is None:
        return cast_to(INT64)(np.rint(np.float64(value)))
    rule = rule_of_two("round2", number, INT64)
    assert rule is not None
    given = cast_to(rule.operands[0])(value)
    return (
        type(given)(round(float(given), int(digits))) if np.isfinite(given) else given
    )


def whole(value: Any = 0, *base: Any) -> Any:
    """`int`: an integer keeps its type, a float becomes an int64."""
    number = number_of(value)
    if number is None or base:
        return int(value, *base)
    rule = rule_of_one("int", number)
    assert rule is not None
    return cast_to(rule.result)(value)


def real(value: Any = 0.0) -> Any:
    """`float`: a float keeps its width, an integer becomes a float64."""
    number = number_of(value)
    rule = None if number is None else rule_of_one("float", number)
    if rule is None:
        raise _refused("float", value)
    return cast_to(rule.result)(value)


def truth(value: Any = False) -> bool:
    return bool(value)


def _extreme(
    name: str, comes_first: Callable[[Any, Any], Any], pick: Function
) -> Function:
    """`min` or `max`: of two floats the GPU's own, which passes a NaN by."""

    def apply(*values: Any) -> Any:
        """The extreme of some numbers, or of a tuple of them, in their common type."""
        if len(values) == 1:
            values = tuple(values[0])
        kinds = [number_of(value) for value in values]
        if not values or None in kinds:
            raise _refused(name, *values)
        number = kinds[0]
        for kind in kinds[1:]:
            assert number is not None
            assert kind is not None
            number = unified(number, kind)
        assert number is not None
        cast = cast_to(number)
        both = [kind.kind == "f" and kind.bits > 16 for kind in kinds if kind]
        if len(values) == 2 and all(both):
            return cast(pick(cast(values[0]), cast(values[1])))
        best = cast(values[0])
        for value in values[1:]:
            if comes_first(cast(value), best):
                best = cast(value)
        return best

    return apply


def _least(a: Any, b: Any) -> Any:
    """The smaller number; -0.0 is smaller than 0.0, and a NaN is passed by."""
    return (a if np.signbit(a) else b) if a == b == 0 else np.fmin(a, b)


def _greatest(a: Any, b: Any) -> Any:
    return (b if np.signbit(a) else a) if a == b == 0 else np.fmax(a, b)


least = _extreme("min", operator.lt, _least)
greatest = _extreme("max", operator.gt, _greatest)


def quotient_and_rest(a: Any, b: Any) -> tuple[Any, Any]:
    """`divmod`: of mixed signs where one is a uint64, in float64."""
    of_a, of_b = number_of(a), number_of(b)
    if of_a is None or of_b is None:
        raise _refused("divmod", a, b)
    rule = rule_of_two("divmod", of_a, of_b)
    assert rule is not None
    a, b = (cast_to(n)(v) for n, v in zip(rule.operands, (a, b), strict=True))
    return BINARY["floordiv"](a, b), BINARY["mod"](a, b)


def total(values: Any, start: Any = 0) -> Any:
    """`sum`, by the `+` of a kernel."""
    for value in values:
        start = BINARY["add"](start, value)
    return start


# Python's functions that a kernel has, each by its own rules here.
BUILTINS: dict[str, Function] = {
    "abs": absolute,
    "bool": truth,
    "divmod": quotient_and_rest,
    "float": real,
    "int": whole,
    "max": greatest,
    "min": least,
    "round": nearest,
    "sum": total,
}


class Half:
    """`cuda.fp16`: half-precision arithmetic by function."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HALF:
            raise AttributeError(f"cuda.fp16 has no {name}")
        function = _HALF[name]

        def apply(*values: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*(np.float16(v) for v in values))
            return (
                result if isinstance(result, (bool, np.bool_)) else np.float16(result)
            )

        return apply


_HALF: dict[str, Any] = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hfma": lambda a, b, c: float(a) * float(b) + float(c),
    "hneg": np.negative,
    "habs": np.abs,
    "hsin": np.sin,
    "hcos": np.cos,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda a: 10 ** float(a),
    "hsqrt": np.sqrt,
    "hrcp": np.reciprocal,
    "hrsqrt": lambda a: 1 / math.sqrt(a) if a > 0 else np.inf,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
    "heq": np.equal,
    "hne": np.not_equal,
    "hge": np.greater_equal,
    "hgt": np.greater,
    "hle": np.less_equal,
    "hlt": np.less,
    "hmax": np.maximum,
    "hmin": np.minimum,
}


def bits_of(value: Any) -> tuple[int, Number]:
    """The bits of an integer as a number >= 0, and its type: a Boolean is an int8."""
    number = number_of(value)
    if number is None or number.kind == "f":
        raise TypeError(f"this takes an integer; got {value!r}")
    if number.kind == "b":
        number = NUMBERS["i8"]
    return int(value) & (2**number.bits - 1), number


def popc(value: Any) -> Any:
    """How many bits are set, in the type of the number."""
    held, number = bits_of(value)
    return cast_to(number)(held.bit_count())


def clz(value: Any) -> Any:
    """How many bits are zero above the highest one that is set."""
    held, number = bits_of(value)
    return cast_to(number)(number.bits - held.bit_length())


def ffs(value: Any) -> Any:
    """The position of the lowest bit that is set, counted from 1; 0 if none is."""
    held, _ = bits_of(value)
    return np.uint32((held & -held).bit_length())


def brev(value: Any) -> Any:
    """The bits in reverse: of a uint64 all, of every other type 32, as Numba has it."""
    _, number = bits_of(value)
    wide = UINT64 if number is UINT64 else UINT32
    held = int(cast_to(wide)(value))
    return cast_to(wide)(int(f"{held:0{wide.bits}b}"[::-1], 2))


_SAME_BITS: dict[str, tuple[Any, Any]] = {
    "float_as_int": (np.float32, np.int32),
    "float_as_uint": (np.float32, np.uint32),
    "int_as_float": (np.int32, np.float32),
    "uint_as_float": (np.uint32, np.float32),
    "double_as_longlong": (np.float64, np.int64),
    "longlong_as_double": (np.int64, np.float64),
}


class Libdevice:
    """`numba.cuda.libdevice`, as far as a name maps to a function of `math`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The function that a name of libdevice stands for."""
        if name in _SAME_BITS:
            given, wanted = _SAME_BITS[name]
            return lambda x: np.asarray(x).astype(given).view(wanted)[()]
        plain = name.removeprefix("fast_")
        wide = np.float32 if plain.endswith("f") else np.float64
        special = {
            "rsqrt": lambda x: 1 / np.sqrt(x),
            "fma": lambda x, y, z: np.float64(x) * np.float64(y) + np.float64(z),
            "fdivide": lambda x, y: x / y,
            "fmax": np.fmax,
            "fmin": np.fmin,
            "rint": np.rint,
            "rcp": lambda x: 1 / x,
        }
        for stem in (plain, plain.removesuffix("f")):
            found = special.get(stem) or MATH.get(stem)
            if callable(found):
                return lambda *v: wide(found(*(wide(x) for x in v)))
        raise AttributeError(f"the simulator has no libdevice.{name}")
