"""The figure on a training step, against the rows that it is made of."""

import itertools
import sys
from typing import Any

import pytest
from built_book import ROOT
from test_schedules import called

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from weft_book import results
from weft_book.play import written

from weft import units

MODULE = "training_step_rules"
LAB = "35_mnist_cnn"
NORMS = ", batch normalisation"


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    """What the figure is given by its page, out of results/."""
    (state,) = [state for name, state in written(ROOT) if name == "training_step"]
    found: list[Any] = state["runs"]
    return found


@pytest.fixture(scope="module")
def measured() -> results.Results:
    return results.read(results.path_of(ROOT, LAB, "nvidia-h200"))


def of(run: dict[str, Any]) -> str:
    return f"batch {run['batch']}{NORMS if run.get('norms') else ''}"


def test_each_batch_is_shown_with_its_own_rows(
    runs: list[Any], measured: results.Results
) -> None:
    assert [of(run) for run in runs] == [
        f"batch {n}{norms}" for norms in ("", NORMS) for n in (64, 1024)
    ]
    for run in runs:
        rows = measured.of_case(f"kernels, {of(run)}")
        assert [name for name, _ in run["kernels"]] == [row.name for row in rows]


def test_kernels_follow_one_another_and_take_what_was_measured(
    runs: list[Any], measured: results.Results
) -> None:
    answers = called(MODULE, *[("spans", run["kernels"]) for run in runs])
    for run, spans in zip(runs, answers, strict=True):
        rows = measured.of_case(f"kernels, {of(run)}")
        *kernels, together = rows
        assert together.name.startswith("all ")
        assert [span["name"] for span in spans] == [row.name for row in kernels]
        assert spans[0]["start"] == 0
        for one, after in itertools.pairwise(spans):
            assert one["end"] == after["start"]
        for span, row in zip(spans, kernels, strict=True):
            assert span["end"] - span["start"] == pytest.approx(row.ms / 1e3)
        # Kernels measured alone make up the step, so a time line of them is one of it.
        assert spans[-1]["end"] == pytest.approx(together.ms / 1e3, rel=0.1)


def test_a_step_is_half_of_the_two_that_were_measured(
    runs: list[Any], measured: results.Results
) -> None:
    names = ("fused, one graph", "torch, best")
    asked = [("step", run["steps"], name) for run in runs for name in names]
    found = iter(called(MODULE, *asked))
    for run in runs:
        for name in names:
            row = measured.find(f"2 steps, {of(run)}", name)
            assert next(found) == pytest.approx(row.ms / 2e3)
    assert called(MODULE, ("step", runs[0]["steps"], "another")) == [None]


def test_kinds_are_those_of_one_step(
    runs: list[Any], measured: results.Results
) -> None:
    profiled = [run for run in runs if "kinds" in run]
    assert [run["batch"] for run in profiled] == [1024, 1024]
    for run, kinds in zip(
        profiled,
        called(MODULE, *[("kinds", run["kinds"]) for run in profiled]),
        strict=True,
    ):
        rows = measured.of_case(f"torch, best: 2 steps, {of(run)}, by kind")
        for kind, row in zip(kinds, rows, strict=True):
            assert kind["name"] == row.name
            assert kind["seconds"] == pytest.approx(row.value / 2e6)


def test_times_are_written_as_on_the_pages(runs: list[Any]) -> None:
    times = [seconds for run in runs for _, seconds in run["kernels"]]
    short = [seconds for seconds in times if seconds < 1e-4]
    found = called(MODULE, *[("micros", seconds) for seconds in short])
    assert found == [units.time(1e3 * seconds) for seconds in short]
