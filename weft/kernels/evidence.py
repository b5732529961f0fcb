"""A wrong value: where it was stored, and what the wrong elements have in common.

A common property is reported only if it holds exactly.
"""

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType

import numpy as np

from weft.checking.compare import Array, close
from weft.checking.differences import (
    Difference,
    Pattern,
    named_ratio,
    near_integer,
    show,
    times,
)
from weft.checking.exercise import Explained
from weft.checking.slips import other_number
from weft.checking.source import at_line, parameter_names, tree_of
from weft.checking.unread import element, end_of_reads, first_unread, unread_of
from weft.checking.verdict import Failed, Verdict
from weft.kernels import bounds
from weft.kernels.first_nan import first_nan, is_nan
from weft.kernels.origins import elements, never_fetched, reading, stale, way_of
from weft.kernels.trial import Done, Trial
from weft.places import Note, Place, named, unravel
from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import ATOMIC, GLOBAL, READ, SHARED, WRITE, Trace
from weft.wording import several

FEW = 4  # from this many wrong elements on, a pattern is not chance
READERS = 4  # the most lines reading an array that a verdict shows


@dataclass(frozen=True)
class Clue:
    """The property that all wrong elements share, in a sentence or two.

    only: whether exactly one block, warp or lane is wrong, or exactly one is right.
    is_ratio: whether `text` only gives the factor by which the elements are off.
    is_question: whether `text` only asks for the cause. is_cause: whether the verdict
    already names the cause. of: the input that was not used as it should have been, if
    any.
    """

    text: str = ""
    only: bool = False
    is_ratio: bool = False
    is_question: bool = False
    is_cause: bool = False
    of: str = ""


@dataclass(frozen=True)
class Owners:
    """The last thread to store to each element of an output, as flat arrays in C order.

    block and thread hold ranks, or -1 for an element to which no thread has stored.
    """

    block: Columns
    thread: Columns

    @property
    def warp(self) -> Columns:
        """The warp's number in its block."""
        found: Columns = self.thread // WARP
        return found

    @property
    def lane(self) -> Columns:
        found: Columns = self.thread % WARP
        return found


@dataclass(frozen=True)
class Result:
    """One output of a launch, what it should be, and its first wrong element."""

    trial: Trial
    done: Done
    name: str
    got: Array
    wanted: Array
    first: Difference

    @property
    def at(self) -> str:
        """The first wrong element, as named in a sentence."""
        return self.first.where(self.name)

    @cached_property
    def byte(self) -> int:
        """The byte offset of the first wrong element in the output."""
        steps = zip(self.first.index, self.got.strides, strict=True)
        return sum(i * s for i, s in steps)

    @cached_property
    def wrong(self) -> Columns:
        """The flat indices of the wrong elements."""
        right = close(self.got, self.wanted, self.trial.exercise.tolerance)
        return np.flatnonzero(~right)

    @cached_property
    def by(self) -> Columns:
        """The amount by which each element is too large, as a flat array."""
        found: Columns = self.got.ravel().astype(float)
        found -= self.wanted.ravel().astype(float)
        return found

    @cached_property
    def noise(self) -> float:
        """The error that the tolerance allows any element, whatever its magnitude."""
        rms = float(np.sqrt(np.mean(np.square(self.wanted.astype(float)))))
        return self.trial.exercise.tolerance * rms

    @cached_property
    def owners(self) -> Owners | None:
        return owners(self.done.trace, self.name, self.got)


def owners(trace: Trace, name: str, output: Array) -> Owners | None:
    """Find the last thread to store to each element of `output`.

    Returns None if the trace lacks some blocks, or the array `name`.
    """
    if trace.blocks < trace.all_blocks or name not in trace.bases:
        return None
    steps = zip(np.indices(output.shape), output.strides, strict=True)
    offset = np.ravel(sum(index * step for index, step in steps)) // output.itemsize
    element = np.full(int(offset.max(initial=0)) + 1, -1)
    element[offset] = np.arange(output.size)
    rows = trace.stores(name)
    begin = (trace.address[rows] - trace.bases[name]) // output.itemsize
    end = begin + trace.size[rows] // output.itemsize
    at, row = columns.spread(begin, end)
    block, thread = np.full((2, output.size), -1, np.int64)
    block[element[at]] = trace.block[rows][row]
    thread[element[at]] = trace.thread[rows][row]
    return Owners(block, thread)


