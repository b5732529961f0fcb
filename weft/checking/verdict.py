"""What `check` says: one verdict, worded for the learner, in text and in HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft import links
from weft.checking import showing
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
from weft.lesson import Onward
from weft.places import Note, named

MARKS = {PASSED: "✓", TO_DO: "○", FAILED: "✗"}


class CheckFailed(AssertionError):
    """Raised instead of shown where a failing check must stop a run (WEFT_STRICT=1)."""


class Failed(Exception):
    """Ends a check with a verdict.

    clue: what its room knows of the cause, for whatever adds to the verdict.
    """

    def __init__(self, verdict: "Verdict", clue: Any = None) -> None:
        super().__init__(verdict.kind)
        self.verdict, self.clue = verdict, clue


@dataclass(frozen=True, repr=False)
class Verdict:
    """The outcome of a check; true if it passed. It does not change once it is made.

    name: the exercise. kind: a row of `kinds.KINDS`. message: what happened; why: the
    explanation. places: source lines, each with a note. thread, block: the indices of
    the thread concerned, None where there is none. when: on what data. facts: what a
    passing function did. headline, topic: more exact than what `kind` gives. rows: the
    accesses in the trace to which the first of the places belong. premise: what the
    explanation begins with, of the order in which things run. only: the sentence of
    `why` on the one block, warp or lane whose results alone are wrong, or right.
    onward: what comes after a pass, None where nothing keeps count.

    Raises ValueError for a kind or a topic that is in no table.
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
    onward: Onward | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of verdict: see kinds.KINDS")
        if self.topic and self.topic not in TOPICS:
            raise ValueError(f"{self.topic!r} is no topic of a verdict: see TOPICS")
        for name in ("places", "facts", "rows"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def but(self, **changes: Any) -> "Verdict":
        """Derive a verdict that differs in these fields."""
        return replace(self, **changes)

    def adding(self, more: str) -> "Verdict":
        """Derive a verdict whose `why` has a further sentence."""
        return self.but(why=f"{self.why} {more}".strip())

    def __bool__(self) -> bool:
        return self.state == PASSED

    @property
    def state(self) -> str:
        """PASSED, TO_DO or FAILED."""
        return KINDS[self.kind].state

    @property
    def line(self) -> int | None:
        """The line that the verdict names first, as the learner's editor counts."""
        return self.places[0][0].line if self.places else None

    @property
    def title(self) -> str:
        headline = self.headline or KINDS[self.kind].headline
        return f"{MARKS[self.state]} {self.name} — {headline}"

    @property
    def explanation(self) -> str:
        """All that is said after the message: the premise, and why."""
        return f"{self.premise} {self.why}".strip()

    @property
    def who(self) -> str:
        """Which thread it happened to, and on what data."""
        parts = []
        if self.thread is not None:
            parts.append(f"thread {named(self.thread)} of block {named(self.block)}")
        if self.when:
            parts.append(self.when)
        return ", ".join(parts)

    @property
    def page(self) -> str:
        """The page of the book on this kind of mistake, '' if there is none."""
        return TOPICS[self.topic] if self.topic else KINDS[self.kind].page

    @property
    def where(self) -> tuple[str, str, str]:
        """What to read on: the part of the book, a title in it, its address; or ''."""
        if self.page:
            return "Bugs", PAGES[self.page], links.book(f"bugs/{self.page}.html")
        if section := self._section():
            return section.chapter, section.heading, links.book(section.address)
        return "", "", ""

    def _section(self) -> Section | None:
        heading = KINDS[self.kind].heading
        in_c = Section(C_CHAPTER, C_PAGE, heading) if heading else None
        return SECTIONS.get(self.topic, in_c)

    @property
    def read_on(self) -> str:
        part, title, _ = self.where
        return f"book: {part}, “{title}”" if part else ""

    def __repr__(self) -> str:
        return showing.text(self)

    def _repr_html_(self) -> str:
        return showing.html_of(self)
