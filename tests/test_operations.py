"""Arithmetic on Python numbers: against that on NumPy's, and beyond it."""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpys_numbers as numpys
import pytest

import weft  # noqa: F401  before Numba
from weft.simulator.arithmetic.bits import (
    bits_of16,
    bits_of32,
    bits_of64,
    float_of64,
)
from weft.simulator.arithmetic.conversions import (
    conversion,
    convert,
)
from weft.simulator.arithmetic.numbers import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    NUMBERS,
    Number,
    of_dtype,
)
from weft.simulator.arithmetic.operations import (
    PREFIXES,
    SYMBOLS,
    Operation,
    binary,
    unary,
)

ROOT = Path(__file__).parents[1]
# NumPy's own functions and C's differ in the last places, as the processor has it.
LOOSE = 4
REAL = [number for number in NUMBERS.values() if number.kind != "c"]
INTEGERS = [number for number in REAL if number.whole]
FLOATS = [FLOAT16, FLOAT32, FLOAT64]

WHOLE = (
    *(0, 1, -1, 2, 3, 5, -7, 63, 64, 127, 128, -128, 255, 256, 2049, 2051),
    *(65519, 65520, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, -(2**31), 2**32 - 1),
    *(2**53 + 1, -(2**53) - 1, 2**54 + 2**30 + 1, 2**62 + 2**38, 2**62 + 2**38 + 1),
    *(-(2**60) - 2**36 - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 6364136223846793005),
)
BROKEN = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -3.5, 0.1, 300.7, 1e10, -1e10),
    *(math.inf, -math.inf, math.nan, 1e30, -1e30, 1e300, 5e-324, 1e-310),
    *(2.0**-149, 2.0**-150, 1.5 * 2.0**-150, 2.0**-126, 1 + 2.0**-24),  # float32
    *(1 + 2.0**-24 + 2.0**-50, 3.4028235677973362e38, 3.4028235677973366e38),
    *(2.0**-24, 2.0**-25, 1.001 * 2.0**-25, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40),
    *(65504.0, 65519.99, 65520.0, -65520.0),  # float16
    *(2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 16777217.0),
)
PAYLOADS = (0x7FF8_1234_5678_9ABC, 0xFFF8_4321_0000_0000)


