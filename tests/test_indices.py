"""An index out of bounds: the values behind it, where they were set, what let it in."""

import ast
from typing import Any

import numpy as np
import pytest

import weft
from weft.checking.unread import beyond_it, end_of_reads
from weft.checking.verdict import Verdict
from weft.kernels.definitions import setters
from weft.kernels.evaluated import number

from numba import cuda, float32, int32  # isort: skip

F = np.float32


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def check(kernel: Any, spec: Any, size: int = 64, **more: Any) -> Verdict:
    """Check a kernel on random numbers, with blocks of 32 threads."""
    given = {
        "inputs": lambda rng, n: (rng.random(n, F),),
        "sizes": [size],
        "launch": lambda n: ((n + 31) // 32, 32),
        "unseen": False,
    }
    return weft.check(kernel, spec=spec, **(given | more))


def notes(verdict: Verdict) -> list[tuple[str, str]]:
    """The lines of a verdict, each with its note."""
    return [(place.text, note) for place, note in verdict.places]


@cuda.jit
def passes(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = tile[t + 32] = x[t]
    s = 1
    while s <= 64:
        k = t % s
        tile[2 * t - k + s] = x[k]
        cuda.syncthreads()
        s *= 2
    out[t] = tile[t]


@cuda.jit
def steps(x, out):
    i = cuda.threadIdx.x
    while i <= x.size:
        out[i] = x[i]
        i += 32


@cuda.jit
def growing(x, out):
    t = cuda.threadIdx.x
    s = 1
    while s < 32:
        out[t] = x[33 + t - s]
        s += 2


@cuda.jit
def halving(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    s = cuda.blockDim.x
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    out[t] = tile[t]


def test_the_loop_that_lets_a_variable_grow_too_far_is_named() -> None:
    verdict = check(passes, lambda x: x, 32)
    assert notes(verdict) == [
        ("tile[2 * t - k + s] = x[k]", "`t` is 0"),
        ("while s <= 64:", "`s` is 64, lets it through"),
        ("k = t % s", "`k` is 0"),
    ]
    assert notes(check(steps, lambda x: x, launch=lambda n: (1, 32))) == [
        ("out[i] = x[i]", ""),
        ("while i <= x.size:", "`i` is 64, lets it through"),
    ]


def test_a_variable_changed_in_a_loop_is_shown_where_it_was_set_last() -> None:
    assert notes(check(growing, lambda x: x, 32)) == [
        ("out[t] = x[33 + t - s]", "`t` is 0"),
        ("s = 1", "`s` is 1"),
    ]
    assert notes(check(halving, lambda x: x, 32)) == [
        ("tile[t] += tile[t + s]", "`t` is 0"),
        ("s = cuda.blockDim.x", "`s` is 32"),
        ("if t < s:", "lets it through"),
    ]


@cuda.jit
def summed(x, out):
    i = cuda.grid(1)
    place = int32(0)
    for _ in range(i):
        place += int32(2)
    out[place] = x[i]


def test_lines_that_may_have_set_a_variable_are_all_shown() -> None:
    assert notes(check(summed, lambda x: x)) == [
        ("out[place] = x[i]", ""),
        ("place += int32(2)", "`place` is 64"),
    ]
    assert notes(check(either, lambda x: x)) == [
        ("out[place] = x[i]", ""),
        ("place = 2 * i", "sets `place`"),
        ("place = 3 * i", "sets `place`"),
    ]


@cuda.jit
def either(x, out):
    i = cuda.grid(1)
    place = 2 * i
    if x[i] < 2:
        place = 3 * i
    out[place] = x[i]


@cuda.jit
def window(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(4):
            total += x[i + k]
        out[i] = total


@cuda.jit
def mirrored(x, out):
    i = cuda.grid(1)
    m = x.size
    n = out.size
    if i < n:
        out[i] = x[m - i]


@cuda.jit
def window_one_too_far(x, out):
    i = cuda.grid(1)
    if i <= out.size:
        total = float32(0)
        for k in range(3):
            total += x[i + k]
        out[i] = total


@cuda.jit
def window_of_the_input(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i % out.size] = x[i] + x[i + 1]


@cuda.jit
def by_another_index(x, out):
    i = cuda.grid(1)
    n = x.size
    j = n - i
    if i < out.size and j <= n:
        out[i] = x[j]


@cuda.jit
def left_early(x, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    out[i] = x[i + 1] + x[i + 2] + x[i + 3]


def sums(x: np.ndarray) -> np.ndarray:
    return np.convolve(x, np.ones(3, x.dtype), "valid")


def test_a_guard_that_is_right_is_not_blamed() -> None:
    assert notes(check(window, sums)) == [
        ("total += x[i + k]", "`i` is 61"),
        ("if i < out.size:", "`out[61]` is in bounds"),
        ("for k in range(4):", "`k` is 3"),
    ]
    assert notes(check(left_early, sums)) == [
        ("out[i] = x[i + 1] + x[i + 2] + x[i + 3]", "`i` is 61"),
        ("if i >= out.size:", "`out[61]` is in bounds"),
    ]
    assert notes(check(mirrored, lambda x: x[::-1])) == [
        ("out[i] = x[m - i]", "`i` is 0"),
        ("m = x.size", "`m` is 64"),
        ("if i < n:", "`out[0]` is in bounds"),
    ]


def test_a_guard_that_is_wrong_is_blamed() -> None:
    assert notes(check(window_one_too_far, sums)) == [
        ("total += x[i + k]", "`i` is 62"),
        ("if i <= out.size:", "lets it through"),
        ("for k in range(3):", "`k` is 2"),
    ]
    assert ("if i < x.size:", "lets it through") in notes(
        check(window_of_the_input, lambda x: x[:-1] + x[1:])
    )
    assert notes(check(by_another_index, lambda x: x[::-1])) == [
        ("out[i] = x[j]", ""),
        ("j = n - i", "`j` is 64"),
        ("if i < out.size and j <= n:", "lets it through"),
    ]


@cuda.jit
def tile_by_the_index_in_x(x, out):
    tile = cuda.shared.array(40, float32)
    i = cuda.grid(1)
    tile[i] = x[i]
    cuda.syncthreads()
    out[i] = tile[i]


@cuda.jit
def tile_too_short(x, out):
    tile = cuda.shared.array(30, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = tile[t]


def test_an_index_of_a_tile_that_depends_on_the_block_is_explained() -> None:
    own = "Each block has its own `tile`, with indices that begin at 0, and this index "
    assert own in check(tile_by_the_index_in_x, lambda x: x).why
    assert own not in check(tile_too_short, lambda x: x).why


@cuda.jit
def by_the_height(x, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for p in range(3):
            c = col + p
            if c < x.shape[0]:
                total += x[row, c]
        out[row, col] = total


def test_the_condition_that_ends_the_columns_too_early_is_named() -> None:
    verdict = check(
        by_the_height,
        lambda x: x[:, :-2] + x[:, 1:-1] + x[:, 2:],
        inputs=lambda rng, h, w: (rng.random((h, w), F),),
        sizes=[(5, 9)],
        launch=lambda h, w: (1, (16, 8)),
    )
    assert verdict.kind == "wrong-value"
    assert "No column of x from 5 on is read (5 is x.shape[0])." in verdict.why
    assert ("if c < x.shape[0]:", "`c` ends at 4") in notes(verdict)


def test_reads_that_end_at_a_row_or_a_column() -> None:
    marks = np.zeros((4, 6), bool)
    marks[:, :2] = True
    assert end_of_reads(marks) == (1, 2)
    assert end_of_reads(marks.T) == (0, 2)
    assert end_of_reads(marks[0]) is None
    marks[3, 1] = False
    assert end_of_reads(marks) is None
    shapes = {"x": (4, 6), "w": (2, 3)}
    assert beyond_it("x", (1, 2), shapes).endswith("is read (2 is w.shape[0]).")
    assert beyond_it("x", (1, 5), shapes) == "No column of x from 5 on is read."


@cuda.jit
def half_of_the_halo(x, out):
    tile = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for r in range(ty, 7, 4):
        for c in range(tx, 8, 4):
            tile[r, c] = x[r, c]
    cuda.syncthreads()
    out[ty, tx] = tile[ty + 4, tx + 4]


def test_the_rows_of_a_tile_that_are_stored_are_told_from_those_read() -> None:
    verdict = check(
        half_of_the_halo,
        lambda x: x[4:, 4:].copy(),
        inputs=lambda rng, n: (rng.random((n, n), F),),
        sizes=[8],
        launch=lambda n: (1, (4, 4)),
    )
    assert verdict.kind == "uninitialised"
    assert (
        "store to 56 of the array's 64 elements: columns 0–7 of rows 0–6. They read "
        "columns 4–7 of rows 4–7." in verdict.why
    )
    assert ("for r in range(ty, 7, 4):", "sets `r`") in notes(verdict)


KNOWN = {"x": (3, 5), "n": 7, "t": 2, "cuda.blockDim.x": 32}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * t - n // 3", 2),
        ("x.shape[1] - -1", 6),
        ("x.shape[-1] + x.size", 20),
        ("cuda.blockDim.x >> t", 8),
        ("cuda.threadIdx.x", None),
        ("n % 0", None),
        ("1 << n * 100", None),
        ("x", None),
        ("x.shape[2]", None),
        ("f(t)", None),
        ("min(t, n, 4) + uint32(n)", 9),
        ("np.int32(n)", 7),
        ("int32(-t)", None),
        ("max(t, k)", None),
        ("True", None),
    ],
)
def test_the_value_of_an_expression(text: str, value: int | None) -> None:
    assert number(ast.parse(text, mode="eval").body, KNOWN) == value


BODY = """\
def f(n):
    i = 0
    if n > 2:
        i = 1
    else:
        return
    while i < n:
        use(i)
        i += 2
    for k in range(n):
        use(k)
    k, i = n, 3
    use(i)
"""


@pytest.mark.parametrize(
    ("name", "line", "set_on"),
    [
        ("i", 4, {2}),
        ("i", 8, {4, 9}),
        ("k", 11, {10}),
        ("i", 13, {12}),
        ("n", 8, set()),
    ],
)
def test_where_a_variable_was_set_last(name: str, line: int, set_on: set[int]) -> None:
    function = ast.parse(BODY).body[0]
    assert {node.lineno for node in setters(function, name, line)} == set_on
