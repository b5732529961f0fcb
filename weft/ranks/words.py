"""The sentences of the model: what it says of deadlocks and of calls that differ."""

from collections.abc import Callable, Collection, Mapping, Sequence

from weft.places import Note, Place
from weft.ranks.faults import RankFault
from weft.ranks.works import Collective, Work
from weft.wording import joined, several


def ranks_named(ranks: Sequence[int]) -> str:
    """Write which ranks: 'rank 1', 'ranks 0 to 3', 'ranks 0 and 2'."""
    own = sorted(set(ranks))
    if len(own) == 1:
        return f"rank {own[0]}"
    if len(own) > 2 and own == list(range(own[0], own[-1] + 1)):
        return f"ranks {own[0]} to {own[-1]}"
    return f"ranks {joined(own)}"


def noted(works: Sequence[Work]) -> list[Note]:
    """The lines of calls, those of the same line as one, with their ranks."""
    at: dict[Place, list[int]] = {}
    for work in works:
        at.setdefault(work.place, []).append(work.rank)
    return [(place, ranks_named(ranks)) for place, ranks in at.items()]


def deadlock(
    waiting: Mapping[int, Work],
    ended: Collection[int],
    size: int,
    held_up: Callable[[Sequence[Work]], list[tuple[Work, Work]]],
) -> RankFault:
    """Nobody can go on: say who waits for what.

    waiting, ended: ranks. size: how many there are. held_up: what stops messages whose
    two sides are there.
    """
    able = freed(waiting)
    works = [w for rank, w in sorted(waiting.items()) if rank not in able]
    stuck = [work for work in works if work.peers]
    held = held_up([waiting[rank] for rank in sorted(able)])
    alone = [w for w in [*stuck, *(ahead for ahead, _ in held)] if w.other is None]
    late = next(
        (w for w in alone if w.peers[0] in ended and not w.tensor.is_meta), None
    )
    if late is not None:
        return after_the_end(late)
    if held and not stuck:
        return out_of_order(held)
    together = [work for work in works if not work.peers]
    if together and (stuck or ended):
        return not_by_all(size, together, works)
    doing = {work.sends for work in stuck}
    calls = " or ".join(f"`{call}`" for call in sorted({w.call for w in stuck}))
    if doing == {True}:
        why = (
            "A send is over only when the other rank has received. Here all of them "
            "wait for theirs first, so none gets as far as receiving. How can a rank "
            "do both at once?"
        )
        message = f"Every rank that is left waits for its {calls} ({pairs(stuck)})."
    elif doing == {False}:
        why = "Every one of them receives first. Which rank sends the first message?"
        message = f"Every rank that is left waits for its {calls} ({pairs(stuck)})."
    else:
        message = f"No rank can go on: {pairs(stuck)}."
        why = (
            "A message moves once its sender has called `send` and its receiver "
            "`recv`, each naming the other. Which of the two is missing?"
        )
    return RankFault("deadlock", message, why, noted(works))


def freed(waiting: Mapping[int, Work]) -> set[int]:
    """The ranks that might go on if no transfer had to wait for an earlier one.

    They wait for a message whose other side is there, or for a rank that might go on.
    """
    able = {rank for rank, work in waiting.items() if work.other is not None}
    while more := {
        rank
        for rank, work in waiting.items()
        if rank not in able and able.intersection(work.peers)
    }:
        able |= more
    return able


def out_of_order(held: Sequence[tuple[Work, Work]]) -> RankFault:
    """Transfers that wait for earlier ones, and would not in one group.

    held: pairs of an earlier transfer and one that waits for it. The first pair is
    named, with the ranks that are at the same two lines.
    """
    first, later = held[0]
    lines = first.place, later.place
    ranks = [b.rank for a, b in held if (a.place, b.place) == lines]
    calls = [f"`{w.call}`" for w in (later, first)]
    if first.call == later.call:
        ranks = [later.rank]
        preposition = "to" if first.sends else "from"
        calls = [f"`{w.call}` {preposition} rank {w.peers[0]}" for w in (later, first)]
    message = (
        f"The ranks are stuck. On {ranks_named(ranks)}, the {calls[0]} cannot start "
        f"until the {calls[1]} is over"
    )
    if first.other in [side for _, side in held]:
        message += f", and the {calls[1]} waits for another rank's `{first.other.call}`"
    why = (
        "As with NCCL on GPUs, the transfers of a rank happen one after the other, in "
        "the order in which they were begun. Those of one group happen together: "
        "begin both in one `dist.batch_isend_irecv`."
    )
    places = [(first.place, "begun first"), (later.place, "has to wait")]
    return RankFault("deadlock", f"{message}.", why, places)


