"""The line on which a wrong NaN arises, found by running the launch once more.

A NaN that reaches an output has often arisen much earlier, on another line and in
another thread. The launch runs again while Python reports each line that one thread
runs. That thread's first NaN counts if the thread still holds one at the end. If the
thread read the NaN from memory, the search goes on with the thread that stored it
there.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from weft.kernels.origins import last_put
from weft.kernels.trial import Trial
from weft.places import Note, Place
from weft.simulator import Fault
from weft.simulator.launch import simulate, values
from weft.simulator.trace.trace import READ, WRITE, Trace
from weft.simulator.trace.traced_run import CalledRun
from weft.wording import joined

LONGEST = 100_000  # the most accesses of a launch that is run again
EXCHANGE = "shfl"  # an operation that gives a thread another's NaN
HOPS = 4  # the most threads to follow a NaN back through
Who = tuple[int, int]  # a block and a thread in it, by rank
MAKES_NAN = (
    "NaN comes from inf - inf, inf / inf, 0 / 0, 0 · inf, or the square root or the "
    "logarithm of a negative number."
)


@dataclass(frozen=True)
class Born:
    """Where a thread gets its first NaN: the place, the name, and other names' values.

    name: "" if the value is stored at once, without a name. others: the floating-point
    values that other names on the line held before the line ran.
    """

    place: Place
    name: str = ""
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def is_exchanged(self) -> bool:
        """Whether the value may come from another lane."""
        return EXCHANGE in self.place.text

    def sentence(self, who: str) -> str:
        held = [f"`{name}` was {x:.6g}" for name, x in self.others.items()]
        before = f" Before, {joined(held)}." if held else ""
        what = f"`{self.name}`" if self.name else "the value"
        line = f"on line {self.place.line}"
        return f"In {who}, {what} becomes NaN {line}.{before} {MAKES_NAN}"


def first_nan(trial: Trial, trace: Trace, row: int) -> tuple[str, list[Note]]:
    """Find the line on which the NaN stored at `row` arises.

    Returns a sentence and a note on that line; "" and [] if the launch is too long, if
    the NaN comes from an input or through too many threads, or if atomic operations
    have summed the value.
    """
    if not 0 < len(trace) <= LONGEST:
        return "", []
    for _ in range(HOPS):
        if trace.operation[row] != WRITE:  # a sum, to which others have added
            return "", []
        mine = (trace.block == trace.block[row]) & (trace.thread == trace.thread[row])
        loads = np.flatnonzero(mine[:row] & (trace.operation[:row] == READ))
        got = first_read(trial, trace, loads)
        if got is None:
            return born_in(trial, trace, row)
        put = last_put(trace, got, int(trace.address[got]))
        if put is None:
            return "", []
        row = put
    return "", []


def first_read(trial: Trial, trace: Trace, rows: Any) -> int | None:
    """Return the row of the first read among `rows` that returned NaN, or None."""
    if not len(rows):
        return None
    kernel, given = trial.exercise.kernel, (*trial.case.inputs, *trial.fresh())
    wanted = {int(row): int(trace.address[row]) for row in rows}
    run = values(kernel, trial.config, given, wanted)
    read = run.values if run is not None else {}
    return next((row for row in sorted(read) if is_nan(read[row][0])), None)


def born_in(trial: Trial, trace: Trace, row: int) -> tuple[str, list[Note]]:
    """Describe where the thread of the store at `row` gets its first NaN.

    Returns a sentence and a note on the line; "" and [] if that is unclear.
    """
    watch = watched(trial, trace, row)
    if watch is None:
        return "", []
    # stored as soon as it arises
    born = watch.born or Born(trace.places[trace.site[row]])
    known = watch.born is None or watch.ends_with_nan
    if not known or trial.exercise.elsewhere(born.place) or born.is_exchanged:
        return "", []
    note = f"{born.name or 'its value'} becomes NaN here"
    who = trace.thread_at(row, with_block=trace.all_blocks > 1)
    return born.sentence(who), [(born.place, note)]


def watched(trial: Trial, trace: Trace, row: int) -> "Watch | None":
    """Run a trial again up to the access at `row`, and watch the thread that makes it.

    Returns None if the run does not reach the access.
    """
    runs: list[CalledRun] = []

    def make(*how: Any) -> CalledRun:
        runs.append(CalledRun(frozenset([row]), *how))
        return runs[0]

    watch = Watch(runs, (int(trace.block[row]), int(trace.thread[row])))
    given = (*trial.case.inputs, *trial.fresh())
    with suppress(Fault), watch.on():
        simulate(trial.exercise.kernel, trial.config, given, make_run=make)
    return watch if runs and runs[0].calls else None


class Watch:
    """Follows the lines that one thread of a launch runs."""

    def __init__(self, runs: list[CalledRun], who: Who) -> None:
        self.runs, self.who = runs, who
        self.born: Born | None = None
        self._held: dict[FrameType, tuple[int, dict[str, Any]]] = {}

    @property
    def ends_with_nan(self) -> bool:
        """Whether one of the thread's variables is NaN at the end."""
        return any(is_nan(x) for _, now in self._held.values() for x in now.values())

    @contextmanager
    def on(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Trace the watched thread's frames in the kernel and in functions it calls."""
        if not self.runs or frame.f_code not in self.runs[0].lines:
            return None
        thread = self.runs[0].current
        if thread is None or (thread.block.number, thread.number) != self.who:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Record the variables after a line, and the first of them to become NaN."""
        now = {k: v for k, v in frame.f_locals.items() if isinstance(v, int | float)}
        line, before = self._held.get(frame, (0, {}))
        fresh = [k for k, v in now.items() if is_nan(v) and not is_nan(before.get(k))]
        if fresh and line and self.born is None:
            self.born = self._from(frame.f_code, line, fresh, before)
        self._held[frame] = frame.f_lineno, now
        return self._line

    def _from(
        self, code: CodeType, line: int, fresh: list[str], before: dict[str, Any]
    ) -> Born:
        own = [name for name in fresh if not name.startswith("__")]
        text = self.runs[0].lines[code].get(line, "")
        place = Place(code.co_name, line, text.strip(), file=code.co_filename)
        used = dict.fromkeys(re.findall(r"[^\W\d]\w*", text))
        others = {k: before[k] for k in used if isinstance(before.get(k), float)}
        return Born(place, own[0] if own else "", others)


def is_nan(value: Any) -> bool:
    return bool(value is not None and value != value)
