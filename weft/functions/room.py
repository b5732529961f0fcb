"""The room of plain functions: which things it takes, and its one stage."""

import inspect
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from weft import chapters, doing
from weft.checking.cases import copies, widened
from weft.checking.gaming import belongs, of_another, watched
from weft.checking.room import Facts
from weft.checking.source import begin, raised, raised_at, seed
from weft.checking.verdict import Failed, Verdict
from weft.functions.exercise import FunctionExercise
from weft.functions.values import brief, compare, ended, is_number, wrong_answer
from weft.kernels.launched import Launches, worded
from weft.simulator.faults import kind_of
from weft.simulator.language.python_errors import power
from weft.starters import has_stub
from weft.tracebacks import undefined
from weft.wording import several

MANY = 3  # arguments: from here on a verdict gives their names


class Functions:
    """Checks plain Python functions by their values, and the kernels they launch."""

    what = "a plain function"
    exercise = FunctionExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return True

    def stages(self, exercise: FunctionExercise) -> Iterator[Facts]:
        """Call the function on every case, and compare what it returns."""
        function, name = exercise.written_by_learner, exercise.name
        if belongs(function, exercise.without):
            module = chapters.plain(function.__module__)
            raise Failed(of_another(name, name, f"{module}.{name}"))
        if not isinstance(function, FunctionType):
            message = f"{name} is {kind_of(function)}, not a plain function."
            why = "This exercise asks for a Python function, without @cuda.jit."
            raise Failed(Verdict(name, "type", message, why))
        launches = Launches(name)
        count = 0
        for args in exercise.argument_tuples(seed(function)):
            judge(exercise, args, launches)
            count += 1
        yield [f"right on {several(count, 'case')}", *launches.facts()]


ROOM = Functions()


def judge(
    exercise: FunctionExercise, args: tuple[Any, ...], launches: Launches
) -> None:
    """Call the function once. Raises `Failed` for a wrong answer or a hazard."""
    function, name = exercise.written_by_learner, exercise.name
    wanted = exercise.spec(*(widened(a) for a in copies(args)))
    call = f"{name}({', '.join(written(function, args))})"
    doing.again(f"{name}: call")
    with (
        worded(
            launches,
            call,
            "",
            lambda error: raised_at(error, function),
            lambda error: raised(
                name, call, error, function, power(error) or undefined(error)
            ),
        ),
        launches.watched(call),
    ):
        got, borrowed = watched(
            function, args, exercise.spec, exercise.without, exercise.lines
        )
    if got is None and has_stub(function):
        raise Failed(begin(name))
    if borrowed:
        raise Failed(of_another(name, call, *borrowed))
    launches.refuse_certain()
    try:
        right(exercise, args, call, got, wanted)
    except Failed as failed:
        raise Failed(explained(exercise, args, got, wanted, failed.verdict)) from None
    launches.refuse()


def written(function: FunctionType, args: tuple[Any, ...]) -> list[str]:
    """The arguments of a call; more than a few with their parameters' names."""
    code = inspect.unwrap(function).__code__
    shown = [brief(a) for a in args]
    if len(args) < MANY or len(args) != code.co_argcount:
        return shown
    names = code.co_varnames[: len(args)]
    return [f"{name}={value}" for name, value in zip(names, shown, strict=True)]


def right(
    exercise: FunctionExercise, args: tuple[Any, ...], call: str, got: Any, wanted: Any
) -> None:
    """Raise `Failed` unless the answer is right."""
    if exercise.because is None or not isinstance(wanted, str):
        compare(exercise, call, got, wanted)
    elif got != wanted:
        reason = exercise.because(*args, got)
        raise Failed(wrong_answer(exercise, call, got, reason))


def explained(
    exercise: FunctionExercise,
    args: tuple[Any, ...],
    got: Any,
    wanted: Any,
    verdict: Verdict,
) -> Verdict:
    """The verdict, with the exercise's own reason and the `return` that was reached."""
    has_reason = exercise.because is not None and is_number(got)
    if has_reason and (verdict.kind != "type" or got != wanted):
        why = exercise.because(*args, got) or verdict.why
        verdict = verdict.but(why=why)
    if verdict.places:
        places = ended(exercise.written_by_learner, copies(args))
        verdict = verdict.but(places=places)
    return verdict
