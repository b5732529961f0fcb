"""Explain a wrong result by a typical slip: try specs that contain one."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from weft.checking.cases import Case, as_tuple, copies, widened
from weft.checking.compare import agrees
from weft.checking.exercise import Exercise
from weft.checking.plain import leaves
from weft.checking.values import as_array

Slip = Callable[..., Any]  # a spec with a typical mistake in it
Because = Callable[..., str | tuple[str, str]]
MANY = 4  # this many results do not agree by chance


def result_if(
    slips: Mapping[str, Slip | tuple[str, Slip]], tolerance: float = 1e-3
) -> Because:
    """Make a function for `because=` that names the slip behind a wrong result.

    slips: what happens, worded to follow "if" → a function of the inputs that returns
    the outputs in that case, or a tuple of the name of the input to blame and such a
    function. If two slips fit, both are named; if more do, none, since the inputs do
    not tell them apart.
    """

    def because(*values: Any) -> str | tuple[str, str]:
        fits: dict[str, str] = {}  # the slips that fit, and the input to blame for each
        for what, found_in in slips.items():
            of, slip = found_in if isinstance(found_in, tuple) else ("", found_in)
            found = inspect.signature(slip).parameters.values()
            count = sum(parameter.default is parameter.empty for parameter in found)
            given, got = values[:count], values[count:]
            with np.errstate(all="ignore"):
                try:
                    made = as_tuple(slip(*(widened(x) for x in copies(given))))
                except ValueError:  # shapes with which the slip is an error
                    continue
                if alike(alone(got), alone(made), tolerance):
                    fits[what] = of
        said, blamed = worded(fits), set(fits.values())
        one_blamed = len(blamed) == 1 and any(blamed)
        return (said, blamed.pop()) if said and one_blamed else said

    return because


def worded(causes: Collection[str]) -> str:
    """Return a sentence with the causes of a result; "" for none, or more than two.

    If more than two fit, the inputs do not tell them apart.
    """
    if not 0 < len(causes) <= 2:
        return ""
    return f"This is the result if {', or if '.join(causes)}."


def other_number(
    exercise: Exercise, case: Case, outputs: tuple[Any, ...]
) -> tuple[int, float] | None:
    """Find a scalar input for which the learner's code used another number.

    With that number, the spec yields the learner's `outputs`. The number is 0, 1 or
    derived from the given numbers, or any other on which at least `MANY` results agree.
    Returns the input's index and the number, or None if no number fits.
    """
    numbers = [
        k
        for k, value in enumerate(case.inputs)
        if isinstance(value, float | np.floating)
    ]
    for k in numbers:
        mine = float(case.inputs[k])
        others = [float(case.inputs[n]) for n in numbers]
        tried = [1.0, 0.0, -mine, *(mine * one for one in others)]
        try:
            with np.errstate(all="ignore"):
                tried += in_line(exercise, case, k, outputs)
                for value in dict.fromkeys(tried):
                    made = expected_with(exercise, case, k, value)
                    if value != mine and alike(outputs, made, exercise.tolerance):
                        return k, value
        except Exception:  # a spec that does not accept the number
            continue
    return None


def expected_with(
    exercise: Exercise, case: Case, number: int, value: float
) -> tuple[Any, ...]:
    """Evaluate the spec with `value` as the input with index `number`."""
    inputs = list(copies(case.inputs))
    inputs[number] = type(inputs[number])(value)
    return exercise.expected(tuple(inputs))


def in_line(
    exercise: Exercise, case: Case, number: int, outputs: tuple[Any, ...]
) -> list[float]:
    """Solve for the input value that explains the results, assuming linearity.

    Returns a list of that value, or an empty one if fewer than `MANY` results depend on
    it or if they disagree.
    """
    mine = float(case.inputs[number])
    none = expected_with(exercise, case, number, 0.0)
    found: list[float] = []
    for got, zero, wanted in zip(outputs, none, case.expected, strict=True):
        per = (wanted - zero).ravel() / mine
        off = (np.asarray(got).astype(float) - zero).ravel()
        large = np.abs(per) > 0.1 * np.abs(per).max(initial=0)
        found += (off[large] / per[large]).tolist()
    if len(found) < MANY or np.ptp(found) > 1e-3 * max(np.abs(found).max(), 1):
        return []
    middle = float(np.mean(found))
    return [float(round(middle)) if abs(middle - round(middle)) < 1e-3 else middle]


def alone(values: tuple[Any, ...]) -> Any:
    """Return the only value of a tuple, or the tuple if it has several."""
    return values[0] if len(values) == 1 else values


def alike(got: Any, wanted: Any, tolerance: float) -> bool:
    """Return whether two trees of arrays have the same form and agree."""
    mine, aims = (dict(leaves(as_array(tree))) for tree in (got, wanted))
    if mine.keys() != aims.keys():
        return False
    pairs = [(np.asarray(mine[key]), np.asarray(aims[key])) for key in aims]
    return all(
        a.shape == b.shape and a.dtype.kind in "bifu" and agrees(a, b, tolerance)
        for a, b in pairs
    )
