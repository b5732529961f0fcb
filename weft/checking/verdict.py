"""The result of `check`: one verdict, worded for the learner, in text and in HTML."""

import html
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from weft import links, markup
from weft.checking.history import History, Step
from weft.checking.kinds import (
    C_CHAPTER,
    C_PAGE,
    FAILED,
    KINDS,
    PAGES,
    PASSED,
    SECTIONS,
    TO_DO,
    TOPICS,
    Section,
)
from weft.places import Note, Place, named
from weft.wording import Words

if TYPE_CHECKING:
    from weft.lesson import Execution, Onward

WIDTH = 80  # characters of a line in a terminal
MONOSPACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.92em"
)
COLOURS = {PASSED: "#2a8f5c", TO_DO: "#4878a8", FAILED: "#c8473c"}
SPOKEN = {PASSED: "Passed", TO_DO: "To do", FAILED: "Not passed"}
HIDDEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"
PRINTED = "It printed:"
MARKS = {PASSED: "✓", TO_DO: "○", FAILED: "✗"}


class CheckFailed(AssertionError):
    """Raised for a failed check if it must stop the run (WEFT_STRICT=1)."""


class Failed(Exception):
    """Ends a check with a verdict.

    clue: what the check knows of the cause, for the code that adds to the verdict.
    """

    def __init__(self, verdict: "Verdict", clue: Any = None) -> None:
        super().__init__(verdict.kind)
        self.verdict, self.clue = verdict, clue


@contextmanager
def right_before(size: str) -> Iterator[None]:
    """If the `with` block fails with a wrong value, note that `size` was right."""
    try:
        yield
    except Failed as failed:
        verdict = failed.verdict
        if verdict.kind == "wrong-value" and not verdict.right_for:
            raise Failed(verdict.but(right_for=size), failed.clue) from None
        raise


