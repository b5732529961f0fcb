"""The accesses of a traced launch as numbers: a list for each thread and spot.

A *spot* is a place in the source that touches memory in one way. There, each thread
notes which element it touches: the element's *number* is its address in the memory
space, divided by the spot's `unit`. The lengths of a thread's lists at two barriers say
which of their entries it noted in between. The k-th entries of 32 lanes' lists are
the k-th request of their warp, unless lanes skip iterations; then there is a list with
the iteration of each entry (see `Spot.iterations`).

The accesses at one spot are in order; those at different spots are not. Where it
matters which of a thread's accesses to an element came first, more is noted:

- The spots of a local array share one list. Its entries are numbers times its *step*,
  plus the spot's `code`, which is less than the step.
- A thread may write to shared memory, or to global memory that held nothing, and then
  read at another spot with no barrier in between. Then it notes with each write how
  many reads it has noted at that spot (see `Spot.counts`). A read without such a
  count is assumed to come first.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from weft.places import Place
from weft.simulator.limits import Dim

READ, WRITE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2
SEVERAL = -1  # instead of a region

Numbers = list[int]
Lists = list[Numbers]  # one per thread of a block
Lengths = list[int]  # the lengths of these


@dataclass(eq=False, slots=True)
class Region:
    """The piece of a memory space that an array occupies.

    `first` is the address of its first byte; `size` is its number of bytes; `type` is
    the name of its elements' type ('f32', or '' for a record); `shape` is () if the
    elements are not contiguous. `fresh` memory held nothing before the launch. Shared
    memory has the same addresses in each block, local memory in each thread. Regions
    overlap if arrays share memory.
    """

    space: int
    first: int
    size: int
    name: str
    type: str = "f32"
    shape: tuple[int, ...] = ()
    fresh: bool = False

    def overlaps(self, other: "Region") -> bool:
        if self.space != other.space:
            return False
        end, other_end = self.first + self.size, other.first + other.size
        return self.first < other_end and other.first < end


@dataclass(eq=False, slots=True)
class Spot:
    """A place in the source, and how it touches memory of one space.

    `unit` is a power of two of at most 32 bytes that divides all addresses and the
    `size` in bytes of an access, which is larger than `unit` for a wide access.
    `region` is an index into the regions, or SEVERAL if it varies. `kinds` are those of
    `Trace.atomics`: "one" and "known" only if they apply to all its executions. `flops`
    is the number of floating-point operations per execution. `list` is the index of the
    lists with its entries. `counts` is about each spot where the same thread may read
    later, with no barrier in between: it maps that spot's list to another, which notes
    the length of the first at each execution of this spot. `iterations` is the index of
    the lists with the iterations in which the spot was executed, where equal numbers
    mean equal iterations, or -1 if lanes are in step. Spots with the same `site` are
    one instruction whose access size varies.
    """

    place: Place
    operation: int
    space: int
    region: int
    unit: int
    size: int = 0
    kinds: frozenset[str] = frozenset()
    flops: int = 0
    list: int = 0
    code: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    site: int = -1
    iterations: int = -1

    def __post_init__(self) -> None:
        """Set `size` to `unit` if no size is given."""
        self.size = self.size or self.unit


@dataclass(eq=False, slots=True)
class Meeting:
    """Threads of a warp that have synchronised, by their ranks in the block.

    at: how many barriers the block had passed. `lengths[k][i]` is the length of list k
    of `threads[i]` at that time.
    """

    at: int
    threads: tuple[int, ...]
    lengths: list[Lengths | None]


@dataclass(eq=False, slots=True)
class Block:
    """The notes of a block's threads.

    `lists[k][t]` is list k of thread t; `lists[k]` is None if no thread has it.
    `marks[b][k][t]` is that list's length when the block passed its barrier b. These
    barriers include the grid's, which `grids` lists. `meetings` are those of its warps,
    in order. Neither `marks` nor `meetings` have the lengths of lists of iterations.
    """

    number: int
    lists: list[Lists | None]
    marks: list[list[Lengths | None]] = field(default_factory=list)
    grids: list[int] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)


@dataclass(eq=False)
class Notes:
    """The notes of one launch.

    `steps` has the step of each list. `blocks` has the noted blocks, in the order in
    which they began, including those that touched nothing; `all_blocks` is the number
    of blocks in the launch. `sums` has the number of floating-point operations done at
    each place that computes with values that are in no array. `barriers`, `partial` and
    `excused` are as in `Trace`.
    """

    name: str
    grid_size: Dim
    block_size: Dim
    spots: list[Spot]
    regions: list[Region]
    steps: list[int]
    blocks: list[Block]
    sums: dict[Place, int] = field(default_factory=dict)
    barriers: Counter[tuple[int, Place]] = field(default_factory=Counter)
    partial: list[tuple[int, Place, frozenset[int]]] = field(default_factory=list)
    excused: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Give each spot without a site one of its own."""
        for k, spot in enumerate(self.spots):
            spot.site = spot.site if spot.site >= 0 else k
        self._starts: list[tuple[list[int], list[int]] | None] = [None, None, None]

    @property
    def all_blocks(self) -> int:
        x, y, z = self.grid_size
        return x * y * z

    @property
    def threads(self) -> int:
        """The number of threads in a block."""
        x, y, z = self.block_size
        return x * y * z

    def numbers(self, block: Block, spot: Spot) -> Lists | None:
        """Return the elements that each thread of a block touched at `spot`, in order.

        Returns None if there are none at all. Callers must not change the lists.
        """
        lists, step = block.lists[spot.list], self.steps[spot.list]
        if lists is None or step == 1:
            return lists
        return [[n // step for n in one if n % step == spot.code] for one in lists]

    def iterations(self, block: Block, spot: Spot) -> Lists | None:
        """Return the iteration of each of the `numbers`; None if lanes are in step."""
        return block.lists[spot.iterations] if spot.iterations >= 0 else None

    def region_at(self, space: int, address: int) -> int:
        """Return the index of a region that contains an address.

        Raises LookupError if no region does.
        """
        known = self._starts[space]
        if known is None:
            mine = [k for k, r in enumerate(self.regions) if r.space == space]
            mine.sort(key=lambda k: self.regions[k].first)
            known = [self.regions[k].first for k in mine], mine
            self._starts[space] = known
        starts, mine = known
        for at in range(bisect_right(starts, address) - 1, -1, -1):
            region = self.regions[mine[at]]
            if address < region.first + region.size:
                return mine[at]
        raise LookupError(f"no array is at address {address} of space {space}")
