"""What Numba lacks: the twins here; the GPU's PTX where CUDA is installed."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from weft import intrinsics
from weft.device import toolkit
from weft.intrinsics import registry
from weft.intrinsics.copies import Copies
from weft.intrinsics.lowering import lowering

TWINS = intrinsics.TWIN
load4, store4 = TWINS["load4"], TWINS["store4"]
LOADS = ["load4", "load4_cs", "load4_nc"]
STORES = ["store4", "store4_cs"]
PACKAGE = Path(intrinsics.__file__).parents[1]


def test_each_public_name_is_an_operation():
    assert sorted(intrinsics.__all__) == sorted(["TWIN", *TWINS])
    assert sorted(TWINS) == sorted(registry.names())
    for name in TWINS:
        operation = registry.of(getattr(intrinsics, name))
        assert operation is not None
        assert operation.name == name
        assert operation.twin.__doc__, name
        assert inspect.getdoc(operation.on_host), name  # what `help` shows
        assert operation.on_host.__name__ == name
    assert registry.of(len) is None


def test_an_argument_that_is_no_array_is_named_by_its_number():
    gpu = lowering()
    types, number = gpu.types, gpu.types.int64
    tile = types.Array(types.float32, 1, "C")
    copy = number, types.float32, number, types.boolean  # `float32` instead of an array
    load = number, tile, number, number, types.float32, number
    for call, given in ((intrinsics.copy_async, copy), (intrinsics.tma_load, load)):
        operation = registry.of(call)
        build = operation.ptx(gpu, operation.name)
        with pytest.raises(gpu.TypingError) as refused:
            build(None, tile, *given)
        place = 2 + given.index(types.float32)
        said = f"{operation.name}: argument {place} must be an array, not float32"
        assert said in str(refused.value)


def test_operations_are_found_by_what_they_do():
    names, effect = registry.names, registry.Effect
    assert names(*registry.STORES) == {"store4", "store4_cs", "poke"}
    assert names(effect.RELAXED_LOAD) == {"peek"}
    assert names(elements=4) == {*LOADS, *STORES, "copy4_async"}
    assert names(effect.WIDE_LOAD, elements=4) == set(LOADS)
    known = registry.operations()
    newer = {one.name for one in known if (8, 0) <= one.needs < (9, 0)}
    assert newer == {
        *("copy_async", "copy4_async", "commit_group", "wait_group"),
        *("bf16_pair", "bf16_max", "tf32", "mma_bf16", "mma_tf32", "mma_e4m3"),
    }
    hopper = {one.name for one in known if one.needs >= (9, 0)}
    assert hopper == names(effect.PHASES, effect.HOPPER) | {
        "stmatrix_x2_trans",
        "stmatrix_x4",
    }
    together = names(effect.COLLECTIVE)
    kinds = {n.partition("_")[0] for n in together}
    assert kinds == {"mma", "ldmatrix", "stmatrix"}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("store", STORES)
def test_a_hint_changes_no_result(load, store):
    x = np.arange(12, dtype=np.float32)
    assert TWINS[load](x, 8) == (8, 9, 10, 11)
    with pytest.raises(ValueError, match=rf"`{load}` begins at x\[2\]"):
        TWINS[load](x, 2)
    TWINS[store](x, 4, 3, 2, 1, 0)
    assert x[4:8].tolist() == [3, 2, 1, 0]
    with pytest.raises(ValueError, match=rf"`{store}` begins at x\[2\]"):
        TWINS[store](x, 2, 0, 0, 0, 0)


@pytest.mark.parametrize("name", [n for n in LOADS + STORES if "_" in n])
def test_hints_are_for_global_memory(name):
    tile = np.zeros(4, np.float32).view(type("Shared", (np.ndarray,), {}))
    tile._space = "shared"
    values = (1, 2, 3, 4) if name in STORES else ()
    with pytest.raises(TypeError, match=f"{name} is for global memory"):
        TWINS[name](tile, 0, *values)


def test_a_vector_is_read_and_written_four_at_a_time():
    x = np.arange(12, dtype=np.float32)
    assert load4(x, 4) == (4, 5, 6, 7)
    store4(x, 8, 1.5, 2.5, 3.5, 4.5)
    assert x[8:].tolist() == [1.5, 2.5, 3.5, 4.5]


def test_a_matrix_takes_row_and_column():
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    assert load4(x, (1, 4)) == (12, 13, 14, 15)
    store4(x, (2, 0), 9, 8, 7, 6)
    assert x[2].tolist() == [9, 8, 7, 6, 20, 21, 22, 23]


def test_a_misaligned_index_is_refused_in_words():
    x = np.zeros(12, np.float32)
    with pytest.raises(ValueError, match=r"`load4` begins at x\[6\]; 6 is not a multi"):
        load4(x, 6)
    with pytest.raises(ValueError, match="misaligned address"):
        store4(x, 1, 0, 0, 0, 0)


def test_a_row_that_does_not_start_on_a_boundary_is_explained():
    x = np.zeros((3, 6), np.float32)
    assert load4(x, (2, 0)) == (0, 0, 0, 0)
    with pytest.raises(ValueError, match="Row 1 does not begin on such a boundary"):
        load4(x, (1, 4))


@pytest.mark.parametrize(
    ("x", "index", "words"),
    [
        (np.zeros(8), 0, "this array holds float64"),
        (np.zeros((2, 4), np.float32), 0, r"\(row, column\) for a matrix"),
        (np.zeros((2, 2, 4), np.float32), (0, 0), "this array has 3 axes"),
    ],
)
def test_what_cannot_be_loaded_is_refused(x, index, words):
    with pytest.raises(TypeError, match=words):
        load4(x, index)


def test_past_the_end_is_the_arrays_own_error():
    with pytest.raises(IndexError):
        load4(np.zeros(6, np.float32), 4)


def test_whole_numbers_of_4_bytes_are_moved_as_well():
    x = np.arange(8, dtype=np.int32)
    assert load4(x, 4) == (4, 5, 6, 7)
    store4(x, 0, -1, -2, -3, -4)
    assert x[:4].tolist() == [-1, -2, -3, -4]


@pytest.mark.parametrize("kind", ["int32", "uint32", "float32", "uint64", "float64"])
def test_a_word_is_poked_and_peeked(kind):
    x = np.zeros((2, 3), kind)
    TWINS["poke"](x, (1, 2), 7)
    assert TWINS["peek"](x, (1, 2)) == 7


@pytest.mark.parametrize(
    ("x", "index", "words"),
    [
        (np.zeros(4, np.float16), 0, "numbers of 4 or 8 bytes; this array holds floa"),
        (np.zeros((2, 2), np.int32), 0, "the index must name one element"),
    ],
)
def test_what_cannot_be_peeked_is_refused(x, index, words):
    with pytest.raises(TypeError, match=words):
        TWINS["peek"](x, index)


def test_pairs_of_bfloat16():
    pair, low, high = (TWINS[f"bf16_{n}"] for n in ("pair", "low", "high"))
    word = pair(1.5, -2.0)
    assert word == np.int32(np.uint32(0xC0003FC0).view(np.int32))
    assert (low(word), high(word)) == (1.5, -2.0)
    one = np.float32(1)
    assert low(pair(one + np.float32(2**-8), 0)) == 1  # halfway: to the even one
    assert low(pair(one + np.float32(3 * 2**-8), 0)) == 1 + 2**-6
    assert low(pair(np.float32(np.inf), 0)) == np.inf
    assert np.isnan(high(pair(0, np.float32(np.nan))))
    most = TWINS["bf16_max"](pair(1, -5), pair(-1, -4))
    assert (low(most), high(most)) == (1, -4)


def test_both_halves_of_a_product():
    product = TWINS["mul_wide"]
    most = np.uint32(0xFFFFFFFF)
    assert product(most, most) == (0xFFFFFFFE, 1)
    assert product(np.uint32(3), np.uint32(5)) == (0, 15)
    assert product(np.uint32(1 << 31), np.uint32(6)) == (3, 0)
    assert all(half.dtype == np.uint32 for half in product(most, np.uint32(2)))


def test_a_power_of_two():
    power = TWINS["exp2"]
    assert (power(np.float32(3)), power(np.float32(-np.inf))) == (8, 0)
    assert power(np.float32(-127)) == 0
    assert np.isnan(power(np.float32(np.nan)))


def tile_and_source():
    tile = np.zeros(8, np.float32).view(type("Shared", (np.ndarray,), {}))
    tile._space = "shared"
    return tile, np.arange(1, 9, dtype=np.float32)


def clear(x, index, elements):
    x[index : index + elements] = np.nan


def test_a_copy_arrives_when_it_is_waited_for():
    tile, x = tile_and_source()
    mine = Copies(clear)
    mine.copy(tile, 0, x, 3, True)
    mine.commit()
    mine.copy4(tile, 4, x, 0, True)
    mine.commit()
    assert np.isnan(tile[[0, 4, 5, 6, 7]]).all()
    mine.wait(1)
    assert tile[0] == 4
    assert np.isnan(tile[4:]).all()
    mine.wait(0)
    assert tile[4:].tolist() == [1, 2, 3, 4]


def test_a_copy_from_outside_brings_zeros():
    tile, x = tile_and_source()
    tile[:] = 5
    mine = Copies(clear)
    mine.copy(tile, 0, x, 99, False)
    mine.copy4(tile, 4, x, 98, False)
    mine.wait(0)
    assert np.isnan(tile[0])  # no group was made
    mine.commit()
    mine.wait(0)
    assert tile.tolist() == [0, 5, 5, 5, 0, 0, 0, 0]


def test_what_cannot_be_copied_is_refused():
    tile, x = tile_and_source()
    mine = Copies(clear)
    with pytest.raises(TypeError, match="its first argument is not"):
        mine.copy(x, 0, x, 0, True)
    with pytest.raises(TypeError, match="its third argument is shared"):
        mine.copy(tile, 0, tile, 0, True)
    with pytest.raises(TypeError, match="int32 does not become float32"):
        mine.copy(tile, 0, x.view(np.int32), 0, True)
    with pytest.raises(ValueError, match="copy4_async` begins at"):
        mine.copy4(tile, 2, x, 0, True)
    with pytest.raises(TypeError, match="commit_group: only a kernel can call it"):
        TWINS["commit_group"]()


COMPILE = """
import sys, types as python_types
package = python_types.ModuleType("weft")  # importing it would choose the simulator
package.__path__ = [sys.argv[1]]
sys.modules["weft"] = package
from weft import intrinsics as module
from numba import cuda, float32, int32, types, uint64, void
load4, store4 = module.load4, module.store4
load4_cs, load4_nc, store4_cs = module.load4_cs, module.load4_nc, module.store4_cs

