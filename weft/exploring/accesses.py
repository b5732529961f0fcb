"""Convert a trace to the state of the figure `trace`: lines and requests."""

import inspect
import textwrap
from itertools import pairwise
from typing import Any

import numpy as np

from weft.counters import Line, count, rows_of
from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.requests import grouped
from weft.simulator.trace.trace import Trace

MOST_SHOWN = 64  # requests shown per access; all of them are counted


def state_of(trace: Trace, function: Any) -> dict[str, Any]:
    """Return the state in which the figure named `trace` shows a launch.

    trace, function: the trace of the launch, and the Python function of its kernel.
    """
    accesses = [_access(trace, line) for line in count(trace)]
    return {
        "kernel": trace.name,
        "code": _code(function, [a["line"] for a in accesses]),
        "accesses": accesses,
        "chosen": _first(accesses),
        "request": 0,
    }


def _first(accesses: list[dict[str, Any]]) -> int:
    """Return the index of the access with the largest excess cost, to show first."""
    over = [a["requests"] * (a["per"] - a["ideal"]) for a in accesses]
    return over.index(max(over)) if over else 0


def _access(trace: Trace, line: Line) -> dict[str, Any]:
    rows = rows_of(trace, line)
    spent = line.ideal + line.conflicts if line.shared else line.sectors
    return {
        "line": line.place.line,
        "array": line.array,
        "store": line.store,
        "shared": line.shared,
        "size": int(trace.size[rows].max()),
        "requests": line.requests,
        "per": spent / line.requests,
        "ideal": line.ideal / line.requests,
        "shown": _requests(trace, rows, 0 if line.shared else _base(trace, line)),
    }


def _base(trace: Trace, line: Line) -> int:
    return trace.bases.get(line.array, 0)


def _requests(trace: Trace, rows: Columns, base: int) -> list[dict[str, Any]]:
    """Return the first requests of the accesses `rows`, at most MOST_SHOWN.

    base: the address that is subtracted from all addresses.
    """
    found = grouped(trace, rows, np.zeros_like(rows))
    order = np.lexsort((trace.thread[found.rows], found.request))
    rows, request, time = (c[order] for c in (found.rows, found.request, found.time))
    thread, block = trace.thread[rows], trace.block[rows]
    ends = np.append(columns.starts(request), rows.size)[: MOST_SHOWN + 1]
    return [
        {
            "block": int(block[a]),
            "warp": int(thread[a]) // WARP,
            "time": int(time[a]),
            "lanes": (thread[a:b] % WARP).tolist(),
            "addresses": (trace.address[rows[a:b]] - base).tolist(),
        }
        for a, b in pairwise(ends.tolist())
    ]


def _code(function: Any, lines: list[int]) -> list[tuple[int, str]]:
    """Return the kernel's lines of code with their numbers.

    If there is no source, returns the numbers in `lines`, each with an empty text.
    """
    try:
        source, start = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return [(line, "") for line in sorted(set(lines))]
    text = textwrap.dedent("".join(source)).rstrip().splitlines()
    return [(start + i, line) for i, line in enumerate(text)]
