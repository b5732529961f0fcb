"""Look for what has led to missing or wrong elements of an output."""

from dataclasses import replace
from typing import Any

import numpy as np

from weft.checking.compare import agrees
from weft.checking.verdict import Failed
from weft.programs import launching
from weft.programs.launching import Done
from weft.simulator.trace.trace import READ
from weft.wording import several


def axes_exchanged(done: Done, backwards: bool) -> str:
    """Return a note if the results are right once two axes of the grid are exchanged.

    The launch is repeated with such a grid. Returns "" for any other results, and if
    the learner has chosen the grid.
    """
    launch = done.launch
    x, y, z = launch.grid
    if x == y or launch.exercise.checks_launch:
        return ""
    other = replace(launching.again(launch), grid=(y, x, z), axes=max(launch.axes, 2))
    try:
        if not all_right(launch.exercise.run(other, backwards)):
            return ""
    except Failed:
        return ""
    if launch.axes > 1:
        told = {"grid": launch.shape, "other": other.shape}
        return launch.words("axes-exchanged", **told)["why"]
    return launch.words("other-axis")["why"]


def all_right(done: Done) -> bool:
    """Return whether every element of the outputs is stored, with the right value."""
    launch, trace = done.launch, done.trace
    stored = trace.address[trace.operation != READ]
    regions = [region for region in launch.arena.regions if not region.readonly]
    return all(
        agrees(region.data, wanted, launch.exercise.tolerance)
        and (not region.fresh or launch.arena.written(region, stored).all())
        for region, wanted in zip(regions, launch.case.expected, strict=True)
    )


def missing_columns(done: Done, marks: Any, stores: Any) -> str:
    """Return a note if every row of an output lacks the same last columns, else "".

    marks: a mask of the written elements. stores: a mask of the trace's stores to the
    array.
    """
    if marks.ndim != 2 or not marks.any():
        return ""
    first = int(np.count_nonzero(marks[0]))
    if not marks[:, :first].all() or marks[:, first:].any():
        return ""
    launch, trace = done.launch, done.trace
    calls, active = np.unique(trace.call[stores], return_counts=True)
    programs = [trace.calls[k].program for k in calls]
    counts = np.unique(programs, return_counts=True)[1]
    count, width = int(counts[0]), int(active[0])
    kinds = {(trace.calls[k].place, trace.calls[k].shape) for k in calls}
    whole = [shape for _, shape in kinds] == [(width,)] and (active == width).all()
    if whole and (counts == count).all() and count > 1 and count * width == first:
        rest = several(marks.shape[1] - first, "column")
        told = {"first": first, "width": width, "rest": rest}
        return launch.words("whole-blocks", count=count, **told)["why"]
    return launch.words("columns-missing", first=first, count=launch.count)["why"]
