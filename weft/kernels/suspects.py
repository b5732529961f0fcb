"""Where to look in a kernel whose results are wrong: lines whose requests stand out.

A wrong index seldom gives only wrong values: lanes that should read neighbours read a
column, or all meet in one bank. The limits of the exercise say what its lines may take.
"""

from weft.checking.verdict import Verdict
from weft.counters import Line, count
from weft.kernels.call_chain import elsewhere
from weft.kernels.exercise import KernelExercise, Trial
from weft.kernels.launch_exercises import configure
from weft.kernels.one_request import touched, worst
from weft.kernels.request_limits import conflicting, scattered
from weft.kernels.traced import Done, traced
from weft.places import Note
from weft.simulator.trace.trace import Trace
from weft.starters import source_function
from weft.wording import joined, several

LINES = 3  # that a verdict shows
ELSEWHERE = 3  # times what would do, in a size without limits
ORDINALS = {1: "second", 2: "third"}


def pointed_out(trial: Trial, done: Done, verdict: Verdict) -> Verdict:
    """The verdict with the lines that stand out, if any does."""
    if not {"sectors", "bank_conflicts"} & trial.exercise.limits.keys():
        return verdict
    trace, size, times = counting_trace(trial, done)
    lines = [n for n in over(trial.exercise, trace) if taken(n) > times * n.ideal]
    if not lines:
        return verdict
    places: list[Note] = list(verdict.places)
    for line in lines:
        places = noted(places, line)
    why = f"{verdict.why} {sentence(trial, trace, lines, size)}".strip()
    return verdict.but(places=places, why=why)


def counting_trace(trial: Trial, done: Done) -> tuple[Trace, tuple[int, ...], int]:
    """A launch of the size on which the exercise counts, that size, and 1.

    Where the kernel cannot run in that size it is the launch that was wrong, its size,
    and how many times what would do a line must take to stand out there: in a size that
    the limits are not made for, right lines may take somewhat more.
    """
    exercise = trial.exercise
    case = exercise.case(exercise.limits.get("size", exercise.sizes[-1]))
    if case.size == trial.case.size:
        return done.trace, case.size, 1
    try:
        return traced(configure(exercise, case)).trace, case.size, 1
    except Exception:  # what is wrong shows in another way there
        return done.trace, trial.case.size, ELSEWHERE


def over(exercise: KernelExercise, trace: Trace) -> list[Line]:
    """The learner's lines that take more than the exercise allows, worst first."""
    lines = count(trace)
    found: list[Line] = []
    if "sectors" in exercise.limits:
        found += scattered(exercise, trace, lines)
    if "bank_conflicts" in exercise.limits:
        found += conflicting(exercise, lines)
    mine = [n for n in found if not n.atomic and not elsewhere(exercise, n.place)]
    mine.sort(key=lambda n: n.ideal / taken(n))
    alike = {(n.place.line, n.array, n.store): n for n in mine[::-1]}
    return [n for n in mine if n in alike.values()][:LINES]


def taken(line: Line) -> int:
    """The sectors or passes that the requests of a line take in all."""
    return line.ideal + line.conflicts if line.shared else line.sectors


def noted(places: list[Note], line: Line) -> list[Note]:
    """Add a line and what it takes to the places of a verdict, or to one of them."""
    unit = "pass" if line.shared else "sector"
    each, best = taken(line) / line.requests, line.ideal / line.requests
    many = several(each, unit)
    verb = "written" if line.store else "read"
    note = f"{line.array} is {verb}: {many} per request; {best:.3g} would do"
    for k, (place, old) in enumerate(places):
        if (place.function, place.line) == (line.place.function, line.place.line):
            more = [*places[:k], (place, f"{old}; {note}"), *places[k + 1 :]]
            return more
    return [*places, (line.place, note)]


def sentence(
    trial: Trial, trace: Trace, lines: list[Line], size: tuple[int, ...]
) -> str:
    """Say that lines stand out, and what the first lanes touch on the worst of them."""
    numbers = sorted({n.place.line for n in lines})
    many = len(numbers) > 1
    where = f"Line{'s' * many} {joined(numbers)} stand{'s' * (not many)} out"
    worst_line = lines[0]
    request = worst(trace, worst_line)
    what = touched(trace, request, worst_line.store, worst_line.shared)
    if not what:
        return f"{where}: is the index what you mean?"
    if many:
        what += f" on line {worst_line.place.line}"
    if request.time:
        what += "," * what.endswith(tuple("0123456789"))
        what += f" the {ORDINALS.get(request.time, f'{request.time + 1}th')} time"
    if size != trial.case.size:
        what += f" (size {' × '.join(f'{s:,}' for s in size)})"
    return f"{where}: {what}. Are these the elements that you mean?"


def exploring(trial: Trial) -> str:
    """Say how to look at what each line of the kernel reads and writes."""
    function = source_function(trial.exercise.kernel)
    scope = function.__globals__ if function else {}
    call = "explore" if "explore" in scope else "weft.explore"
    return (
        f"`{call}({trial.exercise.kernel.__name__})` shows which elements each line "
        "reads and writes in this launch."
    )
