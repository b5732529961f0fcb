"""Lines whose memory requests take more sectors or passes than the exercise allows.

If the results are right, such a line fails the check. If they are wrong, it hints at
where to look. A wrong index seldom gives only wrong values: lanes that should read
neighbours read a column, or all conflict in one bank.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weft.checking.verdict import Failed, Verdict
from weft.counters import BANKS, PASS_BYTES, SECTOR, WORD, Line, count, rows_of
from weft.kernels.advice import Facts
from weft.kernels.exercise import KernelExercise
from weft.kernels.trial import Done, Trial, configure, traced
from weft.places import Note, Place, named
from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.requests import grouped
from weft.simulator.trace.trace import GLOBAL, READ, Trace
from weft.wording import joined, several

LANES = 3  # the most lanes whose accesses a verdict names
LINES = 3  # the most that a verdict shows
ELSEWHERE = 3  # factor on the ideal cost, for a size without limits
ORDINALS = {1: "second", 2: "third"}


# One request of a line: what its lanes access, and which conflict


@dataclass(frozen=True)
class Request:
    """One execution of a line by a warp.

    rows: its accesses in the trace, in the order of the lanes. time: how many times the
    warp had executed the line before. cost: the number of sectors moved, or of passes.
    even: whether all requests of the line cost the same.
    """

    rows: Columns
    time: int
    cost: int
    even: bool


def worst(trace: Trace, line: Line) -> Request:
    """Return a line's most expensive request, the first if several cost the same."""
    rows = rows_of(trace, line)
    found = grouped(trace, rows, np.zeros_like(rows))
    cost = passes(trace, found.rows, found.request) if line.shared else None
    if cost is None:
        first = trace.address[found.rows] // SECTOR
        end = (trace.address[found.rows] + trace.size[found.rows] - 1) // SECTOR + 1
        sector, row = columns.spread(first, end)
        moved, _ = columns.distinct(found.request[row], sector)
        cost = np.bincount(moved, minlength=found.requests)
    time = np.zeros(found.requests, np.int64)
    time[found.request] = found.time
    number = int(np.lexsort((time, -cost))[0])
    mine = found.rows[found.request == number]
    mine = mine[np.argsort(trace.thread[mine], kind="stable")]
    even = bool((cost == cost[0]).all())
    return Request(mine, int(time[number]), int(cost[number]), even)


