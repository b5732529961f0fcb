"""Compare arrays that a function returned with those that its spec returned."""

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np

from weft.checking.compare import Array, difference
from weft.checking.differences import Difference, show
from weft.checking.plain import leaves, written
from weft.checking.source import returns
from weft.checking.values import as_array, is_tree, judge
from weft.checking.verdict import Failed, Verdict
from weft.functions.exercise import FunctionExercise
from weft.functions.wording import a_float, a_string, another_value, brief, in_ctypes


def compare(exercise: FunctionExercise, call: str, got: Any, wanted: Any) -> None:
    """Raise `Failed` unless `got` matches `wanted`. Tensors are compared as arrays."""
    got, wanted = as_array(got), as_array(wanted)
    if is_tree(wanted):
        compare_trees(exercise, call, got, wanted)
    else:
        compare_arrays(exercise, call, got, wanted)


def compare_arrays(
    exercise: FunctionExercise, call: str, got: Any, wanted: Any
) -> None:
    """Raise `Failed` unless `got` and `wanted` (numbers, texts or arrays) agree."""
    function = exercise.written_by_learner
    aim, found = np.asarray(wanted), held(got)
    if isinstance(got, ctypes._SimpleCData) and aim.dtype.kind in "biufSU":
        raise Failed(in_ctypes(exercise, call, got))
    if found.dtype == object or found.shape != aim.shape:
        message = another_value(call, brief(got), brief(wanted))
        raise exercise.failed("shape", message, places=returns(function))
    another = another_kind(exercise, call, got, found, aim)
    if another is not None:
        raise Failed(another)
    if aim.dtype.kind == "f" and found.dtype.kind in "iu":
        found = found.astype(aim.dtype)  # so that the tolerance also applies to it
    wrong = difference(found, aim, exercise.tolerance)
    if wrong is None and isinstance(wanted, tuple) and aim.ndim == 1:
        wrong = one_by_one(found, aim, exercise.tolerance)
    if wrong is None:
        return
    message = f"{call}: {wrong.sentence('result')}"
    if not aim.ndim:
        message = another_value(call, show(wrong.got), show(wrong.wanted))
    raise Failed(
        exercise.verdict("wrong-value", message, wrong.hint, returns(function))
    )


def held(value: Any) -> Array:
    """Return `value` as an array.

    If `value` is a ctypes number, or NumPy cannot hold it, the array holds None, with
    dtype object.
    """
    try:
        place = isinstance(value, ctypes._SimpleCData)  # NumPy would read its contents
        return np.asarray(None if place else value)
    except (ValueError, TypeError, RuntimeError):
        return np.asarray(None)


def another_kind(
    exercise: FunctionExercise, call: str, got: Any, found: Array, aim: Array
) -> Verdict | None:
    """Return a verdict if `got` is of the wrong kind, otherwise None.

    The wrong kinds are a string for a number and a finite float for an integer.
    """
    if aim.dtype.kind in "biuf" and found.dtype.kind in "SU":
        return a_string(exercise, call, got)
    is_float = aim.dtype.kind in "iu" and found.dtype.kind == "f"
    if is_float and np.isfinite(found).all():
        return a_float(exercise, call, got)
    return None


def one_by_one(found: Array, aim: Array, tolerance: float) -> Difference | None:
    """Return the first difference, or None, with a tolerance relative to each number.

    This suits values of different kinds, where a small one counts even beside a large
    one. Numbers that should be 0 are skipped.
    """
    for index in np.flatnonzero(aim):
        wrong = difference(found[index, None], aim[index, None], tolerance)
        if wrong:
            return replace(wrong, index=(int(index),))
    return None


def compare_trees(exercise: FunctionExercise, call: str, got: Any, wanted: Any) -> None:
    """Raise `Failed` unless nested tuples, lists and dicts agree, leaf by leaf."""
    places = returns(exercise.written_by_learner)
    parts, aims = dict(leaves(got)), dict(leaves(wanted))
    if parts.keys() != aims.keys():
        message = another_value(call, brief(got), brief(wanted))
        why = "The two are nested in different ways."
        raise exercise.failed("shape", message, why, places)
    for path, aim in aims.items():
        at, part = f"result{written(path)}", parts[path]
        goal, found = np.asarray(aim), held(part)
        if goal.dtype != object and found.dtype != object and found.shape == goal.shape:
            lead = f"{call}: "
            judge(exercise, at, found, goal, lambda _: "", lead=lead, places=places)
        elif type(part) is not type(aim) or not np.all(part == aim):
            message = f"{call}: {at} is {brief(part)} and should be {brief(aim)}."
            raise exercise.failed("wrong-value", message, places=places)
