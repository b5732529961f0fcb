"""Checks of code for several ranks, which import PyTorch only when they run."""

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from weft.checking.limits import RANKS
from weft.checking.room import Facts
from weft.checking.source import no_parameter, parameter_names, seed
from weft.checking.verdict import Failed
from weft.ranks.exercise import RankExercise
from weft.wording import joined


class Ranks:
    """Checks of functions that every rank of a group runs."""

    what = RANKS
    exercise = RankExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return "ranks" in asked

    def stages(self, exercise: RankExercise) -> Iterator[Facts]:
        """Check the results and costs of every case on the model, and yield facts."""
        from weft.ranks.judging import held, judged
        from weft.ranks.words import words

        function = exercise.written_by_learner
        if not isinstance(function, FunctionType):
            raise Failed(words.verdict(exercise.name, "not-a-function"))
        if exercise.result and exercise.result not in parameter_names(function):
            raise Failed(no_parameter(exercise.name, exercise.result))
        facts: Facts = []
        numbers = []
        for case in exercise.cases(seed(function)):
            world = judged(exercise, case)
            facts = held(exercise, case, world)
            numbers.append(case.ranks)
        tried = joined(sorted(set(numbers)))
        yield [f"right on {tried} ranks, with no deadlock", *facts]


ROOM = Ranks()
