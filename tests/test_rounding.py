"""Small values: rounding is forgiven them, and nothing else."""

import math
from typing import Any

import numpy as np
import pytest
from test_kernels import checks, run, scope_of

import weft  # noqa: F401  before Numba

from numba import cuda, float32, float64  # isort: skip
from weft import check
from weft.checking.compare import close, doubtful
from weft.checking.verdict import Verdict
from weft.intrinsics import load4, store4


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr("weft.lesson._current", None)


def test_which_elements_are_looked_at_again() -> None:
    wanted = np.array([1.0, 1e-3, 1e-9, 0.0, np.nan, np.inf])
    got = np.array([1.000001, 1.0001e-3, 0.0, 1e-9, np.nan, np.inf], np.float32)
    assert close(got, wanted, 1e-5).all()
    assert (
        doubtful(got, wanted, 1e-5).tolist() == [False, False, True, True] + [False] * 2
    )
    assert not doubtful(np.arange(3), np.arange(3) + 1, 1e-5).any()


def test_half_precision_is_compared_in_single() -> None:
    """The square of 300 is beyond float16, and a scale of infinity forgives all."""
    wanted = np.float16([300, 0, -300])
    assert close(wanted, wanted, 1e-3).all()
    assert close(np.float16([0, 0, -300]), wanted, 1e-3).tolist() == [False, True, True]


@pytest.mark.parametrize("filler", [np.finfo(np.float32).min, -1e30])
def test_a_filler_does_not_excuse_other_values(filler: float) -> None:
    """The maximum of nothing is the lowest float32; no error is small beside it."""
    wanted = np.float32([1, 2, filler])
    assert close(wanted, wanted, 1e-3).all()
    got = np.float32([1, 3, filler])
    assert close(got, wanted, 1e-3).tolist() == [True, False, True]
    assert not close(np.float32([1, 2, 0]), wanted, 1e-3)[2]


# Shares of a whole, of which some are tiny


