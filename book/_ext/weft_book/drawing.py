"""Drawings: SVG from book/figures put into the page, so that it takes its colours."""

import re
from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from .page import WeftDirective

_prologue = re.compile(r"^\s*(?:<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|\s)*", re.S)
_ids = re.compile(r'\bid="([^"]+)"')
_taken = re.compile(r'\s(?:role|aria-[\w-]+|width|height)="[^"]*"')
_tag = re.compile(r"<svg\b[^>]*>")
_size = re.compile(r'\bfont-size\s*[=:]\s*"?([\d.]+)')
_narrow = re.compile(r'\sdata-narrow="([^"]*)"')
_words = re.compile(
    r'<text class="words"[^>]*?\by="([\d.]+)"([^>]*)>(.*?)</text>', re.S
)
READABLE = 11  # pixels; smaller text cannot be read on a phone
PHONE = 328  # pixels of text column on a narrow phone
NARROW = "narrow"  # the folder of drawings that are drawn again for a phone
LINE = 20  # units; lines of text nearer than this are one paragraph


def inline_svg(svg: str, name: str, alt: str) -> str:
    """Return an SVG fit for a page.

    Its ids get the drawing's name in front (a page may hold several drawings), and
    its root says `alt` to those who do not see it. Raises ValueError.
    """
    svg = _prologue.sub("", svg, count=1)
    tag = _tag.match(svg)
    if tag is None:
        raise ValueError("it does not begin with an <svg> element")
    if "viewBox=" not in tag[0]:
        raise ValueError("its <svg> has no viewBox, so it cannot shrink to a phone")
    if re.search(r"<script|\bon\w+=|(?:href|src)=\"(?!#)", svg):
        raise ValueError("it has a script or refers to another file")
    for name_in in set(_ids.findall(svg)):
        new = f"{name}-{name_in}"
        svg = svg.replace(f'id="{name_in}"', f'id="{new}"')
        svg = svg.replace(f"url(#{name_in})", f"url(#{new})")
        svg = svg.replace(f'href="#{name_in}"', f'href="#{new}"')
    svg = re.sub(r"\s*<title>.*?</title>", "", svg, count=1, flags=re.S)
    tag = _tag.match(svg)
    assert tag is not None
    attributes = _taken.sub("", tag[0][4:-1])
    attributes = _narrow.sub("", attributes)
    opening = f'<svg role="img" aria-label="{escape(alt)}"{attributes}>'
    drawn = svg[tag.end() : svg.rindex("</svg>")]
    return f'{opening}<g id="{name}-all">{drawn}</g></svg>'


def windows(svg: str) -> list[tuple[float, float, float, float]]:
    """Return the parts that a phone shows one below the other: x, y, width, height.

    They are what data-narrow of the root says, each as four numbers, with semicolons
    between them.
    """
    listed = _narrow.search(svg)
    parts = listed[1].split(";") if listed else []
    return [(x, y, w, h) for x, y, w, h in (map(float, part.split()) for part in parts)]


def narrow_html(svg: str, name: str) -> str:
    """Return the drawing for a phone, or "" if it has no windows.

    The windows look at the parts of the inline SVG, in the order of data-narrow. A line
    of class "words", too wide for a window, is set between them as a paragraph.
    """
    views = windows(svg)
    if not views:
        return ""
    tag = re.search(_tag, svg)
    assert tag is not None
    attributes = re.sub(r'\s(?:viewBox|xmlns)="[^"]*"', "", tag[0][4:-1])
    attributes = _narrow.sub("", _taken.sub("", attributes))
    widest = max(width for _, _, width, _ in views)
    parts = []
    top = 0.0
    for x, y, width, height in views:
        top = max(top, y)
        size = f"width:min({100 * width / widest:.1f}%,{width * 1.25:.0f}px)"
        view = f'viewBox="{x:g} {y:g} {width:g} {height:g}"'
        seen = f'<use href="#{name}-all"/>'
        parts.append((top, f'<svg style="{size}" {view}{attributes}>{seen}</svg>'))
    parts += paragraphs(svg)
    inside = "".join(html for _, html in sorted(parts, key=lambda part: part[0]))
    return f'<div class="weft-narrow" aria-hidden="true">{inside}</div>'


