"""What a gradient should be: that of the spec, in double precision.

So the learner's kernels may compute in any type.
"""

from typing import Any

import numpy as np
import torch

from weft.checking.cases import Case, as_tuple, copies, widened
from weft.torch_ops.exercise import TorchExercise, is_array, of_torch
from weft.torch_ops.tensors import differentiable, tensors

Array = np.ndarray[Any, Any]

STEP = 1e-5  # relative, of a central difference in float64


def wanted(exercise: TorchExercise, case: Case, grads: list[Array]) -> list[Any]:
    """The gradient of each input in double precision; None where there is none.

    grads: the gradients that come in, one per result.
    """
    wide = [widened(value) for value in copies(case.inputs)]
    incoming = [np.asarray(g, np.float64) for g in grads]
    if callable(exercise.gradient):
        found = as_tuple(exercise.gradient(*incoming, *wide))
        return [None if g is None else np.asarray(g) for g in found]
    if of_torch(exercise.spec):
        return analytic(exercise, wide, incoming)
    return [
        in_steps(exercise, wide, k, incoming)
        if is_array(value) and value.dtype.kind == "f"
        else None
        for k, value in enumerate(wide)
    ]


def analytic(exercise: TorchExercise, wide: list[Any], grads: list[Array]) -> list[Any]:
    """What PyTorch's own autograd gives for a spec in PyTorch."""
    inputs = tensors(tuple(wide), grad=True)
    positions = differentiable(inputs)
    results = as_tuple(exercise.spec(*inputs))
    found = torch.autograd.grad(
        results,
        [inputs[k] for k in positions],
        [torch.from_numpy(g) for g in grads],
        allow_unused=True,
    )
    aims: list[Any] = [None] * len(inputs)
    for k, grad in zip(positions, found, strict=True):
        aims[k] = None if grad is None else grad.numpy()
    return aims


def in_steps(
    exercise: TorchExercise, wide: list[Any], k: int, grads: list[Array]
) -> Array:
    """The gradient of input `k` by central differences of the spec, in float64."""
    value = wide[k]
    found = np.zeros(value.shape)

    def loss(moved: Array) -> float:
        given = [moved if n == k else v for n, v in enumerate(wide)]
        results = as_tuple(exercise.spec(*copies(tuple(given))))
        return sum(
            float(np.sum(np.asarray(r) * g))
            for r, g in zip(results, grads, strict=True)
            if np.asarray(r).dtype.kind == "f"
        )

    for index in np.ndindex(value.shape):
        step = STEP * max(1.0, abs(float(value[index])))
        up, down = value.copy(), value.copy()
        up[index] += step
        down[index] -= step
        found[index] = (loss(up) - loss(down)) / (up[index] - down[index])
    return found
