"""Verdicts on conflicts with the TMA and wgmma, which run alongside the threads."""

import numpy as np

from weft.checking.verdict import Verdict, Verdicts
from weft.places import Note
from weft.sanitizer import Access, Race
from weft.simulator.trace.collisions import (
    InUse,
    Unseen,
    in_use,
    misread,
    not_held,
    unseen,
)
from weft.simulator.trace.trace import GLOBAL, READ, WRITE, Apart, Mismatch, Trace
from weft.wording import capital

words = Verdicts(__file__)


def before_others(trace: Trace) -> Verdict | None:
    """Return the verdict on a mistake that makes later findings meaningless, or None.

    There are two such mistakes: registers used too early, and an operand whose swizzle
    differs from its descriptor's.
    """
    early = in_use(trace)
    if early is not None:
        return _in_use(trace, early)
    wrong = misread(trace)
    return None if wrong is None else _mismatch(trace, wrong)


def fence(trace: Trace) -> Verdict | None:
    """Return the verdict on a store that the TMA or wgmma might miss, or None."""
    found = unseen(trace)
    return None if found is None else _unseen(trace, found)


def loose(trace: Trace) -> Verdict | None:
    """Return the verdict on registers of a product that no `hold` keeps, or None."""
    early = not_held(trace)
    return None if early is None else _loose(trace, early)


def _who(trace: Trace, row: int) -> dict[str, tuple[int, ...]]:
    return dict(zip(("thread", "block"), trace.by(row), strict=True))


def _in_use(trace: Trace, early: InUse) -> Verdict:
    """Return the verdict on using registers of a product that is not complete yet."""
    held, row = early.held, early.row
    place = trace.places[trace.site[row]]
    does = "read" if trace.operation[row] == READ else "written"
    name = "in-use" if does == "read" else "changed-in-use"
    notes: list[Note] = [(place, f"{does} here"), (held.place, "the product")]
    return words.verdict(
        trace.name,
        name,
        notes,
        of=trace.element(row) or held.name,
        call=held.call,
        reason=_not_waited(trace, early),
        rows=[row],
        **_who(trace, row),
    )


def _loose(trace: Trace, early: InUse) -> Verdict:
    """Return the verdict on using registers after a wait, with no `hold` in between."""
    held, row = early.held, early.row
    place = trace.places[trace.site[row]]
    reads = trace.operation[row] == READ
    does, use = ("read", "read") if reads else ("written", "write")
    assert held.waited is not None, "only a wait ends a product"
    return words.verdict(
        trace.name,
        "not-held",
        [(place, f"{does} here"), (held.waited, "the wait")],
        what=trace.element(row) or held.name,
        does=does,
        use=use,
        of=held.name,
        hold="hold" if held.change else "hold_words",
        line=held.waited.line,
        changes="changes" if held.change else "reads",
        rows=[row],
        **_who(trace, row),
    )


def _not_waited(trace: Trace, early: InUse) -> str:
    """Explain what a product lacked: a commit, a wait, or a wait that covers it."""
    held, row = early.held, early.row
    if held.committed is None or held.committed > row:
        return words("no-commit")["why"]
    waits = [
        n
        for at, who, n, _ in trace.bulk.waits
        if who == held.thread and held.committed <= at <= row
    ]
    if not waits:
        return words("no-wait")["why"]
    groups = "group" if waits[-1] == 1 else f"{waits[-1]} groups"
    return words("small-wait", n=waits[-1], groups=groups)["why"]


def _mismatch(trace: Trace, one: Mismatch) -> Verdict:
    """Return the verdict on an operand whose swizzle differs from its descriptor's."""

    def order(swizzle: int) -> str:
        return f"the {swizzle}-byte swizzle" if swizzle else "no swizzle"

    return words.verdict(
        trace.name,
        "mismatch",
        [(one.place, "")],
        call=one.call,
        of=one.of,
        wanted=order(one.wanted),
        found=order(one.found),
    )


def _unseen(trace: Trace, found: Unseen) -> Verdict:
    """Return the verdict on a store that no fence makes visible to an operation."""
    store, read = (trace.places[trace.site[row]] for row in (found.write, found.read))
    writer = trace.thread_at(found.write)
    notes: list[Note] = [(store, f"written by {writer}"), (read, "read beside it")]
    row = "unseen"
    if found.late is not None:
        notes.insert(1, (trace.places[trace.site[found.late]], "the fence"))
        row = "unseen-late"
    return words.verdict(
        trace.name,
        row,
        notes,
        what=trace.element(found.write) or "an element",
        writer=writer,
        Writer=capital(writer),
        call=found.apart.call,
        rows=[found.write],
        **_who(trace, found.write),
    )


def apart_of(trace: Trace, row: int) -> Apart | None:
    """Return the asynchronous operation that made an access; None if a thread did."""
    return trace.bulk.apart.get(trace.views[trace.view[row]].number)


def _filled(trace: Trace, read: Access, write: Access) -> bool:
    """Return whether `read` began before `write`, but after an earlier write.

    The earlier write is to the same address as `write`. read: an access by an
    asynchronous operation, which may have begun long before the access itself.
    """
    at = trace.address[write.row]
    number = trace.views[trace.view[read.row]].number
    begun = int(np.flatnonzero(trace.of_views("number")[trace.view] == number)[0])
    filled = (trace.space == trace.space[write.row]) & (trace.operation != READ)
    filled &= (trace.address <= at) & (at < trace.address + trace.size)
    return (
        bool((filled & (trace.block == write.block))[:begun].any())
        and begun < write.row
    )


def collision(trace: Trace, race: Race) -> Verdict | None:
    """Return the verdict on a race with the TMA or wgmma, or None for any other race.

    Also returns None if the TMA or wgmma reads data that a copy is still delivering.
    """
    one, two = race.first, race.second
    first, second = apart_of(trace, one.row), apart_of(trace, two.row)
    if first is None and second is None:
        return None
    if first is not None and (second is None or one.operation == READ):
        mine, other, apart = one, two, first
    else:
        assert second is not None
        mine, other, apart = two, one, second
    copies = other.row in trace.bulk.copies
    if copies and other is one and mine.operation == READ:
        # a read of what a copy brings; the verdict on copies covers every such read
        return None
    stores = apart.call.startswith("tma_store")
    if int(trace.space[mine.row]) == GLOBAL:
        row = "stored-beside"
    elif not _filled(trace, mine, other):
        row = "read-beside"
    else:
        row = "store-overtaken" if stores else "product-overtaken"
    does = {READ: "read", WRITE: "written"}.get(other.operation, "changed")
    who = trace.thread_at(other.row)
    by = f"a copy of {who}" if copies else who
    notes: list[Note] = [
        (mine.place, f"`{apart.call}`, beside the threads"),
        (other.place, "the copy starts here" if copies else f"{does} by {who}"),
    ]
    return words.verdict(
        trace.name,
        row,
        notes if mine is one else notes[::-1],
        call=apart.call,
        what=trace.element(other.row) or f"an element of {race.array}",
        does=does,
        who=by,
        Who=capital(by),
        rows=[one.row, two.row],
        **_who(trace, other.row),
    )
