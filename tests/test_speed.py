"""The simulator and the checks are quick enough to be used without a thought."""

import sys
import time
from pathlib import Path

import pytest

import weft

from test_kernels import FILES, checks, label, run, scope_of  # isort: skip

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(weft.GPU, reason="Numba's simulator does not run here"),
]


def test_many_times_as_fast_as_numbas_simulator() -> None:
    """25 times untraced, 8 times with a trace in which hazards are looked for.

    Measured on two cores: 30 and 12. A busy machine has three attempts.
    """
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import simulator_speed
    finally:
        sys.path.pop(0)
    for _ in range(3):
        found = simulator_speed.compare()
        if found["ratio"] >= 25 and found["sanitised_ratio"] >= 8:
            return
    pytest.fail(f"not often enough: {found}")


def test_every_check_of_the_labs_takes_less_than_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.record", lambda *_: None)
    took = {}
    for path in FILES:
        if not path.name.startswith("right_"):
            continue
        lab, exercise = path.parts[-3:-1]
        scope = scope_of(lab)
        run(path.read_text(encoding="utf-8"), f"<{label(path)}>", scope)
        start = time.process_time()
        assert run(checks(lab)[exercise], "<check>", scope)
        took[label(path)] = time.process_time() - start
    slow = {label: seconds for label, seconds in took.items() if seconds > 2}
    assert not slow, slow
    assert took
