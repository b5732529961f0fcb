"""Explain results that are wrong only for inputs with strides."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weft.checking.cases import Case
from weft.checking.compare import agrees
from weft.checking.verdict import Failed, Verdict
from weft.torch_ops.calls import Calls
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import (
    GAPS,
    array,
    has_strides,
    is_tensor,
    tensors,
    written_shape,
)

ORDER = (
    "The same numbers come out right when they follow each other in memory. A caller "
    "may pass a transposed matrix or every second element: which line assumes an order "
    "in memory, of an input or of the result?"
)


@dataclass(frozen=True)
class Strided:
    """A call on strided inputs that gives wrong results."""

    exercise: TorchExercise
    calls: Calls
    case: Case
    layout: str

    def inputs(self, **more: Any) -> list[Any]:
        """Return the inputs of the call."""
        device, host = self.calls.device, self.exercise.host
        case = self.case.inputs
        return tensors(case, layout=self.layout, device=device, host=host, **more)

    @cached_property
    def strided(self) -> list[tuple[str, Any]]:
        """The inputs that are not contiguous, with their names."""
        inputs = self.inputs()
        named = zip(self.exercise.names(len(inputs)), inputs, strict=True)
        return [(name, value) for name, value in named if has_strides([value])]

    def results(self, **more: Any) -> list[Any]:
        """Call what the learner wrote once more; return no results if that fails."""
        try:
            return self.calls.results(self.inputs(**more), "")
        except Failed:
            return []

    def why(self, verdict: Verdict) -> str:
        """Return what the results show of the cause. verdict: on the call."""
        if verdict.kind == "exception":
            return verdict.why or ORDER
        return self.in_two_orders() or self.gaps() or ORDER

    def message(self, verdict: Verdict) -> str:
        """Return the message of a verdict, or where its NaNs come from.

        They come from the gaps if there are none when the gaps hold numbers.
        """
        got = [array(r) for r in self.results() if is_tensor(r)]
        filled = [array(r) for r in self.results(between=0.0) if is_tensor(r)]
        if verdict.kind != "unwritten" or any(np.isnan(r).any() for r in filled):
            return verdict.message
        if len(got) != 1 or len(filled) != 1 or not np.isnan(got[0]).any():
            return verdict.message
        at = np.argwhere(np.isnan(got[0]))
        others = f", and so are {len(at) - 1:,} others of {got[0].size:,}"
        of = self.strided[0][0] if len(self.strided) == 1 else "the inputs"
        return (
            f"result[{', '.join(map(str, at[0]))}] is NaN{others * (len(at) > 1)}. NaN "
            f"is what the check puts into the gaps of {of}."
        )

    def in_two_orders(self) -> str:
        """Say that a matrix was read in one order and the result filled in another."""
        results = self.results()
        if len(results) != 1 or len(self.strided) != 1 or results[0].ndim != 2:
            return ""
        (name, given), result = self.strided[0], results[0]
        aim, got = self.case.expected[0], array(result)
        if given.shape != result.shape or got.shape != aim.shape:
            return ""
        if not result.is_contiguous() and not result.t().is_contiguous():
            return ""
        ways, filled = ("row by row", "column by column"), [got.ravel(), got.T.ravel()]
        rows = result.is_contiguous()
        read, wrote = ways if not rows else ways[::-1]
        in_order = aim.ravel() if not rows else aim.T.ravel()
        if not agrees(filled[not rows], in_order, self.exercise.tolerance):
            return ""
        return (
            f"Every value is right, but in another place: {name} was read {read}, and "
            f"the result, whose strides are {written_shape(result.stride())}, was "
            f"filled {wrote}. The two orders have to agree: which lines decide on them?"
        )

    def gaps(self) -> str:
        """Say which input has gaps, and what that means for its memory."""
        wide = [(name, x) for name, x in self.strided if x.ndim > 1]
        if self.layout != GAPS or len(wide) != 1:
            return ""  # it may be any of them
        name, given = wide[0]
        return (
            f"The same numbers give the right result without gaps, even if the matrix "
            f"is transposed. Here {name} has gaps: its shape is "
            f"{written_shape(given.shape)} and its strides are "
            f"{written_shape(given.stride())}, so {name} has only every second number "
            f"of its memory. The first {given.numel():,} numbers of that memory are "
            f"not the elements of {name}. Which line reads them as if they were?"
        )
