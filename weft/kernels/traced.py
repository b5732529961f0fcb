"""One launch in the simulator, under a trace, and what it leaves behind."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.source import parameter_names
from weft.checking.verdict import Verdict
from weft.kernels.exercise import Trial
from weft.places import Note, Place
from weft.simulator import Fault, record
from weft.simulator.launch import Launch
from weft.simulator.trace.trace import Trace
from weft.simulator.trace.traced_run import Fill
from weft.starters import source
from weft.wording import sentence


@dataclass(frozen=True)
class Done:
    """What a launch left behind."""

    trace: Trace
    outputs: tuple[np.ndarray[Any, Any], ...]
    launch: Launch
    notes: tuple[str, ...] = ()  # what a check that passes says of it


def traced(
    trial: Trial,
    look: Callable[[Trace], None] | None = None,
    backwards: bool = False,
    failed: Callable[[Trace, Fault], None] | None = None,
    order: tuple[int, ...] | None = None,
    fill: Fill | None = None,
    stale: frozenset[Place] = frozenset(),
) -> Done:
    """Run one trial under a trace. Raises `Fault`.

    look, backwards, failed, fill, stale: as in `record`. order: which argument each
    parameter gets; the outputs keep their order.
    """
    exercise, case = trial.exercise, trial.case
    outputs = trial.fresh()
    count = len(case.inputs)
    given = (*case.inputs, *outputs)
    order = order or tuple(range(len(given)))
    results = [k for k, at in enumerate(order) if at >= count]
    names = parameter_names(exercise.kernel)
    accesses, launch = record(
        exercise.kernel,
        trial.config,
        tuple(given[at] for at in order),
        readonly=frozenset(range(len(given))).difference(results),
        watched=frozenset(results),
        fresh=frozenset(
            names[k] for k in results if exercise.out is None and k < len(names)
        ),
        look=look,
        backwards=backwards,
        failed=failed,
        fill=fill,
        stale=stale,
        every=exercise.checks_launch,  # to see which blocks have nothing to do
    )
    return Done(accesses, outputs, launch)


def from_fault(name: str, fault: Fault, when: str) -> Verdict:
    """Word what the simulator refused."""
    return Verdict(
        name,
        fault.kind,
        sentence(fault.message),
        fault.why,
        [(place, "called here" * place.calls) for place in fault.places],
        fault.thread,
        fault.block,
        when,
        headline=fault.headline,
    )


def silent(helpers: dict[str, Any], places: tuple[Note, ...]) -> str:
    """Name a device function, called on one of these lines, that returns nothing."""
    for name, helper in helpers.items():
        called = any(re.search(rf"\b{name}\(", place.text) for place, _ in places)
        if called and not re.search(r"^\s*return\s+\S", source(helper), re.MULTILINE):
            return (
                f"`{name}` returns nothing. Unlike a kernel, a device function has to "
                f"return its result."
            )
    return ""