def wrong_value(result: Result, verdict: Verdict) -> Failed:
    """Return the failure for a wrong element, with the last store to it and the cause.

    Either may be unknown. The failure may also hold what the wrong elements have in
    common, for the advisers.
    """
    trial, done, exercise = result.trial, result.done, result.trial.exercise
    row = done.trace.last_store(result.name, result.byte)
    if row is not None:
        verdict = stored_at(result, verdict, row)
    if (old := old_nan(result)) is not None:
        return Failed(with_old_nan(result, verdict, old))
    described = result.name in exercise.describe
    known = result.wrong.size and not described  # not where only rounding decides
    found = clue(result) if known else Clue()
    likely = exercise.explained(*trial.case.inputs, *done.outputs)
    why = blamed(result, likely) if likely.text else cause(result)
    if (found.is_ratio and likely.text) or (found.is_question and why.text):
        found = Clue()  # the likely cause already says why
    verdict = verdict.adding(found.text).but(only=found.text * found.only)
    places = with_notes(verdict.places, why.notes)
    verdict = verdict.adding(why.text).but(places=places)
    found = replace(found, is_cause=bool(why.text), of=why.of)
    stores = done.trace.stores(result.name, result.byte)
    stored = np.unique(done.trace.block[stores] * 1024 + done.trace.thread[stores]).size
    if stored > 1:
        more = f"{stored:,} threads have stored to {result.at}."
        verdict = verdict.adding(more)
    return Failed(verdict, found)


def blamed(result: Result, likely: Explained) -> "Cause":
    """Return the cause that the exercise names, with lines that use the input to blame.

    The advisers follow its values from loads to stores. If bulk copies read it, these
    lines are shown instead.
    """
    trace = result.done.trace
    rows = reading(trace, likely.of, GLOBAL)
    copies = {int(trace.site[row]) for row in trace.bulk.copies}
    if copies.isdisjoint(trace.site[rows].tolist()):
        return Cause(likely.text, of=likely.of)
    every = np.ones(len(trace), bool)
    return Cause(likely.text, readers(result.trial, trace, likely.of, every))


def with_notes(places: Sequence[Note], more: Sequence[Note]) -> list[Note]:
    """Add notes to the places of a verdict, merging those on the same line."""
    found = list(places)
    for place, note in more:
        lines = [(p.function, p.line) for p, _ in found]
        if (place.function, place.line) not in lines:
            found.append((place, note))
            continue
        at = lines.index((place.function, place.line))
        found[at] = found[at][0], "; ".join(filter(None, (found[at][1], note)))
    return found


@dataclass(frozen=True)
class Cause:
    """The cause of a wrong value: a sentence, notes on lines, and an input to blame."""

    text: str = ""
    notes: Sequence[Note] = ()
    of: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.notes)


def cause(result: Result) -> Cause:
    """Return the likely cause of a wrong value; an empty `Cause` if none is found."""
    for find in (arisen, miscounted, replaced, unread, unused, left_over, way):
        if found := find(result):
            return found
    return Cause()


def arisen(result: Result) -> Cause:
    """Name the line on which a wrong NaN arises."""
    trace, first = result.done.trace, result.first
    row = trace.last_store(result.name, result.byte)
    if row is None or first.pattern is not Pattern.NONE:
        return Cause()
    if not is_nan(first.got) or is_nan(first.wanted):
        return Cause()
    return Cause(*first_nan(result.trial, trace, row))


def replaced(result: Result) -> Cause:
    """Report that a kernel replaced an output's old values instead of updating them.

    Returns an empty `Cause` unless every wrong element lacks exactly its old value.
    """
    trial, trace, name = result.trial, result.done.trace, result.name
    if trial.exercise.out is None or result.wrong.size < FEW:
        return Cause()
    number = list(result.done.launch.written).index(name)
    old = trial.fresh()[number].ravel().astype(float)[result.wrong]
    missing = -result.by[result.wrong]
    if not old.any() or not np.all(np.abs(missing - old) <= result.noise):
        return Cause()  # NaN is never what is missing
    said = f"What is missing is exactly what `{name}` held before the launch."
    if trace.blocks == trace.all_blocks and not reading(trace, name, GLOBAL).any():
        said += f" No thread reads `{name}`."
    return Cause(said)


