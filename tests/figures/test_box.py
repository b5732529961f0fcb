"""The figure on the TMA's boxes, against the simulator's copies and its counters."""

import itertools
from typing import Any

import numpy as np
import pytest
from test_schedules import called

import weft  # noqa: F401  before Numba
from verification.hopper_kernels import LOAD, compiled

from numba import cuda, float32  # isort: skip
from weft.counters import count
from weft.intrinsics import load4
from weft.simulator import record
from weft.tensor_maps import tensor_map

ROWS = PIECES = 11
SIDE, PIECE, NBYTES = 8, 16, 1024
WORDS = NBYTES // 4
CORNERS = list(itertools.product((-4, -1, 0, 3, 6, 7), (-4, 0, 2, 7)))


def numbered() -> Any:
    """Return the matrix as bfloat16-sized numbers, each piece with its own number."""
    piece = 1 + np.arange(ROWS * PIECES, dtype=np.int16).reshape(ROWS, PIECES)
    return np.repeat(piece, PIECE // 2, axis=1)


def arrived(row: int, piece: int, swizzle: int) -> Any:
    """Load a box in the simulator; return the number of the piece at each place."""
    out = np.zeros(NBYTES, np.uint8)
    shape = (SIDE, SIDE * PIECE // 2)
    box = tensor_map(numbered(), shape, swizzle)
    compiled(LOAD, NBYTES=NBYTES)[1, 32](box, out, piece * PIECE // 2, row)
    places = out.view(np.int16).reshape(SIDE, SIDE, PIECE // 2)
    assert (places == places[..., :1]).all()
    return places[..., 0]


@pytest.mark.parametrize("swizzle", [0, 128])
def test_a_box_arrives_as_in_the_simulator(swizzle: int) -> None:
    cases = [
        {"row": row, "piece": piece, "swizzled": bool(swizzle)}
        for row, piece in CORNERS
    ]
    found = called("box_rules", *[("box", case) for case in cases])
    for case, places in zip(cases, found, strict=True):
        numbers = [
            [0 if at is None else 1 + PIECES * at[0] + at[1] for at in places_of_row]
            for places_of_row in places
        ]
        expected = arrived(case["row"], case["piece"], swizzle)
        assert numbers == expected.tolist(), case


@pytest.mark.parametrize("swizzled", [False, True])
def test_reading_costs_what_the_counters_say(swizzled: bool) -> None:
    pieces = range(SIDE)
    found = called("box_rules", *[("reading", p, swizzled) for p in pieces])
    all_places = called(
        "box_rules", *[("placed", r, p, swizzled) for p in pieces for r in range(SIDE)]
    )
    for p, passes in zip(pieces, found, strict=True):
        places = tuple(all_places[SIDE * p : SIDE * (p + 1)])
        assert read_in(places) == passes == (1 if swizzled else SIDE)


def read_in(places: tuple[int, ...]) -> int:
    """Return the passes in which eight lanes read the pieces at these places."""

    @cuda.jit
    def read(out):
        tile = cuda.shared.array(WORDS, float32)
        t = cuda.threadIdx.x
        out[t] = load4(tile, 32 * t + 4 * places[t])[0]

    trace, _ = record(read, (1, SIDE), (np.zeros(SIDE, np.float32),))
    line = next(line for line in count(trace) if line.shared)
    return line.ideal + line.conflicts
