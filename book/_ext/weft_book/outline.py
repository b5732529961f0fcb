"""The course's outline: what there is, with links, and what is to come.

A chapter of book/outline.toml has a `stem`, shared by its page, its lab and its
solution. It may have further `pages`, which share the lab.
"""

import tomllib
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .page import WeftDirective


def outline_of(root: Path) -> list[dict[str, Any]]:
    """Return the parts of book/outline.toml; an empty list where there is none."""
    path = root / "book" / "outline.toml"
    if not path.is_file():
        return []
    outline: dict[str, list[dict[str, Any]]] = tomllib.loads(path.read_text("utf8"))
    return outline["parts"]


def pages_of(chapter: dict[str, Any]) -> list[dict[str, str]]:
    """Return the chapter's pages, each with `stem` and `title`, the first first."""
    return [chapter, *chapter.get("pages", [])]


def pages_with(root: Path, stem: str) -> list[dict[str, str]]:
    """Return the pages of the chapter that the page `stem` belongs to."""
    for part in outline_of(root):
        for chapter in part["chapters"]:
            if stem in {page["stem"] for page in pages_of(chapter)}:
                return pages_of(chapter)
    return [{"stem": stem, "title": ""}]


def item_html(page: dict[str, str], present: set[str], number: str) -> tuple[str, bool]:
    """Return a page's name, a link if it is `present`, and whether it is."""
    name = number + escape(page["title"])
    if page["stem"] in present:
        return f'<a href="{page["stem"]}.html">{name}</a>', True
    return name, False


def outline_html(parts: list[dict[str, Any]], present: set[str]) -> str:
    """Return the parts and chapters as lists; `present` are the stems that exist."""
    out = ['<div class="weft-outline">']
    for part in parts:
        chapters = part["chapters"]
        done = sum(chapter["stem"] in present for chapter in chapters)
        title = escape(part["title"])
        if done < len(chapters):
            count = f"{done} of {len(chapters)}" if done else "to come"
            title += f' <span class="weft-count">{count}</span>'
        out.append(f"<section><h3>{title}</h3><p>{escape(part['about'])}</p><ol>")
        for chapter in chapters:
            number = f'<span class="weft-number">{chapter["stem"][:2]}</span>'
            name, done = item_html(chapter, present, number)
            more = [item_html(p, present, "")[0] for p in pages_of(chapter)[1:]]
            name += "".join(f'<div class="weft-more">{link}</div>' for link in more)
            state = "" if done else ' class="weft-coming"'
            out.append(f"<li{state}>{name}</li>")
        out.append("</ol></section>")
    out.append("</div>")
    return "".join(out)


class OutlineDirective(WeftDirective):
    """{outline} lists the chapters of book/outline.toml; those there are, as links."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / "book" / "outline.toml"))
        parts = outline_of(root)
        pages = [doc.removeprefix("book/") for doc in sorted(self.env.found_docs)]
        present = {page for page in pages if page[:2].isdigit()}
        chapters = [chapter for part in parts for chapter in part["chapters"]]
        listed = {page["stem"] for chapter in chapters for page in pages_of(chapter)}
        for stem in sorted(present - listed):
            self.warn(f"book/outline.toml does not list {stem}")
        return self.html(outline_html(parts, present))


def setup(app: Sphinx) -> None:
    app.add_directive("outline", OutlineDirective)
