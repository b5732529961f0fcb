"""What a launch has written: all of the output, and the right values."""

from typing import Any

import numpy as np

from weft.checking.compare import difference
from weft.checking.differences import Difference
from weft.checking.source import begin, line_with, returns
from weft.checking.unread import never_read
from weft.checking.verdict import Failed, Verdict
from weft.kernels.outputs import left_out
from weft.places import Note
from weft.programs import hazards, launching
from weft.programs.launching import Done
from weft.programs.memory import Region
from weft.simulator.trace.trace import READ
from weft.starters import has_stub
from weft.wording import several


def judge(done: Done, backwards: bool) -> None:
    """Look at what the program left behind. Raises `Failed`."""
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
            raise Failed(unwritten(done, region, marks))
        wrong = difference(region.data, wanted, exercise.tolerance)
        if wrong:
            raise Failed(wrong_value(done, region, wrong, backwards))


def unwritten(done: Done, region: Region, marks: Any) -> Verdict:
    """Word an output that is not whole, and say which programs store to it."""
    launch, trace = done.launch, done.trace
    count = f"The grid has {several(launch.programs, 'program')}"
    said = {"message": left_out(region.name, marks)}
    if launch.exercise.checks_launch:
        said |= launch.words("how-many-each", count=count)
        return launch.verdict("launch", returns(launch.exercise.source), **said)
    stores = (trace.operation != READ) & (trace.address >= region.first)
    stores &= trace.address < region.first + region.span // region.itemsize
    if not stores.any():
        places = line_with(launch.exercise.program.function, launch.exercise.stores)
        return launch.verdict("nothing-stored", places, array=region.name)
    calls = np.unique(trace.call[stores])
    lines = dict.fromkeys(trace.calls[k].place for k in calls)
    notes: list[Note] = [(place, f"stores to {region.name}") for place in lines]
    programs = np.unique(trace.block[stores]).size
    pairs = np.unique(np.stack([trace.address[stores], trace.block[stores]]), axis=1)
    times = int(np.unique(pairs[0], return_counts=True)[1].max())
    if times > 1:
        said |= launch.words("stored-twice", times=times, count=count)
    elif programs < launch.programs:
        told = {"store": "stores" if programs == 1 else "store", "array": region.name}
        said |= launch.words("few-programs", count=count, programs=programs, **told)
    else:
        said |= launch.words("no-program", count=count)
    return launch.verdict("unwritten", notes, **said)


def wrong_value(
    done: Done, region: Region, wrong: Difference, backwards: bool
) -> Verdict:
    """Word a wrong value, and name the line that stored it."""
    launch, trace = done.launch, done.trace
    message, why = wrong.sentence(region.name), wrong.hint
    row = trace.stored_last(launch.arena.cell_of(region, wrong.index))
    notes: list[Note] = []
    if row is None:
        why = f"{why} {launch.words('never-stored')['why']}"
    else:
        notes = [(trace.places[trace.site[row]], f"stored here, by {trace.who(row)}")]
        same = hazards.duplicates(trace, row)
        if same > 1:
            why = launch.words("same-address", same=same)["why"]
        elif left := from_left_out(done, region, wrong, backwards):
            notes, why = [*left, *notes], launch.words("left-out")["why"]
        else:
            likely = launch.exercise.likely(*launch.case.inputs, *done.outputs)
            why = likely or why or unread(done, region, wrong.index)
    said = message, why.strip(), notes
    return launch.exercise.verdict("wrong-value", *said, when=launch.when)


def unread(done: Done, region: Region, index: tuple[int, ...]) -> str:
    """Name an element that a result depends on, and that no program has read."""
    launch, trace = done.launch, done.trace
    cells = trace.address[trace.operation == READ]
    regions = launch.arena.regions
    arrays = [k for k, v in enumerate(launch.case.inputs) if isinstance(v, np.ndarray)]
    read = {
        k: (own.name, launch.arena.written(own, cells))
        for k, own in zip(arrays, regions, strict=False)
    }
    number = [r.start for r in regions if not r.readonly].index(region.start)
    return never_read(launch.exercise, launch.case, read, number, index)


def from_left_out(
    done: Done, region: Region, wrong: Difference, backwards: bool
) -> list[Note]:
    """The loads whose left-out elements are in a wrong value; [] if they are not.

    The launch is run once more with zeros in their place: then another value comes out.
    """
    filled = dict.fromkeys(c.place for c in done.trace.calls if c.filled)
    if not filled:
        return []
    launch = done.launch
    k = [r.start for r in launch.arena.regions].index(region.start)
    for again in launching.launches(launch.exercise, launch.case, every=True):
        if again.tuned == launch.tuned:
            launch.exercise.run(again, backwards, zeros=True)
            got = again.arena.regions[k].data[wrong.index]
            if not np.array_equal(got, wrong.got, equal_nan=True):
                return [(place, launch.exercise.spare) for place in filled]
            break
    return []
