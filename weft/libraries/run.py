"""One call of a learner's function on the model of a library."""

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from weft.checking.cases import Case
from weft.checking.source import begin, no_parameter
from weft.checking.step_limit import Endless, counted, endless
from weft.checking.verdict import Failed
from weft.libraries.arguments import Bench
from weft.libraries.exercise import LibraryExercise
from weft.libraries.headers import cublas
from weft.libraries.lent import noted
from weft.libraries.loading import on_model
from weft.libraries.model import Model
from weft.places import Note
from weft.starters import has_stub, source


class Run:
    """One run of the learner's function on the model."""

    def __init__(self, exercise: LibraryExercise, case: Case, fails: str = "") -> None:
        """Call the learner's function; keep its results, or the exception it raises.

        fails: a C function whose first call returns an error, or "" for none. Raises
        `Failed` for a function that does not end.
        """
        self.exercise, self.case, self.fails = exercise, case, fails
        self.function: FunctionType = exercise.written_by_learner
        lines = source(self.function).splitlines()
        self.model = Model(code=self.function.__code__, lines=lines)
        self.error: Exception | None = None
        with on_model(self.model):
            bench = Bench(exercise.library, self.model.place)
            arrays = bench.arrays(case.inputs)
            self.args = tuple(exercise.given(bench, *arrays))
            self.arrays = [found_in(arrays, arg) for arg in self.args]
            self._name_buffers()
            if fails:
                self.model.fail_next[fails] = cublas.Status.EXECUTION_FAILED
            self.before = [b.tensor().clone() for b in self.model.memory.buffers]
            try:
                with noted(self.model.lent, self.function):
                    counted(self.function, self.args, exercise.lines)
            except Endless as stopped:
                raise endless(self.name, self.name, stopped, self.when) from None
            except Exception as error:
                self.error = error
        self._untouched()

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def when(self) -> str:
        return self.case.label

    def failed(
        self,
        kind: str,
        message: str,
        why: str = "",
        places: Sequence[Note] = (),
        **more: Any,
    ) -> Failed:
        """Return the error that ends the check, with a verdict on this run."""
        given = {"when": self.when} | more
        return self.exercise.failed(kind, message, why, places, **given)

    @property
    def out(self) -> Any:
        """The array that holds the result."""
        return result_in(self.exercise, self.arrays)

    def _name_buffers(self) -> None:
        """Name buffers after the function's parameters, for verdicts."""
        for parameter, array in zip(
            self.function.__code__.co_varnames, self.arrays, strict=False
        ):
            if array is not None:
                array.buffer.name = parameter

    def _untouched(self) -> None:
        """Raise `Failed` for a starter that has not been edited."""
        if has_stub(self.function) and not self.model.calls and not self.model.faults:
            raise Failed(begin(self.name))


def result_in(exercise: LibraryExercise, arrays: Sequence[Any]) -> Any:
    """Return the array for the result. Raises `Failed` if no parameter receives it.

    arrays: for each argument, the array that it is or points to, or None.
    """
    name, result = exercise.name, exercise.result
    names = exercise.written_by_learner.__code__.co_varnames
    found = dict(zip(names, arrays, strict=False))
    if result not in found:
        raise Failed(no_parameter(name, result))
    if found[result] is None:
        raise exercise.failed(
            "arguments",
            f"The check passes something else than an array for {result}.",
            "A function gets its arguments by their order. Keep the order of the "
            "parameters as the exercise gives them.",
        )
    return found[result]


def found_in(arrays: list[Any], arg: Any) -> Any:
    """Return `arg` if it is an array, or the array at the address `arg`, or None."""
    if hasattr(arg, "data_ptr"):
        return arg
    plain = isinstance(arg, int) and not isinstance(arg, bool) and arg != 0
    same = [
        x for x in arrays if plain and hasattr(x, "data_ptr") and x.data_ptr() == arg
    ]
    return same[0] if same else None
