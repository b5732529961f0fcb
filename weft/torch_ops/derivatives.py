"""The right gradients of an exercise, and the gradients that come in."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from weft.checking.cases import as_tuple, copies, widened
from weft.torch_ops.exercise import TorchExercise, is_array, of_torch
from weft.torch_ops.tensors import Tensor, differentiable, tensors

Array = np.ndarray[Any, Any]
Spec = Callable[..., Any]

STEP = 1e-5  # relative step of a central difference in float64


def incoming(result: Tensor, seed: int) -> Tensor:
    """Return a random gradient for a result, so that a missing factor shows."""
    generator = np.random.default_rng([seed, result.numel()])
    values = np.asarray(0.5 + generator.random(tuple(result.shape)))
    return torch.from_numpy(values).to(result.device, result.dtype)


def wanted(
    exercise: TorchExercise, inputs: Sequence[Any], grads: Sequence[Array]
) -> list[Any]:
    """Return each input's gradient in double precision, or None if it has none.

    grads: the incoming gradients, one per result.
    """
    if not callable(exercise.gradient):
        return gradients_of(exercise.spec, inputs, grads)
    wide = [widened(value) for value in copies(tuple(inputs))]
    incoming = [np.asarray(g, np.float64) for g in grads]
    found = as_tuple(exercise.gradient(*incoming, *wide))
    return [None if g is None else np.asarray(g) for g in found]


def gradients_of(
    spec: Spec, inputs: Sequence[Any], grads: Sequence[Array]
) -> list[Any]:
    """Return the gradients of a function, as `wanted` does."""
    wide = [widened(value) for value in copies(tuple(inputs))]
    incoming = [np.asarray(g, np.float64) for g in grads]
    if of_torch(spec):
        return analytic(spec, wide, incoming)
    return [
        in_steps(spec, wide, k, incoming)
        if is_array(value) and value.dtype.kind == "f"
        else None
        for k, value in enumerate(wide)
    ]


def analytic(spec: Spec, wide: list[Any], grads: list[Array]) -> list[Any]:
    """Return the gradients that PyTorch's autograd computes for a PyTorch spec."""
    inputs = tensors(tuple(wide), grad=True)
    positions = differentiable(inputs)
    results = as_tuple(spec(*inputs))
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


def in_steps(spec: Spec, wide: list[Any], k: int, grads: list[Array]) -> Array:
    """Return input `k`'s gradient by central differences of the spec, in float64."""
    value = wide[k]
    found = np.zeros(value.shape)

    def loss(moved: Array) -> float:
        given = [moved if n == k else v for n, v in enumerate(wide)]
        results = as_tuple(spec(*copies(tuple(given))))
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
