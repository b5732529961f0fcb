"""The quiz at the end of a lab: every choice opens to show its own feedback.

A choice is an HTML `<details>`, which a browser opens by click or keyboard without a
script. So the same quiz works in a notebook, in the book, and offline.
"""

from dataclasses import dataclass

from weft import markup
from weft.errors import LearnerError
from weft.lesson.syllabus import Choice, Lesson, Question

_letters = "abcdefghij"


@dataclass(frozen=True, repr=False)
class Quiz:
    """The questions of one lab, shown as HTML in a notebook and as text elsewhere."""

    lesson: Lesson

    def answer(self, question: int, choice: str) -> str:
        """Return the feedback on one choice, as in `quiz().answer(1, "b")`.

        question: its number, from 1. choice: its letter. Raises LearnerError if there
        is no such question or choice.
        """
        questions = self.lesson.quiz
        if question not in range(1, len(questions) + 1):
            raise LearnerError(f"the questions are numbered 1 to {len(questions)}")
        choices = questions[question - 1].choices
        letters = _letters[: len(choices)]
        if len(choice) != 1 or choice.lower() not in letters:
            there = ", ".join(letters)
            raise LearnerError(f"question {question} has the choices {there}")
        picked = choices[letters.index(choice.lower())]
        return f"{verdict(picked)} {markup.plain(picked.because)}"

    def __repr__(self) -> str:
        lines = [f"Quiz · {self.lesson.label}"]
        for n, q in enumerate(self.lesson.quiz, 1):
            lines += ["", f"{n}. {markup.plain(q.text)}"]
            lines += [
                f"   {letter}) {markup.plain(c.text)}"
                for letter, c in zip(_letters, q.choices, strict=False)
            ]
        lines += ["", 'Feedback on a choice: quiz().answer(1, "a")']
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html(self.lesson)


def verdict(choice: Choice) -> str:
    """Return the first words of the feedback on a choice."""
    return "✓ Right." if choice.right else "✗ Not this one."


def html(lesson: Lesson) -> str:
    """Return the quiz of a lesson as HTML."""
    parts = [_question(n, q) for n, q in enumerate(lesson.quiz, 1)]
    return markup.block(parts, label=f"Quiz: {lesson.title}")


def _question(number: int, question: Question) -> str:
    """Return one question as HTML."""
    choices = "".join(
        f'<details style="border:{markup.RULE};border-radius:.4em;margin:.25em 0;'
        f'padding:.2em .7em"><summary style="cursor:pointer">'
        f"{markup.inline(c.text)}</summary>"
        f'<p style="margin:.4em 0 .2em"><strong>{verdict(c)}</strong> '
        f"{markup.inline(c.because)}</p></details>"
        for c in question.choices
    )
    return (
        f'<p style="margin:.8em 0 .3em"><strong>{number}.</strong> '
        f"{markup.inline(question.text)}</p>{choices}"
    )
