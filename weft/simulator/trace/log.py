"""The accesses of a traced launch, as they are recorded: four integers each.

That is the fastest form. From time to time they are packed, and at the end they become
columns. Which thread made an access follows from whose turn it was.
"""

import struct
from array import array as numbers

import numpy as np

from weft.simulator.memory.addresses import Addresses
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import GLOBAL, LOCAL, SHARED
from weft.simulator.translation.notes import OPERATION

FIELDS = 4  # per access: place and operation, array, two indices
WIDE = 4  # flag in the operation: the access has its own size
MOST_SITES = 1 << 16  # the numbers of places are below this: see `WatchedRun.site`
_PACK = 1 << 18  # integers in the log after which they are packed
_SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "constant": GLOBAL}


class Log:
    """The log of accesses: each access puts FIELDS integers into `entries`.

    The integers are:

    - the number of the access's place, shifted by OPERATION, plus the operation
    - the number of the array (see `number`)
    - two indices, or an offset in bytes and, if the access is WIDE, a size in bytes
    """

    def __init__(self, entries: list[int] | None = None) -> None:
        self.entries: list[int] = [] if entries is None else entries
        self._packed: list[Columns] = []
        self._kept = 0
        self._memory: list[tuple[int, int, int, int]] = []
        self._turns, self._turn_views = numbers("q"), numbers("q")

    @property
    def rows(self) -> int:
        """The number of accesses recorded so far."""
        return (self._kept + len(self.entries)) // FIELDS

    @property
    def full(self) -> bool:
        """Whether it is time to pack the recorded accesses."""
        return len(self.entries) >= _PACK

    def turn(self, view: int) -> None:
        """Attribute the accesses recorded from now on to the view numbered `view`."""
        self._turns.append(self._kept + len(self.entries))
        self._turn_views.append(view)

    def number(self, array: int, start: int, strides: tuple[int, ...]) -> int:
        """Return a number for a view of `array` with this start and these strides.

        An access is recorded with this number and two indices, or with the number after
        it and an offset in bytes. start: an address. strides: in bytes.
        """
        s0, s1 = (*strides, 0, 0)[:2]
        self._memory += (array, start, s0, s1), (array, start, 1, 0)
        return len(self._memory) - 2

    def start(self, number: int) -> int:
        """Return the address at which the array view with this number begins."""
        return self._memory[number][1]

    def address(self, number: int, i: int, j: int) -> int:
        """Return the address of an access to view `number` with indices `i` and `j`."""
        _, start, s0, s1 = self._memory[number]
        return start + i * s0 + (j * s1 if s1 else 0)

    def pack(self) -> None:
        try:
            packed = struct.pack(f"{len(self.entries)}i", *self.entries)
            self._packed.append(np.frombuffer(packed, np.int32))
        except struct.error:  # an offset of more than 2 GiB
            self._packed.append(np.array(self.entries, np.int64))
        self._kept += len(self.entries)
        self.entries.clear()

    def accesses(
        self, of: Addresses, so_far: bool = False
    ) -> tuple[dict[str, Columns], Columns]:
        """Return the recorded accesses, and discard the log unless `so_far`.

        Returns the columns of a `Trace`, where `site` has the run's numbers for places.
        Also returns, for each of these numbers, how many accesses there were to arrays
        of floating-point numbers.
        """
        self.pack()
        pieces = self._packed.copy() if so_far else self._packed
        rows = self.rows
        memory = np.array(self._memory or [(0, 0, 0, 0)], np.int64).T
        sizes = np.array([d.itemsize for d in of.dtypes] or [0])
        spaces = np.array([_SPACES[s] for s, _ in of.arrays] or [0])
        floating = np.array([d.kind in "fc" for d in of.dtypes] or [False])
        site, array, size = (np.empty(rows, np.int32) for _ in range(3))
        space, operation = (np.empty(rows, np.int8) for _ in range(2))
        address = np.empty(rows, np.int64)
        loads = np.zeros(MOST_SITES, np.int64)
        done = 0
        while pieces:  # one at a time, to avoid a second copy
            first, number, i, j = pieces.pop(0).reshape(-1, FIELDS).T
            part = slice(done, done + len(first))
            done = part.stop
            array[part], start, s0, s1 = memory[:, number]
            address[part] = start + i * s0 + j * s1
            site[part] = first >> OPERATION
            space[part] = spaces[array[part]]
            size[part] = np.where(first & WIDE != 0, j, sizes[array[part]])
            operation[part] = first & 3
            counted = site[part][floating[array[part]]]
            loads += np.bincount(counted, minlength=MOST_SITES)
        turns = np.frombuffer(self._turns, np.int64) // FIELDS
        turn_views = np.frombuffer(self._turn_views, np.int64).astype(np.int32)
        view = np.repeat(turn_views, np.diff(turns, append=rows))
        found: dict[str, Columns] = {"site": site, "array": array, "space": space}
        found |= {"address": address, "view": view}
        return found | {"size": size, "operation": operation}, loads
