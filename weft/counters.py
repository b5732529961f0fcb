"""Count the costs of a trace: sectors, requests, bank conflicts, lanes, arithmetic.

The numbers are those that Nsight Compute reports for the same kernel, as long as the
compiler does what the source says. It may instead load once what the source loads
twice, or four neighbours together (results/agreement.nvidia-h200.json has both counts,
side by side). A *request* is one instruction executed by one warp. Global memory moves
in *sectors* of 32 bytes; shared memory has 32 *banks* of 4 bytes, and a request that
needs two words from one bank takes a second pass.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared
Memory and Memory Banks"; Nsight Compute, metrics `l1tex__t_sectors`,
`l1tex__t_requests` and `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`.
"""

from itertools import pairwise

import numpy as np

from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.costs import BANKS, PASS_BYTES, SECTOR, WORD
from weft.simulator.trace.counted import Counted
from weft.simulator.trace.lines import Line, Work
from weft.simulator.trace.notes import Block, Notes, Region, Spot
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.trace import ATOMIC, GLOBAL, READ, SHARED, Trace

__all__ = ["BANKS", "PASS_BYTES", "SECTOR", "WORD", "Line", "Work"]


def count(trace: Trace) -> list[Line]:
    """Count the requests of `trace`, one `Line` per instruction, in source order."""
    return counted(trace).lines


def work(trace: Trace) -> list[Work]:
    """Return the work of lines that access memory or compute, in source order."""
    return counted(trace).work


def total(trace: Trace) -> Work:
    """Return the work of the whole launch, as far as it was recorded."""
    return counted(trace).total


def counted(trace: Trace) -> Counted:
    return trace.counted if isinstance(trace, Recorded) else Counted(notes_of(trace))


def notes_of(trace: Trace) -> Notes:
    """Return the accesses of a trace as notes, as far as counting requires."""
    rows = np.flatnonzero(~_beside(trace))
    alike = (trace.site, trace.array, trace.operation, trace.size)
    order, _ = columns.order(
        *(key[rows] for key in (*alike, trace.block, trace.thread))
    )
    rows = rows[order]
    begins = columns.starts(*(key[rows] for key in alike))
    spots = [
        _spot(trace, one, number)
        for number, one in enumerate(np.split(rows, begins[1:]) if rows.size else [])
    ]
    of = np.repeat(np.arange(len(spots)), np.diff(begins, append=rows.size))
    unit = np.array([spot.unit for spot in spots] or [1])
    numbers = (trace.address[rows] // unit[of]).tolist()
    iterations = trace.iteration[rows].tolist() if trace.iterations else []
    block, thread = trace.block[rows], trace.thread[rows]
    cuts = columns.starts(of, block)
    threads = int(np.prod(trace.block_size))
    blocks: dict[int, Block] = {}
    pieces = pairwise([*cuts.tolist(), rows.size])
    where = zip(pieces, of[cuts].tolist(), block[cuts].tolist(), strict=True)
    for (begin, end), k, number in where:
        each = np.bincount(thread[begin:end], minlength=threads)
        ends = pairwise([begin, *(begin + np.cumsum(each)).tolist()])
        if number not in blocks:
            blocks[number] = Block(number, [None for _ in 2 * spots])
        noted = blocks[number]
        parts = [slice(*both) for both in ends]
        noted.lists[k] = [numbers[part] for part in parts]
        if iterations and any(iterations[begin:end]):
            spots[k].iterations = len(spots) + k
            noted.lists[len(spots) + k] = [iterations[part] for part in parts]
    regions = [
        Region(GLOBAL, 0, 0, name, dtype.kind)
        for name, dtype in zip(trace.arrays, trace.dtypes, strict=True)
    ]
    return Notes(
        *(trace.name, trace.grid_size, trace.block_size, spots, regions),
        *([1] * 2 * len(spots), [blocks[k] for k in sorted(blocks)], dict(trace.flops)),
    )


def _spot(trace: Trace, rows: Columns, number: int) -> Spot:
    """Return a spot for the accesses `rows`, which are all of the same kind."""
    row, address, size = rows[0], trace.address[rows], trace.size[rows]
    site, operation = int(trace.site[row]), int(trace.operation[row])
    kinds = (k for k in ("one", "known") if np.isin(rows, trace.atomics[k]).all())
    return Spot(
        *(trace.places[site], operation, int(trace.space[row]), int(trace.array[row])),
        unit=min(SECTOR, columns.unit(address, size)),
        size=int(size[0]),
        kinds=frozenset(kinds),
        list=number,
        site=site,
    )


def _beside(trace: Trace) -> Columns:
    """Return a mask of shared-memory accesses by the TMA or wgmma, not by a warp."""
    beside = np.isin(trace.of_views("number"), list(trace.bulk.apart))[trace.view]
    beside &= trace.space == SHARED
    beside[list(trace.bulk.copies)] = True
    return beside


def rows_of(trace: Trace, line: Line) -> Columns:
    """Return the rows of `trace` whose accesses `line` sums up."""
    space = SHARED if line.shared else GLOBAL
    name = np.array([array == line.array for array in trace.arrays])
    site = np.array([place == line.place for place in trace.places])
    mine = name[trace.array] & site[trace.site] & (trace.space == space)
    mine &= (trace.operation != READ) == line.store
    return np.flatnonzero(mine & ((trace.operation == ATOMIC) == line.atomic))
