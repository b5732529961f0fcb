"""The learner's kernels in the fused step: they do what the given ones do."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_cnn import apart, floats, jit, noise, numbers, on_device, words
from test_cnn_step import net

import weft  # noqa: F401  before Numba
from verification.cells import run, scope_of
from weft.chapters import Chapter
from weft.device import toolkit
from weft.errors import LearnerError

chapter = Chapter("35_mnist_cnn")
fused = chapter.fused
forward, layout, linear, update = (
    fused.forward,
    fused.layout,
    fused.linear,
    fused.update,
)
own, step = fused.own, fused.step

ANSWERS = Path(__file__).parents[1] / "chapters" / "35_mnist_cnn" / "answers"
RIGHT = {
    "head": "right_probabilities_first",
    "update": "right_strided",
    "conv_pool": "right_columns_first",
}


@pytest.fixture(autouse=True)
def _as_much_shared_memory_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("limits", "running.declared"):
        monkeypatch.setattr(f"weft.simulator.{module}.MOST_SHARED", 1 << 18)


@pytest.fixture(scope="module")
def mine() -> dict[str, Any]:
    """Right answers, as a learner might have written them."""
    scope = scope_of("35_mnist_cnn")
    for name, file in RIGHT.items():
        path = ANSWERS / name / f"{file}.py"
        run(path.read_text(encoding="utf-8"), f"<{name}>", scope)
    return {name: scope[name] for name in RIGHT}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of `own` run in the simulator, on tensors of the CPU."""

    def launch_of(name: str, kernel: Any) -> Any:
        function, types, (most, _), shared = kernel

        def launch(grid: Any, block: int, *given: Any) -> None:
            assert block <= most
            assert shared == 0
            assert [type_of(each) for each in given] == split(types), name
            arrays = [
                cuda_array(x) if isinstance(x, torch.Tensor) else x for x in given
            ]
            jit(function)[grid, block](*arrays)
            for x, array in zip(given, arrays, strict=True):
                if isinstance(x, torch.Tensor):
                    x.copy_(torch.tensor(array.copy_to_host()))

        return launch

    monkeypatch.setattr(own, "launch_of", launch_of)


def cuda_array(x: torch.Tensor) -> Any:
    return fused.names.cuda.to_device(x.numpy().copy())


def type_of(given: Any) -> str:
    if isinstance(given, torch.Tensor):
        assert given.is_contiguous()
        colons = ", ".join([":"] * (given.dim() - 1) + ["::1"])
        return f"{str(given.dtype).removeprefix('torch.')}[{colons}]"
    return "float32" if isinstance(given, float) else "int32"


def split(types: str) -> list[str]:
    return re.findall(r"\w+(?:\[[^\]]*\])?", types)


def small(**fields: Any) -> Any:
    """A part of a step, with room for what is between the kernels."""
    between: dict[str, torch.Tensor] = {}

    def numbers_of(name: str, size: int, dtype: Any = torch.float32) -> torch.Tensor:
        return between.setdefault(name, torch.zeros(size, dtype=dtype))

    return SimpleNamespace(torch=torch, numbers_of=numbers_of, **fields)


def test_the_head(mine: dict[str, Any], launched: None) -> None:
    n, slices = 8, 7
    theta, part = noise(1, layout.SIZE), 0.02 * noise(2, slices, n, 128)
    labels = torch.arange(20, dtype=torch.uint8) % 10
    order = torch.randperm(20, generator=torch.Generator().manual_seed(3)).int()
    counter = torch.tensor([1], dtype=torch.int32)
    given_dh, given_parts = words(n * 64), floats(layout.HEAD)
    on = on_device(part), on_device(theta), on_device(labels), on_device(order)
    on = *on, on_device(counter), given_dh, given_parts
    jit(linear.head)[1, 128](*on, np.int32(n), np.int32(1), np.int32(2))

    dh = torch.zeros(n * 64, dtype=torch.int32)
    parts = torch.zeros(n * layout.HEAD)
    fields = {"count": n, "slices": slices, "part": part.view(-1), "theta": theta}
    fields |= {"labels": labels, "order": order, "counter": counter}
    own.replaced(small(**fields, dh=dh, parts=parts), "head", mine["head"])()
    got = parts.view(n, layout.HEAD).sum(0)
    wanted = torch.tensor(given_parts.copy_to_host())
    assert apart(got[:1419], wanted[:1419]) < 1e-5
    assert apart(dh.view(torch.bfloat16).float(), numbers(given_dh)) < 1e-3


def test_the_update(mine: dict[str, Any], launched: None) -> None:
    conv, parts = noise(4, 5, layout.CONV), noise(5, 3, layout.HEAD)
    theta, counter = noise(6, layout.SIZE), torch.tensor([1], dtype=torch.int32)
    new, copy, count = on_device(theta), words(0), on_device(counter)
    copy = fused.names.cuda.to_device(np.zeros(layout.B2, np.int16))
    rest = new, copy, count, floats(2), np.float32(0.5), np.int32(2)
    on = on_device(conv), np.int32(5), on_device(parts), np.int32(3)
    jit(update.update)[update.BLOCKS, 256](*on, *rest)

    w2 = torch.zeros(layout.B2, dtype=torch.bfloat16)
    fields = {"conv": conv.view(-1), "blocks": 5, "parts": parts.view(-1), "heads": 3}
    fields |= {"theta": theta, "w2": w2, "counter": counter, "rate": 0.5, "steps": 2}
    own.replaced(small(**fields), "update", mine["update"])()
    wanted = torch.tensor(new.copy_to_host())
    assert apart(theta[: layout.LOSS], wanted[: layout.LOSS]) < 1e-6
    assert torch.equal(w2, theta[: layout.B2].bfloat16())
    assert counter.item() == count.copy_to_host()[0] == 0


