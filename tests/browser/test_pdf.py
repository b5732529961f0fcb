"""The book as one PDF: contents with page numbers, and links that lead on."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

sys.path.insert(0, str(Path(__file__).parents[2] / "book"))
import pdf

PAGE = """<!DOCTYPE html><html><head>
<link rel="stylesheet" href="../_static/weft.css"></head><body>
<article class="bd-article"><section id="{id}"><h1>{title}<a class="headerlink"
href="#{id}">#</a></h1>{text}</section></article></body></html>"""
QUIZ = """<div class="weft-quiz"><div><p><strong>1.</strong> What is 1 + 1?</p>
<details><summary>Two.</summary><p><strong>✓ Right.</strong> One more.</p></details>
<details><summary>One.</summary><p><strong>✗ Not this one.</strong> Add.</p></details>
</div></div>"""
CHECK = """<div class="weft-check" id="check-add">
<div class="weft-check-head"><b>Add</b></div>
<div><pre>def add(): ...</pre><p>Enable JavaScript.</p></div></div>"""
LONG = '<p style="break-after: page">A page of its own.</p>' * 3


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Write a book of two chapters and a first page."""
    texts = {
        "index": ("A book", '<p>Read <a href="02_b.html#b">the second</a>.</p>'),
        "01_a": ("First", LONG + '<input name="gpu" id="gpu">'),
        "02_b": (
            "Second",
            '<p><a href="../labs/02_b.html">Its lab</a></p>' + QUIZ + CHECK,
        ),
    }
    (tmp_path / "book").mkdir()
    for name, (title, text) in texts.items():
        html = PAGE.format(id=name[-1], title=title, text=text)
        (tmp_path / "book" / f"{name}.html").write_text(html, encoding="utf-8")
    return tmp_path


PARTS = [("", ["book/index"]), ("A part", ["book/01_a", "book/02_b"])]


def test_a_link_leads_to_a_place_in_the_pdf_or_to_the_website() -> None:
    pages = {"book/01_a", "book/bugs/race"}
    assert pdf.link("book/01_a", "#top", pages) == "#book/01_a--top"
    assert pdf.link("book/01_a", "bugs/race.html", pages) == "#book/bugs/race"
    assert pdf.link("book/bugs/race", "../01_a.html#x", pages) == "#book/01_a--x"
    site = f"{pdf.PUBLIC}/labs/01_a.html"
    assert pdf.link("book/01_a", "../labs/01_a.html", pages) == site
    assert (
        pdf.link("book/01_a", "https://example.org/", pages) == "https://example.org/"
    )


def test_the_book_is_all_that_is_read_and_no_more() -> None:
    parts = list(pdf.parts_of(pdf.ROOT / "_toc.yml"))
    pages = [page for _, kept in parts for page in kept]
    assert pages[0] == "book/index"
    assert {"book/13_shared_memory", "book/bugs/race", "book/glossary"} <= set(pages)
    assert not {"book/results", "book/kill_table"} & set(pages)
    assert all(page.startswith("book/") for page in pages)
    assert len(pages) == len(set(pages)) > 60


def test_what_pages_have_in_common_stays_apart(built: Path) -> None:
    html = pdf.whole(built, PARTS, {"book/02_b": 7})
    assert 'name="book/01_a--gpu"' in html
    assert "headerlink" not in html
    assert '<a href="#book/02_b">02 · Second</a><span>7</span>' in html


def test_a_quiz_is_answered_below_its_choices(built: Path) -> None:
    text = pdf.article(built, "book/02_b", {"book/02_b"})
    said = " ".join(text.get_text(" ").split())
    assert "1. What is 1 + 1? a) Two. b) One. 1. a) ✓ Right. One more. 1. b) ✗" in said


def test_a_check_is_on_the_website(built: Path) -> None:
    text = pdf.article(built, "book/02_b", {"book/02_b"})
    assert "JavaScript" not in text.get_text()
    assert text.select(f'a[href="{pdf.PUBLIC}/book/02_b.html#check-add"]')


def test_the_contents_have_the_numbers_of_the_pages(
    browser: Any, built: Path, tmp_path: Path
) -> None:
    page, out = tmp_path / "whole.html", tmp_path / "book.pdf"
    at: dict[str, int] = {}
    for _ in range(2):
        page.write_text(pdf.whole(built, PARTS, at), encoding="utf-8")
        pdf.print_to(browser, page, out)
        at = pdf.places(out)
    printed = PdfReader(out)
    texts = [each.extract_text() for each in printed.pages]
    for name, title in (("book/01_a", "First"), ("book/02_b", "Second")):
        assert title in texts[at[name] - 1]
        contents = next(text for text in texts if "Contents" in text)
        assert f"{title} {at[name]}" in contents
    assert at["book/02_b"] >= at["book/01_a"] + 3
    assert [each.title for each in printed.outline if not isinstance(each, list)]
