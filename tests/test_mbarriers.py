"""Mbarriers and bulk copies in the simulator: phases, bytes, and who knows what."""

import ast
import linecache

import numpy as np
import pytest

from weft import check
from weft.intrinsics import (
    bulk_copy,
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    tma_load,
)
from weft.kernels.parities import resets

from numba import cuda, float32, int32, uint64  # isort: skip

TILE, STAGES = 32, 2
GIVEN = {
    "cuda": cuda,
    "float32": float32,
    "int32": int32,
    "uint64": uint64,
    "TILE": TILE,
    "STAGES": STAGES,
    "bulk_copy": bulk_copy,
    "fence_mbarrier_init": fence_mbarrier_init,
    "mbarrier_arrive": mbarrier_arrive,
    "mbarrier_arrive_expect_tx": mbarrier_arrive_expect_tx,
    "mbarrier_init": mbarrier_init,
    "mbarrier_wait": mbarrier_wait,
    "tma_load": tma_load,
}
COLUMN_SUMS = """
@cuda.jit
def column_sums(x, out):
    tiles = cuda.shared.array((STAGES, TILE), float32, alignment=16)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    t = int32(cuda.threadIdx.x)
    if t == 0:
        for s in range(STAGES):
            mbarrier_init(full, s, 1)
            mbarrier_init(empty, s, TILE)
        fence_mbarrier_init()
    cuda.syncthreads()
    count = int32(x.size // TILE)
    stage, phase = int32(0), int32(0)
    if t < 32:
        if t == 0:
            for k in range(count):
                mbarrier_wait(empty, stage, phase ^ int32(1))
                mbarrier_arrive_expect_tx(full, stage, 4 * TILE)
                bulk_copy(tiles, (stage, 0), x, k * TILE, 4 * TILE, full, stage)
                stage += int32(1)
                if stage == STAGES:
                    stage, phase = int32(0), phase ^ int32(1)
    else:
        total = float32(0)
        for k in range(count):
            mbarrier_wait(full, stage, phase)
            total += tiles[stage, t - 32]
            mbarrier_arrive(empty, stage)
            stage += int32(1)
            if stage == STAGES:
                stage, phase = int32(0), phase ^ int32(1)
        out[t - 32] = total
"""
EXPECT = "mbarrier_arrive_expect_tx(full, stage, 4 * TILE)"
COPY = "bulk_copy(tiles, (stage, 0), x, k * TILE, 4 * TILE, full, stage)"
READ = "            total += tiles[stage, t - 32]\n"
DONE = "            mbarrier_arrive(empty, stage)\n"
ONE = "mbarrier_init(empty, s, TILE)", "mbarrier_init(empty, s, 1)"
FIRST_PARITY = "empty, stage, phase ^ int32(1)", "empty, stage, phase"
WAIT = "            mbarrier_wait(full, stage, phase)\n"


def verdict(*changes):
    """Check the kernel with these changes: pairs of what was and what is."""
    source = COLUMN_SUMS
    for old, new in changes:
        assert old in source
        source = source.replace(old, new, 1)
    name = f"<mbarriers {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope = dict(GIVEN)
    exec(compile(source, name, "exec"), scope)
    return check(
        scope["column_sums"],
        spec=lambda x: x.reshape(-1, TILE).sum(0).astype("f4"),
        inputs=lambda rng, n: rng.standard_normal(n * TILE).astype("f4"),
        sizes=[1, 5],
        launch=lambda n: (1, 32 + TILE),
    )


def test_a_ring_of_stages_is_right():
    assert verdict().kind == "pass"


@pytest.mark.parametrize("lane", [32, 37])
def test_one_arrival_per_warp_is_right_after_a_synchronisation_of_the_warp(lane):
    arrive = f"            cuda.syncwarp()\n            if t == {lane}:\n    {DONE}"
    assert verdict(ONE, (DONE, arrive)).kind == "pass"


def test_one_lane_may_wait_for_its_warp():
    wait = f"            if t == 40:\n    {WAIT}"
    assert verdict((WAIT, wait)).kind == "uninitialised"
    assert verdict((WAIT, wait + "            cuda.syncwarp()\n")).kind == "pass"


