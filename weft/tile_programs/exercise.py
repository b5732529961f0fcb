"""An exercise in cuTile: how its kernel is run, and what its compiler reports."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

from weft.checking.verdict import Verdict
from weft.places import Place
from weft.programs.exercise import ProgramExercise
from weft.programs.launching import Done, Launch
from weft.programs.program import Program
from weft.programs.wording import ProgramWords
from weft.tile_programs import cutile
from weft.tile_programs.run import run
from weft.tile_programs.wording import words


@dataclass(frozen=True, kw_only=True)
class TileExercise(ProgramExercise):
    """A tile kernel, launched as `ct.launch(stream, grid, kernel, arguments)`.

    A natural signature has arrays first, then numbers, then constants: `def add(x, y,
    out, TILE: ct.Constant[int])`. Sizes are not parameters, because an array knows its
    shape; so `arguments` is by default `(*inputs, *outputs)`.

    full_tiles: the constants of a launch at full size, for which the kernel is compiled
        if `tileiras` is installed; it must then fit into registers. The arrays are
        assumed to be contiguous, and their sizes to be multiples of 16.
    """

    unused: ClassVar[tuple[str, ...]] = ("constants", "without", "full")
    words: ClassVar[ProgramWords] = words
    stores: ClassVar[str] = r"ct\.(store|scatter)"
    spare: ClassVar[str] = "reaches past the end"
    where: ClassVar[str] = "tile by tile"
    gets_size: ClassVar[bool] = False

    full_tiles: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def program(self) -> Program:
        """The kernel's Python function, and which parameters are constants."""
        function = self.function_of(self.kernel)
        assert function is not None
        return Program(function, frozenset(cutile.constants(function)))

    def function_of(self, thing: Any) -> FunctionType | None:
        found = cutile.function_of(thing)
        if found is None and isinstance(thing, FunctionType):
            return thing
        return found

    def run(
        self,
        launch: Launch,
        backwards: bool = False,
        zeros: Collection[Place] = (),
    ) -> Done:
        return run(launch, backwards, zeros)

    def refusal(self, launch: Launch) -> Verdict | None:
        """Return None: the compiler has already accepted any kernel that was run."""
        return None
