"""What a trace costs: sectors and requests, bank conflicts, per source line.

The numbers are those that Nsight Compute reports for the same kernel. A *request* is
one instruction executed by one warp. Global memory moves in *sectors* of 32 bytes;
shared memory has 32 *banks* of 4 bytes, and a request that needs two words of one
bank takes a second pass.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared
Memory and Memory Banks"; Nsight Compute, metrics `l1tex__t_sectors`,
`l1tex__t_requests` and `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`.
"""

from dataclasses import dataclass

import numpy as np

from weft.simulator.faults import Place
from weft.simulator.trace import LOCAL, READ, SHARED, Columns, Trace

SECTOR = 32  # bytes
BANKS = 32
WORD = 4  # bytes of one bank
PASS_BYTES = 128  # what shared memory delivers in one pass


@dataclass(frozen=True)
class Line:
    """The requests of one instruction of the kernel.

    `array` is the array's name in the kernel, `store` whether it writes. For global
    memory `sectors` counts those moved and `ideal` those that would have sufficed;
    for shared memory `ideal` is the fewest passes possible and `conflicts` counts those
    beyond.
    """

    place: Place
    array: str
    shared: bool
    store: bool
    requests: int
    sectors: int = 0
    ideal: int = 0
    conflicts: int = 0

    @property
    def per_request(self) -> float:
        """Sectors (global) or conflicts (shared) per request."""
        return (self.conflicts if self.shared else self.sectors) / self.requests


def count(trace: Trace) -> list[Line]:
    """Count the requests of `trace`, one `Line` an instruction, in source order."""
    lines = []
    for site in range(len(trace.places)):
        rows = np.flatnonzero((trace.site == site) & (trace.space != LOCAL))
        if not rows.size:
            continue
        shared = bool(trace.space[rows[0]] == SHARED)
        groups = requests(trace, rows)
        place, name = trace.places[site], trace.arrays[trace.array[rows[0]]]
        store = bool(trace.operation[rows[0]] != READ)
        if shared:
            extra = sum(conflicts(trace.address[g], trace.size[g]) for g in groups)
            ideal = sum(fewest_passes(trace.size[g]) for g in groups)
            lines.append(
                Line(
                    place, name, True, store, len(groups), ideal=ideal, conflicts=extra
                )
            )
        else:
            moved = sum(sectors(trace.address[g], trace.size[g]) for g in groups)
            ideal = sum(-(-int(trace.size[g].sum()) // SECTOR) for g in groups)
            lines.append(Line(place, name, False, store, len(groups), moved, ideal))
    return sorted(lines, key=lambda line: (line.place.line, line.store))


def requests(trace: Trace, rows: Columns) -> list[Columns]:
    """Group the accesses of one instruction into requests.

    The lanes of a warp that execute it for the same, k-th, time form one request.
    """
    warp = trace.block[rows] * 32 + trace.warp[rows]
    thread = trace.block[rows] * 1024 + trace.thread[rows]
    order = np.argsort(thread, kind="stable")
    counts = np.unique(thread[order], return_counts=True)[1]
    times = np.empty(rows.size, np.int64)
    times[order] = np.concatenate([np.arange(c) for c in counts])
    order = np.lexsort((thread, times, warp))
    key = np.stack([warp[order], times[order]])
    starts = np.flatnonzero(np.any(np.diff(key, axis=1) != 0, axis=0)) + 1
    return np.split(rows[order], starts)


def sectors(address: Columns, size: Columns) -> int:
    """How many 32-byte sectors one request touches."""
    first, last = address // SECTOR, (address + size - 1) // SECTOR
    if (first == last).all():
        return int(np.unique(first).size)
    touched = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
    return int(np.unique(np.concatenate(touched)).size)


def conflicts(address: Columns, size: Columns) -> int:
    """How many passes beyond the fewest possible one shared request takes.

    A pass serves at most 128 bytes, so lanes with 8 bytes go by halves of a warp and
    lanes with 16 by quarters; lanes that want the same word share it.
    """
    lanes = lanes_per_pass(size)
    extra = 0
    for start in range(0, address.size, lanes):
        part = slice(start, start + lanes)
        words = np.unique(
            np.concatenate(
                [
                    np.arange(a // WORD, (a + s - 1) // WORD + 1)
                    for a, s in zip(address[part], size[part], strict=True)
                ]
            )
        )
        extra += int(np.bincount(words % BANKS).max()) - 1
    return extra


def fewest_passes(size: Columns) -> int:
    """How many passes one shared request takes if no two lanes are in conflict."""
    return -(-size.size // lanes_per_pass(size))


def lanes_per_pass(size: Columns) -> int:
    """How many lanes a pass can serve, each with its `size` in bytes."""
    return min(32, max(1, PASS_BYTES // int(size.max())))
