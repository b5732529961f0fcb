"""Outside arrays that a kernel reads: constant memory holds 64 KB of them.

Numba copies such an array into the kernel wherever its name occurs there, so a table
that is named three times takes three times its size. Using only its shape or size
takes no memory.
"""

import dis
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from weft import meaning
from weft.code_objects import code_tree
from weft.places import Place
from weft.simulator.faults import Fault

MOST = 64 * 1024  # bytes, for every capability
# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability";
# beyond that, ptxas stops with "File uses too much global constant data".
WHY = (
    f"An array from outside is a constant to a kernel, and constant memory holds "
    f"{MOST:,} bytes (64 KB). Numba makes a copy of the array at each place that "
    "mentions it. Pass a large table as an argument: then it is in global memory."
)
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_FREE = ("shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides")

Mention = tuple[str, int, Place]  # an array's name, its size in bytes, and the place


@lru_cache(256)
def mentions(code: CodeType) -> tuple[tuple[str, int], ...]:
    """Return the name and line of each use of an outside value in `code`.

    Uses that only read an attribute of the value, such as `shape`, do not count.
    """
    found = []
    for part in code_tree(code):
        steps = [s for s in dis.get_instructions(part) if s.opname != "CACHE"]
        line = part.co_firstlineno
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            line = (step.positions and step.positions.lineno) or line
            free = after is not None and after.argval in _FREE
            if step.opname in _LOADS and not free:
                found.append((str(step.argval), line))
    return tuple(found)


def copied(function: FunctionType, seen: set[Any] | None = None) -> Iterator[Mention]:
    """Yield each mention of a global or captured array in a kernel.

    Mentions in its device functions are included. Numba copies the array at each
    mention.
    """
    seen = set() if seen is None else seen
    if function in seen:
        return
    seen.add(function)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    scope = {name: _value(cell) for name, cell in cells}
    for name, line in mentions(function.__code__):
        value = scope[name] if name in scope else function.__globals__.get(name)
        if isinstance(value, np.ndarray):
            file = function.__code__.co_filename
            text = linecache.getline(file, line).strip()
            yield name, value.nbytes, Place(function.__name__, line, text, file=file)
        elif (inner := meaning.python_function(value)) is not None:
            yield from copied(inner, seen)


def _value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has no value yet
        return None


def hold(function: FunctionType) -> None:
    """Raise `Fault` if an array that a kernel copies is too large for constant memory.

    Whether several arrays are too large together is left to the compiler, which drops
    those that have no effect.
    """
    for name, size, place in copied(function):
        if size > MOST:
            raise Fault(
                "type",
                f"the array `{name}`, which is no argument, has {size:,} bytes",
                WHY,
                places=[place],
            )
