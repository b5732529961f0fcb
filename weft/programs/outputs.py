"""Check that a launch writes every element of its outputs, with the right value."""

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from weft.checking.compare import close, difference
from weft.checking.differences import Difference, Pattern
from weft.checking.source import begin, line_with, returns
from weft.checking.unread import element, never_read
from weft.checking.verdict import Failed, Verdict
from weft.kernels.outputs import left_out
from weft.places import Note, Place
from weft.programs import hazards, launching
from weft.programs.evidence import axes_exchanged, missing_columns
from weft.programs.launching import Done
from weft.programs.memory import Region
from weft.programs.strides import rows_apart
from weft.programs.trace import who as of_grid
from weft.simulator.trace.trace import ATOMIC, READ
from weft.starters import has_stub
from weft.wording import capital, several


def judge(done: Done, backwards: bool) -> None:
    """Check the outputs of a launch. Raises `Failed` for a mistake."""
    launch, trace = done.launch, done.trace
    exercise, arena = launch.exercise, launch.arena
    stores = trace.operation != READ
    if not stores.any() and has_stub(exercise.source):
        raise Failed(begin(launch.name))
    regions = [region for region in arena.regions if not region.readonly]
    for region, wanted in zip(regions, launch.case.expected, strict=True):
        if region.data.shape != wanted.shape:
            raise ValueError(
                f"out() gives {region.name} the shape {region.data.shape}, the spec "
                f"{wanted.shape}"
            )
        marks = arena.written(region, trace.address[stores])
        if region.fresh and not marks.all():
            raise Failed(unwritten(done, region, marks, backwards))
        wrong = difference(region.data, wanted, exercise.tolerance)
        if wrong:
            raise Failed(wrong_value(done, region, wrong, backwards))


def unwritten(done: Done, region: Region, marks: Any, backwards: bool) -> Verdict:
    """Return the verdict on unwritten elements. marks: a mask of the written ones."""
    launch, trace = done.launch, done.trace
    said = {"message": left_out(region.name, marks)}
    if launch.exercise.checks_launch:
        said |= launch.words("how-many-each", count=launch.count)
        return launch.verdict("launch", returns(launch.exercise.source), **said)
    stores = (trace.operation != READ) & (trace.address >= region.first)
    stores &= trace.address < region.first + region.span // region.itemsize
    if not stores.any() and (masked := masked_out(done, region)):
        return launch.verdict("masked-out", masked, array=region.name)
    if not stores.any():
        places = line_with(launch.exercise.program.function, launch.exercise.stores)
        return launch.verdict("nothing-stored", places, array=region.name)
    calls = np.unique(trace.call[stores])
    lines = dict.fromkeys(trace.calls[k].place for k in calls)
    notes: list[Note] = [(place, f"stores to {region.name}") for place in lines]
    why = why_missing(done, region, marks, stores, backwards)
    return launch.verdict("unwritten", notes, **said, why=why)


def why_missing(
    done: Done, region: Region, marks: Any, stores: Any, backwards: bool
) -> str:
    """Return what a verdict says of the cause of unwritten elements.

    marks: a mask of the written elements. stores: a mask of the trace's stores to the
    array.
    """
    launch, trace = done.launch, done.trace
    if why := axes_exchanged(done, backwards) or rows_apart(done, stores)[1]:
        return why
    programs = np.unique(trace.block[stores]).size
    pairs = np.unique(np.stack([trace.address[stores], trace.block[stores]]), axis=1)
    times = int(np.unique(pairs[0], return_counts=True)[1].max())
    count = launch.count
    if times > 1:
        why = launch.words("stored-twice", times=times, count=count)["why"]
    elif programs < launch.programs:
        told = {"store": "stores" if programs == 1 else "store", "array": region.name}
        some = launch.words("few-programs", count=count, programs=programs, **told)
        why = some["why"]
    else:
        why = missing_columns(done, marks, stores)
        why = why or launch.words("no-program", count=count)["why"]
    return why


def masked_out(done: Done, region: Region) -> list[Note]:
    """Return the fully masked-out stores: those to `region` if any, or else all."""
    trace = done.trace
    busy = set(trace.call.tolist())
    calls = [
        call
        for number, call in enumerate(trace.calls)
        if call.operation != READ and number not in busy
    ]
    named = [c for c in calls if re.search(rf"\b{region.name}\b", c.place.text)]
    return [(place, "") for place in dict.fromkeys(c.place for c in named or calls)]


def wrong_value(
    done: Done, region: Region, wrong: Difference, backwards: bool
) -> Verdict:
    """Return the verdict on a wrong value, with the line that stored it, if any."""
    launch, trace = done.launch, done.trace
    wrong = telling(done, region, wrong)
    message, why = wrong.sentence(region.name), wrong.hint
    row = trace.stored_last(launch.arena.cell_of(region, wrong.index))
    notes: list[Note] = []
    if row is None:
        never = f"{why} {launch.words('never-stored')['why']}"
        why = axes_exchanged(done, backwards) or never
    else:
        notes = [(trace.places[trace.site[row]], f"stored here, by {trace.who(row)}")]
        same = hazards.duplicates(trace, row)
        if same > 1:
            apart = rows_apart(done, trace.call == trace.call[row])[1]
            why = apart or launch.words("same-address", same=same)["why"]
        elif left := from_left_out(done, region, wrong, backwards):
            notes, why = [*left, *notes], launch.words("left-out")["why"]
        else:
            more, why = why_wrong(done, region, wrong, backwards)
            notes = [*(note for note in more if note[0] != notes[0][0]), *notes]
    said = message, why.strip(), notes
    return launch.exercise.verdict("wrong-value", *said, when=launch.when)


