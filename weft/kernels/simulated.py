"""Stage 1: the learner's kernel in the simulator, on small and ragged sizes."""

from dataclasses import replace

from weft.checking.cases import as_tuple
from weft.checking.source import begin, device_functions, global_names, line_with
from weft.checking.verdict import Failed, Verdict, right_before
from weft.kernels import (
    advice,
    barriers,
    hazards,
    history,
    indices,
    lanes,
    parities,
    repairs,
    reruns,
    returned,
)
from weft.kernels.advice import Adviser, Facts
from weft.kernels.exercise import KernelExercise
from weft.kernels.outputs import judge
from weft.kernels.trial import (
    Done,
    Trial,
    configure,
    excessive,
    from_fault,
    keep,
    of_the_launch,
    of_trial,
    silent,
    traced,
    wasteful,
)
from weft.simulator import Fault
from weft.simulator.running.warps import APART
from weft.simulator.trace.trace import Trace
from weft.starters import has_stub
from weft.wording import several

OTHER_ORDER = "If block 0 runs first, it is right, but blocks can run in any order."


def name_block(trial: Trial, facts: Facts, verdict: Verdict) -> Verdict:
    """Add the block size to a verdict, if it differs between the exercise's sizes."""
    exercise = trial.exercise
    if exercise.checks_launch or exercise.constants:
        return verdict
    threads = {exercise.launch(*as_tuple(size))[1] for size in exercise.sizes}
    if len(threads) == 1 or not all(type(each) is int for each in threads):
        return verdict
    return verdict.but(when=f"{verdict.when}, blocks of {trial.block[0]} threads")


ADVISERS: tuple[Adviser, ...] = (  # in the order in which they see a failed trial
    advice.put_own_line_first,
    advice.find_swapped_parameters,
    lanes.find_lanes_apart,
    returned.name_lost_results,
    repairs.find_guilty_line,
    advice.name_callers,
    advice.name_other_calls,
    advice.trace_value,
    returned.show_returns,
    advice.own_lines_first,
    indices.show_guard,
    indices.show_order_of_grid,
    advice.find_missing_writer,
    advice.show_uncalled,
    barriers.name_other_barrier,
    parities.show_resets,
    name_block,
    history.add_steps,
)


def run(exercise: KernelExercise) -> tuple[list[str], Trace]:
    """Run the kernel at each size; return facts, and the trace of the last size.

    Raises `Failed` if a run fails.
    """
    elements, right = 0, ""
    for size in exercise.sizes:
        trial = configure(exercise, exercise.case(size))
        with right_before(right):
            done = run_trial(trial)
        elements += sum(o.size for o in done.outputs)
        right = trial.case.written
    with right_before(right):
        extra = run_unseen(exercise)
    run_apart(exercise)
    fact = (
        f"right in the simulator: {several(len(exercise.sizes), 'size')}"
        f"{' and one not listed' * (extra > 0)}, {elements + extra:,} results, "
        "every index in bounds, no race"
    )
    return [fact, *left_early(done.trace), *done.notes], done.trace


def run_trial(trial: Trial, backwards: bool = False) -> Done:
    """Run one trial and check its results. Raises `Failed` if a check fails."""
    found = judged(trial, backwards)
    if isinstance(found, Verdict):
        raise Failed(found)
    return found


def judged(trial: Trial, backwards: bool = False) -> Done | Verdict:
    """Return the results of a trial, or the verdict on what is wrong with it."""
    done, traces = None, list[Trace]()
    try:
        done = watched(trial, backwards, traces)
        return look_at(trial, done, backwards)
    except Failed as failed:
        trace = done.trace if done else next(iter(traces), None)
        cause = failed.__cause__
        fault = cause if isinstance(cause, Fault) else None
        verdict = failed.verdict
        facts = Facts(backwards, done, failed.clue, trace, fault)
    for adviser in ADVISERS:
        verdict = adviser(trial, facts, verdict)
    if facts.clue is not None and not trial.exercise.checks_launch:
        keep(trial)
    return verdict


def look_at(trial: Trial, done: Done, backwards: bool) -> Done:
    """Return a trial's results; raise `Failed` for the first thing that is wrong.

    The order is: a hazard, wrong outputs, blocks without work, a race that a wrong
    output would have explained better, and a racing read whose value may serve only as
    a guess but is used for more.
    """
    hazard = hazards.find(done.trace)
    if hazard is not None and reruns.harmless(trial, done, hazard, backwards):
        done = replace(done, notes=(reruns.note(done.trace),))
        hazard = hazards.find(done.trace, unset_is_fine=True)
    if hazard is not None and not hazard.secondary:
        raise Failed(of_the_launch(trial, hazard.verdict))
    judge(trial, done)
    if trial.exercise.checks_launch:
        wasteful(trial, done)
    if hazard is not None:
        raise Failed(of_the_launch(trial, hazard.verdict))
    if (misused := reruns.misused(trial, done, backwards)) is not None:
        raise Failed(of_trial(trial, misused))
    return done