def left_over(result: Result) -> Cause:
    """Report a read of shared memory that still held an earlier stage's value.

    Given code that stores and reads it is right.
    """
    trace, function = result.done.trace, result.trial.exercise.function()
    row = trace.last_store(result.name, result.byte)
    if row is None or trace.bulk.copies or trace.atomics["begun"].size:
        return Cause()
    said, notes = stale(trace, row)
    own = function and function.__code__.co_filename
    return Cause(said, notes) if any(p.file == own for p, _ in notes) else Cause()


def way(result: Result) -> Cause:
    """Find the shared-memory element from which a misplaced value was read."""
    trace = result.done.trace
    row = trace.last_store(result.name, result.byte)
    if row is None or result.first.pattern is not Pattern.MOVED:
        return Cause()
    byte = trace.bases[result.name] + result.byte - int(trace.address[row])
    return Cause(*way_of(trace, row, byte))


def miscounted(result: Result) -> Cause:
    """Report that the result would be right for another value of a scalar input.

    Returns an empty `Cause` if it would not.
    """
    trial = result.trial
    function = trial.exercise.function()
    found = other_number(trial.exercise, trial.case, result.done.outputs)
    if found is None or function is None:
        return Cause()
    number, value = found
    names = parameter_names(function)
    name, mine = names[number], float(trial.case.inputs[number])
    shown = show(value)
    if value not in (0, 1, -mine):
        shown += "".join(
            f" = {name} * {other}"
            for other, x in zip(names, trial.case.inputs, strict=False)
            if isinstance(x, float | np.floating) and mine * float(x) == value
        )
    said = f"This is the result for {name} = {shown}, and here {name} is {show(mine)}."
    used = used_in(function, name)
    if not used:
        return Cause(f"{said} `{name}` is never used.")
    if not value:
        said += f" Nothing of what `{name}` multiplies has come into it."
    notes = dict.fromkeys(used[:READERS], f"{name} is used here")
    if value in (0, 1):
        notes |= dict.fromkeys(around(function, used, result), "only in a case of this")
    lines = [(at_line(function, n), note) for n, note in sorted(notes.items())]
    return Cause(said, lines, name)


def used_in(function: FunctionType, name: str) -> list[int]:
    """Return the lines of a function that use a name."""
    nodes = ast.walk(tree_of(function))
    uses = (n for n in nodes if isinstance(n, ast.Name) and n.id == name)
    return sorted({n.lineno for n in uses})


def around(function: FunctionType, lines: list[int], result: Result) -> list[int]:
    """Return the line of the innermost `if` around all `lines` but not the store.

    The line is in a list, which is empty if there is no such `if`.
    """
    trace = result.done.trace
    row = trace.last_store(result.name, result.byte)
    stored = trace.places[trace.site[row]].line if row is not None else 0
    found = [
        node.lineno
        for node in ast.walk(tree_of(function))
        if isinstance(node, ast.If)
        for end in [node.end_lineno or node.lineno]
        if all(node.lineno < line <= end for line in lines)
        if not node.lineno <= stored <= end
    ]
    return found[-1:]


def inputs_in(result: Result) -> dict[int, tuple[str, Array]]:
    """Return the input arrays that the trace knows: position → name and array."""
    trial, trace = result.trial, result.done.trace
    names = parameter_names(trial.exercise.kernel)
    return {
        k: (name, x)
        for k, (name, x) in enumerate(zip(names, trial.case.inputs, strict=False))
        if isinstance(x, np.ndarray) and x.dtype.kind in "fiu" and x.size
        if name in trace.bases and x.flags.c_contiguous
    }


