"""Checks of Triton programs: what they accept, and their stages."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft import device
from weft.checking.limits import PROGRAM
from weft.checking.room import Facts
from weft.checking.verdict import Failed
from weft.device import for_triton
from weft.triton_programs import missing
from weft.triton_programs.exercise import TritonExercise
from weft.triton_programs.programs import is_program, lacks_decorator
from weft.triton_programs.wording import words


class TritonPrograms:
    """Checks `@triton.jit` programs, and functions that choose a program's launch."""

    what = PROGRAM
    exercise = TritonExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return (
            is_program(thing)
            or is_program(asked.get("kernel"))
            or lacks_decorator(thing)
            or "arguments" in asked
        )

    def stages(self, exercise: TritonExercise) -> Iterator[Facts]:
        """Yield the facts of the stages: interpreter, compiler, GPU, and cost."""
        name = exercise.name
        if not is_program(exercise.kernel):
            if lacking := missing():
                raise Failed(words.verdict(name, "no-triton", missing=lacking))
            made = type(exercise.kernel).__name__
            raise Failed(words.verdict(name, "not-a-program", type=made))
        if "gluon" in type(exercise.kernel).__module__:
            raise Failed(words.verdict(name, "gluon"))
        from weft.programs import stages
        from weft.triton_programs import compiled, full_size

        facts, done = stages.interpret(exercise)
        yield facts
        if not exercise.checks_launch:
            yield compiled.compile_stage(exercise)
        gpu = device.find()
        if exercise.full is not None and gpu.usable:
            reason = for_triton.too_old(gpu)
            yield [f"not run on the GPU: {reason}"] * bool(reason) or (
                full_size.full_size(exercise)
            )
        yield stages.cost(exercise, done)


ROOM = TritonPrograms()
