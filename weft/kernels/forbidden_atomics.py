"""An atomic operation that does what the exercise asks the learner to write."""

import re

import numpy as np

from weft.checking.verdict import Verdict
from weft.kernels.exercise import KernelExercise
from weft.simulator.trace.trace import ATOMIC, Trace


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
            return Verdict(
                exercise.name,
                "library",
                f"`{operation}`{of} does the work of {exercise.name} here.",
                "What that operation does is what this exercise asks you to write.",
                [(place, "")],
            )
    return None
