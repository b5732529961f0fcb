"""What a learner has passed so far: a small file, and the board that shows it."""

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft import markup, store
from weft.lesson.syllabus import Lesson

FILE = "progress.json"


def path() -> Path:
    """Return the file that holds the progress; it need not exist."""
    return store.place(FILE)


def passed() -> dict[str, dict[str, str]]:
    """Return what was passed: lab → exercise → when. Never raises.

    Prints a line if the file was unreadable and had to be begun anew.
    """
    contents, message = store.read(path())
    if message:
        print(f"Progress: {message}")
    return {
        lab: {name: str(when) for name, when in exercises.items()}
        for lab, exercises in contents.items()
        if isinstance(exercises, dict)
    }


def record(lab: str | None, exercise: str) -> None:
    """Note that an exercise was passed. Never raises.

    Nothing is noted outside a lab (`lab` None), nor where notebooks are executed by
    the pipeline (`WEFT_STRICT=1`): those passes are not a learner's.
    """
    if lab is None or os.environ.get("WEFT_STRICT") == "1":
        return
    done: dict[str, Any] = dict(passed())
    if exercise in done.get(lab, {}):
        return
    done.setdefault(lab, {})[exercise] = store.now()
    message = store.write(path(), done)
    if message:
        print(f"Progress is not kept: {message}")


@dataclass(frozen=True, repr=False)
class Board:
    """Labs × exercises, with those passed marked."""

    lessons: tuple[Lesson, ...]
    done: dict[str, dict[str, str]]

    def count(self, lesson: Lesson) -> int:
        """Return how many exercises of a lesson are passed."""
        return sum(e.name in self.done.get(lesson.name, {}) for e in lesson.exercises)

    @property
    def next(self) -> tuple[str, str] | None:
        """Return (lab, exercise): the first not passed, from the last lab begun on."""
        begun = [k for k, s in enumerate(self.lessons) if self.count(s)]
        start = begun[-1] if begun else 0
        for lesson in (*self.lessons[start:], *self.lessons[:start]):
            for e in lesson.exercises:
                if e.name not in self.done.get(lesson.name, {}):
                    return lesson.name, e.name
        return None

    def summary(self) -> str:
        """Return one line: how many are passed, and what comes next."""
        total = sum(len(s.exercises) for s in self.lessons)
        count = sum(self.count(s) for s in self.lessons)
        line = f"{count} of {total} exercises passed."
        if self.next and count:
            line += f" Next: `{self.next[1]}` in `{self.next[0]}`."
        elif self.next:
            line += f" Begin with `{self.next[1]}` in `{self.next[0]}`."
        return line

    def __repr__(self) -> str:
        width = max((len(s.label) for s in self.lessons), default=0)
        lines = [self.summary(), ""]
        for s in self.lessons:
            marks = "  ".join(f"{self._mark(s, e.name)} {e.name}" for e in s.exercises)
            lines.append(
                f"{s.label:<{width}}  {self.count(s)}/{len(s.exercises)}  {marks}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for s in self.lessons:
            marks = " ".join(
                f'<span style="white-space:nowrap;margin-right:.8em" '
                f'title="{html.escape(e.title, quote=True)}: '
                f'{"passed" if self._is_done(s, e.name) else "not passed yet"}">'
                f"{self._mark(s, e.name)} {html.escape(e.name)}</span>"
                for e in s.exercises
            )
            share = f"{self.count(s)} of {len(s.exercises)}"
            rows.append((markup.inline(s.label), share, marks))
        return markup.block(
            [
                f'<p style="margin:.3em 0">{markup.inline(self.summary())}</p>',
                markup.table(("lab", "passed", "exercises"), rows),
            ],
            label="Progress",
        )

    def _is_done(self, lesson: Lesson, exercise: str) -> bool:
        return exercise in self.done.get(lesson.name, {})

    def _mark(self, lesson: Lesson, exercise: str) -> str:
        return "✓" if self._is_done(lesson, exercise) else "○"
