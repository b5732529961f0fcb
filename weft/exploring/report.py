"""Figures as text, for environments without widgets."""

import inspect
import json
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from weft import markup
from weft.wording import several

MOST_SAVED = 6  # requests per access that a saved notebook keeps


@dataclass(frozen=True)
class Report:
    """Figure `name` in one state, as text: for a kernel, a table of its accesses."""

    name: str
    state: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.state.get("kernel", f"figure {self.name}"))

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(access["line"]),
                f"{access['array']} {'written' if access['store'] else 'read'}",
                str(access["requests"]),
                several(float(access["per"]), _unit(access)),
                f"{access['ideal']:.3g}",
            )
            for access in self.state.get("accesses", ())
        ]

    def __repr__(self) -> str:
        lines = [self.title]
        if self.state.get("accesses") == []:
            return (
                f"{self.title}: no access to an array was seen. "
                "Once the kernel has some, run this cell again."
            )
        for line, what, requests, spent, ideal in self._rows():
            lines.append(
                f"  line {line}: {what}, {requests} requests, {spent} each "
                f"({ideal} at best)"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        label = f"{self.title}, to be explored"
        still = f'<div class="weft-still">{self._table()}</div>'
        return place(self.name, saved(self.state), label, still)

    def _table(self) -> str:
        rows = self._rows()
        if not rows:
            return markup.block([markup.note(repr(self))], label=self.title)
        head = ["line", "array", "requests", "each takes", "at best"]
        cells = [[escape(cell) for cell in row] for row in rows]
        return markup.block([markup.table(head, cells)], label=self.title)


def _unit(access: dict[str, Any]) -> str:
    return "pass" if access["shared"] else "sector"


def place(name: str, state: dict[str, Any], label: str, meanwhile: str) -> str:
    """Return the HTML element for figure `name`.

    In the book, `figures/load.js` activates it. Until then, and wherever no script
    runs, it shows the HTML `meanwhile`: a still picture, or a table.
    """
    data = json.dumps(state, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div class="weft-play" data-figure="{name}" data-label="{escape(label)}">'
        f'<script type="application/json">{data}</script>{meanwhile}</div>'
    )


def saved(state: dict[str, Any]) -> dict[str, Any]:
    """Return `state` with at most MOST_SAVED requests per access, for a notebook."""
    if "accesses" not in state:
        return state
    few = [a | {"shown": a["shown"][:MOST_SAVED]} for a in state["accesses"]]
    return state | {"accesses": few}


@dataclass(frozen=True, eq=False)  # two with the same values are two controls
class Choice:
    """Alternative values for one number in a launch; the first is chosen initially."""

    values: tuple[Any, ...]


def choose(*values: Any) -> Choice:
    """Return a control to pass to `explore` instead of a number.

    It may replace an argument, or the number of blocks or threads in the launch. Raises
    ValueError for fewer than two values.
    """
    if len(values) < 2:
        raise ValueError("choose(1, 2, 4): give it the values to choose from")
    return Choice(values)


def named(function: Any, config: Any, args: Any) -> dict[str, Choice]:
    """Return a launch's choices, by the name of the first value that each replaces."""
    found: dict[str, Choice] = {}
    parts = config if isinstance(config, tuple) else (config,)
    places: list[tuple[str, Any]] = []
    for name, part in zip(("blocks", "threads"), parts, strict=False):
        if isinstance(part, tuple):
            axes = zip("xyz", part, strict=False)
            places += [(f"{name} in {axis}", value) for axis, value in axes]
        else:
            places.append((name, part))
    places += zip(inspect.signature(function).parameters, args, strict=False)
    for name, value in places:
        if isinstance(value, Choice) and value not in found.values():
            found[name] = value
    return found


def settled(value: Any, chosen: dict[Choice, Any]) -> Any:
    """Replace each choice in `value` by its chosen value, or else by its first one."""
    if isinstance(value, Choice):
        return chosen.get(value, value.values[0])
    if isinstance(value, tuple):
        return tuple(settled(each, chosen) for each in value)
    return value


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments, with arrays copied, for later launches."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
