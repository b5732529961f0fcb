"""Boxes by tensor map in the simulator: what arrives where, and what may go wrong."""

import numpy as np
import pytest

from verification.hopper_kernels import (
    LOAD,
    RESULTS,
    STORE,
    changed,
    compiled,
    cut,
    paste,
    placed,
)
from weft.kernels import hazards
from weft.kernels.trial import from_fault
from weft.simulator import Fault
from weft.simulator.launch import record
from weft.tensor_maps import tensor_map

SHAPES = {  # rows and columns of a box, by type and swizzle
    ("int16", 128): (12, 64),
    ("int16", 64): (20, 32),
    ("int16", 32): (18, 16),
    ("int16", 0): (9, 24),
    ("uint8", 128): (16, 128),
    ("float32", 128): (5, 32),
    ("int32", 0): (3, 64),
}
CORNERS = [(0, 0), (3, 32), (14, 128), (-3, 0), (2, -16), (30, 0), (-40, 0), (0, 144)]


def found(kernel, block, args):
    """The verdict on a launch, None if nothing is wrong with it."""
    try:
        trace, _ = record(kernel, (1, block), args)
    except Fault as fault:
        return from_fault(kernel.__name__, fault, "")
    hazard = hazards.find(trace)
    return None if hazard is None else hazard.verdict


def matrix(kind="int16", rows=21, cols=150, pitch=160):
    rng = np.random.default_rng(5)
    return rng.integers(1, 100, (rows, pitch)).astype(kind)[:, :cols]


@pytest.mark.parametrize(("kind", "swizzle"), SHAPES)
@pytest.mark.parametrize(("row", "col"), CORNERS)
def test_a_box_arrives_whole(kind, swizzle, row, col):
    x, shape = matrix(kind), SHAPES[kind, swizzle]
    wanted = placed(cut(x, row, col, shape), swizzle)
    out = np.zeros(wanted.size, np.uint8)
    kernel = compiled(LOAD, NBYTES=wanted.size)
    kernel[1, 32](tensor_map(x, shape, swizzle), out, col, row)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(("kind", "swizzle"), SHAPES)
def test_a_box_is_stored_where_there_is_a_matrix(kind, swizzle):
    shape = SHAPES[kind, swizzle]
    box = matrix(kind, *shape, shape[1])
    held = placed(box, swizzle)
    kernel = compiled(STORE, NBYTES=held.size)
    for row, col in CORNERS:
        if min(row, col) < 0:
            continue
        y, wanted = matrix(kind), matrix(kind)
        paste(wanted, row, col, box)
        base = y.base.copy()
        kernel[1, 64](held, tensor_map(y, shape, swizzle), col, row)
        assert np.array_equal(y, wanted)
        assert np.array_equal(y.base[:, 150:], base[:, 150:])


def load_verdict(*changes, shape=(8, 64), corner=(0, 0), **more):
    x = matrix()
    out = np.zeros(1024, np.uint8)
    kernel = compiled(changed(LOAD, *changes), NBYTES=1024)
    held = more.get("held", tensor_map(x, shape, more.get("swizzle", 128)))
    return found(kernel, 32, (held, out, *corner))


EXPECT = "mbarrier_arrive_expect_tx(bars, 0, NBYTES)"
LOADED = "tma_load(tile, 0, map_x, col, row, bars, 0)"
WAIT = "    mbarrier_wait(bars, 0, 0)\n"


def test_the_kernels_are_right():
    assert load_verdict() is None
    assert load_verdict(corner=(144, 19)) is None
    assert store_verdict() is None
    assert results_verdict() is None


