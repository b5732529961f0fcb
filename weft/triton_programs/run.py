"""Running one launch under the tracer, and saying what stopped it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.source import begin
from weft.checking.step_limit import Endless, endless
from weft.checking.verdict import Failed, Verdict
from weft.simulator.trace.columns import Columns
from weft.starters import has_stub
from weft.triton_programs import interpreted, refusals, wording
from weft.triton_programs.launching import Launch
from weft.triton_programs.trace import Accesses, Call
from weft.triton_programs.tracer import Tracer


@dataclass(frozen=True)
class Done:
    """What a launch left behind."""

    launch: Launch
    trace: Accesses

    @property
    def outputs(self) -> list[np.ndarray[Any, Any]]:
        return [r.data for r in self.launch.arena.regions if not r.readonly]


def run(launch: Launch, backwards: bool = False, zeros: bool = False) -> Done:
    """Interpret every program of a launch. Raises `Failed` for what stops one.

    zeros: what a mask leaves out of a load is zero, not just anything.
    """
    session = interpreted.Session()

    def refuse(verdict: Verdict) -> None:
        raise Failed(verdict)

    def outside(call: Call, lanes: Columns, offsets: Columns, owners: Columns) -> None:
        refuse(wording.outside(launch, call, lanes, offsets, owners))

    def stored(call: Call, lanes: Columns, owners: Columns) -> None:
        for number in np.unique(owners):
            region = launch.arena.regions[number]
            if region.readonly:
                refuse(wording.overwritten(launch, call, region.name))

    def unsupported() -> None:
        refuse(refusals.bfloat16(launch, session.here()))

    def ambiguous() -> None:
        refuse(refusals.ambiguous(launch, session.here()))

    tracer = Tracer(session, launch.arena, outside, stored, unsupported, zeros)
    program = launch.exercise.program
    try:
        with interpreted.interpreting(session, ambiguous) as builder:
            tracer.attach(builder)
            interpreted.run(
                session,
                program.function,
                launch.arguments,
                program.constants,
                launch.grid,
                backwards,
            )
    except Failed:
        raise
    except Endless as stopped:
        name = program.function.__name__
        raise endless(launch.name, f"A program of {name}", stopped, launch.when) from (
            None
        )
    except Exception as error:
        if has_stub(launch.exercise.source):
            raise Failed(begin(launch.name)) from None
        places = session.raised(error)
        raise Failed(refusals.raised(launch, error, places)) from None
    return Done(launch, tracer.log.trace(launch.arena, launch.grid, launch.name))
