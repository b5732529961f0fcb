"""What is wrong with host code, in words: one verdict for each way to go wrong."""

import re
from collections.abc import Sequence

import numpy as np

from weft.checking.verdict import Verdict
from weft.places import Note, Place
from weft.streams.machine import DEFAULT, HOST, Buffer, Conflict, Machine, Operation
from weft.wording import capital, joined

Notes = list[Note]
COPIES = ("copy_to_device", "copy_to_host")


def conflict(name: str, found: Conflict) -> Verdict:
    """Word two operations on one place that nothing orders."""
    first, later = found.first, found.later
    region = str(found.region)
    places = notes(
        (first, ("writes" if found.first_writes else "reads") + f" {found.held}"),
        (later, ("writes" if found.later_writes else "reads") + f" {region}"),
    )
    if later.worker == HOST:
        return _host(name, found, region, places)
    why = f"Nothing orders {later.worker} after {first.worker}."
    if not found.first_writes:
        message = (
            f"{capital(later.what)} may overwrite {region} while {first.what} is "
            f"still reading it."
        )
        return Verdict(name, "reuse", message, why, places)
    if found.later_writes:
        message = (
            f"{capital(first.what)} and {later.what} both write {region}, in no order."
        )
    elif later.kind == "copy out":
        message = f"{region} may be copied back before {first.what} has written it."
    elif first.kind == "copy in":
        message = f"{capital(later.what)} may read {region} before it has arrived."
    else:
        message = f"{capital(later.what)} may read {region} before it is written."
    return Verdict(name, "order", message, why, places)


def _host(name: str, found: Conflict, region: str, places: Notes) -> Verdict:
    """Word a conflict between the host and an operation in a stream."""
    first = found.first
    if found.later_writes:
        doing = "writing" if found.first_writes else "reading"
        return Verdict(
            name,
            "reuse",
            f"The host overwrites {region} while {first.what} may still be {doing} it.",
            f"A copy in a stream goes on after the call has returned, and nothing here "
            f"waits for {first.worker}.",
            places,
        )
    late = f"and {first.what} may not be done."
    return Verdict(
        name,
        "early-read",
        f"{region} is read by the host, {late}"
        if found.later.place.line
        else f"{name} returns, {late}",
        f"A copy in a stream goes on after the call has returned, and nothing here "
        f"waits for {first.worker}.",
        places,
    )


Reason = tuple[str, Sequence[Note]]


def serial(name: str, machine: Machine, wanted: float) -> Verdict:
    """Word host code that is right and lets too little overlap, and say why."""
    work = [o for o in machine.operations if o.kind != "host"]
    pageable = [o for o in work if o.pageable]
    if pageable:
        return Verdict(
            name,
            "pageable",
            f"{capital(pageable[0].what)} is one of {len(pageable)} from or to "
            "pageable memory.",
            "Such a copy keeps the host: what comes next is queued when it is done.",
            notes((pageable[0], "pageable: the host waits here")),
        )
    factor = machine.one_by_one / machine.end
    found = filter(None, (reason(machine, work) for reason in REASONS))
    asked = f"{len(work)} copies and kernels: which has to wait for which, and why?"
    why, places = next(found, (asked, []))
    return Verdict(
        name,
        "no-overlap",
        f"In the model it is {factor:.2f} times as fast as one thing after the other; "
        f"{wanted:g} times is possible.",
        why,
        places,
    )


def _pinning(machine: Machine, work: list[Operation]) -> Reason | None:
    if not machine.pins:
        return None
    times = len(machine.pins)
    return (
        "Making pinned memory takes the host as long as many copies of it. Make it "
        "once, and use it again.",
        [(machine.pins[0], f"made here, {times} time{'s' * (times > 1)} in all")],
    )


def _default_stream(machine: Machine, work: list[Operation]) -> Reason | None:
    defaults = [o for o in work if o.worker == DEFAULT]
    if not defaults or len(defaults) == len(work):
        return None
    return (
        "The default stream begins when all other streams have finished, and they "
        "wait for it in turn.",
        notes((defaults[0], "in the default stream")),
    )


def _stray_event(machine: Machine, work: list[Operation]) -> Reason | None:
    if not machine.strays or all(o.worker == DEFAULT for o in work):
        return None
    place, done = machine.strays[0]
    return (
        f"Without a stream in its brackets an event is {done} in the default "
        "stream, which begins when all other streams have finished. They wait for "
        "it in turn.",
        [(place, f"{done} in the default stream")],
    )


def _one_stream(machine: Machine, work: list[Operation]) -> Reason | None:
    used = {o.worker for o in work}
    if len(used) != 1:
        return None
    only = used.pop()
    return (
        f"All copies and kernels are in {only}, and a stream does one thing after "
        "the other.",
        notes((work[0], f"in {only}")),
    )


def _waiting_host(machine: Machine, work: list[Operation]) -> Reason | None:
    last = max(k for k, o in enumerate(machine.operations) if o.kind != "host")
    waits = [w for w in machine.waits if w.after <= last]
    if not waits:
        return None
    return (
        "While the host waits it queues nothing, so what could overlap is asked "
        "for too late.",
        [(waits[0].place, f"the host waits for {waits[0].what}, and queues on")],
    )


def _copies_first(machine: Machine, work: list[Operation]) -> Reason | None:
    kernel = next(o for o in work if o.kind == "kernel")
    copies = [o for o in work if o.worker == kernel.worker].index(kernel)
    if copies <= 1:
        return None
    return (
        f"In {kernel.worker}, {copies} copies are queued before the first kernel, "
        "and a stream does one thing after the other.",
        notes((kernel, f"comes after {copies} copies")),
    )


