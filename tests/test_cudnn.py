"""cuDNN's binding and its model, which NVIDIA's recorded answers prove."""

import ctypes
import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba
from verification import cudnn_calls as calls
from verification.cells import checks, run, scope_of
from verification.library_calls import World
from weft.chapters import Chapter
from weft.errors import LearnerError
from weft.libraries import cudnn, loading
from weft.libraries.cudnn import DataType, ForwardAlgo, TensorFormat
from weft.libraries.faults import ModelFault
from weft.libraries.graphs import Graph
from weft.libraries.loading import on_model
from weft.libraries.model import Model

channels_last = Chapter("26_curand_cufft").arrays.channels_last
ready_convolutions = Chapter("27_cudnn").ready_convolutions
order_of = ready_convolutions.order_of

RECORD = Path(__file__).parents[1] / "verification" / "cudnn_calls.json"
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))["answers"]
NO_ACCESS = 0  # PROT_NONE of mprotect
# Which status a plan gives for these depends on its engine; that it refuses does not.
ANY_STATUS = {"graph, no bias, but packed"}
# Accepted by the library, which then computes something else; the model refuses.
# The model's plans need a workspace, so that a check sees whether one is passed.
NO_ROOM = {"graph, no workspace"}
WRONG_NUMBERS = {"graph, a bias of 8", "graph, a bias per column"}


@pytest.fixture
def model() -> Iterator[Model]:
    found = Model()
    with on_model(found):
        yield found


def world(model: Model) -> World:
    return World(model.place, lambda x: x.cpu().double().numpy())


def same(got: Any, wanted: Any) -> bool:
    """Whether two answers agree."""
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(
            same(got[k], wanted[k]) for k in wanted
        )
    numbers = isinstance(wanted, list) and not any("L" in str(x) for x in wanted)
    if numbers and np.shape(got) == np.shape(wanted):
        return bool(np.allclose(got, wanted, 1e-3, 1e-3))
    return bool(got == wanted)


@pytest.mark.parametrize("case", calls.CASES)
def test_the_model_answers_as_the_library_did(case: str, model: Model) -> None:
    wanted = RECORDED[case]
    if case in WRONG_NUMBERS:
        with pytest.raises(ModelFault, match="one per channel"):
            calls.answer(world(model), case)
        return
    if case in NO_ROOM:
        with pytest.raises(ModelFault, match="needs 1,024 bytes"):
            calls.answer(world(model), case)
        return
    got = calls.answer(world(model), case)
    if case in ANY_STATUS:
        assert got.keys() == wanted.keys() == {"status"}
    else:
        assert same(got, wanted), (got, wanted)


def test_every_recorded_answer_has_its_call() -> None:
    assert RECORDED.keys() == calls.CASES.keys()


def problem(model: Model, **change: Any) -> Any:
    """A convolution of ones, ready to be called."""
    Forward = ready_convolutions.Forward

    made = {"x": (2, 8, 7, 9), "w": (16, 8, 3, 3), "y": (2, 16, 7, 9)} | change
    x, w, y = (
        model.place(torch.ones(made[name]), name) if name not in change else made[name]
        for name in "xwy"
    )
    return Forward(x, w, y, (1, 1))


def refused(model: Model, kind: str, text: str, function: Any) -> None:
    """Assert that a call is refused for this reason."""
    with pytest.raises(ModelFault, match=text):
        function()
    assert model.faults[-1].kind == kind


def test_arrays_and_workspaces_are_looked_at(model: Model) -> None:
    layer = problem(model)
    layer()
    assert layer.y.cpu()[0, 0, 3, 3] == 72
    short = model.place(torch.ones(2, 8, 7, 8), "x")
    layer.x = short
    refused(model, "device-bounds", "described as 2 × 8 × 7 × 9", layer)
    layer = problem(model)
    winograd = ForwardAlgo.WINOGRAD_NONFUSED
    layer.rooms[winograd] = model.place(torch.zeros(8, dtype=torch.uint8))
    with pytest.raises(cudnn.cuDNNError, match="needs 18,144 bytes"):
        layer(winograd)
    host = np.ones(4096, np.float32)
    layer = problem(model)
    layer.w = model.place(torch.ones(16, 8, 3, 3))
    layer.w.data_ptr = lambda: host.ctypes.data
    refused(model, "pointer", "not in device memory", layer)


def test_handles_and_descriptors_are_looked_at(model: Model) -> None:
    layer = problem(model)
    cudnn.destroy_filter_descriptor(layer.filters)
    refused(model, "handle", "has been destroyed", layer)
    layer = problem(model)
    layer.descs[0] = layer.filters
    refused(model, "handle", "where a tensor descriptor is wanted", layer)
    layer = problem(model)
    cudnn.destroy(layer.handle)
    refused(model, "handle", "handle of cuDNN that has been destroyed", layer)


@pytest.mark.parametrize(
    ("kind", "size"), [("BOOLEAN", 1), ("DATA_TYPE", 4), ("INT64", 8)]
)
def test_all_elements_of_an_attribute_are_read(
    kind: str, size: int, model: Model
) -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    second = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + page
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(second), page, NO_ACCESS) == 0
    attribute = cudnn.Attribute.TENSOR_DIMENSIONS, cudnn.AttributeType[kind]
    made = cudnn.backend_create_descriptor(cudnn.Descriptor.TENSOR)
    cudnn.backend_set_attribute(made, *attribute, 3, second - 3 * size)

    def too_many() -> None:
        cudnn.backend_set_attribute(made, *attribute, 4, second - 3 * size)

    refused(model, "pointer", "where the host has no memory", too_many)


