"""One launch of an exercise: its configuration, its run under a trace, its results."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking.compare import Array, agrees
from weft.checking.source import begin, parameter_names, raised_at, returns
from weft.checking.step_limit import Endless, endless, limited
from weft.checking.verdict import Failed, Verdict
from weft.kernels.exercise import KernelCase, KernelExercise
from weft.meaning import clustered, python_function
from weft.places import Note, Place
from weft.simulator import Fault, LaunchError, record
from weft.simulator.launch import Launch
from weft.simulator.limits import WARP, Dim, cluster_of, configuration
from weft.simulator.running.scheduler import Run
from weft.simulator.trace.trace import READ, Trace
from weft.simulator.trace.watched_run import Fill
from weft.starters import has_stub, source
from weft.tracebacks import undefined
from weft.wording import capital, sentence, several

LONELY = "A warp costs the same, however many of its lanes have a thread."
IDLE = (
    "The guard keeps the surplus blocks from doing harm, but the GPU still has to "
    "start them."
)


@dataclass(frozen=True)
class Trial:
    """One launch of an exercise: its data, grid and block."""

    exercise: KernelExercise
    case: KernelCase
    grid: Dim
    block: Dim
    stream: Any = 0
    shared: int = 0  # bytes of dynamic shared memory

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def config(self) -> tuple[Any, ...]:
        """The values between the brackets of a launch."""
        return self.grid, self.block, self.stream, self.shared

    @property
    def when(self) -> str:
        """The name of the case in a verdict."""
        return self.case.label

    def verdict(self, kind: str, *said: Any, **more: Any) -> Verdict:
        """Make a verdict on the exercise in this case; see `Exercise.verdict`."""
        return self.exercise.verdict(kind, *said, **{"when": self.when, **more})

    def fresh(self) -> tuple[Array, ...]:
        return self.exercise.fresh(self.case)

    @property
    def launched(self) -> str:
        """The launch in words, such as 'the launch has 2 blocks of 32 threads, …'."""
        grid, block = self.grid, self.block
        axes = max(n + 1 for n in range(3) if n == 0 or grid[n] > 1 or block[n] > 1)
        if axes == 1:
            count, each = several(grid[0], "block"), several(block[0], "thread")
            threads = several(grid[0] * block[0], "thread")
            return f"the launch has {count} of {each}, {threads} in all"
        blocks, each = (" × ".join(f"{n:,}" for n in s[:axes]) for s in (grid, block))
        count = f"{blocks} blocks" if max(grid) > 1 else "1 block"
        along = [f"{grid[n] * block[n]:,} along {'xyz'[n]}" for n in range(axes)]
        return (
            f"the launch has {count} of {each} threads, "
            f"{', '.join(along[:-1])} and {along[-1]}"
        )


class Tried(Run):
    """A launch with something changed, whose loops may now be endless."""

    patience = 20_000  # fruitless iterations of a thread


@dataclass(frozen=True)
class Done:
    """The results of a launch."""

    trace: Trace
    outputs: tuple[np.ndarray[Any, Any], ...]
    launch: Launch
    notes: tuple[str, ...] = ()  # what a passing check reports about it


def traced(
    trial: Trial,
    look: Callable[[Trace], None] | None = None,
    backwards: bool = False,
    failed: Callable[[Trace, Fault], None] | None = None,
    order: tuple[int, ...] | None = None,
    fill: Fill | None = None,
    stale: frozenset[Place] = frozenset(),
) -> Done:
    """Run one trial under a trace. Raises `Fault` if the simulator finds a fault.

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


def is_right(trial: Trial, outputs: Sequence[Array], launch: Launch) -> bool:
    """Return whether the outputs of a launch are right.

    Unless the exercise has an `out`, every element must also have been written.
    """
    whole = trial.exercise.out is not None or all(
        marks.all() for marks in launch.written.values()
    )
    pairs = zip(outputs, trial.case.expected, strict=True)
    tolerance = trial.exercise.tolerance
    return whole and all(agrees(got, wanted, tolerance) for got, wanted in pairs)


def from_fault(name: str, fault: Fault, when: str) -> Verdict:
    """Return the verdict on a fault that the simulator found in a launch."""
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
    """Say which device function called at one of `places` returns nothing.

    Returns '' if there is none.
    """
    for name, helper in helpers.items():
        called = any(re.search(rf"\b{name}\(", place.text) for place, _ in places)
        if called and not re.search(r"^\s*return\s+\S", source(helper), re.MULTILINE):
            return (
                f"`{name}` returns nothing. Unlike a kernel, a device function has to "
                f"return its result."
            )
    return ""


# The launch of a case, which the learner may have chosen


