"""Products of warpgroups in the simulator: their values, and what may go wrong."""

import numpy as np
import pytest
from test_tensor_copies import found

from verification.hopper_kernels import CHAINED, PRODUCT, bfloat16, changed, compiled
from weft import check
from weft.intrinsics.boxes import swizzled
from weft.intrinsics.operands import Descriptor, described, spans
from weft.intrinsics.tensor_cores import BFLOAT16
from weft.kernels import hazards
from weft.sanitizer import refuse
from weft.simulator import Fault
from weft.simulator.launch import record
from weft.tensor_maps import tensor_map

STAGES, STEPS = 2, 5
LANDED = "            wgmma_wait(0)\n"
RELEASE = "            if t == 0:\n                mbarrier_arrive(empty, stage)\n"
FULL = "            mbarrier_wait(full, stage, phase)\n"
EXPECT = "mbarrier_arrive_expect_tx(full, stage, 16384)"


def operands(steps=STEPS):
    """Two matrices of small integers, and their bits."""
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-4, 5, (64, 64 * steps)).astype("f4") for _ in "ab")
    return a, b, bfloat16(a), bfloat16(b)


def test_a_product_through_a_ring():
    a, b, bits_a, bits_b = operands()
    c = np.zeros((64, 64), np.float32)
    kernel = compiled(PRODUCT, STAGES=STAGES)
    maps = [tensor_map(x, (64, 64)) for x in (bits_a, bits_b)]
    kernel[1, 256](*maps, c, STEPS)
    assert np.array_equal(c, a @ b.T)


def ring(*changes, block=256, swizzle=128, steps=STEPS):
    """The verdict on the ring with these changes."""
    _, _, a, b = operands()
    kernel = compiled(changed(PRODUCT, *changes), STAGES=STAGES)
    c = np.zeros((64, 64), np.float32)
    maps = [tensor_map(x, (64, 64), swizzle) for x in (a, b)]
    return found(kernel, block, (*maps, c, steps))


LATE = [  # one group stays in flight, and the stage before it is released
    (LANDED, "            wgmma_wait(1)\n"),
    (RELEASE, "            if k > 0 and t == 0:\n"
              "                mbarrier_arrive(empty, (stage + 1) % 2)\n"),
    ("        hold(acc, 32)\n", "        wgmma_wait(0)\n        hold(acc, 32)\n"),
]  # fmt: skip
PER_WARP = [
    ("mbarrier_init(empty, s, 1)", "mbarrier_init(empty, s, 4)"),
    ("            if t == 0:\n                mbarrier_arrive(e",
     "            if t % 32 == 0:\n                mbarrier_arrive(e"),
]  # fmt: skip
PEEK = "            seen = a[stage, t]\n"
EACH = [(LANDED, LANDED + PEEK), *PER_WARP]


@pytest.mark.parametrize("changes", [[], LATE, PER_WARP])
def test_one_arrival_releases_what_a_warpgroup_has_read(changes):
    assert ring(*changes) is None


def test_one_arrival_per_warp_needs_a_synchronisation_of_the_warp():
    early = ring(*EACH)
    assert (early.kind, early.places[0][0].text) == ("race", PEEK.strip())
    each = (PEEK, PEEK + "            cuda.syncwarp()\n")
    assert ring(*EACH, each) is None


def test_a_product_brings_the_lanes_of_a_warp_together():
    before = ("            wgmma_fence()\n", PEEK + "            wgmma_fence()\n")
    assert ring(before, *PER_WARP) is None
    early = ring(before)  # one arrival for four warps, and three may still read
    assert (early.kind, early.places[0][0].text) == ("race", PEEK.strip())
    barrier = "            named_barrier(1, 128)\n"
    assert ring(before, (RELEASE, barrier + RELEASE)) is None


