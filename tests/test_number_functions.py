"""Functions of numbers on Python numbers: against those on NumPy's, and beyond them."""

import itertools
import math
import operator
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpys_numbers as numpys
import pytest
from test_operations import (
    FLOATS,
    INTEGERS,
    LOOSE,
    REAL,
    apart,
    given,
    pairs,
    plain,
    quietly,
    same,
    values,
)

from weft.simulator.arithmetic.bits import (
    all_float16,
    bits_of16,
    bits_of32,
    bits_of64,
    float_of16,
    float_of32,
    round32,
)
from weft.simulator.arithmetic.cuda_functions import (
    fma,
    of_cuda,
    of_half,
    of_libdevice,
)
from weft.simulator.arithmetic.mathematics import (
    CONSTANTS,
    EXACT,
    ONE,
    PARTS,
    TESTS,
    TWO,
    known,
    of_math,
)
from weft.simulator.arithmetic.numbers import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    NUMBERS,
    Number,
)
from weft.simulator.arithmetic.operations import Operation, binary, unary
from weft.simulator.arithmetic.python_functions import of_python

ROOT = Path(__file__).parents[1]


def agrees(
    operation: Operation, ours: Any, theirs: Any, most: int = 0, why: Any = ""
) -> None:
    """Assert that every part of a result is within `most` numbers of the other."""
    if len(operation.results) == 1:
        ours, theirs = (ours,), (theirs,)
    for number, mine, old in zip(operation.results, ours, theirs, strict=True):
        assert apart(mine, plain(old), number) <= most, (why, mine, plain(old))


# math


def test_all_of_math_is_there() -> None:
    assert known() == numpys.MATH.keys()
    for name, value in CONSTANTS.items():
        assert plain(numpys.MATH[name]) == value or name == "nan"


@pytest.mark.parametrize("name", sorted([*ONE, *TESTS, *PARTS]))
def test_functions_of_one(name: str) -> None:
    exact = name in EXACT or name in ("sqrt", "degrees", "radians", *TESTS, *PARTS)
    theirs = quietly(numpys.MATH[name])
    for number in REAL:
        operation = of_math(name, number)
        assert operation is not None
        ours = operation.whole()
        for x in values(number):
            if name == "gamma" and -1e-308 < x < 0:
                continue  # where today's is infinite of the wrong sign
            old = theirs(given(x, number))
            agrees(operation, ours(x), old, 0 if exact else LOOSE, (number, x))


@pytest.mark.parametrize("name", sorted(TWO))
def test_functions_of_two(name: str) -> None:
    theirs = quietly(numpys.MATH[name])
    for a, b in itertools.product(REAL, repeat=2):
        operation = of_math(name, a, b)
        assert operation is not None
        ours = operation.whole()
        for x, y in pairs(a, b)[::2]:
            if name == "pow" and (y == 0.5 or (b.whole and abs(y) > 2**24)):
                continue  # NumPy takes the root, and rounds a whole exponent
            old = theirs(given(x, a), given(y, b))
            most = 0 if name in EXACT else LOOSE
            agrees(operation, ours(x, y), old, most, (a, b, x, y))


@pytest.mark.parametrize("number", FLOATS, ids=repr)
def test_a_float_times_a_power_of_two(number: Number) -> None:
    theirs = quietly(numpys.MATH["ldexp"])
    operation = of_math("ldexp", number, INT64)
    assert operation is not None
    for x, exponent in itertools.product(values(number), (0, 1, -1, 40, -140, 2000)):
        old = theirs(given(x, number), exponent)
        agrees(operation, operation.whole()(x, exponent), old, 0, (x, exponent))
    assert operation.whole()(1.0, 2**32 + 3) == 8  # the exponent is an int32


# Python's functions


@pytest.mark.parametrize("name", ["abs", "bool", "float", "int", "round"])
def test_python_functions_of_one(name: str) -> None:
    for number in REAL:
        operation = of_python(name, number)
        if operation is None:
            assert (name, number) == ("float", BOOL)
            continue
        for x in values(number):
            old = quietly(numpys.BUILTINS[name])(given(x, number))
            agrees(operation, operation.whole()(x), old, 0, (number, x))


@pytest.mark.parametrize("name", ["divmod", "max", "min"])
def test_python_functions_of_two(name: str) -> None:
    theirs = quietly(numpys.BUILTINS[name])
    for a, b in itertools.product(REAL, repeat=2):
        operation = of_python(name, a, b)
        assert operation is not None
        ours = operation.whole()
        for x, y in pairs(a, b)[::2]:
            old = theirs(given(x, a), given(y, b))
            agrees(operation, ours(x, y), old, 0, (a, b, x, y))