@pytest.mark.parametrize(
    ("kind", "says", "changes"),
    [
        ("uninitialised", "has not waited there", [(WAIT, "")]),
        (
            "uninitialised",
            "a wait for parity 1 does not wait",
            [(WAIT, WAIT.replace("phase)", "phase ^ int32(1))"))],
        ),
        (
            "uninitialised",
            "whatever is on its way",
            [(EXPECT, "mbarrier_arrive(full, stage)")],
        ),
        ("mbarrier", "were not announced", [(EXPECT, EXPECT.replace("4", "2"))]),
        ("mbarrier", "announced have not", [(EXPECT, EXPECT.replace("4", "8"))]),
        ("mbarrier", "0 of 32 arrivals", [(DONE, "")]),
        (
            "mbarrier",
            "1 of 32 arrivals",
            [(DONE, "            if t == 32:\n    " + DONE)],
        ),
        ("mbarrier", "parity 0, and it never", [FIRST_PARITY]),
        ("mbarrier", "Which of these waits should?", [FIRST_PARITY]),
        ("mbarrier", "should arrive here, or announce", [(EXPECT, "pass"), (COPY, "")]),
        (
            "mbarrier",
            "the only arrival of its phase has come already",
            [("                mbarrier_wait(empty, stage, phase ^ int32(1))\n", "")],
        ),
        ("race", "still to be read", [(READ + DONE, DONE + READ)]),
        ("race", "race on shared", [("    cuda.syncthreads()\n", "")]),
        (
            "mbarrier",
            "is used by mbarrier_wait before",
            [("mbarrier_init(empty, s, TILE)", "mbarrier_init(full, s, 1)")],
        ),
        ("mbarrier", "ahead: it has completed 32 phases, one after each", [ONE]),
        ("mbarrier", "each arrival, and 32 threads arrive there, on line 30.", [ONE]),
        ("mbarrier", "completed 4 phases, one after every 8 arrivals",
            [("(empty, s, TILE)", "(empty, s, 8)")]),
        ("uninitialised", "writes 64 bytes: 16 elements from `tiles[0, 0]` on",
            [(EXPECT, EXPECT.replace("4", "2")),
             (COPY, COPY.replace("4 * TILE, full", "2 * TILE, full"))]),
        ("mbarrier", "for 0 arrivals", [("(empty, s, TILE)", "(empty, s, 0)")]),
        (
            "mbarrier",
            "parity of a phase is 0 or 1",
            [("phase ^ int32(1)\n        out", "phase + int32(1)\n        out")],
        ),
        ("misaligned", "copies 120 bytes", [(COPY, COPY.replace("4 * TILE, full",
                                                                "120, full"))]),
        ("misaligned", "copies 0 bytes", [(COPY, COPY.replace("4 * TILE, full",
                                                              "0, full"))]),
        ("misaligned", "4 bytes into x", [(COPY, COPY.replace("k * TILE",
                                                             "k * TILE + 1"))]),
        ("out-of-bounds", "x[", [(COPY, COPY.replace("k * TILE", "k * TILE + 4"))]),
        ("exception", "shared array of uint64", [("STAGES, uint64", "STAGES, int32")]),
        ("tensor-map", "is no tensor map", [(COPY,
            "tma_load(tiles, (0, 0), x, 0, 0, full, stage)")]),
        ("mbarrier", "no fence has followed",
            [("        fence_mbarrier_init()\n", "")]),
        ("race", "still to be read",
            [ONE, (DONE, "            if t == 32:\n    " + DONE)]),
        ("race", "still to be read", [ONE, (DONE,
            "            cuda.shfl_sync(0xFFFFFFFF, t, 0)\n"
            "            if t == 32:\n    " + DONE)]),
        ("race", "still to be read", [ONE, (DONE,
            "            if t == 32:\n    " + DONE + "            cuda.syncwarp()\n")]),
    ],
)  # fmt: skip
def test_mistakes_are_named(kind, says, changes):
    found = verdict(*changes)
    text = " ".join(str(found).split())
    assert found.kind == kind, text
    assert says in text, text


def test_a_copy_arrives_only_when_all_wait():
    @cuda.jit
    def early(x, out):
        tile = cuda.shared.array(TILE, float32)
        bars = cuda.shared.array(1, uint64)
        t = cuda.threadIdx.x
        if t == 0:
            mbarrier_init(bars, 0, 1)
            fence_mbarrier_init()
            mbarrier_arrive_expect_tx(bars, 0, 4 * TILE)
            bulk_copy(tile, 0, x, 0, 4 * TILE, bars, 0)
        cuda.syncthreads()
        out[t] = tile[t]
        mbarrier_wait(bars, 0, 0)
        out[t + TILE] = tile[t]

    x = np.arange(TILE, dtype=np.float32)
    out = np.zeros(2 * TILE, np.float32)
    early[1, TILE](x, out)
    assert np.isnan(out[:TILE]).all()
    assert (out[TILE:] == x).all()


def test_phases_are_known_outside_of_a_trace():
    @cuda.jit
    def turns(out):
        bars = cuda.shared.array(1, uint64)
        t = cuda.threadIdx.x
        if t == 0:
            mbarrier_init(bars, 0, 32)
        cuda.syncthreads()
        for k in range(5):
            mbarrier_arrive(bars, 0)
            mbarrier_wait(bars, 0, k % 2)
            out[t] = k

    out = np.zeros(32, np.int32)
    turns[1, 32](out)
    assert (out == 4).all()


def test_a_parity_set_back_in_a_loop_is_shown():
    source = """
stage, phase = int32(0), int32(0)
for tile in range(tiles):
    stage, phase, other = int32(0), int32(0), 0
    if stage:
        phase = 0
    for step in range(steps):
        mbarrier_wait(full, stage, phase)
        mbarrier_wait(empty, stage, phase ^ int32(1))
        stage, phase = turned(stage, phase)
"""
    tree = ast.parse(source)
    for bar in ("full", "empty"):
        found = [(name, loop.lineno, line) for name, loop, line in resets(tree, {bar})]
        assert found == [("phase", 3, 4)]
    assert not list(resets(tree, {"other"}))
