"""The simulator is quick enough to be used without a thought.

Times are compared, so these tests run alone, and what they compare is chosen to stay
the same when other programs run. Processor time on one core does. How long one waits
for Numba's simulator does not: its threads fight for the interpreter, and the longer,
the more cores are free for it (see benchmarks/simulator_speed.py). That is what a
learner would wait for on an idle machine, so it is asserted there, and only there.
"""

import os
from pathlib import Path
from typing import Any

import pytest

import weft

ROOT = Path(__file__).parents[1]
QUIET = 0.1  # of a core in use by other programs

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(weft.GPU, reason="Numba's simulator does not run here"),
]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("resource")
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("needs Linux, to run on one core and to see who else runs")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import simulator_speed

    return simulator_speed


def test_many_times_as_fast_as_numbas_simulator_on_one_core(benchmark: Any) -> None:
    """There 12 times, and 4.5 with a trace in which hazards are looked for."""
    found = benchmark.compare(pinned=True)
    assert found["ratio"] > 8, found
    assert found["sanitised_ratio"] > 3, found


def test_one_waits_a_25th_of_the_time_for_it(benchmark: Any) -> None:
    """On two cores a 34th, and a 14th with a trace and a look for hazards."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core Numba's threads do not fight")
    for _ in range(3):
        found = benchmark.compare()
        if found["ratio"] >= 25 and found["sanitised_ratio"] >= 8:
            return
        assert found["others"] > QUIET, f"on a quiet machine: {found}"
    pytest.skip(f"other programs leave less than two cores: {found}")