@pytest.mark.parametrize(
    ("kind", "says", "line", "changes"),
    [
        ("uninitialised", "Which wait says that it is done?", "c[r, q] = acc",
         [(LANDED, "")]),
        ("uninitialised", "`wgmma_wait(1)` does not wait for the last group",
         "c[r, q] = acc", [(LANDED, LANDED.replace("0", "1"))]),
        ("uninitialised", "`wgmma_wait(1)` does not wait for the last group",
         "c[r, q] = acc", LATE[:2]),
        ("uninitialised", "No `wgmma_commit` has made a group",
         "c[r, q] = acc", [("            wgmma_commit()\n", "")]),
        ("race", "`acc[0]` is written, and a product",
         "acc[0] = float32(0)",
         [(LANDED, "            acc[0] = float32(0)\n" + LANDED)]),
        ("race", "`acc[0]` is read, and no `hold` of `acc` comes between the wait",
         "c[r, q] = acc", [("        hold(acc, 32)\n", "")]),
        ("race", "`acc[0]` is read, and no `hold` of `acc` comes between the wait",
         "c[r, q] = acc", [("hold(acc, 32)", "hold(acc, 16)")]),
        ("race", "`acc[0]` is read, and no `hold` of `acc` comes between the wait",
         LANDED, [("        hold(acc, 32)\n", ""),
                  (LANDED, "            hold(acc, 32)\n" + LANDED)]),
        ("race", "`wgmma_bf16` may still be reading it", "tma_load(a",
         [(LANDED + RELEASE, RELEASE + LANDED)]),
        ("race", "`wgmma_bf16` may still be reading it", "tma_load(a",
         [LATE[0], LATE[2]]),
        ("uninitialised", "the copy into it may not have arrived", "wgmma_bf16(",
         [(FULL, ""), ("range(steps)", "range(2)"), ("range(steps)", "range(2)")]),
        ("uninitialised", "the copy into it may not have arrived", "wgmma_bf16(",
         [(FULL, "            if t < 32:\n    " + FULL)]),
        ("tensor-map", "with the 128-byte swizzle, and what it reads in `a` was",
         "wgmma_bf16(", [("right = descriptor(b, (stage, 0))", "right = left")]),
        ("race", "with no wgmma_fence before it", "wgmma_bf16(",
         [("            wgmma_fence()\n", "")]),
        ("race", "with no wgmma_fence before it", "wgmma_bf16(",
         [("            wgmma_fence()\n            for p", "            for p"),
          (FULL, "            if k == 0:\n                wgmma_fence()\n"
                 "            else:\n                acc[0] += float32(1)\n" + FULL)]),
        ("warp", "needs all 128 threads of a warpgroup, and thread 5 never comes",
         "wgmma_bf16(", [("                wgmma_bf16", "                if t != 5:\n"
                          "                    wgmma_bf16")]),
        ("warp", "lanes of a warp pass different operands", "wgmma_bf16(",
         [("left + 2 * p", "left + t")]),
        ("out-of-bounds", "bytes beyond the end of `b`", "wgmma_bf16(",
         [("descriptor(b, (stage, 0))", "descriptor(b, (stage, 2048))")]),
        ("misaligned", "256 bytes after a multiple of 1024", "wgmma_bf16(",
         [("descriptor(b, (stage, 0))", "descriptor(b, (stage, 128))")]),
        ("misaligned", "after a multiple of 1024", "wgmma_bf16(",
         [("int16, alignment=1024", "int16, alignment=128")]),
        ("mbarrier", "bytes that were announced have not", FULL,
         [(EXPECT, EXPECT.replace("16384", "32768"))]),
        ("exception", "n is a multiple of 8", "wgmma_bf16(",
         [("wgmma_bf16(acc, 64", "wgmma_bf16(acc, 60")]),
        ("exception", "local array of 64 float32", "wgmma_bf16(",
         [("wgmma_bf16(acc, 64", "wgmma_bf16(acc, 128")]),
    ],
)  # fmt: skip
def test_mistakes_are_named(kind, says, line, changes):
    swizzle = 0 if kind == "tensor-map" else 128
    verdict = ring(*changes, swizzle=swizzle)
    text = " ".join(str(verdict).split())
    assert (verdict.kind, says in text) == (kind, True), text
    assert any(line.strip() in place.text for place, _ in verdict.places), text


def test_a_block_has_whole_warpgroups():
    verdict, _, _ = chained(block=96)
    assert verdict.kind == "warp"
    said = " ".join(str(verdict).split())
    assert "needs the 128 threads of a warpgroup, and this one has 96" in said


def test_sums_are_poison_until_they_are_waited_for():
    _, _, a, b = operands()
    c = np.zeros((64, 64), np.float32)
    maps = [tensor_map(x, (64, 64)) for x in (a, b)]
    early = changed(PRODUCT, *LATE[:2])
    compiled(early, STAGES=STAGES)[1, 256](*maps, c, STEPS)
    assert np.isnan(c).all()


def test_a_tile_in_another_order_gives_what_hardware_reads():
    a, b, bits_a, bits_b = operands(1)
    c = np.zeros((64, 64), np.float32)
    maps = [tensor_map(x, (64, 64), 0) for x in (bits_a, bits_b)]
    compiled(PRODUCT, STAGES=STAGES)[1, 256](*maps, c, 1)
    at = swizzled(np.arange(0, 8192, 2), 128) // 2  # where the descriptor looks
    left, right = (x.reshape(-1)[at].reshape(64, 64) for x in (a, b))
    assert np.array_equal(c, left @ right.T)
    assert not np.array_equal(c, a @ b.T)


