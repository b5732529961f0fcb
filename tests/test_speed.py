"""The simulator is quick enough to be used without a thought.

Seconds say little on a busy machine, and little about another one. So two things are
looked at. How many instructions Python executes for a launch is the same on every
machine. And each simulator's processor time is divided by that of a loop of Python,
timed in the same process before and after each launch; even so, one kind of processor
gives half the ratio of another, hence limits of a fifth of what was once measured. How
long one waits depends on the cores that other programs leave: Numba's threads fight for
the interpreter, the longer the more cores are free. That number is the benchmark's
alone, see benchmarks/simulator_speed.py; here it is only seen that our simulator starts
no threads that could fight.
"""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting import instructions_run

import weft

from numba import cuda  # isort: skip
from weft.simulator import record, simulate

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(weft.GPU, reason="Numba's simulator does not run here")


@pytest.mark.alone
def test_many_times_as_fast_as_numbas_simulator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """56 times, and 27 with a trace in which hazards are looked for, on one machine.

    On two others it was 24 to 36 times, and 13 to 18.
    """
    pytest.importorskip("resource")
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("needs Linux, to run on one core")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import simulator_speed

    found = {
        which: simulator_speed.apart(which, "matmul", 64, pinned=True)["relative"]
        for which in ("numba", "ours", "sanitised")
    }
    assert found["numba"] / found["ours"] > 10, found
    assert found["numba"] / found["sanitised"] > 5, found


@pytest.mark.parametrize(("way", "most"), [("ours", 66), ("sanitised", 138)])
def test_a_multiplication_takes_few_of_pythons_instructions(
    way: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """55, and 115 with a trace in which hazards are looked for, in Python 3.11."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import simulator_speed
    from launches import TILE, matmul

    size = 2 * TILE
    a = np.ones((size, size), np.float32)
    given = (a, a, np.zeros_like(a))
    launch = simulator_speed.way(way)
    launch(matmul, ((2, 2), (TILE, TILE)), given)  # compiled and kept from here on
    executed = instructions_run(lambda: launch(matmul, ((2, 2), (TILE, TILE)), given))
    assert size**3 < executed < most * size**3


@pytest.mark.parametrize("launch", [simulate, record])
def test_a_launch_starts_no_threads(
    launch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        cuda.syncthreads()
        out[i] = i

    def refuse(thread: threading.Thread) -> None:
        raise AssertionError(f"{thread} was started")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    out = np.zeros(64, np.int32)
    launch(kernel, (2, 32), (out,))
    assert (out == np.arange(64)).all()
