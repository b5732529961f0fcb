"""Put the whole book into one EPUB, for tablets and e-readers.

    python book/epub.py [--html FOLDER] [--out FILE]      after `make book`

It has the pages of the PDF, and each stays a page. A choice of GPU is made for the
reader, figures are the still ones, and what cannot be pressed is left out.
"""

import argparse
import mimetypes
import re
import sys
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from posixpath import join
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from bs4 import Tag
from pdf import HTML, PUBLIC, QUIZ, ROOT, article, numbered, parts_of, title_of

from weft.versions import __version__

EPUB = ROOT / "_build" / "warp-and-weft.epub"
STYLES = "weft.css", "pygments.css", "figures/figures.css", "check/check.css"
THEME = "styles/pydata-sphinx-theme.css"
CONTROLS = "fieldset, input, select, output, [hidden]"
# An HTML parser writes names in lower case; in XML, SVG's have capitals.
CAPITALS = {
    name.lower(): name
    for name in (
        "viewBox preserveAspectRatio refX refY markerWidth markerHeight markerUnits "
        "gradientUnits gradientTransform patternUnits patternTransform textLength "
        "lengthAdjust clipPathUnits linearGradient radialGradient clipPath "
        "foreignObject"
    ).split()
}
SPACES = {
    "svg": "http://www.w3.org/2000/svg",
    "math": "http://www.w3.org/1998/Math/MathML",
}
BASE = """
body { margin: 0 4%; line-height: 1.5; color: #1c1c1a; background: none; }
pre { white-space: pre-wrap; font-size: 0.82em; padding: 0.6em; border: 1px solid #bbb }
code { font-size: 0.9em; }
table { border-collapse: collapse; font-size: 0.85em; margin: 1em 0; }
th, td { padding: 0.2em 0.5em; text-align: left; vertical-align: top; }
svg, img { max-width: 100%; height: auto; }
figure { margin: 1.2em 0; }
figcaption, caption { font-size: 0.88em; text-align: left; }
.weft-bar { display: inline-block; width: 8em; }
.weft-baseline .weft-fill { background: var(--weft-weft); }
.weft-wide, .weft-frame, pre { background-image: none !important; }
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
 lang="en" xml:lang="en" data-theme="light">
<head><title>{title}</title><link rel="stylesheet" href="book.css"/></head>
<body>{body}</body></html>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"
 xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{id}</dc:identifier>
<dc:title>Warp &amp; Weft</dc:title>
<dc:language>en</dc:language>
<dc:creator>The Warp &amp; Weft authors</dc:creator>
<dc:rights>Text: CC BY 4.0. Code: MIT.</dc:rights>
<dc:source>{source}</dc:source>
<meta property="dcterms:modified">{modified}</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/package.opf"
 media-type="application/oebps-package+xml"/></rootfiles></container>
"""


def file_of(page: str) -> str:
    """Return the name of a page's file: book/bugs/race -> bugs-race.xhtml."""
    return page.removeprefix("book/").replace("/", "-") + ".xhtml"


def chapter(html: Path, page: str, pages: set[str]) -> Tag:
    """Return a page as it is in the EPUB: nothing to press, links to its files."""
    text = article(html, page, pages)
    for gpus in text.select(".weft-gpus"):
        first, *others = gpus.select(".weft-gpu")
        name, *_ = gpus.select("label")
        for each in (*others, *gpus.select("label")[1:]):
            each.decompose()
        name.name, name.attrs = "p", {"class": "weft-of"}
        gpus.attrs = {"class": "weft-of-one"}
        first["style"] = "display: block"
    for each in text.select(CONTROLS):
        each.decompose()
    for each in text.find_all(True):
        each.name = CAPITALS.get(each.name, each.name)
        each.attrs = {CAPITALS.get(k, k): v for k, v in each.attrs.items()}
        if each.name in SPACES:
            each["xmlns"] = SPACES[each.name]
        if each.name == "details":
            each["open"] = "open"
        target = str(each.get("href", ""))
        if target.startswith("#") and each.name == "a":
            there, _, _ = target[1:].partition("--")
            each["href"] = file_of(there) + (target if "--" in target else "")
        if each.name == "img":
            each["src"] = unquote(str(each["src"]))
    return text


