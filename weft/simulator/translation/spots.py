"""The places in a kernel where its threads touch memory, meet, or can fail."""

from dataclasses import dataclass, field

from weft.places import Place

READ, WRITE, ATOMIC = 0, 1, 2


@dataclass(slots=True)
class Spot:
    """A place in the source that does one thing.

    Of an access `operation` says which, `unit` is the size of an element in bytes,
    `size` how many bytes are moved at once, `kinds` what else the counters know of it.
    `flops` operations of floating-point arithmetic go with each time it is reached. Of
    a barrier or an operation of a warp, `name` is its name. `index` are the names of
    variables, and numbers, that an index consists of.
    """

    place: Place
    operation: int = -1
    unit: int = 0
    size: int = 0
    kinds: frozenset[str] = frozenset()
    flops: int = 0
    name: str = ""
    array: str = ""
    index: tuple[str | int, ...] = ()


@dataclass(slots=True)
class Spots:
    """All spots of a kernel and the functions that it calls, by number."""

    all: list[Spot] = field(default_factory=list)

    def add(self, spot: Spot) -> int:
        self.all.append(spot)
        return len(self.all) - 1

    def __getitem__(self, number: int) -> Spot:
        return self.all[number]

    def __len__(self) -> int:
        return len(self.all)
