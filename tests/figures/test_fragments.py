"""The figure on fragments, against the simulator's mma and the table of chapter 21."""

import itertools

import numpy as np
from test_schedules import called

import weft  # noqa: F401  before Numba
from weft.chapters import Chapter

from numba import cuda, float32  # isort: skip
from weft.intrinsics import mma_f16
from weft.intrinsics.tensor_cores import matrix_a, matrix_b, matrix_c
from weft.simulator import record

tables = Chapter("21_tensor_cores").checks.TABLES
SHAPES = {"a": (16, 8), "b": (8, 8), "c": (16, 8)}
PLACES = [(m, *at) for m, shape in SHAPES.items() for at in np.ndindex(*shape)]


def test_holders_are_those_of_the_simulator() -> None:
    registers = {"a": 4, "b": 2, "c": 4}
    whole = {"a": matrix_a, "b": matrix_b, "c": matrix_c}
    numbered = {
        name: whole[name](np.arange(32 * n).reshape(32, n))
        for name, n in registers.items()
    }
    found = called("fragments_rules", *[("holder", *place) for place in PLACES])
    for (matrix, row, column), owner in zip(PLACES, found, strict=True):
        assert owner == list(divmod(numbered[matrix][row, column], registers[matrix]))
    lanes = list(itertools.product(SHAPES, range(32)))
    held = called("fragments_rules", *[("held", *each) for each in lanes])
    for (matrix, lane), words in zip(lanes, held, strict=True):
        first = lane * registers[matrix]
        numbers = [numbered[matrix][row, column] for row, column in words]
        assert numbers == list(range(first, first + registers[matrix]))


def test_holders_are_those_of_chapter_21() -> None:
    found = called("fragments_rules", *[("holder", *place) for place in PLACES])
    for (matrix, row, column), (lane, register) in zip(PLACES, found, strict=True):
        if matrix == "c":
            assert tables["c"][row, column] == (lane, register)
            continue
        for half in (0, 1):  # two numbers of 16 bits in a word, neighbours along k
            at = {"a": (row, 2 * column + half), "b": (2 * row + half, column)}[matrix]
            assert tables[matrix][at] == (lane, 2 * register + half)


@cuda.jit
def one_lane_at_a_time(out):
    """Run 32 products, in each of which one lane's operands are ones, others zeros.

    out: (2, 32, 16, 8); first with that lane's `a` alone, then with its `b` alone.
    """
    lane = cuda.threadIdx.x
    g, t = lane // 4, lane % 4
    ones = 0x3C003C00  # two float16
    for which in range(2):
        for source in range(32):
            a = cuda.local.array(4, np.uint32)
            b = cuda.local.array(2, np.uint32)
            c = cuda.local.array(4, float32)
            for i in range(4):
                a[i] = ones if which or lane == source else 0
                c[i] = 0
            for i in range(2):
                b[i] = ones if not which or lane == source else 0
            mma_f16(c, a, b)
            for i in range(4):
                out[which, source, g + i // 2 * 8, 2 * t + i % 2] = c[i]


def test_a_result_is_computed_from_the_lanes_that_are_named() -> None:
    out = np.zeros((2, 32, 16, 8), np.float32)
    record(one_lane_at_a_time, (1, 32), (out,))
    places = list(np.ndindex(16, 8))
    found = called("fragments_rules", *[("needed", *at) for at in places])
    for at, lanes in zip(places, found, strict=True):
        for which, mine in enumerate(lanes):
            contributing = np.flatnonzero(out[(which, slice(None), *at)])
            assert contributing.tolist() == mine
