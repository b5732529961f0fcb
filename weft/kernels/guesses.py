"""Plain reads that a compare-and-swap follows: whether they are only guesses.

`old = x[i]`, and then `cas(x, i, old, new)` until it succeeds: the read races with the
swaps of other threads, but a value that is out of date makes the swap fail, and that is
all. So `sanitizer.races` lets such reads be. It cannot see what else becomes of the
value. Here the launch is run again with the oldest value that each of them may find. A
result that is wrong then has been computed from a guess, and the read is a race.
"""

from weft.checking.verdict import Failed, Verdict
from weft.kernels import hazards
from weft.kernels.exercise import Trial
from weft.kernels.outputs import judge
from weft.kernels.traced import Done, traced
from weft.sanitizer import guessed
from weft.simulator import Fault


def misused(trial: Trial, done: Done, backwards: bool) -> Verdict | None:
    """The race of a read that should have been a guess, None if there is none."""
    places = guessed(done.trace)
    if not places:
        return None
    hazard = hazards.find(
        done.trace, trial.name, trial.when, unset_is_fine=True, guesses_are_fine=False
    )
    if hazard is None:
        return None
    try:
        judge(trial, traced(trial, backwards=backwards, stale=places))
    except (Fault, Failed):
        return hazard.verdict
    return None
