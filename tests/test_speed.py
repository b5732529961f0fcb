"""The simulator and the checks are quick enough to be used without a thought.

Times are compared, so these tests run alone, and what they compare is chosen to stay
the same when other programs run. Processor time on one core does. How long one waits
for Numba's simulator does not: its threads fight for the interpreter, and the longer,
the more cores are free for it (see benchmarks/simulator_speed.py). That is what a
learner would wait for on an idle machine, so it is asserted there, and only there.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest

import weft

from test_kernels import FILES, LABS, cell_of, cells, checks, run, scope_of  # isort: skip

ROOT = Path(__file__).parents[1]
QUIET = 0.1  # of a core in use by other programs
SECONDS = 2.0  # that a check may take

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


@pytest.mark.parametrize("lab", LABS)
def test_every_check_of_a_lab_takes_less_than_two_seconds(
    lab: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the lab's solution and with other right kernels; processor time."""
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.record", lambda *_: None)
    typed = {exercise: [solution(lab, exercise)] for exercise in checks(lab)}
    for path in FILES:
        if path.parts[-3] == lab and path.name.startswith("right_"):
            typed[path.parts[-2]].append(cell_of(path))
    took = []
    for exercise, kernels in typed.items():
        for number, source in enumerate(kernels):
            scope = scope_of(lab)
            run(source, f"<{lab}/{exercise} {number}>", scope)
            spent = time_of_check(lab, exercise, scope)
            if spent > SECONDS:  # a slow moment of the machine is no slow check
                spent = min(spent, time_of_check(lab, exercise, scope))
            took.append((spent, exercise, number))
    took.sort(reverse=True)
    print(*(f"{seconds:.2f} s {exercise}" for seconds, exercise, _ in took[:5]))
    assert not took or took[0][0] < SECONDS, took[:5]


def time_of_check(lab: str, exercise: str, scope: dict[str, Any]) -> float:
    start = processor_time()
    assert run(checks(lab)[exercise], "<check>", scope)
    return processor_time() - start


def processor_time() -> float:
    """Seconds of this process and of the programs that it has waited for."""
    return sum(os.times()[:4])


def solution(lab: str, exercise: str) -> str:
    """The cell of a lab's solution that defines what an exercise asks for."""
    forms = (rf"def {exercise}\(", rf"{exercise} =", rf"%%\w+ {exercise}$")
    found = [
        cell.source
        for form in forms  # a function of that name rather than a value
        for cell in cells(lab)
        if re.search(f"^{form}", cell.source, re.MULTILINE)
    ]
    assert found, f"{lab} does not define {exercise}"
    return str(found[0])
