"""Verdicts on what the sanitizer found."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.verdict import Verdict, Verdicts
from weft.kernels import beside
from weft.places import Note, Place
from weft.python_errors import comparison
from weft.sanitizer import (
    Access,
    Left,
    Race,
    Unfinished,
    Unwritten,
    left,
    races,
    unfinished,
    unwritten,
)
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.trace import ATOMIC, GLOBAL, READ, WRITE, Trace
from weft.wording import Row, capital, several

words = Verdicts(__file__)
ORDER = "The simulator always runs threads in the same order; a GPU does not."
NOUNS = {"read": "read", "write": "write", "written": "written", "actor": "thread"}
ACROSS = "cluster", "grid"  # a race whose threads are in different blocks
_VERBS = {READ: "read", WRITE: "written", ATOMIC: "changed atomically"}


@dataclass(frozen=True)
class Hazard:
    """A hazard in a trace. secondary: whether a wrong result shows the mistake better.

    Two threads that store to the same element of an output usually have a wrong index.
    Then an element that is missing or wrong is closer to the mistake than the
    collision. What only a compiler may do wrong is secondary, too.
    """

    verdict: Verdict
    secondary: bool


def find(
    trace: Trace, *, unset_is_fine: bool = False, guesses_are_fine: bool = True
) -> Hazard | None:
    """Return the hazard to report for the trace of a kernel, or None if it has none.

    Kinds of hazard are looked for in a fixed order, and a secondary race comes last.
    unset_is_fine: accept reads of memory that no thread has written (see `reruns`).
    guesses_are_fine: see `races`.
    """
    if is_clean(trace):
        return None
    first = beside.before_others(trace)
    if first is not None:
        return Hazard(first, False)
    race = races(trace) if guesses_are_fine else races(trace, guesses_are_fine=False)
    stores = race is not None and race.second.operation == race.first.operation == WRITE
    secondary = (
        race is not None
        and race.space == "global"
        and (stores or race.lost_update)
        and not race.unfenced
    )
    if race is not None and not secondary:
        return Hazard(_race(trace, race), False)
    early = unfinished(trace)
    if early is not None:
        return Hazard(_unfinished(trace, early), False)
    unseen = beside.fence(trace)
    if unseen is not None:
        return Hazard(unseen, False)
    missing = None if unset_is_fine else unwritten(trace)
    if missing is not None:
        return Hazard(_unwritten(trace, missing), False)
    gone = left(trace)
    if gone is not None:
        return Hazard(_left(trace, gone), False)
    if race is not None:
        return Hazard(_race(trace, race), True)
    loose = beside.loose(trace)
    return None if loose is None else Hazard(loose, True)


def is_clean(trace: Trace | Recorded) -> bool:
    """Return whether the compact record of a launch proves that it has no hazard."""
    return isinstance(trace, Recorded) and not trace.suspects


def certain(trace: Trace) -> Verdict | None:
    """Return the verdict on a race in an unfinished trace, or None if there is none.

    Two unordered plain accesses remain a race, whatever follows. Atomics and lost
    updates are left out: the result may say more about them.
    """
    race = races(trace)
    if race is None or race.lost_update:
        return None
    atomic = ATOMIC in (race.first.operation, race.second.operation)
    return None if atomic else _race(trace, race)


def too_early(trace: Trace) -> Verdict | None:
    """Return the verdict on a read of data that a copy has not delivered, or None.

    A fault at an mbarrier may be the consequence of such a read.
    """
    early = unfinished(trace)
    return None if early is None else _unfinished(trace, early)


def misled(trace: Trace) -> Verdict | None:
    """Return the verdict on an integer read too early from shared memory, or None.

    The integer may have been used as an index.
    """

    def index(access: Access) -> bool:
        dtype = trace.dtypes[int(trace.array[access.row])]
        return access.operation == READ and dtype.kind in "iu"

    race = races(trace)
    if race is not None and race.space == "shared":
        both = (race.first, race.second)
        return _race(trace, race) if any(map(index, both)) else None
    missing = unwritten(trace)
    if missing is not None and missing.space == "shared" and index(missing.access):
        return _unwritten(trace, missing)
    return None


def lines_of(places: list[Place], kernel: str) -> str:
    """Format line numbers: the kernel's first, then others with their functions' names.

    'line 3, 4 of `block_sum`' means line 3 of the kernel and line 4 of `block_sum`.
    """
    own = sorted({p.line for p in places if p.function == kernel})
    others = sorted({(p.line, p.function) for p in places if p.function != kernel})
    return "line " + ", ".join(
        [*map(str, own), *(f"{line} of `{function}`" for line, function in others)]
    )


def told_of(trace: Trace, one: Access, two: Access, blocks: bool = True) -> Row:
    """Return the message fields that name two threads.

    blocks: whether to name their blocks too.
    """
    names = {
        "one": trace.thread_at(one.row, with_block=blocks),
        "two": trace.thread_at(two.row, with_block=blocks),
    }
    return names | {name.capitalize(): capital(who) for name, who in names.items()}


def _race(trace: Trace, race: Race) -> Verdict:
    """Return the verdict on a race: two accesses, the write first, and a question."""
    one, two = race.first, race.second
    if race.unfenced:
        return _unfenced(trace, race)
    copied = beside.collision(trace, race)
    if copied is None:
        copied = _collision(trace, race)
    if copied is not None:
        return copied
    if one.operation == READ or (one.operation == ATOMIC and two.operation == WRITE):
        one, two = two, one
    told = told_of(trace, one, two, race.within in ACROSS)
    element = _element(trace, race, two, "this element")
    row, question, own = "with-an-atomic", "", ""
    if race.lost_update:
        row, element = "lost-update", _element(trace, race, two, "the same element")
    elif two.operation == READ:
        row = "write-late" if _has_been_read(trace, one, two) else "read-early"
        question = _question(trace, race)
        own = _own_element(trace, race, one, told)
    elif ATOMIC not in (one.operation, two.operation):
        row, element = "two-writes", _element(trace, race, two, "the same element")
        if (many := _same_elements(trace, one, two)) > 1:
            first = trace.element(two.row)
            element = f"the same {many:,} elements of `{race.array}`"
            element += f", `{first}` among them" * bool(first)
            question = words("one-element")["why"]
    elif race.within == "block" and one.place.line != two.place.line:
        question = words("order")["why"]
    ends, barrier = (("", ""), own) if own else _apart(trace, race, one, two, told)
    notes = [
        (access.place, f"{_VERBS[access.operation]} by {who}{end}")
        for access, who, end in zip(
            (one, two), (told["one"], told["two"]), ends, strict=True
        )
    ]
    said = words.verdict(
        trace.name,
        row,
        notes,
        kind="race",
        space=race.space,
        element=element,
        premise=ORDER,
        topic="stores-race" if own else _topic(race),
        rows=[one.row, two.row],
        **NOUNS,
        **told,
    )
    return said.but(why=barrier or question or said.why)


def _apart(
    trace: Trace, race: Race, one: Access, two: Access, told: Row
) -> tuple[tuple[str, str], str]:
    """Return additions to the notes on two accesses, and a question about a barrier."""
    missed, passed = _missed(trace, race), _passed_between(trace, race)
    if missed is None and passed is not None:
        # In a function that the kernel calls, it may be in another call.
        inside = passed.function == trace.name
        turn = "in the next turn of the loop" if inside else "in a later call or turn"
        ends = ("", f", {turn}") if one.place.line > passed.line else (f", {turn}", "")
        return ends, _next_turn(trace, one, two, passed, told)
    if missed is None:
        return ("", words(race.within)["note"]), ""
    barrier, came = missed
    line = lines_of([barrier], trace.name)
    if not {one.thread, two.thread} & came:
        threads = int(np.prod(trace.block_size))
        said = words("neither-waited", line=line, count=len(came), threads=threads)
        return ("", ", and neither waited"), said["why"]
    end, waited = ", which did not wait", two.thread in came
    late = told["one" if waited else "two"]
    said = words("one-waited", line=line, late=late)
    return (end, "") if waited else ("", end), said["why"]


def _own_element(trace: Trace, race: Race, write: Access, told: Row) -> str:
    """Ask which global element the writer owns: the one it reads or the one it writes.

    Returns '' unless the writer reads one element of the array and stores to another.
    No barrier would fix such a race.
    """
    mine = (trace.array == trace.array[write.row]) & (trace.block == write.block)
    mine &= trace.thread == write.thread
    stored = np.unique(trace.address[mine & (trace.operation == WRITE)])
    loaded = np.unique(trace.address[mine & (trace.operation == READ)])
    if race.space != "global" or stored.size != 1 or loaded.size != 1:
        return ""
    rows = np.flatnonzero(mine & (trace.operation == READ))
    names = {"stored": trace.element(write.row), "loaded": trace.element(int(rows[0]))}
    if (stored == loaded).all() or not all(names.values()):
        return ""
    return words("own-element", **names, **told)["why"]


def _unfenced(trace: Trace, race: Race) -> Verdict:
    """Return the verdict on a race in which the second thread lacks only a fence."""
    one, two = race.first, race.second
    told = told_of(trace, one, two, race.within == "grid")
    after, places = "", [(one.place, f"{_VERBS[one.operation]} by {told['one']}")]
    if race.told is not None:
        after = f" on {lines_of([race.told.place], trace.name)}"
        teller = trace.thread_at(race.told.row, with_block=race.within == "grid")
        places.append((race.told.place, f"the atomic operation of {teller}"))
    reader = f"{_VERBS[two.operation]} by {told['two']}, with no fence"
    return words.verdict(
        trace.name,
        "unfenced",
        [*places, (two.place, reader)],
        kind="race",
        space=race.space,
        element=_element(trace, race, two, "this element"),
        after=after,
        topic="lost-update" if race.within == "grid" else "race",
        rows=[one.row, two.row],
        **told,
    )


def _element(trace: Trace, race: Race, access: Access, otherwise: str) -> str:
    """Name an element as the learner writes it or, if that is unknown, by `otherwise`.

    otherwise: how to name it, such as "this element", before "of" and the array's name.
    """
    known = trace.element(access.row)
    return f"`{known}`" if known else f"{otherwise} of `{race.array}`"


def _topic(race: Race) -> str:
    """Choose the page to read: lost updates, racing stores, or races."""
    if race.lost_update:
        return "lost-update"
    stores = race.first.operation == race.second.operation == WRITE
    if race.space == "global" and race.within == "grid" and not stores:
        return "lost-update"  # the page on races between blocks
    return "stores-race" if stores and race.space == "global" else "race"


def _missed(trace: Trace, race: Race) -> tuple[Place, frozenset[int]] | None:
    """Return a barrier that failed to order two threads, and which threads reached it.

    Either only one of the two reached it, or neither did and it is between the lines of
    their accesses. Returns None if there is no such barrier.
    """
    ours = {race.first.thread, race.second.thread}
    places = race.first.place, race.second.place
    low, high = sorted(place.line for place in places)
    for block, place, came in trace.partial:
        here = block == race.first.block and place.function in {
            p.function for p in places
        }
        if race.within in ACROSS or not here:
            continue
        if len(ours & came) == 1 or (not ours & came and low < place.line < high):
            return place, came
    return None


def _passed_between(trace: Trace, race: Race) -> Place | None:
    """Return a barrier in a loop, between the two lines of a race, or None.

    Both threads have passed it, and then raced in different iterations of the loop.
    """
    places = race.first.place, race.second.place
    low, high = sorted(p.line for p in places)
    epochs = {int(trace.epoch[a.row]) for a in (race.first, race.second)}
    if race.within in ACROSS or len(epochs) > 1 or 0 in epochs:
        return None
    for block, place in trace.barriers:
        alike = {place.function, *(p.function for p in places)}
        if block == race.first.block and len(alike) == 1 and low < place.line < high:
            return place
    return None


def _next_turn(
    trace: Trace, one: Access, two: Access, barrier: Place, told: Row
) -> str:
    """Ask about a barrier between the lines of two accesses in different iterations."""
    late, early = told["one"], told["two"]
    if one.place.line >= barrier.line:
        late, early = early, late
    if barrier.function != trace.name:
        row = "called-later"
    elif two.operation != READ or one.operation != WRITE:
        row = "comes-later"
    elif one.place.line > barrier.line:
        row = "reads-later"
    else:
        row = "writes-later" if _has_been_read(trace, one, two) else "first-turn"
    line = lines_of([barrier], trace.name)
    return words(row, line=line, late=late, early=early, **told)["why"]


def _same_elements(trace: Trace, one: Access, two: Access) -> int:
    """Count the elements to which both threads store on the lines of their accesses.

    Returns 0 unless both store to exactly the same elements, so that each does the
    other's work.
    """
    found = []
    for access in (one, two):
        mine = (trace.thread == access.thread) & (trace.block == access.block)
        mine &= (trace.site == trace.site[access.row]) & (trace.operation == WRITE)
        mine &= trace.epoch == trace.epoch[access.row]
        found.append(set(trace.address[mine].tolist()))
    return len(found[0]) if found[0] == found[1] else 0


def _question(trace: Trace, race: Race) -> str:
    question = words(race.within)["why"]
    both = race.first.block, race.second.block
    atomic = (trace.operation == ATOMIC) & (trace.space == GLOBAL)
    if race.within == "grid" and all((atomic & (trace.block == b)).any() for b in both):
        return f"{question} {words('atomic-with-fence')['why']}"
    return question


def _has_been_read(trace: Trace, write: Access, read: Access) -> bool:
    """Return whether the writer has passed the line where the reader has yet to read.

    Also requires that there was something to read: otherwise it is the read that is
    early, not the write that is late.
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
        """Count a thread's reads on the line, from its last barrier to row `until`."""
        mine = (trace.thread == access.thread) & (trace.block == access.block)
        mine &= trace.epoch == trace.epoch[access.row]
        return int((mine & reads & (rows < until)).sum())

    # In a loop the writer may have read there in this iteration or in an earlier one.
    return done(write, write.row) > done(read, read.row)


