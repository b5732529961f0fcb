"""Checks of host code: a function is run on a model of a GPU, and analysed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from weft.checking.cases import Case, copies
from weft.checking.compare import difference
from weft.checking.exercise import Exercise
from weft.checking.limits import HOST
from weft.checking.room import Facts
from weft.checking.source import begin, no_parameter, raised_at, returns, seed
from weft.checking.step_limit import counted
from weft.checking.verdict import Failed, Verdict
from weft.kernels.launched import Launches, worded
from weft.meaning import is_kernel
from weft.places import Note
from weft.starters import has_stub
from weft.streams import wording
from weft.streams.machine import ASKING, Machine
from weft.streams.twin import Bench, DeviceArray, HostArray, Watched, plain
from weft.tracebacks import undefined
from weft.wording import capital, several

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class HostExercise(Exercise):
    """An exercise in writing a host function that copies data and launches kernels.

    inputs: `(rng, *size)` → tuple of arrays.
    given: `(bench, *inputs)` → the function's arguments, made by the bench: `pinned`,
        `pageable`, `device_like`, `stream`, and so on.
    result: the parameter that holds the results when the function has returned; "" for
        the value that it returns.
    timer: for a function that measures how long `work()` takes, the cases to test, each
        a pair of times in ms: how long `work()` takes, and how long the work queued
        before it takes. The fields above are then not needed.
    lines: how many lines of Python one call may run; see `weft.checking.step_limit`.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    unused: ClassVar[tuple[str, ...]] = ("because",)

    given: Any = None
    result: str = ""
    timer: Sequence[tuple[float, float]] = ()
    lines: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        missing = None in (self.spec, self.inputs, self.given) or not self.sizes
        if missing and not self.timer:
            raise ValueError(f"check({self.name}, ...): spec, inputs, given and sizes")


class HostCode:
    """Checks functions that copy data and launch kernels, or that time functions."""

    what = HOST
    exercise = HostExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return "given" in asked or "timer" in asked

    def stages(self, exercise: HostExercise) -> Iterator[Facts]:
        """Run all cases on the model, and check the last listed one against the limits.

        Yields facts. An exercise with a `timer` has one stage only: `timed`.
        """
        if not isinstance(exercise.written_by_learner, FunctionType):
            thing = exercise.written_by_learner
            made = "a kernel" if is_kernel(thing) else f"a {type(thing).__name__}"
            raise Failed(wording.verdict(exercise.name, "not-a-function", made=made))
        if exercise.timer:
            yield timed(exercise)
            return
        launches = Launches(exercise.name)
        count, last = 0, None
        for case in exercise.cases(seed(exercise.written_by_learner)):
            run = Run(exercise, case, launches)
            run.judge()
            count += 1
            last = run if case.listed else last
        yield [
            f"right on {count} sizes: every copy and every kernel comes after what it "
            "needs",
            *launches.facts(),
        ]
        assert last is not None
        yield limits(last)


ROOM = HostCode()


