"""One request of a line, looked at closely: what its lanes touch, and which clash."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weft.checking.verdict import Verdict
from weft.counters import BANKS, PASS_BYTES, SECTOR, WORD, Line, rows_of
from weft.places import named, unravel
from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.requests import grouped
from weft.simulator.trace.trace import Trace
from weft.wording import joined

LANES = 3  # of which a verdict says what they touch


@dataclass(frozen=True)
class Request:
    """What a warp does when it executes a line once.

    rows: its accesses in the trace, in the order of the lanes. time: how often the warp
    had executed the line before. cost: the sectors that it moves, or its passes. even:
    whether all requests of the line cost the same.
    """

    rows: Columns
    time: int
    cost: int
    even: bool


def worst(trace: Trace, line: Line) -> Request:
    """The request of a line that costs most, of equals the first."""
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
    """How many words the fullest bank has to give, for each request."""
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
    """Which lanes are served together: all, or those of a half or quarter warp."""
    lanes = np.clip(PASS_BYTES // trace.size[rows], 1, WARP)
    part: Columns = trace.thread[rows] % WARP // lanes
    return part


def clash(trace: Trace, request: Request) -> tuple[int, int, int, int] | None:
    """Two accesses of a request that need one bank at a time, and the words of both.

    None where no two of them need different words of a bank.
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
    """Name lanes: 'lanes 0 and 16', with their threads where a block is not a row."""
    lanes = f"lanes {joined(trace.thread[rows] % WARP)}"
    threads = [unravel(int(trace.thread[r]), trace.block_size) for r in rows]
    if len(threads[0]) == 1:
        return lanes
    return f"{lanes} (threads {joined(map(named, threads))})"


def touched(trace: Trace, request: Request, store: bool, shared: bool) -> str:
    """Say what the first lanes of a request touch: 'lanes 0 and 1 read …'.

    In shared memory, two lanes that meet in a bank are among them. '' where it is
    unclear.
    """
    rows, after = request.rows[:LANES], ""
    met = clash(trace, request) if shared else None
    if met is not None and met[1] not in rows:
        rows, after = np.array(met[:2]), f", both in bank {met[2] % BANKS}"
    elements = [trace.element(int(row)) for row in rows]
    if not all(elements) or len(rows) < 2:
        return ""
    verb = "write" if store else "read"
    lanes = joined(trace.thread[rows] % WARP)
    return f"lanes {lanes} {verb} {joined(f'`{e}`' for e in elements)}{after}"


def at(verdict: Verdict, trace: Trace, row: int) -> Verdict:
    """The verdict with the thread and the block that made an access."""
    return verdict.but(
        thread=unravel(int(trace.thread[row]), trace.block_size),
        block=unravel(int(trace.block[row]), trace.grid_size),
    )
