"""What `check` says: one verdict, worded for the learner, in text and in HTML."""

import html
import re
import textwrap
from dataclasses import dataclass, field

from weft import markup
from weft.places import Place, named

BOOK = "https://warp-and-weft.github.io/warp-and-weft/book"

# The book's page on each kind of mistake: its file in book/bugs, and its title.
PAGES = {
    "out-of-bounds": "Outside the array",
    "misaligned": "Off the 16-byte boundary",
    "unwritten": "An output left unwritten",
    "launch": "A launch that does not fit",
    "race": "A race in shared memory",
    "lost-update": "A race that no barrier cures",
    "barrier": "A barrier that not all reach",
    "warp": "A warp operation without its lanes",
    "uninitialised": "Memory that nobody wrote",
    "input-written": "An input overwritten",
    "endless-loop": "A loop that does not end",
    "type": "Python that Numba does not compile",
    "sectors": "Uncoalesced access",
    "narrow": "Narrow accesses",
    "bank-conflicts": "Bank conflicts",
    "divergence": "Warps that diverge",
    "loads": "A thread that loads too much",
    "barriers": "Too many barriers",
    "constants": "A number in the place of a name",
    "float64": "float64 by accident",
    "local": "An array without registers",
    "hang": "A GPU that does not come back",
    "order": "Host code in no order",
    "no-overlap": "Streams that do not overlap",
}

# Which page a verdict sends to; a verdict's topic says more than its kind.
READ_ON = {kind: kind for kind in PAGES} | {
    "negative-index": "out-of-bounds",
    "stores-race": "lost-update",
    "context": "hang",
    "reuse": "order",
    "early-read": "order",
    "pageable": "no-overlap",
    "returned": "",  # by a plain function, which nobody compiles
}

# What goes wrong in C is explained in its chapter: under which heading.
C_CHAPTER = "C for Python people"
IN_C = {
    "compile": "Text, compiler, program",
    "index-wrapped": "Types",
    "unset": "Types",
    "null": "Addresses",
    "wild-pointer": "Addresses",
    **dict.fromkeys(
        ("heap-buffer-overflow", "stack-buffer-overflow", "global-buffer-overflow"),
        "Arrays are addresses",
    ),
    "unaligned": "Structs",
    **dict.fromkeys(
        ("use-after-free", "dead-variable", "double-free", "bad-free", "leak"),
        "Stack and heap",
    ),
    "recursion": "Stack and heap",
    "memory": "Stack and heap",
    "signed-overflow": "What the language does not promise",
    "undefined": "What the language does not promise",
    **dict.fromkeys(
        ("make-error", "not-made", "not-rebuilt", "rebuilt", "not-removed"), "make"
    ),
}

HEADLINES = {
    "begin": "yours to write",
    "stale": "not the one you see",
    "out-of-bounds": "outside the array",
    "negative-index": "a negative index",
    "misaligned": "off the 16-byte boundary",
    "wrong-value": "a wrong value",
    "answer": "not the right answer",
    "unwritten": "part of the output is never written",
    "launch": "a launch that does not fit",
    "race": "a race",
    "uninitialised": "memory is read before it is written",
    "exception": "Python raised an error",
    "arguments": "its arguments come in another order",
    "endless-loop": "a loop that does not end",
    "barrier": "a barrier that not all threads reach",
    "warp": "a warp operation that cannot work",
    "input-written": "an input is overwritten",
    "sectors": "right, but it moves too many sectors",
    "narrow": "right, but its accesses are narrow",
    "bank-conflicts": "right, but with bank conflicts",
    "divergence": "right, but its warps diverge",
    "loads": "right, but one thread loads too much",
    "barriers": "right, but too many barriers",
    "flops": "right, but with too much arithmetic",
    "constants": "right, but with these sizes alone",
    "library": "the work of another function",
    "atomics": "right, but too many atomics in global memory",
    "float64": "right, but it computes in float64",
    "local": "right, but its array needs an address",
    "hang": "the GPU does not come back",
    "context": "the launch broke the CUDA context",
    "order": "two streams, and no order",
    "reuse": "a buffer reused too early",
    "early-read": "results are read too early",
    "no-overlap": "right, but too little overlaps",
    "pageable": "right, but a pageable copy cannot overlap",
    "traffic": "right, but it copies too much",
    "clock": "not the kernel's time",
    "type": "Numba would refuse it",
    "shape": "the shapes do not fit",
    # C, in weft.c
    "compile": "the compiler refuses it",
    "no-compiler": "no C compiler",
    "heap-buffer-overflow": "outside its memory on the heap",
    "stack-buffer-overflow": "outside a local variable",
    "global-buffer-overflow": "outside a global variable",
    "use-after-free": "memory is used after it was freed",
    "dead-variable": "a local variable is used after its time",
    "double-free": "freed twice",
    "bad-free": "freed, but never allocated",
    "leak": "right, but memory is never freed",
    "null": "through a null pointer",
    "wild-pointer": "a pointer that leads nowhere",
    "signed-overflow": "a number too large for its type",
    "index-wrapped": "an index below zero",
    "unaligned": "off the boundary of its type",
    "unset": "memory that nobody wrote",
    "undefined": "undefined behaviour",
    "recursion": "calls without end",
    "memory": "more and more memory",
    "ended": "the program ends before its time",
    "make-error": "make stops with an error",
    "not-made": "not everything is made",
    "not-rebuilt": "something out of date stays",
    "rebuilt": "more is made than has changed",
    "not-removed": "not everything is removed",
}