def pairs(works: Sequence[Work]) -> str:
    """Write who waits for whom: '0 sends to 1, 1 sends to 2, …'."""
    said = [
        f"rank {w.rank} {'sends to' if w.sends else 'receives from'} {w.peers[0]}"
        for w in works[:4]
    ]
    return ", ".join(said) + (" …" if len(works) > 4 else "")


def after_the_end(work: Work) -> RankFault:
    """A rank waits for one that has returned."""
    peer = work.peers[0]
    message, why = (
        (
            f"Rank {work.rank} sends {several(work.tensor.numel(), 'number')} to rank "
            f"{peer}, which has returned without receiving them."
        ),
        "Every message that is sent has to be received: count them on both sides.",
    )
    if work.receives:
        message = (
            f"Rank {work.rank} waits for a message from rank {peer}, which has "
            "returned."
        )
        why = "Every message that is received has to be sent: count both sides."
    return RankFault("deadlock", message, why, noted([work]), work.rank)


def not_by_all(size: int, together: Sequence[Work], works: Sequence[Work]) -> RankFault:
    """Some ranks wait in a collective that others do not call."""
    name = together[0].call
    inside = [work.rank for work in together]
    others = [rank for rank in range(size) if rank not in inside]
    verb = "waits" if len(inside) == 1 else "wait"
    message = (
        f"{ranks_named(inside).capitalize()} {verb} in `{name}`, and "
        f"{ranks_named(others)} {'does' if len(others) == 1 else 'do'} not call it."
    )
    why = (
        "A collective is a call of all ranks: each has to make the same calls in the "
        "same order. An `if` on the rank around one is nearly always wrong."
    )
    return RankFault("deadlock", message, why, noted(works))


def another_collective(first: Collective, second: Collective, number: int) -> RankFault:
    """Two ranks call different collectives, or the same with other arguments."""
    at = [first.work, second.work]
    if first.call != second.call:
        message = (
            f"As collective number {number + 1}, rank {first.work.rank} calls "
            f"`{first.call}` and rank {second.work.rank} calls `{second.call}`."
        )
        why = "NCCL would hang here, or mix up the data. All ranks call the same ones."
    else:
        message = (
            f"`{first.call}` gets {first.agreed[-1]} on rank {first.work.rank} and "
            f"{second.agreed[-1]} on rank {second.work.rank}."
        )
        if first.agreed[-1] == second.agreed[-1]:
            message = (
                f"`{first.call}` gets {first.agreed[1]} on rank {first.work.rank} and "
                f"{second.agreed[1]} on rank {second.work.rank}."
            )
        why = "A collective wants the same on every rank; it does not compare them."
    return RankFault("collective", message, why, noted(at))


def another_message(send: Work, receive: Work) -> RankFault:
    """Sender and receiver do not agree on what is sent."""
    kinds = [str(w.tensor.dtype).removeprefix("torch.") for w in (send, receive)]
    said, wanted = (
        f"{several(w.tensor.numel(), 'number')}"
        + (f" of {kind}" if kinds[0] != kinds[1] else "")
        for w, kind in zip((send, receive), kinds, strict=True)
    )
    message = (
        f"Rank {send.rank} sends {said} to rank {receive.rank}, which has room for "
        f"{wanted}."
    )
    why = (
        "The two sides of a message are matched in the order in which they are called. "
        "NCCL does not compare their sizes: it hangs, or writes past the end."
    )
    return RankFault("message", message, why, noted([send, receive]))


def sender_changed(work: Work) -> RankFault:
    """A tensor has changed while it was sent."""
    message = (
        f"Rank {work.rank} changes the tensor that it is sending to rank "
        f"{work.peers[0]} before it has waited for the send."
    )
    why = (
        "`isend` only begins. Until `wait` has returned, the tensor belongs to the "
        "transfer: nobody may write to it."
    )
    return RankFault("buffer", message, why, noted([work]), work.rank)


def never_received(work: Work) -> RankFault:
    """A message that was begun on one side only."""
    if work.receives:
        message = (
            f"Rank {work.rank} begins to receive from rank {work.peers[0]}, which "
            "sends nothing."
        )
    else:
        message = (
            f"Rank {work.rank} begins to send {several(work.tensor.numel(), 'number')} "
            f"to rank {work.peers[0]}, which never receives them."
        )
    why = "Every message has two sides: count them on both."
    return RankFault("deadlock", message, why, noted([work]), work.rank)


def never_waited(work: Work) -> RankFault:
    """A call that was begun and never waited for."""
    message = f"Rank {work.rank} never waits for what `{work.call}` has begun."
    why = (
        "Keep what the call returns, and call `wait()` on it before you use the tensor "
        "or return."
    )
    return RankFault("buffer", message, why, noted([work]), work.rank)
