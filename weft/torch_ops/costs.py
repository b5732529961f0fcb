"""Check a call's costs for the host, the bus and the memory against the limits."""

from collections import Counter
from typing import Any, NamedTuple

import torch

from weft.checking.room import Facts
from weft.checking.source import returns
from weft.places import Note
from weft.torch_ops.calls import Calls
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.listening import BLOCKING, Heard, Record, listening
from weft.torch_ops.tensors import is_tensor, results_of, tensors
from weft.wording import several

NEVER = "the host never waits for the GPU"
PIECES = (
    "Each of them costs the host a few microseconds, however little the GPU has to do. "
    "What is done piece by piece that one operator could do at once?"
)
AGAIN = (
    "What is checkpointed runs a second time during the backward, operator by "
    "operator. How many of these pieces could keep their activations?"
)


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Record one call; return facts. Raises `Failed` if it exceeds a limit."""
    case = exercise.case(exercise.sizes[-1])
    inputs = tensors(case.inputs, device=calls.device, host=exercise.host)
    near = [v for k, v in enumerate(inputs) if is_tensor(v) and k not in exercise.host]
    given = sum(v.numel() * v.element_size() for v in inputs if is_tensor(v))
    device = torch.device(calls.device, 0)
    pinned = [inputs[k] for k in exercise.host]
    with listening(exercise.written.main, near, device, pinned) as record:
        got = calls.run(lambda: exercise.results(*inputs), case.label)
    ends = [place for place, _ in returns(exercise.written.main)]
    for _ in filter(requires_grad, results_of(got)):
        record.attached += map(Heard, ends)
    facts = []
    for limit, held in HELD.items():
        if limit not in exercise.limits:
            continue
        found = held(exercise.limits[limit], record, given)
        if isinstance(found, Wrong):
            found = explained(exercise, limit, found, record)
            more = {"when": case.label, "headline": found.headline}
            raise exercise.failed(*found[:4], **more)
        facts.append(found)
    return facts


class Wrong(NamedTuple):
    """The parts of the verdict on an exceeded limit."""

    kind: str
    message: str
    why: str
    places: list[Note]
    headline: str = ""


def requires_grad(value: Any) -> bool:
    return is_tensor(value) and bool(value.requires_grad)


def explained(
    exercise: TorchExercise, limit: str, wrong: Wrong, record: Record
) -> Wrong:
    """Return a verdict with the cause and the lines that the exercise knows, if any."""
    cause = exercise.because_limits.get(limit)
    why, places = cause(record) if cause is not None else ("", [])
    return wrong._replace(why=why or wrong.why, places=places or wrong.places)


def synchronisations(most: int, record: Record, given: int) -> Wrong | str:
    """Check how often the host waits for the device."""
    count = len(record.waits)
    if count <= most:
        return f"the host waits {several(count, 'time')}" if count else NEVER
    allowed = "it need not wait at all" if most == 0 else f"{most} are enough"
    copies = all(heard.what == BLOCKING for heard in record.waits)
    asks = (
        "Which copies to the device need not block?"
        if copies
        else "Does Python need that value now, or could it stay in a tensor?"
    )
    return Wrong(
        "synchronisation",
        f"The host waits for the GPU {several(count, 'time')} in one call; {allowed}.",
        "While it waits it queues nothing, so when the GPU has finished, the GPU waits "
        f"in its turn. {asks}",
        places(record.waits),
    )


def copied(most: float, record: Record, given: int) -> Wrong | str:
    """Check how many bytes are copied to the device, and that pinned memory is used.

    most: the limit, as a multiple of the inputs' bytes, `given`.
    """
    total = sum(heard.amount for heard in record.copies)
    if total <= most * given:
        if record.unpinned:
            return unpinned(record)
        return f"{total:,} bytes copied to the device"
    return Wrong(
        "traffic",
        f"{total:,} bytes are copied to the device, and the inputs have {given:,}.",
        "The bus is slower than any memory of the GPU. In which dtype do the data "
        "cross it, and what could have been there already?",
        places(record.copies, lambda heard: f"copies {heard.amount:,} bytes"),
    )


def unpinned(record: Record) -> Wrong:
    """Return what is wrong with copies from memory that is not pinned."""
    count = several(len(record.unpinned), "time")
    return Wrong(
        "synchronisation",
        f"The host waits for the GPU {count} in one call, to copy what is not in "
        "pinned memory.",
        "The inputs are pinned; what the host computes from them is in new memory, "
        "which is not. `non_blocking=True` has no effect there. Can you copy first, "
        "and compute on the device?",
        places(record.unpinned),
    )


def operators(most: int, record: Record, given: int) -> Wrong | str:
    """Check how many operators are called: each costs the host a few microseconds."""
    count = len(record.operators)
    if count <= most:
        return several(count, "operator")
    per_line = Counter(heard.place for heard in record.operators)
    notes: list[Note] = [
        (place, several(n, "operator")) for place, n in per_line.most_common(3)
    ]
    return Wrong(
        "operators",
        f"One call runs {several(count, 'operator')}; {most:,} are enough.",
        AGAIN if record.again else PIECES,
        notes,
    )


def products(wanted: str, record: Record, given: int) -> Wrong | str:
    """Check the dtype of matrix products and convolutions."""
    wrong = [heard for heard in record.products if heard.what != wanted]
    if record.products and not wrong:
        return f"all products in {wanted}"
    count = several(len(wrong), "product")
    message = (
        f"{count} of {len(record.products)} are computed in {wrong[0].what}, and "
        f"{wanted} is wanted."
        if wrong
        else "Nothing is multiplied."
    )
    lines = places(wrong, lambda heard: f"in {heard.what}")
    untyped = [h for h in record.untyped if wrong and h.what == wrong[0].what]
    if untyped:
        return Wrong(
            "precision",
            message,
            "Autocast is entered without a dtype. On a GPU, its default is "
            f"{untyped[0].what}.",
            places(untyped, lambda heard: "without a dtype") + lines,
        )
    return Wrong(
        "precision",
        message,
        "Tensor cores take the dtype that they are given. Which lines should run under "
        "autocast, and which need not?",
        lines,
    )


def channels_last(most: int, record: Record, given: int) -> Wrong | str:
    """Check how many convolutions get images or weights that are not channels-last."""
    wrong = [heard for heard in record.images if not heard.amount]
    if len(wrong) <= most:
        return "all convolutions channels-last"
    counts = {
        what: sum(what in heard.what for heard in wrong)
        for what in ("images", "weights")
    }
    named = [what for what, count in counts.items() if count]
    got = ", and ".join(
        f"{counts[what]} get{'s' * (counts[what] == 1)} {what}" for what in named
    )
    asks = " and ".join(f"the {what}" for what in named)
    return Wrong(
        "layout",
        f"Of {several(len(record.images), 'convolution')}, {got} that are not "
        "channels-last.",
        "The layout travels with the data: a convolution passes on what it was given. "
        f"Where do {asks} get theirs?",
        places(wrong, lambda heard: ""),
    )


def attached(most: int, record: Record, given: int) -> Wrong | str:
    """Check how many results require a gradient: each of them keeps its graph."""
    if len(record.attached) <= most:
        return "no result requires a gradient" if most == 0 else ""
    return Wrong(
        "held",
        "The result requires a gradient: it is still connected to the graph that "
        "computed it.",
        "That graph stays in memory as long as the result does, and here only the "
        "values are needed. Which line could keep them without the graph?",
        places(record.attached),
        "right, but it keeps a graph",
    )


def memory(most: float, record: Record, given: int) -> Wrong | str:
    """Check that the peak of allocated bytes is at most `most` times the inputs' bytes.

    given: the inputs' bytes.
    """
    share = record.peak / max(given, 1)
    if share <= most:
        return f"at most {share:.1f} times the inputs' bytes alive at once"
    asks = "What is kept for the backward, and until when?"
    if record.again:
        asks = (
            "What is kept for the backward, and what is made again? The peak may be in "
            "the forward, or in the backward, when a piece is computed again."
        )
    return Wrong(
        "held",
        f"At its peak the call holds {share:.1f} times the bytes of its inputs; "
        f"{most:g} times are enough.",
        asks,
        [],
    )


HELD: dict[str, Any] = {
    "synchronisations": synchronisations,
    "copied": copied,
    "products": products,  # before operators: autocast adds some operators of its own
    "operators": operators,
    "channels_last": channels_last,
    "attached": attached,
    "memory": memory,
}


def places(found: list[Heard], note: Any = lambda heard: heard.what) -> list[Note]:
    """Return at most 4 of the lines in `found`, each once and with a note."""
    return list({heard.place: (heard.place, note(heard)) for heard in found}.values())[
        :4
    ]
