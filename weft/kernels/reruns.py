"""Repeat a launch with one thing changed, to see whether a finding holds.

With other contents in new memory: does it matter that memory was read before it was
written? With the oldest values that a read may return: was the value only a guess? In
double precision: was a small difference only rounding?
"""

from importlib import import_module
from types import CellType, FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.checking.cases import widened
from weft.checking.compare import Array, at_first, doubtful, ordinary
from weft.checking.differences import Difference
from weft.checking.verdict import Verdict
from weft.code_objects import global_names, with_globals
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.kernels import hazards
from weft.kernels.hazards import Hazard, lines_of
from weft.kernels.trial import Done, Trial, is_right, traced
from weft.sanitizer import Unwritten, guessed, unwritten
from weft.simulator import Fault
from weft.simulator.launch import simulate
from weft.simulator.trace.trace import Trace

CONTENTS = (0, 1, 77_777)  # contents of memory that no thread has written
IN_DOUBLE = 1e-9  # relative error below which a kernel has computed in double precision
SHRINKS = 0.01  # the part of a difference that may remain if it was rounding
HINT = (
    "That is little beside the largest values, but not beside this one, and it is no "
    "rounding: computed in double precision it is just as wrong."
)

Cells = list[tuple[Array, Array]]  # shared memory: as it was made, and at the end


# Memory that is read before it is written. At the edge of a matrix a thread often
# computes with elements of a tile that no thread has filled, and discards the result.
# On a GPU that is harmless, and kernels are often written so; to refuse them would
# teach a guard that they do not need. So the launch runs again with other contents in
# shared and local memory. If all accesses and all results are the same, the value has
# reached no memory, no branch and no index: the kernel is right, and a note says what
# compute-sanitizer's initcheck would report.


def harmless(trial: Trial, done: Done, hazard: Hazard, backwards: bool) -> bool:
    """Return whether a hazard is an uninitialised read with no effect on results."""
    missing = unwritten(done.trace)
    if hazard.verdict.kind != "uninitialised" or missing is None:
        return False
    if missing.space == "global":
        return False
    first: Cells | None = None
    for content in CONTENTS:
        cells: Cells = []
        other = again(trial, content, cells, backwards)
        if other is None or not same(done, other):
            return False
        if first is not None and not all(map(untouched, first, cells)):
            return False
        first = first or cells
    return True


def again(trial: Trial, content: int, cells: Cells, backwards: bool) -> Done | None:
    """Repeat a launch with its new memory filled; return None if it then fails.

    content: see `fill_with`. cells: receives, for each shared array, a copy of what it
    was filled with, and the array itself.
    """

    def fill(data: Array, space: str) -> None:
        fill_with(data, content)
        if space == "shared":
            cells.append((data.copy(), data))

    try:
        return traced(trial, backwards=backwards, fill=fill)
    except Fault:
        return None


def fill_with(data: Array, content: int) -> None:
    """Fill `data` with `content`, `content` + 3 and so on, cast to its type."""
    if data.dtype.names:
        for name in data.dtype.names:
            fill_with(data[name], content)
    else:
        numbers = content + 3 * np.arange(data.size)
        data[...] = numbers.astype(data.dtype).reshape(data.shape)


def same(done: Done, other: Done) -> bool:
    """Return whether two launches made the same accesses, with the same results."""
    a, b = done.trace, other.trace
    accesses = all(
        np.array_equal(getattr(a, column), getattr(b, column))
        for column in ("site", "space", "address", "operation", "thread", "block")
    )
    return accesses and all(
        one.tobytes() == two.tobytes()
        for one, two in zip(done.outputs, other.outputs, strict=True)
    )


def untouched(one: tuple[Array, Array], two: tuple[Array, Array]) -> bool:
    """Return whether each element is unchanged by both launches or equal after both."""
    (made, left), (made_two, left_two) = one, two
    kept = (left == made) & (left_two == made_two)
    equal = (left == left_two) | ((left != left) & (left_two != left_two))
    return bool(np.all(kept | equal))


