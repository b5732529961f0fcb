"""Reads of what no thread has written, and guesses: refused where they matter."""

from typing import Any

import numpy as np
import pytest

import weft

from numba import cuda, float32, int32  # isort: skip
from weft.checking.verdict import Verdict


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def product(kernel: Any) -> Verdict:
    return weft.check(
        kernel,
        spec=lambda a, b: a @ b,
        inputs=lambda rng, m: (
            rng.random((m, 16), np.float32),
            rng.random((16, m), np.float32),
        ),
        sizes=[12],
        launch=lambda m: ((-(-m // 8),) * 2, (8, 8)),
        unseen=False,
    )


def test_what_nothing_depends_on_passes_with_a_note() -> None:
    @cuda.jit
    def edges(a, b, out):
        ta = cuda.shared.array((8, 8), float32)
        tb = cuda.shared.array((8, 8), float32)
        col, row = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range(0, a.shape[1], 8):
            if row < a.shape[0]:
                ta[ty, tx] = a[row, i + tx]
            if col < b.shape[1]:
                tb[ty, tx] = b[i + ty, col]
            cuda.syncthreads()
            for j in range(8):
                total += ta[ty, j] * tb[j, tx]
            cuda.syncthreads()
        if row < a.shape[0] and col < b.shape[1]:
            out[row, col] = total

    verdict = product(edges)
    assert verdict, repr(verdict)
    note = next(fact for fact in verdict.facts if fact.startswith("note:"))
    assert "which no thread has written" in note
    assert "initcheck" in note


USES = {
    "memory": "out[t] = tile[t + 32]",
    "another thread": "out[t] = cuda.shfl_xor_sync(0xFFFFFFFF, tile[t + 32], 1)",
    "branch": "out[t] = 1 if tile[t + 32] > 5 else 0",
    "index": "out[(t + int(tile[t + 32] > 5)) % 32] = 0",
    "loads": "out[t] = 0 * x[int32(tile[t + 32] > 1)]",
    "shared memory": "tile[t] = tile[t + 32]; out[t] = 0",
    "shared memory by an atomic": "cuda.atomic.add(tile, t + 32, 1); out[t] = 0",
    "maximum": "out[t] = max(float32(9), tile[t + 32])",
}


@pytest.mark.parametrize("use", USES)
def test_what_reaches_memory_a_branch_or_an_index_is_refused(use: str) -> None:
    import linecache

    text = (
        "@cuda.jit\n"
        "def kernel(x, out):\n"
        "    tile = cuda.shared.array(64, float32)\n"
        "    t = cuda.threadIdx.x\n"
        "    tile[t] = x[t]\n"
        "    cuda.syncwarp()\n"
        f"    {USES[use]}\n"
    )
    name = f"<unset {use}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope = {"cuda": cuda, "float32": float32, "int32": int32}
    exec(compile(text, name, "exec"), scope)
    verdict = weft.check(
        scope["kernel"],
        spec=lambda x: np.zeros_like(x),
        inputs=lambda rng, n: rng.random(n, np.float32),
        sizes=[32],
        launch=lambda n: (1, n),
        unseen=False,
    )
    assert verdict.kind == "uninitialised", repr(verdict)
    assert verdict.line == 7


def counted(kernel: Any, order: Any) -> Verdict:
    return weft.check(
        kernel,
        spec=lambda: (np.array([5], np.int32), np.array(order, np.int32)),
        inputs=lambda rng, n: (),
        sizes=[2],
        launch=lambda n: (n, 1),
        out=lambda: (np.zeros(1, np.int32), np.zeros(2, np.int32)),
        unseen=False,
    )


def test_a_guess_that_is_used_as_data_is_a_race() -> None:
    @cuda.jit
    def kernel(x, out):
        old = x[0]  # <- here
        if cuda.blockIdx.x == 0:
            cuda.atomic.cas(x, 0, old, 5)
        out[cuda.blockIdx.x] = old

    verdict = counted(kernel, [0, 5])
    assert verdict.kind == "race", repr(verdict)
    assert "old = x[0]  # <- here" in [place.text for place, _ in verdict.places]


def test_a_guess_that_only_a_swap_uses_is_none() -> None:
    @cuda.jit
    def kernel(x, out):
        b = cuda.blockIdx.x
        old = x[0]
        while old < 4 + b:
            seen = cuda.atomic.cas(x, 0, old, 4 + b)
            if seen == old:
                break
            old = seen
        out[b] = b

    verdict = counted(kernel, [0, 1])
    assert verdict, repr(verdict)


def test_the_largest_by_compare_and_swap_passes() -> None:
    @cuda.jit
    def kernel(v, out):
        mine = v[cuda.grid(1)]
        old = out[0]
        while mine > old:
            seen = cuda.atomic.cas(out, 0, old, mine)
            if seen == old:
                break
            old = seen

    verdict = weft.check(
        kernel,
        spec=lambda v: np.array([v.max()], np.int32),
        inputs=lambda rng, n: rng.integers(0, 1000, n).astype(np.int32),
        sizes=[128],
        launch=lambda n: (n // 32, 32),
        out=lambda v: np.zeros(1, np.int32),
        unseen=False,
    )
    assert verdict, repr(verdict)
