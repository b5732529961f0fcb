"""Launches without Numba's part: the parameters that reach the driver."""

import ctypes
import struct
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import weft  # before Numba

from numba import cuda, float32, float64, int8, int32, types  # isort: skip
from weft import backend
from weft.errors import LearnerError
from weft.launching import compiled_launch
from weft.torch_stream import handle_of


class OnGPU(torch.Tensor):
    """A tensor of the CPU that says it is on a GPU."""

    is_cuda = True


def pretended(*shape: int, dtype: torch.dtype = torch.float32) -> Any:
    return torch.zeros(shape, dtype=dtype).as_subclass(OnGPU)


def array(dtype: Any, ndim: int, layout: str = "C") -> Any:
    return types.Array(dtype, ndim, layout)


def launching(*signature: Any) -> tuple[Any, list[Any]]:
    """A launch for these types, and the list of what reaches the driver."""
    seen: list[Any] = []

    def call(grid: Any, block: Any, shared: int, extra: Any) -> None:
        assert list(extra)[::2] == [1, 2, None]
        size = ctypes.c_size_t.from_address(extra[3]).value
        seen.append((grid, block, shared, ctypes.string_at(extra[1], size)))

    return compiled_launch(signature, call), seen


def vector(x: Any) -> tuple[int, ...]:
    """The seven words of a vector of 4-byte elements."""
    return 0, 0, x.numel(), 4, x.data_ptr(), x.numel(), 4


def test_vectors_and_numbers() -> None:
    launch, seen = launching(array(float32, 1), float32, float32, array(float32, 1))
    x, out = pretended(5), pretended(5)
    launch(3, 256, x, 0.5, -1.25, out)
    wanted = struct.pack("7q2f7q", *vector(x), 0.5, -1.25, *vector(out))
    assert seen == [(3, 256, 0, wanted)]


def test_numbers_are_aligned_as_in_c() -> None:
    launch, seen = launching(int8, float64, int32, array(float32, 1), int8)
    x = pretended(3)
    launch((1, 2), (3, 4), -1, 0.1, 7, x, 1, shared=64)
    data = struct.pack("=b7xdi4x7qb", -1, 0.1, 7, *vector(x), 1)
    assert seen == [((1, 2), (3, 4), 64, data)]


def test_a_matrix_has_its_shape_and_strides() -> None:
    launch, seen = launching(array(float64, 2))
    x = pretended(3, 5, dtype=torch.float64)
    launch(1, 32, x)
    words = struct.unpack("9q", seen[0][3])
    assert words == (0, 0, 15, 8, x.data_ptr(), 3, 5, 40, 8)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pretended(4, dtype=torch.float64), "float64, of 1 dimensions"),
        (pretended(8)[::2], "not contiguous"),
        (torch.zeros(4), "1 dimensions, cpu"),
    ],
)
def test_a_tensor_that_does_not_fit(given: Any, said: str) -> None:
    launch, seen = launching(array(float32, 1))
    with pytest.raises(TypeError, match=said):
        launch(1, 32, given)
    assert not seen


def test_a_vector_is_any_contiguous_tensor_and_a_matrix_is_a_matrix() -> None:
    launch, seen = launching(array(float32, 1))
    x = pretended(2, 3)
    launch(1, 32, x)
    assert struct.unpack("7q", seen[0][3]) == vector(x)
    launch, _ = launching(array(float32, 2))
    with pytest.raises(TypeError, match="of 1 dimensions"):
        launch(1, 32, pretended(6))


def test_each_thread_has_a_buffer_of_its_own() -> None:
    launch, _ = launching(array(float32, 1))
    addresses: set[int] = set()
    launch = compiled_launch(
        [array(float32, 1)], lambda grid, block, shared, extra: addresses.add(extra[1])
    )
    x = pretended(4)
    threads = [threading.Thread(target=launch, args=(1, 32, x)) for _ in range(2)]
    for each in threads:
        each.start()
    launch(1, 32, x)
    for each in threads:
        each.join()
    assert len(addresses) > 1


class Driver:
    """What a launch tells the driver: by which function, and with which attributes."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> int:
            found: Any = given[1:8]
            if name == "cuLaunchKernelEx":
                config = weft.launching._Config.from_address(given[0])
                size = config.count * ctypes.sizeof(weft.launching._Attribute)
                raw = ctypes.string_at(config.attributes, size)
                words = struct.unpack(f"{size // 4}I", raw)
                parts = (words[i : i + 5] for i in range(0, len(words), 18))
                found = (*config.sizes, *parts)
            self.seen.append((name, found))
            return 0

        setattr(self, name, call)
        return call


@pytest.mark.parametrize(
    ("how", "name", "attributes"),
    [
        ({}, "cuLaunchKernel", ()),
        ({"cluster": 2}, "cuLaunchKernelEx", ((4, 0, 2, 1, 1),)),
        ({"early": True}, "cuLaunchKernelEx", ((6, 0, 1, 0, 0),)),
        (
            {"cluster": 4, "early": True},
            "cuLaunchKernelEx",
            ((4, 0, 4, 1, 1), (6, 0, 1, 0, 0)),
        ),
    ],
)
def test_clusters_and_early_launches_are_attributes(
    monkeypatch: pytest.MonkeyPatch, how: Any, name: str, attributes: Any
) -> None:
    driver = Driver()
    monkeypatch.setattr(ctypes, "PyDLL", lambda path: driver)
    stream = "_cuda_getCurrentRawStream"
    monkeypatch.setattr(torch._C, stream, lambda device: 7, raising=False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    call = weft.launching.driver_call(1234, **how)
    call((8, 2), 256, 64, None)
    assert driver.seen == [(name, (8, 2, 1, 256, 1, 1, 64, *attributes))]


def test_kernels_that_cannot_be_prepared() -> None:
    with pytest.raises(LearnerError, match=r"write float32\[::1\] for a vector"):
        compiled_launch([array(float32, 1, "A")], print)
    with pytest.raises(LearnerError, match="neither"):
        compiled_launch([types.complex64], print)

    @cuda.jit
    def open_to_all(x):
        x[0] = 1

    with pytest.raises(LearnerError, match="one signature, and open_to_all has 0"):
        weft.launching.signature_of(open_to_all)


def test_the_simulator_launches_the_ordinary_way() -> None:
    if weft.GPU:
        pytest.skip("here it launches without Numba")

    @cuda.jit("void(float32[::1], float32)")
    def fill(x, value):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = value

    x = torch.zeros(5, 8)
    weft.prepare(fill)((2, 1), 32, x, 2.5)
    assert x.flatten().tolist() == [2.5] * 40


def test_both_ways_in_which_numba_passes_a_launch() -> None:
    together = SimpleNamespace(griddim=2, blockdim=32, stream=7, sharedmem=64)
    assert backend.launch_configuration((together,)) == (2, 32, 7, 64)
    assert backend.launch_configuration((2, 32, 7, 64)) == (2, 32, 7, 64)


@pytest.mark.parametrize(
    ("stream", "handle"),
    [(0, 0), (SimpleNamespace(handle=5), 5), (SimpleNamespace(handle=1), 0)],
)
def test_the_number_of_a_stream(stream: Any, handle: int) -> None:
    assert handle_of(stream) == handle
    boxed = SimpleNamespace(handle=SimpleNamespace(value=handle or None))
    assert handle_of(boxed) == handle
