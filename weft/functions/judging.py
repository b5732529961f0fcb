"""Check a plain function: call it, and compare what it returns.

The pages of the book use this module too. They have no NumPy, and plain functions
launch no kernels there. In labs, `weft.functions.room` watches the launches.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from weft import chapters, doing
from weft.checking.cases import copies
from weft.checking.gaming import belongs, of_another, watched
from weft.checking.source import begin, raised, raised_at
from weft.checking.step_limit import Endless, counted, ended, endless
from weft.checking.verdict import Failed, Verdict
from weft.functions.exercise import FunctionExercise
from weft.functions.values import compare, is_number
from weft.functions.wording import brief, wrong_answer
from weft.places import Note
from weft.python_errors import power
from weft.starters import has_stub
from weft.tracebacks import undefined, zero_divisor
from weft.wording import kind_of, several

Case = tuple[tuple[Any, ...], Any]  # the arguments of a call, and the right result
RaisedAt = Callable[[BaseException], list[Note]]

MANY = 3  # from this many arguments on, a verdict gives their names


class Watch:
    """Watches the calls of one check. This base class does not watch kernels.

    name: the exercise's name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @contextmanager
    def call(
        self, call: str, raised_at: RaisedAt, explain: Callable[[Exception], Verdict]
    ) -> Iterator[None]:
        """Raise `Failed`, with a verdict, for any exception raised in the `with` block.

        call: the call, as the verdict names it. raised_at: returns the learner's lines
        that an error came through. explain: returns the verdict on an exception.
        """
        try:
            yield
        except Endless as stopped:
            raise endless(self.name, call, stopped) from None
        except Failed:
            raise
        except Exception as error:
            raise Failed(explain(error)) from None

    def refuse_certain(self) -> None:
        """Raise `Failed` for a finding that takes precedence over a wrong result."""

    def refuse(self) -> None:
        """Raise `Failed` for any finding that `refuse_certain` does not report."""

    def facts(self) -> list[str]:
        """Return the facts that a passing check reports."""
        return []


def judged(
    exercise: FunctionExercise, cases: Iterable[Case], watch: Watch
) -> list[str]:
    """Call the function on every case; return facts. Raises `Failed` if one fails."""
    refuse_other(exercise)
    count = 0
    for args, wanted in cases:
        judge(exercise, args, wanted, watch)
        count += 1
    return [f"right on {several(count, 'case')}", *watch.facts()]


def refuse_other(exercise: FunctionExercise) -> None:
    """Raise `Failed` unless the learner's object is a plain function of their own."""
    function, name = exercise.written_by_learner, exercise.name
    if belongs(function, exercise.without):
        module = chapters.plain(function.__module__)
        raise Failed(of_another(name, name, f"{module}.{name}"))
    if not isinstance(function, FunctionType):
        message = f"{name} is {kind_of(function)}, not a plain function."
        why = "This exercise asks for a Python function, without @cuda.jit."
        raise Failed(Verdict(name, "type", message, why))


def judge(
    exercise: FunctionExercise, args: tuple[Any, ...], wanted: Any, watch: Watch
) -> None:
    """Call the function once. Raises `Failed` unless it returns the right result."""
    function, name = exercise.written_by_learner, exercise.name
    call = f"{name}({', '.join(written(function, args))})"
    doing.again(f"{name}: call")

    def explain(error: Exception) -> Verdict:
        why = power(error) or undefined(error) or zero_divisor(error, function)
        return raised(name, call, error, function, why)

    with watch.call(call, lambda error: raised_at(error, function), explain):
        got, borrowed = watched(
            function, args, exercise.spec, exercise.without, exercise.lines
        )
    if got is None and has_stub(function):
        raise Failed(begin(name))
    if borrowed:
        raise Failed(of_another(name, call, *borrowed))
    watch.refuse_certain()
    try:
        right(exercise, args, call, got, wanted)
    except Failed as failed:
        raise Failed(explained(exercise, args, got, wanted, failed.verdict)) from None
    watch.refuse()


def written(function: FunctionType, args: tuple[Any, ...]) -> list[str]:
    """Format the arguments of a call, with their names if there are MANY or more."""
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
    if exercise.because is None or got is None or not isinstance(wanted, str):
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
    """Return `verdict` with the exercise's reason and the `return` that was reached."""
    number = is_number(got) and (verdict.kind != "type" or got != wanted)
    wrong = verdict.kind in ("wrong-value", "answer")
    asked = number or (wrong and got is not None)
    if exercise.because is not None and asked:
        why = exercise.because(*args, got) or verdict.why
        verdict = verdict.but(why=why)
    if verdict.places:
        function = exercise.written_by_learner
        places = ended(function, lambda: counted(function, copies(args)))
        verdict = verdict.but(places=places)
    return verdict
