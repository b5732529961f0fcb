"""The functions that a notebook calls around its kernels: hints, quiz, progress."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from weft import device, doing, links, markup
from weft.chapters import Chapter
from weft.device import for_triton, tools
from weft.errors import LearnerError
from weft.lesson import (
    board,
    executed,
    missing,
    onward,
    predictions,
    questions,
    routes,
    syllabus,
)
from weft.lesson.board import Board
from weft.lesson.carrying import load as load_progress
from weft.lesson.carrying import save as save_progress
from weft.lesson.executed import Execution
from weft.lesson.onward import Header, Onward
from weft.lesson.questions import Quiz
from weft.lesson.syllabus import Exercise, Lesson

__all__ = [
    "Execution",
    "Hint",
    "Onward",
    "answers",
    "current",
    "execution",
    "has_tools",
    "hint",
    "lab",
    "larger",
    "load_progress",
    "on_gpu",
    "passed",
    "progress",
    "quiz",
    "quiz_html",
    "save_progress",
    "unseen",
]

_current: str | None = None
_shown: dict[str, int] = {}  # exercise → the level of the hint shown last


IN_SIMULATOR = (
    "Restart the kernel, run `%env WEFT_SIMULATOR=1` in a cell above this one, and go "
    "on: the checks then run in the {}, and the measurements show the rows of the GPU "
    "that the book names."
)


def lab(name: str) -> Chapter:
    """Begin a lab in this notebook: show its title, where kernels run, and links.

    On a machine with a usable GPU, also show what it lacks for this lab.

    Returns the chapter, whose modules are its attributes: `measure`, `checks`, ...

    name: the notebook's stem, such as `05_first_kernel`. Hints, quiz, progress and
    reference results are looked up by it.

    Raises LearnerError for an unknown name, for a GPU with too few multiprocessors for
    kernels whose blocks wait for each other, and if the lab needs Triton and Triton
    does not run.
    """
    global _current
    lesson = syllabus.load(name)
    gpu = device.find()
    if gpu.usable and lesson.gpu.too_few_sms(gpu):
        raise LearnerError(
            "some kernels of this lab wait for each other's blocks, which takes a GPU "
            f"of {lesson.gpu.sms} multiprocessors; the {gpu.name} has {gpu.sms}, and "
            f"they would wait for ever. {IN_SIMULATOR.format('simulator')}"
        )
    if lesson.triton and (reason := for_triton.missing()):
        raise LearnerError(f"this lab is about Triton. {reason}")
    if lesson.triton and (reason := for_triton.too_old(gpu)):
        instead = IN_SIMULATOR.format("interpreter of Triton")
        raise LearnerError(f"{reason} {instead}")
    _current = name
    _shown.clear()
    missing.explain([exercise.name for exercise in lesson.exercises], name)
    board.opened(name)
    _show(_header(lesson))
    return Chapter(name)


def _header(lesson: Lesson) -> Header:
    names = syllabus.names()
    before, after = onward.neighbours(lesson, names)
    return Header(
        lesson,
        device.find().line,
        sum(e.name in board.passed().get(lesson.name, {}) for e in lesson.exercises),
        syllabus.load(before) if before else None,
        syllabus.load(after) if after else None,
        tuple(_lacks(lesson)),
    )


def _lacks(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each thing missing here that the lab needs on a GPU.

    Yields nothing on a machine without a usable GPU.
    """
    gpu = device.find()
    if not gpu.usable:
        return
    if reason := lesson.gpu.unmet(gpu):
        instead = IN_SIMULATOR.format("simulator")
        yield f"This GPU cannot run the whole lab: {reason}. {instead}"
    for one in tools.missing([lesson.name], on_gpu=True):
        if one.tool.stops:
            yield f"There is no {one.tool.name} here, and {one}."


def _show(header: Header) -> None:
    """Show the header in a learner's notebook, where long cells then report progress.

    Elsewhere, print only its text: solutions are committed with their output, and need
    no more.
    """
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        print(header)
        return
    if get_ipython() is None or not board.counts(header.lesson.name):
        print(header)
    else:
        doing.watch(get_ipython())
        display(header)  # type: ignore[no-untyped-call]


