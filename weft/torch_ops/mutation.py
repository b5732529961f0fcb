"""Inputs that a call changes: which one, and at which line of the learner's."""

import linecache
import sys
from types import FrameType
from typing import Any

from weft.checking.verdict import Failed, Verdict
from weft.places import Note, Place
from weft.starters import source_function
from weft.torch_ops.calls import quiet
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import clones, equal, is_tensor
from weft.torch_ops.written import OPERATOR
from weft.wording import joined


def unchanged(
    exercise: TorchExercise, before: list[Any], after: list[Any], when: str
) -> None:
    """Raise `Failed` where a call has changed an input that it must not change."""
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
        raise Failed(
            Verdict(exercise.name, "mutation", message, why, places, when=when)
        )


def changed_at(exercise: TorchExercise, inputs: list[Any], k: int) -> list[Note]:
    """The line after which input `k` is another: the call is made again, and watched.

    Where a kernel changes it, that is the line of its launch.
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


def place_of(frame: FrameType, number: int) -> Place:
    text = linecache.getline(frame.f_code.co_filename, number).strip()
    return Place(frame.f_code.co_name, number, text)
