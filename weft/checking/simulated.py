"""Stage 1: the learner's kernel in the simulator, on small and ragged sizes."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.checking import extra_case, hazards
from weft.checking.compare import Difference, difference
from weft.checking.exercise import Case, Exercise, is_kernel, source_function
from weft.checking.verdict import Verdict
from weft.simulator import Fault, LaunchError, Place, calls, record
from weft.simulator.launch import Launch
from weft.simulator.limits import configuration
from weft.simulator.memory import poison
from weft.simulator.trace import READ, Trace

STUB = "your code here"  # in the comment that a starter cell contains


class Failed(Exception):
    """Ends a check with a verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.kind)
        self.verdict = verdict


def run(exercise: Exercise) -> tuple[list[str], Trace]:
    """Run every size. Gives facts, and the last trace; raises `Failed`."""
    elements = 0
    for size in exercise.sizes:
        case = exercise.case(size)
        done = run_case(exercise, case, configure(exercise, case))
        elements += sum(o.size for o in done.outputs)
    extra = run_unseen(exercise)
    sizes = len(exercise.sizes)
    fact = (
        f"right in the simulator: {sizes} size{'s' * (sizes > 1)}"
        f"{' and one not listed' * (extra > 0)}, {elements + extra:,} results, "
        "every index in bounds, no race"
    )
    return [fact, *left_early(done.trace)], done.trace


def run_case(
    exercise: Exercise, case: Case, config: Any, backwards: bool = False
) -> "Done":
    """Run one case and look at all it did. Raises `Failed`."""
    try:
        return look_at(exercise, case, config, backwards)
    except Failed as failed:
        add_calls(exercise, case, config, failed.verdict, backwards)
        raise


def look_at(exercise: Exercise, case: Case, config: Any, backwards: bool) -> "Done":
    if exercise.checks_launch:
        excessive(exercise, case, config)

    def look(trace: Trace) -> None:
        found = hazards.certain(exercise.name, trace, config, case.label)
        if found is not None:
            raise Failed(found)

    def failed(trace: Trace, fault: Fault) -> None:
        """Name the read that was too early before the index that came of it."""
        if fault.kind not in ("out-of-bounds", "negative-index"):
            return
        found = hazards.misled(exercise.name, trace, config, case.label)
        if found is not None:
            raise Failed(found)

    try:
        done = traced(exercise, case, config, look, backwards, failed)
    except Fault as fault:
        helpers = device_functions(exercise.kernel)
        if any(has_stub(helper) for helper in helpers.values()):
            raise Failed(begin(exercise.name)) from None
        verdict = from_fault(exercise, fault, case.label)
        if fault.kind == "exception" and "NoneType" in fault.message:
            verdict.why = silent(helpers, verdict.places)
        raise Failed(verdict) from None
    hazard = hazards.find(exercise.name, done.trace, config, case.label)
    if hazard is not None and not hazard.secondary:
        raise Failed(hazard.verdict)
    judge(exercise, case, config, done)
    if hazard is not None:
        raise Failed(hazard.verdict)
    return done


def run_unseen(exercise: Exercise) -> int:
    """Run a size that the exercise does not list; give how many results it has.

    The last block is run first: a GPU promises no order. 0 where the exercise wants
    none, or its data or launch cannot be had in this size.
    """
    seed = extra_case.seed(exercise.written_by_learner)
    size = exercise.lesson_size or extra_case.size(exercise.sizes, seed)
    if size is None or not exercise.unseen:
        return 0
    try:
        case = exercise.case(size, seed)
        config = configure(exercise, case)
        configuration(config)
    except Failed:
        raise
    except Exception:
        return 0
    try:
        done = run_case(exercise, case, config, backwards=True)
    except Failed as failed:
        run_case(exercise, case, config)  # may have a word that is nearer to hand
        verdict = failed.verdict
        verdict.when += ", the last block first"
        verdict.why = (
            "Where block 0 is run first, it is right; but blocks come in any order. "
            + verdict.why.removeprefix(hazards.ORDER)
        ).strip()
        raise
    return sum(o.size for o in done.outputs)


def left_early(trace: Trace) -> list[str]:
    """A word on barriers that some threads never came to, because they had ended.

    GPUs have allowed it since compute capability 7.0: CUDA C++ Programming Guide,
    "Synchronization Functions" and "Compute Capability 7.x".
    """
    if not trace.partial:
        return []
    which = hazards.lines_of([place for _, place, _ in trace.partial], trace.name)
    return [
        f"note: not all threads of a block come to the barrier on {which}; the "
        "others have ended, or a GPU would wait for them. It is safer where all come"
    ]


