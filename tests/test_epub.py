"""The book as an EPUB: pages of XML, nothing to press, and links that lead."""

import re
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from built_book import ROOT, build_once

sys.path.insert(0, str(ROOT / "book"))
import epub
from pdf import parts_of

XHTML = "{http://www.w3.org/1999/xhtml}"
GPUS = """<div class="weft-gpus" role="radiogroup">
<input type="radio" id="g0" checked><label for="g0">NVIDIA H200</label>
<input type="radio" id="g1"><label for="g1">NVIDIA H100</label>
<div class="weft-gpu"><p>4.2 TB/s</p></div><div class="weft-gpu"><p>3 TB/s</p></div>
</div>"""
DRAWN = '<svg viewBox="0 0 4 4"><defs><marker refX="1"></marker></defs></svg>'
TEXTS = {
    "index": '<p>Read <a href="02_b.html#end">the second</a>.</p>' + DRAWN,
    "02_b": '<p id="end">a &lt; b<br><img src="../_images/a%20b.png" alt=""></p>'
    + GPUS
    + "<details><summary>Why?</summary><p>So.</p></details>",
}
PARTS = [("", ["book/index"]), ("A part", ["book/02_b"])]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Write a book of two pages."""
    for folder in ("book", "_images"):
        (tmp_path / folder).mkdir()
    (tmp_path / "_images" / "a b.png").write_bytes(b"PNG")
    for name, text in TEXTS.items():
        html = f'<article class="bd-article"><h1>{name} & more</h1>{text}</article>'
        (tmp_path / "book" / f"{name}.html").write_text(html, encoding="utf-8")
    return tmp_path


@pytest.fixture
def book(built: Path) -> zipfile.ZipFile:
    assert epub.write(built, PARTS, built / "book.epub") == 2
    return zipfile.ZipFile(built / "book.epub")


def test_a_reader_knows_what_the_file_is(book: zipfile.ZipFile) -> None:
    first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    assert book.read("mimetype") == b"application/epub+zip"
    package = book.read("book/package.opf").decode()
    for name in ("nav.xhtml", "index.xhtml", "02_b.xhtml", "book.css"):
        assert f'href="{name}"' in package
    assert 'href="_images/a b.png" media-type="image/png"' in package
    assert 'properties="svg"' in package
    assert 'properties="nav"' in package


def test_nothing_is_left_to_press(book: zipfile.ZipFile) -> None:
    page = book.read("book/02_b.xhtml").decode()
    assert "4.2 TB/s" in page
    assert "NVIDIA H200" in page
    assert not re.search("H100|3 TB/s|<input|<label", page)
    assert '<details open="open">' in page


def test_drawings_have_their_capitals_again(book: zipfile.ZipFile) -> None:
    page = book.read("book/index.xhtml").decode()
    assert 'viewBox="0 0 4 4"' in page
    assert 'refX="1"' in page


def test_a_page_that_is_no_xml_is_an_error(built: Path) -> None:
    page = built / "book" / "02_b.html"
    page.write_text('<article class="bd-article"><h1>b</h1>\x1b</article>')
    with pytest.raises(ValueError, match=r"02_b\.xhtml: not well-formed"):
        epub.write(built, PARTS, built / "book.epub")


def lost(book: zipfile.ZipFile) -> list[str]:
    """Return the links and pictures of a book that lead nowhere."""
    trees = {
        name.removeprefix("book/"): ElementTree.fromstring(book.read(name))
        for name in book.namelist()
        if name.endswith(".xhtml")
    }
    places = {(name, "") for name in trees}
    places |= {(n, each.get("id", "")) for n, t in trees.items() for each in t.iter()}
    files = {name.removeprefix("book/") for name in book.namelist()}
    found = []
    for name, tree in trees.items():
        for link in tree.iter(f"{XHTML}a"):
            file, _, at = unquote(link.get("href", "")).partition("#")
            if ":" not in file and (file, at) not in places:
                found.append(f"{name}: {file}#{at}")
        pictures = [each.get("src", "") for each in tree.iter(f"{XHTML}img")]
        found += [p for p in pictures if ":" not in p and p not in files]
    return found


def test_links_lead_to_places_of_the_book(book: zipfile.ZipFile) -> None:
    assert lost(book) == []


@pytest.mark.long
def test_the_whole_book_is_well_formed_and_its_links_lead(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    html = build_once(tmp_path_factory).html
    out = tmp_path / "book.epub"
    assert epub.write(html, list(parts_of(ROOT / "_toc.yml")), out) > 60
    assert lost(zipfile.ZipFile(out)) == []