def passes(trace: Trace, rows: Columns, request: Columns) -> Columns:
    """Return, for each request, the number of words that the busiest bank supplies."""
    part = request * WARP + parts(trace, rows)
    address, size = trace.address[rows], trace.size[rows]
    word, row = columns.spread(address // WORD, (address + size - 1) // WORD + 1)
    bank, _ = columns.distinct(part[row] * BANKS + word % BANKS, word // BANKS)
    first = columns.starts(bank)
    words = np.diff(first, append=bank.size)
    most = np.zeros(int(request.max(initial=0)) + 1, np.int64)
    np.maximum.at(most, bank[first] // BANKS // WARP, words)
    return most


def parts(trace: Trace, rows: Columns) -> Columns:
    """Return, for each access in `rows`, the part of the warp that its thread is in.

    The accesses of one part are served together.
    """
    lanes = np.clip(PASS_BYTES // trace.size[rows], 1, WARP)
    part: Columns = trace.thread[rows] % WARP // lanes
    return part


def clash(trace: Trace, request: Request) -> tuple[int, int, int, int] | None:
    """Return two accesses of a request that conflict in a bank, and the word of each.

    Returns None if no two of them need different words of one bank.
    """
    rows, part = request.rows, parts(trace, request.rows)
    each = [
        range(int(a) // WORD, (int(a) + int(s) - 1) // WORD + 1)
        for a, s in zip(trace.address[rows], trace.size[rows], strict=True)
    ]
    for i, j in combinations(range(rows.size), 2):
        if part[i] != part[j]:
            continue
        for one in each[i]:
            for other in each[j]:
                if one != other and (one - other) % BANKS == 0:
                    return int(rows[i]), int(rows[j]), one, other
    return None


def who(trace: Trace, rows: Columns) -> str:
    """Name the lanes of `rows`, such as 'lanes 0 and 16'.

    If a block has several axes, their threads are named too.
    """
    lanes = f"lanes {joined(trace.thread[rows] % WARP)}"
    threads = [trace.by(row)[0] for row in rows]
    if len(threads[0]) == 1:
        return lanes
    return f"{lanes} (threads {joined(map(named, threads))})"


def touched(trace: Trace, request: Request, store: bool, shared: bool) -> str:
    """Describe what a request's first lanes access, such as 'lanes 0 and 1 read …'.

    In shared memory, two lanes that conflict in a bank are named. Returns '' if the
    elements cannot be named, or there is only one lane.
    """
    rows, after = request.rows[:LANES], ""
    met = clash(trace, request) if shared else None
    if met is not None:
        pair, after = np.array(met[:2]), f"both in bank {met[2] % BANKS}"
        if len(rows) > 2 and met[1] in rows:
            after = f"lanes {joined(trace.thread[pair] % WARP)} {after}"
        else:
            rows = pair
    elements = [trace.element(int(row)) for row in rows]
    if not all(elements) or len(rows) < 2:
        return ""
    verb = "write" if store else "read"
    lanes = joined(trace.thread[rows] % WARP)
    what = f"lanes {lanes} {verb} {joined(f'`{e}`' for e in elements)}"
    return f"{what}, {after}" if after else what


# Limits: which lines exceed them, and how a verdict says so


def sectors(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check the number of sectors per request to global memory, on the worst line."""
    plain = [n for n in lines if not n.shared and not n.atomic]
    if not plain:
        return ""
    spread = scattered(exercise, last, lines)
    if spread:
        raise Failed(too_many_sectors(exercise, last, max(spread, key=_per_request)))
    most = max(plain, key=_per_request)
    return f"global memory: {several(most.per_request, 'sector')} per request"


def scattered(exercise: KernelExercise, last: Trace, lines: list[Line]) -> list[Line]:
    """Return the lines that move more sectors per request than the exercise allows.

    Leaves out lines that move as few sectors as they can, and lines that load only what
    their threads also load on another line.
    """
    plain = [n for n in lines if not n.shared and not n.atomic]
    spread = [n for n in plain if n.per_request > exercise.limits["sectors"]]
    spread = [n for n in spread if n.sectors > n.ideal + _astride(n)]
    near = {n.place for n in plain if not n.store and n not in spread}
    return [n for n in spread if not again(last, n, near)]


def conflicts(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check the bank conflicts per request to shared memory, on the worst line."""
    most = max((n for n in lines if n.shared), key=_per_request, default=None)
    if most is None:
        return "shared memory: not used"
    if most.per_request > exercise.limits["bank_conflicts"]:
        raise Failed(bank_conflicts(exercise, last, most))
    return f"shared memory: {several(most.per_request, 'bank conflict')} per request"


def conflicting(exercise: KernelExercise, lines: list[Line]) -> list[Line]:
    """Return the lines with more bank conflicts than the exercise allows."""
    limit = exercise.limits["bank_conflicts"]
    return [n for n in lines if n.shared and n.per_request > limit]


def again(last: Trace, line: Line, near: set[Place]) -> bool:
    """Return whether a divergent line loads only what its threads also load at `near`.

    An example is `if x[i] > top: top = x[i]` in a loop. The second load is scattered,
    because only some lanes make it, yet each of them already has its element in a
    register.
    """
    if line.store or not line.divergent:
        return False
    rows = (last.space == GLOBAL) & (last.operation == READ)
    mine = np.array([array == line.array for array in last.arrays])[last.array]
    rows = np.flatnonzero(rows & mine)
    address = last.address[rows] - last.address[rows].min()
    thread = last.of_views("number")[last.view[rows]].astype(np.int64)
    what = thread * (int(address.max()) + 1) + address
    here = np.array([place == line.place for place in last.places])[last.site[rows]]
    there = np.array([place in near for place in last.places])[last.site[rows]]
    return bool(np.isin(what[here], what[there]).all())


def _astride(line: Line) -> int:
    """Return how many sectors beyond the ideal a line's 16-byte accesses may move.

    Each request may begin and end in the middle of a sector.
    """
    return line.requests if line.bytes == 16 * line.lanes else 0


def _per_request(line: Line) -> float:
    return line.per_request


def too_many_sectors(exercise: KernelExercise, last: Trace, line: Line) -> Verdict:
    """Return the verdict on a line whose requests move too many sectors.

    If the requests differ in cost, the verdict also describes the worst one.
    """
    verb = "store to" if line.store else "load from"
    request = worst(last, line)
    mean, most = "", ""
    if not request.even:
        mean, most = " on average", f" The worst of them moves {request.cost}."
    verdict = exercise.verdict(
        "sectors",
        f"Each {verb} {line.array} by a warp moves "
        f"{several(line.per_request, 'sector')} of 32 bytes{mean}; "
        f"{line.ideal / line.requests:.3g} would hold the same data.{most}",
        "Neighbouring lanes of the warp ask for addresses that are far apart. Which "
        "index changes from one lane to the next?",
        [(line.place, f"{several(line.per_request, 'sector')} per request{mean}")],
    )
    if not most:
        return verdict
    thread, block = last.by(int(request.rows[0]))
    return verdict.but(thread=thread, block=block)


def bank_conflicts(exercise: KernelExercise, last: Trace, line: Line) -> Verdict:
    """Return the verdict on a line with bank conflicts, naming two of its lanes."""
    verb = "store to" if line.store else "load from"
    best = line.ideal / line.requests
    request = worst(last, line)
    mean = "" if request.even else " on average"
    most = "" if request.even or best > 1 else f"; the worst takes {request.cost}"
    return exercise.verdict(
        "bank-conflicts",
        f"Each {verb} {line.array} by a warp takes {best + line.per_request:.3g} "
        f"passes{mean} where {'one' if best == 1 else f'{best:.3g}'} would be "
        f"enough{most}. Up to {request.cost} lanes ask for different words of the same "
        f"bank.",
        f"Word w of shared memory is in bank w mod 32. {meeting(last, request)}",
        [(line.place, f"{several(line.per_request, 'conflict')} per request")],
    )


def meeting(last: Trace, request: Request) -> str:
    """Return a hint that names two lanes with a bank conflict and asks for its cause.

    If no such lanes are found, it asks which lanes need the same bank.
    """
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
        f"Here {lanes} both need bank {first % 32}: {touch[0]}, and {touch[1]}. Why "
        f"are these words {abs(second - first)} apart?"
    )


# Where to look in a kernel whose results are wrong


def find_costly_lines(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Add to a wrong value's verdict the lines that cost too much."""
    done, clue = facts.done, facts.clue
    if done is None or clue is None or trial.exercise.checks_launch:
        return verdict
    if verdict.kind != "wrong-value":
        return verdict
    if {"sectors", "bank_conflicts"} & trial.exercise.limits.keys():
        trace, size, times = counting_trace(trial, done)
        lines = [n for n in over(trial.exercise, trace) if taken(n) > times * n.ideal]
        if lines:
            places: list[Note] = list(verdict.places)
            for line in lines:
                places = noted(places, line)
            if (here := alike(trial, done, lines[0])) is not None:
                trace, size, lines = done.trace, trial.case.written, [here, *lines[1:]]
            more = sentence(trial, trace, lines, size)
            return verdict.adding(more).but(places=places)
    return verdict


def alike(trial: Trial, done: Done, line: Line) -> Line | None:
    """Return a line as counted in the failed launch.

    Returns None if the line is within the limits in that launch.
    """
    key = line.place, line.array, line.store
    found = over(trial.exercise, done.trace)
    return next((n for n in found if (n.place, n.array, n.store) == key), None)


def counting_trace(trial: Trial, done: Done) -> tuple[Trace, str, int]:
    """Return a trace in which to count, its launch's size, and a factor for the limits.

    The trace is of a launch at the size for which the limits are set, and the factor is
    1. If the kernel cannot run at that size, the trace is of the failed launch, and the
    factor is larger, because correct lines may cost more at the size of that launch.
    """
    exercise = trial.exercise
    case = exercise.case(exercise.limits.get("size", exercise.sizes[-1]))
    if case.size == trial.case.size:
        return done.trace, case.written, 1
    try:
        return traced(configure(exercise, case)).trace, case.written, 1
    except Exception:  # there, the mistake shows in another way
        return done.trace, trial.case.written, ELSEWHERE


def over(exercise: KernelExercise, trace: Trace) -> list[Line]:
    """Return the worst of the learner's lines that exceed the limits, worst first."""
    lines = count(trace)
    found: list[Line] = []
    if "sectors" in exercise.limits:
        found += scattered(exercise, trace, lines)
    if "bank_conflicts" in exercise.limits:
        found += conflicting(exercise, lines)
    mine = [n for n in found if not n.atomic and not exercise.elsewhere(n.place)]
    mine.sort(key=lambda n: n.ideal / taken(n))
    alike = {(n.place.line, n.array, n.store): n for n in mine[::-1]}
    return [n for n in mine if n in alike.values()][:LINES]


def taken(line: Line) -> int:
    """Return how many sectors or passes a line's requests take in total."""
    return line.ideal + line.conflicts if line.shared else line.sectors


def noted(places: list[Note], line: Line) -> list[Note]:
    """Add a line's cost to a verdict's note on that line, or as a new note."""
    unit = "pass" if line.shared else "sector"
    each, best = taken(line) / line.requests, line.ideal / line.requests
    many = several(each, unit)
    verb = "written" if line.store else "read"
    note = f"{line.array} is {verb}: {many} per request; {best:.3g} would do"
    for k, (place, old) in enumerate(places):
        if (place.function, place.line) == (line.place.function, line.place.line):
            more = [*places[:k], (place, f"{old}; {note}"), *places[k + 1 :]]
            return more
    return [*places, (line.place, note)]


def sentence(trial: Trial, trace: Trace, lines: list[Line], size: str) -> str:
    """Report lines that cost too much, and what lanes access on the worst one."""
    numbers = sorted({n.place.line for n in lines})
    many = len(numbers) > 1
    where = f"Line{'s' * many} {joined(numbers)} stand{'s' * (not many)} out"
    worst_line = lines[0]
    request = worst(trace, worst_line)
    what = touched(trace, request, worst_line.store, worst_line.shared)
    if not what:
        return f"{where}: is the index what you mean?"
    if many:
        what += f" on line {worst_line.place.line}"
    if request.time:
        what += "," * what.endswith(tuple("0123456789"))
        what += f" the {ORDINALS.get(request.time, f'{request.time + 1}th')} time"
    if size != trial.case.written:
        where += f" in {size}, where accesses are counted"
    return f"{where}: {what}. Are these the elements that you mean?"


def exploring(trial: Trial) -> str:
    """Return a hint to call `explore`, or '' if the exercise cannot be explored."""
    if not trial.exercise.can_explore:
        return ""
    function = trial.exercise.function()
    scope = function.__globals__ if function else {}
    call = "explore" if "explore" in scope else "weft.explore"
    return (
        f"`{call}({trial.exercise.kernel.__name__})` shows which elements each line "
        "reads and writes in this launch."
    )
