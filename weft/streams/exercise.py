"""An exercise in host code: what it is given, what it has to leave, how fast."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.checking.exercise import Exercise


@dataclass(frozen=True, kw_only=True)
class HostExercise(Exercise):
    """A function that copies and launches.

    inputs: `(rng, size)` → tuple of arrays.
    given: `(bench, *inputs)` → the function's arguments, made by the bench: `pinned`,
        `pageable`, `device_like`, `stream`, and so on.
    result: the parameter that holds the results when the function has returned; "" for
        the value that it returns.
    timer: for a function that times another, `work()`: how many ms this takes, and how
        many ms of other work are in progress when the function is called. Then the
        fields above are not needed.
    lines: how many lines of Python one call may run; see `weft.checking.step_limit`.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    given: Any = None
    result: str = ""
    timer: Sequence[tuple[float, float]] = ()
    lines: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        missing = None in (self.spec, self.inputs, self.given) or not self.sizes
        if missing and not self.timer:
            raise ValueError(f"check({self.name}, ...): spec, inputs, given and sizes")
