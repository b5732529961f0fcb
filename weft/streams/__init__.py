"""Host code, watched: copies, streams, events, and what is ordered by what.

    check(pipeline, spec=..., inputs=..., given=..., result="out", sizes=[...])

runs the learner's function on a model of a GPU (`machine`), with a `cuda` that looks
like Numba's (`twin`), and says what is wrong with it (`wording`): a result that is read
before it is there, a copy that no event orders after its kernel, a buffer used again
too early, a copy that cannot overlap. No GPU is needed, and no luck.

`timeline` draws what overlapped: on a GPU as events measured it, else in the model.
"""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from weft import lesson
from weft.checking import unseen_case
from weft.checking.compare import difference
from weft.checking.exercise import as_tuple, copies, is_kernel, widened
from weft.checking.settle import refuse_stale, settled
from weft.checking.source import raised_at, returns
from weft.checking.starter import begin, has_stub
from weft.checking.step_limit import Endless, counted, endless
from weft.checking.verdict import Failed, Verdict
from weft.simulator.faults import Fault, LaunchError
from weft.streams import wording
from weft.streams.machine import ASKING, Machine
from weft.streams.timeline import Timeline, timeline
from weft.streams.twin import Bench, DeviceArray, Watched, plain

__all__ = ["Timeline", "check", "timeline"]

Given = Callable[..., tuple[Any, ...]]


def check(
    function: Any,
    *,
    spec: Callable[..., Any] | None = None,
    inputs: Callable[..., tuple[Any, ...]] | None = None,
    given: Given | None = None,
    sizes: Sequence[int] = (),
    result: str = "",
    limits: dict[str, float] | None = None,
    timer: Sequence[tuple[float, float]] = (),
    tolerance: float = 1e-5,
) -> Verdict:
    """Check a function that copies and launches, and say what is wrong with it.

    spec: NumPy function of the inputs; inputs: `(rng, size)` → tuple of arrays.
    given: `(bench, *inputs)` → the function's arguments, made by the bench: `pinned`,
        `pageable`, `device_like`, `stream`, and so on.
    result: the parameter that holds the results when the function has returned; "" for
        the value that it returns.
    limits: {"traffic": most bytes over the bus, in those that must; "block": fewest
        threads of a block; "overlap": how many times as fast as one thing after the
        other, in the model, on the last size}.
    timer: for a function that times another, `work()`: how many ms this takes, and how
        many ms of other work are under way when the function is called.

    Returns a Verdict, true if all is well. Where the environment has WEFT_STRICT=1, a
    failure raises CheckFailed. Raises ValueError if the exercise itself is wrong.
    """
    name = getattr(function, "__name__", repr(function))

    def judge() -> Verdict:
        _is_function(function, name)
        if timer:
            facts = _timed(function, name, timer)
        elif spec is None or inputs is None or given is None or not sizes:
            raise ValueError(f"check({name}, ...): spec, inputs, given and sizes")
        else:
            exercise = (spec, inputs, given, result, tolerance)
            facts = _ran(function, name, exercise, list(sizes), limits or {})
        return Verdict(name, "pass", facts=facts)

    return settled(judge)


def _is_function(function: Any, name: str) -> None:
    refuse_stale(name)
    if not isinstance(function, FunctionType):
        made = "a kernel" if is_kernel(function) else f"a {type(function).__name__}"
        raise Failed(
            Verdict(
                name,
                "type",
                f"{name} is {made}, not a plain Python function.",
                "This exercise asks for the host's side: it runs on the CPU, without "
                "@cuda.jit.",
            )
        )


def _another(
    function: FunctionType, name: str, got: Any, wanted: str, when: str
) -> Verdict:
    """Refuse a result that is none, or of another type than `wanted`."""
    told = "nothing" if got is None else f"a {type(got).__name__}"
    return Verdict(
        name,
        "wrong-value" if got is None else "type",
        f"{name} returns {told}{wanted}.",
        places=returns(function),
        when=when,
    )


