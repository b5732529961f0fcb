"""`weft.trace`: what a launch does to memory, line by line, on any machine.

The kernel's Python function runs in the simulator, even if there is a GPU, and every
access is recorded. The result shows a table, and has columns to compute with.
"""

import html
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any

from weft import counters, markup, units
from weft.counters import Line, Work
from weft.kernels import hazards
from weft.kernels.launched import on_host
from weft.places import named
from weft.simulator import Fault, LaunchError, record
from weft.simulator.limits import configuration
from weft.simulator.trace import trace as simulated

__all__ = ["Trace", "Tracer", "trace"]


def trace(kernel: Any) -> "Tracer":
    """Trace what a launch does to memory: `trace(kernel)[grid, block](*args)`.

    kernel: made by `@cuda.jit`, or a Python function. It runs in the simulator and
    writes to the arrays given, as a launch would; arrays on a GPU are copied to the
    host and back. If the grid has more than 64 blocks, only a sample is recorded.

    Raises Fault if the kernel does something that would fail or corrupt memory on a
    GPU, and LaunchError for a configuration that no GPU accepts.
    """
    return Tracer(kernel)


class Tracer:
    """A kernel to trace that has no launch configuration yet: `trace(kernel)`."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, config: Any) -> Callable[..., "Trace"]:
        configuration(config)  # a wrong one is refused on the line that configures

        def launch(*args: Any) -> Trace:
            back: list[Callable[[], Any]] = []
            given = tuple(on_host(arg, back) for arg in args)
            try:
                found, _ = record(self._kernel, config, given, rows=True)
            except Fault as fault:
                raise fault.with_traceback(None) from None
            finally:
                for write in back:
                    write()
            return Trace(**{f.name: getattr(found, f.name) for f in fields(found)})

        return launch

    def __call__(self, *args: Any) -> Any:
        name = getattr(self._kernel, "__name__", "kernel")
        raise LaunchError(
            "a trace needs a grid and a block",
            f"Write weft.trace({name})[grid, block](...), as for a launch.",
        )


class Trace(simulated.Trace):
    """The record of a launch: a table of its lines when shown, and columns of accesses.

    `lines` are its instructions with requests, sectors and bank conflicts, `work` what
    each line moves and computes, `total` the sum of these. `hazard` is the verdict on
    its most important hazard, such as a race, or None. The columns are those of
    `weft.simulator.trace.Trace`.
    """

    @cached_property
    def lines(self) -> list[Line]:
        return counters.count(self)

    @cached_property
    def work(self) -> list[Work]:
        return counters.work(self)

    @cached_property
    def total(self) -> Work:
        return counters.total(self)

    @cached_property
    def hazard(self) -> Any:
        """The verdict on the most important hazard, or None if there is none."""
        found = hazards.find(self)
        return None if found is None else found.verdict

    @property
    def title(self) -> str:
        return (
            f"{self.name}[{short_size(self.grid_size)}, {short_size(self.block_size)}]"
        )

    @property
    def subtitle(self) -> str:
        many = f"{len(self):,} accesses by {self.all_blocks:,} "
        if self.blocks == self.all_blocks:
            return many + "block" + "s" * (self.blocks != 1)
        return (
            f"{len(self):,} accesses by {self.blocks:,} of the {self.all_blocks:,} "
            "blocks; the others ran, and were not written down"
        )

    def shown(self) -> tuple[str, str, list[list[str]], list[str]]:
        """Return the title, the subtitle, the table with its head, and the facts."""
        return self.title, self.subtitle, self._table(), self._facts()

    def __repr__(self) -> str:
        rows = self._table()
        for row in rows:
            row[1] = row[1] if len(row[1]) <= WIDTH else row[1][: WIDTH - 1] + "…"
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        table = [
            "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))
            for row in rows
        ]
        parts = [
            f"{self.title}: {self.subtitle}",
            "\n".join(line.rstrip() for line in table),
            "\n".join(f"  {fact}" for fact in self._facts()),
        ]
        if self.hazard is not None:
            parts.append(repr(self.hazard))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        last = ""
        for row in rows:
            row[0] = last = row[0] or last
            row[1:] = [
                f'<span style="white-space:nowrap">{html.escape(cell)}</span>'
                for cell in row[1:]
            ]
        parts = [
            f'<p style="margin:.2em 0"><strong>{html.escape(self.title)}</strong></p>',
            markup.note(self.subtitle),
            f'<div role="group" aria-label="Accesses by line" tabindex="0" '
            f'style="overflow-x:auto">{markup.table(head, rows)}</div>',
            *(f'<p style="margin:.15em 0">{html.escape(f)}</p>' for f in self._facts()),
        ]
        shown = markup.block(parts, label=f"Trace of {self.title}")
        return shown if self.hazard is None else shown + self.hazard._repr_html_()

    def _table(self) -> list[list[str]]:
        """Return the table's head and rows, without the flops column if all are 0."""
        table = [list(HEAD), *self._rows()]
        return table if self.total.flops else [row[:-1] for row in table]

    def _rows(self) -> list[list[str]]:
        """Return the table's cells; a source line is shown only in its first row."""
        rows = []
        last = None
        flops = {
            (w.place.function, w.place.line): w.flops for w in self.work if w.place
        }
        for line in self.lines:
            here = line.place.function, line.place.line
            new = here != last
            last = here
            rows.append(
                [
                    str(line.place.line) if new else "",
                    line.place.text if new else "",
                    f"{_verb(line)} {line.array}",
                    f"{line.requests:,}",
                    _cost(line),
                    _lanes(line),
                    f"{flops[here]:,}" if new and flops[here] else "",
                ]
            )
        return rows

    def _facts(self) -> list[str]:
        """Describe what the launch moves and computes, in a few lines."""
        total = self.total
        facts = []
        if total.requested:
            facts.append(
                f"global memory: {units.size(total.requested)} asked for, "
                f"{units.size(total.moved)} moved in sectors, "
                f"{units.size(total.touched)} of those distinct"
            )
        if total.shared:
            facts.append(f"shared memory: {units.size(total.shared)}")
        if total.local:
            facts.append(f"local memory: {units.size(total.local)}")
        if total.flops:
            per = (
                f", {units.digits(total.intensity)} for each distinct byte"
                if total.touched
                else ""
            )
            facts.append(f"arithmetic: {total.flops:,} operations on floats{per}")
        if self.hazard is None:
            facts.append("no race, and nothing is read before it is written")
        return facts


