"""What a launch has written: all of the output, and the right values."""

from typing import Any

import numpy as np

from weft.checking.compare import Difference, difference
from weft.checking.exercise import Case, Exercise
from weft.checking.source import line_with, returns
from weft.checking.starter import begin, has_stub
from weft.checking.verdict import Failed, Verdict, several
from weft.kernels import guards, hazards
from weft.kernels.traced import Done
from weft.simulator.limits import configuration


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
    kernel = exercise.kernel
    rebound = line_with(kernel, rf"{name}\s*=[^=]")
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
        noted, word = ([], "") if rebound else guards.never_reached(kernel, name)
        if word:
            why = word
        elif noted and not why:
            why = "Does any thread come to that line? What has to hold for it?"
        return Verdict(
            exercise.name, "unwritten", message, why, rebound or noted, when=case.label
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
    last = max((p.line for p, _ in noted if p.function == exercise.name), default=0)
    ends = guards.ends_before(kernel, last)
    if ends and trace.partial:
        why = (
            "Some threads end before the barrier. Has each of them nothing to write? "
            "Put into a branch what they must not do, and let all of them come to the "
            "stores."
        )
    if ends and times.max() == 1:
        noted += guards.lines(kernel, ends)
    return Verdict(exercise.name, "unwritten", message, why, noted, when=case.label)


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
