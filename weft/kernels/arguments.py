"""Parameters in another order than the arguments."""

import inspect

from weft.checking.source import line_with, parameter_names
from weft.checking.verdict import Failed, Verdict
from weft.kernels.exercise import KernelCase, KernelExercise, Trial
from weft.kernels.outputs import judge
from weft.kernels.traced import traced
from weft.simulator import Fault


def reordered(trial: Trial, failed: Verdict) -> Verdict | None:
    """A verdict on swapped parameters, if that is what led to the verdict `failed`.

    The spec's parameters have the names of the inputs, in order. Where the kernel has
    one of these names elsewhere, it is run once more, each argument going to its name.
    None where that is no better: then the names are the learner's own.
    """
    exercise, case = trial.exercise, trial.case
    order = by_name(exercise, case)
    if order is None or failed.kind == "begin":
        return None
    try:
        done = traced(trial, order=order)
    except Fault:
        return None
    try:
        judge(trial, done)
    except Failed:
        if failed.kind not in ("type", "exception", "input-written"):
            return None
    names = parameter_names(exercise.kernel)
    given = ", ".join(name for _, name in sorted(zip(order, names, strict=True)))
    return Verdict(
        exercise.name,
        "arguments",
        f"The check calls {exercise.name}({given}), but its parameters are "
        f"{', '.join(names)}.",
        "A kernel gets its arguments in order, whatever its parameters are called: "
        "first the inputs, then the outputs.",
        line_with(exercise.kernel, r"def\b"),
        when=failed.when,
    )


def by_name(exercise: KernelExercise, case: KernelCase) -> tuple[int, ...] | None:
    """Which argument each parameter's name asks for; None if it is the one it gets."""
    names = parameter_names(exercise.kernel)
    count = len(case.inputs)
    try:
        wanted = list(inspect.signature(exercise.spec).parameters)[:count]
    except (TypeError, ValueError):  # a function of NumPy's that is not in Python
        return None
    fits = len(names) == count + len(case.outputs) and len(wanted) == count
    if exercise.checks_launch or not fits or not set(wanted) <= set(names):
        return None
    others = iter(range(count, len(names)))
    order = tuple(wanted.index(n) if n in wanted else next(others) for n in names)
    return None if order == tuple(range(len(names))) else order