def chained(*changes, block=128):
    rng = np.random.default_rng(9)
    a = rng.integers(-4, 5, (64, 16)).astype("f4")
    b = rng.integers(-4, 5, (16, 64)).astype("f4")
    c = np.zeros((64, 64), np.float32)
    words = bfloat16(a).view(np.int32)
    kernel = compiled(changed(CHAINED, *changes))
    return found(kernel, block, (words, bfloat16(b), c)), c, a @ b + 1


def test_a_left_operand_from_registers():
    verdict, c, wanted = chained()
    assert verdict is None
    assert np.array_equal(c, wanted)
    verdict, _, _ = chained(("    hold_words(words, 4)\n", ""))
    assert verdict is None  # nothing writes to `words` any more


WAITED = "    wgmma_wait(0)\n"


@pytest.mark.parametrize(
    ("kind", "says", "line", "changes"),
    [
        ("race", "has no `fence_async` in between", "tile[k * 64",
         [("    fence_async()\n", "")]),
        ("race", "does not come in between", "tile[k * 64",
         [("    fence_async()\n    cuda.syncthreads()\n",
           "    cuda.syncthreads()\n    fence_async()\n")]),
        ("race", "`wgmma_bf16_chained` may read", "tile[k * 64",
         [("    cuda.syncthreads()\n", "")]),
        ("race", "`wgmma_bf16_chained` may still be reading it", "tile[t] = int16(0)",
         [(WAITED, "    tile[t] = int16(0)\n" + WAITED)]),
        ("race", "`wgmma_bf16_chained` may still be reading it", "tile[t] = int16(0)",
         [(WAITED, "    cuda.syncthreads()\n    tile[t] = int16(0)\n" + WAITED)]),
        ("race", "`words[0]` is written, and a product", "words[0] = int32(0)",
         [(WAITED, "    words[0] = int32(0)\n" + WAITED)]),
        ("race", "no `hold_words` of `words` comes between", "words[0] = int32(0)",
         [("    hold_words(words, 4)\n", "    words[0] = int32(0)\n")]),
        ("race", "uses the registers of `acc` with no wgmma_fence", "wgmma_bf16_ch",
         [("    wgmma_fence()\n", "")]),
        ("race", "uses the registers of `acc` with no wgmma_fence", "wgmma_bf16_ch",
         [("    right = desc", "    wgmma_fence()\n    wgmma_bf16_chained(acc, 64, "
           "words, 0, descriptor_columns(tile, 0, 2048), int32(0))\n"
           "    wgmma_commit()\n    wgmma_wait(0)\n    acc[1] = float32(1)\n"
           "    right = desc"), ("0, 2048)\n    wgmma_fence()\n", "0, 2048)\n")]),
        ("uninitialised", "`acc[0]` is read, but no thread has written it",
         "wgmma_bf16_ch", [("        acc[i] = float32(1)", "        pass")]),
        ("exception", "four words of a local array of int32", "wgmma_bf16_ch",
         [("words, 0, right", "words, 1, right")]),
    ],
)  # fmt: skip
def test_mistakes_with_registers_are_named(kind, says, line, changes):
    verdict, _, _ = chained(*changes)
    text = " ".join(str(verdict).split())
    assert (verdict.kind, says in text) == (kind, True), text
    assert any(line in place.text for place, _ in verdict.places), text


# Descriptors


def test_a_descriptor_is_what_lab_22_builds():
    one = Descriptor(0x2400, 16, 1024, 128)
    assert hex(one.bits) == "0x4000004000010240"
    assert described(one.bits) == one
    assert described(one.bits + 2).start == 0x2420


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_the_places_of_an_operand(swizzle):
    """PTX ISA, "Strides" and the figures of canonical layouts, k-major."""
    each = swizzle or 16
    one = Descriptor(2048, 1024, 8 * each if swizzle else 128, swizzle)
    at = one.rows(64)
    assert at.shape == (64, 8)
    assert len(np.unique(at)) == 512
    for r, w in ((0, 0), (3, 5), (13, 4), (63, 7)):
        if swizzle:
            plain = r * swizzle + 4 * w
            piece = plain // 16 ^ (plain // 128 % (swizzle // 16))
            wanted = 2048 + piece * 16 + plain % 16
        else:
            wanted = 2048 + r // 8 * 128 + w // 4 * 1024 + r % 8 * 16 + w % 4 * 4
        assert at[r, w] == wanted


def test_rows_along_k():
    one = Descriptor(1024, 2048, 1024, 128)
    at = one.columns(128)
    assert at[0, :3].tolist() == [1024, 1024 + 128 + 16, 1024 + 256 + 32]
    assert at[64, 0] == 1024 + 2048
    assert at[8, 8] == 1024 + 1024 + 16
    assert spans(at) == [(1024, 4096)]


