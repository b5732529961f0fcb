"""Describe what is wrong with numbers that a function returns in a fixed order."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any


def compared(names: Sequence[str], got: Any, wanted: Sequence[int]) -> str:
    """Describe the first wrong number, or the form that the result should have.

    Returns "" if all numbers are right.
    """
    if not are_numbers(got, len(names)):
        return f"Return {len(names)} numbers: ({', '.join(names)})."
    for name, mine, right in zip(names, got, wanted, strict=True):
        if mine != right:
            return f"`{name}` is {mine:,}; counted one by one it is {right:,}."
    return ""


def are_numbers(got: Any, count: int) -> bool:
    """Return whether a result is a tuple or list of `count` numbers."""
    several = isinstance(got, tuple | list) and len(got) == count
    return several and all(isinstance(each, Real) for each in got)


def explained(
    names: Sequence[str],
    got: Any,
    wanted: Sequence[int],
    slips: Mapping[tuple[str, int], str],
) -> str:
    """Explain the first wrong number; return "" if no cause is known.

    slips: (a number's name, a wrong value) → what gives this value, worded to follow
    "if".
    """
    if not are_numbers(got, len(names)):
        return ""
    pairs = enumerate(zip(got, wanted, strict=True))
    wrong = [k for k, (mine, right) in pairs if mine != right]
    if not wrong:
        return ""
    values = list(wanted)
    if all(list(got).count(value) == values.count(value) for value in values):
        which = " and ".join(f"`{names[k]}`" for k in wrong)
        order = f"The numbers are right, but the order should be ({', '.join(names)})"
        return f"{order}: {which} are exchanged." if len(wrong) == 2 else f"{order}."
    first = wrong[0]
    name, mine, right = names[first], got[first], wanted[first]
    if what := slips.get((name, mine)):
        return f"`{name}` is {mine:,} if {what}. It should be {right:,}."
    if mine in values:
        other = names[values.index(mine)]
        return f"`{name}` is {mine:,}, the value that `{other}` should have."
    return ""
