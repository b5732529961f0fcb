"""The next step for a learner: links at the top of a lab, and text after a pass."""

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

from weft import links, markup
from weft.lesson import board, missing
from weft.lesson.syllabus import Lesson

DOT = ' <span aria-hidden="true">·</span> '
REST = "The quiz, and any measurements that you have left out, are in this lab too."


@dataclass(frozen=True, repr=False)
class Header:
    """The top of a lab: its title, where its kernels run, and links to other labs.

    before, after: the labs before and after this one, or None at either end of the
    course. machine: one line on where kernels run. lacks: what this machine lacks for
    the lab, and what to do about it, in a sentence or two each.
    """

    lesson: Lesson
    machine: str
    passed: int
    before: Lesson | None = None
    after: Lesson | None = None
    lacks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.lesson.label} · {self.machine}"

    def __repr__(self) -> str:
        return "\n".join([self.title, *map(markup.plain, self.lacks)])

    def _repr_html_(self) -> str:
        """Return HTML for the title, what the machine lacks, links and progress."""
        name, total = self.lesson.name, len(self.lesson.exercises)
        ways = [
            markup.link(links.book(f"{name}.html"), "chapter"),
            markup.link(links.solution(name), "solution"),
        ]
        if self.before:
            ways.append(
                markup.link(links.lab(self.before.name), f"← {_short(self.before)}")
            )
        if self.after:
            ways.append(
                markup.link(links.lab(self.after.name), f"{_short(self.after)} →")
            )
        count = f"{self.passed} of {total} exercises passed" if self.passed else ""
        minutes = f"about {self.lesson.minutes} minutes"
        work = " · ".join(filter(None, (count, minutes)))
        ways.append(f'<span style="{markup.MUTED}">{work}</span>')
        return markup.block(
            [
                _strong(self.title),
                *(_line(markup.inline(text)) for text in self.lacks),
                _line(DOT.join(ways)),
            ],
            label="This lab",
        )


@dataclass(frozen=True)
class Onward:
    """The message after a pass: progress in the lab, and what to do next.

    passed: how many exercises of the lab are passed. next: the number and name of the
    exercise to do next, or None if all are passed. after: the labs to go on with, the
    next one first. spent: time at work. place: a link to the next exercise, or "" if
    unknown.
    """

    lesson: Lesson
    passed: int
    next: tuple[int, str] | None
    after: tuple[Lesson, ...]
    spent: timedelta
    place: str = ""

    @property
    def text(self) -> str:
        total = len(self.lesson.exercises)
        if self.next:
            return f"{self.passed} of {total} in this lab. Next: {self._next}."
        return f"All {total} exercises of this lab passed{self._time()}."

    @property
    def _next(self) -> str:
        number, name = self.next or (0, "")
        return f"exercise {number}, `{name}`"

    def _time(self) -> str:
        minutes = round(self.spent.total_seconds() / 60)
        if minutes < 1:
            return ""
        return f", in {minutes} minute{'s' * (minutes > 1)} of work"

    def __str__(self) -> str:
        lines = [self.text]
        if not self.next:
            lines += [REST, f"solution: {links.solution_place(self.lesson.name)}"]
            words = "next lab", "or straight to"
            lines += [
                f"{way}: labs/{lab.name}.ipynb, {lab.title}"
                for way, lab in zip(words, self.after, strict=False)
            ]
        return "\n".join(f"  {line}" for line in lines)

    def html(self) -> str:
        """Return a paragraph or, at a lab's end, a card of links to what comes next."""
        if self.next and self.place:
            before = self.text.removesuffix(f"{self._next}.")
            link = markup.link(quote(self.place, safe="#="), self._next)
            return _line(f"{markup.inline(before)}{link}.")
        if self.next:
            return markup.note(self.text)
        ways = [
            markup.link(links.solution(self.lesson.name), "Compare with the solution")
        ]
        words = "Go on with", "or go straight to"
        ways += [
            markup.link(links.lab(lab.name), f"{way} {lab.label}")
            for way, lab in zip(words, self.after, strict=False)
        ]
        lines = _strong(self.text), _line(REST), _line(DOT.join(ways))
        return (
            f'<div style="border:{markup.RULE};border-radius:.4em;padding:.3em .9em;'
            f'margin:.6em 0 .3em">{"".join(lines)}</div>'
        )


def _line(content: str) -> str:
    return f'<p style="margin:.3em 0">{content}</p>'


def _strong(text: str) -> str:
    return _line(f"<strong>{markup.inline(text)}</strong>")


def _short(lesson: Lesson) -> str:
    return f"lab {lesson.name.split('_')[0]}"


def neighbours(lesson: Lesson, all_names: list[str]) -> tuple[str | None, str | None]:
    """Return the names of the labs before and after `lesson`; None at an end."""
    at = all_names.index(lesson.name)
    before = all_names[at - 1] if at else None
    after = all_names[at + 1] if at + 1 < len(all_names) else None
    return before, after


def after_pass(
    lesson: Lesson, following: tuple[Lesson, ...], exercise: str
) -> Onward | None:
    """Return the message after a pass, or None if the lab has no such exercise."""
    names = [e.name for e in lesson.exercises]
    if exercise not in names:
        return None
    done = board.passed().get(lesson.name, {}).keys() | {exercise}
    open_ = [k for k, name in enumerate(names) if name not in done]
    later = [k for k in open_ if k > names.index(exercise)] or open_
    following_one = (later[0] + 1, names[later[0]]) if later else None
    count = len(names) - len(open_)
    place = missing.place(following_one[1]) if following_one else ""
    spent = board.spent(lesson.name)
    return Onward(lesson, count, following_one, following, spent, place)
