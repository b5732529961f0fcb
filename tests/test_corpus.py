"""A corpus of small kernels: every mistake is named, and nothing else is called one.

Every file of tests/corpus is judged by `check` with its own arguments. The
verdict must have the kind that the file announces and name exactly the marked lines,
apart from those that it shows to explain an index: conditions, and where it was set.
"""

import re
from collections import Counter

import pytest

import weft  # noqa: F401  before Numba

from verification.corpus import Kernel, corpus, of_labs  # isort: skip
from weft import check

KERNELS = corpus()
EXPLAINS = re.compile(
    r"lets it through|is false here|comes before it|[\d,]+ of [\d,]+ threads pass|"
    r"`[^`]+` (is -?\d+.*|is in bounds|counts along x|ends at \d+)|sets `\w+`"
)
CLASSES = {
    "bank_conflicts",
    "barrier",
    "endless_loop",
    "input_written",
    "launch",
    "lost_update",
    "missing_barrier",
    "negative_index",
    "out_of_bounds",
    "python",
    "race_global",
    "race_shared",
    "sectors",
    "uninitialised",
    "unwritten",
    "warp",
    "wrong_value",
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.label)
def test_verdict(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    function, arguments = kernel.load()
    verdict = check(function, **arguments)
    assert verdict.kind == kernel.verdict, f"\n{verdict!r}"
    first, more = verdict.places[:1], verdict.places[1:]
    places = [*first, *(note for note in more if not EXPLAINS.fullmatch(note[1]))]
    named = sorted({place.line for place, _ in places})
    assert named == kernel.marked, f"\n{verdict!r}"


def test_wrong_and_right() -> None:
    for kernel in KERNELS:
        assert kernel.path.stem.startswith(("wrong_", "right_")), kernel.label
        assert kernel.wrong == (kernel.verdict != "pass"), kernel.label


def test_there_are_enough() -> None:
    wrong = [k for k in KERNELS if k.wrong]
    assert len(KERNELS) >= 80
    assert len(wrong) >= 50
    assert len(KERNELS) - len(wrong) >= 30
    assert {k.group for k in KERNELS} == CLASSES
    assert min(Counter(k.group for k in wrong).values()) >= 3
    assert {k.group for k in KERNELS if not k.wrong} == CLASSES


def test_a_name_says_which_kernel() -> None:
    names = Counter(k.function for k in KERNELS)
    assert [name for name, count in names.items() if count > 1] == []


def test_the_labs_kernels_have_the_same_head() -> None:
    assert all(k.thinking for k in of_labs())
