"""An exercise on a program that runs on a grid: the program, data and launch."""

from collections.abc import Collection
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from weft.checking.source import parameter_names
from weft.checking.verdict import Verdict
from weft.kernels.exercise import KernelCase, KernelExercise
from weft.places import Place
from weft.programs.program import Program
from weft.programs.wording import ProgramWords


@dataclass(frozen=True, kw_only=True)
class ProgramExercise(KernelExercise):
    """A program that each block of a grid runs, with arguments and constants.

    words: the language's table of verdicts. stores: a pattern for the call that stores.
    spare: a note on a load that reads more than the array contains. where: a phrase
    for facts, such as "in Triton's interpreter". options: the names, other than
    parameters, that a launch takes. gets_size: whether a program gets the size unless
    `arguments` says otherwise.

    inputs: `(rng, *size)` → NumPy arrays and numbers. Arrays become tensors; gaps
        between a view's rows are kept.
    arguments: `(*inputs, *outputs)` → the program's arguments, given tensors:
        `lambda x, out: (x, out, x.stride(0), x.shape[1])`. By default
        `(*inputs, *outputs, *size)`.
    launch: `(*size)` → the grid, or `(grid, meta)`: `lambda n, BLOCK=128:
        ((cdiv(n, BLOCK),), {"BLOCK": BLOCK})`. The grid is a tuple, or a function that
        returns one for meta, which an autotuned program needs. meta holds constants by
        name, and options of the launch such as num_warps.
    gaps: the number of elements between two rows of an output that belong to neither.
    kernel: the program that the exercise supplies, if the learner writes the function
        that chooses its launch.
    """

    unused: ClassVar[tuple[str, ...]] = ("constants", "without")
    words: ClassVar[ProgramWords]
    stores: ClassVar[str]
    spare: ClassVar[str]
    where: ClassVar[str]
    options: ClassVar[frozenset[str]] = frozenset()
    gets_size: ClassVar[bool] = True

    arguments: Any = None
    gaps: int = 0

    @property
    def name(self) -> str:
        written = self.written_by_learner
        inner = self.function_of(written)
        return str(getattr(inner or written, "__name__", written))

    @property
    def program(self) -> Program:
        """The program that is run."""
        raise NotImplementedError

    def function_of(self, thing: Any) -> FunctionType | None:
        """Return the Python function inside a program, or None for any other object."""
        raise NotImplementedError

    def run(
        self,
        launch: Any,
        backwards: bool = False,
        zeros: Collection[Place] = (),
    ) -> Any:
        """Run a `Launch` on the CPU; return a `Done`. Raises `Failed` for a mistake.

        backwards: whether the last program runs first. zeros: the loads whose
        masked-out elements are zeros rather than arbitrary values.
        """
        raise NotImplementedError

    def refusal(self, launch: Any) -> Verdict | None:
        """Return the compiler's verdict on a launch that it refuses, or None."""
        raise NotImplementedError

    def look_again(self, done: Any) -> None:
        """Run further checks on a program whose results are right.

        Raises `Failed` if one of them fails.
        """

    @property
    def source(self) -> Any:
        """The Python function that the learner wrote."""
        return self.function_of(self.written_by_learner) or self.written_by_learner

    def fresh(self, case: KernelCase) -> tuple[Any, ...]:
        """Return new outputs for a launch, with `gaps` elements between their rows."""
        outputs = super().fresh(case)
        if not self.gaps:
            return outputs
        wide = [
            np.zeros((*o.shape[:-1], o.shape[-1] + self.gaps), o.dtype) for o in outputs
        ]
        for rows, output in zip(wide, outputs, strict=True):
            rows[..., : output.shape[-1]] = output
        return tuple(rows[..., : -self.gaps] for rows in wide)

    def array_names(self, inputs: int, outputs: int) -> list[str]:
        """Return a name for each input and output, a parameter's where possible."""
        names = parameter_names(self.arguments if self.arguments else self.spec)
        if len(names) == inputs + outputs:
            return names
        if len(names) != inputs:
            names = [f"input {k}" for k in range(inputs)]
        return names + (
            ["out"] if outputs == 1 else [f"output {k}" for k in range(outputs)]
        )