def test_extremes_of_more_than_two() -> None:
    kinds = NUMBERS["u8"], FLOAT32, INT32
    for name in ("min", "max"):
        operation = of_python(name, *kinds)
        assert operation is not None
        assert operation.result is FLOAT64
        for row in zip(*(values(kind) for kind in kinds), strict=False):
            held = [given(x, n) for x, n in zip(row, kinds, strict=True)]
            old = numpys.BUILTINS[name](*held)
            agrees(operation, operation.whole()(*row), old, 0, row)


def test_rounding_to_a_number_of_digits() -> None:
    for number in REAL:
        operation = of_python("round", number, INT64)
        assert operation is not None
        for x, digits in itertools.product(values(number)[:40], (-3, 0, 2, 500)):
            old = quietly(numpys.BUILTINS["round"])(given(x, number), digits)
            agrees(operation, operation.whole()(x, digits), old, 0, (number, x, digits))
    operation = of_python("round", FLOAT64, INT64)
    assert operation is not None
    assert operation.whole()(1.7976931348623157e308, -308) == math.inf


@pytest.mark.parametrize("number", REAL, ids=repr)
def test_sums(number: Number) -> None:
    held = [x for x in values(number) if abs(x) < 1e9]
    for start in (INT64, number):
        operation = of_python("sum", number, start)
        assert operation is not None
        begin = 0 if start is INT64 else held[0]
        row = [given(x, number) for x in held]
        old = quietly(numpys.BUILTINS["sum"])(row, given(begin, start))
        agrees(operation, operation.whole()(held, begin), old, 0, start)


# cuda


@pytest.mark.parametrize("name", ["popc", "clz", "ffs", "brev"])
def test_functions_of_bits(name: str) -> None:
    theirs = getattr(numpys, name)
    for number in INTEGERS:
        operation = of_cuda(name, number)
        assert operation is not None
        for x in values(number):
            old = theirs(given(x, number))
            agrees(operation, operation.whole()(x), old, 0, (number, x))
    assert of_cuda(name, FLOAT32) is None


def test_products_with_sums_of_float32_are_rounded_once() -> None:
    operation = of_cuda("fma", FLOAT32, FLOAT32, FLOAT32)
    assert operation is not None
    for a, b, c in itertools.product(values(FLOAT32)[::5], repeat=3):
        with np.errstate(all="ignore"):
            old = np.float32(a * b + c)
        agrees(operation, operation.whole()(a, b, c), old, 0, (a, b, c))
    mixed = of_cuda("fma", FLOAT32, INT32, FLOAT16)
    assert mixed is not None
    assert mixed.result is FLOAT64
    assert mixed.whole()(0.5, 3, 2.0) == 3.5


def exactly(a: float, b: float, c: float) -> float:
    try:
        return float(Fraction(a) * Fraction(b) + Fraction(c))
    except OverflowError:
        return math.inf


def test_products_with_sums_of_float64_are_rounded_once() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1) * 10.0 ** rng.randrange(-20, 20)
        c = -a * b * (1 + rng.choice((0, 1e-16, 1e-10, 1, 1e20)))
        assert fma(a, b, c) == exactly(a, b, c), (a, b, c)
    edges = [x for x in values(FLOAT64)[::3] if math.isfinite(x)]
    for a, b, c in itertools.product(edges, repeat=3):
        wanted = exactly(a, b, c)
        assert abs(fma(a, b, c)) == abs(wanted), (a, b, c)
    assert math.copysign(1, fma(-5e-324, 5e-324, 0.0)) == -1
    assert math.copysign(1, fma(1e-200, -1e-200, 0.0)) == -1
    assert math.copysign(1, fma(1.5, 2.0, -3.0)) == 1
    assert fma(1e300, 1e300, -math.inf) == -math.inf
    assert math.isnan(fma(math.inf, 0.0, 1.0))
    assert fma(1e200, 1e200, -1e308) == math.inf
    assert fma(1e160, 1e160, -1e308) == math.inf


@pytest.mark.parametrize("number", [FLOAT32, FLOAT64, INT32, NUMBERS["u8"]], ids=repr)
def test_cube_roots(number: Number) -> None:
    operation = of_cuda("cbrt", number)
    assert operation is not None
    for x in values(number):
        old = np.cbrt(operation.result.dtype.type(x))
        agrees(operation, operation.whole()(x), old, LOOSE, x)