class Run:
    """One call to the learner's function on the model.

    Its constructor raises `Failed` if the call does not complete or its result cannot
    be compared.
    """

    def __init__(self, exercise: HostExercise, case: Case, launches: Launches) -> None:
        """Set up the arguments, call the function, and keep its results."""
        self.exercise, self.case, self.launches = exercise, case, launches
        function: FunctionType = exercise.written_by_learner
        self.function = function
        self.watched = Watched(function, self._launched)
        self.machine: Machine = self.watched.machine
        bench = Bench(self.watched)
        self.args = tuple(exercise.given(bench, *copies(case.inputs)))
        code = function.__code__
        self.names = code.co_varnames[: code.co_argcount]
        for arg, parameter in zip(self.args, code.co_varnames, strict=False):
            bench.name(arg, parameter)
        self.before = {
            parameter: plain(arg).copy()
            for parameter, arg in zip(self.names, self.args, strict=False)
            if isinstance(arg, np.ndarray) and parameter != exercise.result
        }
        back = called(exercise, self.watched, self.args, case.label, launches)
        if not self.machine.operations and has_stub(function):
            raise Failed(begin(exercise.name))
        self.got = self._results(back)

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def when(self) -> str:
        return self.case.label

    def _launched(self, trace: Any, places: list[Note]) -> None:
        self.launches.saw(trace, self.case.label, places)

    def _results(self, back: Any) -> Array:
        """Return the function's result as its caller would read it.

        Raises `Failed` if the result is still on the device or is not an array, or if
        the parameter that should hold it is missing.
        """
        result, name = self.exercise.result, self.name
        if result:
            if result not in self.names:
                raise Failed(no_parameter(name, result))
            back = self.args[self.names.index(result)]
        if isinstance(back, DeviceArray):
            raise self.failed("still-on-device", returns(self.function))
        if not isinstance(back, np.ndarray):
            wanted = ", and a NumPy array is wanted"
            raise another(self.exercise, back, wanted, self.when)
        data: Array = plain(back)
        self.machine.touch(self.machine.region(data), writes=False)
        return data

    def judge(self) -> None:
        """Check the call and its results. Raises `Failed` if anything is wrong."""
        if self.machine.conflicts:
            verdict = wording.conflict(self.name, self.machine.conflicts[0])
            raise Failed(verdict.but(when=self.when))
        self.launches.refuse_certain()
        for parameter, held in self.before.items():
            now = plain(self.args[self.names.index(parameter)])
            if not np.array_equal(now, held, equal_nan=now.dtype.kind in "fc"):
                raise self.failed("input-written", parameter=parameter)
        refuse_blank(self)
        right(self)
        self.launches.refuse()
        if not any(o.kind == "kernel" for o in self.machine.operations):
            raise self.failed("no-kernel")

    def failed(self, row: str, places: Sequence[Note] = (), **fields: Any) -> Failed:
        """Return the error that ends a check, worded by `row` of `wording.toml`."""
        said = wording.verdict(self.name, row, places, when=self.when, **fields)
        return Failed(said)


def called(
    exercise: HostExercise,
    watched: Watched,
    args: tuple[Any, ...],
    when: str,
    launches: Launches,
) -> Any:
    """Call the learner's function on the model. Raises `Failed` if the call fails."""
    function, name = exercise.written_by_learner, exercise.name

    def explain(error: Exception) -> Verdict:
        places = raised_at(error, function)
        if (verdict := wording.wrong_side(name, error, places)) is not None:
            return verdict.but(when=when)
        said = f"{error}".replace(HostArray.__name__, "numpy.ndarray")
        message = f"{type(error).__name__}: {said}"
        return Verdict(name, "exception", message, undefined(error), places, when=when)

    with worded(
        launches, name, when, lambda error: raised_at(error, function), explain
    ):
        return counted(watched.call, args, exercise.lines)


def timed(exercise: HostExercise) -> Facts:
    """Check a function that times `work()`: it must return the work's own time."""
    function = exercise.written_by_learner
    unseen = (1 + seed(function) % 97 / 8, 0)
    cases = [*exercise.timer, unseen]
    listed = len(cases)
    for number, (ms, before) in enumerate(cases):
        watched = Watched(function)
        machine = watched.machine
        bench = Bench(watched)
        work = bench.work(ms)
        if before:
            bench.work(before)()
        asked = len(machine.operations)
        when = f"a kernel of {ms:g} ms"
        got = called(exercise, watched, (work,), when, Launches(exercise.name))
        calls = len(machine.operations) - asked
        if not calls and has_stub(function):
            raise Failed(begin(exercise.name))
        if not calls:
            raise Failed(wording.verdict(exercise.name, "never-calls", when=when))
        if not isinstance(got, int | float | np.number):
            wanted = "; a number of milliseconds is wanted"
            raise another(exercise, got, wanted, when)
        asked_more = 3 * ASKING * (calls - 1)  # three requests for each further call
        if abs(float(got) * calls - ms * calls) > 0.05 * ms + asked_more:
            raise Failed(wording.clock(exercise.name, float(got), ms, before, machine))
        idle = machine.now - machine.default.end
        # The function may only have paused for longer than the work takes, which is no
        # wait. So try again with work that takes longer.
        if idle > ms and number < listed:
            cases.append((3 * machine.now, 0))
    count = len(exercise.timer)
    return [f"right on {count} kernels, short and long, idle and busy"]


# Limits


@dataclass(frozen=True)
class Traffic:
    """The bytes that a run copies over the bus.

    moved, needed: the bytes copied in both directions, and the fewest that would do.
    brought, back: the same for copies from device to host.
    """

    moved: int
    needed: int
    brought: int
    back: int
    wide: str  # the results' type, if it is wider than the inputs'