WIDTH = 44  # characters of a source line in a terminal
HEAD = ["line", "source", "access", "requests", "per request", "lanes", "flops"]


def short_size(size: tuple[int, int, int]) -> str:
    """Format a grid or block as in a launch: 64, or (16, 16).

    >>> short_size((64, 1, 1)), short_size((16, 16, 1))
    ('64', '(16, 16)')
    """
    trimmed = list(size)
    while len(trimmed) > 1 and trimmed[-1] == 1:
        trimmed.pop()
    return named(tuple(trimmed))


def _verb(line: Line) -> str:
    return "atomic" if line.atomic else "store" if line.store else "load"


def _cost(line: Line) -> str:
    """Format a line's bank conflicts or, for global memory, its sectors per request.

    If fewer sectors would do, their number follows.
    """
    cost = f"{line.per_request:.3g}"
    plural = "s" * (line.per_request != 1)
    if line.shared:
        return f"{cost} conflict{plural}"
    ideal = line.ideal / line.requests
    better = f" ({ideal:.3g} would do)" if line.sectors > line.ideal else ""
    return f"{cost} sector{plural}{better}"


def _lanes(line: Line) -> str:
    """Format a line's mean number of lanes per request; say if any request diverges."""
    return f"{line.lanes_per_request:.3g}" + " (divergent)" * bool(line.divergent)
