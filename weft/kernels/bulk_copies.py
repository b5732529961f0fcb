"""Wording what went wrong with copies that count at an mbarrier."""

from weft.checking.verdict import Verdict
from weft.sanitizer import Access, Race
from weft.simulator.trace.trace import READ, Trace
from weft.wording import capital


def collision(trace: Trace, race: Race) -> Verdict | None:
    """Word a race with a bulk copy; None for any other race."""
    one, two = race.first, race.second
    begun = [a for a in (one, two) if a.row in trace.bulk.copies]
    if not begun:
        return None
    if two.operation == READ:
        return unarrived(trace, two, one)
    if one.operation == READ:
        return _overtaken(trace, one, two)
    what = trace.element(two.row) or f"an element of {race.array}"
    first, second = (trace.who(a.row) for a in (one, two))
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


def unarrived(trace: Trace, read: Access, begun: Access) -> Verdict:
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
    reader, copier = trace.who(read.row), trace.who(begun.row)
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
