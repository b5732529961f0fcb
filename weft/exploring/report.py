"""What a figure shows, as text: for where there are no widgets."""

from dataclasses import dataclass
from html import escape
from typing import Any

from weft import markup
from weft.exploring.place import place, saved


@dataclass(frozen=True)
class Report:
    """Figure `name` in a state: of a kernel's accesses a table, by line."""

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
                f"{access['per']:.3g} {_unit(access)}",
                f"{access['ideal']:.3g}",
            )
            for access in self.state.get("accesses", ())
        ]

    def __repr__(self) -> str:
        lines = [self.title]
        if self.state.get("accesses") == []:
            return f"{self.title}: no access to an array was seen"
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
    return "passes" if access["shared"] else "sectors"
