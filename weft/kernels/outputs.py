"""Check the outputs of a launch: every element is written, and has the right value."""

import math
from collections.abc import Sequence

import numpy as np

from weft.checking.compare import Array, agrees, difference
from weft.checking.differences import Difference
from weft.checking.source import begin, line_with, returns
from weft.checking.verdict import Failed, Verdict
from weft.kernels.advice import around, ends_before, lines, never_reached
from weft.kernels.evidence import Result, wrong_value
from weft.kernels.reruns import mistaken
from weft.kernels.trial import Done, Trial
from weft.places import Note
from weft.python_errors import comparison
from weft.simulator.trace.trace import ATOMIC, Trace
from weft.starters import has_stub
from weft.wording import capital, joined

Output = tuple[str, Array, Array]  # its name, its values, and what they should be


def judge(trial: Trial, done: Done) -> None:
    """Check the outputs of a launch. Raises `Failed` if one is wrong or not written."""
    exercise, written = trial.exercise, done.launch.written
    idle = not any(marks.any() for marks in written.values())
    if idle and has_stub(exercise.written_by_learner):
        raise Failed(begin(trial.name))
    outputs = list(zip(written, done.outputs, trial.case.expected, strict=True))
    described_first = sorted(outputs, key=lambda o: o[0] not in exercise.describe)
    for name, got, wanted in described_first:
        if got.shape != wanted.shape:
            raise ValueError(
                f"out() gives {name} the shape {got.shape}, the spec {wanted.shape}"
            )
        if exercise.out is None and not written[name].all():
            raise Failed(unwritten(trial, done.trace, name, written[name]))
        if wrong := difference(got, wanted, exercise.tolerance):
            failed = refused(Result(trial, done, name, got, wanted, wrong))
            raise Failed(compared(failed.verdict, name, outputs, trial), failed.clue)
    if small := mistaken(trial, done.outputs):
        number, wrong = small
        raise refused(Result(trial, done, *outputs[number], wrong))


def compared(
    verdict: Verdict, wrong: str, outputs: Sequence[Output], trial: Trial
) -> Verdict:
    """Add to the verdict a sentence that says which other outputs are right."""
    others = [output for output in outputs if output[0] != wrong]
    tolerance = trial.exercise.tolerance
    right = [f"`{n}`" for n, got, aim in others if agrees(got, aim, tolerance)]
    if not right:
        return verdict
    return verdict.adding(
        f"{joined(right)} {'is' if len(right) == 1 else 'are'} right."
    )


def refused(result: Result) -> Failed:
    """Return the error that ends a check because of a wrong element."""
    trial, name, wrong = result.trial, result.name, result.first
    message, hint = wrong.sentence(name), wrong.hint
    if (describe := trial.exercise.describe.get(name)) is not None:
        message, hint = describe(*wrong.index, wrong.got, wrong.wanted), ""
    verdict = trial.verdict("wrong-value", message, hint)
    if not result.done.launch.written[name][wrong.index]:
        return Failed(not_stored(trial, result.done.trace, name, wrong, verdict))
    return wrong_value(result, verdict)


# Elements to which no thread has stored, and where the stores went


def unwritten(trial: Trial, trace: Trace, name: str, marks: Array) -> Verdict:
    """Return the verdict on unwritten elements; it hints at where the stores went."""
    message = left_out(name, marks)
    if trial.exercise.checks_launch:
        return trial.verdict(
            "launch",
            message,
            f"{capital(trial.launched)}.",
            returns(trial.exercise.written_by_learner),
        )
    stores = trace.stores(name)
    if not stores.size:
        return nothing_written(trial, name)
    why, notes, rows = where_stores_went(trial, trace, name, stores)
    return trial.verdict("unwritten", message, why, notes, rows=rows)


def left_out(name: str, marks: Array) -> str:
    """Name the first element that was never written, and count the others."""
    missing = np.argwhere(~marks)
    first = ", ".join(str(int(i)) for i in missing[0])
    message = f"{name}[{first}] is never written"
    if len(missing) == marks.size > 1:
        message += ", nor is any other element"
    elif more := len(missing) - 1:
        verb = "is" if more == 1 else "are"
        message += f", nor {verb} {more:,} of the other {marks.size - 1:,} elements"
    return f"{message}."


