"""What a wrong result would be the result of: specs with a slip in them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from weft.checking.cases import as_tuple, copies, widened
from weft.checking.compare import agrees
from weft.checking.plain import leaves
from weft.checking.values import as_array

Slip = Callable[..., Any]  # a spec, with a mistake that learners make


def result_if(slips: Mapping[str, Slip], tolerance: float = 1e-3) -> Slip:
    """Make a `because=` that names the slip with which a wrong result comes out.

    slips: what happens, as it follows "if", and the function of the inputs that gives
    the same outputs. The first that fits is named.
    """

    def because(*values: Any) -> str:
        for what, slip in slips.items():
            found = inspect.signature(slip).parameters.values()
            count = sum(parameter.default is parameter.empty for parameter in found)
            given, got = values[:count], values[count:]
            with np.errstate(all="ignore"):
                made = as_tuple(slip(*(widened(x) for x in copies(given))))
                if alike(alone(got), alone(made), tolerance):
                    return f"This is the result if {what}."
        return ""

    return because


def alone(values: tuple[Any, ...]) -> Any:
    """The one value of a tuple, or the tuple itself where it has more."""
    return values[0] if len(values) == 1 else values


def alike(got: Any, wanted: Any, tolerance: float) -> bool:
    """Whether two trees of arrays have the same form, and agree."""
    mine, aims = (dict(leaves(as_array(tree))) for tree in (got, wanted))
    if mine.keys() != aims.keys():
        return False
    pairs = [(np.asarray(mine[key]), np.asarray(aims[key])) for key in aims]
    return all(
        a.shape == b.shape and a.dtype.kind in "bifu" and agrees(a, b, tolerance)
        for a, b in pairs
    )
