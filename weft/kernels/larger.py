"""Larger cases, to find what is wrong only beyond the sizes that a check lists.

Small sizes hide a guard like `i < 1024`, or a loop of at most eight iterations. So the
kernel also runs on sizes far above those listed: one axis at a time, with the others as
small as possible. In these runs, nothing is traced, and only the outputs are compared.
If the outputs are wrong, the trial runs again with a trace, as the listed sizes do, to
find out why.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from weft.checking.cases import as_tuple, evened, unseen_size
from weft.checking.verdict import Failed
from weft.kernels.exercise import KernelExercise
from weft.kernels.simulated import run_trial
from weft.kernels.trial import Trial, configure, is_right
from weft.simulator import Fault
from weft.simulator.launch import simulate
from weft.simulator.limits import configuration
from weft.simulator.running.scheduler import Run
from weft.simulator.running.threads import Thread
from weft.wording import several

Size = tuple[int, ...]

ONE_AXIS = (2_100, 1_100, 300, 150, 70)  # what to try for a size of one number
AXES = (1_100, 300, 150, 70)  # and for one axis of several
LAPS = 40  # iterations per thread, if the launch does not grow with the size
MOST_THREADS, MOST_ELEMENTS = 4_600, 60_000
MOST_WORK = 500_000  # work of all larger cases, roughly in microseconds
WEIGHTS = {"threads": 20, "turns": 6, "iterations": 2}


def run(exercise: KernelExercise, spent: Mapping[str, int]) -> list[str]:
    """Run the larger cases. Returns facts; raises `Failed` if one of the cases fails.

    spent: the work that the listed sizes took; see `weft.effort`.
    """
    listed = sum(math.prod(as_tuple(size)) for size in exercise.sizes if is_whole(size))
    each = work(spent) / max(listed, 1)
    axes = sizes(exercise)
    most = MOST_WORK / max(len(axes), 1)
    done = []
    for choices in axes:
        for trial in trials(exercise, choices, most / max(each, 1)):
            with suppress(TooMuch):
                if holds(trial, most):
                    done.append(trial)
                else:
                    run_trial(trial)
                break
    if not done:
        another_parity(exercise)
        return []
    largest = max(done, key=lambda trial: math.prod(trial.case.size))
    many = several(len(done), "larger case")
    return [f"right in {many} as well: {largest.case.written}"]


def another_parity(exercise: KernelExercise) -> None:
    """Run the kernel at an unlisted even size: the other unlisted size may be odd.

    Raises `Failed` if the kernel is wrong there.
    """
    number = exercise.number
    given = exercise.of_lesson()[0] or not exercise.unseen
    if given or not all(map(is_whole, exercise.sizes)):
        return
    size = evened(as_tuple(unseen_size(exercise.sizes, number)), exercise.sizes)
    trial = made(exercise, size, number)
    if trial is not None:
        with suppress(TooMuch):
            if not holds(trial):
                run_trial(trial)


def is_whole(size: Any) -> bool:
    return all(type(part) is int and part >= 0 for part in as_tuple(size))


class TooMuch(Exception):
    """Raised if a larger case takes too long."""


class BoundedRun(Run):
    """A launch that ends with `TooMuch` after a set amount of work."""

    allowed = float(MOST_WORK)

    def started(self, thread: Thread) -> None:
        if work(self.effort()) > self.allowed:
            raise TooMuch


def work(effort: Mapping[str, int]) -> int:
    return sum(WEIGHTS.get(what, 0) * n for what, n in effort.items())


def holds(trial: Trial, most: float = MOST_WORK) -> bool:
    """Return whether the outputs of a trial are right.

    Raises `TooMuch` if running it takes more work than `most`.
    """
    outputs = trial.fresh()
    count = len(trial.case.inputs)

    def make(*launch: Any) -> Run:
        run = BoundedRun(*launch)
        run.allowed = most
        return run

    try:
        launch = simulate(
            trial.exercise.kernel,
            trial.config,
            (*trial.case.inputs, *outputs),
            readonly=frozenset(range(count)),
            watched=frozenset(range(count, count + len(outputs))),
            make_run=make,
        )
    except Fault:
        return False
    return is_right(trial, outputs, launch)


def trials(
    exercise: KernelExercise, choices: Sequence[Size], most: float
) -> Iterator[Trial]:
    """Yield the launch at each size in `choices` that is possible and not too large.

    most: how many elements a size may have, as estimated from the work per element at
    the listed sizes.
    """
    number = exercise.number
    for size in choices:
        if math.prod(size) <= min(most, MOST_ELEMENTS):
            trial = made(exercise, size, number)
            if trial is not None:
                yield trial


def made(exercise: KernelExercise, size: Size, number: int) -> Trial | None:
    """Return the launch at a size; None if it is impossible or would take too long."""
    try:
        if not exercise.checks_launch and threads(exercise, size) > MOST_THREADS:
            return None  # before its data is made
        return configure(exercise, exercise.case(size, number))
    except Failed:
        raise
    except Exception:  # the exercise's functions may not accept the size
        return None


def threads(exercise: KernelExercise, size: Size) -> int:
    """Return the number of threads that the exercise launches for a size."""
    grid, block, *_ = configuration(exercise.launch(*size))
    return math.prod(grid) * math.prod(block)


def sizes(exercise: KernelExercise) -> list[list[Size]]:
    """Return, for each group of axes that grow together, the sizes to try in turn."""
    wanted = exercise.larger
    if wanted is None:
        wanted = exercise.of_lesson()[1]
    if wanted is not None:
        return [[as_tuple(wanted)]] if wanted else []
    if not exercise.unseen or not all(map(is_whole, exercise.sizes)):
        return []
    rows = [as_tuple(size) for size in exercise.sizes]
    if len(set(rows)) == 1:
        return []  # nothing says what else it could be
    if len(rows[0]) == 1:
        column = [row[0] for row in rows]
        each = (fitting(column, n) for n in along(exercise, max(column)))
        return [[(n,) for n in dict.fromkeys(each)]]
    return [
        list(dict.fromkeys(grown(rows, group, target) for target in AXES))
        for group in groups(rows)
    ]


def along(exercise: KernelExercise, largest: int) -> tuple[int, ...]:
    """Return the larger values to try for a size that is one number.

    If the launch does not grow with the size, each thread runs a loop, and a value that
    gives it 40 iterations is included. Returns () if the launch nevertheless has a
    thread for every element: the kernel may then not be meant for more elements.
    """
    if exercise.checks_launch:
        return ONE_AXIS
    try:
        now, then = (threads(exercise, (n,)) for n in (largest, 4 * largest))
    except Exception:  # the exercise's own launch
        return ()
    if then > now:
        return ONE_AXIS
    return (LAPS * now, *ONE_AXIS) if now < largest else ()


def groups(rows: Sequence[Size]) -> list[tuple[int, ...]]:
    """Group the axes that grow together: those that are equal in every listed size.

    An axis that is the same in all sizes is left out.
    """
    columns = list(zip(*rows, strict=True))
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for axis, column in enumerate(columns):
        if len(set(column)) > 1:
            found[column] = (*found.get(column, ()), axis)
    return list(found.values())


def grown(rows: Sequence[Size], group: tuple[int, ...], target: int) -> Size:
    """Return the smallest listed size, with the axes in `group` made larger.

    The product of the lengths of these axes becomes about `target`.
    """
    least = min((row for row in rows if all(row)), key=math.prod, default=rows[0])
    columns = list(zip(*rows, strict=True))
    each = round(target ** (1 / len(group))) if len(group) > 1 else target
    return tuple(
        fitting(columns[axis], each) if axis in group else part
        for axis, part in enumerate(least)
    )


def fitting(column: Sequence[int], target: int) -> int:
    """Return a number above those of `column` and near `target`, of the same kind.

    The number is a power of two if those of `column` are powers of two and differ, or
    else a multiple of their greatest common divisor. If that divisor is 1, the number
    is even, but not a multiple of four. (`unseen_size` prefers an odd number.)
    """
    target = max(target, 2 * max(column))
    given = [part for part in column if part]
    if all(part & (part - 1) == 0 for part in given) and len(set(given)) > 1:
        return 1 << math.floor(math.log2(target))
    step = math.gcd(*given) or 1
    return target // 4 * 4 + 2 if step == 1 else -(-target // step) * step
