"""Kernels that a host function launches are held to the sanitizer as well."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip
from weft import check, streams
from weft.kernels import launched
from weft.simulator import Fault


@pytest.fixture(autouse=True)
def unrecorded(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


@cuda.jit
def reverse_racy(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[63 - t]


@cuda.jit
def reverse_right(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[63 - t] = x[63 - t]
    cuda.syncthreads()
    out[t] = tile[63 - t]


@cuda.jit
def too_far(x, out):
    out[cuda.threadIdx.x + 1] = x[cuda.threadIdx.x]


@cuda.jit
def both(x, out):
    out[0] = x[0]


def reversed_by(kernel):
    def reverse(x):
        out = np.zeros_like(x)
        kernel[1, 64](x, out)
        return out

    return reverse


def verdict(function, **more):
    return check(
        function,
        spec=lambda x: x[::-1],
        inputs=[(np.arange(64, dtype=np.float32),)],
        **more,
    )


def test_a_race_in_a_kernel_that_a_function_launches():
    found = verdict(reversed_by(reverse_racy))
    assert found.kind == "race"
    assert found.name == "reverse"
    assert [place.text for place, _ in found.places] == [
        "tile[t] = x[t]",
        "out[t] = tile[63 - t]",
        "kernel[1, 64](x, out)",
    ]
    assert "in `reverse_racy`" in found.places[0][1]
    assert found.places[-1][1] == "launched here"


def test_a_right_kernel_passes_and_its_launches_are_counted():
    found = verdict(reversed_by(reverse_right))
    assert found
    assert "1 launch of kernels: every index in bounds, no race" in found.facts


def test_an_except_of_the_learners_hides_no_race():
    def reverse(x):
        out = np.zeros_like(x)
        with contextlib.suppress(Exception):
            reverse_racy[1, 64](x, out)
        return x[::-1].copy()

    assert verdict(reverse).kind == "race"


def test_outside_the_array_names_the_kernel_line_and_the_launch():
    found = verdict(reversed_by(too_far))
    assert found.kind == "out-of-bounds"
    assert found.places[0][0].text == "out[cuda.threadIdx.x + 1] = x[cuda.threadIdx.x]"
    assert found.places[-1][1] == "launched here"


def test_equal_stores_of_all_threads_are_told_after_the_values():
    def first(x):
        out = np.zeros(1, np.float32)
        both[1, 64](x, out)
        return out

    found = check(first, spec=lambda x: x[:1], inputs=[(np.ones(4, np.float32),)])
    assert found.kind == "race"
    found = check(first, spec=lambda x: x[:1] + 1, inputs=[(np.ones(4, np.float32),)])
    assert found.kind == "wrong-value"


def test_a_launch_far_too_large_is_refused_in_words():
    def reverse(x):
        out = np.zeros_like(x)
        reverse_right[100_000, 64](x, out)
        return out

    found = verdict(reverse)
    assert found.kind == "launch"
    assert "6,400,000 threads are launched for 64 elements" in found.message


def on_the_device(x, out):
    there = cuda.to_device(x)
    back = cuda.device_array_like(x)
    reverse_racy[1, 64](there, back)
    back.copy_to_host(out)


def right_on_the_device(x, out):
    there = cuda.to_device(x)
    back = cuda.device_array_like(x)
    reverse_right[1, 64](there, back)
    back.copy_to_host(out)


HOST = {
    "spec": lambda x: x[::-1],
    "inputs": lambda rng, n: (rng.random(n, np.float32),),
    "given": lambda bench, x: (bench.pageable(x), bench.pageable(np.zeros_like(x))),
    "sizes": [64],
    "result": "out",
}


def test_host_code_of_streams_is_held_to_it_too():
    found = streams.check(on_the_device, unseen=False, **HOST)
    assert found.kind == "race"
    assert found.places[-1][1] == "launched here"
    assert streams.check(right_on_the_device, unseen=False, **HOST)


class OneByOne:
    """A dispatcher as Numba had it before 0.30."""

    def call(self, args, grid, block, stream, shared):
        raise AssertionError("this would launch")

    def launch(self):
        self.call((7, 8), (2, 1, 1), (64, 1, 1), 0, 128)


class InOneObject:
    """A dispatcher as it is since then."""

    def call(self, args, launch_config):
        raise AssertionError("this would launch")

    def launch(self):
        fields = {"griddim": (2, 1, 1), "blockdim": (64, 1, 1), "stream": 0}
        self.call((7, 8), SimpleNamespace(**fields, sharedmem=128))


@pytest.mark.parametrize("dispatcher", [OneByOne, InOneObject])
def test_a_launch_on_a_gpu_is_read_in_either_form(dispatcher, monkeypatch):
    monkeypatch.setattr(launched, "simulating", lambda: False)
    monkeypatch.setattr(launched, "launching_method", lambda: (dispatcher, "call"))
    seen = []
    kernel = dispatcher()
    with launched.intercepted(lambda *launch: seen.append(launch)):
        kernel.launch()
    assert seen == [(kernel, ((2, 1, 1), (64, 1, 1), 0, 128), (7, 8))]
    with pytest.raises(AssertionError, match="would launch"):
        kernel.launch()


class OnGPU(torch.Tensor):
    """A tensor of the CPU that says it is on a GPU."""

    is_cuda = True
    __module__ = "torch"


def test_a_tensor_on_a_gpu_is_copied_back_as_a_launch_would_change_it() -> None:
    tensor, back = torch.zeros(3).as_subclass(OnGPU), []
    host = launched.on_host(tensor, back)
    host += 1
    back[0]()
    assert tensor.tolist() == [1, 1, 1]
    before = tensor._version
    back[0]()
    assert tensor._version == before  # or autograd would miss what it has saved


def test_an_expanded_tensor_that_is_only_read_is_left_alone() -> None:
    wide, back = torch.ones(1).expand(3).as_subclass(OnGPU), []
    launched.on_host(wide, back)
    back[0]()


def test_a_tensor_on_the_cpu_is_nothing_for_a_gpu(monkeypatch) -> None:
    monkeypatch.setattr(launched, "simulating", lambda: False)
    with pytest.raises(Fault, match="gets a tensor that is on the CPU"):
        launched.on_host(torch.zeros(3), [])
