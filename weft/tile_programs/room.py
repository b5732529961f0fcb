"""Checks of tile kernels: what they accept, and their stages."""

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from weft.checking.limits import PROGRAM
from weft.checking.room import Facts
from weft.checking.verdict import Failed
from weft.tile_programs import cutile
from weft.tile_programs.exercise import TileExercise
from weft.tile_programs.wording import words


class TilePrograms:
    """Checks `@ct.kernel` functions, and functions that choose their launch."""

    what = PROGRAM
    exercise = TileExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return (
            cutile.is_kernel(thing)
            or cutile.is_kernel(asked.get("kernel"))
            or lacks_decorator(thing)
        )

    def stages(self, exercise: TileExercise) -> Iterator[Facts]:
        """Yield the facts of the stages: a run on the CPU, machine code, and cost."""
        name = exercise.name
        if lacking := cutile.missing():
            raise Failed(words.verdict(name, "no-cutile", missing=lacking))
        if not cutile.is_kernel(exercise.kernel):
            made = type(exercise.kernel).__name__
            raise Failed(words.verdict(name, "not-a-kernel", type=made))
        from weft.programs import stages
        from weft.tile_programs import compiled

        facts, done = stages.interpret(exercise)
        yield facts
        yield compiled.compile_stage(exercise)
        yield stages.cost(exercise, done)


def lacks_decorator(thing: Any) -> bool:
    """Return whether a function appears to be a kernel without its decorator.

    Only a kernel has a parameter that is annotated as `ct.Constant`.
    """
    return isinstance(thing, FunctionType) and bool(cutile.constants(thing))


ROOM = TilePrograms()