def _ran(
    function: FunctionType,
    name: str,
    exercise: tuple[Any, ...],
    sizes: list[int],
    limits: dict[str, float],
) -> list[str]:
    spec, inputs, given, result, tolerance = exercise
    seed = unseen_case.seed(function)
    named = lesson.unseen(name)
    extra = named[0] if named else unseen_case.size(sizes, seed)
    last = None
    for size in sizes if extra is None else [*sizes[:-1], extra, sizes[-1]]:
        case = as_tuple(inputs(np.random.default_rng([seed % 2**32, size]), size))
        when = f"size {size:,}" + ", which the check does not list" * (
            size not in sizes
        )
        watched = Watched(function)
        bench = Bench(watched)
        args = given(bench, *copies(case))
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        before = {
            parameter: plain(arg).copy()
            for parameter, arg in zip(names, args, strict=False)
            if isinstance(arg, np.ndarray) and parameter != result
        }
        for arg, parameter in zip(args, code.co_varnames, strict=False):
            bench.name(arg, parameter)
        back = _call(watched, function, name, args, when)
        machine = watched.machine
        if not machine.operations and has_stub(function):
            raise Failed(begin(name))
        if result:
            if result not in code.co_varnames[: code.co_argcount]:
                raise Failed(_no_parameter(name, result))
            back = args[code.co_varnames.index(result)]
        got = _results(function, name, back, machine, when)
        if machine.conflicts:
            verdict = wording.conflict(name, machine.conflicts[0])
            verdict.when = when
            raise Failed(verdict)
        for parameter, held in before.items():
            now = plain(args[names.index(parameter)])
            if not np.array_equal(now, held, equal_nan=now.dtype.kind in "fc"):
                raise Failed(_overwritten(name, parameter, when))
        wanted = np.asarray(spec(*(widened(a) for a in copies(case))))
        if (blank := _blank(name, got, machine, when)) is not None:
            raise Failed(blank)
        _right(function, name, got, wanted, result or "result", tolerance, when)
        if not any(o.kind == "kernel" for o in machine.operations):
            raise Failed(_no_kernel(name, when))
        last = machine, case, wanted, got
    assert last is not None
    facts = [
        f"right on {len(sizes) + (extra is not None)} sizes: every copy and every "
        "kernel comes after what it needs"
    ]
    return facts + _limits(name, *last, limits)


def _call(
    watched: Watched, function: FunctionType, name: str, args: Any, when: str
) -> Any:
    try:
        return counted(watched.call, tuple(args))
    except Endless as stopped:
        failed = endless(name, name, stopped.place)
        failed.verdict.when = when
        raise failed from None
    except LaunchError as fault:
        places = raised_at(fault, function)
        raise Failed(
            Verdict(name, "launch", f"{fault.message}.", fault.why, places, when=when)
        ) from None
    except Fault as fault:
        places = [
            (p, "called here" if p.calls else "in the kernel") for p in fault.places
        ]
        places += [(p, "launched here") for p, _ in raised_at(fault, function)]
        raise Failed(
            Verdict(
                name,
                fault.kind,
                wording.capital(fault.message) + ".",
                fault.why,
                places,
                fault.thread,
                fault.block,
                when,
            )
        ) from None
    except Exception as error:
        raise Failed(
            Verdict(
                name,
                "exception",
                f"{type(error).__name__}: {error}",
                places=raised_at(error, function),
                when=when,
            )
        ) from None


def _no_kernel(name: str, when: str) -> Verdict:
    return Verdict(
        name,
        "wrong-value",
        "No kernel was launched.",
        "Whatever the result is, the device has had no part in it.",
        when=when,
        headline="nothing runs on the device",
    )


def _overwritten(name: str, parameter: str, when: str) -> Verdict:
    return Verdict(
        name,
        "input-written",
        f"{name} writes into {parameter}, which is an input.",
        "Whoever called it still needs the data. Results belong in an array of their "
        "own.",
        when=when,
    )


def _blank(
    name: str, got: np.ndarray[Any, Any], machine: Machine, when: str
) -> Verdict | None:
    """A result that is missing since something was read that nobody had written."""
    if got.dtype.kind != "f" or not np.isnan(got).any():
        return None
    for made, region in machine.blanks:
        if made.place.line:
            return Verdict(
                name,
                "uninitialised",
                f"{wording.capital(made.what)} reads {region}, and nothing has been "
                "written there.",
                "An array made by `device_array` or `device_array_like` holds whatever "
                "lay there before. What should have brought the data? And are the "
                "arguments in their places?",
                [(made.place, f"reads {region}")],
                when=when,
            )
    return None


def _no_parameter(name: str, result: str) -> Verdict:
    return Verdict(
        name,
        "type",
        f"{name} has no parameter called {result}.",
        "Keep the names of the parameters as the exercise gives them.",
    )


def _results(
    function: FunctionType, name: str, back: Any, machine: Machine, when: str
) -> np.ndarray[Any, Any]:
    """What the function leaves, as whoever called it would read it."""
    if isinstance(back, DeviceArray):
        raise Failed(
            Verdict(
                name,
                "type",
                f"{name} returns an array on the device.",
                "Whoever called it is on the host, and asked for a NumPy array there.",
                returns(function),
                when=when,
                headline="the result stays on the device",
            )
        )
    if not isinstance(back, np.ndarray):
        wanted = ", and a NumPy array is wanted"
        raise Failed(_another(function, name, back, wanted, when))
    data: np.ndarray[Any, Any] = plain(back)
    machine.touch(machine.region(data), writes=False)
    return data