def traffic(run: Run) -> Traffic:
    """Count the bytes that a run's copies moved, and the bytes they had to move."""
    operations = run.machine.operations
    moved = sum(
        r.stop - r.start
        for o in operations
        for r in {"copy in": o.writes, "copy out": o.reads}.get(o.kind, ())
    )
    brought = sum(
        r.stop - r.start for o in operations if o.kind == "copy out" for r in o.reads
    )
    arrays = [a for a in run.case.inputs if isinstance(a, np.ndarray)]
    got = run.got
    widest = max((a.itemsize for a in arrays), default=got.itemsize)
    back = got.size * min(got.itemsize, widest)  # no wider than the inputs
    needed = sum(a.nbytes for a in arrays) + back
    wide = str(got.dtype) if got.itemsize > widest else ""
    return Traffic(moved, needed, brought, back, wide)


def limits(run: Run) -> Facts:
    """Check a run against the limits; return facts. Raises `Failed` for a breach."""
    name, machine, held = run.name, run.machine, run.exercise.limits
    facts = []

    def refused(row: str, places: Sequence[Note] = (), **fields: Any) -> Failed:
        return Failed(wording.verdict(name, row, places, **fields))

    if "traffic" in held:
        bytes_ = traffic(run)
        if bytes_.brought < bytes_.back:
            brought, needed = bytes_.brought, bytes_.back
            come = f"{brought:,} bytes come" if brought else "Nothing comes"
            raise refused("made-here", come=come, needed=needed)
        if bytes_.moved > held["traffic"] * bytes_.needed:
            raise Failed(
                wording.traffic(name, machine, bytes_.moved, bytes_.needed, bytes_.wide)
            )
        facts.append(f"{bytes_.moved:,} bytes over the bus, no more than there must be")
    for place, threads in machine.launches:
        if threads < held.get("block", 1):
            raise refused(
                "small-blocks",
                [(place, "launched here")],
                threads=several(threads, "thread"),
                wanted=held["block"],
            )
    if "overlap" in held:
        factor = machine.one_by_one / machine.end
        pageable = any(o.pageable for o in machine.operations)
        if pageable or factor < held["overlap"]:
            raise Failed(wording.serial(name, machine, held["overlap"]))
        facts.append(f"in the model {factor:.2f} times as fast as without any overlap")
    return facts


# Verdicts


def right(run: Run) -> None:
    """Compare a run's result with the spec's. Raises `Failed` if they differ."""
    got, (wanted, *_) = run.got, run.case.expected
    result = run.exercise.result or "result"
    where = returns(run.function)
    if got.shape != wanted.shape:
        shapes = {"result": result, "got": got.shape, "wanted": wanted.shape}
        raise run.failed("shape", where, **shapes)
    wrong = difference(got, wanted, run.exercise.tolerance)
    if wrong is None:
        return
    if got.dtype.kind == "f" and np.isnan(wrong.got):
        empty = int(np.isnan(got).sum())
        others = f", nor do {empty - 1:,} others of {got.size:,}" * (empty > 1)
        failed = run.failed("unwritten", element=wrong.where(result), others=others)
    else:
        text, places = wrong.sentence(result), where if result == "result" else []
        said = text, wrong.hint, places
        failed = run.exercise.failed("wrong-value", *said, when=run.when)
    raise Failed(wording.not_fetched(failed.verdict, run.machine))


def another(exercise: HostExercise, got: Any, wanted: str, when: str) -> Failed:
    """Return the failure for a result that is missing or has the wrong type.

    wanted: a clause that names the right type.
    """
    return Failed(
        wording.verdict(
            exercise.name,
            "nothing-returned" if got is None else "another-type",
            returns(exercise.written_by_learner),
            type=type(got).__name__,
            wanted=wanted,
            when=when,
        )
    )


def refuse_blank(run: Run) -> None:
    """Raise `Failed` if the result has NaNs, and the function read unwritten memory."""
    if run.got.dtype.kind != "f" or not np.isnan(run.got).any():
        return
    for made, region in run.machine.blanks:
        if made.place.line:
            places = [(made.place, f"reads {region}")]
            told = {"Made": capital(made.what), "region": region}
            raise run.failed("uninitialised", places, **told)
