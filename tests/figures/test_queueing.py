"""The figure on launches and graphs, against formulas and against what must hold."""

import itertools
from typing import Any

from test_schedules import called

STEPS, KERNELS = 3, 5
TIMES = [
    {"queue": queue, "run": run}
    for queue, run in itertools.product((2, 7, 10, 20), (2, 4, 10, 11, 40))
]


def timelines(how: str) -> list[Any]:
    asked = [("timeline", case | {"how": how}) for case in TIMES]
    return called("queueing_rules", *asked)


def one_by_one(calls: int, queue: int, run: int) -> int:
    """Return the time of kernels queued one by one: the slower side decides."""
    return max(calls * queue + run, queue + calls * run)


def test_totals_are_those_of_the_formulas() -> None:
    all_kernels = STEPS * KERNELS
    rows = zip(
        TIMES, *(timelines(how) for how in ("launches", "waits", "graph")), strict=True
    )
    for case, launches, waits, graph in rows:
        queue, run = case["queue"], case["run"]
        assert launches["total"] == one_by_one(all_kernels, queue, run)
        assert waits["total"] == STEPS * one_by_one(KERNELS, queue, run)
        assert graph["total"] == one_by_one(STEPS, queue, KERNELS * run)
        gains = graph["total"] < launches["total"]
        assert gains == (queue > run), case


def test_nothing_runs_before_it_is_queued_or_beside_another() -> None:
    for how in ("launches", "waits", "graph"):
        for case, found in zip(TIMES, timelines(how), strict=True):
            assert len(found["gpu"]) == STEPS * KERNELS
            calls = [span for span in found["host"] if span["what"] == "queue"]
            each = KERNELS if how == "graph" else 1
            assert len(calls) == STEPS * KERNELS // each
            for number, kernel in enumerate(found["gpu"]):
                assert kernel["end"] - kernel["start"] == case["run"]
                assert kernel["start"] >= calls[number // each]["end"]
            for row in (found["host"], found["gpu"]):
                pairs = itertools.pairwise(row)
                assert all(a["end"] <= b["start"] for a, b in pairs)


def test_a_wait_ends_when_the_step_does() -> None:
    for found in timelines("waits"):
        for step in range(STEPS):
            last = [span for span in found["gpu"] if span["step"] == step][-1]
            own = [span for span in found["host"] if span["step"] == step]
            assert own[-1]["what"] == "wait"
            assert own[-1]["end"] == last["end"]
