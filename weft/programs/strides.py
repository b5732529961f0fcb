"""Find blocks whose rows are not as far apart as the rows of their array."""

import numpy as np

from weft.places import Note
from weft.programs.launching import Done, Launch
from weft.programs.memory import Region
from weft.programs.trace import Call, Strays
from weft.simulator.trace.columns import Columns


def stray_rows(launch: Launch, call: Call, region: Region, strays: Strays) -> str:
    """Return an explanation if a block outside its array uses a wrong stride, or ""."""
    if strays.block is None or not strays.block.size:
        return ""
    offsets = (strays.block // region.itemsize).reshape(call.shape)
    if region.data.ndim == 1:
        return row_of_none(launch, call, region, int(offsets.flat[0]))
    if region.data.ndim != 2:
        return ""
    stride, one = (s // region.itemsize for s in region.data.strides)
    told = {"array": region.name, "stride": stride}
    long = [axis for axis, n in enumerate(call.shape) if n > 1]
    steps = [int(np.diff(offsets, axis=axis).flat[0]) for axis in long]
    if len(steps) == 2 and one in steps:
        step = max(steps, key=lambda s: s != one)
        if step not in (stride, one, 0):
            return launch.words("other-step", step=step, **told)["why"]
    if len(steps) == 1 and steps[0] in strides(launch) - {one}:
        return launch.words("down-a-column", step=steps[0], **told)["why"]
    if len(steps) != 1 or steps[0] != one:
        return ""
    first = int(offsets.flat[0])
    wrong = {k * s for k in numbers(launch, call) for s in strides(launch) - {stride}}
    if (first in wrong or is_row(region, strays)) and first % stride:
        return launch.words("other-stride", first=first, **told)["why"]
    return ""


def is_row(region: Region, strays: Strays) -> bool:
    """Return whether a mask selects as many elements of a block as a row contains.

    Then the block is meant to begin where a row begins.
    """
    rows, cols = region.data.shape
    return rows > 1 and np.array_equal(strays.active, np.arange(cols))


def row_of_none(launch: Launch, call: Call, region: Region, first: int) -> str:
    """Return an explanation if a block begins beyond a one-row array, or "".

    first: the offset of the block's first element.
    """
    own = numbers(launch, call)
    found = [s for s in sorted(strides(launch)) if first in {k * s for k in own}]
    if first < region.span // region.itemsize or not found:
        return ""
    told = {"array": region.name, "first": first, "stride": found[0]}
    return launch.words("one-row", **told)["why"]


def numbers(launch: Launch, call: Call) -> set[int]:
    """Return the numbers that a call's program can have, other than 0."""
    x, y, _ = launch.grid
    return {call.program, call.program % x, call.program // x % y} - {0}


def strides(launch: Launch) -> set[int]:
    """Return the row strides and row lengths of a launch's matrices, in elements."""
    found = set()
    for region in launch.arena.regions:
        if region.data.ndim == 2:
            found |= {region.data.strides[0] // region.itemsize, region.data.shape[1]}
    return found


def rows_apart(done: Done, some: Columns | None = None) -> tuple[list[Note], str]:
    """Find a block whose rows are not as far apart as those of its array.

    some: a mask of the trace's accesses that are considered, by default all. Returns
    the block's line with a note, and an explanation; or ([], "") if there is none.
    """
    launch, trace = done.launch, done.trace
    calls = np.unique(trace.call if some is None else trace.call[some])
    for number in calls.tolist():
        call = trace.calls[number]
        if sum(n > 1 for n in call.shape) != 2:
            continue
        begin, end = np.searchsorted(trace.call, (number, number + 1))
        rows = slice(begin, end)
        regions = np.unique(trace.array[rows])
        region = launch.arena.regions[int(regions[0])]
        step = row_step(call, region, trace.lane[rows], trace.address[rows])
        if regions.size == 1 and step:
            stride = region.data.strides[0] // region.itemsize
            told = {"array": region.name, "step": step, "stride": stride}
            note = f"rows of {region.name} are {step:,} apart here"
            return [(call.place, note)], launch.words("rows-apart", **told)["why"]
    return [], ""


def row_step(call: Call, region: Region, lanes: Columns, cells: Columns) -> int:
    """Return the distance between neighbouring rows of a block with two dimensions.

    lanes, cells: of the block's active elements. Returns 0 if the distance is not the
    same everywhere, or if it fits the array: whole rows of it, or single elements.
    """
    if region.data.ndim != 2 or 1 in region.data.shape:
        return 0
    stride, one = (s // region.itemsize for s in region.data.strides)
    offsets = np.full(call.shape, -1)
    offsets.flat[lanes] = cells
    offsets = offsets.squeeze()
    steps = []
    for block in (offsets, offsets.T):
        both = (block[1:] >= 0) & (block[:-1] >= 0)
        found = np.unique((block[1:] - block[:-1])[both])
        if found.size != 1:
            return 0
        steps.append(int(found[0]))
    step = max(steps, key=lambda s: s != one)
    return step if one in steps and step != one and step % stride else 0
