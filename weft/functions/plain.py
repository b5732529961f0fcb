"""Compare plain values that a function returned with those its spec returned."""

from typing import Any

from weft.checking import plain
from weft.checking.differences import show
from weft.checking.plain import Block, block, leaves, written
from weft.checking.source import returns
from weft.checking.verdict import Failed
from weft.functions.exercise import FunctionExercise
from weft.functions.wording import a_float, a_string, another_value, brief


def compare(exercise: FunctionExercise, call: str, got: Any, wanted: Any) -> None:
    """Raise `Failed` unless `got` agrees with `wanted`, a plain value."""
    aim = block(wanted)
    if aim is None and plain.is_tree(wanted):
        compare_trees(exercise, call, got, wanted)
    elif aim is None:
        compare_objects(exercise, call, got, wanted)
    else:
        compare_blocks(exercise, call, got, wanted, aim)


def compare_objects(
    exercise: FunctionExercise, call: str, got: Any, wanted: Any
) -> None:
    """Raise `Failed` unless `got` is `wanted`, an object such as None."""
    if got is not wanted:
        message = another_value(call, brief(got), brief(wanted))
        places = returns(exercise.written_by_learner)
        raise exercise.failed("shape", message, places=places)


def compare_blocks(
    exercise: FunctionExercise, call: str, got: Any, wanted: Any, aim: Block
) -> None:
    """Raise `Failed` unless two results agree: numbers, strings, or rows of these."""
    places = returns(exercise.written_by_learner)
    found = block(got)
    if found is None or found.shape != aim.shape:
        message = another_value(call, brief(got), brief(wanted))
        raise exercise.failed("shape", message, places=places)
    if aim.kind != "U" and found.kind == "U":
        raise Failed(a_string(exercise, call, got))
    finite = all(abs(part) < float("inf") for part in found.parts if found.kind == "f")
    if aim.kind == "i" and found.kind == "f" and finite:
        raise Failed(a_float(exercise, call, got))
    if aim.kind == "f" and found.kind == "i":
        found = found.converted("f")  # so that the tolerance also applies to it
    wrong = plain.difference(found, aim, exercise.tolerance)
    if wrong is None and isinstance(wanted, tuple) and len(aim.shape) == 1:
        wrong = plain.one_by_one(found, aim, exercise.tolerance)
    if wrong is None:
        return
    message = f"{call}: {wrong.sentence('result')}"
    if not aim.shape:
        message = another_value(call, show(wrong.got), show(wrong.wanted))
    raise exercise.failed("wrong-value", message, wrong.hint, places)


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
        goal, found = block(aim), block(part)
        if goal is None or found is None or "U" in goal.kind + found.kind:
            if type(part) is not type(aim) or part != aim:
                said = f"{call}: {at} is {brief(part)} and should be {brief(aim)}."
                raise exercise.failed("wrong-value", said, places=places)
        elif wrong := plain.difference(found, goal, exercise.tolerance):
            said = f"{call}: {wrong.sentence(at)}"
            raise exercise.failed("wrong-value", said, wrong.hint, places=places)
