"""The base of all exercises. Each kind of check adds its own arguments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft import doing
from weft.checking.cases import (
    SEED,
    Case,
    as_tuple,
    copies,
    unseen_size,
    widened,
)
from weft.checking.verdict import Failed, Verdict


@dataclass(frozen=True)
class Explained:
    """The cause of wrong outputs, and the name of the input it concerns."""

    text: str = ""
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """The learner's code, its specification, and the data to test it on.

    written_by_learner: the subject of the verdict. spec: a NumPy function of the inputs
    that returns the output, or a tuple of outputs. inputs: `(rng, *size)` → the inputs.
    sizes: each an integer or a tuple; costs are counted at the last. tolerance: the
    relative error allowed, against the spec in double precision. limits: see
    `weft.checking.limits`. unseen: whether to run an unlisted size too, with data
    derived from the learner's source. because: `(*inputs, *outputs)` → the cause of
    these wrong outputs, "" if it is unknown; or a tuple of that and the name of the
    input that it concerns.

    A subclass adds arguments. Raises ValueError if the exercise is incomplete.
    """

    needs: ClassVar[tuple[str, ...]] = ("spec", "inputs", "sizes")
    unused: ClassVar[tuple[str, ...]] = ()  # fields below that this kind does not use

    written_by_learner: Any
    spec: Any = None
    inputs: Any = None
    sizes: Any = ()
    tolerance: float = 1e-5
    limits: Mapping[str, Any] = field(default_factory=dict)
    unseen: bool = True
    because: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        for name in self.needs:
            value = getattr(self, name)
            if value is None or (isinstance(value, tuple) and not value):
                raise ValueError(f"check({self.name}, ...): {name} is missing or empty")

    @staticmethod
    def title(thing: Any) -> str:
        """Return the name under which a lesson lists what a learner wrote."""
        return str(getattr(thing, "__name__", thing))

    @property
    def name(self) -> str:
        """The exercise's name, as the lesson lists it."""
        return self.title(self.written_by_learner)

    def verdict(self, kind: str, *said: Any, **more: Any) -> Verdict:
        """Make a verdict on the exercise. Takes `Verdict`'s other arguments."""
        return Verdict(self.name, kind, *said, **more)

    def failed(self, kind: str, *said: Any, **more: Any) -> Failed:
        """Make the error that ends the check with a verdict; see `verdict`."""
        return Failed(self.verdict(kind, *said, **more))

    def likely(self, *values: Any) -> str:
        """Return the likely cause of wrong outputs; "" if the exercise cannot tell."""
        return self.explained(*values).text

    def explained(self, *values: Any) -> Explained:
        """Return the likely cause of wrong outputs.

        The result also has the input that the cause concerns, if `because` names it.
        """
        found = self.because(*copies(values)) if self.because else ""
        return Explained(*found) if isinstance(found, tuple) else Explained(str(found))

    def case(self, size: Any, seed: int = SEED) -> Case:
        """Make the data for one size: the same data for the same `size` and `seed`."""
        import numpy as np

        parts = as_tuple(size)
        doing.now(f"{self.name}: {self._which(size)}")
        rng = np.random.default_rng([seed, *(int(p) for p in parts)])
        given = as_tuple(self.inputs(rng, *parts))
        listed = seed == SEED
        named = parts in map(as_tuple, self.sizes)
        return Case(parts, given, self.expected(given), listed, named)

    def _which(self, size: Any) -> str:
        if size not in self.sizes:
            return "a size that is not listed"
        return f"size {self.sizes.index(size) + 1} of {len(self.sizes)}"

    def expected(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Evaluate the spec for these inputs in double precision."""
        import numpy as np

        exact = as_tuple(self.spec(*(widened(x) for x in copies(given))))
        return tuple(map(np.asarray, exact))

    def of_lesson(self) -> tuple[Any, Any]:
        """Return the unlisted size and the larger size that the lesson names."""
        from weft import lesson

        return lesson.unseen(self.name), lesson.larger(self.name)

    def unseen_case(self, seed: int) -> Any:
        """Return the additional case, which the exercise does not list, or None.

        seed: derived from the learner's source. Returns None if the exercise excludes
        such a case, if no size can be chosen, or if inputs of that size cannot be made.
        """
        size = self.of_lesson()[0] or unseen_size(self.sizes, seed)
        if size is None or not self.unseen:
            return None
        try:
            return self.case(size, seed)
        except Exception:  # its inputs may not support this size
            return None

    def cases(self, seed: int) -> Iterator[Any]:
        """Yield the listed cases, then the unlisted one if there is one."""
        yield from map(self.case, self.sizes)
        if (unseen := self.unseen_case(seed)) is not None:
            yield unseen
