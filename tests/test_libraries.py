"""The libraries' bindings and their model, which NVIDIA's recorded answers prove."""

import ctypes
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba
from verification import library_calls as calls
from verification.cells import checks, run, scope_of
from weft.chapters import Chapter
from weft.libraries import CudaType, cublas, cublasLt, cufft, library, on_device
from weft.libraries.faults import ModelFault
from weft.libraries.judging import calls_made
from weft.libraries.loading import on_model
from weft.libraries.model import BadAddressError, Model, peek, poke

RECORD = Path(__file__).parents[1] / "verification" / "library_calls.json"
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))["answers"]
ONE, ZERO = ctypes.c_float(1), ctypes.c_float(0)
AT_ONE, AT_ZERO = ctypes.addressof(ONE), ctypes.addressof(ZERO)


@pytest.fixture
def model() -> Iterator[Model]:
    found = Model()
    with on_model(found):
        yield found


def same(got: Any, wanted: Any) -> bool:
    """Whether two answers agree; numbers up to the rounding of bfloat16."""
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(
            same(got[k], wanted[k]) for k in wanted
        )
    if isinstance(wanted, list) and not any("R_" in str(x) for x in wanted):
        alike = np.shape(got) == np.shape(wanted)
        return alike and np.allclose(got, wanted, 1e-2, 1e-6)
    return bool(got == wanted)


@pytest.mark.parametrize("case", calls.CASES)
def test_the_model_answers_as_the_library_did(case: str, model: Model) -> None:
    world = calls.World(model.place, lambda x: x.cpu().double().numpy())
    wanted = dict(RECORDED[case])
    says = wanted.pop("says", None)
    assert same(calls.answer(world, case), wanted)
    if says is not None:
        assert model.printed[-1].split() == says.split()


def test_every_recorded_answer_has_its_call() -> None:
    assert RECORDED.keys() == calls.CASES.keys()


def matrices(model: Model, n: int = 4) -> list[Any]:
    return [model.place(torch.ones(n, n), name) for name in "abc"]


def gemm(handle: int, a: int, b: int, c: int, ld: int = 4, alpha: int = AT_ONE) -> None:
    cublas.sgemm(handle, 0, 0, 4, 4, 4, alpha, a, ld, b, ld, AT_ZERO, c, ld)


def refused(model: Model, kind: str, text: str, *args: Any, **named: Any) -> None:
    """Assert that a product is refused for this reason."""
    with pytest.raises(ModelFault, match=text):
        gemm(*args, **named)
    assert model.faults[-1].kind == kind


def test_addresses_are_looked_at(model: Model) -> None:
    a, b, c = (x.data_ptr() for x in matrices(model))
    handle = cublas.create()
    gemm(handle, a, b, c)
    refused(model, "device-bounds", "byte 80, and a has 64", handle, a + 16, b, c)
    wide = model.place(torch.ones(5, 5)).data_ptr()
    refused(model, "device-bounds", "no multiple", handle, a, b, wide + 2)
    refused(model, "pointer", "null", handle, 0, b, c)
    host = np.ones(16, np.float32)
    refused(model, "pointer", "not in device memory", handle, a, host.ctypes.data, c)
    refused(model, "pointer", "on the device, in b", handle, a, b, c, alpha=b)
    refused(model, "pointer", "no memory", handle, a, b, c, alpha=8)
    refused(model, "prototype", "upper half", handle, a & 0xFFFFFFFF, b, c)


def test_handles_are_looked_at(model: Model) -> None:
    a, b, c = (x.data_ptr() for x in matrices(model))
    handle, light = cublas.create(), cublasLt.create()
    refused(model, "handle", "cuBLASLt, where", light, a, b, c)
    refused(model, "handle", "no handle", 1234, a, b, c)
    cublas.destroy(handle)
    refused(model, "handle", "destroyed", handle, a, b, c)
    assert [x.what for x in model.objects.left()] == ["handle of cuBLASLt"]


