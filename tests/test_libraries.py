"""The libraries' bindings and their model, which NVIDIA's recorded answers prove."""

import ctypes
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import weft
from verification import library_calls as calls
from verification.cells import checks, run, scope_of
from weft.chapters import Chapter
from weft.checking.verdict import Failed
from weft.libraries import (
    CudaType,
    arguments,
    cublas,
    cublasLt,
    cufft,
    judging,
    library,
    on_device,
)
from weft.libraries.exercise import LibraryExercise
from weft.libraries.faults import ModelFault
from weft.libraries.judging import calls_made
from weft.libraries.loading import on_model
from weft.libraries.model import BadAddressError, Model, peek, poke
from weft.libraries.run import Run

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


def test_a_result_has_memory_of_its_own(model: Model) -> None:
    a, b, c = (x.data_ptr() for x in matrices(model))
    handle = cublas.create()
    wide, other = (model.place(torch.ones(4, 8)).data_ptr() for _ in range(2))
    gemm(handle, wide, other, wide + 16, ld=8)  # two halves of the same rows
    refused(
        model, "input-written", "C shares memory with A: both are in a", handle, a, b, a
    )
    refused(
        model, "input-written", "C shares memory with B: both are in b", handle, c, b, b
    )


def batched(handle: int, a: int, b: int, c: int, step: int) -> None:
    matrices = a, 4, 16, b, 4, 0, AT_ZERO, c, 4, step
    cublas.sgemm_strided_batched(handle, 0, 0, 4, 4, 4, AT_ONE, *matrices, 2)


def test_the_results_of_a_batch_are_apart(model: Model) -> None:
    a, b, c = (model.place(torch.ones(2, 4, 4), name).data_ptr() for name in "abc")
    handle = cublas.create()
    batched(handle, a, b, c, 16)
    with pytest.raises(ModelFault, match="in C share memory with each other"):
        batched(handle, a, b, c, 8)
    with pytest.raises(ModelFault, match="2 matrices of 4 × 4 elements"):
        batched(handle, a, b, c, 17)
    with pytest.raises(ModelFault, match="lacks matrices of a batch in descending"):
        batched(handle, a, b, c + 64, -16)


def test_sums_of_integers_are_exact(model: Model) -> None:
    a, b = torch.full((2, 4096, 1), 127, dtype=torch.int8)
    a[0] = 126
    c = model.place(torch.zeros(1, 1, dtype=torch.int32))
    alpha, beta = ctypes.c_int(1), ctypes.c_int(0)
    cublas.gemm_ex(
        *(cublas.create(), 1, 0, 1, 1, 4096, ctypes.addressof(alpha)),
        *(model.place(a).data_ptr(), 3, 4096, model.place(b).data_ptr(), 3, 4096),
        *(ctypes.addressof(beta), c.data_ptr(), 10, 1, 72, -1),
    )
    assert c.cpu().item() == int((a.long() * b.long()).sum()) == 66_064_257


def test_flags_of_the_math_mode(model: Model) -> None:
    handle = cublas.create()
    for mode in (0, 1, 2, 3, 16, 19):
        cublas.set_math_mode(handle, mode)
        assert cublas.get_math_mode(handle) == mode
    with pytest.raises(ModelFault, match="lacks the math mode 4"):
        cublas.set_math_mode(handle, 4)