def _equal_or_nan(a: float, b: float) -> bool:
    return not (a < b or b < a)


# Where today's are wrong: CUDA's maximum passes a NaN by, no function raises an error,
# and the root of a negative number is NaN.
ODD: dict[str, Callable[..., bool]] = {
    **{"hmax": _equal_or_nan, "hmin": _equal_or_nan},
    "hrsqrt": lambda x: not x > 0,
    "hexp10": lambda x: not -math.inf < x <= 300,
}


def test_half_precision() -> None:
    half = numpys.Half()
    loose = {"hsin", "hcos", "hlog", "hlog2", "hlog10", "hexp", "hexp2"}
    for name in numpys._HALF:
        count = next(n for n in (1, 2, 3) if of_half(name, *[FLOAT16] * n))
        operation = of_half(name, *[FLOAT16] * count)
        assert operation is not None
        columns = [values(FLOAT16, 40, seed) for seed in range(count)]
        rows = [
            *itertools.product(*(c[:: 3 * count] for c in columns)),
            *zip(*columns, strict=True),
        ]
        for row in rows:
            if name in ODD and ODD[name](*row):
                continue
            old = quietly(getattr(half, name))(*row)
            old = bool(old) if operation.result is BOOL else old
            most = LOOSE if name in loose else 0
            agrees(operation, operation.whole()(*row), old, most, (name, row))
    for name, x, wanted in (("hrsqrt", -0.0, -math.inf), ("hexp10", 9.0, math.inf)):
        operation = of_half(name, FLOAT16)
        assert operation is not None
        assert operation.whole()(x) == wanted
    assert plain_of(of_half("hmax", FLOAT16, FLOAT16), math.nan, 1.0) == 1


def plain_of(operation: Operation | None, *args: Any) -> Any:
    assert operation is not None
    return operation.whole()(*args)


# libdevice

DEVICE = sorted(
    {*ONE, *TWO, "rsqrt", "fma", "fmax", "fmin", "rint", "rcp", "fdivide"} - {"erf"}
)


@pytest.mark.parametrize("stem", DEVICE)
def test_libdevice(stem: str) -> None:
    loose = stem in ONE and stem not in ("sqrt", "degrees", "radians", *EXACT)
    loose |= stem in ("atan2", "hypot", "pow")
    for name in (stem, f"{stem}f", f"fast_{stem}f"):
        number = FLOAT64 if name == stem else FLOAT32
        count = next(n for n in (1, 2, 3) if of_libdevice(name, *[number] * n))
        operation = of_libdevice(name, *[number] * count)
        assert operation is not None
        assert operation.results == (number,)
        theirs = quietly(getattr(numpys.Libdevice(), name))
        columns = [values(number, 40, seed) for seed in range(count)]
        for row in zip(*columns, strict=True):
            x = row[0]
            if stem == "gamma" and -1e-308 < x < 0:
                continue
            if (stem, number) == ("fma", FLOAT64):
                continue  # today's rounds twice
            if stem in ("fmax", "fmin", "pow") and (x == 0 or math.isinf(x)):
                continue
            old = theirs(*(number.dtype.type(v) for v in row))
            most = LOOSE if loose else 0
            agrees(operation, plain_of(operation, *row), old, most, (name, row))


def test_what_else_libdevice_has() -> None:
    assert plain_of(of_libdevice("erf", FLOAT64), 0.5) == math.erf(0.5)
    assert plain_of(of_libdevice("erff", FLOAT64), 0.5) == round32(math.erf(0.5))
    assert plain_of(of_libdevice("isinff", FLOAT32), math.inf) == 1
    assert plain_of(of_libdevice("frexp", FLOAT64), 6.0) == (0.75, 3)
    assert plain_of(of_libdevice("ldexpf", FLOAT32, INT32), 0.75, 3) == 6
    assert of_libdevice("expf", FLOAT32, FLOAT32) is None
    assert of_libdevice("no_such", FLOAT32) is None
    assert of_libdevice("expf", COMPLEX64) is None


# Bits


def test_bits_of_floats() -> None:
    for name, (a, b) in {
        "float_as_int": (FLOAT32, INT32),
        "float_as_uint": (FLOAT32, NUMBERS["u32"]),
        "int_as_float": (INT32, FLOAT32),
        "uint_as_float": (NUMBERS["u32"], FLOAT32),
        "double_as_longlong": (FLOAT64, INT64),
        "longlong_as_double": (INT64, FLOAT64),
    }.items():
        for x in values(a):
            ours = plain_of(of_libdevice(name, a), x)
            old = plain(getattr(numpys.Libdevice(), name)(a.dtype.type(x)))
            assert same(ours, old, b), (name, x)
    for payload in (0x7FC1_2345, 0xFFD5_4321):
        assert bits_of32(float_of32(payload)) == payload