def shares(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def scores(rng: Any, rows: int, cols: int) -> Any:
    return (rng.normal(0, 6, (rows, cols)).astype(np.float32),)


def softmax(least: float = 0.0, wide: bool = False) -> Any:
    """A softmax, a row per thread, that makes shares below `least` zero."""

    @cuda.jit(device=True)
    def kept(share):
        return share if share >= float32(least) else float32(0)

    @cuda.jit
    def plain(x, out):
        row = cuda.grid(1)
        if row < x.shape[0]:
            top = x[row, 0]
            for col in range(1, x.shape[1]):
                top = max(top, x[row, col])
            total = float32(0)
            for col in range(x.shape[1]):
                total += math.exp(x[row, col] - top)
            for col in range(x.shape[1]):
                out[row, col] = kept(math.exp(x[row, col] - top) / total)

    @cuda.jit
    def by_fours(x, out):
        row = cuda.grid(1)
        if row < x.shape[0]:
            top = x[row, 0]
            for col in range(1, x.shape[1]):
                top = max(top, x[row, col])
            total = float32(0)
            for col in range(x.shape[1]):
                total += math.exp(x[row, col] - top)
            for col in range(0, x.shape[1], 4):
                a, b, c, d = load4(x, (row, col))
                a = kept(math.exp(a - top) / total)
                b = kept(math.exp(b - top) / total)
                c = kept(math.exp(c - top) / total)
                d = kept(math.exp(d - top) / total)
                store4(out, (row, col), a, b, c, d)

    return by_fours if wide else plain


def judged(kernel: Any) -> Verdict:
    return check(
        kernel,
        spec=shares,
        inputs=scores,
        sizes=[(3, 40), (8, 64), (1, 80)],
        launch=lambda rows, cols: (-(-rows // 32), 32),
    )


@pytest.mark.parametrize("wide", [False, True])
def test_a_right_softmax(wide: bool) -> None:
    assert judged(softmax(0.0, wide)), judged(softmax(0.0, wide))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("least", [1e-6, 1e-7, 1e-9])
def test_small_shares_made_zero(least: float, wide: bool) -> None:
    verdict = judged(softmax(least, wide))
    assert verdict.kind == "wrong-value"
    assert " is 0 and should be " in verdict.message
    assert "it is no rounding" in verdict.why
    assert verdict.line


def test_the_labs_softmax() -> None:
    cell = """
@cuda.jit
def softmax_passes(x, out):
    row = cuda.blockIdx.x
    top = LOWEST
    for col in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
        top = max(top, x[row, col])
    top = block_max(top)

    total = float32(0)
    for col in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
        total += math.exp(x[row, col] - top)
    total = block_sum(total)

    for col in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
        share = math.exp(x[row, col] - top) / total
        out[row, col] = share if share > float32(1e-6) else float32(0)
"""
    scope = scope_of("16_softmax")
    run(cell, "<a learner's cell>", scope)
    verdict = run(checks("16_softmax")["softmax_passes"], "<check>", scope)
    assert verdict.kind == "wrong-value", verdict
    scope = scope_of("16_softmax")
    right = cell.replace("share if share > float32(1e-6) else float32(0)", "share")
    run(right, "<a learner's cell>", scope)
    assert run(checks("16_softmax")["softmax_passes"], "<check>", scope)


# Right kernels whose results are the small difference of large numbers


def nearly_zero(rng: Any, n: int) -> Any:
    """Rows whose sums are far smaller than what is added."""
    x = rng.normal(0, 100, (n, 50)).astype(np.float32)
    x[:, 0] = -x[:, 1:].astype(np.float64).sum(axis=1)
    return (x,)


def mixed(rng: Any, n: int) -> Any:
    """The same, and one row whose sum is large."""
    (x,) = nearly_zero(rng, n)
    x[n // 2] = np.abs(x[n // 2]) * 1000
    return (x,)


def sums(order: str) -> Any:
    @cuda.jit
    def forwards(x, out):
        row = cuda.grid(1)
        if row < out.size:
            total = float32(0)
            for k in range(x.shape[1]):
                total += x[row, k]
            out[row] = total

    @cuda.jit
    def halves(x, out):
        row = cuda.grid(1)
        if row < out.size:
            odd = even = float32(0)
            for k in range(0, x.shape[1], 2):
                even += x[row, k]
                odd += x[row, k + 1]
            out[row] = odd + even

    return {"forwards": forwards, "halves": halves}[order]


def summed(kernel: Any) -> Verdict:
    return check(
        kernel,
        spec=lambda x: x.sum(axis=1),
        inputs=mixed,
        sizes=[1, 40, 100],
        launch=lambda n: (-(-n // 32), 32),
    )


@pytest.mark.parametrize("order", ["forwards", "halves"])
def test_sums_that_cancel(order: str) -> None:

    assert summed(sums(order))


def test_a_function_that_cancels() -> None:
    """0.5x(1 + erf(x/√2)) is rounded to a multiple of 6e-8 where x is negative."""

    @cuda.jit
    def gelu(x, out):
        i = cuda.grid(1)
        if i < out.size:
            half = float32(0.5) * x[i]
            out[i] = half * (float32(1) + math.erf(x[i] * float32(0.70710678)))

    erf = np.vectorize(math.erf)
    verdict = check(
        gelu,
        spec=lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
        inputs=lambda rng, n: (np.linspace(-6, 6, n).astype(np.float32),),
        sizes=[50, 300],
        launch=lambda n: (-(-n // 32), 32),
    )
    assert verdict, verdict


def test_what_cannot_run_in_double_is_not_blamed() -> None:
    """A kernel that looks at the bits of float32 has no form in float64."""

    @cuda.jit
    def by_bits(x, out):
        row = cuda.grid(1)
        bits = x.view(np.int32)
        if row < out.size:
            total = float32(0)
            for k in range(x.shape[1]):
                sign = float32(1) if bits[row, k] >= 0 else float32(-1)
                total += sign * abs(x[row, k])
            out[row] = total

    assert summed(by_bits)


def test_double_precision_is_judged_as_it_is() -> None:
    @cuda.jit
    def squares(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * x[i] if x[i] > float64(1e-4) else float64(0)

    verdict = check(
        squares,
        spec=lambda x: x * x,
        inputs=lambda rng, n: (10.0 ** rng.uniform(-8, 0, n),),
        sizes=[40, 100],
        launch=lambda n: (-(-n // 32), 32),
    )
    assert verdict.kind == "wrong-value"
