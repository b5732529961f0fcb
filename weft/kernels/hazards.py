"""Wording what the sanitizer found."""

from dataclasses import dataclass

import numpy as np

from weft.checking.verdict import Verdict
from weft.places import Place
from weft.python_errors import comparison
from weft.sanitizer import (
    Access,
    Race,
    Unfinished,
    Unwritten,
    races,
    unfinished,
    unwritten,
)
from weft.simulator.trace.trace import ATOMIC, GLOBAL, READ, WRITE, Trace
from weft.wording import capital

ORDER = "The simulator always runs threads in the same order; a GPU does not."
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


def find(
    trace: Trace, *, unset_is_fine: bool = False, guesses_are_fine: bool = True
) -> Hazard | None:
    """The first hazard of a trace, None if it has none.

    Its verdict is on the kernel. unset_is_fine: whether memory may be read that no
    thread has written, see `reruns`. guesses_are_fine: see `races`.
    """
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
    missing = None if unset_is_fine else unwritten(trace)
    if missing is not None:
        return Hazard(_unwritten(trace, missing), False)
    return None if race is None else Hazard(_race(trace, race), True)


def certain(trace: Trace) -> Verdict | None:
    """A race in a trace that is not at its end; None if there is none as yet.

    Whatever may follow, two plain accesses that nothing orders remain a race. Of lost
    updates the result may say more.
    """
    race = races(trace)
    if race is None or race.lost_update:
        return None
    atomic = ATOMIC in (race.first.operation, race.second.operation)
    return None if atomic else _race(trace, race)


def misled(trace: Trace) -> Verdict | None:
    """What may have led to a wrong index: an integer of a block read too early.

    None if none has been.
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
    """'line 3, 4 of `block_sum`': the lines, those of the kernel first."""
    own = sorted({p.line for p in places if p.function == kernel})
    others = sorted({(p.line, p.function) for p in places if p.function != kernel})
    return "line " + ", ".join(
        [*map(str, own), *(f"{line} of `{function}`" for line, function in others)]
    )


@dataclass(frozen=True)
class _Words:
    """What a verdict says of a race, and what it asks."""

    headline: str
    message: str
    question: str


def _race(trace: Trace, race: Race) -> Verdict:
    """Word a race: the two accesses, the one that writes first, and a question."""
    one, two = race.first, race.second
    if race.unfenced:
        return _unfenced(trace, race)
    copied = _collision(trace, race)
    if copied is not None:
        return copied
    if one.operation == READ or (one.operation == ATOMIC and two.operation == WRITE):
        one, two = two, one
    if race.lost_update:
        words = _lost_update(trace, race, one, two)
    elif two.operation == READ:
        words = _write_and_read(trace, race, one, two)
    elif ATOMIC in (one.operation, two.operation):
        words = _with_an_atomic(trace, race, one, two)
    else:
        words = _two_writes(trace, race, one, two)
    notes = [
        f"{_VERBS[access.operation]} by {_who(trace, race, access)}"
        for access in (one, two)
    ]
    question, barrier = words.question, _missed(trace, race)
    passed = _passed_between(trace, race)
    if barrier is None and passed is not None:
        notes[one.place.line > passed.line] += ", in the next turn of the loop"
        question = _next_turn(trace, race, one, two, passed)
    elif barrier is None:
        notes[1] += {
            "warp": ", with nothing in between to make either wait",
            "block": ", with no barrier in between",
            "grid": ", in another block",
        }[race.within]
    elif not {one.thread, two.thread} & barrier[1]:
        notes[1] += ", and neither waited"
        threads = int(np.prod(trace.block_size))
        question = (
            f"The barrier on {lines_of([barrier[0]], trace.name)} does not help: only "
            f"{len(barrier[1])} of the {threads} threads of the block reach it, and "
            "neither of these two is among them."
        )
    else:
        came = two.thread in barrier[1]
        notes[0 if came else 1] += ", which did not wait"
        late = _who(trace, race, one if came else two)
        question = (
            f"The barrier on {lines_of([barrier[0]], trace.name)} does not help: "
            f"{late} never reaches it. Which threads of the block do?"
        )
    return Verdict(
        trace.name,
        "race",
        words.message,
        question,
        [(one.place, notes[0]), (two.place, notes[1])],
        premise=ORDER,
        headline=words.headline,
        topic=_topic(race),
        rows=[one.row, two.row],
    )


def _unfenced(trace: Trace, race: Race) -> Verdict:
    """Word a race that only the second thread's fence is missing from."""
    one, two = race.first, race.second
    first, second = _who(trace, race, one), _who(trace, race, two)
    element = _element(trace, race, two, "this element")
    after, places = "", [(one.place, f"{_VERBS[one.operation]} by {first}")]
    if race.told is not None:
        after = f" on {lines_of([race.told.place], trace.name)}"
        teller = _who(trace, race, race.told)
        places.append((race.told.place, f"the atomic operation of {teller}"))
    places.append((two.place, f"{_VERBS[two.operation]} by {second}, with no fence"))
    return Verdict(
        trace.name,
        "race",
        f"{capital(second)} may find in {element} what was there before {first} "
        f"wrote to it.",
        f"One fence is missing: a `cuda.threadfence()` after the atomic operation"
        f"{after}. That operation tells {second} that {first} is done. But only a "
        f"fence keeps what comes later from being done earlier, on this side as on "
        f"that of {first}.",
        places,
        headline=f"race on {race.space} memory: the reader has no fence",
        topic="lost-update" if race.within == "grid" else "race",
        rows=[one.row, two.row],
    )


