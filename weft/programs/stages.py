"""Stage 1: run the program on the CPU, at small and ragged sizes."""

import numpy as np

from weft.checking.source import line_with, parameter_names, returns, seed
from weft.checking.verdict import Failed, Verdict, right_before
from weft.kernels.exercise import KernelCase
from weft.places import Place
from weft.programs import hazards, outputs
from weft.programs.exercise import ProgramExercise
from weft.programs.launching import Done, Launch, launches
from weft.sanitizer import unwritten
from weft.simulator.trace.trace import READ, WRITE
from weft.wording import several

MOST_CONFIGS = 8  # configurations of an autotuned program that are tried
OTHER_ORDER = "Where program 0 comes first, it is right."


def interpret(exercise: ProgramExercise) -> tuple[list[str], Done]:
    """Run the program at every size; return facts, and the last listed size's results.

    Raises `Failed` for the first mistake.
    """
    elements, right = 0, ""
    for size in exercise.sizes:
        with right_before(right):
            done = run_case(exercise, exercise.case(size))
        elements += sum(o.size for o in done.outputs)
        right = done.launch.case.written
        right += " in this configuration" * bool(done.launch.tuned)
    for k, launch in enumerate(launches(exercise, done.launch.case, every=True)):
        if 0 < k < MOST_CONFIGS:
            look_at(launch, False)
    unseen = exercise.unseen_case(seed(exercise.source))
    with right_before(right):
        extra = 0 if unseen is None else run_unseen(exercise, unseen)
    exercise.look_again(done)
    fact = (
        f"right {exercise.where}: {several(len(exercise.sizes), 'size')}"
        f"{' and one not listed' * (extra > 0)}, {elements + extra:,} results, "
        "every address in bounds, no race"
    )
    tried = min(len(exercise.program.configs), MOST_CONFIGS)
    return [fact, *[f"right in {tried} configurations"] * (tried > 1)], done


def run_case(exercise: ProgramExercise, case: KernelCase) -> Done:
    """Run one case with the first configuration. Raises `Failed` for a mistake."""
    found = judged(exercise, case)
    if isinstance(found, Verdict):
        raise Failed(found)
    return found


def judged(
    exercise: ProgramExercise, case: KernelCase, backwards: bool = False
) -> Done | Verdict:
    """Return the results of one case, or the verdict on the first mistake."""
    launch = next(launches(exercise, case))
    try:
        return look_at(launch, backwards)
    except Failed as failed:
        verdict = reordered(launch, failed.verdict)
    if verdict.kind == "wrong-value":  # what does not compile has no value
        found = exercise.refusal(launch)
        verdict = verdict if found is None else found
    return verdict


def run_unseen(exercise: ProgramExercise, case: KernelCase) -> int:
    """Run a case that the exercise does not list, with the last program first.

    If that run fails, the case is run again with program 0 first: a failure that also
    occurs in this order is easier to explain. Returns the number of the case's results,
    or 0 if the exercise's own launch cannot be made at this size.
    """
    try:
        next(launches(exercise, case))
    except Failed:
        raise
    except Exception:
        return 0
    last_first = judged(exercise, case, backwards=True)
    if isinstance(last_first, Done):
        return sum(o.size for o in last_first.outputs)
    in_order = judged(exercise, case)
    if isinstance(in_order, Verdict):
        raise Failed(in_order)
    when = f"{last_first.when}, the last program first"
    raise Failed(last_first.but(when=when, premise=OTHER_ORDER))


def look_at(launch: Launch, backwards: bool) -> Done:
    """Run one launch; raise `Failed` for the first mistake found.

    Two programs that store to the same element usually have wrong offsets. Then a
    missing or wrong element is closer to the mistake, and is reported before the race.
    """
    done: Done = launch.exercise.run(launch, backwards)
    trace = done.trace
    race, early = hazards.race(trace), unwritten(trace)
    first = race is not None and not (race.stores or race.lost_update)
    if race is not None and first:
        raise Failed(hazards.racing(launch, trace, race))
    if early is not None:
        raise Failed(hazards.early(launch, trace, early.access.row))
    outputs.judge(done, backwards)
    if race is not None:
        raise Failed(hazards.racing(launch, trace, race))
    if launch.exercise.checks_launch:
        idle(done)
    return done


def idle(done: Done) -> None:
    """Raise `Failed` if some programs of a learner's grid store nothing."""
    launch, trace = done.launch, done.trace
    busy = np.unique(trace.block[trace.operation != READ]).size
    if busy == launch.programs:
        return
    told = {"programs": launch.programs, "busy": busy}
    raise Failed(launch.verdict("idle", returns(launch.exercise.source), **told))


def reordered(launch: Launch, verdict: Verdict) -> Verdict:
    """Return `verdict`, or one on parameters that are not in the arguments' order."""
    exercise = launch.exercise
    given = passed(launch)
    own = [p.removesuffix("_ptr") for p in exercise.program.parameters]
    if (
        exercise.checks_launch
        or verdict.kind in ("begin", "program", "interpreter", "endless-loop")
        or not set(given) <= set(own)
        or [p for p in own if p in given] == given
    ):
        return verdict
    return exercise.words.verdict(
        exercise.name,
        "arguments",
        line_with(exercise.program.function, r"def\b"),
        given=", ".join(given),
        parameters=", ".join(exercise.program.parameters),
        when=verdict.when,
    )


def passed(launch: Launch) -> list[str]:
    """Return the exercise's names for the arrays passed, in the order of the call."""
    exercise, case = launch.exercise, launch.case
    names = parameter_names(exercise.arguments or exercise.spec)
    values = zip(names, (*case.inputs, *case.outputs), strict=False)
    arrays = [name for name, value in values if isinstance(value, np.ndarray)]
    starts = {r.start: n for r, n in zip(launch.arena.regions, arrays, strict=False)}
    found = [
        starts.get(getattr(getattr(value, "base", value), "data_ptr", int)())
        for value in launch.arguments.values()
    ]
    return [name for name in found if name is not None]


def cost(exercise: ProgramExercise, done: Done) -> list[str]:
    """Return facts on the bytes a run moves. Raises `Failed` if they exceed a limit."""
    facts = []
    for key, operation, arrays in (("loaded", READ, True), ("stored", WRITE, False)):
        moved = bytes_by_line(done, operation)
        regions = [r for r in done.launch.arena.regions if r.readonly == arrays]
        least = sum(region.data.nbytes for region in regions)
        total = sum(moved.values())
        if not total or not least:
            continue
        what = "inputs" if arrays else "outputs"
        if total > exercise.limits.get(key, total / least) * least * (1 + 1e-9):
            raise Failed(
                done.launch.verdict(
                    "reloads",
                    [(place, f"{n:,} bytes {key}") for place, n in moved.items()],
                    total=total,
                    done=key,
                    arrays=what,
                    least=least,
                    times=total / least,
                    most=exercise.limits[key],
                )
            )
        facts.append(f"{key} {total / least:.3g} × the bytes of the {what}")
    return facts


def bytes_by_line(done: Done, operation: int) -> dict[Place, int]:
    """Count the bytes that each line loads or stores, except masked-out ones."""
    trace = done.trace
    found: dict[Place, int] = {}
    owners = done.launch.arena.firsts.searchsorted(trace.address, "right") - 1
    sizes = done.launch.arena.sizes[owners]
    for number in sorted(set(trace.call[trace.operation == operation].tolist())):
        place = trace.calls[number].place
        part = int(sizes[trace.call == number].sum())
        found[place] = found.get(place, 0) + part
    return found
