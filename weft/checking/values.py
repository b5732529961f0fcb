"""Comparing arrays, and converting tensors and trees of them to arrays.

A tree is a tuple, a list or a dict whose parts are values or trees, such as the layout
`((2, (2, 2)), 1)`, or a dict of gradients by name.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.checking.compare import Array, difference, ordinary
from weft.checking.differences import Difference
from weft.checking.exercise import Exercise


def judge(
    exercise: Exercise,
    what: str,
    got: Array,
    wanted: Array,
    why: str | Callable[[Difference], str] = "",
    *,
    lead: str = "",
    **more: Any,
) -> None:
    """Raise `Failed` unless `got` agrees with `wanted`.

    what: how a sentence names the value, after the words in `lead`. why: what the
    verdict says of the cause, if the difference shows no pattern; or a function of the
    difference, whose result is always used. more: fields of the verdict.
    """
    wrong = difference(got, wanted, exercise.tolerance)
    if wrong is not None:
        said = why(wrong) if callable(why) else wrong.hint or why
        message = f"{lead}{wrong.sentence(what)}"
        raise exercise.failed("wrong-value", message, said, **more)


def judge_on_gpu(
    exercise: Exercise, label: str, pairs: Iterable[tuple[Array, Array]], why: str
) -> str:
    """Judge a GPU's results for the case `label`; return a fact.

    pairs: the value of each output, and what it should be. why: see `judge`. Raises
    `Failed` if an output is wrong.
    """
    worst = 0.0
    for got, wanted in pairs:
        judge(exercise, "the output", got, wanted, why, when=f"{label}, on the GPU")
        worst = max(worst, relative_error(got, wanted))
    return f"right on the GPU: {label}, relative error {worst:.1e}"


def relative_error(got: Array, wanted: Array) -> float:
    """Compute ‖got − wanted‖ / ‖wanted‖ over the elements that should be `ordinary`.

    Returns 0 for types other than floats and complex numbers, and ‖got − wanted‖ if
    ‖wanted‖ is 0.
    """
    if got.dtype.kind not in "fc":
        return 0.0
    some = ordinary(wanted, got.dtype)
    norm = float(np.linalg.norm(wanted[some]))
    gap = float(np.linalg.norm(got[some].astype(wanted.dtype) - wanted[some]))
    return gap / norm if norm else gap


def is_tensor(value: Any) -> bool:
    """Return whether `value` is a PyTorch tensor, without importing PyTorch."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(
        value, "detach"
    )


def as_array(value: Any) -> Any:
    """Convert a tensor to a NumPy array on the host, 8- and 16-bit floats as float32.

    Trees are converted leaf by leaf, and other values are returned unchanged.
    """
    if isinstance(value, dict):
        return {key: as_array(part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(as_array(part) for part in value)
    if not is_tensor(value):
        return value
    tensor = value.detach().cpu()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()  # NumPy has neither bfloat16 nor float8
    return tensor.resolve_conj().numpy()


def is_tree(value: Any) -> bool:
    """Return whether a value is a tree that NumPy cannot hold in one array."""
    if isinstance(value, dict):
        return True
    if not isinstance(value, tuple | list):
        return False
    try:
        return bool(np.asarray(value).dtype == object)
    except (ValueError, TypeError):
        return True
