"""The launches of the fused step: what each kernel is given, and for which types."""

import inspect
import re
from typing import Any

import numpy as np
import pytest
import torch

import weft  # noqa: F401  before Numba
from weft.chapters import Chapter
from weft.errors import LearnerError

fused = Chapter("35_mnist_cnn").fused
Fused, layout, step = fused.Fused, fused.layout, fused.step
NORMALISED, PLAIN = fused.kernels.NORMALISED, fused.kernels.PLAIN

DTYPES = {torch.int16, torch.int32, torch.uint8, torch.float32}


class OnCpu(Fused):
    """The step's arrays on the CPU, for a GPU of five processors."""

    device = "cpu"

    def _processors(self) -> int:
        return 5


def parameters(norm: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "w1": (32, 3, 3, 1),
        "b1": (32,),
        "w2": (64, 3, 3, 32),
        "b2": (64,),
        "w3": (128, 3136),
        "b3": (128,),
        "w4": (10, 128),
        "b4": (10,),
    }
    if norm:
        shapes |= {"gamma1": (32,), "beta1": (32,), "gamma2": (64,), "beta2": (64,)}
    return {name: rng.standard_normal(s, np.float32) for name, s in shapes.items()}


def net(norm: bool, count: int = 64, rows: int = 200, kernels: Any = None) -> Any:
    images = torch.zeros(300, 28, 28, dtype=torch.uint8)
    labels = torch.zeros(300, dtype=torch.uint8)
    order = torch.arange(rows, dtype=torch.int32)
    return OnCpu(parameters(norm), (images, labels), order, count, 0.5, kernels)


def type_of(given: Any) -> str:
    if isinstance(given, torch.Tensor):
        assert given.dtype in DTYPES
        assert given.is_contiguous()
        return str(given.dtype).removeprefix("torch.") + "[::1]"
    return "float32" if isinstance(given, float) else "int32"


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("count", [64, 1024])
def test_each_kernel_gets_what_it_was_compiled_for(
    norm: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels, seen = NORMALISED if norm else PLAIN, []

    def launch_of(name: str, kernel: Any) -> Any:
        function, types, (most, _), _ = kernel
        takes = list(inspect.signature(function).parameters)
        assert len(takes) == len(types.split(","))

        def launch(grid: Any, block: Any, *given: Any, shared: int) -> None:
            blocks = np.atleast_1d(grid)
            assert all(isinstance(b, int) and b > 0 for b in blocks.tolist()), name
            assert block <= most, name
            assert shared == kernel[3]
            found = [type_of(each) for each in given]
            assert found == types.replace(" ", "").split(","), name
            for take, each in zip(takes, given, strict=True):
                if take == "count":
                    assert each == count
            seen.append(name)

        return launch

    monkeypatch.setattr(step, "launch_of", launch_of)
    net(norm, count, rows=2048).step(1)
    assert seen == list(kernels)


@pytest.mark.parametrize("norm", [False, True])
def test_parameters_come_back_as_they_were_given(norm: bool) -> None:
    given = parameters(norm)
    found = net(norm).parameters()
    assert found.keys() == given.keys()
    for name, value in given.items():
        assert torch.equal(found[name], torch.tensor(value)), name


def test_the_running_statistics_start_as_in_pytorch() -> None:
    with pytest.raises(LearnerError, match="no gamma1"):
        net(norm=False).averages()
    start = net(norm=True).averages()
    theirs = torch.nn.BatchNorm2d(64)
    assert torch.equal(start["mean2"], theirs.running_mean)
    assert torch.equal(start["mean1"], torch.zeros(32))
    assert torch.equal(start["var2"], theirs.running_var)
    assert {name: len(value) for name, value in start.items()} == {
        "mean1": 32,
        "var1": 32,
        "mean2": 64,
        "var2": 64,
    }


def test_running_means_include_the_bias_that_no_kernel_adds() -> None:
    step_of = net(norm=True)
    y = torch.randn(40, 64, 3, 3, generator=torch.Generator().manual_seed(1))
    theirs = torch.nn.BatchNorm2d(64)
    for batch in y.split(20):
        theirs(batch + step_of.biases["b2"][:, None, None])
        mean = step_of.running[layout.RUN_MEAN2 : layout.RUN_VAR2]
        mean += float(layout.MOMENTUM) * (batch.mean((0, 2, 3)) - mean)
    apart = step_of.averages()["mean2"] - theirs.running_mean
    assert apart.abs().max() < 1e-6


def test_a_batch_that_does_not_fit_is_refused() -> None:
    with pytest.raises(LearnerError, match=re.escape("a batch of 100")):
        net(norm=False, count=100)
    with pytest.raises(LearnerError, match="200 images do not fill a batch of 256"):
        net(norm=False, count=256)
    with pytest.raises(LearnerError, match="3 steps"):
        net(norm=False).graph(steps=3)
