"""Run a kernel on the data of cases, and find what a wrong value depends on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.checking.cases import Case, copies
from weft.cuda_cpp import running
from weft.cuda_cpp.exercise import CudaCppExercise
from weft.wording import joined

Array = np.ndarray[Any, Any]

MOST_RUNS = 32  # so many elements may the inputs have
MOST_NAMES = 4


@dataclass(frozen=True)
class Runs:
    """A kernel that has been compiled in `folder`, with its launch for one size."""

    exercise: CudaCppExercise
    folder: Path
    launch: running.Launch

    def named(self, inputs: tuple[Any, ...], outputs: Any) -> dict[str, Any]:
        """Return the kernel's arguments, by the names of its parameters."""
        names = running.names_of(self.exercise.prototype)
        return dict(zip(names, self.exercise.call(*inputs, *outputs), strict=True))

    def made(self, case: Case) -> tuple[running.Launched, dict[str, Array]]:
        """Run a case. Returns what happened, and the right outputs by name."""
        outputs = self.exercise.outputs(case)
        named = self.named(case.inputs, outputs)
        wanted = {
            name: right
            for out, right in zip(outputs, case.expected, strict=True)
            for name, value in named.items()
            if value is out
        }
        prototype, arguments = self.exercise.prototype, list(named.values())
        return running.run(self.folder, prototype, self.launch, arguments), wanted

    def dependence(self, case: Case, name: str, index: int) -> str:
        """Say on which elements an output's value depends, and on which it should.

        Each element of the inputs is changed in turn, and the kernel runs again: what
        changes the value has gone into it. Returns "" if these elements are the right
        ones, none, or many.
        """
        first, right = self.made(case)
        got, wanted = list[str](), list[str]()
        for element, again in self.changed(case):
            ran, due = self.made(again)
            if not ran.left:
                return ""
            if ran.left[name].after[index] != first.left[name].after[index]:
                got.append(element)
            if not np.isclose(due[name].flat[index], right[name].flat[index], 1e-9, 0):
                wanted.append(element)
        if got == wanted or not got or not wanted:
            return ""
        if max(len(got), len(wanted)) > MOST_NAMES:
            return ""
        should = f"should change with {joined(wanted)}"
        return f"It changes with {joined(got)}, and {should}."

    def changed(self, case: Case) -> Iterator[tuple[str, Case]]:
        """Yield each element of the inputs, with a case in which it is another number.

        Yields nothing if there are many, or if a kernel updates what it has been given.
        """
        arrays = [value for value in case.inputs if isinstance(value, np.ndarray)]
        if self.exercise.out is not None or sum(a.size for a in arrays) > MOST_RUNS:
            return
        named = self.named(case.inputs, self.exercise.outputs(case))
        for number, value in enumerate(case.inputs):
            names = [name for name, argument in named.items() if argument is value]
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
                continue
            for at in range(value.size if names else 0):
                given = copies(case.inputs)
                given[number].flat[at] = given[number].flat[at] * 0.875 or 0.5
                expected = self.exercise.expected(given)
                again = replace(case, inputs=given, expected=expected)
                yield f"`{names[0]}[{at}]`", again
