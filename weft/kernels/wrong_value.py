"""Wording a wrong value: the line that stored it, and what leads to the mistake."""

from typing import Any

import numpy as np

from weft.checking.cases import copies
from weft.checking.compare import Difference
from weft.checking.verdict import Verdict
from weft.kernels import evidence, last_launch, suspects
from weft.kernels.exercise import Trial
from weft.kernels.left_out import not_stored
from weft.kernels.traced import Done
from weft.places import unravel
from weft.simulator.trace.trace import GLOBAL, WRITE

Array = np.ndarray[Any, Any]


def wrong_value(
    trial: Trial, done: Done, name: str, wrong: Difference, got: Array, wanted: Array
) -> Verdict:
    """Word a wrong value: where it was stored, and whatever is known of its cause."""
    message, hint = wrong.sentence(name), wrong.hint
    describe = trial.exercise.describe.get(name)
    if describe is not None:
        message, hint = describe(*wrong.index, wrong.got, wrong.wanted), ""
    verdict = Verdict(trial.name, "wrong-value", message, hint, when=trial.when)
    if not done.launch.written[name][wrong.index]:
        return not_stored(trial, done.trace, name, wrong, verdict)
    byte = byte_of(wrong, got)
    row = done.trace.last_store(name, byte)
    if row is not None:
        verdict = stored_at(trial, done, verdict, row)
    if (old := old_nan(trial, done, name, wrong, got)) is not None:
        return with_old_nan(done, verdict, wrong.where(name), old)
    result = evidence.Result(trial, done.trace, name, got, wanted)
    known = describe is None and result.wrong.size  # not where only rounding tells
    clue = evidence.clue(result, wrong) if known else evidence.Clue()
    verdict = verdict.adding(clue.text).but(only=clue.text * clue.only)
    if trial.exercise.because is not None:
        reason = trial.exercise.because(*copies(trial.case.inputs), *done.outputs)
        verdict = verdict.adding(reason)
    stores = done.trace.stores(name, byte)
    stored = np.unique(done.trace.block[stores] * 1024 + done.trace.thread[stores]).size
    if stored > 1:
        more = f"{stored:,} threads have stored to {wrong.where(name)}."
        verdict = verdict.adding(more)
    if trial.exercise.checks_launch:
        return verdict
    last_launch.keep(trial)
    pointed = suspects.pointed_out(trial, done, verdict)
    if pointed is verdict and (not verdict.why or clue.is_ratio):
        return verdict.adding(suspects.exploring(trial))
    return pointed


def byte_of(wrong: Difference, got: Array) -> int:
    return sum(i * s for i, s in zip(wrong.index, got.strides, strict=True))


def stored_at(trial: Trial, done: Done, verdict: Verdict, row: int) -> Verdict:
    """The verdict with the line and the thread of the store at `row`."""
    trace = done.trace
    return verdict.but(
        places=[(trace.places[trace.site[row]], "stored here")],
        rows=[row],
        thread=unravel(int(trace.thread[row]), trial.block),
        block=unravel(int(trace.block[row]), trial.grid),
    )


def old_nan(
    trial: Trial, done: Done, name: str, wrong: Difference, got: Array
) -> int | None:
    """The row that read a wrong NaN's element while it held its first value, a NaN."""
    number = list(done.launch.written).index(name)
    first = trial.case.outputs[number]
    if trial.exercise.out is None or first.dtype.kind != "f":
        return None
    if not (np.isnan(first[wrong.index]) and np.isnan(got[wrong.index])):
        return None
    trace = done.trace
    at = trace.bases[name] + byte_of(wrong, got)
    hit = (trace.address <= at) & (at < trace.address + trace.size)
    rows = np.flatnonzero(hit & (trace.space == GLOBAL))
    if not rows.size or trace.operation[rows[0]] == WRITE:
        return None
    return int(rows[0])


def with_old_nan(done: Done, verdict: Verdict, at: str, row: int) -> Verdict:
    """The verdict on a NaN that was in the output before the launch, and was used."""
    place = done.trace.places[done.trace.site[row]]
    stored, *more = verdict.places or [(place, "")]
    same = (place.function, place.line) == (stored[0].function, stored[0].line)
    note = f"{at} is read: it is NaN"
    if same:
        places = [(stored[0], "reads the old value, NaN, and stores"), *more]
    else:
        places = [stored, *more, (place, note)]
    rows = [*verdict.rows, *([] if same else [row])]
    why = (
        f"{at} was NaN before the launch, and the kernel has used this value. NaN "
        "times 0 is NaN, and so is any sum with it. When may the old value not be used?"
    )
    return verdict.but(why=why, places=places, rows=rows)
