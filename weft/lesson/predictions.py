"""The predictions a learner made before measuring, and how close they were."""

import math
import statistics
from dataclasses import dataclass
from typing import Any

from weft import store
from weft.lesson import board

FILE = "predictions.json"
LATEST = 10  # predictions whose accuracy the board reports


@dataclass(frozen=True)
class Prediction:
    """One guess of a ratio, the ratio measured, and when both were recorded."""

    guess: float
    measured: float
    when: str

    @property
    def off(self) -> float:
        """The factor by which the guess was off, 1 or more."""
        return math.exp(abs(math.log(self.guess / self.measured)))


def note(lab: str | None, case: str, name: str, guess: float, measured: float) -> None:
    """Record a learner's first guess for a row. Never raises.

    Later guesses for the same row are ignored: the learner then knows the answer.
    """
    if not board.counts(lab) or not (guess > 0 and measured > 0):
        return
    made = {"guess": guess, "measured": measured, "when": store.now()}
    store.update(
        store.place(FILE),
        lambda kept: kept.setdefault(f"{lab} | {case} | {name}", made),
    )


def kept() -> list[Prediction]:
    """Return all well-formed predictions, oldest first."""
    contents, _ = store.read(store.place(FILE))
    found = [_read(entry) for entry in contents.values()]
    return sorted((p for p in found if p is not None), key=lambda p: p.when)


def _read(entry: Any) -> Prediction | None:
    try:
        found = Prediction(
            float(entry["guess"]), float(entry["measured"]), str(entry["when"])
        )
        return found if math.isfinite(found.off) else None
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def summary() -> str:
    """Return a line about a learner's predictions; "" if there are fewer than three."""
    made = kept()
    if len(made) < 3:
        return ""
    line = f"{len(made)} predictions, typically off by a factor of {_typical(made)}"
    if len(made) >= 2 * LATEST:
        line += f"; the last {LATEST}, {_typical(made[-LATEST:])}"
    return f"{line}."


def _typical(made: list[Prediction]) -> str:
    return f"{statistics.median(p.off for p in made):.1f}"
