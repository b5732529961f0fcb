"""Sectors and bank conflicts: which lines exceed a limit, and how that is said."""

import numpy as np

from weft.checking.verdict import Failed, Verdict
from weft.counters import Line
from weft.kernels.exercise import KernelExercise
from weft.kernels.one_request import Request, at, clash, who, worst
from weft.places import Place
from weft.simulator.trace.trace import GLOBAL, READ, Trace
from weft.wording import several


def sectors(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Count the sectors per request to global memory, of the worst line."""
    plain = [n for n in lines if not n.shared and not n.atomic]
    if not plain:
        return ""
    spread = scattered(exercise, last, lines)
    if spread:
        raise Failed(too_many_sectors(exercise, last, max(spread, key=_per_request)))
    most = max(plain, key=_per_request)
    return f"global memory: {several(most.per_request, 'sector')} per request"


def scattered(exercise: KernelExercise, last: Trace, lines: list[Line]) -> list[Line]:
    """The lines that move more sectors than the exercise allows."""
    plain = [n for n in lines if not n.shared and not n.atomic]
    spread = [n for n in plain if n.per_request > exercise.limits["sectors"]]
    spread = [n for n in spread if n.sectors > n.ideal + _astride(n)]
    near = {n.place for n in plain if not n.store and n not in spread}
    return [n for n in spread if not again(last, n, near)]


def conflicts(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Count the bank conflicts per request to shared memory, of the worst line."""
    most = max((n for n in lines if n.shared), key=_per_request, default=None)
    if most is None:
        return "shared memory: not used"
    if most.per_request > exercise.limits["bank_conflicts"]:
        raise Failed(bank_conflicts(exercise, last, most))
    return f"shared memory: {several(most.per_request, 'bank conflict')} per request"


def conflicting(exercise: KernelExercise, lines: list[Line]) -> list[Line]:
    """The lines with more bank conflicts than the exercise allows."""
    limit = exercise.limits["bank_conflicts"]
    return [n for n in lines if n.shared and n.per_request > limit]


def again(last: Trace, line: Line, near: set[Place]) -> bool:
    """Whether a divergent line loads what its threads load on the lines `near` as well.

    Such as `if x[i] > top: top = x[i]` in a loop: lanes that come to the second load in
    different iterations count as one request, and the value is in a register anyway.
    """
    if line.store or not line.divergent:
        return False
    rows = (last.space == GLOBAL) & (last.operation == READ)
    rows = np.flatnonzero(rows & (np.array(last.arrays)[last.array] == line.array))
    address = last.address[rows] - last.address[rows].min()
    thread = last.of_views("number")[last.view[rows]].astype(np.int64)
    what = thread * (int(address.max()) + 1) + address
    here = np.array([place == line.place for place in last.places])[last.site[rows]]
    there = np.array([place in near for place in last.places])[last.site[rows]]
    return bool(np.isin(what[here], what[there]).all())


def _astride(line: Line) -> int:
    """How many sectors one line of whole fours may move beyond its ideal.

    A request of 16 bytes a lane may begin and end in the middle of a sector.
    """
    return line.requests if line.bytes == 16 * line.lanes else 0


def _per_request(line: Line) -> float:
    return line.per_request


def too_many_sectors(exercise: KernelExercise, last: Trace, line: Line) -> Verdict:
    """Refuse a line, and say what its worst request moves where they differ."""
    verb = "store to" if line.store else "load from"
    request = worst(last, line)
    mean, most = "", ""
    if not request.even:
        mean, most = " on average", f" The worst of them moves {request.cost}."
    verdict = Verdict(
        exercise.name,
        "sectors",
        f"Each {verb} {line.array} by a warp moves "
        f"{several(line.per_request, 'sector')} of 32 bytes{mean}; "
        f"{line.ideal / line.requests:.3g} would hold the same data.{most}",
        "Neighbouring lanes of the warp ask for addresses that are far apart. Which "
        "index changes from one lane to the next?",
        [(line.place, f"{several(line.per_request, 'sector')} per request{mean}")],
    )
    return at(verdict, last, int(request.rows[0])) if most else verdict


def bank_conflicts(exercise: KernelExercise, last: Trace, line: Line) -> Verdict:
    """Refuse a line, and name two lanes that need one bank at a time."""
    verb = "store to" if line.store else "load from"
    best = line.ideal / line.requests
    request = worst(last, line)
    mean = "" if request.even else " on average"
    most = "" if request.even or best > 1 else f"; the worst takes {request.cost}"
    return Verdict(
        exercise.name,
        "bank-conflicts",
        f"Each {verb} {line.array} by a warp takes {best + line.per_request:.3g} "
        f"passes{mean} where {'one' if best == 1 else f'{best:.3g}'} would be "
        f"enough{most}. Up to {request.cost} lanes ask for different words of the same "
        f"bank.",
        f"Word w of shared memory is in bank w mod 32. {meeting(last, request)}",
        [(line.place, f"{several(line.per_request, 'conflict')} per request")],
    )


def meeting(last: Trace, request: Request) -> str:
    """Say which two lanes meet in a bank, and ask why."""
    met = clash(last, request)
    if met is None:
        return "Which lanes ask for the same bank on this line?"
    one, other, first, second = met
    rows = np.array([one, other])
    named = [last.element(row) for row in (one, other)]
    touch = [
        f"{f'`{name}` is ' if name else ''}word {word}"
        for name, word in zip(named, (first, second), strict=True)
    ]
    lanes = who(last, rows)
    return (
        f"Here {lanes} both need bank {first % 32}: {touch[0]}, and {touch[1]}. What "
        f"decides that these words are {abs(second - first)} apart?"
    )
