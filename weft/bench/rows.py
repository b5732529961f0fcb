"""One candidate's measurement, as a row of a table and as a row of results."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft import units
from weft.timing import FEW, Timing

VARIES = 0.2  # fraction of the time: a larger spread is marked, and needs a reason


@dataclass(frozen=True)
class Row:
    """One candidate's measurement; a value that is not known is NaN.

    ms: the median time of a call; spread: the interquartile range, ms; rate: bytes/s or
    flop/s; ratio: how many times as fast as the baseline; ceiling: the rate as a
    fraction of the ceiling's; guess: the ratio that the learner predicted; remark: what
    else the time includes, "" for nothing; reps: the number of repetitions, 0 if
    unknown.
    """

    name: str
    ms: float = math.nan
    spread: float = math.nan
    rate: float = math.nan
    ratio: float = math.nan
    ceiling: float = math.nan
    guess: float = math.nan
    remark: str = ""
    reps: int = 0

    @property
    def measured(self) -> bool:
        return math.isfinite(self.ms)

    @property
    def doubt(self) -> str:
        """Why the time is unreliable, or "" if it is reliable."""
        if 0 < self.reps < FEW:
            return f"a time of only {self.reps} repetitions"
        if self.spread > VARIES * self.ms:
            return f"a time that varies by more than ± {units.percent(VARIES / 2)}"
        return ""


Rows = tuple[Row, ...]


def remark(t: Timing) -> str:
    """Describe what a time includes besides the work, or return "" if only work."""
    if t.host_bound:
        return "queued more slowly than the GPU runs it, so the time includes Python's"
    if t.short:
        return "so short that the time includes the launch, a few µs on the GPU"
    return ""


def from_result(
    name: str, result: Mapping[str, Any], guess: float = math.nan, whole: bool = False
) -> Row:
    """Return the row for `result` from a results file; {} gives a row without numbers.

    whole: as in `Timing`, for the recorded time.
    """
    ms = _number(result.get("ms"))
    one = 1e12 if str(result.get("unit")).startswith("T") else 1e9
    return Row(
        name,
        ms,
        _number(result.get("spread")),
        _number(result.get("value")) * one,
        _number(result.get("ratio")),
        _number(result.get("ceiling")),
        guess,
        remark(Timing(ms, 0, 0, whole=whole)),
        int(result.get("reps") or 0),
    )


def as_results(
    case: str, rows: Rows, unit: str, baseline: str, unsteady: str = ""
) -> list[dict[str, Any]]:
    """Return rows in the form that results files use: rounded JSON values.

    unsteady: the reason why times vary, written beside each unreliable time.
    """

    def number(value: float, count: int = 5) -> float | None:
        return float(f"{value:.{count}g}") if math.isfinite(value) else None

    fastest = max((r.rate for r in rows), default=math.nan)
    one, name = units.scale(fastest, unit)
    return [
        {
            "case": case,
            "name": r.name,
            "ms": number(r.ms),
            "spread": number(r.spread, 3),
            "value": number(r.rate / one),
            "unit": name if unit else None,
            "baseline": baseline or None,
            "ratio": number(r.ratio),
            "ceiling": number(r.ceiling),
            "reps": r.reps,
            **({"unsteady": unsteady} if r.doubt else {}),
        }
        for r in rows
    ]


def related(rows: Rows, baseline: str, ceiling: str | float | None) -> Rows:
    """Return rows with ratios to the row `baseline`, and shares of the ceiling.

    The rows keep their own shares unless `ceiling` is the name of a row.
    """
    ms = {r.name: r.ms for r in rows}
    return tuple(
        replace(
            r,
            ratio=ms[baseline] / r.ms if baseline else math.nan,
            ceiling=ms[ceiling] / r.ms if isinstance(ceiling, str) else r.ceiling,
        )
        for r in rows
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
