"""Run one launch under the tracer, and explain what stopped it."""

import re
from collections.abc import Collection

from weft.checking.source import begin
from weft.checking.step_limit import Endless, endless
from weft.checking.verdict import Failed, Verdict
from weft.places import Place
from weft.programs import hazards
from weft.programs.launching import Done, Launch
from weft.programs.trace import Call, Strays
from weft.programs.wording import called
from weft.simulator.trace.columns import Columns
from weft.starters import has_stub
from weft.triton_programs import compiled, interpreted, shapes
from weft.triton_programs.tracer import Tracer
from weft.triton_programs.wording import words
from weft.wording import sentence


def run(launch: Launch, backwards: bool = False, zeros: Collection[Place] = ()) -> Done:
    """Interpret every program of a launch. Raises `Failed` if a program is stopped.

    backwards: whether the last program runs first. zeros: the loads whose masked-out
    elements are zeros, instead of arbitrary values.
    """
    session = interpreted.Session()

    def refuse(verdict: Verdict) -> None:
        raise Failed(verdict)

    def outside(call: Call, strays: Strays) -> None:
        refuse(hazards.outside(launch, call, strays))

    def stored(call: Call, lanes: Columns, owners: Columns) -> None:
        hazards.into_input(launch, call, owners)

    def unsupported() -> None:
        refuse(launch.verdict("bfloat16", called(session.here())))

    def ambiguous() -> None:
        refuse(launch.verdict("ambiguous", called(session.here())))

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
        call, most = f"A program of {program.function.__name__}", interpreted.MOST_LINES
        raise endless(launch.name, call, stopped, launch.when, most) from None
    except Exception as error:
        if has_stub(launch.exercise.source):
            raise Failed(begin(launch.name)) from None
        places, line = session.raised(error), session.asserted(error)
        raise Failed(raised(launch, error, places, line)) from None
    return Done(launch, tracer.log.trace(launch.arena, launch.grid, launch.name))


def raised(
    launch: Launch, error: Exception, places: tuple[Place, ...], asserted: str = ""
) -> Verdict:
    """Return the verdict on an error that a program raised.

    asserted: the line of Triton whose assertion failed, or "".
    """
    text = str(error).strip().split("\n")[-1] or asserted
    line = places[0].text if places else ""
    for region in launch.arena.regions:
        if re.search(rf"(?<![\w.]){re.escape(region.name)}(\[|\.(shape|T)\b)", line):
            return launch.verdict("indexed", called(places), array=region.name)
    fits = words.matching(text)
    if fits:
        row = fits[0]
        if row == "not-an-address" and not re.search(r"\btl\.(load|store|at)", line):
            row = "not-a-block"
        told = {"kind": "program", **shapes.told(row, error)}
        return launch.verdict(row, called(places), **told)
    if isinstance(error, AssertionError) and not asserted:
        return hazards.asserted(launch, text, places)
    if (found := compiled.refusal(launch)) is not None:
        return found
    said = sentence(f"{type(error).__name__}: {text}")
    return launch.verdict("interpreter", called(places), said=said)