def unused(result: Result) -> Cause:
    """Name an input element that is copied to shared memory but never read there.

    The wrong result depends on this element. The `Cause` shows the line that stores it
    and the lines that read the shared array. It is empty if there is no such element.
    """
    trial, trace, index = result.trial, result.done.trace, result.first.index
    if trace.blocks < trace.all_blocks or trace.bulk.copies:
        return Cause()
    if trace.atomics["begun"].size:
        return Cause()
    lost = never_fetched(trace)
    if not lost.loads.size:
        return Cause()
    number = list(result.done.launch.written).index(result.name)
    for k, (name, x) in inputs_in(result).items():
        marks, at = lost.marks(trace, name, x)
        one = unread_of(trial.exercise, trial.case, k, marks, number, index)
        if one is None:
            continue
        what, place = at.get(int(np.ravel_multi_index(one, x.shape)), ("", None))
        if place is None or not what:
            continue
        said = (
            f"`{element(name, one)}` is stored in `{what}`, and no thread reads it "
            "there. This result needs it."
        )
        array = what.partition("[")[0]
        sites = trace.site[reading(trace, array, SHARED)]
        readers = dict.fromkeys(trace.places[s] for s in dict.fromkeys(sites.tolist()))
        notes = [(place, "it is stored here")]
        notes += [(read, f"reads {array}") for read in readers]
        own = [note for note in notes if not trial.exercise.elsewhere(note[0])]
        return Cause(said, own[: READERS + 1], name)
    return Cause()


def unread(result: Result) -> Cause:
    """Name an input element that the wrong result depends on but that was not read.

    Either no thread of the launch read it, or no thread of the block that stored the
    result did. The `Cause` shows the lines that read the array. It is empty if there is
    no such element.
    """
    trial, trace, index = result.trial, result.done.trace, result.first.index
    if trace.blocks < trace.all_blocks or trace.bulk.copies:
        return Cause()
    number = list(result.done.launch.written).index(result.name)
    every = np.ones(len(trace), bool)
    arrays = inputs_in(result)
    read = {k: (n, marked(trace, n, x, every)) for k, (n, x) in arrays.items()}
    array, said = first_unread(trial.exercise, trial.case, read, number, index)
    if said:
        notes = readers(trial, trace, array, every)
        marks = dict(read.values())[array]
        return Cause(said, [*notes, *ending(trial, array, marks, notes)], array)
    block = alone(result)
    mine = trace.block == block
    for k, (name, x) in arrays.items() if block is not None else ():
        marks = marked(trace, name, x, mine)
        one = unread_of(trial.exercise, trial.case, k, marks, number, index)
        if one is not None:
            where = named(unravel(int(block or 0), trial.grid))
            said = (
                f"Block {where} stores {result.at}, which needs "
                f"`{element(name, one)}`, and no thread of this block reads that."
            )
            ended, notes = ended_before(trial, trace, int(block or 0))
            notes = [*readers(trial, trace, name, mine), *notes]
            return Cause(f"{said} {ended}".strip(), notes, name)
    return Cause()


def ended_before(trial: Trial, trace: Trace, block: int) -> tuple[str, list[Note]]:
    """Report the first barrier that a block passed after some of its threads ended.

    Returns a sentence, and a note on the line; "" and [] if there is no such barrier.
    """
    for number, place, came in trace.partial:
        if number == block and not trial.exercise.elsewhere(place):
            total = math.prod(trial.block)
            said = (
                f"Only {len(came):,} of the block's {total:,} threads come to the "
                f"barrier on line {place.line}: the others have ended."
            )
            ended = several(total - len(came), "thread")
            return said, [(place, f"{ended} ended before this")]
    return "", []


def ending(trial: Trial, name: str, marks: Array, notes: Sequence[Note]) -> list[Note]:
    """Return notes on the conditions with which the reads of a matrix end too early.

    marks: the elements that were read. notes: on the lines that read the matrix.
    """
    function, end = trial.exercise.function(), end_of_reads(marks)
    if function is None or end is None:
        return []
    lines = [place.line for place, _ in notes if place.function == function.__name__]
    return bounds.on(function, lines, name, end, bounds.sizes(trial))


def marked(trace: Trace, name: str, x: Array, mine: Columns) -> Array:
    """Mark the elements of a global array that the accesses `mine` have read."""
    marks = np.zeros(x.size, bool)
    marks[elements(trace, name, x, reads(trace, name, mine))[0]] = True
    return marks.reshape(x.shape)


def reads(trace: Trace, name: str, mine: Columns) -> Columns:
    """Return the rows among `mine` that read the global array `name`."""
    return np.flatnonzero(mine & reading(trace, name, GLOBAL))


