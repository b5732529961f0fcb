"""The course's outline: what there is, with links, and what is to come."""

import tomllib
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .page import WeftDirective


def outline_html(parts: list[dict[str, Any]], present: set[str]) -> str:
    """Return the parts and chapters as lists; `present` are the stems that exist."""
    out = ['<div class="weft-outline">']
    for part in parts:
        chapters = part["chapters"]
        done = sum(chapter["stem"] in present for chapter in chapters)
        count = f"{done} of {len(chapters)}" if done else "to come"
        out.append(
            f'<section><h3>{escape(part["title"])} <span class="weft-count">{count}'
            f"</span></h3><p>{escape(part['about'])}</p><ol>"
        )
        for chapter in chapters:
            stem = chapter["stem"]
            name = f'<span class="weft-number">{stem[:2]}</span>'
            name += escape(chapter["title"])
            if stem in present:
                out.append(f'<li><a href="{stem}.html">{name}</a></li>')
            else:
                out.append(f'<li class="weft-coming">{name}</li>')
        out.append("</ol></section>")
    out.append("</div>")
    return "".join(out)


class OutlineDirective(WeftDirective):
    """{outline} lists the chapters of book/outline.toml; those there are, as links."""

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir, "book", "outline.toml")
        self.env.note_dependency(str(path))
        parts = tomllib.loads(path.read_text(encoding="utf8"))["parts"]
        pages = [doc.removeprefix("book/") for doc in sorted(self.env.found_docs)]
        present = {page for page in pages if page[:2].isdigit()}
        listed = {chapter["stem"] for part in parts for chapter in part["chapters"]}
        for stem in sorted(present - listed):
            self.warn(f"book/outline.toml does not list {stem}")
        return self.html(outline_html(parts, present))


def setup(app: Sphinx) -> None:
    app.add_directive("outline", OutlineDirective)