def passed(exercise: str) -> Onward | None:
    """Record a pass of an exercise of the current lab, and return what comes next.

    Returns None if the pass does not count here (see `board.counts`), or if the lab has
    no such exercise.
    """
    if _current is None or not board.counts(_current):
        return None
    board.record(_current, exercise)
    lesson = syllabus.load(_current)
    _, after = onward.neighbours(lesson, syllabus.names())
    ways = tuple(syllabus.load(name) for name in (after, lesson.shortcut) if name)
    return onward.after_pass(lesson, ways, exercise)


def execution(exercise: str) -> Execution | None:
    """Return the execution of the cell that defined an exercise, or None if unknown.

    Also returns None where no learner is at work: see `board.counts`.
    """
    return executed.of(exercise) if board.counts(_current) else None


def current() -> str | None:
    """Return the name given to `lab`, or None if it has not been called yet."""
    return _current


def on_gpu(reason: str) -> bool:
    """Return whether kernels run on a GPU here; if not, print why the cell needs one.

    reason: completes "no GPU here — …", as in `on_gpu("the simulator has no clock")`.
    """
    if device.find().usable:
        return True
    print(f"Skipped: no GPU here — {reason}")
    return False


def has_tools(*names: str) -> bool:
    """Return whether GPU cells can use these tools; if not, print what is missing.

    names: rows of `device/tools.toml`. Also returns True where no kernel runs on a GPU.
    A missing tool does not count if the tool that it works with is missing too.
    """
    lacking = tools.absent(names) if device.find().usable else []
    for tool in lacking:
        print(f"Skipped: no {tool.name} here. To install it: {tool.install}")
    return not lacking


@dataclass(frozen=True, repr=False)
class Hint:
    """One hint, or the notice that there are no more."""

    exercise: str
    title: str
    text: str
    solution: str = ""  # an address, after the last hint

    def __repr__(self) -> str:
        return f"{self.title}\n{markup.plain(self.text)}"

    def _repr_html_(self) -> str:
        body = "".join(
            f'<p style="margin:.3em 0">{markup.inline(p)}</p>'
            for p in self.text.split("\n\n")
        )
        if self.solution:
            link = markup.link(self.solution, "Open the solution")
            body += f'<p style="margin:.3em 0">{link}</p>'
        return markup.block(
            [
                f'<div style="border-left:3px solid currentColor;padding:.1em .9em">'
                f'<p style="margin:.3em 0"><strong>{markup.inline(self.title)}'
                f"</strong></p>{body}</div>"
            ],
            label=self.title,
        )


def hint(exercise: object = None, level: int | None = None) -> Hint:
    """Return an exercise's next hint, or the one at `level`, counted from 1.

    exercise: its name, or the function itself. Levels go from a nudge to nearly the
    answer in words. Beyond the last level, the Hint says that there are no more hints.

    Raises LearnerError for an unknown exercise (the message lists the known ones) and
    for a level that is not a positive integer.
    """
    name = exercise if isinstance(exercise, str) else _name(exercise)
    lesson, found = _find(name)
    last = len(found.hints)
    key = f"{lesson.name}/{found.name}"
    if level is None:
        level = _shown.get(key, 0) + 1
    if not isinstance(level, int) or isinstance(level, bool) or level < 1:
        raise LearnerError(
            f"level {level!r}: the hints of {found.name} have the levels 1 to {last}"
        )
    _shown[key] = min(level, last)
    if level > last:
        those = f"Those were all {last} hints" if last > 1 else "That was the only hint"
        return Hint(
            found.name,
            f"{found.name}: no more hints",
            f"{those}; `hint({found.name!r}, 1)` shows the first again. If you are "
            f"still stuck, there is an answer in {links.solution_place(lesson.name)}: "
            "read it, close it, and write it from memory.",
            links.solution(lesson.name),
        )
    return Hint(
        found.name, f"{found.name}: hint {level} of {last}", found.hints[level - 1]
    )