def pictures(text: Tag) -> Iterator[str]:
    """Yield the places of a page's pictures, from the root of the site."""
    for each in text.select("img"):
        if not urlsplit(str(each["src"])).scheme:
            yield str(each["src"])


def checked(name: str, text: str) -> str:
    """Return XML as it is. Raises ValueError if it is not well-formed."""
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"{name}: {error}") from None
    return text


def style(static: Path) -> str:
    """Return the style sheet: the colours of the light theme, and the book's own."""
    theme = (static / THEME).read_text("utf-8") if (static / THEME).is_file() else ""
    colours = re.findall(r"--pst-color-[\w-]+:\s*[^;}]+", theme.partition("dark")[0])
    own = [static / name for name in STYLES if (static / name).is_file()]
    texts = [path.read_text("utf-8") for path in own]
    return "\n".join([f":root {{ {'; '.join(colours)} }}", *texts, BASE, QUIZ])


def navigation(parts: list[tuple[str, list[str]]], titles: dict[str, str]) -> str:
    """Return the contents, as a page and as the reader's own menu."""
    rows = []
    for caption, pages in parts:
        items = "".join(
            f'<li><a href="{file_of(page)}">{escape(titles[page])}</a></li>'
            for page in pages
        )
        inner = f"<span>{escape(caption)}</span><ol>{items}</ol>"
        rows.append(f"<li>{inner}</li>" if caption else items)
    body = f'<nav epub:type="toc"><h1>Contents</h1><ol>{"".join(rows)}</ol></nav>'
    return PAGE.format(title="Contents", body=body)


def write(html: Path, parts: list[tuple[str, list[str]]], out: Path) -> int:
    """Write the EPUB; return how many pages it has.

    Raises ValueError for a page that is not well-formed XML.
    """
    order = [page for _, pages in parts for page in pages]
    texts = {page: chapter(html, page, set(order)) for page in order}
    titles = {page: numbered(page, title_of(text)) for page, text in texts.items()}
    images = sorted({place for text in texts.values() for place in pictures(text)})
    files = {"nav.xhtml": navigation(parts, titles)}
    for page, text in texts.items():
        files[file_of(page)] = PAGE.format(title=escape(titles[page]), body=text)
    manifest = [
        f'<item id="f{n}" href="{escape(name)}" media-type="application/xhtml+xml"'
        f"{properties(name, text)}/>"
        for n, (name, text) in enumerate(files.items())
    ]
    manifest += [
        f'<item id="i{n}" href="{escape(name)}" media-type="{kind(name)}"/>'
        for n, name in enumerate(["book.css", *images])
    ]
    files["package.opf"] = PACKAGE.format(
        id=uuid.uuid5(uuid.NAMESPACE_URL, f"{PUBLIC}/{__version__}"),
        source=PUBLIC,
        modified=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        manifest="\n".join(manifest),
        spine="\n".join(f'<itemref idref="f{n}"/>' for n in range(len(order) + 1)),
    )
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", CONTAINER)
        for name, text in files.items():
            book.writestr(join("book", name), checked(name, text))
        book.writestr("book/book.css", style(html / "_static"))
        for name in images:
            book.write(html / name, join("book", name))
    return len(order)


def kind(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def properties(name: str, text: str) -> str:
    """Return what a reader has to be able to show for a page, as EPUB wants it said."""
    found = [each for each, space in SPACES.items() if space in text]
    found = ["mathml" if each == "math" else each for each in found]
    found += ["nav"] if name == "nav.xhtml" else []
    return f' properties="{" ".join(found)}"' if found else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Put the book into one EPUB.")
    parser.add_argument("--html", type=Path, default=HTML, help="the built book")
    parser.add_argument("--out", type=Path, default=EPUB, help="the EPUB")
    args = parser.parse_args()
    pages = write(args.html.resolve(), list(parts_of(ROOT / "_toc.yml")), args.out)
    size = args.out.stat().st_size / 1e6
    print(f"{pages} pages, {size:.1f} MB: {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