def configure(exercise: KernelExercise, case: KernelCase) -> Trial:
    """Return the launch of a case. Raises `Failed` if no GPU accepts that launch.

    Raises ValueError instead if the launch is the exercise's own and uses clusters.
    """
    config = (
        chosen(exercise, case)
        if exercise.checks_launch
        else exercise.launch(*case.size)
    )
    try:
        grid, block, stream, shared = configuration(config)
        with clustered(exercise.cluster):
            cluster_of(grid)
    except LaunchError as fault:
        if exercise.cluster > 1 and not exercise.checks_launch:
            raise ValueError(
                f"check({exercise.name}, ...): the launch of {case.label} has "
                f"{fault.message}. {fault.why}"
            ) from None
        verdict = from_fault(exercise.name, fault, case.label)
        if exercise.checks_launch:
            verdict = verdict.but(places=returns(exercise.written_by_learner))
        raise Failed(verdict) from None
    return Trial(exercise, case, grid, block, stream, shared)


def chosen(exercise: KernelExercise, case: KernelCase) -> Any:
    """Return the launch that a learner's function chooses.

    Raises `Failed` if the function raises an error, does not end or returns None.
    """
    call = f"{exercise.name}({', '.join(map(str, case.size))})"
    try:
        config = limited(exercise.launch, case.size)
    except Endless as stopped:
        raise endless(exercise.name, call, stopped) from None
    except Exception as error:
        raise exercise.failed(
            "exception",
            f"{type(error).__name__}: {error}",
            undefined(error),
            raised_at(error, exercise.written_by_learner),
            when=case.label,
        ) from None
    if config is None and has_stub(exercise.written_by_learner):
        raise Failed(begin(exercise.name))
    if config is None:
        raise exercise.failed(
            "launch",
            f"{call} returns nothing.",
            "A function returns its result with `return`: here, the grid and the "
            "block.",
        )
    return config


def too_large(grid: tuple[int, ...], block: tuple[int, ...], elements: int) -> str:
    """Describe a launch that has too many threads to simulate; return "" for others."""
    threads = int(np.prod(grid)) * int(np.prod(block))
    if threads <= 16 * max(elements, 4096):
        return ""
    return f"{threads:,} threads are launched for {elements:,} elements"


def excessive(trial: Trial) -> None:
    """Raise `Failed` if a launch is far too large to simulate."""
    elements = max(o.size for o in trial.case.outputs)
    if message := too_large(trial.grid, trial.block, elements):
        raise Failed(refused(trial, f"{message}.", IDLE))


def wasteful(trial: Trial, done: Done) -> None:
    """Raise `Failed` if whole blocks, or lanes of every warp, have nothing to do."""
    threads, blocks = int(np.prod(trial.block)), int(np.prod(trial.grid))
    stored = np.unique(done.trace.block[done.trace.operation != READ]).size
    needed = blocks - (done.trace.blocks - stored)
    if blocks > max(needed, 1):
        message = (
            f"{blocks:,} blocks of {several(threads, 'thread')} are launched where "
            f"{needed:,} would be enough."
        )
        raise Failed(refused(trial, message, IDLE))
    if threads < WARP < trial.case.expected[0].size:
        message = (
            f"Each block has {several(threads, 'thread')}, and a warp has {WARP}: of "
            f"each warp {several(WARP - threads, 'lane')} would have nothing to do."
        )
        raise Failed(refused(trial, message, LONELY))


def refused(trial: Trial, message: str, why: str) -> Verdict:
    """Return the verdict on a launch with surplus threads, or with idle lanes."""
    places = returns(trial.exercise.written_by_learner)
    return trial.verdict("launch", message, why, places)


def of_trial(trial: Trial, verdict: Verdict) -> Verdict:
    """Return the verdict on a hazard, with the exercise's name and the case."""
    return verdict.but(name=trial.name, when=trial.when)


def of_the_launch(trial: Trial, verdict: Verdict) -> Verdict:
    """Return the verdict on a race, or on the launch if the learner wrote the launch.

    A kernel that the exercise supplies has a race only if two threads do the same work.
    If the learner wrote the kernel, the verdict is on the race itself.
    """
    exercise = trial.exercise
    if not exercise.checks_launch:
        return of_trial(trial, verdict)
    launched = capital(trial.launched)
    return trial.verdict(
        "launch",
        f"{launched}. {verdict.message}",
        f"The kernel `{exercise.kernel.__name__}` is right only if each of its threads "
        f"has an index of its own. Along how many axes does it count its threads, and "
        f"along how many does your launch start them?",
        returns(exercise.written_by_learner),
    )


# The launch at which the last check of a kernel failed, to be inspected later

_stopped: dict[str, Trial] = {}  # by name, because the kernel's cell may run again


def keep(trial: Trial) -> None:
    """Remember a launch whose results were wrong."""
    _stopped[name_of(trial.exercise.kernel)] = trial


def last_stopped(kernel: Any) -> Trial | None:
    """Return the launch at which the last check of a kernel failed, or None."""
    return _stopped.get(name_of(kernel))


def name_of(kernel: Any) -> str:
    function = python_function(kernel) or kernel
    return str(getattr(function, "__name__", function))
