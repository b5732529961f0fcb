"""The sources that the book cites: complete, and none of them twice."""

import re
from pathlib import Path

import pytest
from pybtex.database import Entry, parse_file

ROOT = Path(__file__).parents[1]
SOURCES: dict[str, Entry] = dict(parse_file(str(ROOT / "book/references.bib")).entries)
CITED = re.compile(r"\{cite:[pt]\}`([^`]+)`")


@pytest.mark.parametrize("key", SOURCES)
def test_a_source_has_a_title_an_author_and_a_year(key: str) -> None:
    source = SOURCES[key]
    assert source.persons.get("author") or source.persons.get("editor")
    assert source.fields.get("title")
    assert source.fields.get("year")


def test_no_source_has_two_keys() -> None:
    found: dict[tuple[str, ...], str] = {}
    for key, source in SOURCES.items():
        same = (source.fields["title"], source.fields.get("url", ""))
        assert found.setdefault(same, key) == key
    assert len(found) > 300


def test_every_source_is_cited() -> None:
    cited: set[str] = set()
    for path in (ROOT / "book").rglob("*.md"):
        for keys in CITED.findall(path.read_text(encoding="utf8")):
            cited |= {key.strip() for key in keys.split(",")}
    assert SOURCES.keys() - cited == set()