@dataclass(frozen=True, repr=False)
class Verdict:
    """The immutable outcome of a check; true if the check passed.

    name: the exercise. kind: a key of `kinds.KINDS`. message: what happened; why: the
    explanation. places: source lines, each with a note. thread, block: the indices of
    the thread concerned and of its block, or None. when: which run it was. facts: what
    else the check found. headline, topic: override those of `kind`. rows: the rows of
    the trace for the first places, in the same order. premise: the beginning of the
    explanation, about the order in which things run. only: the sentence of `why` about
    the only block, warp or lane that is wrong, or right. right_for: a size at which the
    results were right.

    onward: what comes after a pass, None if progress is not recorded. judged: the
    execution of the cell whose code was judged, None if unknown. printed: what the
    learner's code printed during the check, as `Printed.text`. past: the steps that led
    to the fault, if they are known; see `history`.

    Raises ValueError if the kind or the topic is in no table.
    """

    name: str
    kind: str
    message: str = ""
    why: str = ""
    places: Sequence[Note] = ()
    thread: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    when: str = ""
    facts: Sequence[str] = ()
    headline: str = ""
    topic: str = ""
    rows: Sequence[int] = ()
    premise: str = ""
    only: str = ""
    right_for: str = ""
    onward: "Onward | None" = field(default=None, compare=False)
    judged: "Execution | None" = field(default=None, compare=False)
    printed: str = field(default="", compare=False)
    past: Sequence[Step] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of verdict: see kinds.KINDS")
        if self.topic and self.topic not in TOPICS:
            raise ValueError(f"{self.topic!r} is no topic of a verdict: see TOPICS")
        for name in ("places", "facts", "rows", "past"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def but(self, **changes: Any) -> "Verdict":
        """Return a verdict that differs from this one in the given fields."""
        return replace(self, **changes)

    def adding(self, more: str) -> "Verdict":
        """Return a verdict like this one, with `more` added to its `why`."""
        return self.but(why=f"{self.why} {more}".strip())

    def __bool__(self) -> bool:
        return self.state == PASSED

    @property
    def state(self) -> str:
        """PASSED, TO_DO or FAILED."""
        return KINDS[self.kind].state

    @property
    def line(self) -> int | None:
        """The number of the first line that the verdict names, or None."""
        return self.places[0][0].line if self.places else None

    @property
    def title(self) -> str:
        headline = self.headline or KINDS[self.kind].headline
        return f"{MARKS[self.state]} {self.name} — {headline}"

    @property
    def explanation(self) -> str:
        """The text after the message: `premise` and `why`."""
        return f"{self.premise} {self.why}".strip()

    @property
    def who(self) -> str:
        """The thread, the run's data, and a size at which the results were right."""
        parts = []
        if self.thread is not None:
            parts.append(f"thread {named(self.thread)} of block {named(self.block)}")
        if self.when:
            parts.append(self.when)
        right = f"; right for {self.right_for}" if self.right_for else ""
        return ", ".join(parts) + right

    @property
    def page(self) -> str:
        """The page of the book on this kind of mistake, or '' if there is none."""
        return TOPICS[self.topic] if self.topic else KINDS[self.kind].page

    @property
    def where(self) -> tuple[str, str, str]:
        """What to read next: (part of the book, title, address), or ("", "", "")."""
        part, title, address = self.in_book
        return part, title, links.book(address) if address else ""

    @property
    def in_book(self) -> tuple[str, str, str]:
        """Like `where`, but with an address in the book, such as `bugs/race.html`."""
        if self.page:
            return "Bugs", PAGES[self.page], f"bugs/{self.page}.html"
        if section := self._section():
            return section.chapter, section.heading, section.address
        return "", "", ""

    def _section(self) -> Section | None:
        heading = KINDS[self.kind].heading
        in_c = Section(C_CHAPTER, C_PAGE, heading) if heading else None
        return SECTIONS.get(self.topic, in_c)

    @property
    def read_on(self) -> str:
        part, title, _ = self.where
        return f"book: {part}, “{title}”" if part else ""

    def history(self) -> History:
        """Return the steps that led to the fault, in order."""
        return History(self.past, self.message)

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html_of(self)


class Verdicts(Words):
    """Verdicts from a module's table of wordings: see `Words`.

    A row has the texts of a `Verdict`, and its kind if that is not the row's name.
    """

    def verdict(
        self, name: str, row: str, places: Sequence[Note] = (), **given: Any
    ) -> Verdict:
        """Make a verdict on exercise `name` from a row of the table.

        given: values for the row's placeholders besides `{name}`, and fields of the
        verdict, such as `when`, which take precedence over those of the row.
        """
        own = {f.name for f in fields(Verdict)} & given.keys()
        said: dict[str, Any] = {"kind": row, **self(row, name=name, **given)}
        said |= {key: given[key] for key in own}
        return Verdict(name, places=places, **said)


common = Verdicts(__file__)  # shared by every kind of exercise


# How a verdict looks: in a terminal, and in a notebook


def wrapped(text: str, later: str = "  ") -> str:
    """Indent and wrap `text` for a terminal; `later` is the indent of further lines."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(places: Sequence[Note]) -> str:
    """Format source lines for a terminal, each with its note beside it if all fit."""
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
    """Return a source line as HTML: the faulty part underlined, its note below."""
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


def text(verdict: Verdict) -> str:
    """Return a verdict as text for a terminal."""
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
    if verdict.judged:
        parts.append(f"  {verdict.judged}")
    if verdict.onward:
        parts.append(str(verdict.onward))
    if verdict.printed:
        parts.append(f"  {PRINTED}\n{textwrap.indent(verdict.printed, '    ')}")
    return "\n\n".join(parts)


def html_of(verdict: Verdict) -> str:
    """Return a verdict as HTML for a notebook, without a stylesheet.

    The HTML is complete without the scripts of `Execution` and `History`.
    """
    if verdict.state == TO_DO:
        return _short_html(verdict)
    parts = [_title(verdict)]
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
    if verdict.judged:
        parts.append(verdict.judged.html())
    if verdict.onward:
        parts.append(verdict.onward.html())
    parts.append(_printed(verdict))
    below = verdict.history()._repr_html_() if verdict.past else ""
    return _framed(verdict, parts, "max-width:46rem") + below


def _short_html(verdict: Verdict) -> str:
    """Return a `TO_DO` verdict as brief HTML, because a lab begins with many of them.

    The `Execution` is beside the title, and the message and the explanation share one
    paragraph, as wide as the notebook.
    """
    judged = verdict.judged.html() if verdict.judged else ""
    style = "display:flex;flex-wrap:wrap;align-items:center;column-gap:1.5em"
    said = f"{verdict.message} {verdict.explanation}"
    parts = [
        f'<div style="{style}">{_title(verdict)}{judged}</div>',
        f'<p style="margin:.2em 0">{markup.inline(said)}</p>',
        _printed(verdict),
    ]
    return _framed(verdict, parts, "max-width:none")


def _title(verdict: Verdict) -> str:
    mark, _, title = verdict.title.partition(" ")
    name, _, headline = title.partition(" — ")
    return (
        f'<p style="margin:.2em 0"><span aria-hidden="true">{mark} </span>'
        f'<span style="{HIDDEN}">{SPOKEN[verdict.state]}: </span>'
        f"<strong><code>{html.escape(name)}</code> — {html.escape(headline)}"
        "</strong></p>"
    )


def _printed(verdict: Verdict) -> str:
    """Return what the learner's code printed, as HTML, or '' if it printed nothing."""
    if not verdict.printed:
        return ""
    return (
        f'{markup.note(PRINTED)}<pre tabindex="0" style="margin:.3em 0;'
        f'overflow-x:auto;{MONOSPACE}">{html.escape(verdict.printed)}</pre>'
    )


def _framed(verdict: Verdict, parts: Sequence[str], width: str) -> str:
    colour = COLOURS[verdict.state]
    return (
        f'<div class="weft-verdict" data-kind="{verdict.kind}" role="status" '
        f'style="border-left:4px solid {colour};padding:.3em .9em;margin:.3em 0;'
        f'{width};line-height:1.45">{"".join(parts)}</div>'
    )