def test_a_workspace_is_looked_at(model: Model) -> None:
    handle = cublas.create()
    room = model.place(torch.zeros(1 << 10, dtype=torch.uint8))
    cublas.set_workspace(handle, room.data_ptr(), 1 << 10)
    with pytest.raises(ModelFault, match="1,025"):
        cublas.set_workspace(handle, room.data_ptr(), 1025)


def test_a_half_is_summed_in_half() -> None:
    """4096 ones in fp16 stop at 2048, where one more is half of the spacing."""
    ones = torch.ones(1, 4096, dtype=torch.float16)
    from weft.libraries.cublas import ComputeType
    from weft.libraries.products import multiply

    assert multiply(ones, ones.t(), ComputeType.COMPUTE_16F).item() == 2048
    assert multiply(ones, ones.t(), ComputeType.COMPUTE_32F).item() == 4096


def test_an_algorithm_belongs_to_its_product(model: Model) -> None:
    world = calls.World(model.place, lambda x: x.cpu().double().numpy())
    spoiled = np.zeros(12, np.uint64)
    desc = cublasLt.matmul_desc_create(68, 0)
    layout = cublasLt.matrix_layout_create(0, 4, 4, 4)
    a, b, c = matrices(model)
    with pytest.raises(ModelFault, match="no algorithm"):
        cublasLt.matmul(
            cublasLt.create(), desc, world.scalar(1), a.data_ptr(), layout,
            b.data_ptr(), layout, world.scalar(0), c.data_ptr(), layout, c.data_ptr(),
            layout, spoiled.ctypes.data, 0, 0, 0,
        )  # fmt: skip


def test_the_host_is_read_without_a_crash() -> None:
    held = np.arange(4, dtype=np.int32)
    assert peek(held.ctypes.data + 4, 4) == b"\1\0\0\0"
    poke(held.ctypes.data, b"\7\0\0\0")
    assert held[0] == 7
    for address in (0, 8, 0x7F00_0000_0000_0000):
        with pytest.raises(BadAddressError):
            peek(address, 4)
        with pytest.raises(BadAddressError):
            poke(address, b"1234")


def test_a_binding_can_be_called_by_name(model: Model) -> None:
    handle = cublas.create()
    cublas.set_stream(stream_id=5, handle=handle)
    assert cublas.get_stream(handle) == 5
    with pytest.raises(TypeError):
        cublas.set_stream(handle)
    with pytest.raises(TypeError, match="data_ptr"):
        cublas.set_workspace(handle, model.place(torch.ones(2)), 8)
    with pytest.raises(TypeError, match="from memory"):
        gemm(handle, 1, 2, 3, alpha=1.0)


def test_an_error_names_the_function_and_the_parameter(model: Model) -> None:
    a, b, c = (x.data_ptr() for x in matrices(model))
    with pytest.raises(cublas.cuBLASError) as found:
        gemm(cublas.create(), a, b, c, ld=3)
    for part in ("INVALID_VALUE (7)", "cublasSgemm_v2", "lda is 3"):
        assert part in str(found.value)


def test_outside_a_check_there_is_a_device_as_well() -> None:
    x = on_device(np.ones((4, 4), np.float32))
    handle = cublas.create()
    gemm(handle, x.data_ptr(), x.data_ptr(), x.data_ptr())
    cublas.destroy(handle)
    assert x.cpu()[0, 0] == 4
    with pytest.raises(AttributeError, match="model of a GPU"):
        x.mean()
    with pytest.raises(AttributeError, match="undefined symbol"):
        _ = library("cublas").cublasDgemm_v2


def test_the_model_is_called_from_the_thread_that_calls(model: Model) -> None:
    """ctypes releases the interpreter's lock, and the callback takes it again."""
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(cublas.create()))
    thread.start()
    thread.join()
    assert done
    assert CudaType.R_16BF == 14