@cache
def values(number: Number, count: int = 40, seed: int = 0) -> tuple[Any, ...]:
    """Numbers of a type as a kernel has them: the edges, and some at random."""
    rng = random.Random(f"{number.name} {seed}")
    if number is BOOL:
        return False, True
    if number.whole:
        edges = [v for v in WHOLE if number.lowest <= v <= number.highest]
        bits = [rng.randrange(number.bits + 1) for _ in range(count)]
        drawn = [rng.getrandbits(n) * rng.choice((1, -1)) for n in bits]
        held = [v for v in drawn if number.lowest <= v <= number.highest]
        return (*edges, number.lowest, number.highest, *held)
    wild = [float_of64(rng.getrandbits(64)) for _ in range(count // 4)]
    tame = [rng.gauss(0, 2) * 2.0 ** rng.randrange(-20, 20) for _ in range(count)]
    drawn = [*BROKEN, *map(float_of64, PAYLOADS), *wild, *tame]
    with np.errstate(all="ignore"):
        return tuple(float(number.dtype.type(v)) for v in drawn)


def given(value: Any, number: Number) -> Any:
    """A number as today's kernels have it."""
    return value if number in (BOOL, INT64) else number.dtype.type(value)


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def same(ours: Any, theirs: Any, number: Number) -> bool:
    """Whether two results are equal, bit by bit, but for what a NaN holds."""
    theirs = plain(theirs)
    if number.whole:
        return type(ours) is type(theirs) and ours == theirs
    if type(ours) is not float or type(theirs) is not float:
        return False
    if ours != ours:
        return theirs != theirs
    return bits_of64(ours) == bits_of64(theirs)


def apart(ours: Any, theirs: Any, number: Number) -> float:
    """How many numbers of its type lie between two floats, and one; 0 if `same`."""
    if same(ours, theirs, number):
        return 0
    if number.kind != "f" or not math.isfinite(ours - plain(theirs)):
        return math.inf
    of_type = {16: bits_of16, 32: bits_of32, 64: bits_of64}[number.bits]
    sign = 1 << number.bits - 1
    bits = [of_type(x) for x in (ours, float(theirs))]
    first, second = (sign - b if b & sign else b for b in bits)
    return abs(first - second) or math.inf  # zeros of other signs


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return apply


# Types


def test_a_number_knows_its_size_and_range() -> None:
    for number in REAL:
        assert number.bytes == number.dtype.itemsize
        assert of_dtype(number.dtype) is number
        if number.kind in "iu":
            info = np.iinfo(number.dtype)
            assert (number.lowest, number.highest) == (info.min, info.max)
    assert (BOOL.lowest, BOOL.highest) == (0, 1)
    assert COMPLEX64.half is FLOAT32
    assert COMPLEX128.bytes == 16
    assert of_dtype(COMPLEX64.dtype) is COMPLEX64


# Conversions


@pytest.mark.parametrize("number", REAL, ids=repr)
def test_conversions(number: Number) -> None:
    for to in REAL:
        theirs = quietly(numpys.cast_to(to))
        for value in values(number, 300):
            ours = convert(value, number, to)
            wanted = plain(theirs(given(value, number)))
            assert same(ours, wanted, to), (value, to)
            if ours != ours:
                assert bits_of64(ours) == bits_of64(wanted), (value, to)


def test_nothing_is_done_where_python_has_the_number_already() -> None:
    for a, b in itertools.product(INTEGERS[1:], repeat=2):
        held = b.lowest <= a.lowest and a.highest <= b.highest
        assert (conversion(a, b) is None) == held
    assert conversion(FLOAT16, FLOAT64) is None
    assert conversion(FLOAT32, FLOAT32) is None
    assert conversion(COMPLEX64, COMPLEX128) is None


def test_conversions_of_complex_numbers() -> None:
    assert convert(2**53 + 1, INT64, COMPLEX128) == 2.0**53
    assert convert(0.1, FLOAT64, COMPLEX64) == complex(np.float32(0.1))
    assert convert(0.1 + 1e300j, COMPLEX128, COMPLEX64) == complex(
        np.float32(0.1), math.inf
    )
    assert convert(True, BOOL, COMPLEX64) == 1
    assert convert(0j, COMPLEX64, BOOL) is False
    with pytest.raises(TypeError, match="c64 to a f32"):
        conversion(COMPLEX64, FLOAT32)


# Operators


def by_name(a: Number, b: Number) -> Iterator[tuple[str, Operation]]:
    for name in SYMBOLS:
        ours, theirs = binary(name, a, b), numpys.binary(name, a, b)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            yield name, ours


@cache
def pairs(a: Number, b: Number) -> tuple[tuple[Any, Any], ...]:
    """Some 100 pairs, most of them edges."""
    every = list(itertools.product(values(a, 4), values(b, 4)))
    edges = random.Random(f"{a} {b}").sample(every, min(len(every), 80))
    drawn = zip(values(a, 20, 1), reversed(values(b, 20, 2)), strict=False)
    return *edges, *itertools.islice(drawn, 20)


@pytest.mark.parametrize("a", REAL, ids=repr)
def test_operators_of_two(a: Number) -> None:
    for b in REAL:
        for name, operation in by_name(a, b):
            if name == "pow" and operation.result.kind == "f":
                continue
            ours, theirs = operation.whole(), quietly(numpys.binary(name, a, b))
            for x, y in pairs(a, b):
                old = theirs(given(x, a), given(y, b))
                assert same(ours(x, y), old, operation.result), (name, b, x, y)


@pytest.mark.parametrize("a", REAL, ids=repr)
def test_powers_that_are_floats(a: Number) -> None:
    for b in REAL:
        operation = binary("pow", a, b)
        assert operation is not None
        if operation.result.whole:
            continue
        ours, theirs = operation.whole(), quietly(numpys.binary("pow", a, b))
        for x, y in pairs(a, b):
            if b.whole and abs(y) > 0x10000:  # Numba rounds the exponent to float64
                old = quietly(np.power)(np.float64(x), np.float64(y))
                old = quietly(operation.result.dtype.type)(old)
            elif y == 0.5 and x in (0, -math.inf):  # NumPy takes the root
                old = math.pow(x, y)
            else:
                old = theirs(given(x, a), given(y, b))
            assert apart(ours(x, y), old, operation.result) <= LOOSE, (b, x, y)


@pytest.mark.parametrize("a", REAL, ids=repr)
def test_operators_with_a_number_that_is_known(a: Number) -> None:
    """Then more of them are Python's own."""
    for b, by in ((INT64, 2), (INT64, 0), (INT64, -1), (INT64, -3), (INT64, 64)):
        for name in SYMBOLS:
            operation = binary(name, a, b, by)
            if operation is None:
                continue
            ours, theirs = operation.whole(), quietly(numpys.binary(name, a, b))
            most = LOOSE if name == "pow" and operation.result.kind == "f" else 0
            for x in values(a):
                old = theirs(given(x, a), by)
                assert apart(ours(x, by), old, operation.result) <= most, (name, x, by)
                if operation.symbol and not any(operation.converts):
                    mine = eval(f"x {operation.symbol} by", {"x": x, "by": by})
                    assert mine != mine or mine == operation.function(x, by)


def test_what_is_pythons_own() -> None:
    u8, i32, u32 = NUMBERS["u8"], NUMBERS["i32"], NUMBERS["u32"]

    def how(operation: Operation | None) -> tuple[str, Number | None]:
        assert operation is not None
        assert not any(operation.converts)
        return operation.symbol, operation.rounds

    assert how(binary("add", INT64, INT64)) == ("+", INT64)
    assert how(binary("add", i32, i32)) == ("+", None)
    assert how(binary("mul", u32, u8)) == ("*", None)
    assert how(binary("sub", u8, u8)) == ("-", NUMBERS["u64"])
    assert how(binary("mul", FLOAT64, i32)) == ("*", None)
    assert how(binary("mul", FLOAT32, FLOAT32)) == ("*", FLOAT32)
    assert how(binary("truediv", FLOAT64, FLOAT64)) == ("", None)
    assert how(binary("truediv", FLOAT64, FLOAT64, 2.0)) == ("/", None)
    assert how(binary("floordiv", INT64, INT64)) == ("", None)
    assert how(binary("floordiv", INT64, INT64, 32)) == ("//", None)
    assert how(binary("rshift", u32, INT64, 5)) == (">>", None)
    assert how(binary("lshift", i32, INT64, 5)) == ("<<", None)
    assert how(binary("lshift", INT64, INT64, 5)) == ("<<", INT64)
    assert how(binary("lt", FLOAT32, i32)) == ("<", None)


@pytest.mark.parametrize("a", REAL, ids=repr)
def test_operators_of_one(a: Number) -> None:
    for name in PREFIXES:
        ours, theirs = unary(name, a), numpys.unary(name, a)
        assert (ours is None) == (theirs is None)
        if ours is None:
            continue
        for x in values(a):
            mine = ours.whole()(x)
            assert same(mine, theirs(given(x, a)), ours.result), (name, x)
            assert ours.rounds or mine == eval(f"{ours.symbol}x", {"x": x}) or x != x
