"""What the labs contain besides notebooks: titles, exercises, hints and quizzes.

Each lab has a TOML file, `chapters/<lab>/lesson.toml`, which is checked when it is
read. An error lists everything that is wrong with the file, and where.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft import chapters
from weft.device.needs import ANY_GPU, GpuNeeds
from weft.device.tools import TOOLS
from weft.errors import LearnerError

QUESTIONS = 3


class LessonError(ValueError):
    """An error in a lesson file; the message is for the author of the lesson."""


@dataclass(frozen=True)
class Choice:
    """One answer to a question, and why it is right or wrong."""

    text: str
    right: bool
    because: str


@dataclass(frozen=True)
class Question:
    """One question of a quiz; exactly one of its choices is right."""

    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Exercise:
    """One exercise: the name of its function, its title, and its hints in order.

    questions: those that the function answers, if it is not a kernel to be written.
    unseen: the unlisted size at which the check also runs the function, given where the
    check's own choice would not tell a right kernel from a wrong one; () to leave the
    choice to the check. larger: a size far above those listed, at which the check also
    runs the function; () for none, None to derive one from the listed sizes.
    """

    name: str
    title: str
    hints: tuple[str, ...]
    questions: tuple[Question, ...] = ()
    unseen: tuple[int, ...] = ()
    larger: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Lesson:
    """One lab: `name` is its stem, such as `05_first_kernel`.

    gpu: what its solution requires of a GPU. triton: whether the lab cannot run without
    Triton. shortcut: the lab to which readers in a hurry may skip; "" if there is none.
    """

    name: str
    title: str
    minutes: int
    exercises: tuple[Exercise, ...]
    quiz: tuple[Question, ...]
    gpu: GpuNeeds = ANY_GPU
    triton: bool = False
    shortcut: str = ""

    @property
    def label(self) -> str:
        """The number and title shown to a learner, such as `05 · Your first kernel`."""
        return f"{self.name.split('_')[0]} · {self.title}"


def folder() -> Path:
    """Return the folder of the chapters, each with its lesson."""
    return chapters.folder()


def names(where: Path | None = None) -> list[str]:
    """Return the stems of all labs, in order."""
    return chapters.names(where or folder())


def load(name: str, where: Path | None = None) -> Lesson:
    """Read the lesson of a lab.

    Raises LearnerError if there is no such lab, and LessonError if its file is faulty.
    """
    where = where or folder()
    file = where / name / "lesson.toml"
    if not file.is_file():
        there = ", ".join(names(where)) or "none yet"
        raise LearnerError(f'there is no lab "{name}". The labs: {there}')
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"chapters/{name}/lesson.toml is not TOML: {error}") from None
    reader = _Reader()
    lesson = reader.lesson(name, data)
    if reader.wrong:
        raise LessonError(
            f"chapters/{name}/lesson.toml:\n  " + "\n  ".join(reader.wrong)
        )
    return lesson


class _Reader:
    """A reader that turns TOML tables into a Lesson and collects all errors in them."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def lesson(self, name: str, data: dict[str, Any]) -> Lesson:
        """Read a whole lesson, and collect everything wrong with it."""
        known = {"title", "minutes", "exercises", "quiz", "gpu", "triton", "shortcut"}
        self.only(data, known | {"tools", "gpu_tools"}, "the file")
        exercises = tuple(
            self.exercise(t, f"exercise {k}")
            for k, t in enumerate(self.tables(data, "exercises", "the file"), 1)
        )
        seen: set[str] = set()
        for e in exercises:
            if e.name in seen:
                self.wrong.append(f'two exercises are named "{e.name}"')
            seen.add(e.name)
        quiz = tuple(
            self.question(t, f"question {k}")
            for k, t in enumerate(self.tables(data, "quiz", "the file"), 1)
        )
        if len(quiz) != QUESTIONS:
            self.wrong.append(
                f"the quiz has {len(quiz)} questions; it needs {QUESTIONS}"
            )
        minutes = data.get("minutes")
        if not isinstance(minutes, int) or isinstance(minutes, bool) or minutes < 1:
            self.wrong.append(f"minutes must be a whole number, not {minutes!r}")
            minutes = 0
        triton = data.get("triton", False)
        if not isinstance(triton, bool):
            self.wrong.append(f"triton must be true or false, not {triton!r}")
        title = self.text(data, "title", "the file")
        shortcut = self.text(data, "shortcut", "the file") if "shortcut" in data else ""
        self.tools(data, "tools")
        self.tools(data, "gpu_tools")
        gpu = self.gpu(data)
        return Lesson(
            name, title, minutes, exercises, quiz, gpu, triton is True, shortcut
        )

    def gpu(self, data: dict[str, Any]) -> GpuNeeds:
        """Return what the lab requires of a GPU. Records invalid keys and values.

        Without a `gpu` table, any GPU will do.
        """
        needs = data.get("gpu", {})
        fields = GpuNeeds.__dataclass_fields__
        if not isinstance(needs, dict) or needs.keys() - fields:
            self.wrong.append(f"gpu must be a table with some of {', '.join(fields)}")
            return ANY_GPU
        found: dict[str, Any] = {}
        for key, value in needs.items():
            match getattr(ANY_GPU, key), value:
                case tuple(), [int(major), int(minor)]:
                    found[key] = (major, minor)
                case int(), int():
                    found[key] = value
                case _:
                    self.wrong.append(f"gpu: {key} cannot be {value!r}")
        return GpuNeeds(**found)

    def tools(self, data: dict[str, Any], key: str) -> None:
        """Check that a list names only tools in the table of `device/tools.py`."""
        names = data.get(key, [])
        if not isinstance(names, list) or not TOOLS.keys() >= set(names):
            self.wrong.append(f"{key} must be a list of some of {', '.join(TOOLS)}")

    def exercise(self, data: dict[str, Any], at: str) -> Exercise:
        """Read an exercise. at: its position in the file, for messages."""
        known = {"name", "title", "hints", "questions", "unseen", "larger"}
        self.only(data, known, at)
        name = self.text(data, "name", at)
        if name and not name.isidentifier():
            self.wrong.append(f'{at}: "{name}" is not the name of a function')
        hints = data.get("hints")
        if (
            not isinstance(hints, list)
            or not hints
            or not all(isinstance(h, str) and h.strip() for h in hints)
        ):
            self.wrong.append(
                f"{at}: hints must be a list of texts, the gentlest first"
            )
            hints = []
        asked = self.tables(data, "questions", at) if "questions" in data else []
        questions = tuple(
            self.question(t, f"{at}, question {k}") for k, t in enumerate(asked, 1)
        )
        unseen = self.size(data, "unseen", at) or ()
        larger = self.size(data, "larger", at)
        title = self.text(data, "title", at)
        return Exercise(name, title, tuple(hints), questions, unseen, larger)

    def size(self, data: dict[str, Any], key: str, at: str) -> tuple[int, ...] | None:
        size = data.get(key)
        if size is None:
            return None
        if not isinstance(size, list) or any(type(n) is not int for n in size):
            self.wrong.append(f"{at}: {key} must be a list of whole numbers")
            return None
        return tuple(size)

    def question(self, data: dict[str, Any], at: str) -> Question:
        self.only(data, {"question", "choices"}, at)
        choices = tuple(
            self.choice(t, f"{at}, choice {k}")
            for k, t in enumerate(self.tables(data, "choices", at), 1)
        )
        if len(choices) < 2:
            self.wrong.append(f"{at} has {len(choices)} choices; it needs at least 2")
        right = sum(c.right for c in choices)
        if right != 1:
            self.wrong.append(f"{at} has {right} right choices; it needs exactly 1")
        return Question(self.text(data, "question", at), choices)

    def choice(self, data: dict[str, Any], at: str) -> Choice:
        self.only(data, {"text", "right", "because"}, at)
        right = data.get("right", False)
        if not isinstance(right, bool):
            self.wrong.append(f"{at}: right must be true or false, not {right!r}")
            right = False
        return Choice(
            self.text(data, "text", at), right, self.text(data, "because", at)
        )

    def text(self, data: dict[str, Any], key: str, at: str) -> str:
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.wrong.append(
            f"{at} has no `{key}`" if value is None else f"{at}: `{key}` must be a text"
        )
        return ""

    def tables(self, data: dict[str, Any], key: str, at: str) -> list[dict[str, Any]]:
        value = data.get(key)
        if (
            isinstance(value, list)
            and value
            and all(isinstance(t, dict) for t in value)
        ):
            return value
        self.wrong.append(
            f"{at} has no `{key}`" if not value else f"{at}: `{key}` must be tables"
        )
        return []

    def only(self, data: dict[str, Any], known: set[str], at: str) -> None:
        for key in sorted(set(data) - known):
            self.wrong.append(
                f"{at}: unknown key `{key}`; known: {', '.join(sorted(known))}"
            )
