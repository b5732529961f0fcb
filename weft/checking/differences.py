"""Describe what is wrong with an output, without importing NumPy."""

import ctypes
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

BELOW_1 = 1 - 2.0**-24  # the largest float32 below 1


class Pattern(Enum):
    """The kinds of error that an output can show."""

    NONE = auto()
    UNSET = auto()  # a NaN from memory that no thread has written
    MOVED = auto()  # the right values in other places
    MULTIPLE = auto()  # every element is the same multiple of what it should be
    SHIFTED = auto()  # each value is where its neighbour's should be
    TAIL = auto()  # wrong from one element on
    SMALL = auto()  # small compared with the largest values, but more than rounding


@dataclass(frozen=True)
class Difference:
    """The first wrong element of an output, and the pattern of all wrong elements.

    hint: a sentence on the pattern. belongs: the only index at which the first wrong
    value would be right, None if there is no such index.
    """

    index: tuple[int, ...]
    got: Any
    wanted: Any
    wrong: int
    size: int
    pattern: Pattern = Pattern.NONE
    hint: str = ""
    belongs: tuple[int, ...] | None = None

    def where(self, name: str) -> str:
        return f"{name}[{', '.join(map(str, self.index))}]" if self.index else name

    def sentence(self, name: str) -> str:
        share = ""
        if self.size > 1:
            verb = "is" if self.wrong == 1 else "are"
            share = f"; {self.wrong:,} of {self.size:,} elements {verb} wrong"
        got, wanted = apart(self.got, self.wanted)
        return f"{self.where(name)} is {got} and should be {wanted}{share}."


Looks = tuple[Pattern, str] | tuple[Pattern, str, tuple[int, ...]]
NOTHING: Looks = (Pattern.NONE, "")


def apart(got: Any, wanted: Any) -> tuple[str, str]:
    """Format two numbers with enough digits to distinguish them.

    The float32 just below 1 is not rounded to 1, because the difference matters.
    """
    pairs = [(show(got, digits), show(wanted, digits)) for digits in (4, 5, 6, 8, 12)]
    different = [pair for pair in pairs if pair[0] != pair[1]]
    exact = [p for p in different if "1" not in p or not just_below_1(got, wanted)]
    return next(iter(exact or different), pairs[0])


def just_below_1(*values: Any) -> bool:
    """Return whether any of the values is the largest float32 below 1."""
    return any(in_float32(value) == BELOW_1 for value in values)


def in_float32(value: Any) -> float:
    """Round a value to float32, or return 0 if it is an int, a string or complex."""
    if isinstance(value, int | str | complex) or kind_of_number(value) == "c":
        return 0.0
    return ctypes.c_float(float(value)).value


def kind_of_number(value: Any) -> str:
    """Return NumPy's kind code for a NumPy number, or "" for any other value."""
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def show(value: Any, digits: int = 4) -> str:
    """Format a value briefly; a float or complex gets `digits` significant digits."""
    kind = kind_of_number(value)
    if isinstance(value, bool) or kind == "b":
        return str(bool(value))
    if isinstance(value, int) or kind in ("i", "u"):
        return show_integer(int(value))
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, complex) or kind == "c":
        single = getattr(value, "itemsize", 16) == 8  # complex64
        value = without_noise(complex(value), 1e-6 if single else 1e-12)
    return f"{value + 0.0:.{digits}g}"  # no -0


def without_noise(value: complex, least: float) -> complex:
    """Return a complex number, with 0 for a part that is only rounding.

    That is a part which is less than `least` times the other.
    """
    real, imag = abs(value.real), abs(value.imag)
    if not math.isfinite(real + imag):
        return value
    if imag < least * real:
        return complex(value.real, 0.0)
    return complex(0.0, value.imag) if real < least * imag else value


def show_integer(value: int) -> str:
    """Format an integer, or describe it if it has too many digits for Python."""
    try:
        return str(value)
    except ValueError:
        return f"an integer of {value.bit_length():,} bits"


def times(ratio: Any) -> str:
    """Describe a ratio, real or complex, as in 'exactly twice what it should be'."""
    if ratio.imag:
        return f"{show(ratio)} times what it should be"
    ratio = float(ratio.real)
    shown = str(round(ratio)) if near_integer(ratio) else show(ratio)
    return named_ratio(ratio) or f"{shown} times what it should be"


def named_ratio(ratio: float) -> str:
    """Describe a ratio that hints at its cause; return '' for any other."""
    if not ratio:
        return "0"
    if math.isclose(ratio, -1, rel_tol=1e-5):
        return "right but for its sign"
    if math.isclose(ratio, 2, rel_tol=1e-5):
        return "exactly twice what it should be"
    if math.isclose(ratio, 0.5, rel_tol=1e-5):
        return "exactly half of what it should be"
    if near_integer(ratio) and abs(ratio) < 1:
        return f"what it should be, divided by {round(1 / ratio)}"
    return ""


def near_integer(ratio: float) -> bool:
    """Return whether a ratio or its inverse is close to an integer n, with |n| ≥ 2."""
    if not ratio:
        return False
    large = max(abs(ratio), abs(1 / ratio))
    return round(large) > 1 and math.isclose(large, round(large), rel_tol=1e-5)
