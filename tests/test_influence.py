"""An element that changes a wrong result and should not, or the reverse, is named."""

from typing import Any

import numpy as np

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict

FULL = 0xFFFFFFFF


@cuda.jit
def half_of_the_warp(x, out):
    value = x[cuda.threadIdx.x]
    for step in (8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, step)
    if cuda.threadIdx.x == 0:
        out[0] = value


@cuda.jit
def weight_of_column(x, w, out):
    row, total = cuda.threadIdx.x, float32(0)
    for j in range(x.shape[1]):
        total += x[row, j] * w[j]
    out[row] = total


@cuda.jit
def two_more(a, b, c, out):
    i = cuda.threadIdx.x
    out[i] = (a[i] - b[i] + float32(2)) * c[i]


@cuda.jit
def sum_and_largest(x, out):
    top = x[0]
    for i in range(x.size):
        top = max(top, x[i])
    out[0] = top + x[0] + x[1]


@cuda.jit
def too_often(x, out):
    row = cuda.blockIdx.x
    out[row, cuda.threadIdx.x] = x[row, cuda.threadIdx.x] * row * row


def verdict_on(
    kernel: Any, spec: Any, *shapes: Any, grid: int = 1, alike: bool = False
) -> Verdict:
    """Judge a wrong kernel; alike: the first two inputs are equal."""

    def inputs(rng: np.random.Generator, _: int) -> tuple[Any, ...]:
        made = [rng.normal(1, 1, shape).astype("f4") for shape in shapes]
        if alike:
            made[1] = made[0].copy()
        return tuple(made)

    found = check(
        kernel, spec=spec, inputs=inputs, sizes=[32], launch=lambda _: (grid, 32)
    )
    assert found.kind == "wrong-value"
    return found


def test_an_element_that_should_matter_is_named() -> None:
    found = verdict_on(half_of_the_warp, lambda x: x.sum(keepdims=True), 32)
    assert "`out[0]` should change with `x[16]`, and does not." in found.why
    assert "reads x" in [note for _, note in found.places]


def test_an_element_that_should_not_matter_is_named() -> None:
    found = verdict_on(weight_of_column, lambda x, w: x.sum(axis=1) * w, (32, 32), 32)
    assert "`out[0]` changes with `w[16]`, and should not." in found.why


def test_an_element_that_does_not_matter_by_chance_is_not_named() -> None:
    found = verdict_on(two_more, lambda a, b, c: (a - b) * c, 32, 32, 32, alike=True)
    assert "should not" not in found.why  # all of it is 0 here, whatever is in c


def test_what_might_be_the_largest_number_matters() -> None:
    found = verdict_on(sum_and_largest, lambda x: x.max(keepdims=True), 32)
    assert "should not" not in found.why


def test_what_is_zero_in_any_case_is_not_said_to_be_right() -> None:
    rows = np.arange(3)[:, None]
    found = verdict_on(too_often, lambda x: x * (rows * (rows > 1)), (3, 32), grid=3)
    assert "Only what" not in found.why
