"""Checks of code that calls libraries: it runs on a model, then on a GPU."""

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from weft import device
from weft.checking.limits import LIBRARY
from weft.checking.room import Facts
from weft.checking.source import seed
from weft.checking.verdict import Failed, Verdict
from weft.libraries.exercise import LibraryExercise
from weft.wording import kind_of, several


class Libraries:
    """Checks of functions that call cuBLAS or another NVIDIA library."""

    what = LIBRARY
    exercise = LibraryExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return "library" in asked

    def stages(self, exercise: LibraryExercise) -> Iterator[Facts]:
        """Check all cases, and the exercise's limits, on a model of the library.

        If the exercise asks for it, also check a call that fails. If there is a usable
        GPU, also check one case on it. PyTorch is imported only in this method.
        """
        from weft.libraries.judging import failing, held, judge, real
        from weft.libraries.run import Run

        function, name = exercise.written_by_learner, exercise.name
        if not isinstance(function, FunctionType):
            message = f"{name} is {kind_of(function)}, not a plain function."
            why = "This exercise asks for the host's side: a Python function."
            raise Failed(Verdict(name, "type", message, why))
        count = 0
        for case in exercise.cases(seed(function)):
            run = Run(exercise, case)
            judge(run)
            count += 1
        yield [f"right on {several(count, 'case')}, on a model of the library"]
        if exercise.refuses:
            yield failing(exercise)
        yield held(exercise, run)
        if device.find().usable:
            yield real(exercise)


ROOM = Libraries()
