"""Which thread stored each element of an output last."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.simulator.limits import WARP
from weft.simulator.trace import columns
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import Trace


@dataclass(frozen=True)
class Owners:
    """For each element of an output, flat and in C order, its last store's thread.

    block and thread are ranks, -1 for an element to which no thread has stored.
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


def owners(trace: Trace, name: str, output: np.ndarray[Any, Any]) -> Owners | None:
    """Find the owners of `output`; None where not every block was written down."""
    if trace.blocks < trace.all_blocks or name not in trace.bases:
        return None
    offset = sum(
        index * stride
        for index, stride in zip(np.indices(output.shape), output.strides, strict=True)
    )
    offset = np.ravel(offset) // output.itemsize
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
