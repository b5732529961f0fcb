"""An exercise in Triton: a program, its data, and how it is launched."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from weft.checking.source import parameter_names
from weft.kernels.exercise import KernelExercise
from weft.triton_programs.programs import Program, function_of, taken_apart


@dataclass(frozen=True, kw_only=True)
class ProgramExercise(KernelExercise):
    """A Triton program, launched as `program[grid](*arguments, **meta)`.

    A natural signature has pointers first, then numbers, then constants:
    `def add(x, y, out, n, BLOCK: tl.constexpr)`.

    inputs: `(rng, *size)` → NumPy arrays and numbers. Arrays arrive as tensors; a view
        with gaps between its rows keeps them.
    arguments: `(*inputs, *outputs)` → what the program is called with, from tensors:
        `lambda x, out: (x, out, x.stride(0), x.shape[1])`. By default
        `(*inputs, *outputs, *size)`.
    launch: `(*size)` → the grid, or `(grid, meta)`: `lambda n, BLOCK=128:
        ((cdiv(n, BLOCK),), {"BLOCK": BLOCK})`. The grid is a tuple, or a function from
        meta to one, which an autotuned program needs. meta holds constants by name, and
        options of the launch such as num_warps.
    kernel: the program that is given, where the learner wrote the function that
        chooses its launch.
    """

    unused: ClassVar[tuple[str, ...]] = ("constants", "without")

    arguments: Any = None

    @property
    def name(self) -> str:
        written = self.written_by_learner
        inner = function_of(written)
        return str(getattr(inner or written, "__name__", written))

    @cached_property
    def program(self) -> Program:
        """The program that is run."""
        return taken_apart(self.kernel)

    @property
    def source(self) -> Any:
        """The Python function that the learner wrote."""
        return function_of(self.written_by_learner) or self.written_by_learner

    def array_names(self, inputs: int, outputs: int) -> list[str]:
        """What to call the arrays and numbers that `arguments` gets."""
        names = parameter_names(self.arguments if self.arguments else self.spec)
        if len(names) == inputs + outputs:
            return names
        if len(names) != inputs:
            names = [f"input {k}" for k in range(inputs)]
        return names + (
            ["out"] if outputs == 1 else [f"output {k}" for k in range(outputs)]
        )