@dataclass(frozen=True)
class Done:
    """What a launch left behind."""

    trace: Trace
    outputs: tuple[np.ndarray[Any, Any], ...]
    launch: Launch


def trace(exercise: Exercise, size: Any) -> Trace:
    """Run one size and write down its accesses. Raises `Fault`."""
    case = exercise.case(size)
    return traced(exercise, case, configure(exercise, case)).trace


def traced(
    exercise: Exercise,
    case: Case,
    config: Any,
    look: Callable[[Trace], None] | None = None,
    backwards: bool = False,
    failed: Callable[[Trace, Fault], None] | None = None,
) -> Done:
    """Run one case under a trace; the last three as in `record`. Raises `Fault`."""
    outputs = fresh(exercise, case)
    count = len(case.inputs)
    names = parameter_names(exercise.kernel)[count:]
    accesses, launch = record(
        exercise.kernel,
        config,
        (*case.inputs, *outputs),
        readonly=frozenset(range(count)),
        watched=frozenset(range(count, count + len(outputs))),
        fresh=frozenset(names if exercise.out is None else ()),
        look=look,
        backwards=backwards,
        failed=failed,
    )
    return Done(accesses, outputs, launch)


def parameter_names(kernel: Any) -> list[str]:
    inner = source_function(kernel)
    return list(inspect.signature(inner).parameters) if inner else []


def fresh(exercise: Exercise, case: Case) -> tuple[np.ndarray[Any, Any], ...]:
    """The outputs before the launch: poisoned, unless the exercise says otherwise."""
    outputs = tuple(o.copy() for o in case.outputs)
    if exercise.out is None:
        for output in outputs:
            poison(output, "global")
    return outputs


def configure(exercise: Exercise, case: Case) -> Any:
    """Ask for the launch configuration of a case."""
    try:
        config = exercise.launch(*case.size)
    except Exception as error:
        if not exercise.checks_launch:
            raise
        raise Failed(
            Verdict(
                exercise.name,
                "exception",
                f"{type(error).__name__}: {error}",
                places=raised_at(error, exercise.written_by_learner),
                when=case.label,
            )
        ) from None
    if not exercise.checks_launch:
        return config
    if config is None and has_stub(exercise.written_by_learner):
        raise Failed(begin(exercise.name))
    if config is None:
        size = ", ".join(map(str, case.size))
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


def judge(exercise: Exercise, case: Case, config: Any, done: Done) -> None:
    """Look at what the kernel left behind. Raises `Failed`."""
    launch, outputs = done.launch, done.outputs
    idle = not any(marks.any() for marks in launch.written.values())
    if idle and has_stub(exercise.written_by_learner):
        raise Failed(begin(exercise.name))
    for (name, marks), got, wanted in zip(
        launch.written.items(), outputs, case.expected, strict=True
    ):
        if got.shape != wanted.shape:
            raise ValueError(
                f"out() gives {name} the shape {got.shape}, the spec {wanted.shape}"
            )
        if exercise.out is None and not marks.all():
            raise Failed(unwritten(exercise, case, config, done, name, marks))
        wrong = difference(got, wanted, exercise.tolerance)
        if wrong:
            raise Failed(wrong_value(exercise, case, config, done, name, wrong, got))
    if exercise.checks_launch:
        wasteful(exercise, case, config, done)


