"""Compare what a plain function returns with what its spec returns.

Plain values are compared without NumPy, which a page of the book does not have. NumPy
is imported only for an array, a tensor, or a NumPy number.
"""

from numbers import Real
from typing import Any

from weft.checking.plain import is_plain, leaves
from weft.checking.verdict import Failed
from weft.functions import plain
from weft.functions.exercise import FunctionExercise
from weft.functions.wording import in_ctypes, wrong_answer


def compare(exercise: FunctionExercise, call: str, got: Any, wanted: Any) -> None:
    """Raise `Failed` unless `got` agrees with `wanted`, the spec's result.

    call: the call as it appears in the verdict.
    """
    if got is None:
        raise exercise.failed(
            "wrong-value",
            f"{call} returns nothing.",
            "A function returns its result with `return`.",
        )
    if exercise.same is not None:
        if not in_numpy(got) and not in_numpy(wanted):
            reason = exercise.same(got, wanted)
        else:
            from weft.checking.values import as_array

            reason = exercise.same(as_array(got), as_array(wanted))
        if reason:
            raise Failed(wrong_answer(exercise, call, got, reason))
    elif is_plain(wanted) and is_in_ctypes(got):
        raise Failed(in_ctypes(exercise, call, got))
    elif is_plain(wanted) and not in_numpy(got):
        plain.compare(exercise, call, got, wanted)
    else:
        from weft.functions import arrays

        arrays.compare(exercise, call, got, wanted)


def is_in_ctypes(value: Any) -> bool:
    """Return whether a value is a ctypes number."""
    return type(value).__module__ == "ctypes" and hasattr(value, "value")


def in_numpy(value: Any) -> bool:
    """Return whether a value, or a leaf of it, is from NumPy or PyTorch."""
    types = (type(leaf) for _, leaf in leaves(value))
    return any(t.__module__.partition(".")[0] in ("numpy", "torch") for t in types)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, including NumPy's."""
    return isinstance(value, Real) and not isinstance(value, bool)
