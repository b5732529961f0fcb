"""Check a call's costs for the host, the bus and the memory against the limits."""

from collections import Counter
from typing import Any, NamedTuple

import torch

from weft.checking.room import Facts
from weft.places import Note
from weft.torch_ops.calls import Calls
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.listening import BLOCKING, Heard, Record, listening
from weft.torch_ops.tensors import is_tensor, tensors
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
        calls.run(lambda: exercise.results(*inputs), case.label)
    facts = []
    for limit, held in HELD.items():
        if limit not in exercise.limits:
            continue
        found = held(exercise.limits[limit], record, given)
        if isinstance(found, Wrong):
            raise exercise.failed(*found, when=case.label)
        facts.append(found)
    return facts


class Wrong(NamedTuple):
    """The parts of the verdict on an exceeded limit."""

    kind: str
    message: str
    why: str
    places: list[Note]


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
        f"One call runs {several(count, 'operator')}; {most} are enough.",
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
    return Wrong(
        "precision",
        message,
        "Tensor cores take the dtype that they are given. Which lines should run under "
        "autocast, and which need not?",
        places(wrong, lambda heard: f"in {heard.what}"),
    )


def channels_last(most: int, record: Record, given: int) -> Wrong | str:
    """Check how many convolutions get images or weights that are not channels-last."""
    wrong = [heard for heard in record.images if not heard.amount]
    if len(wrong) <= most:
        return "all convolutions channels-last"
    count = several(len(wrong), "convolution")
    return Wrong(
        "layout",
        f"{count} of {len(record.images)} get images or weights that are not "
        "channels-last.",
        "The layout travels with the data: a convolution passes on what it was given. "
        "Where do the images, and the weights, get theirs?",
        places(wrong),
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
    "memory": memory,
}


def places(found: list[Heard], note: Any = lambda heard: heard.what) -> list[Note]:
    """Return at most 4 of the lines in `found`, each once and with a note."""
    return list({heard.place: (heard.place, note(heard)) for heard in found}.values())[
        :4
    ]