def _all_before(machine: Machine, work: list[Operation]) -> Reason | None:
    """One kind of work that begins only when all of another kind is done."""
    for before, after in (("copy in", "kernel"), ("kernel", "copy out")):
        early = [o for o in work if o.kind == before]
        late = min((o for o in work if o.kind == after), key=lambda o: o.start)
        if len(early) > 1 and late.start >= max(o.end for o in early):
            these = "copies to the device" if before == "copy in" else "kernels"
            return (
                f"{capital(late.what)} comes after all {len(early)} {these}. Which of "
                "them does it need?",
                notes((late, f"comes after {len(early)} {these}")),
            )
    return None


# Why too little overlaps, the most certain reason first.
REASONS = (
    _pinning,
    _default_stream,
    _stray_event,
    _one_stream,
    _waiting_host,
    _copies_first,
    _all_before,
)


def made_here(name: str, brought: int, needed: int) -> Verdict:
    """Word a result that is right, and has not come from the device."""
    come = f"{brought:,} bytes come" if brought else "Nothing comes"
    return Verdict(
        name,
        "wrong-value",
        f"{come} back from the device, and the result has {needed:,} bytes.",
        "The values are right, but it is not the kernel that has made them.",
        headline="not the device's result",
    )


def wrong_side(name: str, error: Exception, places: Notes) -> Verdict | None:
    """Word a copy that was asked of an array on the host; None for another error."""
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
    return Verdict(
        name,
        "exception",
        f"{f'`{mine}`' if mine else 'This'} is a NumPy array on the host, which has no "
        f"`{error.name}`.",
        "`copy_to_device` and `copy_to_host` are methods of the array on the device. "
        f"{question}",
        places,
        headline="a copy starts from the array on the device",
        topic="host-and-device",
    )


def not_fetched(verdict: Verdict, machine: Machine) -> Verdict:
    """Add which arrays kernels have written and nothing has read since."""
    left = [f"`{b.name}`" if b.name.isidentifier() else b.name for b in unread(machine)]
    if not left:
        return verdict
    was, it = ("was", "it") if len(left) == 1 else ("were", "them")
    more = (
        f"{capital(joined(left))} {was} written on the device, but nothing was copied "
        f"from {it}."
    )
    return verdict.but(why=f"{verdict.why} {more}".strip(), topic="host-and-device")


def unread(machine: Machine) -> list[Buffer]:
    """Device memory that a kernel wrote and that nothing has read or fetched since."""
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


def small_blocks(name: str, place: Place, threads: int, wanted: float) -> Verdict:
    """Word a launch with fewer threads in a block than were asked for."""
    return Verdict(
        name,
        "launch",
        f"A block has {threads} thread{'s' * (threads != 1)}; {wanted:g} are wanted.",
        "A GPU has 32 threads of a block go together. Where a block has fewer, the "
        "other places stay empty.",
        [(place, "launched here")],
        headline="right, but in small blocks",
    )


def traffic(
    name: str, machine: Machine, moved: int, needed: int, wide: str = ""
) -> Verdict:
    """Word copies that nobody needed; wide: the type, if it is wider than the data."""
    copies = [o for o in machine.operations if o.kind in ("copy in", "copy out")]
    message = f"{moved:,} bytes cross the bus where {needed:,} would do."
    if machine.implicit:
        names = list(dict.fromkeys(n for n, _ in machine.implicit))
        return Verdict(
            name,
            "traffic",
            message,
            f"{' and '.join(names)}: a NumPy array, given to a kernel. Numba copies it "
            "to the device before the launch and back after it, needed or not.",
            [(machine.implicit[0][1], "copies both ways")],
        )
    listed = notes(*((o, o.what.removeprefix("the ")) for o in copies))
    return Verdict(
        name,
        "traffic",
        message,
        f"The result comes back in {wide}, wider than the data that went in. "
        "`cuda.device_array(shape)` makes float64 where no other type is named."
        if wide
        else "Which of these copies brings something that is used there?",
        listed,
    )


def clock(name: str, got: float, ms: float, before: float, machine: Machine) -> Verdict:
    """Word a time that is not the kernel's."""
    say = f"It says {got:.4g} ms, and the kernel takes {ms:g} ms."
    waited = [w for w in machine.waits if w.after]
    if before and abs(got - ms - before) < 0.1 * ms:
        why = (
            f"Another kernel was still running when the clock was started, for "
            f"{before:g} ms. Its time is in there too."
        )
    elif abs(got * 1e3 - ms) < 0.1 * ms or abs(got - ms * 1e3) < 100 * ms:
        why = "Seconds or milliseconds? perf_counter counts the first."
    elif got < 0:
        why = (
            "Less than nothing: `a.elapsed_time(b)` counts from `a` to `b`, and `b` "
            "came first."
        )
    elif got < 0.5 * ms and not waited:
        why = "A launch returns at once. Nothing has waited for the kernel."
    elif got < 0.5 * ms:
        why = "The clock is read, or the event recorded, before the kernel is done."
    else:
        why = ""
    when = f"a kernel of {ms:g} ms" + (f", queued behind {before:g} ms" * bool(before))
    return Verdict(name, "clock", say, why, when=when)


def notes(*pairs: tuple[Operation, str]) -> Notes:
    """Places with their notes, those that are in the learner's code."""
    found: Notes = []
    for operation, note in pairs:
        if operation.place.line and (operation.place, note) not in found:
            found.append((operation.place, note))
    lines = [place.line for place, _ in found]
    if len(set(lines)) == 1 and len(found) > 2:
        return found[:1]
    return found[:6]
