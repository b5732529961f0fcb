"""Limits on what the threads of a block share: values, loads, memory."""

import numpy as np

from weft.checking.verdict import Failed, Verdict
from weft.counters import Line
from weft.kernels.exercise import KernelExercise
from weft.places import Note, Place
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns, Flags
from weft.simulator.trace.trace import GLOBAL, READ, SHARED, Trace
from weft.wording import joined, several

LINES = 4  # the most that a verdict shows


def handed_over(exercise: KernelExercise, last: Trace, _: list[Line]) -> str:
    """Check how often, per block, a shared-memory load gets another thread's value."""
    each = loads_from_others(last) / last.blocks
    if each < exercise.limits["handed_over"]:
        raise Failed(too_few_handed_over(exercise, last, each))
    mean = ", on average" * (each % 1 > 0)
    return f"shared memory: {several(each, 'value')} per block from other threads{mean}"


def loads_from_others(last: Trace) -> int:
    """Count the loads from shared memory of values that another thread stored."""
    rows = np.flatnonzero(last.space == SHARED)
    if not rows.size:
        return 0
    start, stop = last.address[rows], last.address[rows] + last.size[rows]
    width = columns.unit(start, last.size[rows])
    cell, each = columns.spread(start // width, stop // width)
    rows = rows[each]
    order, _ = columns.order(last.block[rows], cell, rows)
    rows, cell = rows[order], cell[order]
    block, thread = last.block[rows], last.thread[rows]
    reads = last.operation[rows] == READ
    here = np.arange(rows.size)
    stored = np.maximum.accumulate(np.where(reads, -1, here))  # the last store so far
    same = (stored >= 0) & (cell[stored] == cell) & (block[stored] == block)
    return int((reads & same & (thread[stored] != thread)).sum())


def too_few_handed_over(exercise: KernelExercise, last: Trace, each: float) -> Verdict:
    """Return the verdict on threads that get too few values from each other."""
    load = (last.space == GLOBAL) & (last.operation == READ)
    own = (last.space == SHARED) & (last.operation == READ)
    places = busy_lines(last, load)
    if not each and own.any():
        note = "each thread loads what it has stored itself"
        places = [*((place, note) for place, _ in busy_lines(last, own)), *places]
    message = "No thread loads from shared memory what another thread has stored there."
    if each:
        least = exercise.limits["handed_over"]
        message = (
            f"Through shared memory, the threads of a block get "
            f"{several(each, 'value')} from each other; this exercise asks for "
            f"{least:,} or more."
        )
    return exercise.verdict(
        "unshared",
        message,
        "The result is right, but this exercise is about handing values over: one "
        "thread loads a value and stores it in shared memory, and another thread uses "
        "it. Which element should each thread store there, and which one should it "
        "load after the barrier?",
        places,
    )


def busy_lines(last: Trace, chosen: Flags, what: str = "load") -> list[Note]:
    """Return the lines with the most accesses among `chosen`, each with its count.

    what: what these accesses are called.
    """
    sites, times = np.unique(last.site[chosen], return_counts=True)
    most = sorted(zip(-times, sites, strict=True))[:LINES]
    return [(last.places[site], several(int(-n), what)) for n, site in most]


def unguarded_loads(exercise: KernelExercise, last: Trace, _: list[Line]) -> str:
    """Check how many lines load from global memory equally often in all threads.

    A whole block may skip such a line, for example because its tile is full or absent.
    """
    rows = np.flatnonzero((last.space == GLOBAL) & (last.operation == READ))
    places = list(dict.fromkeys(last.places[s] for s in np.unique(last.site[rows])))
    line = np.array([places.index(p) if p in places else -1 for p in last.places])
    line, block, thread = line[last.site[rows]], last.block[rows], last.thread[rows]
    skipped = {k for k in range(len(places)) if _uneven(last, line == k, block, thread)}
    whole = [place for k, place in enumerate(places) if k not in skipped]
    if len(whole) < exercise.limits["unguarded_loads"]:
        raise Failed(too_few_unguarded(exercise, [places[k] for k in skipped]))
    return f"global memory: {several(len(whole), 'line')} with a load by every thread"


def _uneven(last: Trace, here: Flags, block: Columns, thread: Columns) -> bool:
    """Return whether, in blocks that load, some threads load less often than others."""
    width = int(np.prod(last.block_size))
    blocks, number = np.unique(block[here], return_inverse=True)
    times = np.bincount(number * width + thread[here], minlength=blocks.size * width)
    return bool(times.min() < times.max())


def too_few_unguarded(exercise: KernelExercise, guarded: list[Place]) -> Verdict:
    """Return the verdict on loads that some threads skip because of a condition."""
    return exercise.verdict(
        "guarded",
        "Some threads of a block skip this load, because a condition does not let them "
        "through.",
        "The compiler does not issue a load before it knows the outcome of the branch "
        "before it, so a thread's loads wait for each other. Which element that exists "
        "could a thread beyond the edge load instead, if the value is not used?",
        [(place, "not in every thread") for place in guarded[:LINES]],
    )


def shared_bytes(exercise: KernelExercise, last: Trace, _: list[Line]) -> str:
    """Check how many bytes of shared memory the arrays of a block take."""
    rows = np.flatnonzero(last.space == SHARED)
    ends = [int((last.address[rows] + last.size[rows]).max(initial=0))]
    arrays = np.unique(last.array[rows]).tolist()
    for array in arrays:
        start, shape = last.extents[array]
        if shape:
            ends.append(start + int(np.prod(shape)) * last.dtypes[array].itemsize)
    if max(ends) > exercise.limits["shared_bytes"]:
        raise Failed(too_many_bytes(exercise, last, max(ends), arrays))
    return f"shared memory: {several(max(ends), 'byte')} per block"


def too_many_bytes(
    exercise: KernelExercise, last: Trace, most: int, arrays: list[int]
) -> Verdict:
    """Return the verdict on shared arrays that are larger than they need to be."""
    names = {last.arrays[array] for array in arrays}
    written = joined(f"`{name}`" for name in sorted(names))
    take = "takes" if len(names) == 1 else "take"
    return exercise.verdict(
        "shared-bytes",
        f"{written} {take} {several(most, 'byte')} of each block's shared memory; "
        f"{exercise.limits['shared_bytes']:,} are enough.",
        "The less shared memory a block takes, the more blocks fit on an SM. Which "
        "cells does no thread use, and how could the others do without them?",
        busy_lines(last, last.space == SHARED, "access"),
    )
