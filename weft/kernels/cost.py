"""Stage 3: what the accesses cost, counted from a trace."""

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from weft.checking.source import at_line
from weft.checking.verdict import Failed, Verdict
from weft.counters import Line, count
from weft.kernels.advice import statements, with_calls
from weft.kernels.exercise import KernelExercise
from weft.kernels.requests import conflicts, sectors
from weft.kernels.sharing import handed_over, shared_bytes, unguarded_loads
from weft.kernels.trial import configure, traced
from weft.places import Place
from weft.simulator.trace.columns import Columns, distinct
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.trace import GLOBAL, READ, SHARED, Trace
from weft.wording import several

LINES = 4  # the most that a verdict shows
EXTREMES = "loads", "shared_loads", "peeks", "barriers", "in_flight"  # by size

MEMORY = {  # name: space, limit, what to think about
    "global": (
        GLOBAL,
        "loads",
        "A load takes hundreds of nanoseconds. Which of these values did the thread "
        "already have in a variable, and which could another thread have loaded?",
    ),
    "shared": (
        SHARED,
        "shared_loads",
        "Each load is an instruction, and the thread waits for it. Which of these "
        "elements are neighbours, so that one load could fetch four? What have other "
        "threads of the block loaded or computed that this one could take from them?",
    ),
}


def run(exercise: KernelExercise, last: Trace) -> list[str]:
    """Check the counters against the exercise's limits.

    last: the trace for the last size. Returns facts; raises `Failed` if a limit is not
    met.
    """
    if not exercise.limits:
        return []
    size = exercise.limits.get("size", exercise.sizes[-1])
    if size != exercise.sizes[-1]:
        last = traced(configure(exercise, exercise.case(size))).trace
    try:
        return counted(exercise, last, size)
    except Failed as failed:
        places = failed.verdict.places
        rows = [first_of(last, place) for place, _ in places]
        trial = configure(exercise, exercise.case(size))
        raise Failed(with_calls(trial, failed.verdict.but(rows=rows))) from None


def first_of(last: Trace, place: Place) -> int:
    """Return the row of the first access at `place`, which may be a whole line."""
    here = [place in (p, replace(p, expression="")) for p in last.places]
    return int(np.argmax(np.array(here)[last.site]))


def counted(exercise: KernelExercise, last: Trace, size: Any) -> list[str]:
    """Return facts about a trace. Raises `Failed` if the trace breaks a limit.

    size: that of the trace. The largest number is said to be that of this size.
    """
    lines, facts = count(last), list[str]()
    at = f" at {exercise.written(size)}" * (len(exercise.sizes) > 1)
    for limit, hold in HELD.items():
        if limit in exercise.limits and (fact := hold(exercise, last, lines)):
            facts.append(f"{fact}{at}" if limit in EXTREMES else fact)
    return facts


def lanes(exercise: KernelExercise, _: Trace, lines: list[Line]) -> str:
    """Check the number of lanes per request, on the line with the fewest."""
    if not lines:
        return ""
    # prefer a line of the kernel to one of a function it calls
    name = exercise.kernel.__name__
    fewest = min(lines, key=lambda n: (n.lanes_per_request, n.place.function != name))
    if fewest.lanes_per_request < exercise.limits["lanes"]:
        raise Failed(too_few_lanes(exercise, fewest))
    return f"warps: {several(fewest.lanes_per_request, 'lane')} per request"


def width(limit: str, exercise: KernelExercise, _: Trace, lines: list[Line]) -> str:
    """Check how many bytes a lane moves at a time in global memory, on average."""
    store = limit == "store_bytes"
    mine = [n for n in lines if not n.shared and not n.atomic and n.store == store]
    if not mine:
        return ""
    mean = sum(n.bytes for n in mine) / sum(n.lanes for n in mine)
    if mean < exercise.limits[limit]:
        raise Failed(too_narrow(exercise, max(mine, key=_narrow), mean))
    verb = "stores" if store else "loads"
    return f"global memory: a lane {verb} {several(mean, 'byte')} at a time"


def _narrow(line: Line) -> tuple[float, int]:
    """Return a sort key that is largest for the narrowest line.

    Ties go to the line with more requests.
    """
    return -line.bytes / line.lanes, line.requests