def vector(x, out):
    i = cuda.grid(1) * 4
    if i + 3 < x.size:
        a, b, c, d = load4(x, i)
        store4(out, i, a + float32(1), b, c, d)

def matrix(x, out):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col * 4 + 3 < x.shape[1]:
        a, b, c, d = load4(x, (row, col * 4))
        store4(out, (row, col * 4), a, b, c, 0)

for kernel, axes in ((vector, 1), (matrix, 2)):
    array = types.Array(float32, axes, "C")
    ptx, _ = cuda.compile_ptx(kernel, void(array, array), cc=(8, 0))
    assert "ld.global.v4.f32" in ptx and "st.global.v4.f32" in ptx, ptx
    assert ".f64" not in ptx and "ld.global.f32" not in ptx, ptx

def hinted(x, out):
    i = cuda.grid(1) * 4
    if i + 3 < x.size:
        a, b, c, d = load4_cs(x, i)
        e, f, g, h = load4_nc(x, i)
        store4_cs(out, i, a + e, b + f, c + g, d + h)

array = types.Array(float32, 1, "C")
ptx, _ = cuda.compile_ptx(hinted, void(array, array), cc=(8, 0))
for line in ("ld.global.cs.v4.f32", "ld.global.nc.v4.f32", "st.global.cs.v4.f32"):
    assert line in ptx, ptx

