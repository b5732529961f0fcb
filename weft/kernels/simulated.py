"""Stage 1: the learner's kernel in the simulator, on small and ragged sizes."""

from typing import Any

from weft.checking import unseen_case
from weft.checking.exercise import Case, Exercise
from weft.checking.source import device_functions
from weft.checking.starter import begin, has_stub
from weft.checking.verdict import Failed, Verdict
from weft.kernels import hazards
from weft.kernels.arguments import reordered
from weft.kernels.call_chain import add_calls
from weft.kernels.faults import from_fault, silent
from weft.kernels.guards import misread
from weft.kernels.launch_exercises import configure, excessive, of_the_launch, wasteful
from weft.kernels.outputs import judge
from weft.kernels.traced import Done, traced
from weft.simulator import Fault
from weft.simulator.limits import configuration
from weft.simulator.trace.trace import Trace


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
) -> Done:
    """Run one case and look at all it did. Raises `Failed`."""
    try:
        return look_at(exercise, case, config, backwards)
    except Failed as failed:
        verdict = reordered(exercise, case, config, failed.verdict)
        if verdict is not None:
            raise Failed(verdict) from None
        add_calls(exercise, case, config, failed.verdict, backwards)
        add_guard(exercise, failed.verdict)
        raise


def add_guard(exercise: Exercise, verdict: Verdict) -> None:
    """Show a guard that Python reads in another way than it looks, and say how."""
    if verdict.kind not in ("out-of-bounds", "negative-index", "unwritten"):
        return
    places, word = misread(exercise.kernel, verdict.places)
    if word and word not in verdict.why:
        shown = {place.line for place, _ in verdict.places}
        verdict.places += [each for each in places if each[0].line not in shown]
        verdict.why = word


def look_at(exercise: Exercise, case: Case, config: Any, backwards: bool) -> Done:
    if exercise.checks_launch:
        excessive(exercise, case, config)

    def look(trace: Trace) -> None:
        found = hazards.certain(exercise.name, trace, config, case.label)
        if found is not None:
            raise Failed(of_the_launch(exercise, config, found))

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
        raise Failed(of_the_launch(exercise, config, hazard.verdict))
    judge(exercise, case, config, done)
    if exercise.checks_launch:
        wasteful(exercise, case, config, done)
    if hazard is not None:
        raise Failed(of_the_launch(exercise, config, hazard.verdict))
    return done


def run_unseen(exercise: Exercise) -> int:
    """Run a size that the exercise does not list; give how many results it has.

    The last block is run first: a GPU promises no order. 0 where the exercise wants
    none, or its data or launch cannot be had in this size.
    """
    seed = unseen_case.seed(exercise.written_by_learner)
    size = exercise.lesson_size or unseen_case.size(exercise.sizes, seed)
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