def _unwritten(trace: Trace, missing: Unwritten) -> Verdict:
    """Return the verdict on a read of memory that no thread has written."""
    access, known = missing.access, trace.element(missing.access.row)
    why = f"{comparison(access.place.text)} {words(missing.space)['why']}".strip()
    told = {"space": missing.space, "known": known, "array": missing.array, "why": why}
    row = "uninitialised" if known else "uninitialised-somewhere"
    return _early(trace, row, access, [(access.place, "")], **told)


def _left(trace: Trace, gone: Left) -> Verdict:
    """Return the verdict on an access to shared memory whose block may have ended."""
    access = gone.access
    known = trace.element(access.row) or f"an element of {gone.array}"
    notes = [(access.place, f"by {trace.thread_at(access.row, with_block=True)}")]
    told = {"known": known, "owner": gone.owner}
    return _early(trace, "left", access, notes, **told)


def _early(
    trace: Trace, row: str, read: Access, places: list[Note], *more: int, **told: Any
) -> Verdict:
    """Return the verdict on a read that is too early. more: rows of other accesses."""
    who = dict(zip(("thread", "block"), trace.by(read.row), strict=True))
    rows = [read.row, *more]
    return words.verdict(trace.name, row, places, rows=rows, **who, **told)


def _unfinished(trace: Trace, early: Unfinished) -> Verdict:
    """Return the verdict on a read of memory that a copy is still writing."""
    read, begun = early.access, early.begun
    if begun.row in trace.bulk.copies:
        return _unarrived(trace, read, begun)
    known = trace.element(read.row) or f"an element of {early.array}"
    same = read.thread == begun.thread and read.block == begun.block
    whose = "this" if same else "another"
    places = [(read.place, "read here"), (begun.place, "the copy starts here")]
    told = {"known": known, "whose": whose}
    return _early(trace, "unfinished", read, places, begun.row, **told)


