"""Read a number out of a recording, by what its rows and columns are called."""

import re
from itertools import groupby
from pathlib import Path

VALUE = re.compile(r"-?[\d,]*\d(?:\.\d+)?(?:e-?\d+)?%?$")


class MissingRecord(LookupError):
    """There is no such number, or more than one; the message says what was sought."""


def blocks(text: str) -> list[list[str]]:
    """Return the tables of a recording: the lines between two empty ones."""
    lines = [line for line in text.splitlines() if not line.startswith(("$", "#"))]
    grouped = groupby(lines, key=lambda line: bool(line.strip()))
    return [list(group) for filled, group in grouped if filled]


def number(text: str) -> float:
    """Return `1,127.9` or `12%` as a number."""
    return float(text.rstrip("%").replace(",", ""))


def cell(path: Path, row: str, column: str, table: str = "") -> float:
    """Return the number in a row under a column heading.

    Headings and numbers end at the same place, as the recordings print them. `table` is
    a part of the first line of the table, where several have such a row and column.
    Raises MissingRecord unless there is exactly one.
    """
    found = []
    for head, *lines in blocks(path.read_text(encoding="utf8")):
        if table not in head:
            continue
        for line in lines:
            if not line.strip().startswith(row):
                continue
            rest = line.index(row) + len(row)
            for match in re.finditer(r"\S+", line[rest:]):
                title = head[: rest + match.end()]
                ends = len(head) <= len(title) or head[len(title)] == " "
                if VALUE.match(match[0]) and ends and title.endswith(column):
                    found.append(number(match[0]))
    if len(found) != 1:
        raise MissingRecord(
            f"{path.name}: {len(found)} numbers for row {row!r}, column {column!r}"
            + (f" of the table {table!r}" if table else "")
        )
    return found[0]


def match(path: Path, pattern: str) -> float:
    """Return the number that the one group of a regular expression finds, once."""
    found = re.findall(pattern, path.read_text(encoding="utf8"), re.M)
    if len(found) != 1:
        raise MissingRecord(f"{path.name}: {pattern!r} is there {len(found)} times")
    return number(found[0])
