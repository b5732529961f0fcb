"""What a submission's process reports, and whether each line is due at that point."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from grading.files import printable
from grading.paper import Paper


class Tampered(Exception):
    """The report has a line that the worker would not write; the argument says what."""


@dataclass(frozen=True)
class Mark:
    """The mark of one exercise. kind: the verdict's, or why there is none.

    line: the line of the answer that the verdict names first; "" if it names none.
    """

    exercise: str
    kind: str
    passed: bool = False
    text: str = ""
    line: str = ""

    def noting(self, more: str) -> "Mark":
        """Return the mark with a note added to its text, unless it passed."""
        if self.passed or not more:
            return self
        return replace(self, text=f"{self.text}\n\n{more}".strip())


@dataclass
class Heard:
    """The report so far.

    marks: by exercise. missing: the marks of exercises that have nothing to run.
    answers: the digests of each answer. notes: remarks on answers that do not pass, by
    exercise.

    during: the exercise that is being defined or checked, or "". read: whether the
    submission has been read. ends: whether the last line has come. failed: why the
    worker gave up, as a mark of no exercise.
    """

    paper: Paper
    key: str
    marks: dict[str, Mark] = field(default_factory=dict)
    missing: dict[str, Mark] = field(default_factory=dict)
    answers: dict[str, list[Any]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    during: str = ""
    read: bool = False
    ends: bool = False
    failed: Mark | None = None

    def __post_init__(self) -> None:
        self._wanted = list(_order(self.paper))[::-1]

    def line(self, said: dict[str, Any]) -> None:
        """Take in a line of the report. Raises Tampered if it is not the one due."""
        if said.pop("key", None) != self.key:
            raise Tampered("a line without the key")
        if self.failed or not self._wanted:
            raise Tampered("a line after the last one")
        for kind in ("unreadable", "other-lab", "error"):
            if kind in said:
                self.failed = Mark("", kind, text=printable(said[kind]))
                return
        what, value = self._wanted.pop()
        if said.get(what) != value:
            raise Tampered(f"{printable(said)[:200]} instead of {what}: {value}")
        self._take(what, value, said)

    def _take(self, what: str, value: Any, said: dict[str, Any]) -> None:
        match what:
            case "read":
                self.read, self.answers = True, said["answers"]
                for name, (kind, why) in said["missing"].items():
                    self.missing[name] = Mark(name, kind, text=printable(why))
                for name, note in said["notes"].items():
                    self.notes[name] = printable(note)
            case "runs" | "begins":
                self.during = value
            case "name":
                passed = said.get("passed") is True and said.get("kind") == "pass"
                kind, text = printable(said.get("kind")), printable(said.get("text"))
                line = printable(said.get("line"))
                self.marks[value] = Mark(value, kind, passed, text, line)
                self.during = ""
            case "ends":
                if said["changed"]:
                    raise Tampered(f"{', '.join(said['changed'][:3])} were changed")
                if said["unearned"]:
                    passed = ", ".join(said["unearned"][:3])
                    raise Tampered(f"the wrong answers to {passed} pass")
                self.ends = True


def _order(paper: Paper) -> Iterator[tuple[str, Any]]:
    """Yield the lines due in a report: a field of each, and its expected value."""
    yield "read", True
    for number in range(len(paper.cells)):
        if number in paper.defines:
            yield "runs", paper.defines[number]
        elif number in paper.checks:
            yield "begins", paper.checks[number]
            yield "name", paper.checks[number]
    yield "ends", True