def watched(x, out):
    while peek(x, 0) == 0:
        pass
    poke(out, (0, 1), peek(x, 1) + 1)

peek, poke = module.peek, module.poke
for kind, name in ((uint64, "u64"), (int32, "u32"), (float32, "f32")):
    one, two = types.Array(kind, 1, "C"), types.Array(kind, 2, "C")
    ptx, _ = cuda.compile_ptx(watched, void(one, two), cc=(8, 0))
    assert f"ld.relaxed.gpu.global.{name}" in ptx, ptx
    assert f"st.relaxed.gpu.global.{name}" in ptx, ptx

def packed(x, out):
    a, b, c, d = load4(x, 0)
    most = bf16_max(a, b)
    out[0] = bf16_pair(bf16_low(most) * bf16_high(c), exp2(bf16_high(d)))
    out[1] = bf16_pair(f16_low(a), f16_high(b))

bf16_max, bf16_pair = module.bf16_max, module.bf16_pair
bf16_low, bf16_high, exp2 = module.bf16_low, module.bf16_high, module.exp2
f16_low, f16_high = module.f16_low, module.f16_high
def copied(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    module.copy4_async(tile, 4 * t, x, 4 * t, 4 * t < x.size)
    module.commit_group()
    module.copy_async(tile, t, x, t, True)
    module.commit_group()
    module.wait_group(1)
    out[t] = tile[t]

array = types.Array(float32, 1, "C")
ptx, _ = cuda.compile_ptx(copied, void(array, array), cc=(8, 0))
for line in ("cp.async.cg.shared.global", "cp.async.ca.shared.global",
             "cp.async.commit_group", "cp.async.wait_group 1"):
    assert line in ptx, ptx

def product(x, out):
    upper, lower = mul_wide(x[0], x[1])
    out[0] = upper ^ lower

mul_wide, numbers = module.mul_wide, types.Array(types.uint32, 1, "C")
ptx, _ = cuda.compile_ptx(product, void(numbers, numbers), cc=(8, 0))
assert ptx.count("mul.wide.u32") == 1, ptx
assert "mul.lo" not in ptx, ptx

words = types.Array(int32, 1, "C")
ptx, _ = cuda.compile_ptx(packed, void(words, words), cc=(8, 0))
wanted = "ld.global.v4.u32", "max.bf16x2", "cvt.rn.bf16x2.f32", "prmt.b32", "ex2.app"
assert ptx.count("cvt.f32.f16") == 2, ptx
for line in wanted:
    assert line in ptx, ptx
assert ".f64" not in ptx, ptx

for kind, words in (
    (types.float64[::1], "this array holds float64"),
    (types.Array(float32, 1, "A"), "C-contiguous"),
    (types.Array(float32, 2, "C"), "the index must be an integer"),
):
    try:
        cuda.compile_ptx(vector, void(kind, kind), cc=(8, 0))
    except Exception as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{kind} compiled")
print("compiled")
"""


@pytest.mark.skipif(bool(toolkit.find().missing), reason="CUDA's compilers are missing")
def test_the_gpu_gets_128_bit_instructions():
    environ = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, str(PACKAGE)],
        capture_output=True, text=True, env=environ,
    )  # fmt: skip
    assert done.stdout == "compiled\n", done.stderr
