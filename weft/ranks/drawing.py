"""A picture of a run on the model: which rank sends to which other in each step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from weft import markup
from weft.ranks.judging import tensor_of
from weft.ranks.model import Distributed
from weft.ranks.words import RankFault
from weft.ranks.works import Transfer
from weft.ranks.world import World
from weft.units import size


@dataclass(frozen=True)
class Timeline:
    """The messages of one run.

    ranks: the number of ranks. transfers: the messages. sent: the bytes that each rank
    sent. stopped: why the run did not complete, or "" if it did. A timeline is shown as
    a table with a row per rank and a column per step, as text or HTML.
    """

    ranks: int
    transfers: tuple[Transfer, ...]
    sent: tuple[int, ...]
    stopped: str = ""

    @property
    def steps(self) -> int:
        """The number of steps in the run."""
        return round(max((t.end for t in self.transfers), default=0))

    def rows(self) -> list[list[str]]:
        """Return a row for each rank.

        A row has the rank's name, its message in each step, and how many bytes it sent.
        """
        cells = [[""] * self.steps for _ in range(self.ranks)]
        for t in self.transfers:
            cells[t.source][round(t.end) - 1] = f"{size(t.nbytes)} → {t.target}"
        return [
            [f"rank {rank}", *cells[rank], size(self.sent[rank])]
            for rank in range(self.ranks)
        ]

    @property
    def head(self) -> list[str]:
        return ["", *(f"step {n + 1}" for n in range(self.steps)), "sent"]

    def __repr__(self) -> str:
        rows = [self.head, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *filter(None, [self.stopped])])

    def _repr_html_(self) -> str:
        def whole(cell: str) -> str:
            return f'<span style="white-space:nowrap">{markup.inline(cell)}</span>'

        rows = [map(whole, row) for row in self.rows()]
        name = f"Messages between {self.ranks} ranks, step by step"
        parts = [markup.table(map(whole, self.head), rows)]
        if self.stopped:
            parts.append(markup.note(self.stopped))
        return markup.block(parts, label=name)


def timeline(
    function: Callable[..., Any],
    given: Sequence[tuple[Any, ...]],
) -> Timeline:
    """Run `function(dist, *given[rank])` for every rank on the model; draw the run.

    given: one tuple of arguments per rank; NumPy arrays become tensors. A run that ends
    in a deadlock is drawn up to that point.
    """
    world = World(len(given))
    names = getattr(function, "__globals__", {})

    def rank(number: int) -> Any:
        args = map(tensor_of, given[number])
        return function(Distributed(world, number, names), *args)

    stopped = ""
    try:
        world.run([partial(rank, number) for number in range(len(given))])
    except RankFault as fault:
        stopped = fault.message
    return Timeline(len(given), tuple(world.transfers), tuple(world.sent), stopped)
