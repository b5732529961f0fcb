"""What `check` says: one verdict, worded for the learner, in text and in HTML."""

import html
from dataclasses import dataclass, field

from weft import markup
from weft.simulator.faults import Place, short

# Where the book explains a kind of mistake: chapter title, heading.
READ_ON = {
    "out-of-bounds": ("Your first kernel", "The guard"),
    "negative-index": ("Your first kernel", "The guard"),
    "unwritten": ("Your first kernel", "Which element is mine?"),
    "launch": ("Your first kernel", "The launch configuration"),
    "barrier": ("Shared memory", "Barriers"),
    "race": ("Shared memory", "Barriers"),
    "uninitialised": ("Shared memory", "Barriers"),
    "sectors": ("Shared memory", "Coalescing"),
    "bank-conflicts": ("Shared memory", "Banks"),
    "lost-update": ("Atomics", "Lost updates"),
    "stores-race": ("Your first kernel", "Which element is mine?"),
    "warp": ("Warps", "Masks"),
    "divergence": ("Warps", "What divergence costs"),
}

HEADLINES = {
    "begin": "yours to write",
    "stale": "not the one you see",
    "out-of-bounds": "outside the array",
    "negative-index": "a negative index",
    "wrong-value": "a wrong value",
    "unwritten": "part of the output is never written",
    "launch": "a launch that does not fit",
    "race": "a race",
    "uninitialised": "memory is read before it is written",
    "exception": "Python raised an error",
    "endless-loop": "a loop that does not end",
    "barrier": "a barrier that not all threads reach",
    "warp": "a warp operation that cannot work",
    "input-written": "an input is overwritten",
    "sectors": "right, but it moves too many sectors",
    "bank-conflicts": "right, but with bank conflicts",
    "divergence": "right, but its warps diverge",
    "float64": "right, but it computes in float64",
    "hang": "the GPU does not come back",
    "context": "the launch broke the CUDA context",
    "type": "the types do not fit",
    "shape": "the shapes do not fit",
}


class CheckFailed(AssertionError):
    """Raised instead of shown where a failing check must stop a run (WEFT_STRICT=1)."""


@dataclass(repr=False)
class Verdict:
    """The outcome of a check; true if it passed.

    `kind` names the outcome in one word, `message` says what happened, `why` explains.
    `places` are source lines, each with a note; `facts` what a passing kernel did.
    `headline` and `topic` (in READ_ON) say more exactly what `kind` says in general.
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
            parts.append(f"thread {short(self.thread)} of block {short(self.block)}")
        if self.when:
            parts.append(self.when)
        return ", ".join(parts)

    @property
    def read_on(self) -> str:
        topic = self.topic or self.kind
        if topic not in READ_ON:
            return ""
        chapter, heading = READ_ON[topic]
        return f"book: {chapter}, “{heading}”"

    def __repr__(self) -> str:
        parts = [self.title]
        if self.places:
            width = max(len(p.text) for p, _ in self.places)
            parts.append(
                "\n".join(
                    f"  line {p.line:<4} {p.text:<{width}}   {note}".rstrip()
                    for p, note in self.places
                )
            )
        said = "\n".join(f"  {text}" for text in (self.message, self.why) if text)
        if said:
            parts.append(said)
        if self.who:
            parts.append(f"  ({self.who})")
        if self.facts:
            parts.append("\n".join(f"  {fact}" for fact in self.facts))
        if self.read_on:
            parts.append(f"  → {self.read_on}")
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        colour = {"pass": "#2a8f5c", "begin": "#4878a8"}.get(self.kind, "#c8473c")
        parts = [
            f'<p style="margin:.2em 0"><strong>{html.escape(self.title)}</strong></p>'
        ]
        if self.places:
            rows = "".join(
                f"<div style='white-space:pre'>{_line(place)}"
                f"<span style='opacity:.75'>   {html.escape(note)}</span></div>"
                for place, note in self.places
            )
            parts.append(
                "<div style='overflow-x:auto;font-family:var(--jp-code-font-family,"
                f"ui-monospace,monospace);font-size:.92em;margin:.5em 0'>{rows}</div>"
            )
        parts += [
            f'<p style="margin:.4em 0">{markup.inline(text)}</p>'
            for text in (self.message, self.why)
            if text
        ]
        if self.who:
            parts.append(markup.note(self.who))
        parts += [
            f'<p style="margin:.15em 0">{markup.inline(fact)}</p>'
            for fact in self.facts
        ]
        if self.read_on:
            parts.append(markup.note(f"→ {self.read_on}"))
        return (
            f'<div class="weft-verdict" data-kind="{self.kind}" role="status" '
            f'style="border-left:4px solid {colour};padding:.3em .9em;margin:.3em 0;'
            f'max-width:46rem;line-height:1.45">{"".join(parts)}</div>'
        )


def _line(place: Place) -> str:
    """The source line as HTML, the offending expression underlined."""
    text = html.escape(place.text)
    part = html.escape(place.expression)
    if part and part != text and part in text:
        text = text.replace(
            part,
            f"<span style='text-decoration:underline wavy #c8473c'>{part}</span>",
            1,
        )
    return f"line {place.line:<4} {text}"