def _who(trace: Trace, race: Race, access: Access) -> str:
    """'thread 3', and of which block where the two are in different ones."""
    return trace.thread_at(access.row, with_block=race.within == "grid")


def _element(trace: Trace, race: Race, access: Access, otherwise: str) -> str:
    """The element as the learner writes it, or `otherwise` and the array."""
    known = trace.element(access.row)
    return f"`{known}`" if known else f"{otherwise} of `{race.array}`"


def _lost_update(trace: Trace, race: Race, one: Access, two: Access) -> _Words:
    lead, second = capital(_who(trace, race, one)), _who(trace, race, two)
    same = _element(trace, race, two, "the same element")
    return _Words(
        f"updates of {race.space} memory are lost",
        f"{lead} and {second} both read {same}, change it and write it back. If both "
        f"read before either writes, one of the two changes is lost.",
        "Which operations read, change and write in a single step?",
    )


def _write_and_read(trace: Trace, race: Race, one: Access, two: Access) -> _Words:
    first, second = _who(trace, race, one), _who(trace, race, two)
    element = _element(trace, race, two, "this element")
    if _has_been_read(trace, one, two):
        message = (
            f"{capital(first)} may write the next value to {element} before {second} "
            f"has read the previous one."
        )
    else:
        message = f"{capital(second)} may read {element} before {first} has written it."
    return _Words(f"race on {race.space} memory", message, _question(trace, race))


def _with_an_atomic(trace: Trace, race: Race, one: Access, two: Access) -> _Words:
    element = _element(trace, race, two, "this element")
    question = "Does every access to the element have to be atomic?"
    if race.within == "block" and one.place.line != two.place.line:
        question = (
            "Which of the two has to come first, and which barrier makes the other "
            "wait?"
        )
    return _Words(
        f"race on {race.space} memory",
        f"An atomic operation on {element} does not wait for a plain access by another "
        f"thread, nor the other way around.",
        question,
    )


