"""Wording a loop that does not end: what it waits for, and whose line it is."""

import numpy as np

from weft.backend import python_function
from weft.checking.verdict import Verdict
from weft.kernels.exercise import Trial
from weft.places import axes, named
from weft.simulator import Fault
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import READ, WRITE, Trace


def awaited(trace: Trace, fault: Fault) -> str:
    """Say which element the thread of an endless loop reads again and again.

    And which thread stored to it last. '' if it does not do so.
    """
    if fault.kind != "endless-loop" or fault.thread is None or fault.block is None:
        return ""
    mine = trace.block == ranked(fault.block, trace.grid_size)
    mine &= trace.thread == ranked(fault.thread, trace.block_size)
    rows = np.flatnonzero(mine)
    row = polled(trace, rows)
    element = trace.element(row) if row is not None else ""
    if row is None or not element:
        return ""
    same = (trace.address == trace.address[row]) & (trace.space == trace.space[row])
    here = trace.places[trace.site[row]]
    polls = np.array(
        [(p.line, p.function) == (here.line, here.function) for p in trace.places]
    )
    stores = np.flatnonzero(same & (trace.operation != READ) & ~polls[trace.site])
    if not stores.size:
        if trace.blocks < trace.all_blocks:
            return f"It waits for `{element}` to change."
        return f"It waits for `{element}` to change, and no thread has stored to it."
    last = int(stores[-1])
    index = unranked(int(trace.thread[last]), trace.block_size)
    block = unranked(int(trace.block[last]), trace.grid_size)
    line = trace.places[trace.site[last]].line
    return (
        f"It waits for `{element}` to change. The last to store to it was thread "
        f"{named(index)} of block {named(block)}, on line {line}."
    )


def polled(trace: Trace, rows: Columns) -> int | None:
    """The last of a thread's accesses, if it reads again what it has just read."""
    if not rows.size:
        return None
    last = int(rows[-1])
    alike = rows[(trace.site[rows] == trace.site[last])]
    if alike.size < 2 or trace.operation[last] == WRITE:
        return None
    before = int(alike[-2])
    between = rows[(rows > before) & (rows < last)]
    same = trace.address[before] == trace.address[last]
    if not same or (trace.operation[between] == WRITE).any():
        return None
    return None if last in trace.atomics["one"] else last


def ranked(index: tuple[int, ...], size: tuple[int, int, int]) -> int:
    """The number of a thread in its block, or of a block in its grid."""
    x, y, z = (*index, 0, 0)[:3]
    return x + size[0] * (y + size[1] * z)


def unranked(rank: int, size: tuple[int, int, int]) -> tuple[int, ...]:
    x, y = size[:2]
    return axes((rank % x, rank // x % y, rank // (x * y)), size)


def own_line_first(trial: Trial, verdict: Verdict) -> Verdict:
    """Name the learner's own line first where the loop is in a function given."""
    function = python_function(trial.exercise.kernel)
    if verdict.kind != "endless-loop" or function is None or not verdict.places:
        return verdict
    file = function.__code__.co_filename
    loop, _ = verdict.places[0]
    own = next((p for p, _ in verdict.places if p.file == file), None)
    if loop.file == file or own is None:
        return verdict
    rest = [(p, note) for p, note in verdict.places[1:] if p != own]
    return verdict.but(
        places=[
            (own, f"never comes back from `{loop.function}`"),
            (loop, "the loop"),
            *rest,
        ]
    )
