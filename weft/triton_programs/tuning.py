"""The effect of autotuning on a program that adds to the result of an earlier run."""

import numpy as np

from weft.checking.source import line_with
from weft.checking.verdict import Failed
from weft.programs.exercise import ProgramExercise
from weft.programs.launching import Done
from weft.programs.memory import Region
from weft.simulator.trace.trace import ATOMIC, READ
from weft.triton_programs.wording import words
from weft.wording import joined


def tuned_again(exercise: ProgramExercise, done: Done) -> None:
    """Raise `Failed` if an autotuned program uses the results of an earlier run.

    Autotuning runs a program many times on the same arrays. Also raises `Failed` if the
    decorator restores a parameter that the program does not have.
    """
    program, trace = exercise.program, done.trace
    if strange := sorted(program.restored - set(program.parameters)):
        names = ", ".join(map(repr, strange))
        raise Failed(
            words.verdict(
                exercise.name,
                "lost-parameters",
                line_with(program.function, r"def\b"),
                strange=f"{names} {'is' if len(strange) == 1 else 'are'}",
                parameters=", ".join(program.parameters),
            )
        )
    if len(program.configs) < 2:
        return
    regions = [r for r in done.launch.arena.regions if not r.readonly]
    for region, start in zip(regions, exercise.fresh(done.launch.case), strict=True):
        if region.name in program.restored or set_back(done, region, start):
            continue
        mine = (trace.address >= region.first) & (
            trace.address < region.first + region.span // region.itemsize
        )
        rows = np.flatnonzero(mine & np.isin(trace.operation, (READ, ATOMIC)))
        if not rows.size:
            continue
        reads = trace.places[trace.site[rows[0]]]
        places = [(reads, f"reads what is in {region.name}")]
        inputs = {r.name for r in done.launch.arena.regions if r.readonly}
        told = {"array": region.name}
        row, others = "tuning", sorted(program.restored & inputs)
        if others:
            row, told["given"] = "tuning-another", joined(others)
        raise Failed(done.launch.verdict(row, places, **told))


def set_back(done: Done, region: Region, start: np.ndarray) -> bool:
    """Return whether each configuration's hook resets an array to its start values."""
    left = region.data.copy()
    for hook in done.launch.exercise.program.hooks:
        region.data[...] = left
        try:
            if hook is not None:
                hook(done.launch.arguments)
        except Exception:
            return False
        if not np.array_equal(region.data, start):
            return False
    return True
