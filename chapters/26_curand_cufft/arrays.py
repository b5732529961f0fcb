"""What else a program does with arrays on the device: make, copy, multiply.

On a GPU these are PyTorch's. On the model they do the same to its arrays.
"""

from typing import Any

import torch

from weft.libraries.loading import model_in_use


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Any:
    """A new array of zeros on the device."""
    model = model_in_use()
    if model is None:
        return torch.zeros(shape, dtype=dtype, device="cuda")
    return model.place(torch.zeros(shape, dtype=dtype), "an array of zeros")


def channels_last(array: Any) -> Any:
    """A copy of an array of four axes whose second axis is the fastest in memory."""
    moved = held(array).contiguous(memory_format=torch.channels_last)
    model = model_in_use()
    if model is None:
        return moved.clone() if moved is array else moved
    return model.place(moved, "a copy with the channels last")


def copy_corner(source: Any, target: Any) -> None:
    """Copy what both have: the first rows and columns, as many as the smaller has."""
    source, target = held(source), held(target)
    part = tuple(
        slice(min(a, b)) for a, b in zip(source.shape, target.shape, strict=True)
    )
    target[part].copy_(source[part])


def multiply(a: Any, b: Any, factor: float = 1.0) -> None:
    """Multiply every row of `a` by `b` and by a factor, in place."""
    held(a).mul_(held(b)).mul_(factor)


def held(array: Any) -> torch.Tensor:
    """The tensor that has an array's numbers."""
    found: torch.Tensor = getattr(array, "held", array)
    return found