def readers(trial: Trial, trace: Trace, name: str, mine: Columns) -> list[Note]:
    """Return the first few of the kernel's lines that read the global array `name`.

    If there are none, returns the kernel's lines that pass the array to a function.
    """
    sites = dict.fromkeys(trace.site[reads(trace, name, mine)].tolist())
    places = dict.fromkeys(trace.places[site] for site in sites)
    lines = {(place.function, place.line): place for place in places}
    own = [each for each in lines.values() if not trial.exercise.elsewhere(each)]
    own = own or handing(trial, name)
    return [(place, f"reads {name}") for place in own[:READERS]]


def handing(trial: Trial, name: str) -> list[Place]:
    """Return the kernel's lines that pass the array `name` to a function."""
    function = trial.exercise.function()
    if function is None:
        return []
    calls = (n for n in ast.walk(tree_of(function)) if isinstance(n, ast.Call))
    found = {
        call.lineno
        for call in calls
        if any(isinstance(a, ast.Name) and a.id == name for a in call.args)
    }
    return [at_line(function, line) for line in sorted(found)]


def alone(result: Result) -> int | None:
    """Return the block that stored the wrong element, if no other block was involved.

    Returns None if another block also stored to that element or to one that this block
    read, if atomic operations changed the wrong element, or if the grid has only one
    block.
    """
    trace = result.done.trace
    rows = trace.stores(result.name, result.byte)
    stored = trace.block[rows]
    if not stored.size or (stored != stored[0]).any() or trace.all_blocks == 1:
        return None
    if (trace.operation[rows] == ATOMIC).any():  # others should have added to it
        return None
    wide = trace.space == GLOBAL
    mine = wide & (trace.block == stored[0]) & (trace.operation != WRITE)
    others = wide & (trace.block != stored[0]) & (trace.operation != READ)
    theirs = trace.address[others]
    return None if np.isin(trace.address[mine], theirs).any() else int(stored[0])


def stored_at(result: Result, verdict: Verdict, row: int) -> Verdict:
    """Return the verdict with the line and the thread of the store at `row`."""
    trace = result.done.trace
    thread, block = trace.by(row)
    places = [(trace.places[trace.site[row]], "stored here")]
    return verdict.but(places=places, rows=[row], thread=thread, block=block)


def old_nan(result: Result) -> int | None:
    """Return the row of the access that read the first wrong element's initial NaN.

    Returns None if there was no such access.
    """
    trial, trace, index = result.trial, result.done.trace, result.first.index
    number = list(result.done.launch.written).index(result.name)
    first = trial.case.outputs[number]
    if trial.exercise.out is None or first.dtype.kind != "f":
        return None
    if not (np.isnan(first[index]) and np.isnan(result.got[index])):
        return None
    at = trace.bases[result.name] + result.byte
    hit = (trace.address <= at) & (at < trace.address + trace.size)
    rows = np.flatnonzero(hit & (trace.space == GLOBAL))
    if not rows.size or trace.operation[rows[0]] == WRITE:
        return None
    return int(rows[0])


def with_old_nan(result: Result, verdict: Verdict, row: int) -> Verdict:
    """Return the verdict on the use of a NaN that the output held before the launch."""
    at, trace = result.at, result.done.trace
    place = trace.places[trace.site[row]]
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


def clue(result: Result) -> Clue:
    """Return a clue to the cause of a wrong result, such as what its errors share.

    The clue is empty if no such property is found.
    """
    if result.got.dtype.kind not in "fiu" or result.wanted.dtype.kind not in "fiu":
        return Clue()
    with np.errstate(all="ignore"):
        if not np.isfinite(result.by[result.wrong]).all():
            return Clue()
        where, ratio = moved(result), factor(result)
        if ratio is None:
            found = own_element(result) or offset(result)
            return (
                Clue(f"{where} {found}".strip())
                if where or found
                else only_some(result)
            )
    what = "Every wrong element is" if result.got.size > 1 else "It is"
    text = f"{where} {what} {times(ratio)}."
    return Clue(text.strip(), is_ratio=not named_ratio(ratio))


def moved(result: Result) -> str:
    """Say at which index the first wrong value belongs, or return '' if unclear."""
    got, wanted = result.got, result.wanted.astype(result.got.dtype)
    if result.first.pattern is not Pattern.MOVED or result.first.belongs is not None:
        return ""
    place = np.argwhere(wanted == got[result.first.index])
    if len(place) != 1:
        return ""
    return f"The value in {result.at} belongs at [{', '.join(map(str, place[0]))}]."


