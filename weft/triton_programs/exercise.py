"""An exercise in Triton: how its program is run, and what its compiler reports."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

from weft.checking.verdict import Verdict
from weft.places import Place
from weft.programs.exercise import ProgramExercise
from weft.programs.launching import Done, Launch
from weft.programs.program import Program
from weft.programs.wording import ProgramWords
from weft.triton_programs.programs import OPTIONS, function_of, taken_apart
from weft.triton_programs.wording import words


@dataclass(frozen=True, kw_only=True)
class TritonExercise(ProgramExercise):
    """A Triton program, launched as `program[grid](*arguments, **meta)`.

    A natural signature has pointers first, then numbers, then constants:
    `def add(x, y, out, n, BLOCK: tl.constexpr)`.
    """

    words: ClassVar[ProgramWords] = words
    stores: ClassVar[str] = r"tl\.store"
    spare: ClassVar[str] = "a mask, and no `other`"
    where: ClassVar[str] = "in Triton's interpreter"
    options: ClassVar[frozenset[str]] = OPTIONS

    @cached_property
    def program(self) -> Program:
        """The program's Python function, and what its decorators say."""
        return taken_apart(self.kernel)

    def function_of(self, thing: Any) -> FunctionType | None:
        return function_of(thing)

    def run(
        self,
        launch: Launch,
        backwards: bool = False,
        zeros: Collection[Place] = (),
    ) -> Done:
        from weft.triton_programs.run import run

        return run(launch, backwards, zeros)

    def refusal(self, launch: Launch) -> Verdict | None:
        from weft.triton_programs.compiled import refusal

        return refusal(launch)

    def look_again(self, done: Done) -> None:
        from weft.triton_programs.tuning import tuned_again

        tuned_again(self, done)
