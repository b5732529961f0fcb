"""One launch in the simulator, under a trace, and what it leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.exercise import Case, Exercise
from weft.checking.source import parameter_names
from weft.simulator import Fault, record
from weft.simulator.launch import Launch
from weft.simulator.memory.arrays import poison
from weft.simulator.trace.trace import Trace


@dataclass(frozen=True)
class Done:
    """What a launch left behind."""

    trace: Trace
    outputs: tuple[np.ndarray[Any, Any], ...]
    launch: Launch


def traced(
    exercise: Exercise,
    case: Case,
    config: Any,
    look: Callable[[Trace], None] | None = None,
    backwards: bool = False,
    failed: Callable[[Trace, Fault], None] | None = None,
    order: tuple[int, ...] | None = None,
) -> Done:
    """Run one case under a trace. Raises `Fault`.

    look, backwards, failed: as in `record`. order: which argument each parameter gets;
    the outputs keep their order.
    """
    outputs = fresh(exercise, case)
    count = len(case.inputs)
    given = (*case.inputs, *outputs)
    order = order or tuple(range(len(given)))
    results = [k for k, at in enumerate(order) if at >= count]
    names = parameter_names(exercise.kernel)
    accesses, launch = record(
        exercise.kernel,
        config,
        tuple(given[at] for at in order),
        readonly=frozenset(range(len(given))).difference(results),
        watched=frozenset(results),
        fresh=frozenset(
            names[k] for k in results if exercise.out is None and k < len(names)
        ),
        look=look,
        backwards=backwards,
        failed=failed,
        every=exercise.checks_launch,  # to see which blocks have nothing to do
    )
    return Done(accesses, outputs, launch)


def fresh(exercise: Exercise, case: Case) -> tuple[np.ndarray[Any, Any], ...]:
    """The outputs before the launch: poisoned, unless the exercise says otherwise."""
    outputs = tuple(o.copy() for o in case.outputs)
    if exercise.out is None:
        for output in outputs:
            poison(output, "global")
    return outputs
