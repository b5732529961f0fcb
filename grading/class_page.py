"""The page of a class: the results of each exercise, its errors, and who is stuck."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from grading.scoring import Score
from weft.checking.kinds import KINDS
from weft.lesson import syllabus

NOT_BEGUN = {"begin", "missing"}
OWN = {  # the grader's own, beside the verdicts' kinds
    "crash": "it ended the process",
    "error": "its check raised an error",
    "hang": "it was stopped after its time",
    "memory": "it needed too much memory",
    "missing": "not in the notebook",
    "other-lab": "another lab was handed in",
    "processes": "it started too many processes",
    "refused": "not an answer that may be run",
    "syntax": "a syntax error",
    "tampered": "its report was tampered with",
    "time": "no time was left for it",
    "unreadable": "the file cannot be read",
}


@dataclass(frozen=True)
class Part:
    """A group of students as a part of a bar: their kind of mark, and their number."""

    kind: str
    count: int

    @property
    def said(self) -> str:
        if self.kind == "begin":
            return "not begun"
        known = KINDS.get(self.kind)
        return OWN.get(self.kind) or (known.headline if known else self.kind)

    @property
    def state(self) -> str:
        """The CSS class of its colour: passed, todo or failed."""
        if self.kind == "pass":
            return "passed"
        return "todo" if self.kind in NOT_BEGUN else "failed"


@dataclass(frozen=True)
class Exercise:
    """What a class got in an exercise.

    line: the line that verdicts name most often, and how often they do.
    """

    name: str
    title: str
    parts: list[Part]
    line: tuple[str, int] | None


@dataclass(frozen=True)
class Stuck:
    """A student who passed less than half of what they tried.

    on: the exercises that the student has not passed.
    """

    student: str
    passed: int
    on: list[tuple[str, Part]]


@dataclass(frozen=True)
class Lab:
    """A lab as the page shows it; `not_begun` and `not_graded` list students."""

    label: str
    scores: Sequence[Score]
    exercises: list[Exercise]
    stuck: list[Stuck]
    not_begun: list[str]
    not_graded: list[tuple[str, str]]
    without_compiler: bool


def page(found: Sequence[Score]) -> str:
    """Return the page of a class as HTML; it needs no other file."""
    names = sorted({score.lab for score in found})
    labs = [_lab([s for s in found if s.lab == name]) for name in names]
    environment = Environment(
        loader=PackageLoader("grading", "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("class.html").render(labs=labs)


def _lab(scores: Sequence[Score]) -> Lab:
    lesson = syllabus.load(scores[0].lab)
    titles = {exercise.name: exercise.title for exercise in lesson.exercises}
    graded = [s for s in scores if not s.rows[-1].note]
    begun = [s for s in graded if set(s.kinds.values()) - NOT_BEGUN]
    return Lab(
        lesson.label,
        scores,
        [_exercise(name, titles.get(name, ""), graded) for name in scores[0].kinds],
        _stuck(begun),
        [s.student for s in graded if s not in begun],
        [(s.student, s.rows[-1].note) for s in scores if s.rows[-1].note],
        any(row.compiler == "none" for s in scores for row in s.rows),
    )


def _exercise(name: str, title: str, scores: Sequence[Score]) -> Exercise:
    kinds = Counter(s.kinds[name] for s in scores)
    order = sorted(kinds, key=lambda k: (k != "pass", k in NOT_BEGUN, -kinds[k]))
    named = Counter(
        line
        for s in scores
        if s.kinds[name] != "pass" and (line := s.rows[-1].lines.get(name))
    )
    most = named.most_common(1)
    return Exercise(
        name,
        title,
        [Part(kind, kinds[kind]) for kind in order],
        most[0] if most else None,
    )


def _stuck(scores: Sequence[Score]) -> list[Stuck]:
    """Return who passed less than half of what they tried, fewest passes first."""
    found = []
    for score in scores:
        tried = {e: k for e, k in score.kinds.items() if k not in NOT_BEGUN}
        failed = [(e, Part(k, 1)) for e, k in tried.items() if k != "pass"]
        if 2 * len(failed) > len(tried):
            found.append(Stuck(score.student, len(tried) - len(failed), failed))
    return sorted(found, key=lambda stuck: (stuck.passed, stuck.student))