def watched(trial: Trial, backwards: bool, traces: list[Trace]) -> Done:
    """Run one trial, and end it at the first certain race.

    traces: receives the trace of a launch that does not complete, as far as it ran.
    Raises `Failed` for such a race, for a launch that is far too large, and for a fault
    that the simulator finds. If a read that was too early led to the fault, the verdict
    is on that read.
    """
    if trial.exercise.checks_launch:
        excessive(trial)

    def look(trace: Trace) -> None:
        found = hazards.certain(trace)
        if found is not None:
            traces.append(trace)
            raise Failed(of_the_launch(trial, found))

    waits = ""

    def failed(trace: Trace, fault: Fault) -> None:
        """Report a read that was too early, if any, rather than its consequence."""
        nonlocal waits
        traces.append(trace)
        waits = advice.awaited(trace, fault)
        found = None
        if fault.kind == "mbarrier":
            found = hazards.too_early(trace)
        elif fault.kind in ("out-of-bounds", "negative-index"):
            found = hazards.misled(trace)
        if found is not None:
            raise Failed(of_trial(trial, found))

    try:
        return traced(trial, look, backwards, failed)
    except Fault as fault:
        verdict = refused(trial, fault)
        message = f"{verdict.message} {waits}".strip()
        raise Failed(verdict.but(message=message)) from fault


def refused(trial: Trial, fault: Fault) -> Verdict:
    """Return the verdict on a fault that ended the simulation."""
    helpers = device_functions(trial.exercise.kernel)
    stub = any(map(has_stub, helpers.values()))
    if stub or waits_for_the_answer(trial.exercise, fault):
        return begin(trial.name)
    verdict = from_fault(trial.name, fault, trial.when)
    if fault.met_none:
        verdict = verdict.but(why=silent(helpers, tuple(verdict.places)))
    return verdict


def waits_for_the_answer(exercise: KernelExercise, fault: Fault) -> bool:
    """Return whether supplied code loops for ever because a starter is unchanged."""
    given = bool(fault.places) and fault.places[0].function != exercise.name
    stub = has_stub(exercise.written_by_learner)
    return fault.kind == "endless-loop" and given and stub


def run_unseen(exercise: KernelExercise) -> int:
    """Run the kernel at a size that the exercise does not list; count its results.

    The last block runs first, because a GPU guarantees no order. If that fails, block 0
    runs first: a failure that also occurs in that order is easier to explain. Returns 0
    if the exercise has no unlisted size, or if its data or launch cannot be made.
    Raises `Failed` if the run fails.
    """
    trial = unseen_trial(exercise)
    if trial is None:
        return 0
    last_first = judged(trial, backwards=True)
    if isinstance(last_first, Done):
        return sum(o.size for o in last_first.outputs)
    in_order = judged(trial)
    if isinstance(in_order, Done):
        raise Failed(in_other_order(last_first))
    raise Failed(in_order)


def unseen_trial(exercise: KernelExercise) -> Trial | None:
    """Return the launch of the unlisted case, or None if there is no such case.

    Also returns None if the exercise's own launch does not accept the size.
    """
    case = exercise.unseen_case(exercise.number)
    if case is None:
        return None
    try:
        return configure(exercise, case)
    except Failed:
        raise
    except Exception:  # the exercise's own launch may not accept the size
        return None


def in_other_order(verdict: Verdict) -> Verdict:
    """Return the verdict on a failure that occurs only if the last block runs first."""
    when = f"{verdict.when}, the last block first"
    return verdict.but(when=when, premise=OTHER_ORDER)


def run_apart(exercise: KernelExercise) -> None:
    """Run the kernel once more, with lanes that diverge, if it calls `activemask`.

    A result that depends on the mask comes out wrong in such a run. Raises `Failed` for
    a wrong result.
    """
    if "activemask" not in global_names(exercise.kernel):
        return
    token = APART.set(True)
    try:
        for size in exercise.sizes:
            run_trial(configure(exercise, exercise.case(size)))
    except Failed as failed:
        raise Failed(of_activemask(exercise, failed.verdict)) from None
    finally:
        APART.reset(token)


def of_activemask(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """Return the verdict on a result that depends on which lanes are active."""
    asked = [
        note
        for function in (exercise.kernel, *device_functions(exercise.kernel).values())
        for note in line_with(function, r".*\bactivemask\(")
    ]
    shown = {place.line for place, _ in asked}
    others = [note for note in verdict.places if note[0].line not in shown]
    return verdict.but(
        kind="warp",
        message="The result depends on which lanes `cuda.activemask()` reports.",
        why="It reports the lanes that are at this line at the same moment, and lanes "
        "on the same path need not be: a GPU may run some of them later. Here every "
        f"second lane came later, and this happened: {verdict.message} Name the lanes "
        "that have to take part instead, with `0xFFFFFFFF` or with a vote of all lanes "
        "before the branch.",
        places=[*asked, *others],
        premise="",
        headline="",
        topic="",
    )


def left_early(trace: Trace) -> list[str]:
    """Return notes on barriers and warp operations missed by threads that had ended.

    GPUs have allowed this since compute capability 7.0: CUDA C++ Programming Guide,
    "Synchronization Functions", "Warp Vote Functions" and "Compute Capability 7.x".
    """
    barriers = [place for _, place, _ in trace.partial]
    missed = [
        ("thread of a block", "barrier", barriers),
        ("lane of a mask", "operation", trace.excused),
    ]
    return [
        f"note: not every {who} reaches the {what} on "
        f"{hazards.lines_of(places, trace.name)}. This works only because the others "
        f"have ended; it is safer where every {who.split()[0]} reaches it"
        for who, what, places in missed
        if places
    ]
