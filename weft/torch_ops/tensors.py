"""Tensors for a call, and properties of the tensors that it returns."""

from collections.abc import Collection
from typing import Any

import numpy as np
import torch

from weft.checking.values import as_array
from weft.torch_ops.exercise import is_array

Tensor = torch.Tensor

DENSE, STRIDED, GAPS = "", "with strided inputs", "with strided inputs that have gaps"


def tensors(
    inputs: tuple[Any, ...],
    *,
    layout: str = DENSE,
    device: str = "cpu",
    grad: bool = False,
    dtype: torch.dtype | None = None,
    host: Collection[int] = (),
    between: float = float("nan"),
) -> list[Any]:
    """Convert the inputs of a case to tensors; plain values stay as they are.

    layout: STRIDED for the same numbers in another order in memory; GAPS for that order
    with other numbers in between. grad: whether the floating-point tensors require a
    gradient. dtype: the dtype of the floating-point tensors. host: the positions of the
    inputs that stay on the host, in pinned memory if the device is a GPU. between: what
    is in the gaps of floating-point tensors.
    """
    made = []
    for number, value in enumerate(inputs):
        if not is_array(value):
            made.append(value)
            continue
        at_home = number in host
        tensor = torch.from_numpy(value.copy()).to("cpu" if at_home else device)
        if at_home and device == "cuda":
            tensor = tensor.pin_memory()
        if dtype is not None and tensor.is_floating_point():
            tensor = tensor.to(dtype)
        if layout == STRIDED:
            tensor = strided(tensor, between)
        elif layout == GAPS:
            tensor = gapped(tensor, between)
        made.append(tensor.requires_grad_(grad and tensor.is_floating_point()))
    return made


def strided(tensor: Tensor, between: float) -> Tensor:
    """Copy a tensor to a layout that is not contiguous.

    If there are several axes, the first and the last are swapped in memory. A vector
    becomes every second element of a longer one. A scalar is returned as it is.
    """
    if tensor.ndim == 0:
        return tensor
    if tensor.ndim > 1:
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    return spread(tensor, between)


def gapped(tensor: Tensor, between: float) -> Tensor:
    """Copy a tensor to strided memory with a gap after each number.

    A matrix is also stored by columns, so that a contiguous copy of it differs both in
    the gaps and in the order.
    """
    if tensor.ndim > 1:
        return spread(tensor.transpose(0, -1), between).transpose(0, -1)
    return spread(tensor, between)


def spread(tensor: Tensor, between: float) -> Tensor:
    """Return a copy of a tensor with its elements two apart along the last axis.

    between: the number in the gaps, which are 0 in a tensor of integers. A scalar is
    returned unchanged.
    """
    if tensor.ndim == 0:
        return tensor
    between = between if tensor.is_floating_point() else 0
    shape = (*tensor.shape[:-1], 2 * tensor.shape[-1])
    larger = torch.full(shape, between, dtype=tensor.dtype, device=tensor.device)
    larger[..., ::2] = tensor
    return larger[..., ::2]


def has_strides(values: list[Any]) -> bool:
    """Return whether any of the values is a non-contiguous tensor."""
    return any(is_tensor(v) and not v.is_contiguous() for v in values)


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def differentiable(values: list[Any]) -> list[int]:
    """Return the positions of the tensors that require a gradient."""
    return [k for k, v in enumerate(values) if is_tensor(v) and v.requires_grad]


def clones(values: list[Any]) -> list[Any]:
    return [v.detach().clone() if is_tensor(v) else v for v in values]


def equal(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors are equal; NaNs count as equal."""
    if one.shape != other.shape:
        return False
    equal_nan = one.is_floating_point() or one.is_complex()
    return bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=equal_nan).all())


def share(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors share their storage."""
    if not one.numel() or not other.numel():
        return False
    storage = one.untyped_storage().data_ptr()
    return storage != 0 and storage == other.untyped_storage().data_ptr()


def array(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the values of a tensor, on the host."""
    found: np.ndarray[Any, Any] = as_array(tensor)
    return found


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def written_shape(shape: Any) -> str:
    """Format a shape as '(3, 4)', even if a size is a symbol."""
    parts = list(map(str, shape))
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def results_of(result: Any) -> list[Any]:
    """Return a call's result as a list, which is empty for None."""
    if result is None:
        return []
    return list(result) if isinstance(result, tuple | list) else [result]