def factor(result: Result) -> float | None:
    """Return the one factor by which all wrong elements are off, or None."""
    got, wanted = result.got.ravel()[result.wrong], result.wanted.ravel()[result.wrong]
    if result.first.pattern is Pattern.MULTIPLE or not wanted.all():
        return None
    ratio = got / wanted
    first = float(ratio[0])
    if not np.isclose(ratio, first, rtol=1e-5).all() or show(first) == "1":
        return None
    if len(ratio) >= FEW:
        return None if np.isclose(wanted, wanted[0]).all() else first
    told = got.dtype.kind == "f" and near_integer(first) and wanted[0] % 1 != 0
    return first if told else None


def own_element(result: Result) -> str:
    """Report that each wrong element is off by an input's element at the same index.

    Returns '' if there is no such input.
    """
    wrong, by = result.wrong, result.by[result.wrong]
    for name, x in like(result):
        mine = x[wrong].astype(by.dtype)
        if len(wrong) < FEW or np.ptp(mine) < 20 * result.noise:
            continue
        for sign, word in ((1, "large"), (-1, "small")):
            if (np.abs(by - sign * mine) <= 4 * result.noise).all():
                return (
                    f"Each wrong element is too {word} by the element of {name} in the "
                    f"same place."
                )
    return ""


def inputs(trial: Trial) -> list[tuple[str, Array]]:
    """Return the numeric input arrays, each with the kernel's name for it."""
    names = parameter_names(trial.exercise.kernel)
    return [
        (name, x)
        for name, x in zip(names, trial.case.inputs, strict=False)
        if isinstance(x, np.ndarray) and x.dtype.kind in "fiu"
    ]


def like(result: Result) -> list[tuple[str, Array]]:
    """Return the one-dimensional inputs that have the shape of the output."""
    shape = result.got.shape
    return [(n, x) for n, x in inputs(result.trial) if x.shape == shape and x.ndim == 1]


@dataclass(frozen=True)
class Piece:
    """The elements `first` to `last` of an output, stored by one block, warp or thread.

    by: how much too large they are, on average.
    """

    block: int
    number: int  # of the thread or warp, in its block
    first: int
    last: int
    by: float


def offset(result: Result) -> str:
    """Describe the constant by which each block, warp or thread is off; '' if none."""
    if result.owners is None or result.got.ndim != 1 or len(result.wrong) < FEW:
        return ""
    if np.ptp(result.wanted[result.wrong].astype(float)) <= 20 * result.noise:
        return ""
    for level in ("block", "warp", "thread"):
        pieces = pieces_of(result, result.owners, level)
        if pieces:
            return worded(result, level, pieces)
    return ""


def pieces_of(result: Result, by: Owners, level: str) -> list[Piece]:
    """Return the wrong pieces, or [] if any has gaps or is not off by a constant."""
    inner = {"block": by.block * 0, "warp": by.warp, "thread": by.thread}[level]
    owner = by.block * (WARP * WARP + 1) + inner
    pieces = []
    for one in dict.fromkeys(owner[result.wrong].tolist()):
        mine = np.flatnonzero(owner == one)
        off = result.by[mine].astype(float)
        first, last = int(mine[0]), int(mine[-1])
        mean = float(off.mean())
        if (
            by.block[first] < 0
            or last - first + 1 != len(mine)
            or (len(mine) == 1 and level == "thread")
            or np.ptp(off) > 4 * result.noise
            or abs(mean) < 20 * result.noise
        ):
            return []
        pieces.append(Piece(int(by.block[first]), int(inner[first]), first, last, mean))
    return pieces


def worded(result: Result, level: str, pieces: list[Piece]) -> str:
    """Describe the first piece and its error, and any rule that all pieces follow."""
    one = pieces[0]
    trial = result.trial
    where = f"block {named(unravel(one.block, trial.grid))}"
    if level == "warp":
        where = f"warp {one.number} of {where}"
    if level == "thread":
        where = f"thread {named(unravel(one.number, trial.block))} of {where}"
    size = f"too {'large' if one.by > 0 else 'small'} by {show(abs(one.by))}"
    rule = rule_of(result, pieces, level)
    if len(pieces) == 1:
        return f"All elements that {where} has stored are {size}{rule}."
    others = f". Each other {level} is off by a number of its own"
    if rule:
        others = f"; the same goes for each other wrong {level}"
    return f"All elements that {where} has stored are {size}{rule}{others}."


