"""Name an input element that changes a wrong result and should not, or the reverse.

The launch runs again with other values in a part of an input. If the result changes and
should not, the kernel uses elements with which this result has nothing to do. If it
does not change and should, the kernel leaves some out. Both are certain, however the
kernel computes the result.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from weft import effort
from weft.checking.cases import Arrays, as_tuple, copies
from weft.checking.compare import Array, difference, ordinary
from weft.checking.source import parameter_names
from weft.checking.unread import element
from weft.kernels.evidence import Cause, readers
from weft.kernels.trial import Done, Trial, Tried
from weft.simulator import Fault
from weft.simulator.launch import simulate

WORK = 200_000  # the most threads, turns and iterations of all runs together
EACH = 2_000  # work added for each run, for what every run does
CLEAR = 10  # a change is at least this many times the error that is allowed
NONE = 1e-3  # no change is at most this part of it
FAR = 1_000  # standard deviations from an element's value
BOTH, NEITHER = (True, True), (False, False)

Changes = tuple[bool, bool]  # whether the kernel's result changes, and the right one


@dataclass(frozen=True)
class Wrong:
    """A wrong element of a launch.

    number, name: of the output. noise: the error that the tolerance allows.
    """

    number: int
    name: str
    index: tuple[int, ...]
    noise: float


@dataclass
class Search:
    """A search for elements that change only one of the two results: see `differing`.

    spent: the work so far.
    """

    trial: Trial
    wrong: Wrong
    spent: int = 0

    def results(self, inputs: Arrays) -> tuple[float, float]:
        """Return the kernel's result for other inputs, and the right one.

        Raises ValueError if one of them cannot be computed.
        """
        return self.mine(inputs), self.right(inputs)

    def mine(self, inputs: Arrays) -> float:
        exercise, outputs = self.trial.exercise, self.trial.fresh()
        if exercise.out is not None:
            made = as_tuple(exercise.out(*copies(inputs)))
            outputs = tuple(np.array(output) for output in made)
        given, readonly = (*copies(inputs), *outputs), frozenset(range(len(inputs)))
        try:
            with effort.counted() as more, np.errstate(all="ignore"):
                config, kernel = self.trial.config, exercise.kernel
                simulate(kernel, config, given, readonly=readonly, make_run=Tried)
        except Fault as fault:
            raise ValueError("no result") from fault
        finally:
            self.spent += sum(more.values()) + EACH
        return float(outputs[self.wrong.number][self.wrong.index])

    def right(self, inputs: Arrays) -> float:
        try:
            with np.errstate(all="ignore"):
                aims = self.trial.exercise.expected(inputs)
        except (ArithmeticError, LookupError) as error:
            raise ValueError("no result") from error
        return float(aims[self.wrong.number][self.wrong.index])

    def changes(
        self, inputs: Arrays, before: tuple[float, float], number: int, part: Array
    ) -> Changes:
        """Say which results change with a part of an input.

        before: the results for `inputs`. number, part: which input, and flat indices.
        Raises ValueError if that is unclear.
        """
        after = self.results(with_moved(inputs, number, part, 1))
        mine, right = map(self.apart, after, before)
        return mine, right

    def may_matter(
        self, inputs: Arrays, before: float, number: int, one: Array
    ) -> bool:
        """Return whether the right result changes if an element is far from its value.

        before: the right result for `inputs`. number, one: as in `changes`.
        """
        far = (with_moved(inputs, number, one, by) for by in (FAR, -FAR))
        return any(self.apart(self.right(other), before) for other in far)

    def apart(self, new: float, old: float) -> bool:
        """Return whether two results differ. Raises ValueError if that is unclear."""
        by, noise = abs(new - old), self.wrong.noise
        if not (by <= NONE * noise or by >= CLEAR * noise):
            raise ValueError("neither a change nor none")
        return by > noise


def cause(trial: Trial, done: Done) -> Cause:
    """Name an element that has not the influence on a wrong result that it should have.

    Returns an empty `Cause` if none is found within the limit on work.
    """
    wrong = first_wrong(trial, done)
    found = differing(Search(trial, wrong), done) if wrong else None
    if wrong is None or found is None:
        return Cause()
    number, index, mine = found
    name = parameter_names(trial.exercise.kernel)[number]
    at, one = f"`{element(wrong.name, wrong.index)}`", f"`{element(name, index)}`"
    said = f"{at} should change with {one}, and does not."
    if mine:
        said = f"{at} changes with {one}, and should not."
    every = np.ones(len(done.trace), bool)
    return Cause(said, readers(trial, done.trace, name, every), name)


def first_wrong(trial: Trial, done: Done) -> Wrong | None:
    """Return the first wrong element of a launch.

    Returns None if it is no finite float, or if its value hints at the cause.
    """
    outputs = zip(done.launch.written, done.outputs, trial.case.expected, strict=True)
    for number, (name, got, wanted) in enumerate(outputs):
        first = difference(got, wanted, trial.exercise.tolerance)
        if first is None:
            continue
        floats = got.dtype.kind == "f" and np.isfinite((first.got, first.wanted)).all()
        if not floats or first.hint:
            return None
        some = wanted[ordinary(wanted, got.dtype)]
        rms = float(np.sqrt(np.mean(np.square(some)))) if some.size else 0.0
        return Wrong(number, name, first.index, trial.exercise.tolerance * rms)
    return None


def differing(search: Search, done: Done) -> tuple[int, tuple[int, ...], bool] | None:
    """Find an element that changes only one of the two results.

    Parts of inputs are halved along one axis, the large ones first. Since a result may
    depend on an element, but not for the values of this launch, those of all inputs are
    moved a little. Returns the input's number, the element's index, and whether it
    changes the kernel's result; None if there is no such element.
    """
    given = search.trial.case.inputs
    floats = {
        k: x
        for k, x in enumerate(given)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and not is_sorted(x)
    }
    other = tuple(
        moved(x, np.arange(x.size), 0.1, k) if k in floats else x
        for k, x in enumerate(given)
    )
    parts = deque(
        (k, axis, np.arange(x.size).reshape(x.shape))
        for k, x in floats.items()
        for axis in range(x.ndim)
    )
    try:
        before, after = search.results(given), search.results(other)
        wrong = search.wrong
        if before[0] != done.outputs[wrong.number][wrong.index]:
            return None  # it is not the same in each run
    except ValueError:
        return None

    def changes(number: int, part: Array) -> Changes:
        try:
            return search.changes(other, after, number, part)
        except ValueError:
            return BOTH

    while parts and search.spent < WORK:
        number, axis, part = parts.popleft()
        found = changes(number, part)
        if found == BOTH and part.shape[axis] > 1:
            parts += [(number, axis, half) for half in np.array_split(part, 2, axis)]
        if found in (BOTH, NEITHER):
            continue
        part = part.ravel()
        while len(part) > 1 and search.spent < WORK:
            first, rest = np.array_split(part, 2)
            part = first if changes(number, first) == found else rest
        try:
            alone = len(part) == 1 and found == changes(number, part)
            if not alone or found != search.changes(given, before, number, part):
                continue
            if found[1] or not search.may_matter(other, after[1], number, part):
                index = np.unravel_index(int(part[0]), given[number].shape)
                return number, tuple(map(int, index)), found[0]
        except ValueError:
            continue
    return None


def is_sorted(x: Array) -> bool:
    """Return whether each row is in order, as it may have to be."""
    in_order = x.ndim > 0 and x.shape[-1] > 2 and (x[..., 1:] >= x[..., :-1]).all()
    return bool(in_order)


def with_moved(inputs: Arrays, number: int, part: Array, by: float) -> Arrays:
    """Return inputs with a part of one of them changed as in `moved`."""
    some = list(inputs)
    some[number] = moved(inputs[number], part.ravel(), by, number)
    return tuple(some)


def moved(x: Array, part: Array, by: float, seed: int) -> Array:
    """Return a copy of `x` in which the elements with flat indices `part` are larger.

    by: how much larger, about, relative to the standard deviation of `x`.
    """
    found = x.flatten()
    some = found[ordinary(found, found.dtype)].astype(float)
    scale = by * max(float(np.std(some)), 1e-3) if some.size else by
    steps = np.random.default_rng(seed).uniform(0.5, 1.5, part.size)
    found[part] += (scale * steps).astype(x.dtype)
    return found.reshape(x.shape)
