"""Verdicts on host code: the row of `wording.toml` that applies, and the lines."""

import re

import numpy as np

from weft.checking.verdict import Verdict, Verdicts
from weft.places import Note, Place
from weft.streams.machine import DEFAULT, HOST, Buffer, Conflict, Machine, Operation
from weft.wording import capital, joined, several

Notes = list[Note]
COPIES = ("copy_to_device", "copy_to_host")

words = Verdicts(__file__)
verdict = words.verdict


def conflict(name: str, found: Conflict) -> Verdict:
    """Return the verdict on two unordered operations on the same memory."""
    first, later = found.first, found.later
    places = notes(
        (first, ("writes" if found.first_writes else "reads") + f" {found.held}"),
        (later, ("writes" if found.later_writes else "reads") + f" {found.region}"),
    )
    why = words(
        "goes-on" if later.worker == HOST else "no-order",
        worker=first.worker,
        second=later.worker,
    )
    return verdict(
        name,
        way_of(found),
        places,
        region=found.region,
        first=first.what,
        First=capital(first.what),
        later=later.what,
        Later=capital(later.what),
        doing="writing" if found.first_writes else "reading",
        **why,
    )


def way_of(found: Conflict) -> str:
    """Return the name of the row of `wording.toml` for a conflict."""
    if found.later.worker == HOST:
        early = "host-reads" if found.later.place.line else "returns-early"
        return "host-writes" if found.later_writes else early
    if not found.first_writes:
        return "overtaken"
    if found.later_writes:
        return "both-write"
    if found.later.kind == "copy out":
        return "back-too-soon"
    return "not-arrived" if found.first.kind == "copy in" else "not-written"


Reason = tuple[str, Notes]


def serial(name: str, machine: Machine, wanted: float) -> Verdict:
    """Return the verdict on host code that is right but overlaps too little."""
    work = [o for o in machine.operations if o.kind != "host"]
    pageable = [o for o in work if o.pageable]
    if pageable:
        places = notes((pageable[0], "pageable: the host waits here"))
        first = capital(pageable[0].what)
        return verdict(name, "pageable", places, First=first, count=len(pageable))
    found = filter(None, (reason(machine, work) for reason in REASONS))
    why, places = next(found, (words("any", count=len(work))["why"], []))
    factor = machine.one_by_one / machine.end
    return verdict(name, "no-overlap", places, why=why, factor=factor, wanted=wanted)


def because(row: str, place: Place, **fields: object) -> Reason:
    """Return the reason in `row`, with a note on the line at `place`."""
    said = words(row, **fields)
    return said["why"], [(place, said["note"])] if place.line else []


def _pinning(machine: Machine, work: list[Operation]) -> Reason | None:
    if not machine.pins:
        return None
    times = several(len(machine.pins), "time")
    return because("pinning", machine.pins[0], times=times)


def _default_stream(machine: Machine, work: list[Operation]) -> Reason | None:
    defaults = [o for o in work if o.worker == DEFAULT]
    if not defaults or len(defaults) == len(work):
        return None
    return because("default-stream", defaults[0].place)


def _stray_event(machine: Machine, work: list[Operation]) -> Reason | None:
    if not machine.strays or all(o.worker == DEFAULT for o in work):
        return None
    place, done = machine.strays[0]
    return because("stray-event", place, done=done)


def _one_stream(machine: Machine, work: list[Operation]) -> Reason | None:
    used = {o.worker for o in work}
    if len(used) != 1:
        return None
    return because("one-stream", work[0].place, stream=used.pop())


def _waiting_host(machine: Machine, work: list[Operation]) -> Reason | None:
    last = max(k for k, o in enumerate(machine.operations) if o.kind != "host")
    waits = [w for w in machine.waits if w.after <= last]
    return (
        because("waiting-host", waits[0].place, what=waits[0].what) if waits else None
    )


def _copies_first(machine: Machine, work: list[Operation]) -> Reason | None:
    kernel = next(o for o in work if o.kind == "kernel")
    copies = [o for o in work if o.worker == kernel.worker].index(kernel)
    if copies <= 1:
        return None
    return because("copies-first", kernel.place, worker=kernel.worker, copies=copies)


def _all_before(machine: Machine, work: list[Operation]) -> Reason | None:
    """Return a reason if all work of one kind ends before any of the next begins.

    The kinds are, in order, copies to the device, kernels and copies back. Returns None
    otherwise.
    """
    for before, after in (("copy in", "kernel"), ("kernel", "copy out")):
        early = [o for o in work if o.kind == before]
        later = (o for o in work if o.kind == after)
        late = min(later, key=lambda o: o.start, default=None)
        if late and len(early) > 1 and late.start >= max(o.end for o in early):
            these = "copies to the device" if before == "copy in" else "kernels"
            those = f"{len(early)} {these}"
            name = capital(late.what)
            return because("all-before", late.place, Late=name, those=those)
    return None


