"""A table of measurements, as text and as HTML: each row has a bar for its speed.

Its columns and bars look like those of the measurements in the book, which are styled
by `.weft-ladder` in the book's stylesheet. A notebook has no stylesheet, and its
background is unknown, so the two colours are midway between those for light and for
dark backgrounds.
"""

import html as escape
import math
from collections.abc import Callable
from typing import Protocol

from weft import markup, units
from weft.bench.rows import Row


class Shown(Protocol):
    """The parts of a table that are displayed; see `weft.bench.table.Table`."""

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
INDIGO, MADDER = "#5b7bd0", "#c8692f"
HATCHED = f"repeating-linear-gradient(-45deg,{MADDER} 0 4px,transparent 4px 6px)"
TAG = (
    "font-size:.75em;font-weight:normal;padding:.05em .4em;border:1px solid;"
    "border-radius:1em;opacity:.75;white-space:nowrap"
)


def columns(table: Shown) -> list[Column]:
    """Return a table's columns, each a heading and a function that formats a row."""
    rows = [row for row in table.rows if row.name not in table.covered]
    found: list[Column] = []
    if table.ceiling:
        found.append((f"of {table.ceiling}", lambda r: units.percent(r.ceiling)))
    if table.unit:
        fastest = max((r.rate for r in rows if math.isfinite(r.rate)), default=math.nan)
        one, name = units.scale(fastest, table.unit)
        found.append((name, lambda r: units.digits(r.rate / one)))
    found.append(("time", lambda r: units.time(r.ms)))
    if table.baseline:
        found.append((f"speed, × {table.baseline}", lambda r: units.digits(r.ratio)))
    if any(math.isfinite(r.guess) for r in rows):
        found.append(("your guess", lambda r: units.digits(r.guess)))
    return [*found, ("spread", _spread)]


def text(table: Shown) -> str:
    """Return a table as text for a terminal."""
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
    """Return a table as HTML for a notebook or a page."""
    shown = columns(table)
    bars = [_bar(table, row) for row in table.rows]
    if not table.ceiling and any(bars):  # bars of speeds, in a separate column
        shown.insert(0, ("speed", lambda row: ""))
    nowrap = "white-space:nowrap"
    rows = []
    for row, bar in zip(table.rows, bars, strict=True):
        values = _values(table, row, shown)
        if bar and not table.ceiling:
            values[0] = ""
        cells = [f'<span style="{nowrap}">{value}</span>' for value in values]
        cells[0] = f'<span style="{nowrap}">{bar}{cells[0]}</span>'
        rows.append((f"{escape.escape(row.name)}{_tags(table, row)}", *cells))
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
    """Return the cells of a row, all of them `COVERED` if the row is covered."""
    if row.name in table.covered:
        return [COVERED] * len(shown)
    return [write(row) for _, write in shown]


def _tags(table: Shown, row: Row) -> str:
    """Return the tags beside a row's name, as HTML.

    They are "baseline" for the baseline, and the GPU's name for a row that was measured
    on another machine.
    """
    tags = f' <span style="{TAG}">baseline</span>' * (row.name == table.baseline)
    if not table.machine or not row.measured or row.name in table.covered:
        return tags
    name = escape.escape(table.machine.removeprefix("NVIDIA "))
    return f'{tags} <span style="{markup.MUTED};font-weight:normal">{name}</span>'


def _share(table: Shown, row: Row) -> float:
    """Return a row's share of the ceiling or, without one, of the fastest row's speed.

    Returns NaN for a row that is covered or was not measured, and for the only row of a
    table without a ceiling.
    """
    seen = [r for r in table.rows if r.measured and r.name not in table.covered]
    if row not in seen:
        return math.nan
    if table.ceiling:
        return row.ceiling
    return min(r.ms for r in seen) / row.ms if len(table.rows) > 1 else math.nan


def _spread(row: "Row") -> str:
    """Return half the spread as a percentage of the time, such as "± 3 %".

    The text has a mark if the time is unreliable. It is a dash for a row that was not
    measured.
    """
    if not row.measured:
        return units.DASH
    mark = f"{DOUBT} " if row.doubt else ""
    return f"{mark}± {units.percent(row.spread / 2 / row.ms)}"


def _bar(table: Shown, row: Row) -> str:
    """Return, as HTML, a bar as long as a row's share; "" if the row has none."""
    share = _share(table, row)
    if not math.isfinite(share):
        return ""
    width = f"{min(max(share, 0.004), 1) * 100:.1f}%"
    fill = HATCHED if row.name == table.baseline else INDIGO
    return (
        '<span aria-hidden="true" style="display:inline-block;vertical-align:middle;'
        f'width:8em;height:.9em;margin-right:.6em;border:{markup.RULE}">'
        f'<span style="display:block;height:100%;width:{width};background:{fill}">'
        "</span></span>"
    )
