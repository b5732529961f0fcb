"""Limits on what threads share: values handed over, loads without a guard, bytes."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict
from weft.intrinsics import load4, store4

EXERCISE: dict[str, Any] = {
    "spec": lambda x: x[::-1],
    "inputs": lambda rng, n: rng.random(n, np.float32),
    "sizes": [64],
    "launch": lambda n: (1, 64),
    "unseen": False,
}


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.delenv("WEFT_STRICT", raising=False)


@cuda.jit
def through_a_tile(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[63 - t]


@cuda.jit
def through_half_a_tile(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[63 - t] if t < 32 else x[63 - t]


@cuda.jit
def own_cell(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[63 - t]
    cuda.syncthreads()
    out[t] = tile[t]


@cuda.jit
def overwritten(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[63 - t] = x[t]
    cuda.syncthreads()
    tile[t] = x[63 - t]  # what another thread has stored is lost
    out[t] = tile[t]


@cuda.jit
def straight(x, out):
    t = cuda.threadIdx.x
    out[t] = x[63 - t]


def handed_over(kernel: Any, least: int) -> Verdict:
    return check(kernel, limits={"handed_over": least}, **EXERCISE)


def test_values_that_change_hands_are_counted() -> None:
    found = handed_over(through_a_tile, 64)
    assert found
    assert "shared memory: 64 values per block from other threads" in repr(found)
    assert handed_over(through_half_a_tile, 32)
    refused = handed_over(through_half_a_tile, 33)
    assert refused.kind == "unshared"
    assert "get 32 values from each other; this exercise asks for 33" in refused.message


@pytest.mark.parametrize("kernel", [own_cell, overwritten, straight])
def test_a_tile_through_which_nothing_changes_hands(kernel: Any) -> None:
    refused = handed_over(kernel, 1)
    assert refused.kind == "unshared"
    assert refused.message.startswith("No thread loads from shared memory what another")
    assert "x[63 - t]" in refused.places[-1][0].text


def test_wide_accesses_hand_over_each_of_their_cells() -> None:
    @cuda.jit
    def wide(x, out):
        tile = cuda.shared.array(64, float32, alignment=16)
        t = cuda.threadIdx.x
        if t < 16:
            a, b, c, d = load4(x, 4 * t)
            store4(tile, 60 - 4 * t, d, c, b, a)
        cuda.syncthreads()
        out[t] = tile[t]

    found = handed_over(wide, 60)
    assert found, found
    # Thread t loads cell t, which thread 15 - t // 4 has stored: thread 12 its own.
    assert "shared memory: 63 values per block" in repr(found)


def test_blocks_share_nothing_with_each_other() -> None:
    @cuda.jit
    def mine(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x + cuda.blockIdx.x  # of block 1, other cells
        tile[t] = x[cuda.grid(1)]
        out[cuda.grid(1)] = tile[t]

    launch = {"launch": lambda n: (2, 32), "spec": lambda x: x}
    refused = check(mine, limits={"handed_over": 1}, **EXERCISE | launch)
    assert refused.kind == "unshared"


def unguarded(kernel: Any) -> Verdict:
    return check(
        kernel,
        spec=lambda x: x * 2,
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[100],
        launch=lambda n: (-(-n // 64), 64),
        unseen=False,
        limits={"unguarded_loads": 1},
    )


def test_a_load_that_some_threads_skip() -> None:
    @cuda.jit
    def guarded(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * float32(2)

    @cuda.jit
    def selected(x, out):
        i = cuda.grid(1)
        value = x[i] if i < x.size else float32(0)
        if i < x.size:
            out[i] = value * float32(2)

    for kernel in (guarded, selected):
        refused = unguarded(kernel)
        assert refused.kind == "guarded"
        assert "x[i]" in refused.places[0][0].text
        assert refused.places[0][1] == "not in every thread"


def test_a_load_that_is_clamped_or_has_a_block_of_its_own() -> None:
    @cuda.jit
    def clamped(x, out):
        i = cuda.grid(1)
        value = x[min(i, x.size - 1)]
        if i < x.size:
            out[i] = value * float32(2)

    @cuda.jit
    def whole_blocks_apart(x, out):
        i = cuda.grid(1)
        if (cuda.blockIdx.x + 1) * 64 <= x.size:
            out[i] = x[i] * float32(2)
        elif i < x.size:  # the edge
            out[i] = float32(2) * x[i]

    assert "1 line with a load by every thread" in repr(unguarded(clamped))
    assert unguarded(whole_blocks_apart)


def test_bytes_of_shared_memory_are_counted_as_declared() -> None:
    @cuda.jit
    def two_tiles(x, out):
        tile = cuda.shared.array(96, float32)  # of which 64 are used
        rest = cuda.shared.array(16, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        if t < 16:
            rest[t] = x[t]
        cuda.syncthreads()
        out[t] = tile[63 - t] if t < 48 else rest[63 - t]

    def verdict(kernel: Any, most: int) -> Verdict:
        return check(kernel, limits={"shared_bytes": most}, **EXERCISE)

    assert "shared memory: 448 bytes per block" in repr(verdict(two_tiles, 448))
    refused = verdict(two_tiles, 447)
    assert refused.kind == "shared-bytes"
    assert refused.message.startswith("`rest` and `tile` take 448 bytes of each block")
    assert [(place.text, note) for place, note in refused.places[:2]] == [
        ("tile[t] = x[t]", "64 accesses"),
        ("out[t] = tile[63 - t] if t < 48 else rest[63 - t]", "48 accesses"),
    ]
    assert verdict(through_a_tile, 255).message.startswith("`tile` takes 256 bytes")
    assert "shared memory: 0 bytes" in repr(verdict(straight, 0))