def note(trace: Trace) -> str:
    """Return what a passing check says about an uninitialised read."""
    missing = unwritten(trace)
    assert isinstance(missing, Unwritten)
    access = missing.access
    element = trace.element(access.row) or f"an element of {missing.array}"
    line, who = lines_of([access.place], trace.name), trace.thread_at(access.row)
    return (
        f"note: on {line} {who} reads "
        f"`{element}`, which no thread has written. Nothing that is stored depends on "
        f"it; compute-sanitizer's initcheck would report it"
    )


# Plain reads that a compare-and-swap follows. In `old = x[i]`, followed by `cas(x, i,
# old, new)` until it succeeds, the read races with other threads' swaps, but an
# outdated value only makes the swap fail. So `sanitizer.races` accepts such reads. It
# cannot see what else the value is used for. Here the launch runs again with the oldest
# value that each of these reads may return. If the result is then wrong, it was
# computed from a guess, and the read is a race.


def misused(trial: Trial, done: Done, backwards: bool) -> Verdict | None:
    """Return the verdict on a racing read that serves as more than a guess, or None."""
    places = guessed(done.trace)
    if not places:
        return None
    hazard = hazards.find(done.trace, unset_is_fine=True, guesses_are_fine=False)
    if hazard is None:
        return None
    try:
        again = traced(trial, backwards=backwards, stale=places)
    except Fault:
        return hazard.verdict
    right = is_right(trial, again.outputs, again.launch)
    return None if right and not mistaken(trial, again.outputs) else hazard.verdict


# Small differences. An output is compared with a tolerance relative to its overall
# size, because a sum may be near zero and as inexact as its terms. So a value far
# smaller than the others would always pass. If such a value has a large relative error,
# the kernel runs again with float64 for every float32: rounding errors then almost
# disappear, and mistakes remain.


def mistaken(trial: Trial, outputs: tuple[Array, ...]) -> tuple[int, Difference] | None:
    """Find the first output with a small value that is wrong by more than rounding.

    Returns the output's number and the difference. Returns None if rounding explains
    every difference, or if that cannot be decided, because the kernel cannot run in
    double precision or is not exact there either.
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
    """Return whether all values outside `apart` are right to double precision."""
    if got.dtype.kind not in "fc":
        return bool(np.array_equal(got, wanted))
    some = ordinary(wanted, got.dtype) & ~apart
    gap = np.abs(got[some] - wanted[some])
    scale = float(np.linalg.norm(wanted[some]))
    return bool(np.linalg.norm(gap) <= IN_DOUBLE * scale) if gap.size else False


def in_double(trial: Trial) -> tuple[Array, ...] | None:
    """Run a trial in float64, not float32; return the outputs, or None if it fails."""
    function = meaning.python_function(trial.exercise.kernel)
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
    """Copy a function and the functions it calls, with float64 instead of float32."""
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
    """Return the double-precision counterpart of a value that a kernel names.

    Returns the value itself if it has none.
    """
    inner = meaning.python_function(value)
    operation = registry.of(value)
    if inner is not None:
        return on_device(doubled(inner, done))
    if operation is not None and operation.elements == 4:
        loads = operation.effect is Effect.WIDE_LOAD
        return on_device(load_four if loads else store_four)
    if value is np.float32:
        return np.float64
    if meaning.is_number_type(value) and meaning.as_dtype(value) == np.float32:
        return import_module("numba").float64
    if isinstance(value, np.float32 | np.ndarray):
        return widened(np.float64(value) if isinstance(value, np.float32) else value)
    return value


def on_device(function: Any) -> Any:
    cuda: Any = import_module("numba.cuda")
    return cuda.jit(device=True)(function)


def load_four(x, at):  # type: ignore[no-untyped-def]
    """Load four float64 values; the simulator's own `load4` moves only 16 bytes."""
    if isinstance(at, tuple):
        r, c = at
        return x[r, c], x[r, c + 1], x[r, c + 2], x[r, c + 3]
    return x[at], x[at + 1], x[at + 2], x[at + 3]


def store_four(x, at, a, b, c, d):  # type: ignore[no-untyped-def]
    """Store four float64 values; the simulator's own `store4` moves only 16 bytes."""
    if isinstance(at, tuple):
        row, col = at
        x[row, col], x[row, col + 1], x[row, col + 2], x[row, col + 3] = a, b, c, d
    else:
        x[at], x[at + 1], x[at + 2], x[at + 3] = a, b, c, d
