"""What a trace costs: sectors and requests, bank conflicts, lanes, bytes, arithmetic.

The numbers are those that Nsight Compute reports for the same kernel, as long as the
compiler does what the source says: it may load once what the source loads twice, or
four neighbours together (results/agreement.nvidia-h200.json has both, side by side).
A *request* is one instruction executed by one warp. Global memory moves in *sectors*
of 32 bytes; shared memory has 32 *banks* of 4 bytes, and a request that needs two
words of one bank takes a second pass.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared
Memory and Memory Banks"; Nsight Compute, metrics `l1tex__t_sectors`,
`l1tex__t_requests` and `l1tex__data_bank_conflicts_pipe_lsu_mem_shared`.
"""

from dataclasses import replace

import numpy as np

from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns, Flags
from weft.simulator.trace.lines import Line as Line
from weft.simulator.trace.lines import Work as Work
from weft.simulator.trace.recorded import Recorded
from weft.simulator.trace.requests import grouped
from weft.simulator.trace.trace import ATOMIC, GLOBAL, LOCAL, READ, SHARED, Trace

SECTOR = 32  # bytes
BANKS = 32
WORD = 4  # bytes of one bank
PASS_BYTES = 128  # what shared memory delivers in one pass


def count(trace: Trace) -> list[Line]:
    """Count the requests of `trace`, one `Line` per instruction, in source order."""
    if isinstance(trace, Recorded):
        return trace.counted.lines
    rows = np.flatnonzero((trace.space != LOCAL) & ~_beside(trace))
    if not rows.size:
        return []
    requests = Requests(trace, rows)
    lines = []
    for k, (site, array) in enumerate(requests.instructions):
        example = requests.example[k]
        shared = bool(trace.space[example] == SHARED)
        operation = int(trace.operation[example])
        lines.append(
            Line(
                trace.places[site],
                trace.arrays[array],
                shared,
                operation != READ,
                int(requests.count[k]),
                sectors=0 if shared else int(requests.sectors[k]),
                ideal=int((requests.passes if shared else requests.ideal)[k]),
                conflicts=int(requests.conflicts[k]) if shared else 0,
                lanes=int(requests.lanes[k]),
                bytes=int(requests.bytes[k]),
                divergent=int(requests.divergent[k]),
                atomic=operation == ATOMIC,
            )
        )
    return sorted(lines, key=lambda line: (line.place.line, line.store))


def _beside(trace: Trace) -> Columns:
    """Whether the TMA or wgmma accesses shared memory: no request of a warp does."""
    beside = np.isin(trace.of_views("number"), list(trace.bulk.apart))[trace.view]
    beside &= trace.space == SHARED
    beside[list(trace.bulk.copies)] = True
    return beside


def rows_of(trace: Trace, line: Line) -> Columns:
    """The accesses that a line of the counters is about."""
    space = SHARED if line.shared else GLOBAL
    name = np.array([array == line.array for array in trace.arrays])
    site = np.array([place == line.place for place in trace.places])
    mine = name[trace.array] & site[trace.site] & (trace.space == space)
    mine &= (trace.operation != READ) == line.store
    return np.flatnonzero(mine & ((trace.operation == ATOMIC) == line.atomic))