# Copies that signal an mbarrier


def _collision(trace: Trace, race: Race) -> Verdict | None:
    """Return the verdict on a race with a bulk copy, or None for any other race."""
    one, two = race.first, race.second
    begun = [a for a in (one, two) if a.row in trace.bulk.copies]
    if not begun:
        return None
    if two.operation == READ:
        return _unarrived(trace, two, one)
    if one.operation == READ:
        return _overtaken(trace, one, two)
    told = told_of(trace, one, two, one.block != two.block)
    what = trace.element(two.row) or f"an element of {race.array}"
    row = "two-copies" if len(begun) == 2 else "copy-and-write"
    notes = [f"by {told['one']}", f"by {told['two']}"]
    return words.verdict(
        trace.name,
        row,
        list(zip((one.place, two.place), notes, strict=True)),
        kind="race",
        what=what,
        topic="race",
        rows=[one.row, two.row],
        **told,
    )


def _overtaken(trace: Trace, read: Access, begun: Access) -> Verdict:
    """Return the verdict on a copy that overwrites data that is still to be read."""
    told = told_of(trace, read, begun, read.block != begun.block)
    notes = [f"read by {told['one']}", "the copy starts here"]
    return words.verdict(
        trace.name,
        "overtaken",
        list(zip((read.place, begun.place), notes, strict=True)),
        kind="race",
        what=trace.element(read.row) or "an element",
        topic="race",
        rows=[read.row, begun.row],
        **told,
        **dict(zip(("thread", "block"), trace.by(begun.row), strict=True)),
    )


