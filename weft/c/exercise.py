"""An exercise in C: a cell of C, the program around it, or a Makefile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft.checking.exercise import Exercise


@dataclass(frozen=True, kw_only=True)
class CExercise(Exercise):
    """A `%%c` cell, or a `%%makefile` cell.

    prototype: the declaration of the function asked for, without the semicolon.
    inputs: `(rng, *size)` → the values of spec's parameters; they are the variables
        of the program that calls: arrays (`x`, with `x_size`, or `x_rows`, `x_cols`),
        NumPy's numbers in their own type, Python's integers as `size_t`.
    call: C statements that call the function and hand over each output, in the order of
        spec's: `give(value);`, `give_all(pointer, count);`.
    files, steps: for a Makefile, the files beside it and what to do with them; see
        `weft.c.makefile`.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    unused: ClassVar[tuple[str, ...]] = ("limits",)

    prototype: str = ""
    call: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[Any] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        missing = None in (self.spec, self.inputs) or not self.sizes
        if missing and not self.steps:
            raise ValueError(f"check({self.name}, ...): spec, inputs and sizes")
