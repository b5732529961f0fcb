"""Run one launch of a tile kernel, and explain what stopped it."""

from collections.abc import Collection
from typing import Any

import numpy as np

from weft.checking.source import begin
from weft.checking.step_limit import Endless, endless
from weft.checking.verdict import Failed, Verdict
from weft.places import Place, named
from weft.programs import hazards
from weft.programs.launching import Done, Launch
from weft.programs.trace import Call, Dim, Strays, who
from weft.programs.wording import called
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import READ
from weft.starters import has_stub
from weft.tile_programs import cutile
from weft.tile_programs.evaluate import Access, Evaluator, TooLong, Unsupported
from weft.tile_programs.traced import Traced
from weft.tile_programs.wording import words
from weft.wording import capital, sentence, several

MOST = 200_000  # the most instructions that one program may run


def run(launch: Launch, backwards: bool = False, zeros: Collection[Place] = ()) -> Done:
    """Execute every program of a launch. Raises `Failed` if anything stops one.

    backwards: whether the last program runs first. zeros: the loads whose elements
    outside the array are zeros, instead of arbitrary values.
    """
    exercise, arena = launch.exercise, launch.arena

    def outside(call: Call, strays: Strays) -> None:
        raise Failed(hazards.outside(launch, call, strays))

    def past(call: Call, at: Access) -> None:
        raise Failed(nowhere(launch, call, at))

    def stored(call: Call, owners: Columns) -> None:
        hazards.into_input(launch, call, owners)

    def twice(call: Call, cell: int, count: int) -> None:
        region, index = arena.index(cell)
        where = ", ".join(map(str, index))
        said = launch.verdict(
            "several-values",
            called(call.places),
            topic="stores-race",
            Who=capital(who(call.program, launch.grid)),
            count=count,
            element=f"`{region.name}[{where}]`",
        )
        raise Failed(said)

    typed = compiled(launch)
    memory = Traced(arena, outside, past, stored, twice, zeros)
    evaluator = Evaluator(memory, launch.grid, MOST)
    given = dict(zip(typed.parameters, flat(launch), strict=True))
    count = launch.programs
    for number in range(count)[::-1] if backwards else range(count):
        memory.program = number
        try:
            evaluator.run(typed.body, given, index(number, launch.grid))
        except Failed:
            raise
        except TooLong as stopped:
            call = f"A program of {exercise.program.function.__name__}"
            long = Endless(stopped.places[0], MOST)
            raise endless(launch.name, call, long, launch.when, MOST) from None
        except cutile.Refused as refused:
            raise Failed(refusal(launch, refused)) from None
        except Unsupported as unknown:
            places = called(unknown.places)
            said = launch.verdict("not-simulated", places, what=unknown.what)
            raise Failed(said) from None
        except AssertionError as failed:
            said = hazards.asserted(launch, str(failed), evaluator.here())
            raise Failed(said) from None
    return Done(launch, memory.log.trace(arena, launch.grid, launch.name))


def index(number: int, grid: Dim) -> Dim:
    """Return the position (x, y, z) of a program in the grid."""
    x, y, _ = grid
    return number % x, number // x % y, number // (x * y)


def flat(launch: Launch) -> list[Any]:
    """Return the launch's arguments in a flat list.

    An array becomes its address, its shape and its strides. Constants are left out.
    """
    found: list[Any] = []
    for name, value in launch.arguments.items():
        if name in launch.exercise.program.constants:
            continue
        if hasattr(value, "data_ptr"):
            sizes = (*value.shape, *value.stride())
            found += [np.int64(value.data_ptr()), *map(np.int32, sizes)]
        else:
            found.append(np.float32(value) if isinstance(value, float) else value)
    return found


def compiled(launch: Launch) -> cutile.Typed:
    """Compile a launch's kernel. Raises `Failed` if the compiler refuses it."""
    try:
        return cutile.typed(launch.exercise.kernel, list(launch.arguments.values()))
    except cutile.Refused as refused:
        if has_stub(launch.exercise.source):
            raise Failed(begin(launch.name)) from None
        raise Failed(refusal(launch, refused)) from None


def refusal(launch: Launch, refused: cutile.Refused) -> Verdict:
    """Return the verdict on a kernel that cuTile's compiler refuses."""
    places = called(refused.places)
    if not (reason := refused.reason):
        return launch.verdict("gives-up", places)
    if fits := words.matching(reason):
        row, found = fits
        told = {"said": sentence(reason), **found.groupdict()}
        return launch.verdict(row, places, **{"kind": "program", **told})
    return launch.verdict("refused", places, said=sentence(reason))


def nowhere(launch: Launch, call: Call, at: Access) -> Verdict:
    """Return the verdict on a tile that is entirely outside its array."""
    assert at.whole is not None
    view, which = at.whole
    number = int(launch.arena.owners(np.array([at.array]))[0])
    region = launch.arena.regions[number]
    tiles = view.tiles
    axis = next(k for k, i in enumerate(which) if not 0 <= i < tiles[k])
    return launch.verdict(
        "past-the-tiles",
        called(call.places),
        kind="negative-index" if which[axis] < 0 else "out-of-bounds",
        Who=capital(who(call.program, launch.grid)),
        verb="loads" if call.operation == READ else "stores",
        index=named(which),
        array=region.name,
        shape=" × ".join(map(str, view.shape)),
        tile=" × ".join(map(str, view.tile)),
        count=several(tiles[axis], "tile"),
        axis=axis,
        last=tiles[axis] - 1,
    )
