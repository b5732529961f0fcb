"""What the figure on trees counts, against the simulator's counters."""

import pytest

import weft

from numba import cuda, float32  # isort: skip
import numpy as np
from test_schedules import called

from weft.counters import count
from weft.simulator import record

BLOCK, STEPS = 256, 8
assert weft


def one_step(tree: str, step: int):
    """Return a kernel that takes one step of a tree, in a block of 256."""
    gap = BLOCK >> step if tree == "halves" else 1 << (step - 1)

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(BLOCK, float32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncthreads()
        place = 2 * gap * t if tree == "packed" else t
        adds = t % (2 * gap) == 0
        if tree == "packed":
            adds = place < BLOCK
        if tree == "halves":
            adds = t < gap
        if adds:
            out[t] = tile[place]

    return kernel


@pytest.mark.parametrize("tree", ["interleaved", "packed", "halves"])
def test_a_step_costs_what_the_simulator_counts(tree: str) -> None:
    found = called("tree_rules", *[("counted", tree, s + 1) for s in range(STEPS)])
    for step, cost in enumerate(found, 1):
        trace, _ = record(one_step(tree, step), (1, BLOCK), (np.zeros(BLOCK),))
        load = next(n for n in count(trace) if n.shared and not n.store)
        assert cost["warps"] == load.requests
        assert cost["idle"] == 32 * load.requests - load.lanes
        passes = 1 + load.conflicts / load.requests
        assert cost["passes"] == pytest.approx(passes), (tree, step)


def test_warps_come_to_the_addition() -> None:
    for tree, warps in (("interleaved", 47), ("packed", 12), ("halves", 12)):
        steps = [("counted", tree, s + 1) for s in range(STEPS)]
        assert sum(cost["warps"] for cost in called("tree_rules", *steps)) == warps