def test_both_convolutions_of_an_image(mine: dict[str, Any], launched: None) -> None:
    rng = np.random.default_rng(7)
    images = rng.integers(0, 256, (3, 28, 28), dtype=np.uint8)
    images[:, :, :6] = 0
    theta = 0.1 * noise(8, layout.SIZE)
    w2 = theta[: layout.B2].bfloat16()
    order = torch.tensor([1, 0, 2], dtype=torch.int32)
    counter = torch.tensor([2], dtype=torch.int32)
    data = torch.tensor(images.view(np.int32)).view(-1)
    arrays = words(3136), words(784), words(1568), words(392)
    on = on_device(data), on_device(order), on_device(counter), on_device(theta)
    given = *on, on_device(w2), *arrays, np.int32(1)
    jit(forward.forward)[1, forward.THREADS, 0, forward.SHARED](*given)

    names = {"x1": 3136, "win1": 784, "x2": 1568, "win2": 392}
    made = {k: torch.zeros(size, dtype=torch.int32) for k, size in names.items()}
    fields = {"count": 1, "images": data, "order": order, "counter": counter}
    part = small(**fields, theta=theta, w2=w2, **made)
    own.replaced(part, "conv_pool", mine["conv_pool"])()
    for name, wanted in zip(("x1", "x2"), arrays[::2], strict=True):
        found = made[name].view(torch.bfloat16).float()
        assert apart(found, numbers(wanted)) < 2e-3, name
    for name, wanted in zip(("win1", "win2"), arrays[1::2], strict=True):
        nibbles = [
            np.asarray(each).view(np.uint8)
            for each in (made[name].numpy(), wanted.copy_to_host())
        ]
        assert (nibbles[0] != nibbles[1]).mean() < 0.01, name


def test_the_step_has_them_by_name(
    mine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def launch_of(name: str, kernel: Any) -> Any:
        return lambda *_, **__: seen.append(name)

    for module in (own, step):
        monkeypatch.setattr(module, "launch_of", launch_of)
    net(norm=False, kernels=mine).step()
    assert seen == [
        *("first_layer", "conv_pool", "packed", "fc1", "head", "to_words"),
        *("fc1_backward", "backward", "update"),
    ]
    with pytest.raises(LearnerError, match="no kernel 'tail'"):
        net(norm=False, kernels={"tail": mine["head"]})
    with pytest.raises(LearnerError, match="update is another kernel"):
        net(norm=True, kernels={"update": mine["update"]})


def test_the_plain_network_with_split_sums_and_tensor_cores(
    mine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = scope_of("35_mnist_cnn")
    for name in ("relu_pool", "conv_weights"):
        path = next(iter(sorted((ANSWERS / name).glob("right_*.py"))))
        run(path.read_text(encoding="utf-8"), f"<{name}>", scope)
    kernels = {name: scope[name] for name in ("relu_pool", "conv_weights")}
    monkeypatch.setattr(chapter.learner, "in_use", {})
    for name, kernel in (mine | kernels).items():
        monkeypatch.setattr(chapter.learner, name, kernel, raising=False)

    network, rng = chapter.network, np.random.default_rng(0)
    given = network.fresh(rng, side=8, c1=16, c2=8, hidden=5, norm=False)
    found = []
    for options in ({}, {"slices": 3}, {"slices": 2, "tensor": True}):
        plain = network.Plain(given, (3, 8, 8), norm=False, **options)
        plain.load(*chapter.gradients.tiny.values(), 0)
        plain.forward()
        plain.backward()
        found.append({k: torch.tensor(v.copy_to_host()) for k, v in plain.g.items()})
    for name, wanted in found[0].items():
        assert apart(found[1][name], wanted) < 1e-5, name
        assert apart(found[2][name], wanted) < 0.05, name


SCRIPT = """
import math, sys, types
from pathlib import Path
package = types.ModuleType("weft")  # the package itself would choose the simulator
package.__path__ = [sys.argv[1] + "/weft"]
sys.modules["weft"] = package
from importlib import import_module
from numba import cuda, float32, int32
from numba.core import sigutils
from weft import backend
backend.pretend_device((9, 0))
from weft.intrinsics import mma_bf16
kernels = import_module("weft.chapters.35_mnist_cnn.kernels")
own = import_module("weft.chapters.35_mnist_cnn.fused.own")
scope = vars(kernels) | {"math": math, "int32": int32, "mma_bf16": mma_bf16}

functions = {"first_layer": own.first_layer, "packed": own.packed}
functions["to_words"] = kernels.to_words.py_func
for path in sys.argv[2:]:
    name = Path(path).parent.name
    exec(compile(Path(path).read_text(), path, "exec"), scope)
    functions[name] = scope[name].py_func
for name, types in own.TYPES.items():
    signature, _ = sigutils.normalize_signature(f"void({types})")
    ptx, _ = cuda.compile_ptx(functions[name], signature, cc=(9, 0), fastmath=True)
    print(name, ptx.count("mma.sync"), ".f64" in ptx)
"""


@pytest.mark.skipif(bool(toolkit.find().missing), reason="no CUDA compiler here")
def test_the_kernels_compile_for_hopper() -> None:
    answers = [str(ANSWERS / name / f"{file}.py") for name, file in RIGHT.items()]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ANSWERS.parents[2]), *answers],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if "CUDASIM" not in k},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [
        "head 0 False",
        "to_words 0 False",
        "update 0 False",
        "first_layer 0 False",
        "conv_pool 2 False",
        "packed 0 False",
    ]