class Requests:
    """The accesses `rows` of a trace, grouped into requests.

    The lanes of a warp that execute an instruction for the same, k-th, time form one
    request. Attributes with one entry per instruction: `instructions` (site, array),
    `example` (one of its accesses), `count`, `lanes`, `bytes`, `divergent`, `sectors`,
    `ideal`, `passes`, `conflicts`; see `Line`.
    """

    def __init__(self, trace: Trace, rows: Columns) -> None:
        """Group the rows, and count what each request takes."""
        names = len(trace.arrays)
        kind = trace.site[rows] * names + trace.array[rows]
        present = np.flatnonzero(np.bincount(kind))
        self.instructions = [divmod(k, names) for k in present.tolist()]
        found = grouped(trace, rows, np.searchsorted(present, kind))
        rows, kind, self.request = found.rows, found.instruction, found.request

        self.address, self.size = trace.address[rows], trace.size[rows]
        self.lane = trace.thread[rows] % WARP
        self.loads = trace.operation[rows] == READ
        self._of = np.zeros(found.requests, np.int64)  # the kind of a request
        self._of[self.request] = kind
        self._kinds = present.size
        self.example = rows[columns.starts(kind)]
        self.count = np.bincount(self._of)
        self.lanes = np.bincount(kind)
        self.bytes = np.bincount(kind, self.size).astype(np.int64)
        self.divergent = self._divergent(trace, rows)
        shared = trace.space[rows] == SHARED
        self.turn = self._turns(trace, rows, kind)
        self.sectors, self.ideal = self._sectors(~shared)
        self.passes, self.conflicts = self._passes(shared)

    def _divergent(self, trace: Trace, rows: Columns) -> Columns:
        """In how many requests not every thread of the warp takes part."""
        active = np.bincount(self.request)
        living = np.zeros(self._of.size, np.int64)
        threads = int(np.prod(trace.block_size))
        living[self.request] = np.minimum(WARP, threads - trace.warp[rows] * WARP)
        return self._sum(active < living)

    def _sum(self, per_request: Columns | Flags) -> Columns:
        """Add up over the requests of each instruction."""
        return np.bincount(self._of, per_request, self._kinds).astype(np.int64)

    def _turns(self, trace: Trace, rows: Columns, kind: Columns) -> Columns:
        """How many lanes of its request an access has to wait for.

        That is 0 except for atomic operations, where lanes with the same address take
        turns. There are two exceptions. The hardware adds up the ones that lanes add to
        a word of shared memory. And where all threads change the same element, whose
        index does not depend on data, the compiler reduces their values first and has
        one lane add the result.
        """
        atomic = np.flatnonzero(trace.operation[rows] == ATOMIC)
        turn = np.zeros(rows.size, np.int64)
        if not atomic.size:
            return turn
        rows = rows[atomic]
        shared = trace.space[rows] == SHARED
        whole = np.array([d.kind in "iu" for d in trace.dtypes])[trace.array[rows]]
        one = np.isin(rows, trace.atomics["one"])
        known = np.isin(rows, trace.atomics["known"]) & whole
        kinds, each = np.unique(kind[atomic], return_inverse=True)
        for k in range(kinds.size):
            mine = np.flatnonzero(each == k)
            same = not np.ptp(trace.address[rows[mine]])
            if one[mine].all() if shared[mine[0]] else same and known[mine].all():
                continue
            at = atomic[mine]
            order, new = columns.order(self.request[at], self.address[at])
            position = np.arange(order.size)
            first = np.maximum.accumulate(np.where(new, position, 0))
            turn[at[order]] = position - first
        return turn

    def _sectors(self, chosen: Flags) -> tuple[Columns, Columns]:
        """How many 32-byte sectors are moved, and how few would have sufficed."""
        request, address, size = self._of_chosen(chosen)
        unit = min(SECTOR, columns.unit(address, size))
        piece, row = columns.spread(address // unit, (address + size) // unit)
        turn = request * WARP + self.turn[chosen]
        turn, piece = columns.distinct(turn[row], piece)
        moved = turn[columns.starts(turn, piece * unit // SECTOR)] // WARP
        moved = np.bincount(moved, minlength=self._of.size)
        asked = turn[turn % WARP == 0] // WARP
        useful = np.bincount(asked, minlength=self._of.size) * unit
        return self._sum(moved), self._sum(-(-useful // SECTOR))

    def _passes(self, chosen: Flags) -> tuple[Columns, Columns]:
        """The fewest passes possible, and how many are taken beyond those.

        A pass serves at most 128 bytes, so lanes with 8 bytes go by halves of a warp
        and lanes with 16 by quarters; lanes that need the same word share it, unless
        they take turns. A load takes two such parts together where `_share` says so.
        """
        request, address, size = self._of_chosen(chosen)
        if not request.size:
            return np.zeros(self._kinds, np.int64), np.zeros(self._kinds, np.int64)
        part = request * WARP
        if size.max() > WORD:
            lanes = np.clip(PASS_BYTES // size, 1, WARP)
            lanes <<= self._share(request, address, chosen)
            part += self.lane[chosen] // lanes
        fewest = np.bincount(columns.distinct(part)[0] // WARP, minlength=self._of.size)
        word, row = columns.spread(address // WORD, (address + size - 1) // WORD + 1)
        bank = part[row] * BANKS + word % BANKS
        bank, _ = columns.distinct(bank, word // BANKS * WARP + self.turn[chosen][row])
        # The fullest bank decides how many passes a part of a request takes.
        first = columns.starts(bank)
        words = np.diff(first, append=bank.size)
        part = bank[first] // BANKS
        first = columns.starts(part)
        passes = np.maximum.reduceat(words, first)
        extra = np.bincount(part[first] // WARP, passes - 1, self._of.size)
        return self._sum(fewest), self._sum(extra)

    def _of_chosen(self, chosen: Flags) -> tuple[Columns, Columns, Columns]:
        return self.request[chosen], self.address[chosen], self.size[chosen]

    def _share(self, request: Columns, address: Columns, chosen: Flags) -> Flags:
        """Which accesses belong to a load whose neighbouring lanes need the same.

        That is: of every two lanes k and k ^ 1 that take part, or of every k and k ^ 2.
        """
        wanted = np.full(self._of.size * WARP, -1, np.int64)
        at = request * WARP + self.lane[chosen]
        wanted[at] = address
        wide = (self.size[chosen] > WORD) & self.loads[chosen]
        share = np.zeros(request.size, bool)
        for step in (1, 2):
            other = wanted[at ^ step]
            differ = request[(other >= 0) & (other != address)]
            apart = np.bincount(differ, minlength=self._of.size)
            share |= wide & (apart[request] == 0)
        return share


def work(trace: Trace) -> list[Work]:
    """What each line does that touches memory or computes, in source order."""
    if isinstance(trace, Recorded):
        return trace.counted.work
    places = [replace(p, expression="") for p in trace.places]
    lines = list(dict.fromkeys([*places, *trace.flops]))
    number = {line: k for k, line in enumerate(lines)}
    line = np.array([number[p] for p in places] or [0], np.int64)[trace.site]

    def bytes_of(space: int) -> Columns:
        mine = trace.space == space
        found = np.bincount(line[mine], trace.size[mine], len(lines))
        return found.astype(np.int64)

    requested, shared, local = map(bytes_of, (GLOBAL, SHARED, LOCAL))
    sectors = np.zeros(len(lines), np.int64)
    for one in count(trace):
        sectors[number[replace(one.place, expression="")]] += one.sectors
    touched, _ = _sectors_touched(trace, line)
    found = [
        Work(
            place,
            int(requested[k]),
            int(sectors[k]) * SECTOR,
            int((touched == k).sum()) * SECTOR,
            int(shared[k]),
            int(local[k]),
            trace.flops.get(place, 0),
        )
        for k, place in enumerate(lines)
    ]
    return sorted(found, key=lambda w: w.place.line if w.place else 0)


def total(trace: Trace) -> Work:
    """What the whole launch does, as far as it was written down."""
    if isinstance(trace, Recorded):
        return trace.counted.total
    lines = work(trace)
    _, sector = _sectors_touched(trace, np.zeros(len(trace), np.int64))
    return Work(
        None,
        sum(w.requested for w in lines),
        sum(w.moved for w in lines),
        sector.size * SECTOR,
        sum(w.shared for w in lines),
        sum(w.local for w in lines),
        sum(w.flops for w in lines),
    )


def _sectors_touched(trace: Trace, key: Columns) -> tuple[Columns, Columns]:
    """The distinct sectors of global memory, for each value of `key`."""
    mine = trace.space == GLOBAL
    address, size = trace.address[mine], trace.size[mine]
    sector, row = columns.spread(address // SECTOR, (address + size - 1) // SECTOR + 1)
    found, sector = columns.distinct(key[mine][row], sector)
    return found, sector