def test_the_products_for_timing_are_right(model: Model) -> None:
    ready = Chapter("25_cublas").ready
    Linear, Product = ready.Linear, ready.Product

    rng = np.random.default_rng(0)
    a, b, w = (
        torch.from_numpy(rng.integers(-3, 4, shape)).bfloat16()
        for shape in ((3, 4, 8), (3, 8, 16), (16, 8))
    )
    c = model.place(torch.zeros(3, 4, 16).bfloat16())
    multiply = Product()
    on = [model.place(x) for x in (a, b, w)]
    multiply.batch(on[0], on[1], c)
    assert torch.equal(c.cpu(), torch.bmm(a, b))
    multiply.batch(on[0], model.place(b[1].clone()), c)
    assert torch.equal(c.cpu(), a @ b[1])
    multiply(on[0][2], on[1][0], c[1])
    assert torch.equal(c.cpu()[1], a[2] @ b[0])

    bias = torch.arange(16.0).bfloat16()
    linear = torch.nn.functional.linear(a[0], w, bias)
    wanted = torch.nn.functional.gelu(linear, approximate="tanh")
    layer = Linear(on[0][0], on[2], model.place(bias), c[2])
    layer()
    assert torch.allclose(c.cpu()[2], wanted, 2e-2, 2e-2)
    layer(len(layer.found) - 1)
    Linear(on[0][0], on[2], None, c[2], nbytes=0)()
    assert torch.equal(c.cpu()[2], a[0] @ w.T)


@pytest.mark.parametrize(
    ("file", "advice"),
    [
        ("sgemm/wrong_alpha_twice", "The library read alpha as 2 and beta as 2"),
        ("scores/wrong_pointer_mode", "scalars are read on the device too"),
        ("linear/wrong_result_bf16", "C has the type R_16BF in this call, and y holds"),
        ("linear/wrong_type_half", "A has the type R_16F in this call, and w holds"),
        ("linear/wrong_compute_16f", "Compare the type of each matrix"),
        ("linear/wrong_lda_after", "column by column"),
        ("linear_gelu/wrong_scale_type", "does not scale in R_16BF"),
        ("linear_gelu/wrong_asks_too_early", "descriptor, layouts, algorithm"),
        ("linear_gelu/wrong_leaks", "The library keeps its memory"),
        ("linear_gelu/wrong_algorithm_array", "write .ctypes.data"),
        ("linear_gelu/wrong_bias_array", "the address of a tensor x is x.data_ptr()"),
        ("matmul/wrong_own_handle", "A handle keeps memory on the GPU"),
    ],
)
def test_a_verdict_says_what_to_look_at(file: str, advice: str) -> None:
    lab = "25_cublas"
    source = Path(__file__).parents[1] / "chapters" / lab / "answers" / f"{file}.py"
    scope = scope_of(lab)
    run(source.read_text(encoding="utf-8"), f"<{file}>", scope)
    verdict = run(checks(lab)[file.split("/")[0]], "<check>", scope)
    assert advice in f"{verdict.message} {verdict.why}"


def test_a_plan_without_embeds_says_what_it_ignores(model: Model) -> None:
    plan, rows = cufft.create(), (None, 1, 8, None, 1, 5)
    cufft.make_plan_many(plan, 1, [8], *rows, cufft.Type.R2C, 2)
    assert not model.ignored
    columns = (None, 2, 1, None, 1, 5)
    cufft.make_plan_many(plan, 1, [8], *columns, cufft.Type.R2C, 2)
    assert "ignored the strides" in model.ignored[0]


def test_sizes_are_lists(model: Model) -> None:
    wrong = (cufft.create(), 1, 8, None, 1, 8, None, 1, 5, cufft.Type.R2C, 1)
    with pytest.raises(TypeError, match="n is int, and C takes an array"):
        cufft.make_plan_many(*wrong)


def test_a_verdict_counts_the_calls_of_each_function(model: Model) -> None:
    array = on_device(torch.zeros(10, dtype=torch.complex64))
    plan, real = cufft.create(), cufft.create()
    cufft.make_plan1d(plan, 8, cufft.Type.C2C, 1)
    cufft.make_plan1d(real, 8, cufft.Type.R2C, 1)
    address = array.data_ptr()
    for direction in (-1, 1):
        cufft.exec_c2c(plan, address, address, direction)
    cufft.exec_r2c(real, address, address)
    assert calls_made(model) == "2 calls of cufftExecC2C and 1 of cufftExecR2C"
