"""Whether a kernel computes the right values, found without any check.

A kernel is run in the plain simulator, in several orders of its threads, with sizes,
data and launches that its check does not use, and compared with the exercise's own
formula. A setting counts only if all right kernels of the exercise are right in it, as
that is what the exercise promises.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from verification.mutants.making import Right
from verification.mutants.nearness import errors, right, sizes
from verification.mutants.schedules import SCHEDULES
from verification.mutants.settings import (
    Array,
    Data,
    Setting,
    data,
    most_threads,
    settings,
    threads,
)
from verification.mutants.tasks import Task, task
from weft.simulator import Fault, LaunchError, simulate

EACH = 5  # settings of a group
ORDERS = ("stepwise", "a warp ahead", "backwards", "interrupted")


@dataclass(frozen=True)
class Trial:
    """One run that the right kernels pass.

    noise: the right kernels' largest error, for each output.
    """

    setting: Setting
    order: str
    data: Data
    noise: tuple[float, ...]

    @property
    def label(self) -> str:
        return ", ".join(filter(None, (self.setting.label, self.order)))


class Wrong(Exception):
    """A kernel is wrong; the message says what showed it."""


def outputs_of(task: Task, made: Data, order: str) -> tuple[Array, ...]:
    """Launch a kernel; return its outputs. Raises `Wrong`."""
    inputs, outputs = made.arguments()
    try:
        simulate(
            task.kernel, made.config, (*inputs, *outputs), make_run=SCHEDULES[order]
        )
    except (Fault, LaunchError) as fault:
        kind = getattr(fault, "kind", "launch")
        raise Wrong(kind) from None
    for before, after in zip(made.inputs, inputs, strict=True):
        if isinstance(before, np.ndarray) and not np.array_equal(
            before, after, equal_nan=before.dtype.kind in "fc"
        ):
            raise Wrong("input")
    return outputs


def trials(right_ones: list[Right]) -> list[Trial]:
    """Return the runs in which all right kernels of an exercise are right."""
    tasks = [task(r, r.source, f"<{r.label}>") for r in right_ones]
    asked = tasks[0].asked
    most = most_threads(asked)
    plain: list[Trial] = []
    for group in settings(asked, right_ones[0].exercise):
        found: list[Trial] = []
        for setting in group:
            if len(found) >= EACH:
                break
            made = possible(asked, setting, most)
            if made is None:
                continue
            if (trial := promised(tasks, setting, "", made)) is not None:
                found.append(trial)
        plain += found
    sizes = sorted(plain, key=lambda t: threads(t.data.config))
    some = [sizes[k * (len(sizes) - 1) // 3] for k in (1, 2, 3)] if sizes else []
    more = [
        promised(tasks, trial.setting, order, trial.data)
        for order in ORDERS
        for trial in some
    ]
    return plain + [trial for trial in more if trial is not None]


def possible(asked: dict[str, Any], setting: Setting, most: int) -> Data | None:
    """Return a setting's data; None if it has none, or its launch is too large."""
    try:
        made = data(asked, setting)
    except Exception:  # as the exercise's own functions want other sizes
        return None
    return made if threads(made.config) <= most else None


def promised(
    tasks: list[Task], setting: Setting, order: str, made: Data
) -> Trial | None:
    """Return the trial if all the right kernels pass it, or else None."""
    tolerance = tasks[0].asked.get("tolerance", 1e-5)
    noise = [0.0] * len(made.outputs)
    for each in tasks:
        try:
            got = outputs_of(each, made, order)
        except Wrong:
            return None
        for k, (one, wanted) in enumerate(zip(got, made.wanted, strict=True)):
            if one.shape != wanted.shape:
                return None
            with np.errstate(all="ignore"):
                off = errors(one, wanted)
                scale = sizes(wanted).max(initial=0)
            worst = float(off.max(initial=0))
            if not worst <= tolerance * scale:
                return None
            noise[k] = max(noise[k], worst)
    return Trial(setting, order, made, tuple(noise))


def verdict(task: Task, runs: list[Trial]) -> str:
    """Return "right", or what is wrong, as in "wrong: value at <trial>"."""
    tolerance = task.asked.get("tolerance", 1e-5)
    for trial in runs:
        try:
            got = outputs_of(task, trial.data, trial.order)
        except Wrong as wrong:
            return f"wrong: {wrong} at {trial.label}"
        for one, wanted, noise in zip(got, trial.data.wanted, trial.noise, strict=True):
            if not right(one, wanted, tolerance, noise):
                return f"wrong: value at {trial.label}"
    return "right"
