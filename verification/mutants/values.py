"""Whether a kernel computes the right values: found out without any check.

A kernel is run in the plain simulator, in several orders of its threads, on sizes, data
and launches that its check does not use, and compared with the exercise's own formula.
Of these a setting counts only if all right kernels of the exercise are right in it:
that is what the exercise promises.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from verification.mutants.making import Right
from verification.mutants.schedules import SCHEDULES
from verification.mutants.tasks import (
    Array,
    Data,
    Setting,
    Task,
    data,
    most_threads,
    settings,
    task,
    threads,
)
from weft.simulator import Fault, LaunchError, simulate

SLACK = 8  # how many times the right kernels' own error is still an error like theirs
EACH = 5  # settings of a group
ORDERS = ("interrupted", "backwards", "interrupted again")


@dataclass(frozen=True)
class Trial:
    """One run that a right kernel passes.

    noise: the largest error of the right kernels, for each output.
    """

    setting: Setting
    order: str
    data: Data
    noise: tuple[float, ...]

    @property
    def label(self) -> str:
        return ", ".join(filter(None, (self.setting.label, self.order)))


def errors(got: Array, wanted: Array) -> Array:
    """How far off each element is: 0 where both are the same, NaN included."""
    exact = got == wanted
    if got.dtype.kind in "fc":
        exact |= np.isnan(got) & np.isnan(wanted)
    if got.dtype.kind not in "fc":
        return np.where(exact, 0.0, np.inf)
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(wanted.dtype, copy=False) - wanted)
    off = np.where(np.isnan(off), np.inf, off)
    return np.where(exact, 0.0, off)


def right(got: Array, wanted: Array, tolerance: float, noise: float) -> bool:
    """Whether each element is near what is wanted: relative to itself.

    An error that the right kernels make as well, anywhere, is none.
    """
    if got.shape != wanted.shape:
        return False
    finite = np.abs(wanted[np.isfinite(wanted)]) if wanted.size else wanted
    rms = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    least = SLACK * noise + 4 * float(np.finfo(np.float32).eps) * rms
    with np.errstate(all="ignore"):
        allowed = tolerance * np.abs(wanted) + least
    allowed = np.where(np.isfinite(allowed), allowed, 0)
    return bool((errors(got, wanted) <= allowed).all())


class Wrong(Exception):
    """What showed that a kernel is wrong."""


def outputs_of(task: Task, made: Data, order: str) -> tuple[Array, ...]:
    """Launch a kernel; give what it wrote. Raises `Wrong`."""
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
    """The runs in which all right kernels of an exercise are right."""
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
    middle = [sizes[len(sizes) // 3], sizes[2 * len(sizes) // 3]] if sizes else []
    more = [
        promised(tasks, trial.setting, order, trial.data)
        for order in ORDERS
        for trial in middle
    ]
    return plain + [trial for trial in more if trial is not None]


def possible(asked: dict[str, Any], setting: Setting, most: int) -> Data | None:
    """The data of a setting; None if there is none, or its launch is too large."""
    try:
        made = data(asked, setting)
    except Exception:  # the exercise's own functions want other sizes
        return None
    return made if threads(made.config) <= most else None


def promised(
    tasks: list[Task], setting: Setting, order: str, made: Data
) -> Trial | None:
    """The trial, if all the right kernels pass it."""
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
                scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
            worst = float(off.max(initial=0))
            if not worst <= tolerance * scale:
                return None
            noise[k] = max(noise[k], worst)
    return Trial(setting, order, made, tuple(noise))


def verdict(task: Task, runs: list[Trial]) -> str:
    """ "right", or "wrong: <what> in <which trial>"."""
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
