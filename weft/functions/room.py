"""Checks of plain functions: which objects they accept, and their only stage."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from weft.checking.cases import copies, widened
from weft.checking.room import Facts
from weft.checking.source import seed
from weft.checking.verdict import Verdict
from weft.functions.exercise import FunctionExercise
from weft.functions.judging import Case, RaisedAt, Watch, judged
from weft.kernels.launched import Launches, worded


class Functions:
    """Checks the values that plain functions return, and the kernels they launch."""

    what = "a plain function"
    exercise = FunctionExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return True

    def stages(self, exercise: FunctionExercise) -> Iterator[Facts]:
        """Judge the function on every case; yield the facts."""
        yield judged(exercise, cases(exercise), Launching(exercise.name))


ROOM = Functions()


def cases(exercise: FunctionExercise) -> Iterator[Case]:
    """Yield the arguments of each call, with what the spec returns for them."""
    for args in exercise.argument_tuples(seed(exercise.written_by_learner)):
        yield args, exercise.spec(*(widened(a) for a in copies(args)))


class Launching(Watch):
    """Watches the kernels that a function launches; a hazard in one fails the check."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.launches = Launches(name)

    @contextmanager
    def call(
        self, call: str, raised_at: RaisedAt, explain: Callable[[Exception], Verdict]
    ) -> Iterator[None]:
        with (
            worded(self.launches, call, "", raised_at, explain),
            self.launches.watched(call),
        ):
            yield

    def refuse_certain(self) -> None:
        self.launches.refuse_certain()

    def refuse(self) -> None:
        self.launches.refuse()

    def facts(self) -> list[str]:
        return self.launches.facts()
