"""Verdicts on hazards of programs, and the races that `weft.sanitizer` finds.

Programs of a grid run in any order, and at the same time. Two accesses are ordered only
if both programs also use an atomic on the same element, the first after its access and
the second before its own: a lock, or a counter of finished programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.checking.verdict import Failed, Verdict
from weft.kernels.hazards import words as of_kernels
from weft.places import Place, named
from weft.programs.launching import Launch
from weft.programs.memory import Region
from weft.programs.strides import stray_rows
from weft.programs.trace import Accesses, Call, Strays, who
from weft.programs.wording import called
from weft.sanitizer import races
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import ATOMIC, READ, WRITE
from weft.wording import capital, sentence, several

ORDER = "Programs run in any order and at the same time."
NOUNS = {"read": "load", "write": "store", "written": "stored", "actor": "program"}
_VERBS = {READ: "loads", ATOMIC: "updates"}
_DONE = {READ: "loaded", ATOMIC: "updated atomically"}


@dataclass(frozen=True)
class Race:
    """Two accesses that nothing orders, as rows of the trace, the earlier one first.

    lost_update: whether both programs read the element and later stored to it. stores:
    whether both accesses are plain stores.
    """

    first: int
    second: int
    lost_update: bool
    stores: bool


def race(trace: Accesses) -> Race | None:
    """Return the most telling race in a trace (see `races`), or None."""
    found = races(trace, guesses_are_fine=False)
    if found is None:
        return None
    one, two = found.first, found.second
    lost = _updates(trace, one.row) and _updates(trace, two.row)
    return Race(one.row, two.row, lost, one.operation == two.operation == WRITE)


def _updates(trace: Accesses, row: int) -> bool:
    """Return whether the program of `row` reads its element and later stores to it."""
    mine = (trace.address == trace.address[row]) & (trace.block == trace.block[row])
    operations = trace.operation[mine]
    reads, stores = operations == READ, operations == WRITE
    if not (reads.any() and stores.any()):
        return False
    return bool(reads.argmax() < len(stores) - stores[::-1].argmax() - 1)


def duplicates(trace: Accesses, row: int) -> int:
    """Count the rows of the trace with the same call and address as `row`."""
    same = (trace.call == trace.call[row]) & (trace.address == trace.address[row])
    return int(same.sum())


def racing(launch: Launch, trace: Accesses, race: Race) -> Verdict:
    """Return the verdict on a race between two accesses."""
    one, two = race.first, race.second
    if trace.operation[one] == READ:
        one, two = two, one
    told = {"one": trace.who(one), "two": trace.who(two)}
    told |= {name.capitalize(): capital(each) for name, each in told.items()}
    told |= {"element": f"`{trace.element(two)}`", "space": "global", **NOUNS}
    said, topic = launch.words("race", **told), "lost-update"
    if race.lost_update:
        said = of_kernels("lost-update", **told)
    elif race.stores:
        said |= of_kernels("two-writes", **told) | launch.words("own-element")
        topic = "stores-race"
    elif READ not in (trace.operation[one], trace.operation[two]):
        said |= of_kernels("with-an-atomic", **told) | launch.words("one-is-atomic")
    notes = [
        (trace.places[trace.site[row]], f"{done} by {trace.who(row)}")
        for row in (one, two)
        for done in [_DONE.get(int(trace.operation[row]), "stored")]
    ]
    return launch.verdict("race", notes, premise=ORDER, topic=topic, **{**told, **said})


def early(launch: Launch, trace: Accesses, row: int) -> Verdict:
    """Return the verdict on a read of an output before anything was stored to it."""
    return launch.verdict(
        "uninitialised",
        called(trace.calls[int(trace.call[row])].places),
        Who=capital(trace.who(row)),
        verb=_VERBS[int(trace.operation[row])],
        element=trace.element(row),
    )


def into_input(launch: Launch, call: Call, owners: Columns) -> None:
    """Raise `Failed` if a call stores to an input. owners: each element's array."""
    for number in np.unique(owners):
        region = launch.arena.regions[number]
        if region.readonly:
            told = {"Who": capital(who(call.program, launch.grid))}
            told["array"] = region.name
            places = called(call.places)
            raise Failed(launch.verdict("input-written", places, **told))


def asserted(launch: Launch, text: str, places: Sequence[Place]) -> Verdict:
    """Return the verdict on a failed assertion in the learner's code.

    text: the assertion's message, or "".
    """
    said = sentence(f"An assertion fails: {text}" if text else "One fails")
    own = launch.exercise.verdict
    return own("exception", said, places=called(places), when=launch.when)


def of_block(call: Call, lane: int) -> str:
    """Describe the place of a lane, such as ' (element 28 of its block of 128)'.

    Returns '' if the block has a single element.
    """
    count = 1
    for n in call.shape:
        count *= n
    if count == 1:
        return ""
    index, rest = [], lane
    for n in reversed(call.shape):
        index.append(rest % n)
        rest //= n
    sizes = " × ".join(map(str, call.shape))
    return f" (element {named(tuple(index[::-1]))} of its block of {sizes})"


def outside(launch: Launch, call: Call, strays: Strays) -> Verdict:
    """Return the verdict on an access outside its array, or in a gap between rows."""
    region = launch.arena.regions[int(strays.owners[0])]
    offset = int(strays.offsets[0]) // region.itemsize
    cells = region.span // region.itemsize
    gap = 0 <= offset < cells
    shape = " × ".join(map(str, region.data.shape))
    count = strays.lanes.size
    few = f"{several(count, 'element')} of this block"
    return launch.verdict(
        "outside",
        called(call.places),
        kind="negative-index" if offset < 0 else "out-of-bounds",
        Who=capital(who(call.program, launch.grid)),
        verb=_VERBS.get(call.operation, "stores"),
        where=f"{region.name} {'-' if offset < 0 else '+'} {abs(offset)}",
        of_block=of_block(call, int(strays.lanes[0])),
        array=region.name,
        size=several(cells, "element") + f" ({shape})" * (region.data.ndim > 1),
        ends=", with a gap after each row." if gap else f": offsets 0 to {cells - 1}.",
        few=f"{few} {'is' if count == 1 else 'are'}",
        question=_mask(launch, call, region, strays),
    )


def _mask(launch: Launch, call: Call, region: Region, strays: Strays) -> str:
    """Return a question about what should have kept an access in bounds."""
    if strays.offsets[0] < 0:
        return launch.words("negative-offset")["why"]
    if not call.masked:
        what = {ATOMIC: "atomic", READ: "load"}.get(call.operation, "store")
        return launch.words("no-mask", what=what)["why"]
    if stride := stray_rows(launch, call, region, strays):
        return stride
    count = strays.lanes.size
    row = "wrong-mask" if count < strays.active.size else "past-the-end"
    return launch.words(row, them="it" if count == 1 else "them")["why"]
