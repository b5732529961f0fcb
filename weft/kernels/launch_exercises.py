"""The grid and the block of a case, which the learner may have chosen."""

from typing import Any

import numpy as np

from weft.checking.source import begin, raised_at, returns
from weft.checking.step_limit import Endless, endless, limited
from weft.checking.verdict import Failed, Verdict
from weft.kernels.exercise import KernelCase, KernelExercise, Trial
from weft.kernels.left_out import size_of_launch
from weft.kernels.traced import Done, from_fault
from weft.simulator import LaunchError
from weft.simulator.limits import configuration
from weft.simulator.trace.trace import READ
from weft.starters import has_stub
from weft.tracebacks import undefined
from weft.wording import capital, several

IDLE = (
    "The guard keeps the surplus blocks from doing harm, but the GPU still has to "
    "start them."
)


def configure(exercise: KernelExercise, case: KernelCase) -> Trial:
    """Ask for the launch of a case. Raises `Failed` for one that no GPU accepts."""
    config = (
        chosen(exercise, case)
        if exercise.checks_launch
        else exercise.launch(*case.size)
    )
    try:
        grid, block, stream, shared = configuration(config)
    except LaunchError as fault:
        verdict = from_fault(exercise.name, fault, case.label)
        if exercise.checks_launch:
            verdict = verdict.but(places=returns(exercise.written_by_learner))
        raise Failed(verdict) from None
    return Trial(exercise, case, grid, block, stream, shared)


def chosen(exercise: KernelExercise, case: KernelCase) -> Any:
    """The launch that the learner's function chooses. Raises `Failed`."""
    call = f"{exercise.name}({', '.join(map(str, case.size))})"
    try:
        config = limited(exercise.launch, case.size)
    except Endless as stopped:
        raise endless(exercise.name, call, stopped) from None
    except Exception as error:
        raise Failed(
            Verdict(
                exercise.name,
                "exception",
                f"{type(error).__name__}: {error}",
                undefined(error),
                raised_at(error, exercise.written_by_learner),
                when=case.label,
            )
        ) from None
    if config is None and has_stub(exercise.written_by_learner):
        raise Failed(begin(exercise.name))
    if config is None:
        raise Failed(
            Verdict(
                exercise.name,
                "launch",
                f"{call} returns nothing.",
                "A function returns its result with `return`: here, the grid and the "
                "block.",
            )
        )
    return config


def too_large(grid: tuple[int, ...], block: tuple[int, ...], elements: int) -> str:
    """Say that far too many threads are launched to simulate them; "" if they fit."""
    threads = int(np.prod(grid)) * int(np.prod(block))
    if threads <= 16 * max(elements, 4096):
        return ""
    return f"{threads:,} threads are launched for {elements:,} elements"


def excessive(trial: Trial) -> None:
    """Refuse a launch far too large to simulate. Raises `Failed`."""
    elements = max(o.size for o in trial.case.outputs)
    if message := too_large(trial.grid, trial.block, elements):
        raise Failed(refused(trial, f"{message}."))


def wasteful(trial: Trial, done: Done) -> None:
    """Refuse a launch with whole blocks that have nothing to do. Raises `Failed`."""
    threads, blocks = int(np.prod(trial.block)), int(np.prod(trial.grid))
    stored = np.unique(done.trace.block[done.trace.operation != READ]).size
    needed = blocks - (done.trace.blocks - stored)
    if blocks > max(needed, 1):
        message = (
            f"{blocks:,} blocks of {several(threads, 'thread')} are launched where "
            f"{needed:,} would be enough."
        )
        raise Failed(refused(trial, message))


def refused(trial: Trial, message: str) -> Verdict:
    """The verdict on threads that have nothing to do."""
    places = returns(trial.exercise.written_by_learner)
    return Verdict(trial.name, "launch", message, IDLE, places, when=trial.when)


def of_the_launch(trial: Trial, verdict: Verdict) -> Verdict:
    """What a race says of a launch: the kernel is given, and two threads do the same.

    A verdict on a learner's own kernel stays what it is.
    """
    exercise = trial.exercise
    if not exercise.checks_launch:
        return verdict
    launched = capital(size_of_launch(trial.grid, trial.block))
    return Verdict(
        trial.name,
        "launch",
        f"{launched}. {verdict.message}",
        f"The kernel `{exercise.kernel.__name__}` is right only if each of its threads "
        f"has an index of its own. Along how many axes does it count its threads, and "
        f"along how many does your launch start them?",
        returns(exercise.written_by_learner),
        when=verdict.when,
    )
