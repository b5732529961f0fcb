"""The figure on layouts, against those of chapter 20 and the simulator's counters."""

import itertools
import random
from typing import Any

import numpy as np
import pytest
from test_schedules import called

import weft  # noqa: F401  before Numba
from weft.chapters import Chapter

from numba import cuda, float32, float64, int16  # isort: skip
from weft.counters import count
from weft.intrinsics import load4
from weft.simulator import record

layouts = Chapter("20_layouts").layouts
Layout, parse = layouts.Layout, layouts.parse

TYPES = {2: int16, 4: float32, 8: float64}
TILES = {
    "(8,32):(32,1)": [(0, 0, 1), (3, 2, 3), (5, 0, 5)],
    "(8,32):(36,1)": [(0, 0, 1)],
    "(32,32):(33,1)": [(0, 0, 1)],
    "(8,64):(64,1)": [(0, 0, 1), (3, 3, 3)],
    "((4,2),(8,4)):((8,128),(1,32))": [(0, 0, 1)],
}


def drawn(count: int) -> list[Layout]:
    """Layouts of all forms, the same at every run."""
    rng = random.Random(20)

    def shape(depth: int = 0) -> Any:
        if depth == 2 or (depth and rng.random() < 0.5):
            return rng.choice([1, 2, 3, 4, 8])
        return tuple(shape(depth + 1) for _ in range(rng.randint(1, 3)))

    def strides(like: Any) -> Any:
        if isinstance(like, tuple):
            return tuple(map(strides, like))
        return rng.choice([0, 1, 2, 3, 8, 16, 59])

    found = []
    while len(found) < count:
        each = shape()
        if layouts.size(each) <= 256:
            found.append(Layout(each, strides(each)))
    return found


def test_the_figure_reads_and_evaluates_as_python_does() -> None:
    some = drawn(60)
    read = called("layout_rules", *[("parse", str(each)) for each in some])
    tables = called("layout_rules", *[("table", each) for each in read])
    words = called("layout_rules", *[("written", each["shape"]) for each in read])
    for layout, table, word in zip(some, tables, words, strict=True):
        rows = len(table)
        flat = [table[k % rows][k // rows] for k in range(layout.size)]
        assert flat == layout.table(), layout
        assert word == layouts.written(layout.shape)


def test_coordinates_and_swizzles() -> None:
    asked = [(k, each.shape) for each in drawn(10) for k in range(0, each.size, 3)]
    found = called("layout_rules", *[("idx2crd", k, shape) for k, shape in asked])
    assert found == [as_lists(layouts.idx2crd(k, shape)) for k, shape in asked]
    kinds = [(3, 2, 3), (5, 0, 5), (2, 1, 3)]
    cases = list(itertools.product((0, 33, 500, 1023), kinds))
    found = called("layout_rules", *[("swizzle", i, list(s)) for i, s in cases])
    assert found == [layouts.swizzle(*s)(i) for i, s in cases]


def as_lists(value: Any) -> Any:
    return [as_lists(v) for v in value] if isinstance(value, tuple) else value


def test_owners_are_those_of_the_layout() -> None:
    fragment = "((4,8),(2,2)):((32,1),(16,8))"
    (read,) = called("layout_rules", ("parse", fragment))
    (cells,) = called("layout_rules", ("owners", read, 16))
    for thread, value in itertools.product(range(32), range(4)):
        col, row = divmod(parse(fragment)(thread, value), 16)
        assert cells[row][col] == [[thread, value]]


def passes(addresses: list[int], bytes_each: int, piece: int) -> int:
    """What the counters say of a warp that reads these addresses of shared memory."""
    lanes, dtype = len(addresses), TYPES[bytes_each]
    at = tuple(address // bytes_each for address in addresses)
    length = max(at) + 16
    wide = piece == 16

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(length, dtype)
        t = cuda.threadIdx.x
        out[t] = load4(tile, at[t])[0] if wide else tile[at[t]]

    trace, _ = record(kernel, (1, lanes), (np.zeros(lanes, np.dtype(str(dtype))),))
    line = next(line for line in count(trace) if line.shared)
    return line.ideal + line.conflicts


@pytest.mark.parametrize("text", TILES)
def test_an_access_costs_what_the_simulator_counts(text: str) -> None:
    (read,) = called("layout_rules", ("parse", text))
    for swizzle in TILES[text]:
        (table,) = called("layout_rules", ("table", read, list(swizzle)))
        asked = list(itertools.product(("row", "column", "pieces"), (2, 4, 8)))
        each = [("access", table, way, [1, 2], size) for way, size in asked]
        answers = called("layout_rules", *each)
        for (way, size), found in zip(asked, answers, strict=True):
            if found is None:
                assert way == "pieces"
            elif way != "pieces" or size == 4:  # load4 reads four floats
                expected = passes(found["addresses"], size, found["piece"])
                assert found["taken"] == expected, (swizzle, way, size)


def test_pieces_that_are_apart_cannot_be_read() -> None:
    for text, swizzle in [("(8,32):(32,1)", [5, 0, 5]), ("(8,32):(1,8)", [0, 0, 1])]:
        (read,) = called("layout_rules", ("parse", text))
        (table,) = called("layout_rules", ("table", read, swizzle))
        assert called("layout_rules", ("access", table, "pieces", [0, 0], 4)) == [None]
