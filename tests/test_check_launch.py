"""Checks of a launch: which blocks of a grid have nothing to do."""

from typing import Any

import numpy as np
import pytest

from weft import check

from numba import cuda  # isort: skip


@pytest.mark.parametrize(
    ("grid", "needed"),
    [((3, 2), 0), ((4, 2), 6), ((3, 3), 6)],  # 65 columns, 9 rows
)
def test_idle_blocks_of_two_dimensions(grid: Any, needed: int) -> None:
    @cuda.jit
    def halve(x, out):
        col, row = cuda.grid(2)
        if row < x.shape[0] and col < x.shape[1]:
            out[row, col] = x[row, col] // 2

    def grid_for(rows, cols):
        return grid, (32, 8)

    verdict = check(
        grid_for,
        kernel=halve,
        spec=lambda x: x // 2,
        inputs=lambda rng, rows, cols: rng.integers(0, 9, (rows, cols), np.int32),
        sizes=[(9, 65)],
    )
    assert bool(verdict) == (not needed)
    assert not needed or f"where {needed} would be enough" in verdict.message


def test_blocks_of_less_than_a_warp_are_refused() -> None:
    def launch_for(n):
        return -(-n // 5), 5

    verdict = check(
        launch_for,
        kernel=halve_all,
        spec=lambda x: x // 2,
        inputs=lambda rng, n: rng.integers(0, 9, n, np.int32),
        sizes=[1000],
    )
    assert verdict.kind == "launch", verdict
    assert "27 lanes would have nothing to do" in verdict.message
    assert "guard" not in verdict.why


def test_a_launch_that_is_not_handed_back() -> None:
    @cuda.jit
    def copy(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i]

    def launch_for(n):
        n // 32, 32

    verdict = check(
        launch_for,
        kernel=copy,
        spec=lambda x: x,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[64],
    )
    assert verdict.kind == "launch"
    assert verdict.message == "launch_for(64) returns nothing."


@cuda.jit
def halve_all(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] // 2


@pytest.mark.parametrize(
    ("size", "config", "needed"),
    [(1, (256, 1), 1), (1000, (25, 40), 0), (1000, (250, 5), 200), (3, (99, 2), 2)],
)
def test_idle_blocks_of_a_grid_with_many(size: Any, config: Any, needed: int) -> None:
    def launch_for(n):
        return config

    verdict = check(
        launch_for,
        kernel=halve_all,
        spec=lambda x: x // 2,
        inputs=lambda rng, n: rng.integers(0, 9, n, np.int32),
        sizes=[size],
    )
    assert bool(verdict) == (not needed), verdict
    assert not needed or f"where {needed} would be enough" in verdict.message


def test_idle_blocks_in_the_middle_of_the_grid() -> None:
    @cuda.jit
    def halve_pieces(x, out):
        i = cuda.grid(1)
        if cuda.blockIdx.x > 100:
            i -= cuda.blockDim.x
        if i < out.size and cuda.blockIdx.x != 100:
            out[i] = x[i] // 2

    def launch_for(n):
        return 201, 5

    verdict = check(
        launch_for,
        kernel=halve_pieces,
        spec=lambda x: x // 2,
        inputs=lambda rng, n: rng.integers(0, 9, n, np.int32),
        sizes=[1000],
        unseen=False,
    )
    assert "201 blocks of 5 threads" in verdict.message
    assert "where 200 would be enough" in verdict.message


def test_threads_along_an_axis_that_the_kernel_does_not_count() -> None:
    def launch_for(n):
        return (-(-n // 32), 2), (32, 1)

    verdict = check(
        launch_for,
        kernel=halve_all,
        spec=lambda x: x // 2,
        inputs=lambda rng, n: rng.integers(0, 9, n, np.int32),
        sizes=[100],
    )
    assert verdict.kind == "launch"
    assert verdict.places[0][0].text == "return (-(-n // 32), 2), (32, 1)"
    assert "128 along x and 2 along y" in verdict.message
    assert "both write to `out[0]`" in verdict.message
