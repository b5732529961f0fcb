"""Print the whole book as one PDF, with a contents page, in Chromium.

    python book/pdf.py [--html FOLDER] [--out FILE]      after `make book`

The pages are put into one, each with its addresses, so links between them stay links.
It is printed twice: the contents get the numbers of the pages from the first time.
Left out are labs and solutions, which are notebooks, and the pages of evidence, whose
rows can be filtered on the website.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from posixpath import join, normpath
from string import ascii_lowercase
from typing import Any
from urllib.parse import urldefrag, urlsplit

from bs4 import BeautifulSoup, Tag
from pypdf import PdfReader, PdfWriter
from stills import NAMES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from weft.links import PUBLIC  # noqa: E402
from weft.versions import __version__  # noqa: E402

HTML = ROOT / "_build" / "html"
PDF = ROOT / "_build" / "warp-and-weft.pdf"
TABLES = ("kill_table", "kill_table_00_19", "kill_table_20_38", "results", "agreement")
EVIDENCE = {f"book/{name}" for name in (*TABLES, "status")}
# What has a use on a screen only.
SCREEN = (
    ".headerlink, .weft-strands, .weft-show, script, noscript, button, .weft-button"
)
# A quiz whose choices cannot be opened.
QUIZ = """
.choices p { margin: 0.25rem 0; }
.choices p + p { margin-left: 1.2rem; }
.answers { margin-top: 1.4rem; font-size: 0.88em; }
.answers p { margin: 0.25rem 0; }
"""
STYLE = """
@page { size: A4; margin: 18mm 17mm 20mm; }
html { font-size: 10.5pt !important; }
body { background: none; }
.bd-article { max-width: none !important; padding: 0 !important; }
.bd-article h1 { break-before: page; }
.bd-article :is(h1, h2, h3) { break-after: avoid; }
.weft-check { break-inside: avoid-page; }
/* A repeating gradient is printed as a bitmap of the page's size. */
.weft-baseline .weft-fill, .bd-article h2::after { background: var(--weft-weft); }
:is(.weft-wide, .weft-frame, .weft-formula, .pst-scrollable-table-container),
.bd-article .highlight pre { background-image: none !important; }
.front { padding-top: 28vh; break-after: page; }
.front h1, .contents h1 { break-before: auto !important; }
.contents li { display: flex; gap: 0.6rem; list-style: none; }
.contents li a { flex: 1; }
.contents ul { padding: 0; margin: 0 0 0.8rem; break-inside: avoid; }
.contents p { margin: 0.8rem 0 0.2rem; font-weight: 700; break-after: avoid; }
.weft-gpus, .choices { break-inside: avoid; }
.bd-article summary { list-style: none; }
"""
FOOT = (
    '<div style="width:100%;text-align:center;font:8pt sans-serif;color:#555">'
    '<span class="pageNumber"></span></div>'
)


def parts_of(toc: Path) -> Iterator[tuple[str, list[str]]]:
    """Give the parts of the contents with their pages, in reading order."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    site = parse_toc_yaml(toc)

    def below(name: str) -> Iterator[str]:
        yield name
        for subtree in site[name].subtrees:
            for item in subtree.items:
                yield from below(str(item))

    yield "", [site.root.docname]
    for subtree in site.root.subtrees:
        pages = [name for item in subtree.items for name in below(str(item))]
        kept = [p for p in pages if p.startswith("book/") and p not in EVIDENCE]
        yield subtree.caption or "", kept


def anchor(page: str, fragment: str = "") -> str:
    """Return where a place of a page is in the one page that has them all."""
    return f"{page}--{fragment}" if fragment else page


def link(page: str, target: str, pages: set[str]) -> str:
    """Return what a link of a page leads to in the PDF: a place in it, or the site."""
    address, fragment = urldefrag(target)
    if urlsplit(target).scheme or urlsplit(target).netloc:
        return target
    there = normpath(join(page, "..", address)).removesuffix(".html")
    there = there if address else page
    if there in pages:
        return f"#{anchor(there, fragment)}"
    return f"{PUBLIC}/{there}.html" + (f"#{fragment}" if fragment else "")


def article(html: Path, page: str, pages: set[str]) -> Tag:
    """Return the text of a built page, with its addresses and links as in the PDF."""
    soup = BeautifulSoup((html / f"{page}.html").read_text("utf-8"), "html.parser")
    text = soup.select_one("article.bd-article")
    if text is None:
        raise ValueError(f"{page} has no article")
    for each in text.select(SCREEN):
        each.decompose()
    for each in text.find_all(True):
        drawn = each.find_parent("svg") is not None
        if each.get("id") and not drawn:
            each["id"] = anchor(page, str(each["id"]))
        if each.get("name") and each.name == "input":
            each["name"] = anchor(page, str(each["name"]))
        if each.name == "a" and each.get("href"):
            each["href"] = link(page, str(each["href"]), pages)
        if each.name == "img" and not str(each["src"]).startswith("data:"):
            each["src"] = normpath(join(page, "..", str(each["src"])))
    for check in text.select(".weft-check[id]"):
        _send_to_website(soup, check, page)
    for quiz in text.select(".weft-quiz"):
        _answer_below(soup, quiz)
    text["id"] = page
    return text