class CheckFailed(AssertionError):
    """Raised instead of shown where a failing check must stop a run (WEFT_STRICT=1)."""


class Failed(Exception):
    """Ends a check with a verdict."""

    def __init__(self, verdict: "Verdict") -> None:
        super().__init__(verdict.kind)
        self.verdict = verdict


@dataclass(repr=False)
class Verdict:
    """The outcome of a check; true if it passed.

    `kind` names the outcome in one word, `message` says what happened, `why` explains.
    `places` are source lines, each with a note; `facts` what a passing kernel did.
    `headline` and `topic` (in READ_ON) say more exactly what `kind` says in general.
    `rows` are the accesses in the trace that the first of the places belong to.
    """

    name: str
    kind: str
    message: str = ""
    why: str = ""
    places: list[tuple[Place, str]] = field(default_factory=list)
    thread: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    when: str = ""
    facts: list[str] = field(default_factory=list)
    headline: str = ""
    topic: str = ""
    rows: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.kind == "pass"

    @property
    def line(self) -> int | None:
        """The line that the verdict names first, as the learner's editor counts."""
        return self.places[0][0].line if self.places else None

    @property
    def title(self) -> str:
        mark = {"pass": "✓", "begin": "○"}.get(self.kind, "✗")
        headline = self.headline or HEADLINES.get(self.kind, "passed")
        return f"{mark} {self.name} — {headline}"

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
        return READ_ON.get(self.topic or self.kind, "")

    @property
    def where(self) -> tuple[str, str, str]:
        """What to read on: the part of the book, a title in it, its address; or ''."""
        if self.page:
            return "Bugs", PAGES[self.page], f"{BOOK}/bugs/{self.page}.html"
        if heading := IN_C.get(self.kind, ""):
            anchor = re.sub(r"[^a-z]+", "-", heading.lower())
            return C_CHAPTER, heading, f"{BOOK}/04_c_for_python.html#{anchor}"
        return "", "", ""

    @property
    def read_on(self) -> str:
        part, title, _ = self.where
        return f"book: {part}, “{title}”" if part else ""

    def __repr__(self) -> str:
        parts = [self.title]
        if self.places:
            parts.append(_lines(self.places))
        parts += [wrapped(text) for text in (self.message, self.why) if text]
        if self.message and self.why:  # one paragraph each, with no gap
            parts[-2:] = ["\n".join(parts[-2:])]
        if self.who:
            parts.append(wrapped(f"({self.who})"))
        if self.facts:
            parts.append("\n".join(wrapped(fact, "    ") for fact in self.facts))
        if self.read_on:
            parts.append(f"  → {self.read_on}")
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        colour, word = {
            "pass": ("#2a8f5c", "Passed"),
            "begin": ("#4878a8", "Not begun"),
        }.get(self.kind, ("#c8473c", "Not passed"))
        mark, _, title = self.title.partition(" ")
        name, _, headline = title.partition(" — ")
        parts = [
            f'<p style="margin:.2em 0"><span aria-hidden="true">{mark} </span>'
            f'<span style="{HIDDEN}">{word}: </span>'
            f"<strong><code>{html.escape(name)}</code> — {html.escape(headline)}"
            "</strong></p>"
        ]
        if self.places:
            rows = "".join(_row(place, note) for place, note in self.places)
            parts.append(
                '<div role="group" aria-label="Source lines" '
                'style="margin:.5em 0;display:grid;column-gap:1em;'
                f'grid-template-columns:max-content minmax(0,1fr)">{rows}</div>'
            )
        parts += [
            f'<p style="margin:.4em 0">{markup.inline(text)}</p>'
            for text in (self.message, self.why)
            if text
        ]
        if self.who:
            parts.append(markup.note(self.who))
        if self.facts:
            facts = "".join(f"<li>{markup.inline(fact)}</li>" for fact in self.facts)
            style = "margin:.3em 0;padding-left:1.2em"
            parts.append(f'<ul style="{style}">{facts}</ul>')
        part, title, address = self.where
        if part:
            parts.append(
                '<p style="margin:.4em 0"><span aria-hidden="true">→ </span>'
                f'book: {part}, <a href="{address}">“{title}”</a></p>'
            )
        return (
            f'<div class="weft-verdict" data-kind="{self.kind}" role="status" '
            f'style="border-left:4px solid {colour};padding:.3em .9em;margin:.3em 0;'
            f'max-width:46rem;line-height:1.45">{"".join(parts)}</div>'
        )


WIDTH = 80  # characters of a line in a terminal
MONOSPACE = (
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.92em"
)
HIDDEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"


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


def _lines(places: list[tuple[Place, str]]) -> str:
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


def several(number: float, what: str) -> str:
    """Write how many: `1 load`, `1,024 loads`, `2.5 sectors`."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:.3g}"
    return f"{shown} {what}{'s' * (shown != '1')}"