def nothing_written(trial: Trial, name: str) -> Verdict:
    """Return the verdict on an output that nothing stores to, with a likely cause."""
    kernel = trial.exercise.kernel
    notes: Sequence[Note] = line_with(kernel, rf"{name}\s*=[^=]")
    if notes:
        why = (
            f"`{name} = ...` makes the name refer to something else. `{name}[i] = ...` "
            f"writes to the array."
        )
    elif compared := line_with(kernel, rf"{name}\[.*\]\s*=="):
        notes, why = compared, comparison(compared[0][0].text)
    else:
        notes, why = never_reached(trial.exercise.function(), name)
    if not why and trial.case.size != trial.exercise.first_size:
        first = " × ".join(f"{s:,}" for s in trial.exercise.first_size)
        why = (
            f"For size {first} it is right. Which line should write here, and does any "
            f"thread reach it?"
        )
    if not why and notes:
        why = (
            "Does any thread reach that line? What has to be true for a thread to get "
            "there?"
        )
    message = f"Nothing is written to {name}."
    return trial.verdict("unwritten", message, why, notes)


def where_stores_went(
    trial: Trial, trace: Trace, name: str, stores: Array
) -> tuple[str, list[Note], list[int]]:
    """Return a question about the stores to `name`, with their lines and rows.

    Includes only one line of each function other than the kernel.
    """
    function = trial.exercise.function()
    launched = capital(trial.launched)
    thread = trace.block[stores] * int(np.prod(trial.block)) + trace.thread[stores]
    pairs = np.unique(np.stack([trace.address[stores], thread]), axis=1)
    times = np.unique(pairs[0], return_counts=True)[1]
    sites, firsts = np.unique(trace.site[stores], return_index=True)
    shown = {trial.exercise.elsewhere(trace.places[k]) or k: k for k in sites[::-1]}
    first = dict(zip(sites.tolist(), stores[firsts].tolist(), strict=True))
    rows = [first[int(k)] for k in sorted(shown.values())]
    notes = [(trace.places[trace.site[row]], f"stores to {name}") for row in rows]
    last = max((p.line for p, _ in notes if p.function == trial.name), default=0)
    ends = ends_before(function, last)
    tests = tests_around(trial, thread, notes)
    if ends and times.max() == 1:
        notes += lines(function, ends)
    if ends and trace.partial:
        return (
            "Some threads end before the barrier. Do any of them still have something "
            "to write? Put only the work that they must skip inside an `if`, and let "
            "every thread reach the stores.",
            notes,
            rows,
        )
    atomic = (trace.operation[stores] == ATOMIC).any()
    if times.max() > 1 and not atomic:
        return (
            f"Other elements are written by up to {times.max():,} threads each"
            f"{two_writers(trace, stores, pairs)}. Why do several threads compute the "
            f"same index? ({launched}.)",
            notes,
            rows,
        )
    return (
        f"Which thread should write it? Does its index lead there, and does the guard "
        f"let it through? {launched}.",
        [*notes, *tests],
        rows,
    )


def tests_around(trial: Trial, threads: Array, notes: list[Note]) -> list[Note]:
    """Return notes on the conditions around the only line that stores to an output.

    The innermost says how many threads it lets through. threads: those that store.
    """
    function = trial.exercise.function()
    if len(notes) != 1 or notes[0][0].function != trial.name:
        return []
    line = notes[0][0].line
    inside = [
        test.lineno
        for test in around(function, line)
        if test.lineno < line <= (test.end_lineno or 0)
    ]
    if not inside:
        return []
    total = math.prod((*trial.grid, *trial.block))
    passed = f"{len(np.unique(threads)):,} of {total:,} threads pass"
    outer = dict.fromkeys(inside, "comes before it")
    return lines(function, outer | {max(inside): passed})


def two_writers(trace: Trace, stores: Array, pairs: Array) -> str:
    """Name two threads that store to one element, as in ': `out[0]` by thread 0 …'.

    pairs: the addresses of the stores with their threads, each pair once.
    """
    addresses, counts = np.unique(pairs[0], return_counts=True)
    here = stores[trace.address[stores] == addresses[counts.argmax()]]
    first = int(here[0])
    element = trace.element(first)
    others = (trace.block[here], trace.thread[here])
    same = (others[0] == trace.block[first]) & (others[1] == trace.thread[first])
    if not element or same.all():
        return ""
    names = [trace.thread_at(r, with_block=True) for r in (first, int(here[~same][0]))]
    return f": `{element}`, for example, by {names[0]} and by {names[1]}"


def not_stored(
    trial: Trial, trace: Trace, name: str, wrong: Difference, verdict: Verdict
) -> Verdict:
    """Return the verdict on a wrong value that no thread stored: the initial one."""
    at, stores = wrong.where(name), trace.stores(name)
    rows: list[int] = []
    if stores.size:
        why, notes, rows = where_stores_went(trial, trace, name, stores)
    else:
        nothing = nothing_written(trial, name)
        notes = list(nothing.places)
        why = f"{nothing.why} {capital(trial.launched)}.".strip()
    more = f"No thread has stored to {at}: it still has its initial value."
    return verdict.adding(more).adding(why).but(places=notes, rows=rows)
