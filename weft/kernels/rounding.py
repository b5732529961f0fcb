"""Whether a small difference is rounding: the kernel once more, in double precision.

An output is compared with a tolerance that belongs to its size as a whole, as a sum may
come out near zero and be as inexact as its terms. A value that is far smaller than the
others could so be anything. Where one is far off, measured by itself, the kernel runs
again with every float32 a float64: rounding then all but disappears, and a mistake
stays.
"""

from importlib import import_module
from types import CellType, FunctionType
from typing import Any

import numpy as np

from weft import backend
from weft.checking.cases import widened
from weft.checking.compare import Difference, at_first, doubtful
from weft.code_objects import global_names, with_globals
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.kernels.exercise import Trial
from weft.simulator import Fault
from weft.simulator.launch import simulate

Array = np.ndarray[Any, Any]

IN_DOUBLE = 1e-9  # relative error below which a kernel has computed in double precision
SHRINKS = 0.01  # what may be left of a difference that was rounding
HINT = (
    "That is little beside the largest values, but not beside this one, and it is no "
    "rounding: computed in double precision it is just as wrong."
)


def mistaken(trial: Trial, outputs: tuple[Array, ...]) -> tuple[int, Difference] | None:
    """The first output in which a small value is wrong, and that not by rounding.

    Gives its number and how it differs. None where every difference is rounding, or
    where that cannot be told: what the kernel does is not possible in double precision,
    or is not exact there either.
    """
    pairs = list(zip(outputs, trial.case.expected, strict=True))
    tolerance = trial.exercise.tolerance
    masks = [doubtful(got, wanted, tolerance) for got, wanted in pairs]
    if not any(mask.any() for mask in masks):
        return None
    again = in_double(trial)
    if again is None or not all(map(is_exact, again, trial.case.expected, masks)):
        return None
    for number, (got, wanted) in enumerate(pairs):
        with np.errstate(all="ignore"):
            then, now = np.abs(got - wanted), np.abs(again[number] - wanted)
            stays = masks[number] & ~(now <= SHRINKS * then)
        if stays.any():
            return number, at_first(stays, got, wanted, HINT)
    return None


def is_exact(got: Array, wanted: Array, apart: Array) -> bool:
    """Whether what is not set `apart` was computed in double precision throughout."""
    if got.dtype.kind not in "fc":
        return bool(np.array_equal(got, wanted))
    finite = np.isfinite(wanted) & ~apart
    gap = np.abs(got[finite] - wanted[finite])
    scale = float(np.linalg.norm(wanted[finite]))
    return bool(np.linalg.norm(gap) <= IN_DOUBLE * scale) if gap.size else False


def in_double(trial: Trial) -> tuple[Array, ...] | None:
    """The outputs of a run in which every float32 is a float64; None if it fails."""
    function = backend.python_function(trial.exercise.kernel)
    if function is None:
        return None
    inputs = tuple(widened(value) for value in trial.case.inputs)
    outputs = tuple(np.array(widened(output)) for output in trial.fresh())
    try:
        kernel = doubled(function, {})
        simulate(kernel, trial.config, (*inputs, *outputs))
    except Fault:
        return None
    return outputs


def doubled(function: FunctionType, done: dict[Any, FunctionType]) -> FunctionType:
    """A function, and those that it calls, with float64 where they name float32."""
    if function in done:
        return done[function]
    cells = tuple(CellType() for _ in function.__closure__ or ())
    scope = dict(function.__globals__)
    code = function.__code__
    made = done[function] = with_globals(function, scope, code, cells or None)
    for name in global_names(code) & scope.keys():
        scope[name] = in_its_place(scope[name], done)
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = in_its_place(old.cell_contents, done)
    return made


def in_its_place(value: Any, done: dict[Any, FunctionType]) -> Any:
    """What a kernel names in double precision, given what it names."""
    inner = backend.python_function(value)
    operation = registry.of(value)
    if inner is not None:
        return on_device(doubled(inner, done))
    if operation is not None and operation.elements == 4:
        loads = operation.effect is Effect.WIDE_LOAD
        return on_device(load_four if loads else store_four)
    if value is np.float32:
        return np.float64
    if backend.is_number_type(value) and backend.as_dtype(value) == np.float32:
        return import_module("numba").float64
    if isinstance(value, np.float32 | np.ndarray):
        return widened(np.float64(value) if isinstance(value, np.float32) else value)
    return value


def on_device(function: Any) -> Any:
    cuda: Any = import_module("numba.cuda")
    return cuda.jit(device=True)(function)


def load_four(x, at):  # type: ignore[no-untyped-def]
    """`load4` of float64: the simulator's moves 16 bytes."""
    if isinstance(at, tuple):
        r, c = at
        return x[r, c], x[r, c + 1], x[r, c + 2], x[r, c + 3]
    return x[at], x[at + 1], x[at + 2], x[at + 3]


def store_four(x, at, a, b, c, d):  # type: ignore[no-untyped-def]
    """`store4` of float64."""
    if isinstance(at, tuple):
        row, col = at
        x[row, col], x[row, col + 1], x[row, col + 2], x[row, col + 3] = a, b, c, d
    else:
        x[at], x[at + 1], x[at + 2], x[at + 3] = a, b, c, d
