"""The counts of a launch, for each instruction and for each line."""

from dataclasses import dataclass

from weft.places import Place


@dataclass(frozen=True)
class Line:
    """The requests of one instruction of the kernel to one array.

    `array` is the array's name in the kernel, and `store` says whether the instruction
    writes. For global memory `sectors` counts those moved and `ideal` those that would
    have sufficed; for shared memory `ideal` is the fewest passes possible and
    `conflicts` counts the additional ones. `lanes` counts the accesses, one for each
    lane that took part, and `bytes` is how much they requested. `divergent` counts the
    requests in which not every thread of the warp took part.
    """

    place: Place
    array: str
    shared: bool
    store: bool
    requests: int
    sectors: int = 0
    ideal: int = 0
    conflicts: int = 0
    lanes: int = 0
    bytes: int = 0
    divergent: int = 0
    atomic: bool = False

    @property
    def lanes_per_request(self) -> float:
        """The mean number of lanes of a warp that take part; 32 without divergence."""
        return self.lanes / self.requests

    @property
    def per_request(self) -> float:
        """The sectors (global) or conflicts (shared) per request."""
        return (self.conflicts if self.shared else self.sectors) / self.requests


@dataclass(frozen=True)
class Work:
    """The work of a source line, or of a whole launch: bytes by level, and arithmetic.

    `requested` is what the threads request from global memory, `moved` the sectors that
    the L1 cache has to fetch or send for that, `touched` the distinct sectors among
    those: at least that much comes from or goes to DRAM. All are in bytes. `flops`
    counts how often the floating-point +, −, × and ÷ in the source are executed.
    """

    place: Place | None
    requested: int = 0
    moved: int = 0
    touched: int = 0
    shared: int = 0
    local: int = 0
    flops: int = 0

    @property
    def intensity(self) -> float:
        """Operations per byte that has to be read from DRAM or written to it."""
        return self.flops / self.touched if self.touched else float("inf")