def why_wrong(
    done: Done, region: Region, wrong: Difference, backwards: bool
) -> tuple[list[Note], str]:
    """Return the lines that may have led to a wrong value, and an explanation."""
    launch = done.launch
    why = launch.exercise.likely(*launch.case.inputs, *done.outputs)
    if why := why or axes_exchanged(done, backwards):
        return [], why
    lines, why = rows_apart(done)
    if why:
        return lines, why
    why = wrong.hint
    if wrong.pattern is Pattern.MULTIPLE:
        why = f"{why} {updated(done, region, wrong)}".strip()
    why = why or unread(done, region, wrong.index) or updated(done, region, wrong)
    return [], why


def telling(done: Done, region: Region, wrong: Difference) -> Difference:
    """Return a difference whose expected value is not 0, or `wrong` if none is found.

    A 0 that comes from a maximum depends on no single element of the inputs.
    """
    if wrong.wanted != 0 or wrong.belongs is not None:
        return wrong
    wanted = done.launch.case.expected[number_of(done, region)]
    apart = ~close(region.data, wanted, done.launch.exercise.tolerance)
    others = np.argwhere(apart & (wanted != 0) & np.isfinite(region.data))
    if not len(others):
        return wrong
    index = tuple(map(int, others[0]))
    got, aim = region.data[index], wanted[index]
    return replace(wrong, index=index, got=got, wanted=aim)


def number_of(done: Done, region: Region) -> int:
    """Return the index of a region among the outputs."""
    regions = [r for r in done.launch.arena.regions if not r.readonly]
    return [r.start for r in regions].index(region.start)


def unread(done: Done, region: Region, index: tuple[int, ...]) -> str:
    """Return a note on an input element that a result needs and no program read, or "".

    If programs pass nothing to each other, reads by programs that have not stored this
    result do not help it.
    """
    launch, trace = done.launch, done.trace
    regions = launch.arena.regions
    reads = trace.operation == READ
    inputs = sum(region.readonly for region in regions)
    arrays = [k for k, v in enumerate(launch.case.inputs) if isinstance(v, np.ndarray)]

    def never(some: Any, who: tuple[str, str] | None = None) -> str:
        cells = trace.address[some]
        read = {
            k: (own.name, launch.arena.written(own, cells))
            for k, own in zip(arrays, regions, strict=False)
        }
        number = number_of(done, region)
        return never_read(launch.exercise, launch.case, read, number, index, who)

    stored = (trace.address == launch.arena.cell_of(region, index)) & ~reads
    owners = np.unique(trace.block[stored])
    if (reads & (trace.array >= inputs)).any() or not (
        0 < owners.size < launch.programs
    ):
        return never(reads)
    own = reads & np.isin(trace.block, owners)
    if owners.size == 1:
        one = capital(of_grid(int(owners[0]), launch.grid))
        return never(own, (f"{one} never loads", f"{one} loads nothing of"))
    count = several(int(owners.size), "program")
    none = f"None of the {count} that store to {element(region.name, index)} loads"
    return never(reads) or never(own, (none, f"{none} anything of"))


def updated(done: Done, region: Region, wrong: Difference) -> str:
    """Return a hint if too many programs update a wrong element, else ""."""
    launch, trace = done.launch, done.trace
    wanted = launch.case.expected[number_of(done, region)]
    right = np.argwhere(close(region.data, wanted, launch.exercise.tolerance))
    if not len(right) and wrong.pattern is not Pattern.MULTIPLE:
        return ""
    index = tuple(map(int, right[0])) if len(right) else wrong.index
    mine, other = (
        np.unique(trace.block[(trace.address == cell) & (trace.operation == ATOMIC)])
        for cell in (
            launch.arena.cell_of(region, each) for each in (wrong.index, index)
        )
    )
    if len(right) and not 0 < other.size < mine.size:
        return ""
    reads = {
        k: trace.address[(trace.block == k) & (trace.operation == READ)] for k in mine
    }
    for one, two in combinations(mine.tolist(), 2):
        if len(both := np.intersect1d(reads[one], reads[two])):
            break
    else:
        return ""
    loaded, at = launch.arena.index(int(both[0]))
    told = {"one": of_grid(one, launch.grid), "two": of_grid(two, launch.grid)}
    told |= {"wrong": wrong.where(region.name), "right": element(region.name, index)}
    told |= {"loaded": element(loaded.name, at), "count": f"{mine.size:,}"}
    if not len(right):
        return str(launch.words("updated-by-all", **told)["why"])
    others = several(int(other.size), "program")
    return str(launch.words("updated-by-more", **told, others=others)["why"])


def from_left_out(
    done: Done, region: Region, wrong: Difference, backwards: bool
) -> list[Note]:
    """Return the loads whose masked-out elements affect a wrong value, or [].

    The launch is repeated with zeros for these elements; if the value then differs,
    they affect it. If the masked-out elements of some loads affect it by themselves,
    only these loads are returned.
    """
    filled = dict.fromkeys(c.place for c in done.trace.calls if c.filled)
    if not filled:
        return []
    k = [r.start for r in done.launch.arena.regions].index(region.start)

    def value(zeros: frozenset[Place]) -> Any:
        again = launching.again(done.launch)
        again.exercise.run(again, backwards, zeros)
        return again.arena.regions[k].data[wrong.index]

    every = frozenset(filled)
    clean = value(every)
    if np.array_equal(clean, wrong.got, equal_nan=True):
        return []
    alone = {p: value(every - {p}) for p in filled} if len(filled) > 1 else {}
    harmful = [p for p in alone if not np.array_equal(alone[p], clean)]
    spare = done.launch.exercise.spare
    return [(place, spare) for place in harmful or filled]
