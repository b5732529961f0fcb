"""What a wrong gradient is the gradient of, and on what it does not depend.

Each cause is found by computing: other gradients are right for it, or the backward pass
is run again with other numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from weft.checking.cases import copies
from weft.checking.compare import agrees, close
from weft.checking.differences import times
from weft.checking.verdict import Failed
from weft.torch_ops.derivatives import Array, gradients_of, incoming, wanted
from weft.torch_ops.exercise import TorchExercise, is_array
from weft.torch_ops.tensors import array

FEW = 3  # so many ratios do not agree by chance
SAME = 1e-7  # the error of a gradient found in steps is smaller
COMING = "the incoming gradient"


@dataclass(frozen=True)
class Wrong:
    """A backward pass that gives a wrong gradient of input `k`.

    first: the `gradients.Pass`. got: the gradient of each input, None where there is
    none.
    """

    first: Any
    k: int
    got: list[Any]

    @property
    def exercise(self) -> TorchExercise:
        found: TorchExercise = self.first.exercise
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return self.exercise.names(len(self.first.inputs))

    @property
    def name(self) -> str:
        return self.names[self.k]

    @property
    def values(self) -> Array:
        """The wrong gradient."""
        return array(self.got[self.k])

    @property
    def aim(self) -> Array:
        """The right gradient."""
        found: Array = self.first.aims[self.k]
        return found

    def is_like(self, other: Any) -> bool:
        """Return whether the wrong gradient agrees with another array."""
        if other is None or other.shape != self.values.shape:
            return False
        return agrees(self.values, other, self.exercise.tolerance)

    def cause(self) -> str:
        """Return what shows the cause, in one to three sentences, or ""."""
        if said := self.of_another():
            return said
        missing, extra = self.dependence()
        if missing and extra:
            return (
                f"The gradient of {self.name} changes with the numbers in {extra}, and "
                f"not with those in {missing}. It should be the other way around. Does "
                "the backward take one for the other?"
            )
        if missing:
            return (
                f"The gradient of {self.name} does not change with the numbers in "
                f"{missing}. It should: where do they enter the derivative?"
            )
        if said := self.of_other_inputs():
            return said
        if extra:
            return (
                f"The gradient of {self.name} changes with the numbers in {extra}. "
                "It should not depend on them."
            )
        return self.not_linear()

    def of_another(self) -> str:
        """Say which other input's gradient has come back, or ""."""
        for other, aim in zip(self.names, self.first.aims, strict=True):
            if other != self.name and self.is_like(aim):
                return (
                    f"What comes back for {self.name} is the gradient of {other}. The "
                    "backward returns one value for each input, in the order of the "
                    "inputs."
                )
        return ""

    def of_other_inputs(self) -> str:
        """Say for which other inputs, or for which other function, this is right.

        Up to two such causes are named. If more fit, the inputs do not tell them apart.
        """
        if not self.values.any():
            return ""
        fits = dict.fromkeys(what for what, aim in self.others() if self.is_like(aim))
        if not 0 < len(fits) <= 2:
            return ""
        said = f"This is the gradient of {self.name} if {', or if '.join(fits)}."
        mine = any(what in fits for what in self.exercise.because_gradient)
        if mine or self.exercise.written.backward is None:
            return said
        return f"{said} What is saved for the backward, and in which order is it used?"

    def others(self) -> Iterator[tuple[str, Any]]:
        """Yield what may have been mistaken, and the gradient in that case."""
        inputs, grads = self.first.case.inputs, [array(g) for g in self.first.grads]
        for what, spec in self.exercise.because_gradient.items():
            yield what, gradients_of(spec, inputs, grads)[self.k]
        for what, given, came in self.other_inputs(list(inputs), grads):
            try:
                with np.errstate(all="ignore"):
                    yield what, wanted(self.exercise, given, came)[self.k]
            except Exception:  # a function that does not accept these inputs
                continue

    def other_inputs(
        self, inputs: list[Any], grads: list[Array]
    ) -> Iterator[tuple[str, list[Any], list[Array]]]:
        """Yield mistakes, each with the inputs and incoming gradients it leads to."""

        def changed(values: dict[int, Any]) -> list[Any]:
            return [values.get(k, value) for k, value in enumerate(inputs)]

        for one, two in combinations(range(len(inputs)), 2):
            if form(inputs[one]) == form(inputs[two]) is not None:
                what = f"{self.names[one]} and {self.names[two]} are exchanged"
                yield what, changed({one: inputs[two], two: inputs[one]}), grads
        if len(grads) != 1:
            return
        result = array(self.first.results[0])
        for k, value in enumerate(inputs):
            if form(value) == form(grads[0]) is not None:
                what = f"{COMING} and {self.names[k]} are exchanged"
                yield what, changed({k: grads[0]}), [value]
                what = f"the backward uses the result in place of {self.names[k]}"
                yield what, changed({k: result}), grads

    def dependence(self) -> tuple[str, str]:
        """Find what the gradient does not depend on, and what it should not depend on.

        Found by changing the incoming gradient, and the inputs one at a time. Returns a
        name for each, or "" if there is nothing of that kind.
        """
        missing, extra = "", ""
        for changed, again, grads in self.variants():
            try:
                new = again.backward(grads)[self.k]
            except Failed:
                continue
            if new is None:
                continue
            tolerance = self.exercise.tolerance
            due = not agrees(again.aims[self.k], self.aim, tolerance)
            if due and np.array_equal(array(new), self.values, equal_nan=True):
                missing = missing or changed
            moved = not agrees(array(new), self.values, tolerance)
            if moved and agrees(again.aims[self.k], self.aim, SAME):
                extra = extra or changed
        return missing, extra

    def variants(self) -> Iterator[tuple[str, Any, list[Any]]]:
        """Yield passes in which one thing is different, its name, and their grads."""
        first = self.first
        second = [incoming(r, 2) for r in first.results]
        aims = wanted(self.exercise, first.case.inputs, [array(g) for g in second])
        yield COMING, replace(first, aims=aims), second
        for k, value in enumerate(first.case.inputs):
            if form(value) is None:
                continue
            moved = value * 0.75 + 0.375
            inputs = list(copies(first.case.inputs))
            inputs[k] = moved.astype(value.dtype) if is_array(value) else moved
            case = replace(first.case, inputs=tuple(inputs))
            try:
                again = first.begin(self.exercise, first.calls, case)
            except Failed:  # the changed number may not suit
                continue
            if again is not None:
                yield f"`{self.names[k]}`", again, first.grads

    def not_linear(self) -> str:
        """Say what doubling the incoming gradient does, if not to double this one."""
        first = self.first
        try:
            again = first.begin(self.exercise, first.calls, first.case)
            assert again is not None
            new = again.backward([2 * g for g in first.grads])[self.k]
        except Failed:
            return ""
        if new is None or agrees(array(new), 2 * self.values, self.exercise.tolerance):
            return ""
        said = (
            f"Twice the incoming gradient should give twice the gradient of {self.name}"
        )
        if agrees(array(new), 4 * self.values, self.exercise.tolerance):
            return f"{said}, and it gives four times it. How often does it enter?"
        return f"{said}, and it does not. Where does it enter, and how?"

    def by_a_factor(self) -> str:
        """Say by which factor all wrong elements are off, or ""."""
        wrong = ~close(self.values, self.aim, self.exercise.tolerance)
        if wrong.sum() < FEW or not self.aim[wrong].all():
            return ""
        ratio = self.values[wrong] / self.aim[wrong]
        if np.ptp(ratio) > 1e-4 * np.abs(ratio).max():
            return ""
        return f"Every wrong element is {times(ratio[0])}."


def form(value: Any) -> tuple[int, ...] | type | None:
    """Return the shape of an array of floats, or `float`; None for anything else."""
    if is_array(value):
        shape: tuple[int, ...] = value.shape
        return shape if value.dtype.kind == "f" else None
    return float if isinstance(value, float) else None