def _two_writes(trace: Trace, race: Race, one: Access, two: Access) -> _Words:
    lead, second = capital(_who(trace, race, one)), _who(trace, race, two)
    many = _same_elements(trace, one, two)
    what = _element(trace, race, two, "the same element")
    question = "Which thread should own this element?"
    if many > 1:
        what = f"the same {many:,} elements of `{race.array}`"
        question = (
            "The body of a kernel runs once in every thread. Which of these elements "
            "should one thread handle?"
        )
    return _Words(
        f"race on {race.space} memory",
        f"{lead} and {second} both write to {what}. Which value remains is a matter of "
        f"chance; if they are equal, one store is enough.",
        question,
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
    """A barrier that did not make one wait for the other, and who came to it.

    One of the two threads came, or neither did and it is between their lines.
    """
    ours = {race.first.thread, race.second.thread}
    places = race.first.place, race.second.place
    low, high = sorted(place.line for place in places)
    for block, place, came in trace.partial:
        here = block == race.first.block and place.function in {
            p.function for p in places
        }
        if race.within == "grid" or not here:
            continue
        if len(ours & came) == 1 or (not ours & came and low < place.line < high):
            return place, came
    return None


def _passed_between(trace: Trace, race: Race) -> Place | None:
    """A barrier between the two lines that both threads passed, in turns of a loop."""
    places = race.first.place, race.second.place
    low, high = sorted(p.line for p in places)
    epochs = {int(trace.epoch[a.row]) for a in (race.first, race.second)}
    if race.within == "grid" or len(epochs) > 1 or 0 in epochs:
        return None
    for block, place in trace.barriers:
        alike = {place.function, *(p.function for p in places)}
        if block == race.first.block and len(alike) == 1 and low < place.line < high:
            return place
    return None


def _next_turn(
    trace: Trace, race: Race, one: Access, two: Access, barrier: Place
) -> str:
    """Ask about a barrier that two threads pass, in different turns of a loop."""
    first, second = _who(trace, race, one), _who(trace, race, two)
    line = lines_of([barrier], trace.name)
    there = f"The barrier on {line} is between the two lines, but "
    if two.operation != READ or one.operation != WRITE:
        late, early = (
            (first, second) if one.place.line < barrier.line else (second, first)
        )
        return there + (
            f"{late} comes to its line in the turn of the loop after that of {early}. "
            f"What makes it wait before that turn?"
        )
    if one.place.line > barrier.line:
        return there + (
            f"{second} reads in the turn of the loop after that in which {first} "
            f"writes. What makes it wait before that turn?"
        )
    if _has_been_read(trace, one, two):
        return there + (
            f"{first} writes in the turn of the loop after that in which {second} "
            f"reads. What makes it wait before that turn?"
        )
    return there + (
        f"{first} writes this element only in the turn of the loop after that in which "
        f"{second} reads it. Which elements have been written when the barrier lets "
        f"the threads go on for the first time?"
    )


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
        return "The lanes of a warp do not have to run in step. What makes them wait?"
    if race.within == "grid":
        question = "Blocks do not wait for each other within a launch."
        atomic = (trace.operation == ATOMIC) & (trace.space == GLOBAL)
        if all(
            (atomic & (trace.block == b)).any() for b in (first.block, second.block)
        ):
            question += (
                " An atomic operation makes an earlier store visible only if there is "
                "a `cuda.threadfence()` between them."
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


def _unwritten(trace: Trace, missing: Unwritten) -> Verdict:
    """Word a read of memory that no thread has written."""
    access = missing.access
    known = trace.element(access.row)
    why = {
        "shared": "Shared memory is not cleared: it holds whatever an earlier block "
        "left there. Which thread should have written this element, and did it?",
        "local": "A local array is not cleared when the thread starts.",
        "global": "This array is an output: it holds nothing until the kernel writes "
        "it.",
    }[missing.space]
    return Verdict(
        trace.name,
        "uninitialised",
        f"`{known}` is read, but no thread has written it."
        if known
        else f"The kernel reads an element of `{missing.array}` that no thread has "
        f"written.",
        f"{comparison(access.place.text)} {why}".strip(),
        [(access.place, "")],
        *trace.by(access.row),
        headline=f"{missing.space} memory is read before it is written",
        rows=[access.row],
    )


def _unfinished(trace: Trace, early: Unfinished) -> Verdict:
    """Word a read of memory into which a copy is still in flight."""
    read, begun = early.access, early.begun
    if begun.row in trace.bulk.copies:
        return _unarrived(trace, read, begun)
    known = trace.element(read.row) or f"an element of {early.array}"
    same = read.thread == begun.thread and read.block == begun.block
    whose = "this thread" if same else "another thread"
    return Verdict(
        trace.name,
        "uninitialised",
        f"`{known}` is read, and the copy into it has not arrived.",
        f"An asynchronous copy that {whose} started goes there. Nothing has waited for "
        "it: `wait_group(n)` waits for all groups of a thread but its last n, and a "
        "copy belongs to a group once `commit_group()` has been called after it. Which "
        "group is this copy in, and how many groups follow it?",
        [(read.place, "read here"), (begun.place, "the copy starts here")],
        *trace.by(read.row),
        headline="shared memory is read before a copy into it has arrived",
        rows=[read.row, begun.row],
    )


# Copies that count at an mbarrier


def _collision(trace: Trace, race: Race) -> Verdict | None:
    """Word a race with a bulk copy; None for any other race."""
    one, two = race.first, race.second
    begun = [a for a in (one, two) if a.row in trace.bulk.copies]
    if not begun:
        return None
    if two.operation == READ:
        return _unarrived(trace, two, one)
    if one.operation == READ:
        return _overtaken(trace, one, two)
    what = trace.element(two.row) or f"an element of {race.array}"
    first, second = (trace.thread_at(a.row) for a in (one, two))
    if len(begun) == 2:
        message = f"{capital(first)} and {second} both start a copy into `{what}`."
        why = "One thread starts a copy, and the TMA does it for all."
    else:
        message = f"`{what}` is written by {first} and by {second}, in no order."
        why = "One of the two is a copy, which goes on after its line."
    places = [(one.place, f"by {first}"), (two.place, f"by {second}")]
    return Verdict(
        trace.name,
        "race",
        message,
        f"{why} What lets one of them wait for the other?",
        places,
        headline="a race with a copy",
        topic="race",
        rows=[one.row, two.row],
    )


def _unarrived(trace: Trace, read: Access, begun: Access) -> Verdict:
    """Word a read of memory into which a bulk copy is still in flight."""
    known = trace.element(read.row) or "an element"
    copy = trace.bulk.copies[begun.row]
    return Verdict(
        trace.name,
        "uninitialised",
        f"`{known}` is read, and the copy into it may not have arrived.",
        f"The bytes of the copy count at `{copy.bar}`. {_reason(trace, read, begun)}",
        [(read.place, "read here"), (begun.place, "the copy starts here")],
        *trace.by(read.row),
        headline="shared memory is read before a copy into it has arrived",
        rows=[read.row, begun.row],
    )


def _reason(trace: Trace, read: Access, begun: Access) -> str:
    """Say why a thread did not wait long enough for a copy."""
    copy = trace.bulk.copies[begun.row]
    number = trace.views[trace.view[read.row]].number
    passes = [
        phase
        for row, who, bar, phase in trace.bulk.passes
        if who == number and bar == copy.bar and row <= read.row
    ]
    if not passes:
        return "This thread has not waited there. What tells it that they are here?"
    if not copy.announced or passes[-1] > copy.phase:
        return (
            "This thread has waited there, but a phase whose arrivals have all come is "
            "complete, whatever is on its way: it waits for the bytes that "
            "mbarrier_arrive_expect_tx announces in the same phase. Who announces "
            "these bytes, and is it all of them?"
        )
    if not copy.phase:
        return (
            "This thread's wait there got past at once: before the first phase, of "
            "parity 0, is complete, a wait for parity 1 does not wait. Which parity "
            "has the phase of this copy?"
        )
    return (
        "This thread's last wait there got past because of an earlier phase: "
        f"{_phases(passes[-1])} of this mbarrier complete, and the copy belongs to the "
        "next. The first phase has parity 0. Which parity has this one?"
    )


def _phases(count: int) -> str:
    return f"{count} phase{'s' * (count != 1)}"


def _overtaken(trace: Trace, read: Access, begun: Access) -> Verdict:
    """Word a copy that begins before what was there has been read."""
    known = trace.element(read.row) or "an element"
    reader, copier = trace.thread_at(read.row), trace.thread_at(begun.row)
    return Verdict(
        trace.name,
        "race",
        f"{capital(copier)} starts a copy over `{known}`, which {reader} may not have "
        "read yet.",
        f"Nothing that {copier} waited for says that {reader} is done with it. An "
        "arrival at an mbarrier says so of what the same thread has read before, "
        "and of nothing that it reads afterwards or that other threads read. Who "
        "arrives for this part of shared memory, and when?",
        [(read.place, f"read by {reader}"), (begun.place, "the copy starts here")],
        *trace.by(begun.row),
        headline="a copy overwrites what is still to be read",
        topic="race",
        rows=[read.row, begun.row],
    )
