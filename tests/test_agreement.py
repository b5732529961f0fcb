"""What stands beside NVIDIA's tools is what we say today; differences are explained.

The measurements need a GPU; whether they belong to these kernels, and our side of the
table, are computed anew here.
"""

from collections import Counter

import pytest

import weft  # noqa: F401  before Numba

from verification import agreement, comparison, patterns  # isort: skip
from verification.corpus import ROOT, Kernel, corpus

FOUND = comparison.read(ROOT)
KERNELS = corpus()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.label)
def test_our_side_of_the_table(kernel: Kernel) -> None:
    """What the corpus announces, and test_corpus sees `check` say, stands here too."""
    if kernel.function not in FOUND.kernels:
        pytest.skip("not measured yet: python -m verification.measure, on a GPU")
    entry = FOUND.kernels[kernel.function]
    assert entry["label"] == kernel.label
    if entry["digest"] != kernel.digest:
        pytest.fail("this kernel was changed after it was measured; measure it again")
    assert (entry["verdict"], entry["lines"]) == (kernel.verdict, kernel.marked)
    if "counters" in entry:
        trace = agreement.trace_of(kernel)
        assert trace is not None
        totals = agreement.ours(trace)
        assert {k: pair[0] for k, pair in entry["counters"].items()} == {
            k: totals[k] for k in entry["counters"]
        }


def test_a_kernel_is_judged_for_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    kernel = next(k for k in KERNELS if k.wrong and len(k.marked) > 1)
    assert agreement.judged(kernel) == {
        "digest": kernel.digest,
        "verdict": kernel.verdict,
        "lines": kernel.marked,
    }


def test_nothing_else_was_measured() -> None:
    assert set(FOUND.kernels) <= {kernel.function for kernel in KERNELS}
    assert len(FOUND.kernels) >= 80


def test_our_counts_of_single_requests() -> None:
    known = {pattern.label: pattern for pattern in patterns.patterns()}
    assert set(FOUND.patterns) == set(known)
    for label, pairs in FOUND.patterns.items():
        trace = agreement.request_of(known[label])
        totals = agreement.ours(trace)
        assert {k: pair[0] for k, pair in pairs.items()} == {
            k: totals[k] for k in pairs
        }, label


@pytest.mark.parametrize("part", ["counters", "verdicts", "patterns"])
def test_every_difference_is_explained_and_nothing_else(part: str) -> None:
    explained = Counter(name for cause in FOUND.causes[part] for name in cause.of)
    assert max(explained.values()) == 1
    assert set(explained) == comparison.differences(FOUND)[part]


def test_right_kernels_are_right_on_the_gpu_and_no_tool_minds_them() -> None:
    right = [e for e in FOUND.kernels.values() if e["verdict"] == "pass"]
    assert len(right) >= 30
    assert all(e["on the GPU"] == "right" and not e["tools"] for e in right)


def test_the_tools_find_what_they_look_for() -> None:
    """Racecheck sees shared memory: nearly all of those races are its own, too."""
    wrong = [e for e in FOUND.kernels.values() if e["verdict"] == "race"]
    shared = [
        e for e in wrong if e["label"].startswith(("race_shared/", "missing_barrier/"))
    ]
    assert sum(comparison.same_verdict(e) for e in shared) >= len(shared) - 2