def test_every_float16() -> None:
    bits = np.arange(0x10000, dtype=np.uint16)
    wanted = bits.view(np.float16).astype(np.float64).view(np.uint64)
    assert [bits_of64(x) for x in all_float16()] == wanted.tolist()
    assert [bits_of16(float_of16(b)) for b in range(0x10000)] == list(range(0x10000))


# Complex numbers

PLANE = [
    complex(a, b)
    for a, b in itertools.product((0.0, -0.0, 1.0, -2.5, 0.1, 1e30, 3e-5), repeat=2)
]


@pytest.mark.parametrize("number", [COMPLEX64, COMPLEX128], ids=repr)
def test_complex_numbers(number: Number) -> None:
    kind = number.dtype.type
    held = [complex(kind(z)) for z in PLANE]
    for name in ("add", "sub", "mul", "truediv", "eq", "ne"):
        operation = binary(name, number, number)
        assert operation is not None
        ours, theirs = operation.whole(), quietly(getattr(operator, name))
        for z, w in itertools.product(held, repeat=2):
            mine, old = ours(z, w), plain(theirs(kind(z), kind(w)))
            if operation.result is BOOL:
                assert mine is bool(old)
            elif name == "truediv" and w and number is COMPLEX128:
                assert repr(mine) == repr(z / w)  # Numba has Python's method
            elif name == "truediv" and w:
                for one, other in ((mine.real, old.real), (mine.imag, old.imag)):
                    near = math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-40)
                    assert near or one != one or other != other, (z, w, mine, old)
            else:
                assert same(mine.real, old.real, number.half), (name, z, w, mine, old)
                assert same(mine.imag, old.imag, number.half), (name, z, w, mine, old)
    for name in ("neg", "pos", "not_"):
        operation = unary(name, number)
        assert operation is not None
        for z in held:
            assert repr(operation.whole()(z)) == repr(getattr(operator, name)(z))


def test_complex_numbers_and_others() -> None:
    for other in REAL:
        for name in ("add", "mul", "truediv", "eq"):
            for a, b in ((COMPLEX64, other), (other, COMPLEX64)):
                operation = binary(name, a, b)
                assert operation is not None
                for x in values(other, 4)[-4:]:
                    row = (1 + 2j, x) if a is COMPLEX64 else (x, 1 + 2j)
                    kind = complex if operation.result is not BOOL else bool
                    assert type(operation.whole()(*row)) is kind
    assert binary("lt", COMPLEX64, COMPLEX64) is None
    assert binary("pow", COMPLEX64, COMPLEX64) is None
    assert plain_of(of_python("abs", COMPLEX64), 3 + 4j) == 5
    assert plain_of(of_python("abs", COMPLEX128), complex(1e308, 1.7e308)) == math.inf
    assert plain_of(of_python("complex", FLOAT32, FLOAT32), 0.5, 1.0) == 0.5 + 1j
    made = of_python("complex", INT64, FLOAT32)
    assert made is not None
    assert made.result is COMPLEX128


# Without NumPy

ALONE = """
import sys, types
sys.modules["numpy"] = None
for name in ("weft", "weft.simulator"):
    package = types.ModuleType(name)
    package.__path__ = ["/".join([sys.argv[1], *name.split(".")])]
    sys.modules[name] = package
from weft.simulator.arithmetic import (
    bits, conversions, cuda_functions, mathematics, operations, python_functions
)
from weft.simulator.arithmetic.numbers import FLOAT16, FLOAT32, INT64, UINT64, number_of
assert operations.binary("add", INT64, UINT64).whole()(2**63 - 1, 1) == -(2**63)
assert operations.binary("truediv", FLOAT32, FLOAT32).whole()(1.0, 0.0) == float("inf")
assert conversions.convert(1e9, FLOAT32, FLOAT16) == float("inf")
assert mathematics.of_math("sqrt", FLOAT32).whole()(2.0) == bits.round32(2**0.5)
assert python_functions.of_python("max", FLOAT32, FLOAT32).whole()(1.0, 2.0) == 2
assert cuda_functions.of_cuda("popc", INT64).whole()(-1) == 64
assert number_of(1) is INT64
assert not [name for name in sys.modules if name.startswith("numpy.")]
"""


def test_it_needs_no_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(ROOT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
