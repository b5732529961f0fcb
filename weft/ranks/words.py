"""The model's errors for deadlocks and mismatched calls, worded by `words.toml`."""

from collections.abc import Callable, Collection, Mapping, Sequence

from weft.checking.verdict import Verdicts
from weft.places import Note, Place
from weft.ranks.works import Collective, Work
from weft.wording import joined, several

words = Verdicts(__file__)


class RankFault(Exception):
    """The error that ends a run of the model.

    kind: a row of `weft.checking.kinds`. message, why: the verdict's texts. places:
    lines, each with a note.
    """

    def __init__(self, kind: str, message: str, why: str, places: list[Note]) -> None:
        super().__init__(message)
        self.kind, self.message, self.why, self.places = kind, message, why, places
        self.buffer = ""  # the variable into which a message does not fit
        self.batch: Place | None = None  # the call whose transfers are never waited for


def fault(row: str, places: list[Note], **told: object) -> RankFault:
    """Return the error that ends a run, with the text of a row of `words.toml`."""
    said = {"kind": "deadlock", **words(row, **told)}
    return RankFault(**said, places=places)


def ranks_named(ranks: Sequence[int]) -> str:
    """Name ranks, as in 'rank 1', 'ranks 0 to 3' or 'ranks 0 and 2'."""
    own = sorted(set(ranks))
    if len(own) == 1:
        return f"rank {own[0]}"
    if len(own) > 2 and own == list(range(own[0], own[-1] + 1)):
        return f"ranks {own[0]} to {own[-1]}"
    return f"ranks {joined(own)}"


def noted(works: Sequence[Work]) -> list[Note]:
    """Return the lines that began `works`, each listed once, with its ranks."""
    at: dict[Place, list[int]] = {}
    for work in works:
        at.setdefault(work.place, []).append(work.rank)
    return [(place, ranks_named(ranks)) for place, ranks in at.items()]


def deadlock(
    waiting: Mapping[int, Work],
    ended: Collection[int],
    size: int,
    held_up: Callable[[Sequence[Work]], list[tuple[Work, Work]]],
    begun: Sequence[Work] = (),
) -> RankFault:
    """Return the fault for a deadlock; it says which ranks wait for what.

    waiting: rank → the work that it waits for. ended: the ranks that have ended. size:
    the number of ranks. held_up: see `World.held_up`. begun: all works.
    """
    able = freed(waiting)
    works = [w for rank, w in sorted(waiting.items()) if rank not in able]
    stuck = [work for work in works if work.peers]
    held = held_up([waiting[rank] for rank in sorted(able)])
    alone = [w for w in [*stuck, *(ahead for ahead, _ in held)] if w.other is None]
    late = next((w for w in alone if set(w.peers).intersection(ended)), None)
    if late is not None:
        row = "waits-for-ended" if late.receives else "sends-to-ended"
        return one_sided(row, late)
    if held and not stuck:
        return out_of_order(held)
    together = [work for work in works if not work.peers]
    if together and (stuck or ended):
        return not_by_all(size, together, works)
    doing = {work.sends for work in stuck}
    if len(doing) == 1 and (missed := unmet(stuck, begun)):
        return missed
    calls = " or ".join(f"`{call}`" for call in sorted({w.call for w in stuck}))
    row = "mixed" if len(doing) != 1 else "all-send" if True in doing else "all-receive"
    return fault(row, noted(works), calls=calls, pairs=pairs(stuck))


def unmet(stuck: Sequence[Work], begun: Sequence[Work]) -> RankFault | None:
    """Return the fault for messages of which both ranks have begun a side, or None.

    In each, the one side names a rank that has begun the other side with a third rank.
    """
    across = [
        [
            other
            for other in begun
            if other.rank == work.peers[0]
            and other.peers
            and other.other is None
            and other.sends != work.sends
        ]
        for work in stuck
    ]
    if not all(across):
        return None
    work, others = stuck[0], across[0]
    says = {True: "sends to", False: "receives from"}
    peers = sorted({other.peers[0] for other in others})
    return fault(
        "unmet",
        noted([*stuck, *(other for each in across for other in each)]),
        one=f"rank {work.rank} {says[work.sends]} rank {work.peers[0]}",
        other=f"rank {others[0].rank} {says[others[0].sends]} {ranks_named(peers)}",
    )