def _right(
    function: FunctionType,
    name: str,
    got: np.ndarray[Any, Any],
    wanted: np.ndarray[Any, Any],
    called: str,
    tolerance: float,
    when: str,
) -> None:
    if got.shape != wanted.shape:
        raise Failed(
            Verdict(
                name,
                "shape",
                f"{called} has the shape {got.shape}, and {wanted.shape} is wanted.",
                places=returns(function),
                when=when,
            )
        )
    wrong = difference(got, wanted, tolerance)
    if wrong is None:
        return
    if got.dtype.kind == "f" and np.isnan(wrong.got):
        empty = int(np.isnan(got).sum())
        where = f"{called}[{', '.join(map(str, wrong.index))}]"
        raise Failed(
            Verdict(
                name,
                "unwritten",
                f"{where} never gets a result"
                + f", nor do {empty - 1:,} others of {got.size:,}" * (empty > 1)
                + ".",
                "Follow one element: to the device, through the kernel, and back.",
                when=when,
            )
        )
    places = returns(function) if called == "result" else []
    text = wrong.sentence(called)
    raise Failed(Verdict(name, "wrong-value", text, wrong.hint, places, when=when))


def _limits(
    name: str,
    machine: Machine,
    case: tuple[Any, ...],
    wanted: np.ndarray[Any, Any],
    got: np.ndarray[Any, Any],
    limits: dict[str, float],
) -> list[str]:
    facts = []
    moved = sum(
        r.stop - r.start
        for o in machine.operations
        for r in {"copy in": o.writes, "copy out": o.reads}.get(o.kind, ())
    )
    arrays = [a for a in case if isinstance(a, np.ndarray)]
    widest = max((a.itemsize for a in arrays), default=got.itemsize)
    back = got.size * min(got.itemsize, widest)  # no wider than what went in
    needed = sum(a.nbytes for a in arrays) + back
    brought = sum(
        r.stop - r.start
        for o in machine.operations
        if o.kind == "copy out"
        for r in o.reads
    )
    if "traffic" in limits and brought < back:
        raise Failed(wording.made_here(name, brought, back))
    if moved > limits.get("traffic", np.inf) * needed:
        wide = str(got.dtype) if got.itemsize > widest else ""
        raise Failed(wording.traffic(name, machine, moved, needed, wide))
    if "traffic" in limits:
        facts.append(f"{moved:,} bytes over the bus, no more than there must be")
    for place, threads in machine.launches:
        if threads < limits.get("block", 1):
            raise Failed(wording.small_blocks(name, place, threads, limits["block"]))
    factor = machine.one_by_one / machine.end
    pageable = any(o.pageable for o in machine.operations)
    if "overlap" in limits and (pageable or factor < limits["overlap"]):
        raise Failed(wording.serial(name, machine, limits["overlap"]))
    if "overlap" in limits:
        facts.append(
            f"in the model {factor:.2f} times as fast as one thing after the other"
        )
    return facts


def _timed(
    function: FunctionType, name: str, cases: Sequence[tuple[float, float]]
) -> list[str]:
    unseen = (1 + unseen_case.seed(function) % 97 / 8, 0)
    for ms, before in (*cases, unseen):
        watched = Watched(function)
        machine = watched.machine
        bench = Bench(watched)
        work = bench.work(ms)
        if before:
            bench.work(before)()
        asked = len(machine.operations)
        when = f"a kernel of {ms:g} ms"
        got = _call(watched, function, name, (work,), when)
        if len(machine.operations) == asked and has_stub(function):
            raise Failed(begin(name))
        if len(machine.operations) == asked:
            raise Failed(
                Verdict(
                    name,
                    "wrong-value",
                    f"{name} never calls work().",
                    "What is to be timed has to happen between the two looks at the "
                    "clock.",
                    when=when,
                )
            )
        if not isinstance(got, int | float | np.number):
            wanted = "; a number of milliseconds is wanted"
            raise Failed(_another(function, name, got, wanted, when))
        calls = len(machine.operations) - asked
        asked_more = 3 * ASKING * (calls - 1)  # three things, for each other call
        if abs(float(got) * calls - ms * calls) > 0.05 * ms + asked_more:
            raise Failed(wording.clock(name, float(got), ms, before, machine))
    return [f"right on {len(cases)} kernels, short and long, idle and busy"]
