"""The steps that led to a kernel's fault: which threads accessed what, and when.

The launch runs once more to see what memory held at each step. Only a failed launch
runs again, so a check that passes costs nothing more.
"""

from itertools import chain

import numpy as np

from weft.checking.history import Step
from weft.checking.source import parameter_names
from weft.checking.verdict import Failed, Verdict
from weft.kernels.advice import Facts
from weft.kernels.origins import touching
from weft.kernels.trial import Trial
from weft.places import Place, named, unravel
from weft.simulator.launch import values
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.trace import READ, WRITE, Trace
from weft.simulator.trace.traced_run import ValuedRun
from weft.wording import several

MOST = 40  # the most steps of a history
LED = 4  # accesses of the same thread shown before each access of the fault
LONGEST = 500_000  # the most accesses of a launch that is run again
NOTHING = "nothing yet"
NONE = (None, None)  # for a row at which the run has not looked


def add_steps(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Add to a verdict the steps that led to the fault."""
    find = FOUND_BY.get(verdict.kind)
    if find is None or facts.trace is None or trial.exercise.checks_launch:
        return verdict
    trace = facts.trace
    if isinstance(trace, Recorded):
        try:
            trace = trace.full
        except Failed:  # its launch, run again, ends at the same race
            return verdict
    if not 0 < len(trace) <= LONGEST:
        return verdict
    steps = find(trial, facts.backwards, trace, verdict)
    return verdict.but(past=steps) if len(steps) > 1 else verdict


def of_element(
    trial: Trial, backwards: bool, trace: Trace, verdict: Verdict
) -> list[Step]:
    """Return the steps that led to a race on an element, or to its wrong value."""
    rows = [row for row in verdict.rows if row < len(trace)]
    lines = {(place.function, place.line) for place, _ in verdict.places}
    if all(line_of(trace, row) not in lines for row in rows):
        return []
    start = int(trace.address[rows].max())
    mine = np.flatnonzero(touching(trace, rows[0], start))
    rows = [row for row in rows if row in mine]
    if not rows or (len(rows) == 1 and is_wide(trace, rows[0])):
        return []  # nothing says which of its elements is meant
    mine = mine[mine <= max(rows)]
    ours = {who(trace, row) for row in rows}
    telling = [
        row
        for row in mine.tolist()
        if trace.operation[row] != READ or who(trace, row) in ours
    ]  # what other threads read explains nothing
    ways = [before(trace, row, LED) for row in rows]
    chosen = nearest(rows, telling, chain(*ways))
    told = Telling(trial, backwards, trace, chosen, mine, start)
    told.left_out = sorted({*telling} - {*chosen})
    return told.steps()


def up_to(trial: Trial, backwards: bool, trace: Trace, verdict: Verdict) -> list[Step]:
    """Return a thread's steps to an invalid index, and other threads' on that line."""
    thread, block = verdict.thread, verdict.block
    if not verdict.places or thread is None or block is None:
        return []
    place = verdict.places[0][0]
    own = trace.thread == rank(thread, trace.block_size)
    own &= trace.block == rank(block, trace.grid_size)
    here = [(p.function, p.line) == (place.function, place.line) for p in trace.places]
    others = np.flatnonzero(np.array(here)[trace.site] & ~own)
    chosen = sorted({*last(np.flatnonzero(own), 2 * LED), *last(others, LED)})
    told = Telling(trial, backwards, trace, chosen)
    end = len(trace) - 1  # a read is recorded before memory is looked at
    told.chosen = [row for row in chosen if row < end or told.is_inside(row)]
    return [
        *told.steps(),
        Step(place, told.named(thread, block), "goes outside the array"),
    ]


def at_barriers(
    trial: Trial, backwards: bool, trace: Trace, verdict: Verdict
) -> list[Step]:
    """Return the steps of two threads that wait for each other at two barriers."""
    if verdict.thread is None or verdict.block is None:
        return []
    block = rank(verdict.block, trace.grid_size)
    one = rank(verdict.thread, trace.block_size)
    run = run_again(trial, backwards, {len(trace): 0})  # to the end of the launch
    waiting = run.waiting(block) if run else {}
    others = [n for n in sorted(waiting) if waiting[n][0] != waiting.get(one, [0])[0]]
    if one not in waiting or not others:
        return []
    both, here = (one, others[0]), trace.block == block
    rows = {
        row
        for number in both
        for row in last(np.flatnonzero(here & (trace.thread == number)), LED)
    }
    told = Telling(trial, backwards, trace, sorted(rows))
    ends = [
        Step(
            waiting[number][1],
            told.named(unravel(number, trace.block_size), verdict.block),
            "waits at the barrier",
        )
        for number in both
    ]
    return [*told.steps(), *ends]


FOUND_BY = {
    "race": of_element,
    "uninitialised": of_element,
    "wrong-value": of_element,
    "out-of-bounds": up_to,
    "negative-index": up_to,
    "barrier": at_barriers,
}


def line_of(trace: Trace, row: int) -> tuple[str, int]:
    place = trace.places[trace.site[row]]
    return place.function, place.line


def is_wide(trace: Trace, row: int) -> bool:
    """Return whether an access touches several elements at once."""
    return bool(trace.size[row] > trace.dtypes[trace.array[row]].itemsize)


def who(trace: Trace, row: int) -> tuple[int, int]:
    """Return the ranks of the block and the thread that made an access."""
    return int(trace.block[row]), int(trace.thread[row])


def rank(index: tuple[int, ...], size: tuple[int, int, int]) -> int:
    """Return the rank of a thread in its block, or of a block in its grid."""
    x, y, z = (*index, 0, 0)[:3]
    return int(x + size[0] * (y + size[1] * z))


def last(rows: Columns, most: int) -> list[int]:
    return [int(row) for row in rows[-most:]]


def before(trace: Trace, row: int, most: int) -> list[int]:
    """Return the rows of up to `most` accesses just before `row` by the same thread."""
    same = trace.thread[:row] == trace.thread[row]
    same &= trace.block[:row] == trace.block[row]
    return last(np.flatnonzero(same), most)


def nearest(rows: list[int], mine: list[int], others: chain[int]) -> list[int]:
    """Return at most MOST rows, in order: the fault's, and those nearest to them.

    rows: those of the fault. mine: accesses to the fault's element, preferred to
    `others`.
    """

    def far(row: int) -> int:
        return min(abs(row - one) for one in rows)

    ordered = [*rows, *sorted(mine, key=far), *sorted(others, key=far)]
    return sorted(list(dict.fromkeys(ordered))[:MOST])


class Telling:
    """A launch that is run again, and its steps in words.

    chosen: the rows to report. mine: all accesses to the element in question, which is
    at the address `start`. left_out: rows omitted from the report.
    """

    def __init__(
        self,
        trial: Trial,
        backwards: bool,
        trace: Trace,
        chosen: list[int],
        mine: Columns | None = None,
        start: int = 0,
    ) -> None:
        self.trial, self.trace, self.chosen = trial, trace, chosen
        self.mine = [] if mine is None else mine.tolist()
        self.start = start
        self.left_out: list[int] = []
        elements = set(self.mine)
        lately = (self.previous(row) for row in chosen)
        wanted = {row: int(trace.address[row]) for row in chosen}
        wanted |= {row: start for row in chosen if row in elements}
        wanted |= {row: start for row in lately if row is not None}
        self.run = run_again(trial, backwards, wanted)

    def previous(self, row: int) -> int | None:
        """Return the row of the element's last access before `row`, or None."""
        at = int(np.searchsorted(np.array(self.mine, np.int64), row))
        return self.mine[at - 1] if at else None

    def is_inside(self, row: int) -> bool:
        """Return whether the access at a row is inside its array."""
        return self.run is not None and self.run.values.get(row, NONE) != NONE

    def steps(self) -> list[Step]:
        """Return the chosen accesses, and barriers where threads met, as steps."""
        if self.run is None or not self.chosen:
            return []
        first, end = self.chosen[0], self.chosen[-1]
        threads = {who(self.trace, row) for row in self.chosen}
        found = [(row, 1, self.step(row)) for row in self.chosen]
        met = [
            (row, 0, self.barrier(row, came, place))
            for row, came, place in self.run.meetings
            if first < row <= end and came & threads
        ]
        found += met[max(0, len(met) + len(found) - MOST) :]
        return [step for _, _, step in sorted(found, key=lambda f: f[:2])]

    def named(self, thread: tuple[int, ...], block: tuple[int, ...]) -> str:
        """Name a thread, and its block if there are several."""
        of = f" of block {named(block)}" * (self.trace.all_blocks > 1)
        return f"thread {named(thread)}{of}"

    def step(self, row: int) -> Step:
        """Return one access as a step, noting how many were left out before it."""
        trace = self.trace
        name = f"`{self.name(row)}`"
        operation, value = trace.operation[row], self.value(row)
        if row in trace.atomics["begun"]:
            did = f"starts a copy into {name}"
        elif operation == READ:
            did = f"reads {name}: {value}" if value else f"reads {name}"
        elif operation == WRITE:
            did = f"writes {value} to {name}" if value else f"writes to {name}"
        else:
            did = f"changes {name} atomically"
        if skipped := [at for at in self.left_out if at < row]:
            self.left_out = self.left_out[len(skipped) :]
            did += f", after {several(len(skipped), 'access')} not shown"
        place = trace.places[trace.site[row]]
        return Step(place, self.named(*trace.by(row)), did, self.element(row, True))

    def barrier(self, row: int, came: frozenset[tuple[int, int]], place: Place) -> Step:
        """Return the step at which threads met at a barrier."""
        blocks = {block for block, _ in came}
        size = int(np.prod(self.trace.block_size)) * len(blocks)
        some = f"{len(came):,} of {size:,}" if len(came) < size else f"all {size:,}"
        of = "the grid"
        if len(blocks) == 1:
            of = f"block {named(unravel(min(blocks), self.trace.grid_size))}"
        who_met = f"{some} threads of {of}"
        return Step(place, who_met, "meet at the barrier", self.element(row, False))

    def name(self, row: int) -> str:
        array = self.trace.arrays[self.trace.array[row]]
        return self.trace.element(row) or f"{array}[…]"

    def element(self, row: int, after: bool) -> str:
        """Describe what the element holds before `row` and, if `after`, after it."""
        if not self.mine:
            return ""
        held = self.before(row)
        now = self.value(row) if after and row in self.mine else held
        name = self.name(self.mine[0])
        if not now or not held:
            return f"`{name}`: {now or held}" if now or held else ""
        if now == held:
            return f"`{name}` before and after: {now}"
        return f"`{name}`: {held} → {now}"

    def before(self, row: int) -> str:
        """Return what the element in question holds before a row; '' if unknown."""
        previous = self.previous(row)
        if previous is not None:
            return self.value(previous)
        trace, first = self.trace, self.mine[0]
        array = int(trace.array[first])
        if trace.fresh[array]:
            return NOTHING
        name = trace.arrays[array]
        given = (*self.trial.case.inputs, *self.trial.fresh())
        names = parameter_names(self.trial.exercise.kernel)
        found = dict(zip(names, given, strict=False)).get(name)
        if found is None or name not in trace.bases:
            return ""
        at = (self.start - trace.bases[name]) // trace.dtypes[array].itemsize
        return shown(np.asarray(found).reshape(-1)[at].item())

    def value(self, row: int) -> str:
        """Describe the value that access `row` read or left behind.

        Returns '' if the value was not recorded.
        """
        if self.run is None:
            return ""
        trace = self.trace
        noted, left = self.run.values.get(row, NONE)
        if trace.operation[row] != WRITE and trace.fresh[int(trace.array[row])]:
            same = touching(trace, row, int(trace.address[row]))[:row]
            if not (same & (trace.operation[:row] != READ)).any():
                return NOTHING if trace.operation[row] == READ else "unknown"
        at_once = trace.operation[row] in (READ, WRITE) and not is_wide(trace, row)
        return shown(noted if at_once else left)


def run_again(
    trial: Trial, backwards: bool, wanted: dict[int, int]
) -> ValuedRun | None:
    """Run a trial again, and record the values held in memory at some rows.

    wanted: row of the trace → the address whose value is recorded there. Returns None
    if the launch is refused.
    """
    inputs = trial.case.inputs
    return values(
        trial.exercise.kernel,
        trial.config,
        (*inputs, *trial.fresh()),
        wanted,
        readonly=frozenset(range(len(inputs))),
        backwards=backwards,
    )


def shown(value: object) -> str:
    """Format a number; '' for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "NaN" if value != value else f"{value:.6g}"
    return str(value)
