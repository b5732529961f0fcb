"""The first stage: results for several sizes, and what a call does to its inputs."""

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch

from weft.checking.compare import agrees, difference
from weft.checking.room import Facts
from weft.checking.source import returns
from weft.checking.step_limit import ended
from weft.checking.verdict import Failed, right_before
from weft.places import Note
from weft.starters import source_function
from weft.torch_ops.calls import Calls, quiet
from weft.torch_ops.exercise import TorchExercise, is_array
from weft.torch_ops.layouts import Strided
from weft.torch_ops.stores import others_stored, place_of, stored
from weft.torch_ops.tensors import (
    DENSE,
    GAPS,
    STRIDED,
    Tensor,
    array,
    clones,
    dtype_name,
    equal,
    has_strides,
    is_tensor,
    share,
    tensors,
    written_shape,
)
from weft.torch_ops.written import OPERATOR
from weft.wording import joined, several

VALUES = ("wrong-value", "unwritten", "exception", "shape", "alias")


@dataclass(frozen=True)
class Call:
    """One call: its case, its inputs before and after it, and the results."""

    exercise: TorchExercise
    case: Any
    when: str
    before: list[Any]
    inputs: list[Any]
    results: list[Any]

    @property
    def name(self) -> str:
        return self.exercise.name

    def failed(self, kind: str, message: str, why: str = "", **more: Any) -> Failed:
        """Return a failure for this call, at the line on which it returned."""
        given = {"places": self.ended, "when": self.when}
        return self.exercise.failed(kind, message, why, **(given | more))

    @property
    def ended(self) -> list[Note]:
        """The line on which the call returned, found by repeating the call."""
        exercise = self.exercise
        with quiet():
            return ended(
                exercise.written.main, lambda: exercise.results(*clones(self.before))
            )


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Check a call for each case, and one on strided inputs if that is asked for.

    Returns facts; raises `Failed` if a call is wrong or a required kernel is not
    launched.
    """
    count, last, right = 0, None, ""
    for case in exercise.cases(exercise.written.seed):
        with right_before(right):
            one(exercise, calls, case)
        count += 1
        right = case.written
        last = case if case.listed and has_strides(inputs_of(calls, case)) else last
    if exercise.launches and not calls.launches.count:
        raise exercise.failed(
            "library",
            f"{exercise.name} launches no kernel.",
            "The numbers are right, but PyTorch has computed them. This exercise asks "
            "for a kernel of yours.",
            returns(exercise.written.main),
            headline="no kernel is launched",
        )
    facts = [f"right on {several(count, 'size')}"]
    if exercise.strided and last is not None:
        with_strides(exercise, calls, last)
        facts = [f"right on {several(count, 'size')}, and on a strided input"]
    return facts


def inputs_of(calls: Calls, case: Any) -> list[Any]:
    return tensors(case.inputs, layout=STRIDED, device=calls.device)


def with_strides(exercise: TorchExercise, calls: Calls, case: Any) -> None:
    """Check a call on strided inputs, once calls on dense inputs have passed.

    Raises `Failed` if the call is wrong.
    """
    wide = any(is_array(value) and value.ndim > 1 for value in case.inputs)
    layout = STRIDED
    try:
        one(exercise, calls, case, STRIDED)
        if wide:  # for a vector, STRIDED already has gaps
            layout = GAPS
            one(exercise, calls, case, GAPS)
    except Failed as failed:
        verdict = failed.verdict
        if verdict.kind not in VALUES:
            raise
        inputs = tensors(
            case.inputs, layout=layout, device=calls.device, host=exercise.host
        )
        call = Call(exercise, case, "", inputs, [], [])
        raised = verdict.kind == "exception" and verdict.places
        places = raised or call.ended or returns(exercise.written.main)
        strided = Strided(exercise, calls, case, layout)
        message, why = strided.message(verdict), strided.why(verdict)
        more: Any = {"message": message, "why": why, "places": places}
        raise Failed(verdict.but(kind="strides", headline="", **more)) from None


def one(
    exercise: TorchExercise, calls: Calls, case: Any, layout: str = DENSE
) -> list[Any]:
    """Check one call; return its results. Raises `Failed` if anything is wrong."""
    when = ", ".join(filter(None, (case.label, layout)))
    inputs = tensors(
        case.inputs, layout=layout, device=calls.device, host=exercise.host
    )
    before = clones(inputs)
    results = calls.results(inputs, when)
    call = Call(exercise, case, when, before, inputs, results)
    calls.launches.refuse_certain()
    unchanged(exercise, before, inputs, when)
    given_back(call)
    alone(call)
    right(call)
    calls.launches.refuse()
    return results


def given_back(call: Call) -> None:
    """Raise `Failed` unless a call returns as many tensors as the spec does."""
    wanted = len(call.case.expected)
    if not call.results:
        message = f"{call.name} returns nothing."
        why = "A function returns its result with `return`."
        raise call.failed("wrong-value", message, why, places=[])
    odd = next((r for r in call.results if not is_tensor(r)), None)
    if odd is not None or any(r is None for r in call.results):
        said = "None" if odd is None else f"a {type(odd).__name__}"
        raise call.failed(
            "wrong-value",
            f"{call.name} returns {said}, and a tensor is wanted.",
            headline="the result is no tensor",
        )
    if len(call.results) != wanted:
        message = (
            f"{call.name} gives {several(len(call.results), 'result')}, and "
            f"{wanted:,} should come."
        )
        raise call.failed("shape", message)


def alone(call: Call) -> None:
    """Raise `Failed` if a result shares memory with an input."""
    if call.exercise.written.kind != OPERATOR and call.exercise.changes:
        return
    names = call.exercise.names(len(call.inputs))
    new = call.results[: len(call.results) - len(call.exercise.changes)]
    for result in new:
        for name, given in zip(names, call.inputs, strict=True):
            if is_tensor(given) and share(result, given):
                raise call.failed(
                    "alias",
                    f"{call.name} returns {name}, or a view of it.",
                    "A caller who changes the result would change the input as well. "
                    "The results need memory of their own.",
                )


def right(call: Call) -> None:
    """Compare each result with the spec's. Raises `Failed` if one differs."""
    for number in range(len(call.results)):
        try:
            compare(call, number)
        except Failed as failed:
            more = others_right(call, number)
            raise Failed(failed.verdict.adding(more), failed.clue) from None


