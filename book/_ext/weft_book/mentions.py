"""“chapter 12” in a text as a link to that chapter, where its page is in the book."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from .outline import outline_of, pages_of

# "Chapters 5 and 6 of ..." are chapters of another book, and so is the 5 alone.
MENTION = re.compile(
    r"\b[Cc]hapters?\s+\d{1,2}(?:(?:,|,?\s+(?:and|or|to))\s+\d{1,2})*+\b(?!\s+of\b)"
)
NUMBER = re.compile(r"(?:[Cc]hapters?\s+)?(\d{1,2})")
LEFT_ALONE = (nodes.reference, nodes.title, nodes.literal, nodes.FixedTextElement)


def first_pages(parts: list[dict[str, Any]]) -> dict[int, str]:
    """Return the stem of each chapter's first page by the chapter's number."""
    chapters = [chapter for part in parts for chapter in part["chapters"]]
    return {int(chapter["stem"][:2]): chapter["stem"] for chapter in chapters}


def own_number(parts: list[dict[str, Any]], stem: str) -> int | None:
    """Return the number of the chapter that the page, lab or solution is part of."""
    for part in parts:
        for chapter in part["chapters"]:
            if stem in {page["stem"] for page in pages_of(chapter)}:
                return int(chapter["stem"][:2])
    return None


def linked(text: str, targets: dict[int, str]) -> Iterator[nodes.Node]:
    """Yield the text as nodes, each number of `targets` with its word as a link."""
    at = 0
    for mention in MENTION.finditer(text):
        for number in NUMBER.finditer(text, *mention.span()):
            uri = targets.get(int(number[1]))
            if uri is None:
                continue
            yield nodes.Text(text[at : number.start()])
            yield nodes.reference(
                "", number[0], refuri=uri, internal=True, classes=["weft-chapter"]
            )
            at = number.end()
    yield nodes.Text(text[at:])


def is_words(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Text)


class ChapterMentions(SphinxPostTransform):
    """Link every chapter that a text names by its number, except the text's own."""

    default_priority = 700
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        parts = outline_of(Path(self.env.srcdir))
        here = self.env.docname
        own = own_number(parts, here.rpartition("/")[2])
        targets = {
            number: self.app.builder.get_relative_uri(here, page)
            for number, stem in first_pages(parts).items()
            if number != own and (page := f"book/{stem}") in self.env.found_docs
        }
        for element in list(self.document.findall(nodes.TextElement)):
            if not self.left_alone(element):
                element[:] = list(self.with_links(element, targets))

    def with_links(
        self, element: nodes.TextElement, targets: dict[int, str]
    ) -> Iterator[nodes.Node]:
        """Yield the element's children; Markdown makes each line a text of its own."""
        for is_text, run in groupby(element.children, key=is_words):
            if is_text:
                yield from linked("".join(text.astext() for text in run), targets)
            else:
                yield from run

    def left_alone(self, element: nodes.Element) -> bool:
        """Return whether a link would be wrong here: in a link, a title, code."""
        around: nodes.Node | None = element
        while around is not None:
            if isinstance(around, LEFT_ALONE):
                return True
            around = around.parent
        return False


def setup(app: Sphinx) -> None:
    app.add_post_transform(ChapterMentions)
