"""Tables of sentences: every row is used, and gets all that it is filled in with."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from weft.checking.kinds import KINDS, TOPICS
from weft.checking.verdict import Verdict
from weft.wording import SOUGHT, Words, rows

WEFT = Path(__file__).parents[1] / "weft"
NO_WORDS = (
    "checking/kinds",
    "checking/limits",
    "device/tools",
    "lesson/routes",
    "libraries/headers",
)
DATA = {WEFT / f"{name}.toml" for name in NO_WORDS}
TABLES = sorted({*WEFT.rglob("*.toml")} - DATA)
OTHERS = {*SOUGHT, "note", "advice", "state"}  # of a row, that no verdict has


def strings(folder: Path) -> set[str]:
    """The texts that the modules of a folder contain as a whole."""
    return {
        node.value
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def wanted(row: dict[str, str]) -> set[str]:
    """The fields that the texts of a row are filled in with."""
    texts = [text for part, text in row.items() if part not in SOUGHT]
    parts = [part for text in texts for _, part, *_ in Formatter().parse(text) if part]
    return {re.split(r"[.\[]", part)[0] for part in parts}


def calls(table: Path) -> Iterator[tuple[str, set[str]]]:
    """The rows that modules name in a call of a table, with the fields they give it.

    A call that hands on fields which it does not name is left out.
    """
    for path in table.parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not all(k.arg for k in node.keywords):
                continue
            if ast.unparse(node.func).rpartition(".")[2] in (
                "words",
                "common",
                "verdict",
            ):
                given = {str(k.arg) for k in node.keywords}
                for part in node.args[:2]:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value, given


@pytest.mark.parametrize("table", TABLES, ids=lambda path: str(path.relative_to(WEFT)))
def test_every_row_is_used_and_can_be_said(table: Path) -> None:
    rows = Words(str(table)).rows
    named = strings(table.parent)
    if table.parent.name.endswith("programs"):  # one table for all, one for each
        named = named.union(*map(strings, WEFT.glob("*programs")))
    fields = set(Verdict.__dataclass_fields__)
    for name, row in rows.items():
        assert row.keys() <= fields | OTHERS, name
        assert not wanted(row) & fields - {"name"}, "a field of the verdict itself"
        found = "pattern" in row or name.isdecimal()
        assert found or name in named, f"nothing says {name}"
        assert row.get("kind", "pass") in KINDS
        assert row.get("topic", "") in {"", *TOPICS}
        re.compile(row.get("pattern", ""))
    for name, given in calls(table):
        if name in rows and "pattern" not in rows[name]:
            assert wanted(rows[name]) <= given | {"name"}, name


def test_a_text_of_several_lines_is_one(tmp_path: Path) -> None:
    file = tmp_path / "words.toml"
    text = "[late]\nwhy = '''\nIt is late,\n  {who}.'''\n[a]\npattern = ['b.', 'c']\n"
    file.write_text(text)
    words = Words(str(file.with_suffix(".py")))
    assert words("late", who="Ada") == {"why": "It is late, Ada."}
    assert words.matching("xc") is not None
    assert words.matching("b") is None
    with pytest.raises(KeyError):
        words("early")


def test_a_table_in_a_text_is_read() -> None:
    table = "first|\nand more\n    One\n      text.\n    Another.\nsecond\n    A third."
    assert rows(table) == [
        ["first|and more", "One text.", "Another."],
        ["second", "A third."],
    ]
