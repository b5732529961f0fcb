"""The stages of a check that need no compiler and no GPU, so web pages use them too."""

import re
from collections.abc import Generator, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from weft import doing, effort
from weft.checking.source import unreadable
from weft.checking.verdict import Failed, Verdict
from weft.kernels import constants, cost, larger, narrow_index, simulated
from weft.kernels.exercise import KernelExercise
from weft.meaning import clustered, is_kernel, python_function
from weft.simulator.trace.trace import ATOMIC, Trace
from weft.wording import joined, kind_of

Facts = list[str]


def refuse_other(exercise: KernelExercise) -> None:
    """Raise `Failed` for an object that is no kernel, or has no readable source."""
    if not is_kernel(exercise.kernel):
        raise Failed(not_a_kernel(exercise.kernel, exercise.name))
    if hidden := unreadable(exercise.kernel):
        raise Failed(without_source(exercise.name, hidden))


def simulate(exercise: KernelExercise) -> Generator[Facts, None, Trace]:
    """Check a kernel in the simulator; return the trace for the last size.

    Yields facts; raises `Failed` if the check fails.
    """
    with effort.counted() as spent:
        facts, trace = simulated.run(exercise)
    yield facts
    doing.now(f"{exercise.name}: larger grids")
    yield larger.run(exercise, spent)
    narrow_index.run(exercise)
    if (found := forbidden(exercise, trace)) is not None:
        raise Failed(found)
    return trace


def count(exercise: KernelExercise, trace: Trace) -> Iterator[Facts]:
    """Check what the accesses cost, and whether other constants work as well.

    trace: the trace for the last size. Yields facts; raises `Failed` if the check
    fails.
    """
    yield cost.run(exercise, trace)
    doing.now(f"{exercise.name}: other constants")
    yield constants.run(exercise)


def without_a_compiler(exercise: KernelExercise) -> Iterator[Facts]:
    """Run the stages of a check that need neither a compiler nor a GPU."""
    refuse_other(exercise)
    with clustered(exercise.cluster):
        trace = yield from simulate(exercise)
        yield from count(exercise, trace)


def without_source(name: str, hidden: list[str]) -> Verdict:
    """Return the verdict on a kernel whose source cannot be read."""
    return Verdict(
        name,
        "type",
        f"The source of {joined(f'`{one}`' for one in hidden)} cannot be read.",
        "A check reads a kernel, and every device function that it calls, to say "
        "whether Numba compiles it and which line is wrong. A function made by `exec` "
        "or `eval` has no source to read, and `%%time` makes one in this way. Write it "
        "with `def` in a cell of its own, and run the cell.",
        headline="a kernel that cannot be read",
    )


def not_a_kernel(thing: Any, name: str) -> Verdict:
    """Return the verdict on something that should be a kernel but is not."""
    if isinstance(thing, FunctionType):
        message = f"{name} is a plain Python function, not a kernel."
        why = "`@cuda.jit` on the line above `def` makes it one."
    elif python_function(thing) is not None:
        message = f"{name} is compiled for the CPU."
        why = (
            "`@cuda.jit` on the line above `def` compiles for the GPU; plain `@jit` "
            "does not."
        )
    else:
        message = f"{name} is {kind_of(thing)}, not a kernel."
        why = (
            "Has a later line used the name for something else? Run the cell that "
            "defines the kernel again."
        )
    return Verdict(name, "type", message, why)


def forbidden(exercise: KernelExercise, trace: Trace) -> Verdict | None:
    """Return the verdict on the first operation in `without` that a kernel uses.

    Returns None if it uses none. Raises ValueError if `without` names anything but
    atomic operations.
    """
    for each in exercise.without:
        operation, _, dtype = each.partition(" ")
        if not re.fullmatch(r"cuda\.atomic\.\w+", operation):
            raise ValueError(
                f"check({exercise.name}, ...): {each} is no atomic operation"
            )
        call = re.compile(rf"\b{re.escape(operation.removeprefix('cuda.'))}\s*\(")
        rows = np.flatnonzero(trace.operation == ATOMIC)
        pairs = np.unique(np.stack([trace.site[rows], trace.array[rows]]), axis=1)
        for site, array in pairs.T.tolist():
            place = trace.places[site]
            if not call.search(place.text):
                continue
            if dtype and trace.dtypes[array] != np.dtype(dtype):
                continue
            of = f" of {dtype}" if dtype else ""
            return exercise.verdict(
                "library",
                f"`{operation}`{of} does the work of {exercise.name} here.",
                "What that operation does is what this exercise asks you to write.",
                [(place, "")],
            )
    return None