@pytest.mark.parametrize(
    ("kind", "says", "line", "changes"),
    [
        ("mbarrier", "1,024 bytes that were announced have not", WAIT,
         [(LOADED, "pass")]),
        ("mbarrier", "copies brought 24 bytes that were not announced", WAIT,
         [(EXPECT, EXPECT.replace("NBYTES", "1000"))]),
        ("uninitialised", "the copy into it may not have arrived", "out[i] = tile[i]",
         [(WAIT, "")]),
        ("mbarrier", "no fence has followed its mbarrier_init", LOADED,
         [("        fence_mbarrier_init()\n", "")]),
        ("misaligned", "begins 64 bytes into tile", LOADED,
         [(LOADED, LOADED.replace("tile, 0", "tile, 64"))]),
        ("misaligned", "begins 0 bytes into tile", LOADED,
         [(", alignment=1024", "")]),
        ("out-of-bounds", "1,024 bytes, from byte 128 of `tile`", LOADED,
         [(LOADED, LOADED.replace("tile, 0", "tile, 128"))]),
        ("tensor-map", "`out` is no tensor map", "tma_load(",
         [(LOADED, LOADED.replace("map_x", "out"))]),
        ("tensor-map", "takes a tensor map of a stack", "tma_load_plane(",
         [(LOADED, "tma_load_plane(tile, 0, map_x, col, row, 0, bars, 0)")]),
        ("exception", "which this is not" , "tma_load(",
         [(LOADED, LOADED.replace("tile, 0", "out, 0"))]),
    ],
)  # fmt: skip
def test_wrong_loads_are_named(kind, says, line, changes):
    if kind == "exception":
        says = "a box is in shared memory"
    verdict = load_verdict(*changes)
    text = " ".join(str(verdict).split())
    assert (verdict.kind, says in text) == (kind, True), text
    assert line.strip().partition("(")[0] in verdict.places[0][0].text


def test_columns_come_before_rows():
    x = matrix()
    out, swapped = (np.zeros(1024, np.uint8) for _ in "ab")
    held = tensor_map(x, (8, 64))
    compiled(LOAD, NBYTES=1024)[1, 32](held, out, 16, 8)
    turned = LOADED.replace("col, row", "row, col")
    kernel = compiled(changed(LOAD, (LOADED, turned)), NBYTES=1024)
    kernel[1, 32](held, swapped, 16, 8)
    assert np.array_equal(out, placed(cut(x, 8, 16, (8, 64)), 128))
    assert np.array_equal(swapped, placed(cut(x, 16, 8, (8, 64)), 128))


@pytest.mark.parametrize(
    ("kind", "column", "step"),
    [("uint8", 24, 16), ("uint8", -8, 16), ("int16", 149, 8), ("float32", 2, 4)],
)
def test_a_column_that_the_tma_refuses_is_named(kind, column, step):
    held = tensor_map(matrix(kind), SHAPES[kind, 128])
    load = compiled(LOAD, NBYTES=2048)
    store = compiled(STORE, NBYTES=2048)
    data = np.zeros(2048, np.uint8)
    for call, args in (
        ("tma_load", (load, 32, (held, data, column, 0))),
        (
            "tma_store",
            (store, 64, (data, held, column, 0)),
        ),
    ):
        verdict = found(*args)
        text = " ".join(str(verdict).split())
        assert verdict.kind == "misaligned"
        assert f"`{call}` names a box that begins at column {column}; " in text
        assert f"{column} is not a multiple of {step}" in text


@pytest.mark.parametrize(
    ("corner", "place"), [((-8, 0), "column -8"), ((0, -3), "row -3")]
)
def test_a_store_from_before_the_matrix_is_refused(corner, place):
    held = tensor_map(matrix(), (8, 64))
    store = compiled(STORE, NBYTES=1024)
    verdict = found(store, 64, (np.zeros(1024, np.uint8), held, *corner))
    assert verdict.kind == "out-of-bounds"
    assert f"`tma_store` stores a box from {place} of `map_y`" in str(verdict)


def store_verdict(*changes):
    box, y = matrix("uint8", 8, 128, 128), np.zeros((20, 128), np.uint8)
    kernel = compiled(changed(STORE, *changes), NBYTES=1024)
    return found(kernel, 64, (box.reshape(-1), tensor_map(y, (8, 128)), 0, 3))


def results_verdict(*changes):
    words = np.zeros((2, 128, 4), np.int32)
    y = np.zeros((128, 64), np.int16)
    kernel = compiled(changed(RESULTS, *changes))
    return found(kernel, 128, (words, tensor_map(y, (64, 64))))


CLEAR = "        tile[i] = uint8(0)\n"
FENCE = "    fence_async()\n    cuda.syncthreads()\n"
READ = "        bulk_wait_read(0)\n"
INNER = "        fence_async()\n        named_barrier(1, 128)\n"