def test_a_result_has_memory_of_its_own(model: Model) -> None:
    layer = problem(model, w=model.place(torch.ones(8, 8, 3, 3)))
    layer = problem(model, x=layer.x, w=layer.w, y=layer.x)
    refused(model, "input-written", "y shares memory with x", layer)


def relus(model: Model, *steps: tuple[int, int], virtual: tuple[int, ...] = ()) -> None:
    """Build a graph: tensor b is ReLU of tensor a for each (a, b)."""
    like, graph = model.place(torch.ones(1, 8, 4, 4)), Graph(cudnn.create())
    made = [
        graph.virtual(n, like) if n in virtual else graph.tensor(n, like)
        for n in range(3)
    ]
    for a, b in steps:
        graph.pointwise(cudnn.Pointwise.RELU_FWD, made[a], y=made[b])
    graph.plans()


def test_what_the_model_lacks_is_no_refusal(model: Model) -> None:
    tensor, half = cudnn.create_tensor_descriptor(), DataType.HALF
    set_tensor, sizes = cudnn.set_tensor4d_descriptor, (2, 8, 4, 4)
    relus(model, (0, 1), (1, 2), virtual=(1,))
    for call, text in (
        (lambda: relus(model, (0, 1), (1, 0)), "graphs with a cycle"),
        (lambda: relus(model, (0, 1), (2, 1)), "two operations have the same result"),
        (lambda: relus(model, (0, 1), virtual=(1,)), "whose results are all virtual"),
        (lambda: Graph(1).pointwise(3, 0, y=0), "the pointwise mode 3"),
        (lambda: Graph(1).tensor(1, torch.ones(2, dtype=torch.int16)), "int16"),
        (lambda: cudnn.backend_create_descriptor(18), "the backend's descriptor 18"),
        (lambda: set_tensor(tensor, 2, half, *sizes), "the format NCHW_VECT_C"),
        (lambda: set_tensor(tensor, 0, 6, *sizes), "the data type 6"),
    ):
        refused(model, "lacking", text, call)


def test_an_unset_descriptor_is_no_tensor(model: Model) -> None:
    layer = problem(model)
    layer.descs[1] = cudnn.create_tensor_descriptor()
    with pytest.raises(cudnn.cuDNNError, match="never been set"):
        layer.workspace(ForwardAlgo.GEMM)


def test_the_formats_of_arrays_are_found(model: Model) -> None:
    last = torch.channels_last
    w = torch.ones(4, 3, 2, 2)
    assert order_of(model.place(w)) == TensorFormat.NCHW
    assert order_of(model.place(w.contiguous(memory_format=last))) == TensorFormat.NHWC
    moved = channels_last(model.place(w))
    assert moved.shape == w.shape
    assert moved.stride() == (12, 1, 6, 3)


def test_every_algorithm_that_can_do_it_gives_the_same(model: Model) -> None:
    layer = problem(model)
    able = layer.able()
    assert ForwardAlgo.DIRECT not in able
    for algo in able:
        layer.y.held.zero_()
        layer(algo)
        assert layer.y.cpu()[1, 2, 0, 0] == 32
    assert layer.ranked()["status"][len(able) - 1] == 0
    assert layer.ranked()["status"][len(able)] != 0


def test_a_fused_layer_is_right_by_every_plan(model: Model) -> None:
    Fused = ready_convolutions.Fused

    rng = np.random.default_rng(0)
    x, w, bias = (
        torch.from_numpy(rng.integers(-2, 3, shape)).half()
        for shape in ((2, 8, 4, 5), (8, 8, 3, 3), (8,))
    )
    wanted = torch.nn.functional.conv2d(
        x.float(), w.float(), bias.float(), padding=1
    ).relu()
    y = model.place(torch.zeros(2, 8, 4, 5).half())
    layer = Fused(model.place(x), model.place(w), model.place(bias), y, (1, 1))
    for number in range(len(layer.plans)):
        y.held.zero_()
        layer(number)
        assert torch.equal(y.cpu().float(), wanted)
    layer.graph.destroy()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(file: str) -> Any:
        raise OSError(file)

    monkeypatch.setattr(loading.ctypes, "CDLL", nothing)
    loading.real.cache_clear()
    with pytest.raises(LearnerError, match=r"libcudnn.so.9 cannot be loaded"):
        loading.real("cudnn")


@pytest.mark.parametrize(
    ("file", "advice"),
    [
        ("conv2d/wrong_no_workspace", "the caller passes an address and a size"),
        ("conv2d/wrong_dilation_zero", "no dilation are 1"),
        ("conv2d/wrong_filter_nhwc", "Compare what each descriptor says"),
        ("conv_bias_relu/wrong_one_uid", "a number of its own"),
        ("conv_channels_last/wrong_bytes_alone", "w is described with strides"),
        ("conv_bias_relu/wrong_two_graphs", "has to read again"),
    ],
)
def test_a_verdict_says_what_to_look_at(file: str, advice: str) -> None:
    lab = "27_cudnn"
    source = Path(__file__).parents[1] / "chapters" / lab / "answers" / f"{file}.py"
    scope = scope_of(lab)
    run(source.read_text(encoding="utf-8"), f"<{file}>", scope)
    verdict = run(checks(lab)[file.split("/")[0]], "<check>", scope)
    assert advice in f"{verdict.message} {verdict.why}"