def freed(waiting: Mapping[int, Work]) -> set[int]:
    """Return the ranks that could go on if no transfer waited for an earlier one.

    Such a rank waits for a message begun by both ranks, or for another such rank.
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
    """Return the fault for transfers that wait for those of an earlier group.

    In one group they would not wait. held: pairs of an earlier transfer and one that
    waits for it. The fault names the first pair and, if its two calls have different
    names, all ranks that are on the same two lines.
    """
    first, later = held[0]
    lines = first.place, later.place
    ranks = [b.rank for a, b in held if (a.place, b.place) == lines]
    calls = [f"`{w.call}`" for w in (later, first)]
    if first.call == later.call:
        ranks = [later.rank]
        preposition = "to" if first.sends else "from"
        calls = [f"`{w.call}` {preposition} rank {w.peers[0]}" for w in (later, first)]
    another = ""
    if first.other in [side for _, side in held]:
        another = f", and the {calls[1]} waits for another rank's `{first.other.call}`"
    return fault(
        "out-of-order" if first.peers and later.peers else "collective-out-of-order",
        [(first.place, "begun first"), (later.place, "has to wait")],
        ranks=ranks_named(ranks),
        later=calls[0],
        first=calls[1],
        another=another,
    )


def pairs(works: Sequence[Work]) -> str:
    """Format what up to four ranks do, as in 'rank 0 sends to 1, rank 1 sends to 2'."""
    said = [
        f"rank {w.rank} {'sends to' if w.sends else 'receives from'} {w.peers[0]}"
        for w in works[:4]
    ]
    return ", ".join(said) + (" …" if len(works) > 4 else "")


def one_sided(row: str, work: Work) -> RankFault:
    """Return the fault of a single rank's call.

    row: the name of the row of `words.toml` that has the text.
    """
    return fault(
        row,
        noted([work]),
        rank=work.rank,
        peer=work.peers[0] if work.peers else None,
        call=work.call,
        numbers=several(work.tensor.numel(), "number"),
    )


def not_by_all(size: int, together: Sequence[Work], works: Sequence[Work]) -> RankFault:
    """Return the fault for a collective in which some ranks wait and others do not."""
    name = together[0].call
    inside = [work.rank for work in together]
    others = [rank for rank in range(size) if rank not in inside]
    waits = "waits" if len(inside) == 1 else "wait"
    return fault(
        "not-by-all",
        noted(works),
        Inside=f"{ranks_named(inside).capitalize()} {waits}",
        call=name,
        others=f"{ranks_named(others)} {'does' if len(others) == 1 else 'do'}",
    )


def another_collective(first: Collective, second: Collective, number: int) -> RankFault:
    """Return the fault for two ranks whose collectives, or their arguments, differ."""
    what = -1 if first.agreed[-1] != second.agreed[-1] else 1
    return fault(
        "another-call" if first.call != second.call else "another-argument",
        noted([first.work, second.work]),
        number=number + 1,
        first=first.work.rank,
        second=second.work.rank,
        call=first.call,
        other=second.call,
        mine=first.agreed[what],
        theirs=second.agreed[what],
    )


def another_message(send: Work, receive: Work) -> RankFault:
    """Return the fault for a send and a receive whose tensors do not match.

    The tensors differ in size or dtype.
    """
    kinds = [str(w.tensor.dtype).removeprefix("torch.") for w in (send, receive)]
    sent, wanted = (
        f"{several(w.tensor.numel(), 'number')}"
        + (f" of {kind}" if kinds[0] != kinds[1] else "")
        for w, kind in zip((send, receive), kinds, strict=True)
    )
    told = {"rank": send.rank, "peer": receive.rank, "sent": sent, "wanted": wanted}
    calls = [
        (w.caller, f"called here, rank {w.rank}")
        for w in (send, receive)
        if w.caller is not None
    ]
    if len(calls) == 2 and calls[0][0] == calls[1][0]:
        both = ranks_named([send.rank, receive.rank])
        calls = [(calls[0][0], f"called here, {both}")]
    told["into"] = f" in `{receive.name}`" if receive.name else ""
    raised = fault("message", [*noted([send, receive]), *calls], **told)
    raised.buffer = receive.name
    return raised
