"""A table of measurements, as text and as HTML: a row per line, a bar for its speed."""

import html as escape
import math
from collections.abc import Callable
from typing import Protocol

from weft import markup, units
from weft.bench.rows import Row


class Shown(Protocol):
    """What is shown of a table; see `weft.bench.table.Table`."""

    @property
    def case(self) -> str: ...
    @property
    def rows(self) -> tuple[Row, ...]: ...
    @property
    def unit(self) -> str: ...
    @property
    def baseline(self) -> str: ...
    @property
    def ceiling(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def machine(self) -> str: ...
    @property
    def covered(self) -> frozenset[str]: ...


Column = tuple[str, Callable[[Row], str]]
COVERED = "?"
DOUBT = "⚠"


def columns(table: Shown) -> list[Column]:
    """Return the columns that a table needs: (head, how to write a row's value)."""
    rows = [row for row in table.rows if row.name not in table.covered]
    found: list[Column] = [
        ("time", lambda r: units.time(r.ms)),
    ]
    if table.baseline:
        found.append((f"× {table.baseline}", lambda r: units.digits(r.ratio)))
    if any(math.isfinite(r.guess) for r in rows):
        found.append(("your guess", lambda r: units.digits(r.guess)))
    if table.unit:
        fastest = max((r.rate for r in rows if math.isfinite(r.rate)), default=math.nan)
        one, name = units.scale(fastest, table.unit)
        found.append((name, lambda r: units.digits(r.rate / one)))
    if table.ceiling:
        found.append((f"of {table.ceiling}", lambda r: units.percent(r.ceiling)))
    return [*found, ("spread", _spread)]


def text(table: Shown) -> str:
    """Return a table for a terminal."""
    shown = columns(table)
    lines = [["", *(head for head, _ in shown)]]
    lines += [[r.name, *_values(table, r, shown)] for r in table.rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    body = [
        "  ".join(
            cell.ljust(w) if k == 0 else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([table.case, *body, table.source, *table.notes])


def html(table: Shown) -> str:
    """Return a table for a notebook or a page."""
    shown = columns(table)
    nowrap = "white-space:nowrap"
    rows = [
        (
            f"{escape.escape(r.name)}{_from(table, r)}{_bar(_share(table, r))}",
            *(f'<span style="{nowrap}">{v}</span>' for v in _values(table, r, shown)),
        )
        for r in table.rows
    ]
    heads = ("", *(escape.escape(head) for head, _ in shown))
    return markup.block(
        [
            f'<p style="margin:.3em 0;font-weight:600">{markup.inline(table.case)}</p>',
            markup.table(heads, rows),
            markup.note(table.source),
            *(markup.note(n) for n in table.notes),
        ],
        label=f"Times: {table.case}",
    )


def _values(table: Shown, row: Row, shown: list[Column]) -> list[str]:
    """Return what the columns say of a row; of a covered one, that it is covered."""
    if row.name in table.covered:
        return [COVERED] * len(shown)
    return [write(row) for _, write in shown]


def _from(table: Shown, row: Row) -> str:
    """Return the GPU of a row that was measured elsewhere, as HTML."""
    if not table.machine or not row.measured or row.name in table.covered:
        return ""
    name = escape.escape(table.machine.removeprefix("NVIDIA "))
    return f' <span style="{markup.MUTED};font-weight:normal">{name}</span>'


def _share(table: Shown, row: Row) -> float:
    """Return a row's speed as a share of the fastest that is shown."""
    if row.name in table.covered:
        return math.nan
    seen = (r.ms for r in table.rows if r.measured and r.name not in table.covered)
    return min(seen, default=math.nan) / row.ms


def _spread(row: "Row") -> str:
    """Return the spread in per cent of the time, marked if it puts that in doubt."""
    if not row.measured:
        return units.DASH
    mark = f"{DOUBT} " if row.doubt else ""
    return f"{mark}± {units.percent(row.spread / 2 / row.ms)}"


def _bar(share: float) -> str:
    """Return a bar whose length is a share of the fastest row's speed."""
    if not math.isfinite(share):
        return ""
    return (
        '<span aria-hidden="true" style="display:block;min-width:6em;margin-top:.25em;'
        'background:color-mix(in srgb, currentColor 15%, transparent)">'
        f'<span style="display:block;height:.35em;width:{max(share, 0.004) * 100:.1f}%;'
        'background:currentColor"></span></span>'
    )
