"""Sixteen bytes at a time to and from the arrays that a kernel makes."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft.intrinsics import commit_group, copy4_async, load4, store4, wait_group
from weft.simulator import Fault, record


def moving(first: int | None, second: int | None) -> Any:
    """A kernel with two shared arrays, aligned so; it moves four to the second."""

    @cuda.jit
    def kernel(x, out):
        one = cuda.shared.array((2, 5), float32, alignment=first)
        two = cuda.shared.array((2, 8), float32, alignment=second)
        one[0, 0] = float32(1)
        row = two[1]
        store4(row, 4, one[0, 0], x[0], x[1], x[2])
        out[0], out[1], out[2], out[3] = load4(two, (1, 4))

    return kernel


def local(alignment: int | None) -> Any:
    @cuda.jit
    def kernel(x, out):
        mine = cuda.local.array(8, float32, alignment=alignment)
        store4(mine, 4, x[0], x[1], x[2], x[3])
        out[0], out[1], out[2], out[3] = load4(mine, 4)

    return kernel


@pytest.mark.parametrize("alignment", [None, 8])
def test_an_array_of_the_kernel_begins_where_it_says(alignment: int | None) -> None:
    x, out = np.arange(2, 6, dtype=np.float32), np.zeros(4, np.float32)
    for aligned in (16, 32):
        record(moving(alignment, aligned), (1, 1), (x, out))
        assert out.tolist() == [1, 2, 3, 4]
    with pytest.raises(Fault, match="`store4` is given two, which need not") as caught:
        record(moving(16, alignment), (1, 1), (x, out))
    assert caught.value.kind == "misaligned"
    assert "`cuda.shared.array(..., alignment=16)`" in caught.value.why


def test_so_does_an_array_of_one_thread() -> None:
    x, out = np.arange(2, 6, dtype=np.float32), np.zeros(4, np.float32)
    record(local(16), (1, 1), (x, out))
    assert out.tolist() == x.tolist()
    with pytest.raises(Fault, match="`store4` is given mine") as caught:
        record(local(None), (1, 1), (x, out))
    assert "`cuda.local.array(..., alignment=16)`" in caught.value.why


@cuda.jit
def alone(x, out):
    tile = cuda.shared.array(8, float32)
    copy4_async(tile, 4, x, 0, True)
    commit_group()
    wait_group(0)
    out[0], out[1], out[2], out[3] = load4(tile, 4)


def test_the_only_shared_array_begins_where_the_memory_does() -> None:
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    record(alone, (1, 1), (x, out))
    assert out.tolist() == x.tolist()