def _name(thing: object) -> str:
    """Return the name of a kernel or function that was passed instead of a name.

    Raises LearnerError for anything else.
    """
    name = getattr(thing, "__name__", None)
    if isinstance(name, str):
        return name
    exercises = syllabus.load(_current).exercises if _current else ()
    such = exercises[0].name if exercises else "vector_add"
    words = f'hint needs the name of an exercise, such as hint("{such}")'
    if thing is not None:
        words += f"; got {thing!r}"
    if exercises:
        there = ", ".join(e.name for e in exercises)
        words += f". The exercises of {_current}: {there}"
    raise LearnerError(words)


def _find(name: str) -> tuple[Lesson, Exercise]:
    """Find an exercise by name in the current lab, or in all labs if no lab is current.

    Raises LearnerError unless exactly one exercise is found.
    """
    labs = [_current] if _current else syllabus.names()
    lessons = [syllabus.load(n) for n in labs]
    matches = [(s, e) for s in lessons for e in s.exercises if e.name == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        where = ", ".join(s.name for s, _ in matches)
        raise LearnerError(
            f'several labs have an exercise "{name}" ({where}): say which lab this is '
            f'with weft.lab("{matches[0][0].name}")'
        )
    if _current:
        here = ", ".join(e.name for e in lessons[0].exercises)
        raise LearnerError(f'no exercise "{name}" in {_current}. Its exercises: {here}')
    raise LearnerError(
        f'no exercise "{name}" in any lab. Say which lab this is, as in '
        'weft.lab("05_first_kernel"), and its exercises will be listed'
    )


def answers(exercise: str) -> dict[str, Any]:
    """Return the arguments to pass to `check` for an exercise that asks questions.

    exercise: its name. In `check(classify, **answers("classify"))` the function gets a
    question and returns the text of one of its choices. Questions and answers are in
    the lesson, so that the notebook does not show them. Raises LearnerError for an
    exercise without questions.
    """
    _, found = _find(exercise)
    if not found.questions:
        raise LearnerError(f"{exercise} has no questions to answer")
    questions = {q.text: q for q in found.questions}

    def right(question: str) -> str:
        return next(c.text for c in questions[question].choices if c.right)

    def because(question: str, answer: object) -> str:
        choices = questions[question].choices
        reasons = [c.because for c in choices if c.text == answer]
        if reasons:
            return reasons[0]
        there = ", ".join(sorted(repr(c.text) for c in choices))
        return f"One of these is wanted: {there}."

    return {
        "spec": right,
        "inputs": [(q.text,) for q in found.questions],
        "because": because,
        "unseen": False,
    }


def unseen(exercise: str) -> tuple[int, ...]:
    """Return the unlisted size that the current lab's check of an exercise also runs.

    Returns () if the lesson names no such size, if the lab has no such exercise, or if
    there is no current lab.
    """
    found = _of_this_lab(exercise)
    return found.unseen if found else ()


def larger(exercise: str) -> tuple[int, ...] | None:
    """Return the larger size that the current lab's check of an exercise also runs.

    Returns () if there is none, and None if the lesson leaves the size to the check,
    the exercise is unknown, or no lab is named.
    """
    found = _of_this_lab(exercise)
    return found.larger if found else None


def _of_this_lab(exercise: str) -> Exercise | None:
    if _current is None:
        return None
    found = [e for e in syllabus.load(_current).exercises if e.name == exercise]
    return found[0] if found else None


def quiz(lab: str | None = None) -> Quiz:
    """Return a lab's quiz, by default the current lab's.

    Raises LearnerError if no lab is named and none is current.
    """
    name = lab or _current
    if name is None:
        raise LearnerError(
            'say which lab: quiz("05_first_kernel"), or weft.lab("05_first_kernel") '
            "at the top of the notebook"
        )
    return Quiz(syllabus.load(name))


def quiz_html(lab: str) -> str:
    """Return a lab's quiz for the book, as the HTML that a notebook shows."""
    return questions.html(syllabus.load(lab))


def progress(route: str = "") -> Board:
    """Return the board: labs, exercises with marks on those passed, and predictions.

    route: the name of a way through the course, such as "weekend". Only its labs are
    shown, in its order. Raises LearnerError for an unknown name.
    """
    labs = routes.find(route).labs if route else syllabus.names()
    lessons = tuple(syllabus.load(name) for name in labs)
    return Board(lessons, board.passed(), predictions.summary())
