"""An exercise for several ranks: each rank's arguments and expected result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.checking.cases import SEED, as_tuple, unseen_size
from weft.checking.exercise import Exercise


@dataclass(frozen=True)
class RankCase:
    """One run: the number of ranks, and each rank's arguments and expected result."""

    ranks: int
    size: tuple[Any, ...]
    given: list[tuple[Any, ...]]
    expected: list[Any]
    listed: bool = True

    @property
    def label(self) -> str:
        """The name of the case in a verdict."""
        said = f"{self.ranks} ranks" if self.ranks > 1 else "1 rank"
        if self.size:
            said += ", size " + " × ".join(f"{part:,}" for part in self.size)
        return said if self.listed else f"{said}, which the check does not list"


@dataclass(frozen=True, kw_only=True)
class RankExercise(Exercise):
    """A function that every rank runs, called as `function(dist, *given)`.

    ranks: numbers of ranks to try. sizes: each is used with every number of ranks; by
        default one size, ().
    inputs: `(rng, ranks, *size)` → one tuple of arguments per rank. NumPy arrays among
        the arguments become tensors.
    spec: `(given)` → one result per rank, from the arguments of all ranks.
    result: the parameter that holds the result at the end; "" for the returned value.
    because: `(given, rank, result)` → the cause of a rank's wrong result, or "" if it
        is unknown. `given` is the same as for `spec`. With a parameter `world`, it also
        gets the run, with its messages, and with a parameter `function` the learner's
        function. It may return a pair: the cause, and lines, each with a note.
    without: calls of `torch.distributed` that the function must not use.
    limits: for `steps`, `sent` and `collectives`, a number or `(ranks, *size)` → a
        number.
    lines: how many lines of Python one rank may run; see `weft.checking.step_limit`.
    """

    needs: ClassVar[tuple[str, ...]] = ("spec", "inputs", "ranks")

    ranks: Sequence[int] = ()
    sizes: Any = ((),)
    result: str = ""
    because: Any = None
    without: tuple[str, ...] = ()
    lines: int | None = None

    def cases(self, seed: int) -> Iterator[RankCase]:
        """Yield the listed cases and, if `unseen`, an unlisted one chosen by `seed`."""
        for size in self.sizes:
            for ranks in self.ranks:
                yield self.made(ranks, as_tuple(size))
        if self.unseen:
            free = [p for p in range(2, 8) if p not in self.ranks] or [2]
            other = unseen_size(self.sizes, seed)
            yield self.made(
                free[seed % len(free)],
                as_tuple(self.sizes[-1] if other is None else other),
                seed,
            )

    def made(self, ranks: int, size: tuple[Any, ...], seed: int = SEED) -> RankCase:
        """Make a case: draw its inputs, and compute the expected results."""
        rng = np.random.default_rng([seed, ranks, *(int(part) for part in size)])
        given = [as_tuple(own) for own in self.inputs(rng, ranks, *size)]
        wanted = list(self.spec([tuple(map(exact, own)) for own in given]))
        return RankCase(ranks, size, given, wanted, seed == SEED)


def exact(value: Any) -> Any:
    """Copy a value for the spec, with floats in double precision."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype.kind == "f" else value.copy()
    if isinstance(value, list | tuple):
        return type(value)(map(exact, value))
    return value
