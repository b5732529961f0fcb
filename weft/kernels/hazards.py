"""Wording what the sanitizer found."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.verdict import Verdict
from weft.places import Place, axes, named
from weft.sanitizer import Access, Race, Unwritten, races, unwritten
from weft.simulator.limits import configuration
from weft.simulator.trace.trace import ATOMIC, GLOBAL, READ, WRITE, Trace

ORDER = "The simulator always runs threads in the same order; a GPU does not. "
_VERBS = {READ: "read", WRITE: "written", ATOMIC: "changed atomically"}


@dataclass(frozen=True)
class Hazard:
    """What to say about a trace. `secondary` if a wrong result says it better.

    Two threads that store to the same element of an output usually have their index
    wrong. Then what is missing from the output, or wrong in it, is nearer to the
    mistake than the collision.
    """

    verdict: Verdict
    secondary: bool


def find(kernel: str, trace: Trace, config: Any, when: str) -> Hazard | None:
    """The first hazard of a trace, None if it has none."""
    race = races(trace)
    stores = race is not None and race.second.operation == race.first.operation == WRITE
    secondary = (
        race is not None and race.space == "global" and (stores or race.lost_update)
    )
    if race is not None and not secondary:
        return Hazard(_race(kernel, trace, race, config, when), False)
    missing = unwritten(trace)
    if missing is not None:
        return Hazard(_unwritten(kernel, trace, missing, config, when), False)
    if race is not None:
        return Hazard(_race(kernel, trace, race, config, when), True)
    return None


def certain(kernel: str, trace: Trace, config: Any, when: str) -> Verdict | None:
    """A race in a trace that is not at its end; None if there is none as yet.

    Whatever may follow, two plain accesses that nothing orders remain a race. Of lost
    updates the result may say more.
    """
    race = races(trace)
    if (
        race is None
        or race.lost_update
        or ATOMIC in (race.first.operation, race.second.operation)
    ):
        return None
    return _race(kernel, trace, race, config, when)


def misled(kernel: str, trace: Trace, config: Any, when: str) -> Verdict | None:
    """What may have led to a wrong index: an integer of a block read too early.

    None if none has been.
    """

    def index(access: Access) -> bool:
        dtype = trace.dtypes[int(trace.array[access.row])]
        return access.operation == READ and dtype.kind in "iu"

    race = races(trace)
    if race is not None and race.space == "shared":
        if index(race.first) or index(race.second):
            return _race(kernel, trace, race, config, when)
        return None
    missing = unwritten(trace)
    if missing is not None and missing.space == "shared" and index(missing.access):
        return _unwritten(kernel, trace, missing, config, when)
    return None


def lines_of(places: list[Place], kernel: str) -> str:
    """'line 3, 4 of `block_sum`': the lines, those of the kernel first."""
    own = sorted({p.line for p in places if p.function == kernel})
    others = sorted({(p.line, p.function) for p in places if p.function != kernel})
    return "line " + ", ".join(
        [*map(str, own), *(f"{line} of `{function}`" for line, function in others)]
    )


def unravel(rank: int, size: tuple[int, int, int]) -> tuple[int, ...]:
    """The index of the `rank`-th thread of a block, or block of a grid."""
    x, y = size[:2]
    return axes((rank % x, rank // x % y, rank // (x * y)), size)


def _race(kernel: str, trace: Trace, race: Race, config: Any, when: str) -> Verdict:
    grid, block, _, _ = configuration(config)

    def name(access: Access) -> str:
        who = f"thread {named(unravel(access.thread, block))}"
        if race.within == "grid":
            who += f" of block {named(unravel(access.block, grid))}"
        return who

    one, two = race.first, race.second
    barrier = _missed(trace, race)
    if one.operation == READ or (one.operation == ATOMIC and two.operation == WRITE):
        one, two = two, one  # the one that writes comes first
    first, second = name(one), name(two)
    lead = first[0].upper() + first[1:]
    known = trace.element(two.row)
    element = f"`{known}`" if known else f"this element of `{race.array}`"
    same = f"`{known}`" if known else f"the same element of `{race.array}`"
    if race.lost_update:
        headline = f"updates of {race.space} memory get lost"
        message = (
            f"{lead} and {second} both read {same}, change it and write it back. If "
            "both read before either writes, one of the two changes is gone."
        )
        question = "Which operations read, change and write in one go?"
    elif two.operation == READ:
        headline = f"race on {race.space} memory"
        if _has_been_read(trace, one, two):
            message = (
                f"{lead} may write the next value to {element} before {second} has "
                "read the last one."
            )
        else:
            message = (
                f"{second[0].upper() + second[1:]} may read {element} before {first} "
                "has written it."
            )
        question = _question(trace, race)
    elif ATOMIC in (one.operation, two.operation):
        headline = f"race on {race.space} memory"
        message = (
            f"An atomic operation on {element} does not wait for a plain access of "
            "another thread, nor the other way round."
        )
        question = (
            "Which of the two has to come first, and which barrier makes the other "
            "wait?"
            if race.within == "block" and one.place.line != two.place.line
            else "Does every access to the element have to be atomic?"
        )
    else:
        headline = f"race on {race.space} memory"
        many = _same_elements(trace, one, two)
        message = (
            f"{lead} and {second} both write to "
            + (f"the same {many:,} elements of `{race.array}`" if many > 1 else same)
            + ". Which value stays is chance; if they are equal, one store is enough."
        )
        question = "Which thread should own this element?"
        if many > 1:
            question = (
                "The body of a kernel runs once in every thread. Which of these "
                "elements should be the work of one thread?"
            )
    notes = [
        f"{_VERBS[one.operation]} by {first}",
        f"{_VERBS[two.operation]} by {second}",
    ]
    if barrier is None:
        notes[1] += {
            "warp": ", nothing in between makes either wait",
            "block": ", with no barrier in between",
            "grid": ", in another block",
        }[race.within]
    else:
        came = two.thread in barrier[1]
        late = first if came else second
        notes[0 if came else 1] += ", which did not wait"
        question = (
            f"The barrier on {lines_of([barrier[0]], kernel)} does not help: {late} "
            "never comes to it. Which threads of the block do?"
        )
    return Verdict(
        kernel,
        "race",
        message,
        ORDER + question,
        [(one.place, notes[0]), (two.place, notes[1])],
        when=when,
        headline=headline,
        topic=_topic(race),
        rows=[one.row, two.row],
    )


def _topic(race: Race) -> str:
    """What to read on: an output's index, atomics, or barriers."""
    if race.lost_update:
        return "lost-update"
    stores = race.first.operation == race.second.operation == WRITE
    if race.space == "global" and race.within == "grid" and not stores:
        return "lost-update"  # the page on races between blocks
    return "stores-race" if stores and race.space == "global" else "race"


