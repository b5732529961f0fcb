"""Products by a whole warp, and the loads of their fragments: the twins."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from weft.counters import count
from weft.intrinsics import (
    as_matrix,
    commit_group,
    copy4_async,
    f16_pair,
    formats,
    ldmatrix_x2_trans,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    mma_bf16,
    mma_e4m3,
    mma_f16,
    mma_f16_acc16,
    mma_f16_k8,
    mma_tf32,
    registry,
    tf32,
    wait_group,
)
from weft.kernels import hazards
from weft.sanitizer import races, unfinished
from weft.simulator import Fault, record, simulate
from weft.templates import specialise

RNG = np.random.default_rng(21)
instruction: Any = mma_f16
WORDS_A, WORDS_B = 4, 2


@cuda.jit
def product(a, b, c):
    """One product by one warp: a (16, words), b (8, words), c (16, 8)."""
    fa = cuda.local.array(WORDS_A, int32)
    fb = cuda.local.array(WORDS_B, int32)
    fc = cuda.local.array(4, float32)
    lane = cuda.threadIdx.x
    g, t = lane // 4, lane % 4
    for k in range(WORDS_A):
        fa[k] = a[g + 8 * (k % 2), t + 4 * (k // 2)]
    for k in range(WORDS_B):
        fb[k] = b[g, t + 4 * k]
    for k in range(4):
        fc[k] = c[g + 8 * (k // 2), 2 * t + k % 2]
    instruction(fc, fa, fb)
    for k in range(4):
        c[g + 8 * (k // 2), 2 * t + k % 2] = fc[k]


@pytest.mark.parametrize(
    ("one", "form"),
    [
        (mma_f16, formats.FLOAT16),
        (mma_f16_k8, formats.FLOAT16),
        (mma_bf16, formats.BFLOAT16),
        (mma_tf32, formats.TF32),
        (mma_e4m3, formats.E4M3),
    ],
)
def test_fragments_make_a_product(one: Any, form: Any) -> None:
    short = one is mma_f16_k8
    width = 4 if short else 8
    kernel = specialise(
        product, instruction=one, WORDS_A=2 if short else 4, WORDS_B=1 if short else 2
    )
    low = RNG.integers(0, 0x30, (24, width, 4)).astype(np.uint8)  # no NaN
    words = low.reshape(24, -1).view(np.int32)
    a, b = words[:16], words[16:]
    c = RNG.normal(size=(16, 8)).astype(np.float32)
    out = c.copy()
    simulate(kernel, (1, 32), (a, b, out))
    left, right = (
        form.values(x.view(np.uint32)).reshape(len(x), -1).astype(float) for x in (a, b)
    )
    assert np.allclose(out, left @ right.T + c, rtol=1e-6)


def test_sums_in_float16_are_rounded() -> None:
    operation = registry.of(mma_f16_acc16)
    assert operation is not None
    one = np.array([1, 0], np.float16).view(np.int32)[0]
    large = np.array([2048, 2048], np.float16).view(np.int32)[0]
    calls = {k: ([large] * 2, [one] * 4, [one] * 2) for k in range(32)}
    sums = np.array(operation.twin(calls)[0], np.int32).view(np.float16)
    assert sums.tolist() == [2056, 2056, 2056, 2056]
    calls = {k: ([large] * 2, [one, 0, 0, 0], [one, 0]) for k in range(32)}
    sums = np.array(operation.twin(calls)[0], np.int32).view(np.float16)
    assert sums.tolist()[:2] == [2052, 2052]


def test_float8_has_448_and_no_infinity() -> None:
    values = formats.E4M3.values(np.array([0x7E7F0138], np.uint32))[0]
    assert values[[0, 1, 3]].tolist() == [1, 2**-9, 448]
    assert np.isnan(values[2])


def test_conversions() -> None:
    pair, cut = (registry.of(f) for f in (f16_pair, tf32))
    assert pair is not None
    assert cut is not None
    assert pair.twin(1.5, -2).tobytes() == np.array([1.5, -2], np.float16).tobytes()
    assert cut.twin(np.float32(1 + 2**-11)) == np.float32(1 + 2**-10)
    assert cut.twin(np.float32(1 + 2**-12)) == 1


@pytest.mark.parametrize("trans", [False, True])
def test_lanes_name_rows_and_get_words(trans: bool) -> None:
    @cuda.jit
    def plain(x, out):
        tile = cuda.shared.array((32, 4), int32)
        lane = cuda.threadIdx.x
        for w in range(4):
            tile[lane, w] = x[lane, w]
        cuda.syncwarp()
        f = ldmatrix_x4(tile, (lane, 0))
        for k in range(4):
            out[k, lane] = f[k]

    @cuda.jit
    def transposed(x, out):
        tile = cuda.shared.array((32, 4), int32)
        lane = cuda.threadIdx.x
        for w in range(4):
            tile[lane, w] = x[lane, w]
        cuda.syncwarp()
        f = ldmatrix_x4_trans(tile, (lane, 0))
        for k in range(4):
            out[k, lane] = f[k]

    x = RNG.integers(0, 1 << 30, (32, 4)).astype(np.int32)
    out = np.zeros((4, 32), np.int32)
    trace, _ = record(transposed if trans else plain, (1, 32), (x, out))
    wanted = x.reshape(4, 32)
    if trans:
        halves = x.view(np.uint16).reshape(4, 8, 8).transpose(0, 2, 1)
        wanted = np.ascontiguousarray(halves).view(np.int32).reshape(4, 32)
    assert np.array_equal(out, wanted)
    load = next(n for n in count(trace) if n.shared and not n.store)
    assert (load.requests, load.bytes, load.conflicts) == (1, 512, 0)


def test_only_the_lanes_that_name_rows_read() -> None:
    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array((16, 4), int32)
        lane = cuda.threadIdx.x
        if lane < 16:
            for w in range(4):
                tile[lane, w] = x[lane, w]
        cuda.syncwarp()
        f = ldmatrix_x2_trans(tile, (lane, 0))  # lanes 16 to 31: outside
        out[0, lane] = f[0]

    x, out = np.full((16, 4), 0x10001, np.int32), np.zeros((1, 32), np.int32)
    simulate(kernel, (1, 32), (x, out))
    assert out.all()


def test_a_row_must_begin_on_a_boundary_and_be_shared() -> None:
    @cuda.jit
    def off(x, out):
        tile = cuda.shared.array((32, 8), int32)
        out[0, 0] = ldmatrix_x4(tile, (cuda.threadIdx.x, 2))[0]

    @cuda.jit
    def far(x, out):
        out[0, 0] = ldmatrix_x4(x, (cuda.threadIdx.x, 0))[0]

    x, out = np.zeros((32, 8), np.int32), np.zeros((1, 1), np.int32)
    with pytest.raises(Fault, match="2 is not a multiple of 4"):
        simulate(off, (1, 32), (x, out))
    with pytest.raises(Fault, match="reads shared memory"):
        simulate(far, (1, 32), (x, out))


def test_a_call_with_too_few_or_too_many_arguments_is_told_what_there_are() -> None:
    @cuda.jit
    def few(x):
        ldmatrix_x4(x[cuda.threadIdx.x, 0])

    @cuda.jit
    def many(x):
        ldmatrix_x4(x, cuda.threadIdx.x, 0)

    x = np.zeros((32, 8), np.int32)
    said = r"`ldmatrix_x4` takes `tile` and `index`, and this call has "
    for kernel, passed in (few, "1 argument"), (many, "3 arguments"):
        with pytest.raises(Fault, match=said + passed):
            simulate(kernel, (1, 32), (x,))


def test_what_is_no_fragment_is_refused() -> None:
    @cuda.jit
    def kernel(x):
        c = cuda.local.array(4, int32)
        mma_f16(c, (x[0], x[1], x[2], x[3]), (x[0], x[1]))

    with pytest.raises(Fault, match="`c` is an array of 4 numbers, float32; got int32"):
        simulate(kernel, (1, 32), (np.zeros(4, np.int32),))


def test_a_copy_that_is_not_waited_for_is_found() -> None:
    @cuda.jit
    def early(x, out):
        tile = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        copy4_async(tile, 4 * t, x, 4 * t, True)
        commit_group()
        cuda.syncthreads()
        out[t] = tile[127 - t]

    @cuda.jit
    def right(x, out):
        tile = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        copy4_async(tile, 4 * t, x, 4 * t, True)
        commit_group()
        wait_group(0)
        cuda.syncthreads()
        out[t] = tile[127 - t]

    x, out = np.arange(128, dtype=np.int32), np.zeros(32, np.int32)
    trace, _ = record(early, (1, 32), (x, out))
    assert races(trace) is None
    found = unfinished(trace)
    assert found is not None
    assert found.access.place.text == "out[t] = tile[127 - t]"
    assert found.begun.place.text == "copy4_async(tile, 4 * t, x, 4 * t, True)"
    hazard = hazards.find(trace)
    assert hazard is not None
    assert "the copy into it has not arrived" in hazard.verdict.message
    trace, _ = record(right, (1, 32), (x, out))
    assert unfinished(trace) is None
    assert out.tolist() == list(range(127, 95, -1))


def test_a_vector_can_be_taken_as_a_matrix() -> None:
    @cuda.jit
    def kernel(x, out):
        pool = cuda.shared.array(0, int32)
        tile = as_matrix(pool, 4, 2, 8)
        t = cuda.threadIdx.x
        tile[t // 8, t % 8] = x[t]
        cuda.syncthreads()
        out[t] = pool[4 + t]

    x, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    simulate(kernel, (1, 16, 0, 80), (x, out))
    assert out.tolist() == x.tolist()
