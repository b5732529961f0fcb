"""The room of kernels: which things it takes, and its stages."""

import re
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from weft import compiling, device, doing, effort
from weft.checking.limits import KERNEL
from weft.checking.room import Facts
from weft.checking.source import unreadable
from weft.checking.verdict import Failed, Verdict
from weft.kernels import (
    compiled,
    constants,
    cost,
    full_size,
    larger,
    narrow_index,
    simulated,
)
from weft.kernels.exercise import KernelExercise
from weft.meaning import is_kernel, python_function
from weft.simulator.trace.trace import ATOMIC, Trace
from weft.wording import joined, kind_of


class Kernels:
    """Checks `@cuda.jit` kernels, and functions that choose a kernel's launch."""

    what = KERNEL
    exercise = KernelExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return "launch" in asked or "kernel" in asked

    def stages(self, exercise: KernelExercise) -> Iterator[Facts]:
        """Simulate, compile, run on the GPU, count the cost, try other constants."""
        if not is_kernel(exercise.kernel):
            raise Failed(not_a_kernel(exercise.kernel, exercise.name))
        if hidden := unreadable(exercise.kernel):
            raise Failed(without_source(exercise.name, hidden))
        if not exercise.checks_launch:
            compiling.warm_up()
        with effort.counted() as spent:
            facts, trace = simulated.run(exercise)
        yield facts
        doing.now(f"{exercise.name}: larger grids")
        yield larger.run(exercise, spent)
        narrow_index.run(exercise)
        if (found := forbidden(exercise, trace)) is not None:
            raise Failed(found)
        facts, leak = compiled.run(exercise)
        yield facts
        if exercise.full is not None and on_gpu():
            yield full_size.run(exercise)
        yield cost.run(exercise, trace)
        doing.now(f"{exercise.name}: other constants")
        yield constants.run(exercise)
        if leak is not None:
            raise Failed(leak)


ROOM = Kernels()


def on_gpu() -> bool:
    """Whether kernels run on a GPU here."""
    return device.find().usable


def without_source(name: str, hidden: list[str]) -> Verdict:
    """The verdict on a kernel of which nobody can read what it does."""
    return Verdict(
        name,
        "type",
        f"The source of {joined(f'`{one}`' for one in hidden)} cannot be read.",
        "A check reads a kernel, and every device function that it calls, to say "
        "whether Numba compiles it and which line is wrong. A function made by `exec` "
        "or `eval` has no source to read. Write it with `def` in a cell, and run the "
        "cell.",
        headline="a kernel that cannot be read",
    )


def not_a_kernel(thing: Any, name: str) -> Verdict:
    """The verdict on what should be a kernel and is something else."""
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
    """A verdict on the first operation in `without` that a kernel uses, or None.

    Raises ValueError where `without` names what is no atomic operation.
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
