"""What a page weighs when it is first opened, on a server that compresses text."""

import gzip
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from built_book import Book, build_once

MOST = 350_000  # bytes of a page, its styles, scripts and fonts
MOST_ELEMENTS = 10_000
TYPEFACE = 60_000
OURS = 18_000  # bytes of our own styles and scripts
EVERYWHERE = (
    "weft.css",
    "search.css",
    "print.js",
    "scrolling.js",
    "search.js",
    "reader.js",
    "measured.js",
)
COMPRESSED = {".html", ".css", ".js", ".svg", ".json"}
# Widgets of an executed notebook load what draws them in Jupyter.
WIDGETS = "html-manager/embed-amd.js"


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return build_once(tmp_path_factory)


class First(HTMLParser):
    """What a browser fetches for a page at once, and how many elements it makes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: set[str] = set()
        self.blocking: list[str] = []
        self.elements = 0
        self.italic = False
        self._inert = 0
        self._head = True
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag in ("noscript", "template"):
            self._inert += 1
        if tag == "body":
            self._head = False
        if self._inert:
            return
        self.elements += 1
        self.italic |= tag in ("em", "figcaption", "blockquote")
        if tag == "script" and said.get("src"):
            self.fetched.add(said["src"])
            if self._head and not {"defer", "async"} & said.keys():
                self.blocking.append(said["src"])
        loads = {"stylesheet", "preload", "icon"}
        if tag == "link" and loads & set(said.get("rel", "").split()):
            self.fetched.add(said["href"])
        if tag == "img" and said.get("loading") != "lazy":
            self.fetched.add(said.get("src", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("noscript", "template"):
            self._inert -= 1


@cache
def weight(path: Path) -> int:
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in COMPRESSED else len(data)


def first_load(path: Path, first: First) -> int:
    """Return the bytes of a page and of what it fetches."""
    parts = [urlsplit(address) for address in first.fetched]
    files = {
        (path.parent / unquote(part.path)).resolve()
        for part in parts
        if not part.scheme and not part.netloc and part.path
    }
    return weight(path) + sum(weight(file) for file in files)


def pages(book: Book) -> Iterator[tuple[str, Path, First]]:
    for path in sorted(book.html.rglob("*.html")):
        name = path.relative_to(book.html)
        if name.parts[0] in ("book", "labs", "solutions", "search.html"):
            yield str(name), path, First(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def opened(book: Book) -> list[tuple[str, Path, First]]:
    return list(pages(book))


def test_a_page_is_light_when_it_is_first_opened(
    opened: list[tuple[str, Path, First]], book: Book
) -> None:
    italics = weight(next(book.html.glob("_static/source-sans/*italic.woff2")))
    heavy = {
        name: total
        for name, path, first in opened
        if (total := first_load(path, first) + italics * first.italic) > MOST
        and not any(WIDGETS in each for each in first.fetched)
    }
    assert len(opened) > 150
    assert heavy == {}


def test_no_page_has_very_many_elements(opened: list[tuple[str, Path, First]]) -> None:
    counts = {name: first.elements for name, _, first in opened}
    assert min(counts.values()) > 100
    assert {n: count for n, count in counts.items() if count > MOST_ELEMENTS} == {}


def test_no_script_of_size_holds_up_the_text(
    opened: list[tuple[str, Path, First]],
) -> None:
    for name, path, first in opened:
        if any(WIDGETS in each for each in first.fetched):
            continue
        files = [path.parent / urlsplit(each).path for each in first.blocking]
        assert sum(weight(file.resolve()) for file in files) < 1_000, name


def test_pages_load_no_fonts_of_icons(opened: list[tuple[str, Path, First]]) -> None:
    for name, _, first in opened:
        assert not [f for f in first.fetched if re.search("fontawesome.*(css|woff)", f)]
        assert any("fontawesome" in each for each in first.fetched), name


def test_the_typeface_is_small_and_has_its_licence(book: Book) -> None:
    fonts = list(book.html.glob("_static/source-sans/*.woff2"))
    assert {path.stem.rpartition("-")[2] for path in fonts} == {"normal", "italic"}
    assert sum(weight(path) for path in fonts) <= TYPEFACE
    licence = book.html / "_static" / "source-sans" / "LICENSE"
    assert "SIL OPEN FONT LICENSE" in licence.read_text(encoding="utf-8")


def test_what_is_ours_on_every_page_stays_small(book: Book) -> None:
    static = book.html / "_static"
    assert sum(weight(static / name) for name in EVERYWHERE) <= OURS
