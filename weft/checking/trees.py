"""Values as a check compares them: tensors as arrays, and trees of values leaf by leaf.

A tree is a tuple, a list or a dict whose parts are values or trees: what a function of
layouts returns, `((2, (2, 2)), 1)`, or gradients by name.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

Path = tuple[Any, ...]


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch; PyTorch is not imported for it."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(
        value, "detach"
    )


def as_array(value: Any) -> Any:
    """A tensor as a NumPy array, on the host, bfloat16 as float32; others as they are.

    Trees keep their form.
    """
    if isinstance(value, dict):
        return {key: as_array(part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(as_array(part) for part in value)
    if not is_tensor(value):
        return value
    tensor = value.detach().cpu()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()  # NumPy has no bfloat16, and no float8
    return tensor.resolve_conj().numpy()


def is_tree(value: Any) -> bool:
    """Whether NumPy cannot hold `value` as one array of numbers or of texts."""
    if isinstance(value, dict):
        return True
    if not isinstance(value, tuple | list):
        return False
    try:
        return bool(np.asarray(value).dtype == object)
    except (ValueError, TypeError):
        return True


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values of a tree, each with the keys and numbers that lead there."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, tuple | list):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, number))
    else:
        yield path, value


def written(path: Path) -> str:
    """'[1][0]', as Python takes a leaf out of a tree."""
    return "".join(f"[{part!r}]" for part in path)
