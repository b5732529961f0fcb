"""The record of the exercises a learner has passed, and the board that shows it."""

import html
import itertools
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from weft import links, markup, store
from weft.lesson import syllabus
from weft.lesson.syllabus import Lesson
from weft.wording import several

FILE = "progress.json"
OPENED = "opened.json"
PAUSE = timedelta(minutes=45)  # a longer gap between two events does not count as work
BAR = (
    "display:inline-block;width:6em;height:.55em;border-radius:.3em;overflow:hidden;"
    "background:color-mix(in srgb, currentColor 18%, transparent)"
)
GREEN = "#2a8f5c"


def path() -> Path:
    """Return the file that holds the progress; it need not exist."""
    return store.place(FILE)


def passed() -> dict[str, dict[str, str]]:
    """Return the exercises passed: lab → exercise → when. Never raises.

    Passes recorded under a lab's old number count for the lab of the same topic.
    Prints a line if the file was unreadable and had to be started anew.
    """
    contents, message = store.read(path())
    if message:
        print(f"Progress: {message}")
    labs = syllabus.names()
    found: dict[str, dict[str, str]] = {}
    for lab, exercises in contents.items():
        if isinstance(exercises, dict):
            known = found.setdefault(_now_called(lab, labs), {})
            for name, when in exercises.items():
                known[name] = min(str(when), known.get(name, str(when)))
    return found


def _now_called(lab: str, labs: list[str]) -> str:
    """Return a lab's current name, found by its topic if its number has changed."""
    topic = lab.partition("_")[2]
    same = [each for each in labs if each.partition("_")[2] == topic]
    return same[0] if lab not in labs and len(same) == 1 else lab


def counts(lab: str | None) -> bool:
    """Return whether a pass here counts as a learner's work on a lab.

    It does not count outside a lab (`lab` None), in the course's own solutions, or
    where the pipeline executes notebooks (`WEFT_STRICT=1`).
    """
    strict = os.environ.get("WEFT_STRICT") == "1"
    return lab is not None and not strict and not links.in_solutions()


def record(lab: str | None, exercise: str) -> None:
    """Record that an exercise was passed, if `counts(lab)`. Never raises."""
    if not counts(lab):
        return
    message = store.update(
        path(), lambda done: _of(done, lab).setdefault(exercise, store.now())
    )
    if message:
        print(f"Progress: {message}")


def opened(lab: str) -> None:
    """Record that work on a lab begins, if `counts(lab)`. Never raises."""
    if counts(lab):
        store.update(store.place(OPENED), lambda times: _of(times, lab).update(_now()))


def _of(contents: dict[str, Any], lab: str | None) -> dict[str, Any]:
    """Return the record of a lab, setting it to {} if it is missing or not a dict."""
    if not isinstance(contents.get(str(lab)), dict):
        contents[str(lab)] = {}
    found: dict[str, Any] = contents[str(lab)]
    return found


def _now() -> dict[str, bool]:
    return {store.now(): True}


def spent(lab: str) -> timedelta:
    """Return how long a learner worked on a lab, without the pauses.

    Sums the gaps between events: every opening of the lab, and the first pass of each
    exercise. A gap longer than PAUSE does not count.
    """
    contents, _ = store.read(store.place(OPENED))
    times = [*_of(contents, lab), *passed().get(lab, {}).values()]
    moments = sorted(_moment(time) for time in times)
    gaps = [later - sooner for sooner, later in itertools.pairwise(moments)]
    return sum((gap for gap in gaps if gap <= PAUSE), timedelta())


def _moment(time: str) -> datetime:
    try:
        return datetime.fromisoformat(time).astimezone()
    except ValueError:  # edited by hand
        return datetime.now().astimezone()


@dataclass(frozen=True, repr=False)
class Board:
    """A table of labs and exercises that marks the passed ones.

    done: lab → exercise → when. predicted: a line on the learner's predictions.
    """

    lessons: tuple[Lesson, ...]
    done: dict[str, dict[str, str]]
    predicted: str = ""

    def count(self, lesson: Lesson) -> int:
        """Return how many exercises of a lesson are passed."""
        return sum(e.name in self.done.get(lesson.name, {}) for e in lesson.exercises)

    @property
    def next(self) -> tuple[str, str] | None:
        """The first (lab, exercise) not passed, or None if all are passed.

        The search starts at the last of the `lessons` in which an exercise is passed,
        and wraps around to the first lab.
        """
        begun = [k for k, s in enumerate(self.lessons) if self.count(s)]
        start = begun[-1] if begun else 0
        for lesson in (*self.lessons[start:], *self.lessons[:start]):
            for e in lesson.exercises:
                if e.name not in self.done.get(lesson.name, {}):
                    return lesson.name, e.name
        return None

    @property
    def hours(self) -> int:
        """The number of hours that the remaining exercises take, rounded."""
        left = 0.0
        for s in self.lessons:
            left += s.minutes * (1 - self.count(s) / max(len(s.exercises), 1))
        return round(left / 60)

    def summary(self) -> str:
        """Return one line: the exercises passed, the work left, and the predictions."""
        total = sum(len(s.exercises) for s in self.lessons)
        count = sum(self.count(s) for s in self.lessons)
        line = f"{count} of {total} exercises passed."
        if self.hours:
            line += f" The rest takes about {several(self.hours, 'hour')}."
        if self.next and count:
            line += f" Next: `{self.next[1]}` in `{self.next[0]}`."
        elif self.next:
            line += f" Begin with `{self.next[1]}` in `{self.next[0]}`."
        return " ".join(filter(None, (line, self.predicted)))

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
            name = markup.link(links.lab(s.name), s.label)
            marks = " ".join(
                f'<span style="white-space:nowrap;margin-right:.8em" '
                f'title="{html.escape(e.title, quote=True)}: '
                f'{"passed" if self._is_done(s, e.name) else "not passed yet"}">'
                f"{self._mark(s, e.name)} {html.escape(e.name)}</span>"
                for e in s.exercises
            )
            rows.append((name, self._bar(s), marks))
        return markup.block(
            [
                f'<p style="margin:.3em 0">{markup.inline(self.summary())}</p>',
                markup.table(("lab", "passed", "exercises"), rows),
            ],
            label="Progress",
        )

    def _bar(self, lesson: Lesson) -> str:
        count, total = self.count(lesson), len(lesson.exercises)
        share = 100 * count // total
        return (
            f'<span style="white-space:nowrap"><span aria-hidden="true" style="{BAR}">'
            f'<span style="display:block;height:100%;background:{GREEN};'
            f'width:{share}%"></span></span> {count} of {total}</span>'
        )

    def _is_done(self, lesson: Lesson, exercise: str) -> bool:
        return exercise in self.done.get(lesson.name, {})

    def _mark(self, lesson: Lesson, exercise: str) -> str:
        return "✓" if self._is_done(lesson, exercise) else "○"