def _missed(trace: Trace, race: Race) -> tuple[Place, frozenset[int]] | None:
    """A barrier that one of the two threads came to and the other did not."""
    ours = {race.first.thread, race.second.thread}
    for block, place, came in trace.partial:
        if (
            race.within != "grid"
            and place.function
            in (race.first.place.function, race.second.place.function)
            and block == race.first.block
            and len(ours & came) == 1
        ):
            return place, came
    return None


def _same_elements(trace: Trace, one: Access, two: Access) -> int:
    """How many elements the two threads store to from the lines of these accesses.

    0 unless they store to the same ones: then each does the work of the other.
    """
    found = []
    for access in (one, two):
        mine = (trace.thread == access.thread) & (trace.block == access.block)
        mine &= (trace.site == trace.site[access.row]) & (trace.operation == WRITE)
        mine &= trace.epoch == trace.epoch[access.row]
        found.append(set(trace.address[mine].tolist()))
    return len(found[0]) if found[0] == found[1] else 0


def _question(trace: Trace, race: Race) -> str:
    first, second = race.first, race.second
    if race.within == "warp":
        return "The lanes of a warp need not run in step. What makes them wait?"
    if race.within == "grid":
        question = "Blocks do not wait for each other within a launch."
        atomic = (trace.operation == ATOMIC) & (trace.space == GLOBAL)
        if all(
            (atomic & (trace.block == b)).any() for b in (first.block, second.block)
        ):
            question += (
                " An atomic operation tells of an earlier store only if a "
                "`cuda.threadfence()` stands between them."
            )
        return question
    return "What makes every thread of a block wait?"


def _has_been_read(trace: Trace, write: Access, read: Access) -> bool:
    """Whether the writer is already past the line on which the other still reads.

    And there was something to read: otherwise the read is early, not the write late.
    """
    address = trace.address == trace.address[write.row]
    filled = address & (trace.space == trace.space[write.row])
    filled &= (trace.block == write.block) & (trace.operation != READ)
    if not filled[: read.row].any():
        return False
    line = np.array([p.line == read.place.line for p in trace.places])[trace.site]
    reads = line & (trace.operation == READ)
    rows = np.arange(len(trace))

    def done(access: Access, until: int) -> int:
        """How often the thread has read on that line since its last barrier."""
        mine = (trace.thread == access.thread) & (trace.block == access.block)
        mine &= trace.epoch == trace.epoch[access.row]
        return int((mine & reads & (rows < until)).sum())

    # In a loop the writer may have read there in this round or in an earlier one.
    return done(write, write.row) > done(read, read.row)


def _unwritten(
    kernel: str, trace: Trace, missing: Unwritten, config: Any, when: str
) -> Verdict:
    grid, block, _, _ = configuration(config)
    access = missing.access
    known = trace.element(access.row)
    why = {
        "shared": "Shared memory is not cleared: it holds what another block left "
        "there. Which thread should have written this element, and did it?",
        "local": "A local array is not cleared when the thread starts.",
        "global": "This array is an output: it holds nothing until the kernel writes "
        "it.",
    }[missing.space]
    return Verdict(
        kernel,
        "uninitialised",
        f"`{known}` is read, and no thread has written it."
        if known
        else f"An element of `{missing.array}` is read that no thread has written.",
        why,
        [(access.place, "")],
        unravel(access.thread, block),
        unravel(access.block, grid),
        when,
        headline=f"{missing.space} memory is read before it is written",
        rows=[access.row],
    )