@pytest.mark.parametrize(
    ("kind", "says", "line", "run", "changes"),
    [
        ("race", "has no `fence_async` in between", "tile[i] = x[i]", store_verdict,
         [("    fence_async()\n", "")]),
        ("race", "does not come in between", "tile[i] = x[i]", store_verdict,
         [(FENCE, "    cuda.syncthreads()\n    fence_async()\n")]),
        ("race", "`tma_store` may read `tile[1]` before it is written by thread 1",
         "tile[i] = x[i]", store_verdict, [("    cuda.syncthreads()\n", "")]),
        ("race", "the TMA may not have read the box", "tma_store", store_verdict,
         [(READ, "")]),
        ("race", "once `bulk_commit()` follows it", "tma_store", store_verdict,
         [("        bulk_commit()\n", "")]),
        ("race", "and `tma_store` may still be reading it", "tma_store",
         store_verdict, [(READ, ""), (CLEAR, CLEAR + READ[4:])]),
        ("race", "the TMA may not have read the box", "tma_store", store_verdict,
         [(READ, ""), ("        tile[i] = uint8(0)", "        pass")]),
        ("race", "and `tma_store` may still be reading it", "tma_store",
         results_verdict, [("bulk_wait_read(0)", "bulk_wait_read(1)")]),
        ("race", "and `tma_store` may still be reading it", "tma_store",
         results_verdict, [("        named_barrier(1, 128)\n", "")]),
        ("race", "has no `fence_async` in between", "stmatrix_x4", results_verdict,
         [("        fence_async()\n", "")]),
        ("race", "`tma_store` may read", "stmatrix_x4", results_verdict,
         [(INNER, "        fence_async()\n")]),
        ("barrier", "32 threads wait at `named_barrier(2, 64)`, and no others",
         "named_barrier(2, 64)", results_verdict,
         [("        named_barrier(1, 128)\n",
           "        if t < 32:\n            named_barrier(2, 64)\n"),]),
        ("barrier", "waits for 100 threads", "named_barrier(1, 100)", results_verdict,
         [("named_barrier(1, 128)", "named_barrier(1, 100)")]),
        ("misaligned", "`stmatrix_x4` begins", "stmatrix_x4", results_verdict,
         [("piece * 8", "piece * 4")]),
    ],
)  # fmt: skip
def test_wrong_stores_are_named(kind, says, line, run, changes):
    verdict = run(*changes)
    text = " ".join(str(verdict).split())
    assert (verdict.kind, says in text) == (kind, True), text
    assert any(line in place.text for place, _ in verdict.places), text


def test_what_a_store_leaves_is_ordered_by_its_wait():
    read = "        out[i] = y[3 + i // 128, i % 128]"
    source = changed(
        STORE, ("        tile[i] = uint8(0)", read), ("(x,", "(x, y, out,")
    )
    box, y = matrix("uint8", 8, 128, 128), np.zeros((20, 128), np.uint8)
    out, held = np.zeros(1024, np.uint8), tensor_map(y, (8, 128))
    given = box.reshape(-1), y, out, held, 0, 3
    early = found(compiled(source, NBYTES=1024), 64, given)
    assert early.kind == "race"
    assert "stored by `tma_store`, in no order" in " ".join(str(early).split())
    source = changed(source, ("bulk_wait_read(0)", "bulk_wait(0)"))
    assert found(compiled(source, NBYTES=1024), 64, given) is None
    assert np.array_equal(out, placed(box, 128))  # XOR undoes itself


def test_four_matrices_are_stored_as_they_are_loaded():
    words = np.arange(256, dtype=np.int32).reshape(2, 128, 1) * 4000
    words = words + np.arange(4, dtype=np.int32) * 100
    y = np.zeros((128, 64), np.int16)
    compiled(RESULTS)[1, 128](words, tensor_map(y, (64, 64)))
    for half in range(2):
        for t in range(128):
            g, c = t % 32 // 4, t % 4
            for j in range(4):
                for m in range(4):
                    row = 64 * half + t // 32 * 16 + g + 8 * (m % 2)
                    col = 16 * j + 8 * (m // 2) + 2 * c
                    pair = y[row, col : col + 2].view(np.int32)[0]
                    assert pair == words[half, t, j] + m


def test_a_stack_has_planes():
    torch = pytest.importorskip("torch")
    from weft.stack_maps import stack_map

    x = torch.arange(3 * 10 * 64, dtype=torch.int16).view(3, 10, 64)
    source = LOAD.replace("tma_load(tile, 0, map_x, col, row,", "tma_load_plane("
                          "tile, 0, map_x, col, row, 1,")  # fmt: skip
    out = np.zeros(1024, np.uint8)
    compiled(source, NBYTES=1024)[1, 32](stack_map(x, (8, 64)), out, 0, 4)
    wanted = placed(cut(x[1].numpy(), 4, 0, (8, 64)), 128)
    assert np.array_equal(out, wanted)  # zeros, and not the first rows of plane 2
