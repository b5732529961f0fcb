"""Stage 1: the learner's kernel in the simulator, on small and ragged sizes."""

from dataclasses import replace

from weft.checking.source import begin, device_functions, has_stub, seed
from weft.checking.verdict import Failed, Verdict
from weft.kernels import guesses, hazards, unset
from weft.kernels.arguments import reordered
from weft.kernels.call_chain import with_calls
from weft.kernels.endless import awaited, own_line_first
from weft.kernels.exercise import KernelExercise, Trial
from weft.kernels.guards import misread
from weft.kernels.launch_exercises import (
    configure,
    excessive,
    of_the_launch,
    wasteful,
)
from weft.kernels.outputs import judge
from weft.kernels.traced import Done, from_fault, silent, traced
from weft.simulator import Fault
from weft.simulator.trace.trace import Trace
from weft.wording import several

OTHER_ORDER = "If block 0 runs first, it is right, but blocks can run in any order. "


def run(exercise: KernelExercise) -> tuple[list[str], Trace]:
    """Run every size. Gives facts, and the last trace; raises `Failed`."""
    elements = 0
    for size in exercise.sizes:
        done = run_trial(configure(exercise, exercise.case(size)))
        elements += sum(o.size for o in done.outputs)
    extra = run_unseen(exercise)
    fact = (
        f"right in the simulator: {several(len(exercise.sizes), 'size')}"
        f"{' and one not listed' * (extra > 0)}, {elements + extra:,} results, "
        "every index in bounds, no race"
    )
    return [fact, *left_early(done.trace), *done.notes], done.trace


def run_trial(trial: Trial, backwards: bool = False) -> Done:
    """Run one trial and look at all it did. Raises `Failed`."""
    try:
        return look_at(trial, backwards)
    except Failed as failed:
        verdict = reordered(trial, failed.verdict)
        if verdict is None:
            called = with_calls(trial, failed.verdict, backwards)
            verdict = with_guard(trial.exercise, called)
        raise Failed(verdict) from None


def with_guard(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """Show a guard that Python reads in another way than it looks, and say how."""
    if verdict.kind not in ("out-of-bounds", "negative-index", "unwritten"):
        return verdict
    places, word = misread(exercise.kernel, list(verdict.places))
    if not word or word in verdict.why:
        return verdict
    shown = {place.line for place, _ in verdict.places}
    more = [each for each in places if each[0].line not in shown]
    return verdict.but(places=[*verdict.places, *more], why=word)


def look_at(trial: Trial, backwards: bool) -> Done:
    """Run one trial; raise `Failed` for the first thing that is wrong.

    In this order: a launch far too large, a fault of the simulator or the early read
    that led to it, a race, wrong outputs, blocks without work, a race that a wrong
    output would have explained better, a guess that is used for more.
    """
    if trial.exercise.checks_launch:
        excessive(trial)
    done = watched(trial, backwards)
    hazard = hazards.find(done.trace, trial.name, trial.when)
    if hazard is not None and unset.harmless(trial, done, hazard, backwards):
        done = replace(done, notes=(unset.note(done.trace),))
        hazard = hazards.find(done.trace, trial.name, trial.when, unset_is_fine=True)
    if hazard is not None and not hazard.secondary:
        raise Failed(of_the_launch(trial, hazard.verdict))
    judge(trial, done)
    if trial.exercise.checks_launch:
        wasteful(trial, done)
    if hazard is not None:
        raise Failed(of_the_launch(trial, hazard.verdict))
    if (misused := guesses.misused(trial, done, backwards)) is not None:
        raise Failed(misused)
    return done


def watched(trial: Trial, backwards: bool) -> Done:
    """Run one trial, and end it at the first certain race. Raises `Failed`."""

    def look(trace: Trace) -> None:
        found = hazards.certain(trace, trial.name, trial.when)
        if found is not None:
            raise Failed(of_the_launch(trial, found))

    waits = ""

    def failed(trace: Trace, fault: Fault) -> None:
        """Name the read that was too early before the index that came of it."""
        nonlocal waits
        waits = awaited(trace, fault)
        if fault.kind not in ("out-of-bounds", "negative-index"):
            return
        found = hazards.misled(trace, trial.name, trial.when)
        if found is not None:
            raise Failed(found)

    try:
        return traced(trial, look, backwards, failed)
    except Fault as fault:
        verdict = refused(trial, fault)
        message = f"{verdict.message} {waits}".strip()
        raise Failed(own_line_first(trial, verdict.but(message=message))) from None


def refused(trial: Trial, fault: Fault) -> Verdict:
    """The verdict on what the simulator refused."""
    helpers = device_functions(trial.exercise.kernel)
    if any(has_stub(helper) for helper in helpers.values()):
        return begin(trial.name)
    verdict = from_fault(trial.name, fault, trial.when)
    if fault.kind == "exception" and "NoneType" in fault.message:
        verdict = verdict.but(why=silent(helpers, tuple(verdict.places)))
    return verdict


def run_unseen(exercise: KernelExercise) -> int:
    """Run a size that the exercise does not list; give how many results it has.

    The last block is run first: a GPU promises no order. 0 where the exercise wants
    none, or its data or launch cannot be made in this size.
    """
    trial = unseen_trial(exercise)
    if trial is None:
        return 0
    try:
        done = run_trial(trial, backwards=True)
    except Failed as failed:
        run_trial(trial)  # where block 0 comes first, the cause may be nearer to hand
        raise Failed(in_other_order(failed.verdict)) from None
    return sum(o.size for o in done.outputs)


def unseen_trial(exercise: KernelExercise) -> Trial | None:
    """The launch of the case that the exercise does not list; None without one."""
    case = exercise.unseen_case(seed(exercise.written_by_learner))
    if case is None:
        return None
    try:
        return configure(exercise, case)
    except Failed:
        raise
    except Exception:  # the exercise's own launch, which may want other sizes
        return None


def in_other_order(verdict: Verdict) -> Verdict:
    """The verdict on what is wrong only where the last block is run first."""
    return verdict.but(
        when=f"{verdict.when}, the last block first",
        why=(OTHER_ORDER + verdict.why.removeprefix(hazards.ORDER)).strip(),
    )


def left_early(trace: Trace) -> list[str]:
    """A note on barriers that some threads never came to, because they had ended.

    GPUs have allowed it since compute capability 7.0: CUDA C++ Programming Guide,
    "Synchronization Functions" and "Compute Capability 7.x".
    """
    if not trace.partial:
        return []
    which = hazards.lines_of([place for _, place, _ in trace.partial], trace.name)
    return [
        f"note: not every thread of a block reaches the barrier on {which}. This works "
        f"only because the others have ended; it is safer where every thread reaches it"
    ]
