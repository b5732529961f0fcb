"""A wrong NaN leads to the line on which it arises, and only there."""

import math

import numpy as np

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict

N = 32


def judged(kernel, spec, *inputs) -> Verdict:
    return check(
        kernel,
        spec=spec,
        inputs=lambda rng, n: tuple(np.float32(x) for x in inputs),
        sizes=[N],
        launch=lambda n: (1, n),
        unseen=False,
    )


def lines(verdict: Verdict) -> dict[str, str]:
    return {place.text: note for place, note in verdict.places}


def zeros(*inputs):
    return np.zeros(N)


def test_a_name_that_becomes_nan_in_a_loop() -> None:
    @cuda.jit
    def online(x, out):
        i = cuda.threadIdx.x
        best, total = -math.inf, float32(0)
        for j in range(x.shape[1]):
            new = max(best, x[i, j])
            total = total * math.exp(best - new) + math.exp(x[i, j] - new)
            best = new
        out[i] = total

    rows = np.ones((N, 4))
    rows[:, :2] = -np.inf
    verdict = judged(online, lambda x: np.exp(x - 1).sum(1), rows)
    assert verdict.kind == "wrong-value"
    line = "total = total * math.exp(best - new) + math.exp(x[i, j] - new)"
    assert lines(verdict)[line] == "total becomes NaN here"
    assert "`total` was 0, `best` was -inf and `new` was -inf." in verdict.why


def test_a_quotient_of_two_overflows() -> None:
    @cuda.jit
    def softmax(x, out):
        i = cuda.threadIdx.x
        total = float32(0)
        for j in range(x.size):
            total += math.exp(x[j])
        share = math.exp(x[i]) / total
        out[i] = share

    verdict = judged(softmax, lambda x: np.full(N, 1 / N), np.full(N, 100))
    assert lines(verdict)["share = math.exp(x[i]) / total"] == "share becomes NaN here"
    assert "Before, `total` was inf. NaN comes from" in verdict.why
    assert "inf / inf" in verdict.why


def test_a_nan_that_another_thread_has_stored() -> None:
    @cuda.jit
    def roots(x, out):
        tile = cuda.shared.array(N, float32)
        i = cuda.threadIdx.x
        tile[i] = math.sqrt(x[i] - 1)
        cuda.syncthreads()
        twice = tile[N - 1 - i] * 2
        out[i] = twice

    verdict = judged(roots, zeros, np.zeros(N))
    assert lines(verdict) == {
        "out[i] = twice": "stored here",
        "tile[i] = math.sqrt(x[i] - 1)": "its value becomes NaN here",
    }
    assert "In thread 31, the value becomes NaN on line " in verdict.why


def test_a_nan_that_is_stored_as_it_arises() -> None:
    @cuda.jit
    def share(x, out):
        i = cuda.threadIdx.x
        out[i] = x[i] / x[0]

    verdict = judged(share, zeros, np.zeros(N))
    note = "stored here; its value becomes NaN here"
    assert lines(verdict) == {"out[i] = x[i] / x[0]": note}


def test_a_nan_that_does_not_come_into_the_result_is_not_blamed() -> None:
    @cuda.jit
    def log(x, out):
        i = cuda.threadIdx.x
        value = math.log(x[i])
        if x[i] <= 0:
            value = float32(0)
        out[i] = value + math.sqrt(x[i] - 1)

    verdict = judged(log, zeros, np.full(N, -1))
    assert not any("NaN" in note for _, note in verdict.places)


def test_a_nan_of_the_input_or_of_another_lane_has_no_line() -> None:
    @cuda.jit
    def copy(x, out):
        i = cuda.threadIdx.x
        out[i] = x[i]

    @cuda.jit
    def from_lane(x, out):
        i = cuda.threadIdx.x
        value = math.log(x[i])
        other = cuda.shfl_sync(0xFFFFFFFF, value, 31)
        out[i] = other

    given = np.full(N, np.nan)
    assert list(lines(judged(copy, zeros, given)).values()) == ["stored here"]
    given = np.append(np.ones(N - 1), -1)
    assert list(lines(judged(from_lane, zeros, given)).values()) == ["stored here"]


def test_a_nan_that_atomics_have_added_up_has_no_line() -> None:
    @cuda.jit
    def mean(x, out):
        total = cuda.shared.array(1, float32)
        i = cuda.threadIdx.x
        if i == 0:
            total[0] = float32(0)
        cuda.syncthreads()
        cuda.atomic.add(total, 0, math.log(x[i]))
        cuda.syncthreads()
        out[i] = total[0] / N

    verdict = judged(mean, zeros, np.append(np.ones(N - 1), -1))
    assert list(lines(verdict).values()) == ["stored here"]


def test_a_right_nan_and_a_wrong_number_are_no_cause() -> None:
    @cuda.jit
    def wrong(x, out):
        i = cuda.threadIdx.x
        out[i] = x[i] / x[i] if i else float32(3)

    verdict = judged(wrong, lambda x: np.append(1, np.full(N - 1, np.nan)), np.zeros(N))
    assert "becomes NaN" not in verdict.why