def result_names(count: int) -> list[str]:
    return ["result"] if count == 1 else [f"result {k + 1}" for k in range(count)]


def others_right(call: Call, wrong: int) -> str:
    """Say which of the other results are right, if results have names."""
    trios = zip(call.exercise.outputs, call.results, call.case.expected, strict=False)
    found = [
        f"`{name}`"
        for number, (name, got, wanted) in enumerate(trios)
        if number != wrong and tuple(got.shape) == wanted.shape
        if agrees(array(got), wanted, call.exercise.tolerance)
    ]
    verb = "is" if len(found) == 1 else "are"
    return f"{joined(found)} {verb} right." if found else ""


def compare(call: Call, number: int) -> None:
    """Compare one result's shape, dtype and values. Raises `Failed` if one differs."""
    got, wanted = call.results[number], call.case.expected[number]
    names = call.exercise.outputs
    name = (names or result_names(len(call.results)))[number]
    of = name if names else f"The {name} of {call.name}"
    if tuple(got.shape) != wanted.shape:
        message = (
            f"{of} has the shape {written_shape(got.shape)}, and "
            f"{written_shape(wanted.shape)} is wanted."
        )
        raise call.failed("shape", message)
    aim = wanted_dtype(call, wanted)
    found = array(got)
    wrong = difference(found, wanted, call.exercise.tolerance)
    if wrong is None and (aim is None or got.dtype == aim):
        return
    if wrong is not None and not (aim and got.dtype != aim and is_whole(got, aim)):
        if found.dtype.kind == "f" and is_blank(wrong.got):
            raise never_written(call, number, name, found, wrong.index)
        why = call.exercise.likely(*call.case.inputs, *map(array, call.results))
        where = stored(call.exercise, call.before, number, wrong.index)
        raise call.failed(
            "wrong-value",
            wrong.sentence(name),
            why or wrong.hint,
            **({} if where is None else vars(where)),
        )
    assert aim is not None
    wide = got.dtype == torch.float64
    why = (
        "float64 takes twice the memory, and on most GPUs far more time. Which line "
        "makes the result, and from what does it take its dtype?"
        if wide
        else "From what does the line that makes the result take its dtype?"
    )
    raise call.failed(
        "dtype",
        f"{of} is {dtype_name(got.dtype)}, and {dtype_name(aim)} is wanted.",
        why,
    )


