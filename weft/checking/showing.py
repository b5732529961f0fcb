"""How a verdict looks: in a terminal, and in a notebook."""

import html
import textwrap
from collections.abc import Sequence
from typing import Protocol

from weft import markup
from weft.checking.kinds import FAILED, PASSED, TO_DO
from weft.lesson import Onward
from weft.places import Note, Place

WIDTH = 80  # characters of a line in a terminal
MONOSPACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.92em"
)
COLOURS = {PASSED: "#2a8f5c", TO_DO: "#4878a8", FAILED: "#c8473c"}
SPOKEN = {PASSED: "Passed", TO_DO: "To do", FAILED: "Not passed"}
HIDDEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"


class Shown(Protocol):
    """What a verdict has to say; see `weft.checking.verdict.Verdict`."""

    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def places(self) -> Sequence[Note]: ...
    @property
    def message(self) -> str: ...
    @property
    def explanation(self) -> str: ...
    @property
    def who(self) -> str: ...
    @property
    def facts(self) -> Sequence[str]: ...
    @property
    def where(self) -> tuple[str, str, str]: ...
    @property
    def read_on(self) -> str: ...
    @property
    def onward(self) -> Onward | None: ...


def wrapped(text: str, later: str = "  ") -> str:
    """`text` for a terminal, indented; the lines after the first by `later`."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(places: Sequence[Note]) -> str:
    """Source lines for a terminal, each with its note: beside it where both fit."""
    width = max(len(p.text) for p, _ in places)
    beside = all(14 + width + len(note) <= WIDTH for _, note in places)
    shown = []
    for place, note in places:
        line = f"  line {place.line:<4} "
        if beside or not note:
            shown.append(f"{line}{place.text:<{width}}   {note}".rstrip())
        else:
            shown.append(f"{line}{place.text}\n{' ' * len(line)}  {note}")
    return "\n".join(shown)


def _row(place: Place, note: str) -> str:
    """A source line as HTML, the offending expression underlined, its note below."""
    text = html.escape(place.text)
    part = html.escape(place.expression)
    if part and part != text and part in text:
        text = text.replace(
            part,
            "<span style='text-decoration:underline wavy #c8473c;"
            f"text-underline-offset:.2em'>{part}</span>",
            1,
        )
    below = (
        f'<span></span><span style="{markup.MUTED};font-size:.92em">'
        f"{html.escape(note)}</span>"
        if note
        else ""
    )
    return (
        f'<span style="{markup.MUTED};white-space:nowrap">line {place.line}</span>'
        f'<span style="white-space:pre-wrap;overflow-wrap:anywhere;{MONOSPACE}">'
        f"{text}</span>{below}"
    )


def text(verdict: Shown) -> str:
    """A verdict as a terminal shows it."""
    parts = [verdict.title]
    if verdict.places:
        parts.append(_lines(verdict.places))
    parts += [wrapped(text) for text in (verdict.message, verdict.explanation) if text]
    if verdict.message and verdict.explanation:  # one paragraph each, with no gap
        parts[-2:] = ["\n".join(parts[-2:])]
    if verdict.who:
        parts.append(wrapped(f"({verdict.who})"))
    if verdict.facts:
        parts.append("\n".join(wrapped(fact, "    ") for fact in verdict.facts))
    if verdict.read_on:
        parts.append(f"  → {verdict.read_on}")
    if verdict.onward:
        parts.append(str(verdict.onward))
    return "\n\n".join(parts)


def html_of(verdict: Shown) -> str:
    """A verdict as a notebook shows it, without a stylesheet or a script."""
    colour, word = COLOURS[verdict.state], SPOKEN[verdict.state]
    mark, _, title = verdict.title.partition(" ")
    name, _, headline = title.partition(" — ")
    parts = [
        f'<p style="margin:.2em 0"><span aria-hidden="true">{mark} </span>'
        f'<span style="{HIDDEN}">{word}: </span>'
        f"<strong><code>{html.escape(name)}</code> — {html.escape(headline)}"
        "</strong></p>"
    ]
    if verdict.places:
        rows = "".join(_row(place, note) for place, note in verdict.places)
        parts.append(
            '<div role="group" aria-label="Source lines" '
            'style="margin:.5em 0;display:grid;column-gap:1em;'
            f'grid-template-columns:max-content minmax(0,1fr)">{rows}</div>'
        )
    parts += [
        f'<p style="margin:.4em 0">{markup.inline(text)}</p>'
        for text in (verdict.message, verdict.explanation)
        if text
    ]
    if verdict.who:
        parts.append(markup.note(verdict.who))
    if verdict.facts:
        facts = "".join(f"<li>{markup.inline(fact)}</li>" for fact in verdict.facts)
        style = "margin:.3em 0;padding-left:1.2em"
        parts.append(f'<ul style="{style}">{facts}</ul>')
    part, title, address = verdict.where
    if part:
        parts.append(
            '<p style="margin:.4em 0"><span aria-hidden="true">→ </span>'
            f'book: {part}, <a href="{address}">“{title}”</a></p>'
        )
    if verdict.onward:
        parts.append(verdict.onward.html())
    return (
        f'<div class="weft-verdict" data-kind="{verdict.kind}" role="status" '
        f'style="border-left:4px solid {colour};padding:.3em .9em;margin:.3em 0;'
        f'max-width:46rem;line-height:1.45">{"".join(parts)}</div>'
    )