def rule_of(result: Result, pieces: list[Piece], level: str) -> str:
    """Return a clause on the pieces' errors, such as ', which is `ends[0]`', or ''.

    Recognises errors that are elements of an input with one element per block, or sums
    of an input over the piece itself or over as many elements before it.
    """
    blocks = int(np.prod(result.trial.grid))
    for name, y in inputs(result.trial):
        for shift in (0, -1, 1):
            at = [p.block + shift for p in pieces]
            if y.shape != (blocks,) or min(at) < 0 or max(at) >= blocks:
                continue
            if equal(result, pieces, [float(y[k]) for k in at]):
                return f", which is `{name}[{at[0]}]`"
    for name, x in like(result):
        upto = np.concatenate([[0.0], np.cumsum(x.astype(float))])
        for back, where in ((0, "its own elements"), (1, f"the {level} before it")):
            sizes = [p.last - p.first + 1 for p in pieces]
            at = [p.first - back * n for p, n in zip(pieces, sizes, strict=True)]
            if min(at) < 0:
                continue
            sums = [upto[k + n] - upto[k] for k, n in zip(at, sizes, strict=True)]
            if equal(result, pieces, sums):
                last = at[0] + sizes[0] - 1
                return f", the sum of `{name}[{at[0]}]` to `{name}[{last}]`, {where}"
    return ""


def equal(result: Result, pieces: list[Piece], wanted: list[float]) -> bool:
    """Return whether the pieces are off by `wanted`, up to a sign common to all."""
    by = np.array([p.by for p in pieces])
    other = np.array(wanted)
    return any(
        bool((np.abs(by - sign * other) <= 4 * result.noise).all()) for sign in (1, -1)
    )


def only_some(result: Result) -> Clue:
    """Report whether only the edge blocks are wrong, or only one block, or all but one.

    The last two are also reported for warps and lanes. Otherwise the clue is empty.
    """
    by = result.owners
    if by is None or (by.block < 0).any() or len(result.wrong) in (0, result.got.size):
        return Clue()
    wrong = np.zeros(result.got.size, bool)
    wrong[result.wrong] = True
    for label, what in ((by.block, "block"), (by.warp, "warp"), (by.lane, "lane")):
        bad, good = set(label[wrong].tolist()), set(label[~wrong].tolist())
        if bad & good or not (bad and good):
            continue
        if what == "block" and bad == ragged(result, by):
            return Clue(
                "The wrong elements are exactly those of the blocks that hang over an "
                "edge of the output. Some of their threads have no element to store: "
                "what else does the block need from them?",
                is_question=True,
            )
        if what == "lane" and min(result.trial.block[1:]) > 1:
            continue
        zeros = not result.wanted.ravel()[~wrong].any()  # right with most mistakes
        for some, word in ((bad, "wrong"), (good, "right")):
            if len(some) == 1 and not (zeros and word == "right"):
                owner = which(result, what, some.pop())
                return Clue(f"Only what {owner} has stored is {word}.", only=True)
    return Clue()


def ragged(result: Result, by: Owners) -> set[int]:
    """Return the blocks in which some threads store and others do not."""
    threads = int(np.prod(result.trial.block))
    pairs = np.unique(by.block * threads + by.thread) // threads
    blocks, busy = np.unique(pairs, return_counts=True)
    return set(blocks[busy < threads].tolist())


def which(result: Result, what: str, number: int) -> str:
    """Name a block, a warp of each block, or a lane of each warp."""
    if what == "block":
        return f"block {named(unravel(number, result.trial.grid))}"
    blocks, threads = np.prod(result.trial.grid), np.prod(result.trial.block)
    if blocks == 1 and threads <= WARP and what == "lane":
        return f"thread {number}"
    if blocks == 1 and what == "warp":
        return f"{what} {number}"
    return f"{what} {number} of each {'block' if what == 'warp' else 'warp'}"
