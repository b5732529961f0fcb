"""Whose line a verdict shows: the kernel's, or that of a function it calls."""

from weft.checking.verdict import Verdict
from weft.kernels.exercise import KernelExercise, Trial
from weft.places import Note, Place
from weft.simulator import calls
from weft.starters import source_function


def with_calls(trial: Trial, verdict: Verdict, backwards: bool = False) -> Verdict:
    """Where a line of `verdict` is not the kernel's, say whose, and who called it.

    Where that has not been written down, the trial is run once more.
    """
    exercise = trial.exercise
    others = [
        (p, row) for (p, _), row in zip(verdict.places, verdict.rows, strict=False)
    ]
    wanted = frozenset(row for p, row in others if elsewhere(exercise, p))
    found: dict[int, list[Place]] = {}
    if wanted:
        given = (*trial.case.inputs, *trial.fresh())
        readonly = frozenset(range(len(trial.case.inputs)))
        found = calls(
            exercise.kernel,
            trial.config,
            given,
            wanted,
            readonly=readonly,
            backwards=backwards,
        )
    ways: list[list[Place]] = [[] for _ in verdict.places]
    for k, (place, row) in enumerate(others):
        at, *way = found.get(row, [place])
        if (at.function, at.line) == (place.function, place.line):
            ways[k] = way
    places: list[Note] = []
    for k, ((place, note), way) in enumerate(zip(verdict.places, ways, strict=True)):
        places.append((place, note))
        if way not in ways[k + 1 :]:  # one call for both comes after both
            places += [(call, "called here") for call in way]
    return verdict.but(places=[(p, noted(exercise, note, p)) for p, note in places])


def elsewhere(exercise: KernelExercise, place: Place) -> str:
    """In which other function a line is, '' for one of the kernel's."""
    inner = source_function(exercise.kernel)
    if inner is None or not place.file:
        return ""
    code = inner.__code__
    if place.file != code.co_filename:
        return f"in `{place.function}`, of another cell"
    return "" if place.function == code.co_name else f"in `{place.function}`"


def noted(exercise: KernelExercise, note: str, place: Place) -> str:
    """A note on a line, and in which other function the line is."""
    return ", ".join(filter(None, (note, elsewhere(exercise, place))))
