"""Warp operations: what each lane gets once all lanes of the mask have arrived."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

FULL = 0xFFFFFFFF


class AbsentLane(Exception):
    """A read from a lane that does not take part in the warp operation."""

    def __init__(self, lane: int, source: int) -> None:
        super().__init__(lane, source)
        self.lane, self.source = lane, source


Lanes = dict[int, tuple[Any, ...]]
Replies = dict[int, Any]


@dataclass(frozen=True)
class Exchange:
    """A joint operation of a warp's lanes, which turns their arguments into replies.

    It begins when all lanes of the mask have arrived, except those that have returned.
    With `whole`, every lane has to arrive, and at the same line. With `ordered`, the
    lanes' earlier memory accesses happen before their later ones.
    """

    name: str
    replies: Callable[[Lanes], Replies]
    whole: bool = False
    ordered: bool = False


# One lane's call: the operation, its mask, and its arguments. If `Thread.waiting` is a
# tuple, it is such a call.
Call = tuple[Exchange, int, tuple[Any, ...]]


def lanes_in(mask: int) -> list[int]:
    """Return the lanes whose bits are set in `mask`."""
    return [lane for lane in range(32) if mask >> lane & 1]


def bits(lanes: list[int]) -> int:
    return sum(1 << lane for lane in lanes)


def _shuffle(calls: Lanes, source: Callable[[int, int], int]) -> Replies:
    """Return for each lane the value of lane `source(lane, operand)`, or its own.

    A lane gets its own value if the source is outside 0–31. The hardware uses the
    lowest five bits of the operand: a distance of -1 is 31, and one of 32 is 0 (PTX
    ISA, `shfl.sync`: `bval = b[4:0]`).
    """
    replies = {}
    for lane, (value, operand) in calls.items():
        other = source(lane, int(operand) & 31)
        if not 0 <= other < 32:
            replies[lane] = value
        elif other in calls:
            replies[lane] = calls[other][0]
        else:
            raise AbsentLane(lane, other)
    return replies


def _vote(calls: Lanes, decide: Callable[[list[bool]], Any]) -> Replies:
    answer = decide([bool(pred) for (pred,) in calls.values()])
    return dict.fromkeys(calls, answer)


def _signed(mask: int) -> int:
    """Convert `mask` to Numba's int32: negative if it names lane 31."""
    return mask - (mask >> 31 << 32)


def _ballot(calls: Lanes) -> Replies:
    answer = _signed(bits([lane for lane, (pred,) in calls.items() if pred]))
    return dict.fromkeys(calls, answer)


def _match_any(calls: Lanes) -> Replies:
    return {
        lane: _signed(bits([other for other, (v,) in calls.items() if v == value]))
        for lane, (value,) in calls.items()
    }


def _match_all(calls: Lanes) -> Replies:
    values = [value for (value,) in calls.values()]
    same = all(value == values[0] for value in values)
    return dict.fromkeys(calls, (_signed(bits(list(calls)) if same else 0), same))


# Semantics: CUDA C++ Programming Guide, "Warp Vote", "Warp Match", "Warp Shuffle".
EXCHANGES = {
    name: Exchange(name, replies, ordered=name == "syncwarp")
    for name, replies in {
        "syncwarp": lambda calls: dict.fromkeys(calls),
        "shfl_sync": lambda calls: _shuffle(calls, lambda lane, src: src),
        "shfl_up_sync": lambda calls: _shuffle(calls, lambda lane, by: lane - by),
        "shfl_down_sync": lambda calls: _shuffle(calls, lambda lane, by: lane + by),
        "shfl_xor_sync": lambda calls: _shuffle(calls, lambda lane, by: lane ^ by),
        "all_sync": lambda calls: _vote(calls, all),
        "any_sync": lambda calls: _vote(calls, any),
        "eq_sync": lambda calls: _vote(calls, lambda preds: len(set(preds)) == 1),
        "ballot_sync": _ballot,
        "match_any_sync": _match_any,
        "match_all_sync": _match_all,
    }.items()
}
APART: ContextVar[bool] = ContextVar("apart", default=False)

# Whether lanes only meet if all have reached the same line through the same calls. CUDA
# requires only the same operation and mask.
AS_ONE: ContextVar[bool] = ContextVar("as_one", default=False)


def _active(calls: Lanes) -> Replies:
    """Tell each lane which lanes have reached this instruction together.

    These are all lanes in `calls` or, if APART, only the even or only the odd ones.
    Lanes that take the same path need not stay together: see "Independent Thread
    Scheduling" in the CUDA C++ Programming Guide.
    """
    groups = [list(calls)]
    if APART.get():
        groups = [[k for k in calls if k % 2 == half] for half in (0, 1)]
    return {lane: bits(group) for group in groups for lane in group}


# Does not wait: its lanes are those that have reached the same instruction.
ACTIVE = Exchange("activemask", _active, whole=True)
