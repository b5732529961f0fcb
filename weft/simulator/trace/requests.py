"""Accesses of a trace, grouped into requests."""

from dataclasses import dataclass

import numpy as np

from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import Trace


@dataclass(frozen=True)
class Grouped:
    """Accesses, grouped by request: one execution of an instruction by a warp.

    Columns with one entry per access, in order of instruction and thread: its row in
    the trace, its instruction as given to `grouped`, how many times its warp had
    executed that instruction before, and the number of its request. Requests are
    numbered from 0, ordered by instruction, then by warp, then by time; `requests` is
    how many there are.
    """

    rows: Columns
    instruction: Columns
    time: Columns
    request: Columns
    requests: int


def grouped(trace: Trace, rows: Columns, instruction: Columns) -> Grouped:
    """Group the accesses `rows` into requests. instruction: each access's instruction.

    The lanes of a warp that execute an instruction for the k-th time in the same
    iteration form one request. Where lanes are in step, all executions count as the
    same iteration.
    """
    thread = columns.dense(trace.of_views("number"))[trace.view[rows]]
    order, new = columns.order(instruction, thread, trace.iteration[rows])
    rows, instruction = rows[order], instruction[order]
    position = np.arange(rows.size)
    again = position - np.maximum.accumulate(np.where(new, position, 0))
    warp = trace.block[rows] * WARP + trace.warp[rows]
    together, first = columns.order(instruction, warp, trace.iteration[rows], again)
    request = np.empty(rows.size, np.int64)
    request[together] = np.cumsum(first) - 1
    first = columns.starts(instruction, warp)
    before = np.minimum.reduceat(request, first)
    time = request - np.repeat(before, np.diff(first, append=rows.size))
    return Grouped(rows, instruction, time, request, int(request.max(initial=-1)) + 1)
