"""Which of two things a race is called: read too early, or written too soon."""

import numpy as np
import pytest

import weft

from numba import cuda, float32  # isort: skip


@cuda.jit
def rounds_without_barrier(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            tile[t] = max(tile[t], tile[t + step])
        step //= 2
    if t == 0:
        out[0] = tile[0]


@cuda.jit
def scan_in_place(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    step = 1
    while step < 128:
        if t >= step:
            tile[t] = max(tile[t], tile[t - step])
        cuda.syncthreads()
        step *= 2
    if t == 127:
        out[0] = tile[t]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (rounds_without_barrier, "Thread 0 may read this element of `tile` before"),
        (scan_in_place, "may write the next value to this element of `tile` before"),
    ],
    ids=["the next round reads too early", "a neighbour writes too soon"],
)
def test_a_race_within_one_line(kernel, said, monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.record", lambda *_: None)
    verdict = weft.check(
        kernel,
        spec=lambda x: x.max(keepdims=True),
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[128],
        launch=lambda n: (1, 128),
    )
    assert verdict.kind == "race"
    assert said in verdict.message