def light(model: Model, dtype: Any = torch.float32, **change: int) -> list[float]:
    """The sums of two products of ones by cuBLASLt: of sizes m, n and k, usually 4.

    change: these sizes, a compute type, attributes of the descriptor or of all layouts.
    """
    given = {"m": 4, "n": 4, "k": 4, "compute": 68} | change
    m, n, k = (given[x] for x in "mnk")
    eight = dtype != torch.float32
    kind = {torch.float8_e4m3fn: 28, torch.float8_e5m2: 29}.get(dtype, 0)
    desc = cublasLt.matmul_desc_create(given["compute"], 0)
    sizes = ((k, m) if eight else (m, k)), (k, n), (m, n)
    layouts = [
        cublasLt.matrix_layout_create(dtype, *size, size[0])
        for dtype, size in zip((kind, kind, 0), sizes, strict=True)
    ]
    put, lay = cublasLt.MatmulDescAttribute, cublasLt.MatrixLayoutAttribute
    for name, value in (given | {"TRANSA": int(eight)}).items():
        held = np.array([value], np.int64 if "OFFSET" in name else np.int32)
        where = held.ctypes.data, held.nbytes
        if name in put.__members__:
            cublasLt.matmul_desc_set_attribute(desc, put[name], *where)
        for layout in layouts if name in lay.__members__ else ():
            cublasLt.matrix_layout_set_attribute(layout, lay[name], *where)
    a, b = (model.place(torch.ones(2, y, x).to(dtype)) for x, y in sizes[:2])
    c = model.place(torch.zeros(2, n, m))
    first, second, third = (
        (x.data_ptr(), layout) for x, layout in zip((a, b, c), layouts, strict=True)
    )
    cublasLt.matmul(
        *(cublasLt.create(), desc, AT_ONE, *first, *second, AT_ZERO, *third, *third),
        *(0, 0, 0, 0),
    )
    return [x.sum().item() for x in c.cpu()]


def test_a_batch_of_cublaslt(model: Model) -> None:
    assert light(model) == [64, 0]
    assert light(model, BATCH_COUNT=2, STRIDED_BATCH_OFFSET=16) == [64, 64]
    with pytest.raises(ModelFault, match="in D share memory with each other"):
        light(model, BATCH_COUNT=2, STRIDED_BATCH_OFFSET=8)
    with pytest.raises(ModelFault, match="lacks layouts whose batch counts"):
        light(model, BATCH_COUNT=0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"EPILOGUE": 130}, "the epilogue 130"),
        ({"EPILOGUE": 512}, "the epilogue 512"),
        ({"TRANSB": 9}, "the operation 9"),
        ({"ORDER": 2}, "the order 2"),
        ({"compute": 78}, "the compute type 78"),
    ],
)
def test_what_the_model_lacks_is_no_refusal(
    change: dict[str, int], text: str, model: Model
) -> None:
    with pytest.raises(ModelFault, match=text) as found:
        light(model, **change)
    assert found.value.fault.kind == "lacking"
    assert not model.refusals
    assert "says nothing about NVIDIA's library" in str(found.value)


def test_an_attribute_that_the_model_lacks(model: Model) -> None:
    desc, held = cublasLt.matmul_desc_create(68, 0), np.zeros(1, np.int32)
    with pytest.raises(ModelFault, match="lacks attribute 31 of a matmul descriptor"):
        cublasLt.matmul_desc_set_attribute(desc, 31, held.ctypes.data, 4)


def test_which_products_of_fp8_the_model_knows(model: Model) -> None:
    e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2
    sizes = {"m": 16, "n": 32, "k": 16}
    assert light(model, e4m3, **sizes) == [16 * 32 * 16, 0]
    with pytest.raises(cublasLt.cuBLASLtError, match="a k that is a multiple of 16"):
        light(model, e4m3, **sizes | {"k": 24})
    with pytest.raises(ModelFault, match="lacks fp8 with an m that is"):
        light(model, e4m3, **sizes | {"m": 17})
    with pytest.raises(ModelFault, match="lacks fp8 with R_8F_E5M2, R_8F_E5M2"):
        light(model, e5m2, **sizes)


def test_types_that_the_model_of_gemm_ex_lacks(model: Model) -> None:
    a, b, c = (x.data_ptr() for x in matrices(model))
    for kind, text in ((4, "the type 4"), (28, "cublasGemmEx with arrays of fp8")):
        types = a, kind, 4, b, kind, 4, AT_ZERO, c, 0, 4, 68, -1
        with pytest.raises(ModelFault, match=f"lacks {text}"):
            cublas.gemm_ex(cublas.create(), 0, 0, 4, 4, 4, AT_ONE, *types)


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
    x, c = (on_device(np.ones((4, 4), np.float32)) for _ in range(2))
    handle = cublas.create()
    gemm(handle, x.data_ptr(), x.data_ptr(), c.data_ptr())
    cublas.destroy(handle)
    assert c.cpu()[0, 0] == 4
    with pytest.raises(AttributeError, match="model of a GPU"):
        x.mean()
    with pytest.raises(AttributeError, match=r"the model of libcublas\.so has no"):
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
        (
            "sgemm/wrong_alpha_twice",
            "The library read beta as 2, at the address that it got",
        ),
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
    verdict = judged(file.split("/")[0], answer(file))
    assert advice in f"{verdict.message} {verdict.why}"