def _unarrived(trace: Trace, read: Access, begun: Access) -> Verdict:
    """Return the verdict on a read of memory that a bulk copy is still writing.

    If another block starts the copy, and an earlier copy went to the same memory, the
    verdict is instead that the later copy overwrites the earlier data too soon.
    """
    before = [row for row in trace.bulk.copies if row < begun.row]
    again = (trace.owner[before] == trace.owner[begun.row]) & (
        trace.address[before] == trace.address[begun.row]
    )
    if trace.remote[begun.row] and again.any():
        return _overtaken(trace, read, begun)
    known = trace.element(read.row) or "an element"
    bar, reason = trace.bulk.copies[begun.row].bar, _reason(trace, read, begun)
    places = [(read.place, "read here"), (begun.place, "the copy starts here")]
    told = {"known": known, "bar": bar, "reason": reason}
    return _early(trace, "unarrived", read, places, begun.row, **told)


def _reason(trace: Trace, read: Access, begun: Access) -> str:
    """Explain why a thread did not wait long enough for a copy."""
    copy = trace.bulk.copies[begun.row]
    number = trace.views[trace.view[read.row]].number
    if number in trace.bulk.apart:
        number = trace.bulk.apart[number].thread
    passes = [
        phase
        for row, who, bar, phase in trace.bulk.passes
        if who == number and bar == copy.bar and row <= read.row
    ]
    if not passes:
        row = "not-waited"
    elif not copy.announced or passes[-1] > copy.phase:
        row = "not-announced"
    else:
        row = "earlier-phase" if copy.phase else "got-past"
    count = passes[-1] if passes else 0
    are = "is" if count == 1 else "are"
    return words(row, phases=several(count, "phase"), are=are)["why"]
