"""Elements of an output to which no thread has stored, and where the stores went."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.checking.compare import Difference
from weft.checking.source import line_with, returns
from weft.checking.verdict import Verdict
from weft.kernels import guards
from weft.kernels.exercise import Trial
from weft.places import Note
from weft.simulator.language.python_errors import comparison
from weft.simulator.trace.trace import ATOMIC, Trace
from weft.wording import capital, several

Marks = np.ndarray[Any, Any]


def unwritten(trial: Trial, trace: Trace, name: str, marks: Marks) -> Verdict:
    """Word an output that is not whole, and say where the stores went instead."""
    message = left_out(name, marks)
    if trial.exercise.checks_launch:
        return Verdict(
            trial.name,
            "launch",
            message,
            f"{capital(size_of_launch(trial.grid, trial.block))}.",
            returns(trial.exercise.written_by_learner),
            when=trial.when,
        )
    stores = trace.stores(name)
    if not stores.size:
        return nothing_written(trial, name)
    why, notes = where_stores_went(trial, trace, name, stores)
    return Verdict(trial.name, "unwritten", message, why, notes, when=trial.when)


def left_out(name: str, marks: Marks) -> str:
    """Say which element was never written, and how many others."""
    missing = np.argwhere(~marks)
    first = ", ".join(str(int(i)) for i in missing[0])
    message = f"{name}[{first}] is never written"
    if len(missing) > 1:
        others = "is 1 other"
        if len(missing) > 2:
            others = f"are {len(missing) - 1:,} others"
        message += f", and neither {others} of the {marks.size:,} elements"
    return f"{message}."


def nothing_written(trial: Trial, name: str) -> Verdict:
    """Word an output that no thread has stored to: a rebound name, or a guard."""
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
        notes, why = guards.never_reached(kernel, name)
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
    return Verdict(trial.name, "unwritten", message, why, notes, when=trial.when)


def where_stores_went(
    trial: Trial, trace: Trace, name: str, stores: Marks
) -> tuple[str, list[Note]]:
    """A question about the threads that did store to `name`, and their lines."""
    kernel = trial.exercise.kernel
    launched = capital(size_of_launch(trial.grid, trial.block))
    thread = trace.block[stores] * int(np.prod(trial.block)) + trace.thread[stores]
    pairs = np.unique(np.stack([trace.address[stores], thread]), axis=1)
    times = np.unique(pairs[0], return_counts=True)[1]
    sites = np.unique(trace.site[stores])
    notes = [(trace.places[k], f"stores to {name}") for k in sites]
    last = max((p.line for p, _ in notes if p.function == trial.name), default=0)
    ends = guards.ends_before(kernel, last)
    if ends and times.max() == 1:
        notes += guards.lines(kernel, ends)
    if ends and trace.partial:
        return (
            "Some threads end before the barrier. Do any of them still have something "
            "to write? Put only the work that they must skip inside an `if`, and let "
            "every thread reach the stores.",
            notes,
        )
    atomic = (trace.operation[stores] == ATOMIC).any()
    if times.max() > 1 and not atomic:
        return (
            f"Other elements are written by up to {times.max():,} threads each. Why do "
            f"several threads compute the same index? ({launched}.)",
            notes,
        )
    return (
        f"Which thread should write it? Does its index lead there, and does the guard "
        f"let it through? {launched}.",
        notes,
    )


def size_of_launch(grid: tuple[int, ...], block: tuple[int, ...]) -> str:
    """Say how many threads a launch has, and along which axes."""
    axes = max(n + 1 for n in range(3) if n == 0 or grid[n] > 1 or block[n] > 1)
    if axes == 1:
        count, each = several(grid[0], "block"), several(block[0], "thread")
        threads = several(grid[0] * block[0], "thread")
        return f"the launch has {count} of {each}, {threads} in all"
    blocks, each = (" × ".join(f"{n:,}" for n in s[:axes]) for s in (grid, block))
    count = f"{blocks} blocks" if max(grid) > 1 else "1 block"
    along = [f"{grid[n] * block[n]:,} along {'xyz'[n]}" for n in range(axes)]
    return (
        f"the launch has {count} of {each} threads, "
        f"{', '.join(along[:-1])} and {along[-1]}"
    )


def not_stored(
    trial: Trial, trace: Trace, name: str, wrong: Difference, verdict: Verdict
) -> Verdict:
    """Word a wrong value that was there before the launch: no thread stored to it."""
    more = (
        f"No thread has stored to {wrong.where(name)}: it still has its initial value."
    )
    stores = trace.stores(name)
    if stores.size:
        why, notes = where_stores_went(trial, trace, name, stores)
    else:
        nothing = nothing_written(trial, name)
        why, notes = nothing.why, list(nothing.places)
        why += f" {capital(size_of_launch(trial.grid, trial.block))}."
    words = " ".join(filter(None, (verdict.why, more, why.strip())))
    return verdict.but(why=words, places=notes)
