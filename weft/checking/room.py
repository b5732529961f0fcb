"""The interface of a kind of exercise, and the course of every check.

A room is a package that checks one kind of thing, such as kernels, plain functions,
host code, C, Triton programs or PyTorch operators. It says which things it checks, what
an exercise of its kind consists of, and in which stages such a thing is judged.
Everything else is done here: stale cells, unknown arguments, facts, the verdict, and
progress.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Protocol

from weft import effort, lesson
from weft.checking.exercise import Exercise
from weft.checking.given import refuse_changed
from weft.checking.limits import validated
from weft.checking.printed import Printed
from weft.checking.verdict import CheckFailed, Failed, Verdict, common
from weft.lesson import missing

Facts = list[str]


@dataclass(frozen=True)
class Checked:
    """A completed check: the thing checked, the exercise, and the verdict."""

    thing: Any
    exercise: Any
    verdict: Verdict


_last: dict[str, Checked] = {}  # by the exercise's name


def last_check(name: str) -> Checked | None:
    """Return the last check of an exercise in this session, or None."""
    return _last.get(name)


class Room(Protocol):
    """One kind of exercise.

    what: the name of the kind in a sentence, such as "a kernel". exercise: the class of
    its exercises, whose fields are the arguments that `check` takes for this kind.
    """

    what: str
    exercise: type[Any]

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        """Return whether this room checks `thing`. asked: the check's arguments."""

    def stages(self, exercise: Any) -> Iterator[Facts]:
        """Judge stage by stage; yield the facts of each stage that the thing passes.

        Raises `Failed` at the first stage that the thing fails.
        """


def judge(room: Room, thing: Any, asked: Mapping[str, Any]) -> Verdict:
    """Check `thing`; return the verdict, which includes what `thing` printed.

    Raises ValueError if the exercise has an argument or a limit that its kind does not
    have. With WEFT_STRICT=1 a failure raises CheckFailed.
    """
    exercise = make(room, thing, asked)
    printed = Printed()

    def judged() -> Verdict:
        refuse_stale(exercise.name)
        refuse_changed(exercise)
        with redirect_stdout(printed):
            facts = [fact for stage in room.stages(exercise) for fact in stage]
        return Verdict(exercise.name, "pass", facts=facts)

    try:
        verdict = settled(judged).but(
            judged=lesson.execution(exercise.name), printed=printed.text
        )
    except BaseException:  # there will be no verdict to show it
        if printed.text:
            print(printed.text)
        raise
    _last[exercise.name] = Checked(thing, exercise, verdict)
    return verdict


def make(room: Room, thing: Any, asked: Mapping[str, Any]) -> Any:
    """Make the exercise. Raises ValueError for an argument that it does not take."""
    name = room.exercise.title(thing)
    known = {f.name for f in fields(room.exercise)} - {"written_by_learner"}
    known -= set(room.exercise.unused)
    for key in asked:
        if key not in known:
            close = get_close_matches(key, known, 1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise ValueError(
                f"check({name}, ...): {key} means nothing for {room.what}; {meant}"
                f"It takes {', '.join(sorted(known))}."
            )
    limits = validated(name, room.what, asked.get("limits") or {})
    exercise: Exercise = room.exercise(
        **{**asked, "written_by_learner": thing, "limits": limits}
    )
    return exercise


def settled(judge: Callable[[], Verdict]) -> Verdict:
    """Return the verdict that `judge` returns, or raises as `Failed`.

    All launches of a check share one limit on loop iterations. A pass is recorded on
    the progress board. With WEFT_STRICT=1 in the environment, a failure raises
    CheckFailed.
    """
    try:
        with effort.of_one_check():
            verdict = judge()
    except Failed as failed:
        verdict = failed.verdict
    if verdict:
        verdict = verdict.but(onward=lesson.passed(verdict.name))
    elif os.environ.get("WEFT_STRICT") == "1":
        raise CheckFailed(f"\n{verdict!r}")
    return verdict


def refuse_stale(name: str) -> None:
    """Raise Failed if the cell that defines `name` ended in an error."""
    if missing.is_stale(name):
        raise Failed(common.verdict(name, "stale"))
