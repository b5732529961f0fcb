"""Verdicts on what a trace shows."""

from collections.abc import Sequence

from weft.checking.verdict import Verdict
from weft.places import Note, Place, named
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import ATOMIC, READ
from weft.triton_programs.hazards import Race
from weft.triton_programs.launching import Launch
from weft.triton_programs.trace import Accesses, Call, who
from weft.wording import capital, several

ORDER = "Programs run in any order and at the same time."
_VERBS = {READ: "loads", ATOMIC: "updates"}
_DONE = {READ: "loaded", ATOMIC: "updated atomically"}


def called(places: Sequence[Place]) -> list[Note]:
    """A line of the learner's, and the lines that called its function."""
    return [(place, "called here" * place.calls) for place in places]


def of_block(call: Call, lane: int) -> str:
    """', element 28 of its block of 128'; '' for a single element."""
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


def outside(
    launch: Launch, call: Call, lanes: Columns, offsets: Columns, owners: Columns
) -> Verdict:
    """Word an access that leaves its array, or falls into a gap between its rows."""
    region = launch.arena.regions[int(owners[0])]
    offset = int(offsets[0]) // region.itemsize
    cells, verb = region.span // region.itemsize, _VERBS.get(call.operation, "stores")
    where = f"{region.name} {'-' if offset < 0 else '+'} {abs(offset)}"
    message = (
        f"{capital(who(call.program, launch.grid))} {verb} `{where}`"
        f"{of_block(call, int(lanes[0]))}, and {region.name} "
    )
    shape = " × ".join(map(str, region.data.shape))
    size = f" ({shape})" if region.data.ndim > 1 else ""
    message += f"has {several(cells, 'element')}{size}"
    gap = 0 <= offset < cells
    message += ", with a gap after each row." if gap else f": offsets 0 to {cells - 1}."
    few = f"{several(lanes.size, 'element')} of this block {_are(lanes.size)} outside."
    return Verdict(
        launch.name,
        "negative-index" if offset < 0 else "out-of-bounds",
        message,
        f"{few} {_mask(launch, call, offset)}",
        called(call.places),
        when=launch.when,
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _mask(launch: Launch, call: Call, offset: int) -> str:
    """A question about what should have kept the access inside."""
    if offset < 0:
        return (
            "A negative offset leads to what lies before the array. How are the "
            "offsets computed?"
        )
    if call.operation == ATOMIC:
        what = "atomic"
    else:
        what = "load" if call.operation == READ else "store"
    if not call.masked:
        return (
            f"This {what} has no mask, so every element of the block takes part. Which "
            "of them have nothing to do in this program?"
        )
    return (
        "The mask lets them through. For which offsets does it have to be false, and "
        "which programs are past the end altogether?"
    )


def overwritten(launch: Launch, call: Call, name: str) -> Verdict:
    return Verdict(
        launch.name,
        "input-written",
        f"{capital(who(call.program, launch.grid))} writes to {name}, which is an "
        "input.",
        "The caller still needs it. Results belong in the output. Are the parameters "
        "in the order in which the check passes them?",
        called(call.places),
        when=launch.when,
    )


def early(launch: Launch, trace: Accesses, row: int) -> Verdict:
    """Word a read of an output that nothing has been stored to."""
    return Verdict(
        launch.name,
        "uninitialised",
        f"{capital(trace.who(row))} {_VERBS[int(trace.operation[row])]} "
        f"`{trace.element(row)}`, and nothing has been stored there.",
        "This array is an output: it holds anything until the program stores to it.",
        called(trace.calls[int(trace.call[row])].places),
        when=launch.when,
        headline="the output is read before it is written",
    )


def racing(launch: Launch, trace: Accesses, race: Race) -> Verdict:
    """Word a race: the two accesses, and a question."""
    one, two = race.first, race.second
    if trace.operation[one] == READ:
        one, two = two, one
    lead, second = capital(trace.who(one)), trace.who(two)
    element = f"`{trace.element(two)}`"
    headline, topic = "race between programs", "lost-update"
    if race.lost_update:
        headline = "updates get lost"
        message = (
            f"{lead} and {second} both load {element}, change it and store it. If both "
            "load before either stores, one of the two changes is gone."
        )
        question = "Which operation loads, changes and stores in one go?"
    elif race.stores:
        message = f"{lead} and {second} both store to {element}."
        question = (
            "Which value stays is chance. Which program should own this element, and "
            "how do the offsets depend on `tl.program_id`?"
        )
        topic = "stores-race"
    elif READ in (trace.operation[one], trace.operation[two]):
        message = f"{capital(second)} may load {element} before {lead[0].lower()}"
        message += f"{lead[1:]} has stored it, or after."
        question = (
            "One program cannot wait for another within a launch. What has to be "
            "computed in the same program, or in a launch of its own?"
        )
    else:
        message = (
            f"{lead} and {second} both write {element}, and only one of them does so "
            "atomically."
        )
        question = "What has to happen first, and what guarantees that it does?"
    notes = [
        (trace.places[trace.site[row]], f"{done} by {trace.who(row)}")
        for row in (one, two)
        for done in [_DONE.get(int(trace.operation[row]), "stored")]
    ]
    return Verdict(
        launch.name,
        "race",
        message,
        question,
        notes,
        premise=ORDER,
        when=launch.when,
        headline=headline,
        topic=topic,
    )
