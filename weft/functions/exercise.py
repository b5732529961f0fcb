"""An exercise in plain Python: a function that is judged by what it returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.checking.cases import as_tuple, copies, unseen_arguments
from weft.checking.exercise import Exercise


@dataclass(frozen=True, kw_only=True)
class FunctionExercise(Exercise):
    """A plain function, whose return value is compared with the spec's.

    inputs: the argument tuples, or `(rng)` → argument tuples.
    because: for a function that answers questions or returns a number, `(*arguments,
        answer)` → why this answer is wrong, "" if that is unknown. The verdict on a
        wrong number gives the right one; the verdict on a wrong text does not. For
        questions, `weft.lesson.answers` provides `because`, `spec` and `inputs`.
    without: what the function must not call: modules such as "numpy.fft", or functions
        such as "math.gcd" or a chapter's own "layouts.coalesce". It must not call its
        spec either.
    same: `(got, wanted)` → "" if they count as the same, or the reason why not; by
        default they are compared as numbers, arrays or trees of them.
    lines: how many lines of Python one call may run; see `weft.checking.step_limit`.
    """

    needs: ClassVar[tuple[str, ...]] = ("spec", "inputs")
    unused: ClassVar[tuple[str, ...]] = ("sizes", "limits")

    without: tuple[str, ...] = ()
    same: Any = None
    lines: int | None = None

    def argument_tuples(self, seed: int) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of each call: those of `inputs`, then unseen ones.

        seed: derived from the learner's source. Unseen arguments made from a list are
        omitted if the spec does not accept them.
        """
        if callable(self.inputs):
            import numpy as np

            yield from map(as_tuple, self.inputs(np.random.default_rng(0)))
            if self.unseen:
                yield from map(as_tuple, self.inputs(np.random.default_rng(seed)))
            return
        listed = list(self.inputs)
        yield from map(as_tuple, listed)
        if self.unseen:
            yield from filter(self._takes, unseen_arguments(listed, seed))

    def _takes(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether the spec accepts these arguments."""
        try:
            self.spec(*copies(arguments))
        except Exception:  # whatever it raises for arguments that do not fit
            return False
        return True
