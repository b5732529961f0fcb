"""The options of a comparison, and what its times imply: rates and ratios."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft import units
from weft.bench.rows import Row, Rows, remark
from weft.errors import LearnerError
from weft.timing import Timing

Candidate = Callable[[], object]
Guesses = Mapping[str, float | None]


@dataclass(frozen=True)
class Comparison:
    """A case, and how its rows are related to one another.

    work: bytes or flop per call, None if not given; unit: "B" or "FLOP", "" for
    neither. baseline: the name of the row that the ratios refer to, "" for none.
    ceiling: the name of a row, or a rate in bytes/s or flop/s. guess: name → predicted
    ratio, or None if the guess is still open; a number as a key means the name with
    these digits. whole: whether the times deliberately include more than the work on
    the GPU.
    """

    case: str
    work: float | None = None
    unit: str = ""
    baseline: str = ""
    ceiling: str | float | None = None
    guess: Guesses = field(default_factory=dict)
    whole: bool = False

    def __post_init__(self) -> None:
        named = {_as_name(key): value for key, value in self.guess.items()}
        object.__setattr__(self, "guess", named)

    @property
    def ceiling_name(self) -> str:
        """The ceiling as a heading of the table names it, or "" if there is none."""
        if isinstance(self.ceiling, int | float):
            return units.rate(float(self.ceiling), self.unit)
        return self.ceiling or ""

    def guess_of(self, name: str) -> float:
        value = self.guess.get(name)
        return math.nan if value is None else float(value)

    def rows(self, times: Mapping[str, Timing]) -> Rows:
        """Return a row for each time, with its rate, ratio and share of the ceiling."""
        return tuple(self._row(name, times) for name in times)

    def _row(self, name: str, times: Mapping[str, Timing]) -> Row:
        t = times[name]
        rate = self.work / t.ms * 1e3 if self.work is not None else math.nan
        fraction = math.nan
        if isinstance(self.ceiling, str):
            fraction = times[self.ceiling].ms / t.ms
        elif self.ceiling is not None:
            fraction = rate / self.ceiling
        ratio = times[self.baseline].ms / t.ms if self.baseline else math.nan
        guess = self.guess_of(name)
        figures = t.ms, t.spread, rate, ratio, fraction, guess
        return Row(name, *figures, remark(t), t.reps)

    def notes(self, rows: Rows) -> tuple[str, ...]:
        """Return remarks on a table: what its times include, and why to doubt them."""
        concerned: dict[str, list[str]] = {}
        for row in rows:
            for text in filter(None, (row.remark, row.doubt)):
                concerned.setdefault(text, []).append(row.name)
        return tuple(f"{', '.join(who)}: {text}." for text, who in concerned.items())

    def check(self, names: list[str]) -> None:
        """Raise LearnerError for a name that is not in `names`, or an invalid guess."""
        here = f"The names here: {', '.join(names)}"
        if self.baseline and self.baseline not in names:
            raise LearnerError(
                f'the baseline "{self.baseline}" is not among them. {here}'
            )
        if isinstance(self.ceiling, str) and self.ceiling not in names:
            raise LearnerError(
                f'the ceiling "{self.ceiling}" is not among them. {here}'
            )
        for name, value in self.guess.items():
            _check_guess(name, value, names)
        if self.guess and not self.baseline:
            raise LearnerError(
                "a guess is a number of times the baseline: give baseline="
            )


def _as_name(key: Any) -> Any:
    """Return a key as a name: "32" for 32 and for 32.0; other keys unchanged."""
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    return str(key) if isinstance(key, int) else key


def _check_guess(name: str, value: Any, names: list[str]) -> None:
    """Raise LearnerError for a guess with an unknown name or an invalid ratio."""
    if name not in names and value is None:
        return  # a candidate that this GPU does not have
    if name not in names:
        here = f"The names here: {', '.join(names)}"
        raise LearnerError(f'your guess for "{name}": no such name. {here}')
    if value is not None and not (
        isinstance(value, int | float) and math.isfinite(value) and value > 0
    ):
        raise LearnerError(
            f'your guess for "{name}" is {value!r}; it must be a number above 0, '
            "how many times as fast as the baseline you expect it to be"
        )


def check_candidates(candidates: Mapping[str, Any]) -> None:
    """Raise LearnerError if there are no candidates or if one cannot be called."""
    if not candidates:
        raise LearnerError(
            'nothing to compare: give a dict such as {"mine": lambda: kernel[...](...)}'
        )
    for name, candidate in candidates.items():
        if callable(candidate):
            continue
        write = f'"{name}": lambda: ...' if name != "the function" else "lambda: ..."
        if candidate is None:
            raise LearnerError(
                f'"{name}" is None, not a function. Without `lambda:` Python ran '
                "`kernel[grid, block](...)` once, before anything could be timed, and "
                f"a launch returns None. Write {write}"
            )
        raise LearnerError(
            f'"{name}" is a {type(candidate).__name__}, not a function. Without '
            "`lambda:` Python ran the expression once and kept its result. "
            f"Write {write}"
        )
