"""Memory that is read before it is written: whether that matters.

At the edge of a matrix a thread often computes with cells of a tile that no thread has
filled, and throws the result away. On a GPU that is harmless, and kernels are written
so; to refuse them would teach a guard that they do not need. So the launch is run again
with other contents in shared and local memory. Where every access is the same and every
result too, what was read has reached no memory, no branch and no index: the kernel is
right, and a note says what compute-sanitizer's initcheck would say of it.
"""

from typing import Any

import numpy as np

from weft.kernels.exercise import Trial
from weft.kernels.hazards import Hazard, lines_of
from weft.kernels.traced import Done, traced
from weft.places import named, unravel
from weft.sanitizer import Unwritten, unwritten
from weft.simulator import Fault
from weft.simulator.trace.trace import Trace

Array = np.ndarray[Any, Any]

CONTENTS = (0, 1, 77_777)  # of memory that no thread has written


Cells = list[tuple[Array, Array]]  # shared memory: as it was made, and in the end


def harmless(trial: Trial, done: Done, hazard: Hazard, backwards: bool) -> bool:
    """Whether a hazard is the read of something unset that changes nothing."""
    missing = unwritten(done.trace)
    if hazard.verdict.kind != "uninitialised" or missing is None:
        return False
    if missing.space == "global":
        return False
    first: Cells | None = None
    for content in CONTENTS:
        cells: Cells = []
        other = again(trial, content, cells, backwards)
        if other is None or not same(done, other):
            return False
        if first is not None and not all(map(untouched, first, cells)):
            return False
        first = first or cells
    return True


def again(trial: Trial, content: int, cells: Cells, backwards: bool) -> Done | None:
    """The launch with other contents in new memory, None if it fails then.

    They are another number in every element. `cells` gets all that is shared.
    """

    def fill(data: Array, space: str) -> None:
        fill_with(data, content)
        if space == "shared":
            cells.append((data.copy(), data))

    try:
        return traced(trial, backwards=backwards, fill=fill)
    except Fault:
        return None


def fill_with(data: Array, content: int) -> None:
    """Put `content` and the numbers after it into `data`, each once if they fit."""
    if data.dtype.names:
        for name in data.dtype.names:
            fill_with(data[name], content)
    else:
        numbers = content + 3 * np.arange(data.size)
        data[...] = numbers.astype(data.dtype).reshape(data.shape)


def same(done: Done, other: Done) -> bool:
    """Whether two launches did the same, with the same results."""
    a, b = done.trace, other.trace
    accesses = all(
        np.array_equal(getattr(a, column), getattr(b, column))
        for column in ("site", "space", "address", "operation", "thread", "block")
    )
    return accesses and all(
        one.tobytes() == two.tobytes()
        for one, two in zip(done.outputs, other.outputs, strict=True)
    )


def untouched(one: tuple[Array, Array], two: tuple[Array, Array]) -> bool:
    """Whether shared memory holds in the end what it did at first, or equal numbers."""
    (made, left), (made_two, left_two) = one, two
    kept = (left == made) & (left_two == made_two)
    equal = (left == left_two) | ((left != left) & (left_two != left_two))
    return bool(np.all(kept | equal))


def note(trace: Trace) -> str:
    """What a check that passes says of such a read."""
    missing = unwritten(trace)
    assert isinstance(missing, Unwritten)
    access = missing.access
    thread = named(unravel(access.thread, trace.block_size))
    element = trace.element(access.row) or f"an element of {missing.array}"
    return (
        f"note: on {lines_of([access.place], trace.name)} thread {thread} reads "
        f"`{element}`, which no thread has written. Nothing that is stored depends on "
        f"it; compute-sanitizer's initcheck would report it"
    )