def _send_to_website(soup: BeautifulSoup, check: Tag, page: str) -> None:
    """Say where the exercise can be checked, as it cannot be on paper."""
    place = str(check["id"]).removeprefix(f"{page}--")
    for said in check.select(".weft-check-head + div > p"):
        link = soup.new_tag("a", href=f"{PUBLIC}/{page}.html#{place}")
        link.string = "on this page of the website"
        said.clear()
        said.extend(["Write and check your answer ", link, ", or in the lab."])


def _answer_below(soup: BeautifulSoup, quiz: Tag) -> None:
    """Give a quiz's choices letters, and put what they hide at the end of the quiz."""
    answers = soup.new_tag("div", attrs={"class": "answers"})
    number, letters, choices = "", iter(""), answers
    for each in quiz.select("p:has(> strong:first-child), details"):
        if each.name == "details" and each.summary and each.p:
            letter = next(letters)
            choices.append(_paragraph(soup, f"{letter}) ", each.summary))
            answers.append(_paragraph(soup, f"{number} {letter}) ", each.p))
            each.decompose()
        elif each.strong and each.find_parent("details") is None:
            number, letters = each.strong.get_text(), iter(ascii_lowercase)
            choices = soup.new_tag("div", attrs={"class": "choices"})
            each.insert_before(choices)
            choices.append(each)
    quiz.append(answers)


def _paragraph(soup: BeautifulSoup, words: str, text: Tag) -> Tag:
    """Return a paragraph that begins with `words` and goes on as `text` does."""
    said = soup.new_tag("p")
    said.extend([words, *list(text.contents)])
    return said


def title_of(text: Tag) -> str:
    heading = text.find("h1")
    return heading.get_text().strip() if isinstance(heading, Tag) else ""


def contents(
    parts: list[tuple[str, list[str]]], titles: dict[str, str], at: dict[str, int]
) -> str:
    """Return the contents, with the numbers of the pages that are known."""
    rows = []
    for caption, pages in parts:
        if caption:
            rows.append(f"<p>{escape(caption)}</p>")
        items = "".join(
            f'<li><a href="#{page}">{escape(titles[page])}</a>'
            f"<span>{at.get(page, 999)}</span></li>"
            for page in pages
        )
        rows.append(f"<ul>{items}</ul>")
    return f'<section class="contents"><h1>Contents</h1>{"".join(rows)}</section>'


def whole(html: Path, parts: list[tuple[str, list[str]]], at: dict[str, int]) -> str:
    """Return the book as one page."""
    pages = {page for _, kept in parts for page in kept}
    texts = {page: article(html, page, pages) for page in sorted(pages)}
    titles = {page: numbered(page, title_of(text)) for page, text in texts.items()}
    first = BeautifulSoup((html / "book/index.html").read_text("utf-8"), "html.parser")
    styles = "".join(
        f'<link rel="stylesheet" href="{normpath(join("book", str(each["href"])))}">'
        for each in first.select('link[rel="stylesheet"]')
    )
    extra = "".join(
        f'<link rel="stylesheet" href="_static/{name}">'
        for name in ("check/check.css", "figures/figures.css", "predict.css")
        if (html / "_static" / name).is_file()
    )
    front = (
        '<section class="front"><h1>Warp &amp; Weft</h1>'
        "<p>GPU programming in Python, from the first kernel to the speed of the "
        f"vendor’s libraries</p><p>Version {escape(__version__)}<br>"
        "The Warp &amp; Weft authors. Text: CC BY 4.0. Code: MIT.<br>"
        f'<a href="{PUBLIC}/">{PUBLIC}</a></p></section>'
    )
    body = "".join(str(texts[page]) for _, kept in parts for page in kept)
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>Warp &amp; Weft</title>{styles}{extra}"
        f"<style>{STYLE}{QUIZ}</style></head>"
        f'<body><article class="bd-article">{front}{contents(parts, titles, at)}'
        f"</article>{body}</body></html>"
    )


def numbered(page: str, title: str) -> str:
    number = Path(page).name[:2]
    return f"{number} · {title}" if number.isdigit() else title


def places(pdf: Path) -> dict[str, int]:
    """Return page of the book -> number of the page in the PDF, from 1."""
    reader = PdfReader(pdf)
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def print_to(browser: Any, page: Path, pdf: Path) -> None:
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(page.as_uri(), timeout=0)
    tab.pdf(
        path=pdf,
        prefer_css_page_size=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOT,
        outline=True,
        tagged=True,
    )
    tab.close()


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the book as one PDF.")
    parser.add_argument("--html", type=Path, default=HTML, help="the built book")
    parser.add_argument("--out", type=Path, default=PDF, help="the PDF")
    args = parser.parse_args()
    path = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), ""
    )
    if not path:
        print("the book is printed by Chromium: apt install chromium", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    parts = list(parts_of(ROOT / "_toc.yml"))
    html = args.html.resolve()
    page = html / "whole.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=0
        )
        at: dict[str, int] = {}
        for _ in range(2):
            page.write_text(whole(html, parts, at), encoding="utf-8")
            print_to(browser, page, args.out)
            at = places(args.out)
        browser.close()
    page.unlink()
    writer = PdfWriter(clone_from=args.out)
    writer.add_metadata({"/Title": "Warp & Weft", "/Author": "The Warp & Weft authors"})
    writer.write(args.out)
    size = args.out.stat().st_size / 1e6
    print(f"{len(PdfReader(args.out).pages)} pages, {size:.1f} MB: {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