def loads(memory: str, exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check the number of loads from `memory` by the thread that makes the most.

    Loads by `peek` are left out: how many a thread makes depends on when other threads
    store.
    """
    space, limit, _why = MEMORY[memory]
    if isinstance(last, Recorded):
        most = last.counted.most_loads(space)
        if most <= exercise.limits[limit]:
            return loaded(memory, most)
    rows = np.flatnonzero((last.space == space) & (last.operation == READ))
    rows = np.setdiff1d(rows, last.atomics["relaxed"], assume_unique=True)
    number = last.of_views("number")[last.view[rows]]
    _, each, counts = np.unique(number, return_inverse=True, return_counts=True)
    most = int(counts.max(initial=0))
    if most > exercise.limits[limit]:
        mine = rows[each == np.argmax(counts)]
        raise Failed(too_many_loads(exercise, last, mine, memory))
    return loaded(memory, most)


def loaded(memory: str, most: int) -> str:
    return f"{memory} memory: at most {several(most, 'load')} per thread"


def too_many_loads(
    exercise: KernelExercise, last: Trace, mine: Columns, memory: str
) -> Verdict:
    """Return the verdict on a thread that makes too many loads.

    mine: the rows of these loads in the trace `last`.
    """
    _, limit, why = MEMORY[memory]
    cells = {*zip(last.epoch[mine].tolist(), last.address[mine].tolist(), strict=True)}
    if memory == "shared" and len(cells) <= exercise.limits[limit]:
        why = (
            "With no barrier in between, it loads the same elements again: "
            f"{several(len(mine) - len(cells), 'load')} in all. Which of these values "
            "could it keep in a variable?"
        )
    lines, spare = by_line(last, mine), needless(last, mine)
    named = lines[:1]
    if len(mine) - len(spare) <= exercise.limits[limit]:  # name those lines as well
        needed = {(p, a) for p, a, _ in by_line(last, spare)}
        named += [n for n in lines[1:LINES] if n[:2] in needed]
    notes = [(s, f"{several(n, 'load')} of {a} by one thread") for s, a, n in named]
    widths = np.array([dtype.itemsize for dtype in last.dtypes])[last.array[mine]]
    what = f"loads {several(len(mine), 'element')}"
    if (last.size[mine] > widths).any():  # some load several elements at once
        what = f"makes {several(len(mine), 'load')}"
    if lanes := all_alike(last, mine, named[0][0]):
        why = (
            f"All {lanes} threads of its warp load the same elements on this line. "
            f"Which of them are a thread's own share? {why}"
        )
    return exercise.verdict(
        "loads",
        f"One thread {what} from {memory} memory, one after the other; "
        f"{exercise.limits[limit]:g} would be enough.",
        why,
        notes,
        *last.by(int(mine[0])),
    )


def by_line(last: Trace, mine: Columns) -> list[tuple[Place, str, int]]:
    """Count the accesses `mine` by line and array; return the largest count first."""
    whole = [replace(place, expression="") for place in last.places]
    times = Counter(
        (whole[site], last.arrays[array])
        for site, array in zip(
            last.site[mine].tolist(), last.array[mine].tolist(), strict=True
        )
    )
    return [(place, array, n) for (place, array), n in times.most_common()]


def all_alike(last: Trace, mine: Columns, place: Place) -> int:
    """Count the lanes of a warp that load at `place` if all load the same elements.

    Returns 0 if they do not. It also returns 0 for a single lane or element, because
    there is no work to share. mine: the loads of one of these lanes.
    """
    sites = np.array([replace(p, expression="") == place for p in last.places])
    view, mine = last.view, mine[sites[last.site[mine]]]
    block, warp, number = map(last.of_views, ("block", "warp", "number"))
    same = (block == block[view[mine[0]]]) & (warp == warp[view[mine[0]]])
    rows = np.flatnonzero(sites[last.site] & same[view])
    rows = rows[
        (last.operation[rows] == READ) & (last.space[rows] == last.space[mine[0]])
    ]
    cells = np.unique(last.address[mine])
    each, _ = distinct(number[view[rows]], last.address[rows])
    lanes, counts = np.unique(each, return_counts=True)
    wide = len(lanes) > 1 and len(cells) > 1 and (counts == len(cells)).all()
    return len(lanes) * int(wide and np.isin(last.address[rows], cells).all())


def needless(last: Trace, mine: Columns) -> Columns:
    """Return the loads in `mine` of elements that their thread has accessed before."""
    number = last.of_views("number")[last.view]
    rows = np.flatnonzero(
        (number == number[mine[0]]) & (last.space == last.space[mine[0]])
    )
    _, first = np.unique(last.address[rows], return_index=True)
    return np.setdiff1d(mine, rows[first], assume_unique=True)


def busiest(last: Trace, mine: Columns) -> tuple[Place, str, int]:
    """Return the line with the most accesses in `mine`, their array and their count."""
    sites, times = np.unique(last.site[mine], return_counts=True)
    site = sites[np.argmax(times)]
    array = last.arrays[int(last.array[mine[last.site[mine] == site][0]])]
    return last.places[int(site)], array, int(times.max())


def peeks(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check how many distinct words the busiest thread peeks at."""
    rows = last.atomics["relaxed"]
    rows = rows[last.operation[rows] == READ]
    number = last.of_views("number")[last.view[rows]].astype(np.int64)
    _, first = np.unique((number, last.address[rows]), axis=1, return_index=True)
    rows, number = rows[first], number[first]
    _, each, counts = np.unique(number, return_inverse=True, return_counts=True)
    most = int(counts.max(initial=0))
    if most > exercise.limits["peeks"]:
        raise Failed(too_many_peeks(exercise, last, rows[each == np.argmax(counts)]))
    return f"peek: at most {several(most, 'word')} per thread"


def too_many_peeks(exercise: KernelExercise, last: Trace, mine: Columns) -> Verdict:
    """Return the verdict on a thread that peeks at too many words.

    mine: the rows of the thread's first peek at each of these words.
    """
    site, array, times = busiest(last, mine)
    return exercise.verdict(
        "loads",
        f"One thread looks at {several(len(mine), 'word')}, one after the other; "
        f"{exercise.limits['peeks']:g} would be enough.",
        "Each look is a trip to the L2 cache and back, and the next begins only when "
        "that is over. Which of these words could other lanes look at meanwhile?",
        [(site, f"{several(times, 'element')} of {array} by one thread")],
        *last.by(int(mine[0])),
    )


def barriers(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check the largest number of barriers that any block passes."""
    each: Counter[int] = Counter()
    for (block, _), times in last.barriers.items():
        each[block] += times
    ((block, most),) = each.most_common(1) or [(0, 0)]
    if most > exercise.limits["barriers"]:
        raise Failed(too_many_barriers(exercise, last, block, most))
    return f"barriers: at most {most} per block"


def in_flight(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check the smallest number of a thread's waits that leave a product running."""
    leaving: Counter[int] = Counter()
    for _, thread, _, left in last.bulk.waits:
        leaving[thread] += left > 0
    fewest, enough = min(leaving.values(), default=0), exercise.limits["in_flight"]
    if fewest >= enough:
        return f"waits that leave a product running: at least {fewest} per thread"
    function = exercise.function()
    waits = [
        (at_line(function, node.lineno), "")
        for node, _ in statements(function)
        if function is not None and isinstance(node, ast.Expr)
        if "wgmma_wait(" in ast.unparse(node)
    ]
    counted = f"{fewest} of a thread's waits leave" if fewest else "No wait leaves"
    raise exercise.failed(
        "in-flight",
        f"{counted} a product running, and {enough:g} should.",
        "A product runs beside what comes before the wait for it. `wgmma_wait(n)` "
        "waits for all groups but the last n: for which groups does each of these "
        "lines wait, and what follows it?",
        waits,
    )


def too_many_barriers(
    exercise: KernelExercise, last: Trace, block: int, most: int
) -> Verdict:
    mine = [(place, n) for (b, place), n in last.barriers.items() if b == block]
    mine.sort(key=lambda each: -each[1])
    enough = exercise.limits["barriers"]
    return exercise.verdict(
        "barriers",
        f"The threads of a block wait for each other {most:,} times, "
        f"where {'once' if enough == 1 else f'{enough:g}'} would be enough.",
        "At a barrier all warps of the block wait for the slowest. What has been "
        "written since the previous barrier, and which other thread reads it?",
        [(place, f"{several(n, 'barrier')} per block") for place, n in mine[:LINES]],
    )


def flops(exercise: KernelExercise, last: Trace, lines: list[Line]) -> str:
    """Check the average number of floating-point operations per block."""
    each = round(sum(last.flops.values()) / last.blocks)
    if each > exercise.limits["flops"]:
        raise Failed(too_many_flops(exercise, last, each))
    return f"arithmetic: {several(each, 'operation')} on floats per block"


def too_many_flops(exercise: KernelExercise, last: Trace, each: int) -> Verdict:
    worst = max(last.flops, key=last.flops.__getitem__)
    mine = round(last.flops[worst] / last.blocks)
    return exercise.verdict(
        "flops",
        f"The threads of a block do {several(each, 'operation')} on floats; "
        f"{exercise.limits['flops']:,} would be enough.",
        "Fewer give the same result. What does a thread compute that another thread "
        "computes as well, or that could be computed from less?",
        [(worst, f"{several(mine, 'operation')} per block")],
    )


def atomics(exercise: KernelExercise, _: Trace, lines: list[Line]) -> str:
    """Check how many atomic operations on global memory the lanes perform in all."""
    mine = [n for n in lines if n.atomic and not n.shared]
    done = sum(n.lanes for n in mine)
    if done > exercise.limits["atomics"]:
        raise Failed(too_many_atomics(exercise, max(mine, key=lambda n: n.lanes), done))
    return f"global memory: {several(done, 'atomic operation')}"


def too_many_atomics(exercise: KernelExercise, line: Line, done: int) -> Verdict:
    return exercise.verdict(
        "atomics",
        f"This launch makes {several(done, 'atomic operation')} on global memory; "
        f"{exercise.limits['atomics']:,} would be enough.",
        "There they compete with those of all other blocks. What can a thread, or the "
        "threads of a block, combine first, where no other block interferes?",
        [(line.place, f"{several(line.lanes, 'atomic operation')} on {line.array}")],
    )


def too_few_lanes(exercise: KernelExercise, line: Line) -> Verdict:
    verb = "stores to" if line.store else "loads from"
    lanes = f"{line.lanes_per_request:.3g}"
    return exercise.verdict(
        "divergence",
        f"When a warp {verb} {line.array} here, {lanes} of its 32 lanes take part, on "
        "average; the others wait to execute another line.",
        "Some lanes of the warp took another branch. What does the branch depend "
        "on, and is that the same for all 32 lanes?",
        [(line.place, f"{several(line.lanes_per_request, 'lane')} per request")],
    )


def too_narrow(exercise: KernelExercise, line: Line, width: float) -> Verdict:
    verb = "stores" if line.store else "loads"
    limit = exercise.limits["store_bytes" if line.store else "load_bytes"]
    each = several(line.bytes / line.lanes, "byte")
    return exercise.verdict(
        "narrow",
        f"A lane {verb} {several(width, 'byte')} at a time, on average; "
        f"{limit:.3g}{' or more' * (limit % 4 > 0)} are possible here.",
        "Each of these accesses is an instruction and a request of its own. Which of a "
        "thread's elements are next to each other, and which call moves four at once?",
        [(line.place, f"{each} per lane")],
    )


Hold = Callable[[KernelExercise, Trace, list[Line]], str]

# In the order in which they are checked. Widths come before loads, because wide loads
# are fewer. Each returns a fact, "" for nothing to report, or raises `Failed`.
HELD: dict[str, Hold] = {
    "sectors": sectors,
    "bank_conflicts": conflicts,
    "atomics": atomics,
    "lanes": lanes,
    "load_bytes": partial(width, "load_bytes"),
    "store_bytes": partial(width, "store_bytes"),
    "loads": partial(loads, "global"),
    "shared_loads": partial(loads, "shared"),
    "handed_over": handed_over,
    "unguarded_loads": unguarded_loads,
    "shared_bytes": shared_bytes,
    "peeks": peeks,
    "barriers": barriers,
    "flops": flops,
    "in_flight": in_flight,
}