def unwritten(
    exercise: Exercise,
    case: Case,
    config: Any,
    done: Done,
    name: str,
    marks: np.ndarray[Any, Any],
) -> Verdict:
    """Word an output that is not whole, and say where the stores went instead."""
    grid, block, _, _ = configuration(config)
    each = int(np.prod(block))
    missing = np.argwhere(~marks)
    first = ", ".join(str(int(i)) for i in missing[0])
    message = f"{name}[{first}] is never written"
    if len(missing) > 1:
        others = "is 1 other"
        if len(missing) > 2:
            others = f"are {len(missing) - 1:,} others"
        message += f", nor {others} of the {marks.size:,} elements"
    message += "."
    launched = size_of_launch(grid, block)
    if exercise.checks_launch:
        places = returns(exercise.written_by_learner)
        why = launched[0].upper() + launched[1:] + "."
        return Verdict(exercise.name, "launch", message, why, places, when=case.label)
    trace, stores = done.trace, done.trace.stores(name)
    rebound = line_with(exercise.kernel, rf"{name}\s*=[^=]")
    if not stores.size:
        message = f"Nothing is written to {name}."
        why = ""
        if case.size != exercise.first_size:
            first = " × ".join(f"{s:,}" for s in exercise.first_size)
            why = (
                f"With size {first} it is right. Which line should write here, and "
                "does any thread come to it?"
            )
        if rebound:
            why = (
                f"`{name} = ...` gives the name to something else. `{name}[i] = ...` "
                "writes into the array."
            )
        return Verdict(
            exercise.name, "unwritten", message, why, rebound, when=case.label
        )
    thread = trace.block[stores] * each + trace.thread[stores]
    pairs = np.unique(np.stack([trace.address[stores], thread]), axis=1)
    times = np.unique(pairs[0], return_counts=True)[1]
    why = (
        "Which thread should write it? Does its index say so, and does the guard let "
        f"it? {launched[0].upper()}{launched[1:]}."
    )
    if times.max() > 1:
        why = (
            f"Other elements are written by up to {times.max():,} threads each. "
            "Which index do two of these threads compute? "
            f"({launched[0].upper()}{launched[1:]}.)"
        )
    sites = np.unique(trace.site[stores])
    noted = [(trace.places[k], f"stores to {name}") for k in sites]
    return Verdict(exercise.name, "unwritten", message, why, noted, when=case.label)


def size_of_launch(grid: tuple[int, ...], block: tuple[int, ...]) -> str:
    """Say how many threads a launch has, and along which axes."""
    axes = max(n + 1 for n in range(3) if n == 0 or grid[n] > 1 or block[n] > 1)
    if axes == 1:
        count = f"{grid[0]:,} block{'s' * (grid[0] > 1)}"
        each = f"{block[0]:,} thread{'s' * (block[0] > 1)}"
        threads = f"{grid[0] * block[0]:,} thread{'s' * (grid[0] * block[0] > 1)}"
        return f"the launch has {count} of {each}, {threads} in all"
    blocks, each = (" × ".join(f"{n:,}" for n in s[:axes]) for s in (grid, block))
    count = f"{blocks} blocks" if max(grid) > 1 else "1 block"
    along = [f"{grid[n] * block[n]:,} along {'xyz'[n]}" for n in range(axes)]
    return (
        f"the launch has {count} of {each} threads, "
        f"{', '.join(along[:-1])} and {along[-1]}"
    )


def device_functions(kernel: Any) -> dict[str, Any]:
    """The device functions that a kernel calls, by the names it has for them."""
    inner = source_function(kernel)
    if inner is None:
        return {}
    try:
        seen = inspect.getclosurevars(inner)
    except ValueError:  # a name of an outer function that has no value yet
        return {}
    named = {**seen.globals, **seen.nonlocals}
    return {name: f for name, f in named.items() if is_kernel(f)}


def silent(helpers: dict[str, Any], places: list[tuple[Place, str]]) -> str:
    """A word on a device function called on this line that returns nothing."""
    for name, helper in helpers.items():
        called = any(re.search(rf"\b{name}\(", place.text) for place, _ in places)
        if called and not re.search(r"^\s*return\s+\S", source(helper), re.MULTILINE):
            return (
                f"`{name}` gives nothing back. Unlike a kernel, a device function "
                "returns its result."
            )
    return ""


def line_with(function: Any, pattern: str) -> list[tuple[Place, str]]:
    """The place of the first line of `function` that begins like `pattern`."""
    inner = source_function(function)
    for offset, text in enumerate(source(function).splitlines()):
        if inner is not None and re.match(pattern, text.strip()):
            line = inner.__code__.co_firstlineno + offset
            return [(Place(inner.__name__, line, text.strip()), "")]
    return []


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
                f"{blocks:,} blocks of {threads:,} threads are launched where "
                f"{needed:,} would do.",
                "The guard keeps the others from doing harm, but the GPU still has to "
                "start them.",
                returns(exercise.written_by_learner),
                when=case.label,
            )
        )


