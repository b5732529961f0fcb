"""Small pieces of English: counts, capitals, full stops and tables of sentences."""

import re
import tomllib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

Row = dict[str, str]
# fields of a row: when it applies, and which lines it names
SOUGHT = ("pattern", "where")


def several(number: float, what: str) -> str:
    """Format a count: `1 load`, `1,024 loads`, `2.5 sectors`, `3 passes`."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:.3g}"
    plural = "es" if what.endswith("ss") else "s"
    return f"{shown} {what}{plural * (shown != '1')}"


def capital(text: str) -> str:
    """Return `text` with its first letter capitalised."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return `text` capitalised, adding a full stop unless it ends in `.` or `?`."""
    return capital(text) + ("" if text.endswith((".", "?")) else ".")


def joined(parts: Iterable[object]) -> str:
    """Format a list in words, as in '3', '3 and 4' or '3, 4 and 7'."""
    *most, last = map(str, parts)
    return f"{', '.join(most)} and {last}" if most else last


class Words:
    """The sentences of a module: the table in the .toml file of the same name.

    A row has a name, and texts such as `message` and `why`. A text may span several
    lines; `{field}` in it is filled in. A row with a `pattern` is for matching the
    output of another program, such as a compiler; a list of patterns gives
    alternatives.
    """

    def __init__(self, module: str) -> None:
        """Set the file, without reading it. module: the module's `__file__`."""
        self.file = Path(module).with_suffix(".toml")

    @cached_property
    def rows(self) -> dict[str, Row]:
        """All rows by name, with each text on one line."""
        table: dict[str, Row] = folded(tomllib.loads(self.file.read_text("utf-8")))
        return table

    def __call__(self, row: str, **fields: Any) -> Row:
        """Return the texts of a row, filled in. Raises KeyError for an unknown row."""
        return {
            part: text.format(**fields)
            for part, text in self.rows[row].items()
            if part not in SOUGHT
        }

    def matching(self, said: str) -> tuple[str, re.Match[str]] | None:
        """Return the name of the first row that matches `said`, and the match, or None.

        A row matches if its `pattern` is found anywhere in `said`.
        """
        for name, row in self.rows.items():
            if found := re.search(row.get("pattern", r"(?!)"), said, re.DOTALL):
                return name, found
        return None


def folded(value: Any) -> Any:
    """Return a table with each text on one line, and lists of patterns combined."""
    if isinstance(value, dict):
        return {key: folded(part) for key, part in value.items()}
    if isinstance(value, list):
        return "|".join(map(folded, value))
    return " ".join(value.split()) if isinstance(value, str) else value


def rows(text: str) -> list[list[str]]:
    """Read a table of texts: each row is a key and the texts that belong to it.

    A line without indentation is a key; one that ends with `|` continues on the next. A
    line with four spaces begins the next text of its row; one with more continues the
    text.

    >>> rows("first\\n    One\\n      text.\\n    Another.\\nsecond\\n    A third.")
    [['first', 'One text.', 'Another.'], ['second', 'A third.']]
    """
    found: list[list[str]] = []
    for line in filter(None, text.splitlines()):
        if not line.startswith(" ") and found and found[-1][-1].endswith("|"):
            found[-1][-1] += line
        elif not line.startswith(" "):
            found.append([line])
        elif line.startswith("     "):
            found[-1][-1] += " " + line.strip()
        else:
            found[-1].append(line.strip())
    return found


def kind_of(value: object) -> str:
    """Return the name of a value's type, with its indefinite article.

    >>> kind_of(3), kind_of("three")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"a{'n' * (name[0] in 'aeiouAEIOU')} {name}"
