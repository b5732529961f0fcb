"""What a kernel's accesses cost, as a table: for where there are no widgets."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from weft import markup


@dataclass(frozen=True)
class Report:
    """The accesses of a kernel in the order of its lines."""

    title: str
    accesses: Iterable[dict[str, Any]]

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(access["line"]),
                f"{access['array']} {'written' if access['store'] else 'read'}",
                str(access["requests"]),
                f"{access['per']:.3g} {_unit(access)}",
                f"{access['ideal']:.3g}",
            )
            for access in self.accesses
        ]

    def __repr__(self) -> str:
        lines = [self.title]
        for line, what, requests, spent, ideal in self._rows():
            lines.append(
                f"  line {line}: {what}, {requests} requests, {spent} each "
                f"({ideal} would do)"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self._rows()
        if not rows:
            return markup.block([markup.note(self.title)], label=self.title)
        head = ["line", "array", "requests", "each takes", "would do"]
        cells = [[escape(cell) for cell in row] for row in rows]
        return markup.block([markup.table(head, cells)], label=self.title)


def _unit(access: dict[str, Any]) -> str:
    return "passes" if access["shared"] else "sectors"