def is_whole(got: Tensor, aim: torch.dtype) -> bool:
    """Return whether floats are wanted and the result is not floating-point."""
    return not got.is_floating_point() and aim.is_floating_point


def is_blank(value: Any) -> bool:
    """Return whether a value is the NaN of `poisoned`.

    Its sign bit is clear, unlike that of the NaNs that x86 itself produces.
    """
    return bool(np.isnan(value) and not np.signbit(value))


def never_written(
    call: Call,
    number: int,
    name: str,
    found: np.ndarray[Any, Any],
    index: tuple[int, ...],
) -> Failed:
    """Return the failure for an element that has not been written."""
    at = f"{name}[{', '.join(map(str, index))}]" if index else name
    others = others_stored(call.exercise, call.before, number, index)
    message = (
        f"{at} never gets a value{others_blank(np.isnan(found))}: it is NaN, which the "
        "check puts into new memory."
    )
    why = "Follow one element: which thread should write it, and into which tensor?"
    if others.threads:
        message += (
            f" The launch has {others.threads:,} threads in all, for {found.size:,} "
            "elements."
        )
        why = (
            "How many blocks are needed for so many elements, if the last may be "
            "partly full?"
        )
    return call.failed("unwritten", message, why, places=others.places)


def others_blank(blank: np.ndarray[Any, Any]) -> str:
    """Name all other elements without a value: rows, columns or a count."""
    count = int(blank.sum())
    if blank.ndim == 2 and not blank.all():
        for axis, what in enumerate(("column", "row")):
            (whole,) = np.nonzero(blank.all(axis=axis))
            if whole.size * blank.shape[axis] != count or blank.shape[axis] == 1:
                continue
            first, last = whole[[0, -1]]
            if first == last:
                return f", nor does any other element of {what} {first}"
            if last - first + 1 == whole.size:
                return f", nor does any other element of {what}s {first} to {last}"
    return f", nor do {count - 1:,} others of {blank.size:,}" if count > 1 else ""


def wanted_dtype(call: Call, wanted: np.ndarray[Any, Any]) -> torch.dtype | None:
    """Return the dtype that a result should have, or None if any will do.

    By default it is the one to which the inputs' floating-point dtypes promote.
    """
    if call.exercise.dtype:
        found: torch.dtype = getattr(torch, call.exercise.dtype)
        return found
    floats = [v.dtype for v in call.before if is_tensor(v) and v.is_floating_point()]
    if wanted.dtype.kind != "f" or not floats:
        return None
    widest: torch.dtype = floats[0]
    for dtype in floats[1:]:
        widest = torch.promote_types(widest, dtype)
    return widest


def unchanged(
    exercise: TorchExercise, before: list[Any], after: list[Any], when: str
) -> None:
    """Raise `Failed` if a call has changed an input that it must not change."""
    names = exercise.names(len(after))
    for k, (name, now, held) in enumerate(zip(names, after, before, strict=True)):
        if name in exercise.changes or not is_tensor(now) or equal(now, held):
            continue
        if exercise.written.kind == OPERATOR:
            declared = joined(exercise.changes) if exercise.changes else "nothing"
            message = f"{exercise.name} changes {name}; its schema names {declared}."
            why = (
                "`mutates_args` is a promise: autograd and torch.compile reorder and "
                "reuse tensors on the strength of it."
            )
        else:
            message = f"{exercise.name} changes {name}, which is an input."
            why = "The caller still needs it, and so may a backward that saved it."
        places = changed_at(exercise, clones(before), k)
        raise exercise.failed("mutation", message, why, places, when=when)


def changed_at(exercise: TorchExercise, inputs: list[Any], k: int) -> list[Note]:
    """Return the line that changes input `k`, found by repeating the call.

    If a kernel changes the input, that is the line of the kernel's launch.
    """
    main = source_function(exercise.written.main)
    if main is None or sys.gettrace() is not None:
        return []
    held = inputs[k].detach().clone()
    last: list[tuple[FrameType, int]] = []
    found: list[Note] = []

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if not found and last and not equal(inputs[k], held):
            found.append((place_of(*last[-1]), f"changes {exercise.names(k + 1)[k]}"))
        last[:] = [(frame, frame.f_lineno)]
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return line if frame.f_globals is main.__globals__ else None

    sys.settrace(call)
    try:
        with quiet():
            exercise.results(*inputs)
    except Exception:
        return found
    finally:
        sys.settrace(None)
    return found
