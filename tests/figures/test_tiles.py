"""The figure on tiles, against cuTile and Numba kernels as the course runs them."""

from typing import Any

import numpy as np
import pytest
from test_schedules import called

import weft  # noqa: F401  before Numba
from weft import check
from weft.tile_programs import missing

from numba import cuda  # isort: skip
from weft.simulator import record

if reason := missing():
    pytest.skip(reason, allow_module_level=True)

import cuda.tile as ct

TILE = 8
SIZES = [9, 21, 32]
Constant = ct.Constant[int]


@ct.kernel
def stores_its_number(x, out, TILE: Constant):
    """Store the number of the block into its tile of out."""
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * 0 + i)


@ct.kernel
def by_mistake(x, out, TILE: Constant):
    """Do the same with an index that counts elements."""
    i = ct.bid(0) * TILE
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * 0 + i)


@ct.kernel
def counts_inside(x, out, TILE: Constant):
    """Count the elements of each block's tile that are inside x, which is all ones."""
    i = ct.bid(0)
    zero = ct.PaddingMode.ZERO
    part = ct.load(x, index=(i,), shape=(TILE,), padding_mode=zero)
    ct.store(out, index=(i,), tile=ct.sum(part, keepdims=True))


def rules(*calls: tuple[Any, ...]) -> list[Any]:
    return called("tiles_rules", *calls)


def launched(kernel: Any, n: int, expected: list[float], out: Any = None) -> Any:
    """Check a kernel on `n` ones; return the verdict."""
    more = {} if out is None else {"out": lambda x: out}
    return check(
        kernel,
        spec=lambda x: np.array(expected[: x.size], np.float32),
        inputs=lambda rng, n: (np.ones(n, np.float32),),
        sizes=[n],
        unseen=[n],
        larger=[],
        launch=lambda n: ((-(-n // TILE),), {"TILE": TILE}),
        **more,
    )


@pytest.mark.parametrize("n", SIZES)
def test_blocks_store_what_the_figure_says(n: int) -> None:
    owners, mistaken, count = rules(
        ("stored", n, TILE, False), ("stored", n, TILE, True), ("blocks", n, TILE)
    )
    assert launched(stores_its_number, n, owners)
    assert not launched(by_mistake, n, owners)
    assert mistaken == [0] * TILE + [None] * (n - TILE)
    tiles = rules(*[("tileOf", block, n, TILE) for block in range(count)])
    inside = [sum(k is not None for k in tile) for tile in tiles]
    assert launched(counts_inside, n, inside, np.zeros(count, np.float32))


@pytest.mark.parametrize("n", SIZES)
def test_threads_have_the_elements_of_the_tile(n: int) -> None:
    @cuda.jit
    def element(out, found):
        i = cuda.grid(1)
        if i < out.size:
            found[cuda.blockIdx.x, cuda.threadIdx.x] = i

    (count,) = rules(("blocks", n, TILE))
    found = np.full((count, TILE), -1)
    record(element, (count, TILE), (np.zeros(n), found))
    tiles = rules(*[("tileOf", block, n, TILE) for block in range(count)])
    numbers = [[-1 if k is None else k for k in tile] for tile in tiles]
    assert numbers == found.tolist()
