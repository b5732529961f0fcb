"""Outputs whose numbers say little: the exercise describes what is wrong with them."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, int32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict
from weft.intrinsics import peek, poke


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.delenv("WEFT_STRICT", raising=False)


def verdict(kernel: Any, **more: Any) -> Verdict:
    return check(
        kernel,
        spec=lambda x: (x.sum(keepdims=True), x << 4),
        inputs=lambda rng, n: rng.integers(0, 16, n).astype(np.int32),
        sizes=[32],
        launch=lambda n: (1, n),
        **more,
    )


@cuda.jit
def both_wrong(x, total, flags):
    t = cuda.threadIdx.x
    flags[t] = x[t] << 3
    if t == 0:
        total[0] = 0


def in_hex(index: int, got: Any, wanted: Any) -> str:
    return f"Word {index} is 0x{got:02x} and should be 0x{wanted:02x}."


def test_an_output_that_is_described_comes_first_and_in_its_own_words() -> None:
    plain = verdict(both_wrong)
    assert plain.message.startswith("total[0] is 0")
    described = verdict(both_wrong, describe={"flags": in_hex})
    assert described.kind == "wrong-value"
    assert described.message.startswith("Word 0 is 0x")
    assert described.places[0][0].text == "flags[t] = x[t] << 3"


@cuda.jit(device=True)
def wait_for(words, k):
    while peek(words, k) == 0:
        pass


def waiting(kernel: Any) -> Verdict:
    return check(
        kernel,
        spec=lambda x: x + 1,
        inputs=lambda rng, n: rng.integers(0, 16, n).astype(np.int32),
        out=lambda x: np.zeros_like(x),
        sizes=[4],
        launch=lambda n: (n, 1),
        unseen=False,
    )


def test_a_starter_for_which_given_code_waits_is_yours_to_write() -> None:
    @cuda.jit
    def starter(x, out):
        b = cuda.blockIdx.x
        if b > 0:
            wait_for(out, b - 1)
        # your code here
        pass

    @cuda.jit
    def begun(x, out):
        b = cuda.blockIdx.x
        if b > 0:
            wait_for(out, b - 1)
        if b == 1:
            poke(out, b, int32(x[b] + 1))

    assert waiting(starter).kind == "begin"
    refused = waiting(begun)
    assert refused.kind == "endless-loop"
    assert refused.places[0][0].function == "wait_for"
    said = "It waits for `out[0]` to change, and no thread has stored to it."
    assert said in refused.message


def test_a_loop_that_polls_nothing_says_nothing_of_polling() -> None:
    @cuda.jit
    def kernel(x, out):
        b = cuda.blockIdx.x
        peek(out, b)
        k = 1
        while k > 0:
            k += 1

    assert "waits" not in waiting(kernel).message