def wrong_value(
    exercise: Exercise,
    case: Case,
    config: Any,
    done: Done,
    name: str,
    wrong: Difference,
    got: np.ndarray[Any, Any],
) -> Verdict:
    """Word a wrong value, and name the line that stored it."""
    accesses = done.trace
    byte = sum(i * s for i, s in zip(wrong.index, got.strides, strict=True))
    row = accesses.last_store(name, byte)
    verdict = Verdict(
        exercise.name, "wrong-value", wrong.sentence(name), wrong.hint, when=case.label
    )
    if row is not None:
        grid, block, _, _ = configuration(config)
        verdict.places = [(accesses.places[accesses.site[row]], "stored here")]
        verdict.rows = [row]
        verdict.thread = hazards.unravel(int(accesses.thread[row]), block)
        verdict.block = hazards.unravel(int(accesses.block[row]), grid)
        stores = accesses.stores(name, byte)
        number = accesses.block[stores] * 1024 + accesses.thread[stores]
        stored = np.unique(number).size
        if stored > 1:
            verdict.why += f" {stored:,} threads have stored to this element."
            verdict.why = verdict.why.strip()
    elif not done.launch.written[name][wrong.index]:
        verdict.why += " No thread has stored to it: it is what it was at the start."
        verdict.why = verdict.why.strip()
    return verdict


def from_fault(exercise: Exercise, fault: Fault, when: str) -> Verdict:
    return Verdict(
        exercise.name,
        fault.kind,
        sentence(fault.message),
        fault.why,
        [(place, "called here" * place.calls) for place in fault.places],
        fault.thread,
        fault.block,
        when,
    )


def add_calls(
    exercise: Exercise, case: Case, config: Any, verdict: Verdict, backwards: bool
) -> None:
    """Where a line of `verdict` is not the kernel's, say whose, and who called it.

    Where that has not been written down, the case is run once more.
    """
    others = [
        (p, row) for (p, _), row in zip(verdict.places, verdict.rows, strict=False)
    ]
    wanted = frozenset(row for p, row in others if elsewhere(exercise, p))
    found: dict[int, list[Place]] = {}
    if wanted:
        given = (*case.inputs, *fresh(exercise, case))
        readonly = frozenset(range(len(case.inputs)))
        found = calls(
            exercise.kernel,
            config,
            given,
            wanted,
            readonly=readonly,
            backwards=backwards,
        )
    ways: list[list[Place]] = [[] for _ in verdict.places]
    for k, (place, row) in enumerate(others):
        at, *way = found.get(row, [place])
        if (at.function, at.line) == (place.function, place.line):
            ways[k] = way
    places = []
    for k, ((place, note), way) in enumerate(zip(verdict.places, ways, strict=True)):
        places.append((place, note))
        if way not in ways[k + 1 :]:  # one call for both comes after both
            places += [(call, "called here") for call in way]
    verdict.places = [(place, noted(exercise, note, place)) for place, note in places]


def elsewhere(exercise: Exercise, place: Place) -> str:
    """In which other function a line is, '' for one of the kernel's."""
    inner = source_function(exercise.kernel)
    if inner is None or not place.file:
        return ""
    code = inner.__code__
    if place.file != code.co_filename:
        return f"in `{place.function}`, of another cell"
    return "" if place.function == code.co_name else f"in `{place.function}`"


def noted(exercise: Exercise, note: str, place: Place) -> str:
    """A note on a line, and in which other function the line is."""
    return ", ".join(filter(None, (note, elsewhere(exercise, place))))


def sentence(text: str) -> str:
    """Begin with a capital, end with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def begin(name: str) -> Verdict:
    return Verdict(
        name,
        "begin",
        f"The cell above still says `# {STUB}`. Write the body there, run the cell, "
        "then run this one again.",
        f'If you do not know how to begin, `hint("{name}")` gives a nudge.',
    )


def has_stub(function: Any) -> bool:
    """Whether the function still holds the starter's comment."""
    return STUB in source(function)


def source(function: Any) -> str:
    inner = source_function(function)
    try:
        return inspect.getsource(inner) if inner else ""
    except (OSError, TypeError):
        return ""


def returns(function: Any) -> list[tuple[Place, str]]:
    """The place of the first `return` of a plain function."""
    return line_with(function, "return")


def raised_at(error: BaseException, function: Any) -> list[tuple[Place, str]]:
    """Where in `function` an exception came from."""
    inner = source_function(function)
    lines = source(function).splitlines()
    trace = error.__traceback__
    found: list[tuple[Place, str]] = []
    while trace is not None and inner is not None:
        if trace.tb_frame.f_code is inner.__code__:
            offset = trace.tb_lineno - inner.__code__.co_firstlineno
            text = lines[offset].strip() if 0 <= offset < len(lines) else ""
            found = [(Place(inner.__name__, trace.tb_lineno, text), "")]
        trace = trace.tb_next
    return found
