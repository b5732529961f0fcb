"""Which of two things a race is called: read too early, or written too soon."""

import numpy as np
import pytest

import weft
from weft.kernels import hazards

from numba import cuda, float32, int32, uint8, uint32  # isort: skip


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
        (rounds_without_barrier, "Thread 0 may read `tile[32]` before"),
        (scan_in_place, "may write the next value to `tile["),
    ],
    ids=["the next round reads too early", "a neighbour writes too soon"],
)
def test_a_race_within_one_line(kernel, said, monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    verdict = weft.check(
        kernel,
        spec=lambda x: x.max(keepdims=True),
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[128],
        launch=lambda n: (1, 128),
    )
    assert verdict.kind == "race"
    assert said in verdict.message
    html = verdict._repr_html_().partition("<details")[0]
    assert "overflow-x" not in html, "on a phone half of a line would be hidden"
    assert html.count("white-space:pre-wrap;overflow-wrap:anywhere") == 2


@cuda.jit
def counts_before_all_is_clear(x, out):
    bins = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.atomic.add(bins, x[t], 1)
    cuda.syncthreads()
    out[t] = bins[t]


def test_an_atomic_that_does_not_wait_for_a_store_asks_for_a_barrier(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    verdict = weft.check(
        counts_before_all_is_clear,
        spec=lambda x: np.bincount(x, minlength=64).astype(np.int32),
        inputs=lambda rng, n: ((np.arange(n, dtype=np.int32) + 32) % 64,),
        sizes=[64],
        launch=lambda n: (1, 64),
    )
    assert verdict.kind == "race"
    assert "which barrier makes the other wait?" in verdict.why


@cuda.jit
def bytes_of_words(x, out):
    ours, theirs = out.view(uint8), x.view(uint8)
    i = cuda.grid(1)
    if i < ours.size:
        ours[i] = theirs[i]


@cuda.jit
def words_and_bytes(x, out):
    words = out.view(uint32)
    i = cuda.grid(1)
    if i < words.size:
        words[i] = 0
    if i < out.size:
        out[i] = x[i]


@pytest.mark.parametrize(
    ("kernel", "kind", "dtype"),
    [(bytes_of_words, "pass", np.uint32), (words_and_bytes, "race", np.uint8)],
    ids=["narrower", "wider"],
)
def test_elements_of_a_view_have_its_size(kernel, kind, dtype, monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    verdict = weft.check(
        kernel,
        spec=lambda x: x.copy(),
        inputs=lambda rng, n: (rng.integers(0, 256, n).astype(dtype),),
        sizes=[64],
        launch=lambda n: (8, 64),
    )
    assert verdict.kind == kind


@cuda.jit
def whole_output(x, out):
    out[:] = x


@cuda.jit
def loop_over_all(x, out):
    for i in range(x.size):
        out[i] = x[i]


@cuda.jit
def own_elements(x, out):
    for k in range(x.size // 1024):
        i = cuda.threadIdx.x + k * 1024
        out[i] = x[i]


@pytest.mark.parametrize(
    ("kernel", "kind", "threads"),
    [
        (whole_output, "race", 8),
        (loop_over_all, "race", 8),
        (own_elements, "pass", 1024),
    ],
)
def test_a_thread_that_does_the_work_of_all_is_stopped_early(
    kernel, kind, threads, monkeypatch
):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    rows = []
    races = hazards.races
    monkeypatch.setattr(
        hazards, "races", lambda t, *more: rows.append(len(t)) or races(t, *more)
    )
    verdict = weft.check(
        kernel,
        spec=lambda x: x.copy(),
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[1024 * 16],
        launch=lambda n: (1, threads),
        unseen=False,
    )
    assert verdict.kind == kind, repr(verdict)
    if kind == "race":
        assert rows == [65_536]  # after two threads of eight
        said = "both write to the same 16,384 elements of `out`, `out[0]` among them."
        assert said in verdict.message
        assert "once in every thread" in verdict.why


@cuda.jit
def rows_in_turn(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(0, 32, 8):
        tile[ty + j, tx] = x[ty + j, tx]
        cuda.syncthreads()
        out[ty + j, tx] = tile[tx, ty + j]


@cuda.jit
def product_with_one_barrier(x, out):
    ta = cuda.shared.array((16, 16), float32)
    tb = cuda.shared.array((16, 16), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for i in range(0, 32, 16):
        ta[ty, tx] = x[row, i + tx]
        tb[ty, tx] = x[i + ty, col]
        cuda.syncthreads()
        for j in range(16):
            total += ta[ty, j] * tb[j, tx]
    out[row, col] = total


@pytest.mark.parametrize(
    ("kernel", "launch", "written", "asked"),
    [
        (rows_in_turn, (1, (32, 8)), "tile[ty + j, tx] =", "for the first time?"),
        (product_with_one_barrier, ((2, 2), (16, 16)), "tb[ty, tx] =", "that turn?"),
    ],
)
def test_a_barrier_in_another_turn_of_the_loop_is_named(
    kernel, launch, written, asked, monkeypatch
):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    verdict = weft.check(
        kernel,
        spec=lambda x: x.T.copy() if kernel is rows_in_turn else x @ x,
        inputs=lambda rng, n: (rng.random((n, n), np.float32),),
        sizes=[32],
        launch=lambda n: launch,
        unseen=False,
    )
    assert verdict.kind == "race"
    (place, note), _ = verdict.places
    assert place.text.startswith(written)
    assert note.endswith("in the next turn of the loop")
    assert "The barrier on line" in verdict.why
    assert "is between the two lines" in verdict.why
    assert verdict.why.endswith(asked)


@cuda.jit(device=True)
def largest_of_two(value):
    cells = cuda.shared.array(2, float32)
    t = cuda.threadIdx.x
    if t % 32 == 0:
        cells[t // 32] = value
    cuda.syncthreads()
    return max(cells[0], cells[1])


@cuda.jit
def largest_twice(x, out):
    t = cuda.threadIdx.x
    top = largest_of_two(x[t])
    out[t] = top + largest_of_two(x[t] + top)


def test_a_second_call_of_a_function_is_no_turn_of_a_loop(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    verdict = weft.check(
        largest_twice,
        spec=lambda x: x,
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[64],
        launch=lambda n: (1, n),
        unseen=False,
    )
    assert verdict.kind == "race"
    notes = [note for place, note in verdict.places if "cells[t // 32]" in place.text]
    assert "in a later call or turn" in notes[0]
    assert "a later call of the function than thread 32" in verdict.why


def test_an_endless_loop_says_what_it_waits_for(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)

    @cuda.jit
    def kernel(flags, out):
        b = cuda.blockIdx.x
        if b == 1:
            cuda.atomic.exch(flags, 5, 1)
        while cuda.atomic.add(flags, 4 + b, 0) == 0:
            pass
        out[b] = 1

    verdict = weft.check(
        kernel,
        spec=lambda: (np.zeros(8, np.int32), np.ones(2, np.float32)),
        inputs=lambda rng, n: (),
        sizes=[2],
        launch=lambda n: (n, 1),
        out=lambda: (np.zeros(8, np.int32), np.zeros(2, np.float32)),
        unseen=False,
    )
    assert verdict.kind == "endless-loop"
    assert "It waits for `flags[4]` to change, and no thread" in verdict.message