# Reasons for too little overlap, the most certain first.
REASONS = (
    _pinning,
    _default_stream,
    _stray_event,
    _one_stream,
    _waiting_host,
    _copies_first,
    _all_before,
)


def wrong_side(name: str, error: Exception, places: Notes) -> Verdict | None:
    """Return the verdict on a copy method called on a host array, or else None."""
    if not isinstance(error, AttributeError) or error.name not in COPIES:
        return None
    if not isinstance(error.obj, np.ndarray):
        return None
    text = places[0][0].text if places else ""
    asked = re.search(rf"(\w+)\.{error.name}\((?:(\w+)\s*[,)])?", text)
    mine, other = asked.groups() if asked else (None, None)
    question = "Which array is that here?"
    if mine and other:
        question = f"Which of `{mine}` and `{other}` is that?"
    it = f"`{mine}`" if mine else "This"
    return verdict(
        name, "wrong-side", places, it=it, call=error.name, question=question
    )


def not_fetched(said: Verdict, machine: Machine) -> Verdict:
    """Return the verdict `said`, extended to name any arrays not copied back."""
    left = [f"`{b.name}`" if b.name.isidentifier() else b.name for b in unread(machine)]
    if not left:
        return said
    was, it = ("was", "it") if len(left) == 1 else ("were", "them")
    more = words("not-fetched", Arrays=f"{capital(joined(left))} {was}", it=it)
    return said.adding(more["why"]).but(topic="host-and-device")


def unread(machine: Machine) -> list[Buffer]:
    """Return the device buffers that kernels wrote and nothing has read since.

    A buffer that was copied out at any time is left out.
    """
    found: dict[Buffer, None] = {}
    fetched: set[Buffer] = set()
    for operation in machine.operations:
        for read in operation.reads:
            found.pop(read.buffer, None)
            if operation.kind == "copy out":
                fetched.add(read.buffer)
        if operation.kind == "kernel":
            written = [r.buffer for r in operation.writes]
            found |= {b: None for b in written if b.memory == "device"}
    return [buffer for buffer in found if buffer not in fetched]


def traffic(
    name: str, machine: Machine, moved: int, needed: int, wide: str = ""
) -> Verdict:
    """Return the verdict on needless copies.

    wide: the results' type if it is too wide, else "".
    """
    copies = [o for o in machine.operations if o.kind in ("copy in", "copy out")]
    places = notes(*((o, o.what.removeprefix("the ")) for o in copies))
    said = verdict(name, "traffic", places, moved=moved, needed=needed)
    if machine.implicit:
        names = " and ".join(dict.fromkeys(n for n, _ in machine.implicit))
        why = words("implicit", names=names)["why"]
        return said.but(why=why, places=[(machine.implicit[0][1], "copies both ways")])
    return said.but(why=words("wide", wide=wide)["why"]) if wide else said


def clock(name: str, got: float, ms: float, before: float, machine: Machine) -> Verdict:
    """Return the verdict on a time that was measured wrongly.

    got, ms: the measured time, and the kernel's actual time. before: the time of the
    work queued before the kernel. All are in ms.
    """
    row = ""
    if before and abs(got - ms - before) < 0.1 * ms:
        row = "another-running"
    elif abs(got * 1e3 - ms) < 0.1 * ms or abs(got - ms * 1e3) < 100 * ms:
        row = "unit"
    elif got < 0:
        row = "negative"
    elif got < 0.5 * ms:
        row = "too-soon" if any(w.after for w in machine.waits) else "no-wait"
    when = f"a kernel of {ms:g} ms" + (f", queued behind {before:g} ms" * bool(before))
    why = words(row, before=before)["why"] if row else ""
    return verdict(name, "clock", got=got, ms=ms, why=why, when=when)


def notes(*pairs: tuple[Operation, str]) -> Notes:
    """Return the places of operations in the learner's code, with their notes.

    At most six are returned, or only the first if there are more than two and all are
    on one line.
    """
    found: Notes = []
    for operation, note in pairs:
        if operation.place.line and (operation.place, note) not in found:
            found.append((operation.place, note))
    lines = [place.line for place, _ in found]
    if len(set(lines)) == 1 and len(found) > 2:
        return found[:1]
    return found[:6]
