"""Lanes that `activemask` happens to report, and lanes that have ended."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict

FULL = 0xFFFFFFFF


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.delenv("WEFT_STRICT", raising=False)


def counting(kernel: Any) -> Verdict:
    """Check a kernel that counts the positive elements of x."""
    return check(
        kernel,
        spec=lambda x: np.array([(x > 0).sum()]),
        inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
        out=lambda x: np.zeros(1, np.int32),
        sizes=[64, 50],
        launch=lambda n: (1, 64),
    )


def test_one_atomic_for_those_who_happen_to_be_here_is_right() -> None:
    @cuda.jit
    def together(x, out):
        i = cuda.grid(1)
        if i < x.size and x[i] > float32(0):
            here = cuda.activemask()
            if cuda.popc(here & cuda.lanemask_lt()) == 0:
                cuda.atomic.add(out, 0, cuda.popc(here))

    assert counting(together)


def test_counting_on_all_lanes_to_be_here_is_wrong() -> None:
    @cuda.jit
    def lane_zero_speaks(x, out):
        i = cuda.grid(1)
        mine = 1 if i < x.size and x[i] > float32(0) else 0
        here = cuda.activemask()
        votes = cuda.ballot_sync(here, mine)
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, cuda.popc(votes))

    refused = counting(lane_zero_speaks)
    assert refused.kind == "warp"
    assert "which lanes `cuda.activemask()` reports" in refused.message
    assert refused.places[0][0].text == "here = cuda.activemask()"
    assert "this happened: out[0] is" in refused.why


def test_a_device_function_that_asks_is_found() -> None:
    @cuda.jit(device=True)
    def shared_out(value):
        mask = cuda.activemask()
        for k in (16, 8, 4, 2, 1):
            value += cuda.shfl_xor_sync(mask, value, k)
        return value

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        mine = 1 if i < x.size and x[i] > float32(0) else 0
        whole = shared_out(mine)
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, whole)

    refused = counting(kernel)
    assert refused.kind == "warp"
    assert refused.places[0][0].text == "mask = cuda.activemask()"


def test_a_vote_without_lanes_that_have_ended_is_noted() -> None:
    @cuda.jit
    def first_speaks(x, out):
        i = cuda.grid(1)
        if i < x.size and x[i] > float32(0):
            votes = cuda.ballot_sync(FULL, True)
            if cuda.popc(votes & cuda.lanemask_lt()) == 0:
                cuda.atomic.add(out, 0, cuda.popc(votes))

    found = counting(first_speaks)
    assert found
    (note,) = [fact for fact in found.facts if fact.startswith("note")]
    line = first_speaks.py_func.__code__.co_firstlineno + 4
    assert note.startswith(
        f"note: not every lane of a mask reaches the operation on line {line}. This "
        "works only because the others have ended"
    )


def test_lanes_that_do_not_exist_are_not_noted() -> None:
    @cuda.jit
    def counted(x, out):
        i = cuda.grid(1)
        votes = cuda.ballot_sync(FULL, i < x.size and x[i] > float32(0))
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, cuda.popc(votes))

    found = check(
        counted,
        spec=lambda x: np.array([(x > 0).sum()]),
        inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
        out=lambda x: np.zeros(1, np.int32),
        sizes=[40],
        launch=lambda n: (1, 40),
    )
    assert found
    assert "note" not in repr(found)