def answer(file: str) -> str:
    """An answer to an exercise of lab 25."""
    folder = Path(__file__).parents[1] / "chapters/25_cublas/answers"
    return (folder / f"{file}.py").read_text(encoding="utf-8")


def judged(exercise: str, source: str) -> Any:
    """The verdict of lab 25 on an answer."""
    scope = scope_of("25_cublas")
    run(source, f"<{exercise}>", scope)
    return run(checks("25_cublas")[exercise], "<check>", scope)


def test_a_wrong_value_is_reported_before_a_wrong_stream() -> None:
    source = answer("linear/wrong_no_stream")
    assert judged("linear", source).kind == "stream"
    verdict = judged("linear", source.replace("ZERO", "ONE"))
    assert verdict.kind == "wrong-value"
    assert "held NaN before the call, and beta was 1" in verdict.why


def test_a_loop_that_does_not_end_gets_a_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)

    def double(x: Any, out: Any) -> None:
        while True:
            x += 0

    verdict = weft.check(
        double,
        library="cufft",
        spec=lambda x, out: 2 * x,
        inputs=lambda rng, n: (torch.ones(n), torch.zeros(n)),
        given=lambda on, x, out: (0, out),
        result="out",
        sizes=[3],
        lines=1000,
    )
    assert verdict.kind == "endless-loop"
    assert verdict.places[0][0].text == "while True:"
    assert verdict.when == "size 3"


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


def test_a_result_in_the_place_of_another_argument_is_said() -> None:
    def double(out: int, a: int, b: int, handle: int) -> None:
        gemm(out, a, b, handle)

    exercise = LibraryExercise(
        written_by_learner=double,
        library="cublas",
        spec=lambda a, b, c: a @ b,
        inputs=lambda rng, n: tuple(torch.ones(n, n) for _ in "abc"),
        given=lambda on, *arrays: (on.handle, *(x.data_ptr() for x in arrays)),
        result="out",
        sizes=[4],
    )
    with pytest.raises(Failed) as failed:
        judging.judge(Run(exercise, exercise.case(4)))
    assert failed.value.verdict.kind == "arguments"
    assert "else than an array for out" in failed.value.verdict.message


class OneGpu:
    """What `real` asks of `torch.cuda`. current: PyTorch's stream, 0 by default."""

    def __init__(self) -> None:
        self.current, self.made = 0, 0

    def synchronize(self) -> None:
        pass

    def Stream(self) -> SimpleNamespace:
        self.made += 1
        return SimpleNamespace(cuda_stream=self.made)

    @contextmanager
    def stream(self, chosen: SimpleNamespace | None) -> Iterator[None]:
        before = self.current
        self.current = chosen.cuda_stream if chosen else before
        yield
        self.current = before


@pytest.mark.parametrize("given", [False, True])
def test_pytorch_works_on_the_stream_of_the_calls(
    given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library's calls go to the default stream unless the function gets another."""
    gpu, found = OneGpu(), []
    monkeypatch.setattr(torch, "cuda", gpu)
    monkeypatch.setattr(judging, "on_gpu", lambda tensor: tensor)
    monkeypatch.setattr(arguments, "model_in_use", lambda: None)

    def double(x: Any, out: Any, stream: int) -> None:
        found.append((stream, gpu.current))
        out.copy_(2 * x)

    exercise = LibraryExercise(
        written_by_learner=double,
        library="cufft",
        spec=lambda x, out: 2 * x,
        inputs=lambda rng, n: (torch.ones(n), torch.zeros(n)),
        given=lambda on, x, out: (x, out, on.stream if given else 0),
        result="out",
        sizes=[3],
    )
    judging.real(exercise)
    assert found == [(1, 1) if given else (0, 0)]