def drawn_for_a_phone(svg: str, name: str) -> str:
    """Return a drawing's own version for a phone. It is not read out: the whole one is.

    Raises ValueError if its text would be too small there.
    """
    if legible_width(svg) > PHONE:
        small = f"at {PHONE} pixels its smallest text is less than {READABLE} high"
        raise ValueError(f"its version in {NARROW}/: {small}")
    drawn = inline_svg(svg, f"{name}-{NARROW}", "")
    drawn = drawn.replace(' role="img" aria-label=""', "", 1)
    size = f"width:min(100%,{width_of(svg) * 1.25:.0f}px)"
    return (
        f'<div class="weft-narrow" aria-hidden="true"><div style="{size}">{drawn}'
        "</div></div>"
    )


def paragraphs(svg: str) -> list[tuple[float, str]]:
    """Return the tops and the HTML of lines of class "words", joined where near."""
    joined: list[tuple[float, float, bool, str]] = []
    for y, attributes, words in _words.findall(svg):
        bold = "font-weight" in attributes
        text = re.sub(r"<[^>]*>", "", words)
        if joined and joined[-1][2] == bold and 0 < float(y) - joined[-1][1] < LINE:
            first, _, _, before = joined.pop()
            joined.append((first, float(y), bold, f"{before} {text}"))
        else:
            joined.append((float(y), float(y), bold, text))
    return [
        (y, f'<p class="weft-line{" weft-bold" if bold else ""}">{text}</p>')
        for y, _, bold, text in joined
    ]


def width_of(svg: str) -> float:
    """Return the width of an SVG's viewBox, in its own units."""
    box = re.search(r'viewBox="([^"]+)"', svg)
    return float(re.split(r"[\s,]+", box[1].strip())[2]) if box else 0.0


def legible_width(svg: str) -> float:
    """Return how wide an SVG has to be for its smallest text to be READABLE pixels."""
    sizes = [float(size) for size in _size.findall(svg)]
    return width_of(svg) * READABLE / min(sizes) if sizes else 0.0


class DrawingDirective(WeftDirective):
    """{drawing} name puts book/figures/name.svg here; the content is its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "alt": directives.unchanged_required,
        "name": directives.unchanged,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        path = Path(self.env.srcdir, "book", "figures", f"{name}.svg")
        self.env.note_dependency(str(path))
        if not path.is_file():
            return self.warn(f"there is no book/figures/{name}.svg")
        if not self.options.get("alt"):
            return self.warn("say in :alt: what is seen")
        text = path.read_text(encoding="utf8")
        own = path.parent / NARROW / path.name
        try:
            svg = inline_svg(text, name, self.options["alt"])
            if own.is_file():
                self.env.note_dependency(str(own))
                narrow = drawn_for_a_phone(own.read_text(encoding="utf8"), name)
            else:
                narrow = narrow_html(text, name)
        except ValueError as error:
            return self.warn(error)
        figure = nodes.figure(classes=["weft-drawing", *self.options.get("class", [])])
        # On a phone a wide drawing scrolls in its frame; a small one is not blown up.
        width = width_of(text)
        limits = (
            f"--weft-legible:{legible_width(text):.0f}px;max-width:{width * 1.25:.0f}px"
        )
        frame = "weft-frame weft-whole" if narrow else "weft-frame"
        whole = f'<div class="{frame}"><div style="{limits}">{svg}</div></div>'
        figure += self.html(whole + narrow)
        if self.content:
            caption = " ".join(self.content)
            inlines, messages = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *inlines)
            figure += messages
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]


def setup(app: Sphinx) -> None:
    app.add_directive("drawing", DrawingDirective)
