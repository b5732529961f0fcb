"""Draw a student's questions: at random, but the same ones each time."""

import random
from collections.abc import Sequence

from weft.checking.kinds import KINDS

from .questions import ExamError, Question

CHOICES = 5  # verdicts to choose from, for each question


def draw(
    pool: Sequence[Question], student: str, course: str, count: int, right: int = 0
) -> list[Question]:
    """Return `count` questions for a student, each on another exercise.

    `right` of them have kernels that pass. The same student in the same course gets the
    same questions; in another course, they get others.

    Raises ExamError if there are fewer exercises than questions.
    """
    lot = random.Random(f"{course}\n{student}")
    exercises = sorted({(q.lab, q.exercise) for q in pool})
    if not 1 <= count <= len(exercises):
        raise ExamError(
            f"{count} questions: these labs have {len(exercises)} exercises to ask "
            "about; name more labs, or ask less"
        )
    if not 0 <= right <= count:
        raise ExamError(f"{right} right kernels among {count} questions")
    lot.shuffle(exercises)
    drawn: list[Question] = []
    for exercise in exercises:
        passes = sum(q.line is None for q in drawn) < right
        fitting = [
            question
            for question in pool
            if (question.lab, question.exercise) == exercise
            and (question.line is None) == passes
        ]
        if fitting:
            drawn.append(lot.choice(fitting))
        if len(drawn) == count:
            lot.shuffle(drawn)
            return drawn
    raise ExamError(
        f"only {len(drawn)} of {count} questions can be drawn; ask less, or for fewer "
        "right kernels"
    )


def choices(question: Question, pool: Sequence[Question], student: str) -> list[str]:
    """Return the verdicts to choose from: the right one, likely others, and a pass."""
    headlines = {KINDS[q.verdict].headline for q in pool if q.line is not None}
    others = sorted(headlines - {question.headline})
    lot = random.Random(f"{student}\n{question.code}")
    some = lot.sample(others, min(len(others), CHOICES - 1))
    mine = [] if question.line is None else [question.headline]
    return [*sorted([*mine, *some][:CHOICES]), "it passes"]
