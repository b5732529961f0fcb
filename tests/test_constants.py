"""A kernel that should work with other constants is run with them."""

import inspect
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from weft import check
from weft.checking.verdict import Verdict
from weft.intrinsics import load4
from weft.kernels.constants import derived, listed, numbers_in

ACROSS, DEEP = 32, 4  # threads of a block; rows of a tile
HALF, FULL = ACROSS // 2, int(4 * DEEP)
QUARTER = HALF // 2


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def verdict(kernel: Any, *constants: dict[str, Any], **more: Any) -> Verdict:
    return check(
        kernel,
        spec=lambda x: x.sum(axis=1),
        inputs=lambda rng, rows, cols: rng.random((rows, cols), np.float32),
        sizes=[(2, 5), (3, 70)],
        launch=lambda rows, cols: (rows, ACROSS),
        constants=constants,
        **more,
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


def test_names_that_a_cell_does_not_have_are_not_listed() -> None:
    assert listed({"ACROSS": 8, "OF_A_MODULE": 3}, named.py_func) == "ACROSS = 8"


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
        ("total += part[k]", "goes wrong here"),
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


@cuda.jit
def before(x, out):
    part = cuda.shared.array(ACROSS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for col in range(t, x.shape[1], ACROSS):
        mine += x[row, col]
    part[t] = mine
    cuda.syncthreads()
    if t < HALF:
        part[t] += part[t + HALF]
    cuda.syncthreads()
    if t < QUARTER:
        part[t] += part[t + QUARTER]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(QUARTER):
            total += part[k]
        out[row] = total


def test_a_name_worked_out_before_the_kernel_is_named() -> None:
    found = verdict(before, {"ACROSS": 8})
    assert found.kind == "constants"
    assert "`HALF` and `QUARTER` were computed when the cell ran" in found.why
    assert "Compute them inside the kernel" in found.why
    assert "shape" not in found.why
    assert [(place.text, note) for place, note in found.places] == [
        ("if t < HALF:", "HALF is still 16"),
        ("if t < QUARTER:", "QUARTER is still 8"),
    ]
    assert HALF == 16


ROWS = 2 * ACROSS


@cuda.jit
def before_in_a_shape(x, out):
    part = cuda.shared.array(ROWS, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.blockIdx.x, t] if t < x.shape[1] else float32(0)
    part[ACROSS + t] = float32(0)
    for col in range(t + ACROSS, x.shape[1], ACROSS):
        part[ACROSS + t] += x[cuda.blockIdx.x, col]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(2 * ACROSS):
            total += part[k]
        out[cuda.blockIdx.x] = total


def test_a_shape_worked_out_before_the_kernel_is_to_have_axes() -> None:
    found = verdict(before_in_a_shape, {"ACROSS": 64})
    assert found.kind == "constants"
    assert "`ROWS` was computed when the cell ran" in found.why
    assert "several axes" in found.why
    assert "Compute it" not in found.why


def test_names_in_the_cells_of_a_notebook() -> None:
    scope = dict(named.py_func.__globals__)
    scope["In"] = ["%matplotlib inline", "THIRD = ACROSS // 3", "print(ACROSS)"]
    scope["THIRD"] = 10

    def kernel():
        return THIRD  # noqa: F821

    known = FunctionType(kernel.__code__, scope)
    assert derived(known, {"ACROSS": 9}) == {"THIRD": 3}
    assert derived(known, {"DEEP": 9}) == {}
    scope["THIRD"] = 11  # was given another value since
    assert derived(known, {"ACROSS": 9}) == {}


@cuda.jit
def doubled(x, out):
    part = cuda.shared.array((ACROSS, DEEP), float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t, 0] = float32(0)
    for col in range(t, x.shape[1], ACROSS):
        part[t, 0] += x[row, col]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(ACROSS):
            total += part[k, 0]
        out[row] = total


def test_limits_may_hold_with_other_constants() -> None:
    assert verdict(doubled, {"DEEP": 1}, limits={"otherwise": {"bank_conflicts": 0}})
    limits = {"bank_conflicts": 3, "otherwise": {"bank_conflicts": 3}}
    assert verdict(doubled, {"DEEP": 3}, limits=limits)
    found = verdict(doubled, {"DEEP": 3}, {"DEEP": 8}, limits=limits)
    assert found.kind == "bank-conflicts"
    assert found.message.startswith("With DEEP = 8: ")
    assert found.places[0][0].text.startswith("part[t, 0]")


@cuda.jit
def fours(x, out):
    sums = cuda.local.array(4, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for k in range(4):
        sums[k] = float32(0)
    for col in range(int32(4) * t, x.shape[1], 4 * ACROSS):
        four = load4(x, (row, col))
        for e in range(4):
            sums[t % DEEP] += four[e]
    for k in range(4):
        if sums[k] != 0:
            cuda.atomic.add(out, row, sums[k])


def test_the_four_of_a_wide_load_is_no_candidate() -> None:
    function = fours.py_func
    found = numbers_in(function, {"DEEP": 4})
    lines, first = inspect.getsourcelines(function)
    assert {lines[number.line - first].strip() for number in found} == {
        "sums = cuda.local.array(4, float32)",
        "for k in range(4):",
    }


@cuda.jit
def aligned(x, out):
    tile = cuda.shared.array(DEEP, float32, alignment=16)
    tile[cuda.threadIdx.x % 16] = x[0]


def test_an_alignment_is_no_candidate() -> None:
    lines, first = inspect.getsourcelines(aligned.py_func)
    found = numbers_in(aligned.py_func, {"DEEP": 16})
    assert [lines[n.line - first].strip() for n in found] == [
        "tile[cuda.threadIdx.x % 16] = x[0]"
    ]


def test_a_number_that_no_name_cures_is_not_blamed() -> None:
    found = verdict(unsure, {"DEEP": 8})
    assert found.kind == "constants"
    assert "is not computed from it" in found.why
    assert "`x[0, 4]` is never read" in found.why
    assert [note for place, note in found.places if "range(4)" in place.text] == []


def test_the_part_that_is_wrong_is_named() -> None:
    found = verdict(first_row_alone, {"DEEP": 8})
    assert found.kind == "constants"
    assert found.why.startswith("Only what block 0 has stored is right.")
    assert "Which name should replace each number?" in found.why


LENGTH = 32  # as long as ACROSS


@cuda.jit
def other_name(x, out):
    part = cuda.shared.array(LENGTH, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t < LENGTH:
        part[t] = float32(0)
    for col in range(t, x.shape[1], LENGTH):
        part[t] += x[row, col]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(ACROSS):
            total += part[k]
        out[row] = total


def test_a_name_in_the_place_of_another_is_marked() -> None:
    found = verdict(other_name, {"ACROSS": 8})
    assert found.kind == "constants"
    assert "which size is meant?" in found.why
    assert [(place.text, note) for place, note in found.places] == [
        ("for col in range(t, x.shape[1], LENGTH):", "`LENGTH` here")
    ]


def test_of_two_names_that_change_the_wrong_one_is_marked() -> None:
    found = verdict(other_name, {"ACROSS": 8, "LENGTH": 16})
    assert found.kind == "constants"
    assert [(place.text, note) for place, note in found.places] == [
        ("for col in range(t, x.shape[1], LENGTH):", "`LENGTH` here")
    ]


@cuda.jit
def first_row_alone(x, out):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t == 0:
        total = float32(0)
        for col in range(x.shape[1]):
            total += x[row, col]
            if row * (DEEP - 4) > 2:
                total += x[row, col] * x[row, col]
        out[row] = total


@cuda.jit
def unsure(x, out):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t == 0:
        total = float32(0)
        for k in range(2 + 2):
            for col in range(k, x.shape[1], DEEP):
                total += x[row, col]
        for _ in range(4):
            total += float32(0)
        out[row] = total


@cuda.jit
def one_loop_for_both(x, out):
    part = cuda.shared.array(ACROSS, float32)
    zeros = cuda.shared.array(LENGTH, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t] = float32(0)
    for col in range(t, x.shape[1], ACROSS):
        part[t] += x[row, col]
    cuda.syncthreads()
    if t == 0:
        for k in range(LENGTH):
            zeros[k] = float32(0)
        total = float32(0)
        for k in range(LENGTH):
            total += part[k] + zeros[k]
        out[row] = total


def test_a_name_is_blamed_only_if_another_is_right_with_all_constants() -> None:
    short, long = {"ACROSS": 8, "LENGTH": 16}, {"ACROSS": 16, "LENGTH": 8}
    found = verdict(one_loop_for_both, short)
    assert "`LENGTH` here" in [note for _, note in found.places]
    found = verdict(one_loop_for_both, short, long)
    assert found.kind == "constants"
    assert not any("here" in note for _, note in found.places)
    assert "part[k] + zeros[k]" in found.places[0][0].text
