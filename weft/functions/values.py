"""Comparing what a plain function returns with what its spec returns."""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import replace
from types import BuiltinFunctionType, FrameType, FunctionType
from typing import Any

import numpy as np

from weft.checking.compare import Array, Difference, difference, show
from weft.checking.source import returns
from weft.checking.step_limit import Endless, counted
from weft.checking.values import as_array, is_tree, judge, leaves, written
from weft.checking.verdict import Failed, Verdict
from weft.functions.exercise import FunctionExercise
from weft.places import Note, Place
from weft.starters import source, source_function


def compare(exercise: FunctionExercise, call: str, got: Any, wanted: Any) -> None:
    """Raise `Failed` unless `got` is what the spec returns.

    call: the call as the verdict writes it.
    """
    got, wanted = as_array(got), as_array(wanted)
    if got is None:
        raise exercise.failed(
            "wrong-value",
            f"{call} returns nothing.",
            "A function returns its result with `return`.",
        )
    if exercise.same is not None:
        if reason := exercise.same(got, wanted):
            raise Failed(wrong_answer(exercise, call, got, reason))
    elif is_tree(wanted):
        compare_trees(exercise, call, got, wanted)
    else:
        compare_arrays(exercise, call, got, wanted)


def compare_arrays(
    exercise: FunctionExercise, call: str, got: Any, wanted: Any
) -> None:
    """Compare numbers, texts, or arrays of them. Raises `Failed`."""
    function = exercise.written_by_learner
    aim, found = np.asarray(wanted), held(got)
    if isinstance(got, ctypes._SimpleCData) and aim.dtype.kind in "biufSU":
        raise Failed(in_ctypes(exercise, call, got))
    if found.dtype == object or found.shape != aim.shape:
        message = f"{call} returns {brief(got)} and should return {brief(wanted)}."
        raise exercise.failed("shape", message, places=returns(function))
    another = another_kind(exercise, call, got, found, aim)
    if another is not None:
        raise Failed(another)
    if aim.dtype.kind == "f" and found.dtype.kind in "iu":
        found = found.astype(aim.dtype)  # so that the tolerance counts for it as well
    wrong = difference(found, aim, exercise.tolerance)
    if wrong is None and isinstance(wanted, tuple) and aim.ndim == 1:
        wrong = one_by_one(found, aim, exercise.tolerance)
    if wrong is None:
        return
    message = f"{call}: {wrong.sentence('result')}"
    if not aim.ndim:
        got, wanted = show(wrong.got), show(wrong.wanted)
        message = f"{call} returns {got} and should return {wanted}."
    raise Failed(
        exercise.verdict("wrong-value", message, wrong.hint, returns(function))
    )


def in_ctypes(exercise: FunctionExercise, call: str, got: Any) -> Verdict:
    """The verdict on an object of ctypes where its value is wanted."""
    return exercise.verdict(
        "type",
        f"{call} returns {brief(got)}, which is an object of ctypes.",
        f"`.value` gives the plain {type(got.value).__name__}.",
        returns(exercise.written_by_learner),
        headline="a ctypes object instead of a number",
        topic="returned",
    )


def held(value: Any) -> Array:
    """`value` as an array; of objects where NumPy cannot hold it."""
    try:
        place = isinstance(value, ctypes._SimpleCData)  # NumPy would read what is in it
        return np.asarray(None if place else value)
    except (ValueError, TypeError, RuntimeError):
        return np.asarray(None)


def another_kind(
    exercise: FunctionExercise, call: str, got: Any, found: Array, aim: Array
) -> Verdict | None:
    """A verdict on a text where a number is wanted, or a float for an integer."""
    is_text = aim.dtype.kind in "biuf" and found.dtype.kind in "SU"
    is_float = aim.dtype.kind in "iu" and found.dtype.kind == "f"
    if is_text:
        what, headline, why = "a string, not a number", "a string", ""
        wanted = "a number"
    elif is_float and np.isfinite(found).all():
        what, headline = "a float, not an integer", "a float"
        wanted = "an integer"
        why = "`/` always gives a float, and so do NumPy's `ceil` and `floor`."
    else:
        return None
    return exercise.verdict(
        "type",
        f"{call} returns {brief(got)}, which is {what}.",
        why,
        returns(exercise.written_by_learner),
        headline=f"{headline} instead of {wanted}",
        topic="returned",
    )


def one_by_one(found: Array, aim: Array, tolerance: float) -> Difference | None:
    """How numbers of different kinds differ: a small one beside a large one counts."""
    for index in np.flatnonzero(aim):
        wrong = difference(found[index, None], aim[index, None], tolerance)
        if wrong:
            return replace(wrong, index=(int(index),))
    return None


def compare_trees(exercise: FunctionExercise, call: str, got: Any, wanted: Any) -> None:
    """Compare nested tuples, lists and dicts, leaf by leaf. Raises `Failed`."""
    places = returns(exercise.written_by_learner)
    parts, aims = dict(leaves(got)), dict(leaves(wanted))
    if parts.keys() != aims.keys():
        message = f"{call} returns {brief(got)} and should return {brief(wanted)}."
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


def wrong_answer(
    exercise: FunctionExercise, call: str, got: Any, reason: str
) -> Verdict:
    """The verdict on an answer whose reason the exercise gives."""
    said = "nothing" if got is None else brief(got)
    message = f"{call} returns {said}."
    places = returns(exercise.written_by_learner)
    return exercise.verdict("answer", message, reason, places)


def ended(function: Callable[..., Any], args: Any) -> list[Note]:
    """The place of the `return` that a call ends with: call it again and watch."""
    inner = source_function(function)
    lines: list[int] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and inner and frame.f_code is inner.__code__:
            lines.append(frame.f_lineno)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        counted(function, args)
    except (Exception, Endless):  # the first call used up what it was given
        lines.clear()
    finally:
        sys.setprofile(before)
    if inner and lines:
        text = source(function).splitlines()[lines[-1] - inner.__code__.co_firstlineno]
        if text.lstrip().startswith("return"):
            return [(Place(inner.__name__, lines[-1], text.strip()), "")]
    return returns(function)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def brief(value: Any) -> str:
    """Write an argument so that it fits into a sentence."""
    if isinstance(value, np.ndarray):
        if value.size <= 4:
            return f"{value.tolist()}"
        return f"array of shape {value.shape}"
    if isinstance(value, str) and len(lines := value.strip().splitlines()) > 1:
        return f'"{" ".join(lines[0].split())} …" ({len(lines)} lines)'
    if isinstance(value, np.floating):
        return repr(float(value))
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return "a lambda" if value.__name__ == "<lambda>" else value.__name__
    return repr(value) if not isinstance(value, np.generic) else show(value)
