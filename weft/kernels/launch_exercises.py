"""The grid and the block of a case, which the learner may have chosen."""

from typing import Any

import numpy as np

from weft.checking.exercise import Case, Exercise
from weft.checking.source import raised_at, returns
from weft.checking.starter import begin, has_stub
from weft.checking.step_limit import Endless, endless, patiently
from weft.checking.verdict import Failed, Verdict, several
from weft.kernels.faults import from_fault
from weft.kernels.outputs import size_of_launch
from weft.kernels.traced import Done
from weft.simulator import LaunchError
from weft.simulator.limits import configuration
from weft.simulator.trace.trace import READ


def configure(exercise: Exercise, case: Case) -> Any:
    """Ask for the launch configuration of a case."""
    if not exercise.checks_launch:
        return exercise.launch(*case.size)
    size = ", ".join(map(str, case.size))
    try:
        config = patiently(exercise.launch, case.size)
    except Endless as stopped:
        raise endless(
            exercise.name, f"{exercise.name}({size})", stopped.place
        ) from None
    except Exception as error:
        raise Failed(
            Verdict(
                exercise.name,
                "exception",
                f"{type(error).__name__}: {error}",
                places=raised_at(error, exercise.written_by_learner),
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
                f"{exercise.name}({size}) returns nothing.",
                "A function gives its result back with `return`: here the grid and "
                "the block.",
            )
        )
    try:
        configuration(config)
    except LaunchError as fault:
        verdict = from_fault(exercise, fault, case.label)
        verdict.places = returns(exercise.written_by_learner)
        raise Failed(verdict) from None
    return config


def excessive(exercise: Exercise, case: Case, config: Any) -> None:
    """Refuse a launch far too large to simulate. Raises `Failed`."""
    grid, block, _, _ = configuration(config)
    threads = int(np.prod(grid)) * int(np.prod(block))
    elements = max(o.size for o in case.outputs)
    if threads > 16 * max(elements, 4096):
        raise Failed(
            Verdict(
                exercise.name,
                "launch",
                f"{threads:,} threads are launched for {elements:,} elements.",
                "The guard keeps the others from doing harm, but the GPU still has to "
                "start them.",
                returns(exercise.written_by_learner),
                when=case.label,
            )
        )


def wasteful(exercise: Exercise, case: Case, config: Any, done: Done) -> None:
    """Refuse a launch with whole blocks that have nothing to do. Raises `Failed`."""
    grid, block, _, _ = configuration(config)
    threads = int(np.prod(block))
    blocks = int(np.prod(grid))
    stored = np.unique(done.trace.block[done.trace.operation != READ]).size
    needed = blocks - (done.trace.blocks - stored)
    if blocks > max(needed, 1):
        raise Failed(
            Verdict(
                exercise.name,
                "launch",
                f"{blocks:,} blocks of {several(threads, 'thread')} are launched where "
                f"{needed:,} would do.",
                "The guard keeps the others from doing harm, but the GPU still has to "
                "start them.",
                returns(exercise.written_by_learner),
                when=case.label,
            )
        )


def of_the_launch(exercise: Exercise, config: Any, verdict: Verdict) -> Verdict:
    """What a race says of a launch: the kernel is given, and two threads do the same.

    A verdict on a learner's own kernel stays what it is.
    """
    if not exercise.checks_launch:
        return verdict
    grid, block, _, _ = configuration(config)
    launched = size_of_launch(grid, block)
    return Verdict(
        exercise.name,
        "launch",
        f"{launched[0].upper()}{launched[1:]}. {verdict.message}",
        f"The kernel `{exercise.kernel.__name__}` is right where each of its threads "
        "has an index of its own. Along how many axes does it count its threads, and "
        "along how many are they launched?",
        returns(exercise.written_by_learner),
        when=verdict.when,
    )
