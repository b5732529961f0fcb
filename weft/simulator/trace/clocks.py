"""What one thread of a launch knows of the others: what happens before what."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """What a thread learnt of others through atomics: a piece of a vector clock.

    `blocks[b] = e`: everything block b did before its barrier e. `threads[t] = row`:
    everything thread t (numbered over the whole grid) did before that row.
    """

    blocks: dict[int, int]
    threads: dict[int, int]

    def with_(self, other: "Known") -> "Known":
        return Known(
            _latest(self.blocks, other.blocks), _latest(self.threads, other.threads)
        )


def _latest(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    return a | {k: max(v, a.get(k, 0)) for k, v in b.items()}


class View:
    """What one thread knows of the others between two synchronisations.

    `epoch` counts the barriers its block has passed, `grid` those of the whole grid;
    `lanes[k]` is the row before which everything lane k did is known. `thread` is the
    rank in its block, `number` that in the whole grid.
    """

    __slots__ = (
        "block",
        "epoch",
        "grid",
        "index",
        "known",
        "lane",
        "lanes",
        "number",
        "thread",
        "warp",
        "who",
    )

    def __init__(
        self,
        who: tuple[int, int, int, int, int],
        index: int,
        epoch: int = 0,
        grid: int = 0,
        lanes: tuple[int, ...] | None = None,
        known: Known | None = None,
    ) -> None:
        self.who = who
        self.thread, self.block, self.number, self.warp, self.lane = who
        self.index, self.epoch, self.grid = index, epoch, grid
        self.lanes, self.known = lanes, known

    def sees(self, row: int, other: "View") -> bool:
        """Whether row `row`, made under `other`, happens before what is made now."""
        if other.number == self.number or other.grid < self.grid:
            return True
        if other.block == self.block:
            if other.epoch < self.epoch:
                return True
            if other.warp == self.warp and self.lanes and row < self.lanes[other.lane]:
                return True
        known = self.known
        return known is not None and (
            known.blocks.get(other.block, 0) > other.epoch
            or known.threads.get(other.number, 0) > row
        )
