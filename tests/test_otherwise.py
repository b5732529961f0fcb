"""A kernel that should work with other constants is run with them."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict

ACROSS, DEEP = 32, 4  # threads of a block; rows of a tile


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.record", lambda *_: None)


def verdict(kernel: Any, *constants: dict[str, Any]) -> Verdict:
    return check(
        kernel,
        spec=lambda x: x.sum(axis=1),
        inputs=lambda rng, rows, cols: rng.random((rows, cols), np.float32),
        sizes=[(2, 5), (3, 70)],
        launch=lambda rows, cols: (rows, ACROSS),
        constants=constants,
    )


@cuda.jit
def named(x, out):
    part = cuda.shared.array(ACROSS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for col in range(t, x.shape[1], ACROSS):
        mine += x[row, col]
    part[t] = mine
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(ACROSS):
            total += part[k]
        out[row] = total


@cuda.jit
def unnamed(x, out):
    part = cuda.shared.array(ACROSS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for col in range(t, x.shape[1], 32):
        mine += x[row, col]
    part[t] = mine
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(0x20):
            total += part[k]
        out[row] = total


@cuda.jit
def narrow(x, out):
    part = cuda.shared.array(32, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for col in range(t, x.shape[1], cuda.blockDim.x):
        mine += x[row, col]
    part[t] = mine
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(cuda.blockDim.x):
            total += part[k]
        out[row] = total


@cuda.jit
def half(x, out):
    part = cuda.shared.array(ACROSS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for col in range(t, x.shape[1], ACROSS):
        mine += x[row, col]
    part[t] = mine
    cuda.syncthreads()
    if t < 16:
        part[t] += part[t + 16]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(16):
            total += part[k]
        out[row] = total


def test_a_kernel_with_names_passes_and_says_so() -> None:
    found = verdict(named, {"ACROSS": 8}, {"ACROSS": 64})
    assert found
    assert "right with ACROSS = 8 and with ACROSS = 64 as well" in repr(found)


def test_numbers_are_named_by_line_and_value() -> None:
    found = verdict(unnamed, {"ACROSS": 8})
    assert found.kind == "constants"
    assert found.message.startswith("With ACROSS = 8 it goes wrong: ")
    assert [(place.text, note) for place, note in found.places] == [
        (
            "for col in range(t, x.shape[1], 32):",
            "32 here; ACROSS was 8 in this run",
        ),
        ("for k in range(0x20):", "32 here; ACROSS was 8 in this run"),
    ]


def test_a_kernel_that_asks_the_block_need_not_name_its_size() -> None:
    assert verdict(narrow, {"ACROSS": 8})
    found = verdict(narrow, {"ACROSS": 8}, {"ACROSS": 64})
    assert found.kind == "constants"
    assert "ACROSS was 64" in found.places[0][1]
    assert found.line == narrow.py_func.__code__.co_firstlineno + 2


def test_a_number_that_follows_from_a_constant() -> None:
    found = verdict(half, {"ACROSS": 8})
    assert found.kind == "constants"
    assert "is not computed from it" in found.why
    assert found.line


def test_the_constants_are_what_they_were_afterwards() -> None:
    for kernel in (named, unnamed):
        verdict(kernel, {"ACROSS": 8})
        assert ACROSS == 32
    with pytest.raises(ValueError, match="no constant WIDE"):
        verdict(named, {"WIDE": 8})
    assert ACROSS == 32


@cuda.jit
def both(x, out):
    part = cuda.shared.array((4, 8), float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for col in range(t, x.shape[1], ACROSS):
        mine += x[row, col]
    part[t % DEEP, t // DEEP] = mine
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(ACROSS):
            total += part[k % 4, k // 4]
        out[row] = total


def test_of_several_numbers_those_that_matter() -> None:
    found = verdict(both, {"DEEP": 8})
    assert found.kind == "constants"
    assert {place.text for place, _ in found.places} == {
        "part = cuda.shared.array((4, 8), float32)",
        "total += part[k % 4, k // 4]",
    }