def test_a_float8_product():
    from weft.intrinsics.formats import E4M3

    words = np.arange(4, dtype=np.uint32)
    assert E4M3.in_word == 2 * BFLOAT16.in_word == 4
    assert E4M3.values(words).shape == (4, 4)
    source = PRODUCT.replace("wgmma_bf16", "wgmma_e4m3").replace("4096", "8192")
    source = source.replace("int16, al", "uint8, al").replace("64 * k", "128 * k")
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 120, (64, 384)).astype(np.uint8) for _ in "ab")
    c = np.zeros((64, 64), np.float32)
    maps = [tensor_map(x, (64, 128)) for x in (a, b)]
    compiled(source, STAGES=STAGES)[1, 256](*maps, c, 3)
    left, right = (
        E4M3.values(np.ascontiguousarray(x).view(np.uint32)).reshape(64, 384)
        for x in (a, b)
    )
    wanted = left.astype("f8") @ right.T.astype("f8")
    assert np.allclose(c, wanted, rtol=1e-5)


def test_a_tile_that_threads_have_put_in_order_is_read_as_it_is():
    order = (
        "            for r in range(t // 64, 64, 2):\n"
        "                q = t % 64\n"
        "                x, y = a[stage, r * 64 + q], b[stage, r * 64 + q]\n"
        "                named_barrier(1, 128)\n"
        "                q = ((q // 8) ^ (r % 8)) * 8 + q % 8\n"
        "                a[stage, r * 64 + q] = x\n"
        "                b[stage, r * 64 + q] = y\n"
        "            fence_async()\n"
        "            named_barrier(1, 128)\n"
    )
    assert ring((FULL, FULL + order), swizzle=0) is None
    early = ring((FULL, FULL + order.replace("fence_async()", "pass")), swizzle=0)
    assert (early.kind, "`fence_async`" in str(early)) == ("race", True)


@pytest.mark.parametrize(
    ("source", "change", "says"),
    [
        (PRODUCT, (LANDED, ""), "reads `acc` before wgmma_bf16 is done"),
        (CHAINED, ("    fence_async()\n", ""), "and wgmma_bf16_chained reads it"),
    ],
)
def test_a_checked_launch_refuses_them_too(source, change, says):
    kernel = compiled(changed(source, change), STAGES=STAGES)
    c = np.zeros((64, 64), np.float32)
    if source is PRODUCT:
        maps = [tensor_map(x, (64, 64)) for x in operands()[2:]]
        block, args = 256, (*maps, c, STEPS)
    else:
        words, rows = np.zeros((64, 8), np.int32), np.zeros((16, 64), np.int16)
        block, args = 128, (words, rows, c)
    trace, _ = record(kernel, (1, block), args)
    with pytest.raises(Fault, match=says):
        refuse(trace)


def test_a_read_that_is_too_early_comes_before_the_mbarrier_that_it_confuses():
    bits, exact = {}, "c, steps):"

    def two(rng, n):
        a, b = (rng.integers(-4, 5, (64, 64 * n)).astype("f4") for _ in "ab")
        held = bfloat16(a), bfloat16(b)
        maps = [tensor_map(x, (64, 64)) for x in held]
        bits[maps[0].tobytes()] = a, b, held
        return tuple(maps)

    def spec(map_a, _):
        a, b, _ = bits[map_a.tobytes()]
        return a @ b.T

    def verdict(*changes):
        steps = (exact, "c):\n    steps = int32(STEPS)")
        kernel = compiled(changed(PRODUCT, steps, *changes), STAGES=2, STEPS=5)
        launch = {"sizes": [5], "launch": lambda n: (1, 256)}
        return check(kernel, spec=spec, inputs=two, **launch)

    assert verdict().kind == "pass"
    early = verdict((FULL, ""))
    assert early.kind == "uninitialised"
    assert "the copy into it may not have arrived" in " ".join(str(early).split())
    swapped = ("map_b, 64 * k, 0", "map_b, 0, 64 * k")
    assert verdict(swapped).kind == "wrong-value"


TOLD = """
def kernel(x, out, flag):
    t, block = cuda.threadIdx.x, cuda.blockIdx.x
    if block == 0:
        x[t] = t
        cuda.threadfence()  # the writer's
        named_barrier(1, 64)
        if t == 0:
            cuda.atomic.add(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence()  # the reader's
        named_barrier(1, 64)
        out[t] = x[63 - t]
"""


@pytest.mark.parametrize("missing", ["", "writer", "reader"])
def test_a_named_barrier_may_come_between_a_fence_and_an_atomic(missing):
    fence = f"cuda.threadfence()  # the {missing}'s"
    source = TOLD.replace(fence, "pass") if missing else TOLD
    x, out = (np.zeros(64, np.int32) for _ in range(2))
    trace, _ = record(compiled(source), (2, 64), (x, out, np.zeros(1, np.int32)))
    assert np.array_equal(out, np.arange(64)[::-1])
    hazard = hazards.find(trace)
    assert (hazard is None) == (not missing)
