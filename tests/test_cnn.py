"""The kernels of the fused step, in the simulator, against PyTorch in float32."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import weft  # noqa: F401  before Numba
from weft.chapters import Chapter

fused = Chapter("35_mnist_cnn").fused
backward, forward, layout = fused.backward, fused.forward, fused.layout
linear, update = fused.linear, fused.update
cuda, int32 = fused.names.cuda, fused.names.int32

jit = cuda.jit


@pytest.fixture(autouse=True)
def _as_much_shared_memory_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("limits", "running.declared"):
        monkeypatch.setattr(f"weft.simulator.{module}.MOST_SHARED", 1 << 18)


def on_device(x: Any) -> Any:
    """Copy to the device; bfloat16 as words."""
    if isinstance(x, torch.Tensor):
        x = x.contiguous()
        x = (x.view(torch.int32) if x.dtype == torch.bfloat16 else x).numpy()
    return cuda.to_device(np.array(x).ravel())


def words(size: int) -> Any:
    return cuda.to_device(np.zeros(size, np.int32))


def floats(size: int) -> Any:
    return cuda.to_device(np.zeros(size, np.float32))


def numbers(x: Any) -> torch.Tensor:
    """The bfloat16 in words, in float32."""
    return torch.tensor(x.copy_to_host()).view(torch.bfloat16).float()


def apart(got: torch.Tensor, wanted: torch.Tensor) -> float:
    return ((got - wanted).norm() / wanted.norm()).item()


def noise(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rounded(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def test_both_convolutions_forward_and_backward() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 28, 28), dtype=np.uint8)
    theta = 0.1 * noise(1, layout.SIZE)
    w2 = theta[: layout.B2].bfloat16()
    batch = (
        on_device(images.view(np.int32)),
        on_device(np.array([1, 0, 2], np.int32)),
        on_device(np.array([2], np.int32)),
    )
    x1, won1, x2, won2 = words(3136), words(784), words(1568), words(392)
    on = *batch, on_device(theta), on_device(w2), x1, won1, x2, won2, np.int32(1)
    jit(forward.forward)[1, forward.THREADS, 0, forward.SHARED](*on)

    p = {
        "w1": rounded(theta[layout.W1 : layout.B1])
        .view(3, 3, 1, 32)
        .permute(3, 2, 0, 1),
        "b1": theta[layout.B1 : layout.CONV],
        "w2": w2.float().view(64, 3, 3, 32).permute(0, 3, 1, 2),
        "b2": theta[layout.B2 : layout.W1],
    }
    p = {name: value.clone().requires_grad_() for name, value in p.items()}
    x = torch.tensor(images[2].astype(np.float32)) * float(layout.SCALE) + float(
        layout.SHIFT
    )
    h = F.conv2d(rounded(x)[None, None], p["w1"], p["b1"], padding=1)
    h = F.relu(F.max_pool2d(h, 2))
    h = h + (rounded(h) - h).detach()
    y = F.relu(F.max_pool2d(F.conv2d(h, p["w2"], p["b2"], padding=1), 2))
    assert torch.equal(numbers(x1).view(14, 14, 32), h[0].permute(1, 2, 0))
    assert apart(numbers(x2).view(7, 7, 64), y[0].permute(1, 2, 0)) < 4e-3

    dx2 = noise(2, 7, 7, 64).bfloat16()
    part = floats(layout.CONV)
    on = *batch, on_device(w2), x1, won1, on_device(dx2), won2, part, np.int32(1)
    jit(backward.backward)[1, backward.THREADS, 0, backward.SHARED](*on)
    y.backward(dx2.float().permute(2, 0, 1)[None])
    got = torch.tensor(part.copy_to_host())
    g = {name: value.grad for name, value in p.items()}
    assert (
        apart(got[: layout.B2].view(64, 3, 3, 32), g["w2"].permute(0, 2, 3, 1)) < 1e-5
    )
    assert apart(got[layout.B2 : layout.W1], g["b2"]) < 1e-5
    w1 = g["w1"].permute(2, 3, 1, 0).reshape(-1)
    assert (
        apart(got[layout.W1 : layout.B1], w1) < 1e-2
    )  # x1's gradient is rounded on the way
    assert apart(got[layout.B1 :], g["b1"]) < 1e-2


def test_fc1_and_the_head() -> None:
    x2, w3 = noise(3, 64, 3136).bfloat16(), noise(4, 128, 3136).bfloat16()
    part = floats(64 * 128)
    on = on_device(x2), on_device(w3), part, np.int32(64), np.int32(2)
    jit(linear.fc1)[(1, 1), 256](*on)
    wanted = x2[:, :128].float() @ w3[:, :128].float().T
    assert apart(torch.tensor(part.copy_to_host()).view(64, 128), wanted) < 1e-6

    theta, slices = noise(5, layout.SIZE), 0.02 * noise(6, 7, 8, 128)
    labels = torch.arange(20, dtype=torch.uint8) % 10
    order = torch.randperm(20, generator=torch.Generator().manual_seed(7))
    dh, parts = words(8 * 64), floats(layout.HEAD)
    on = on_device(slices), on_device(theta), on_device(labels)
    on = *on, on_device(order.int()), words(1), dh, parts
    jit(linear.head)[1, 128](*on, np.int32(8), np.int32(1), np.int32(2))
    p = {
        "w4": theta[layout.W4 : layout.B4].view(10, 128),
        "b4": theta[layout.B4 : layout.B3],
        "b3": theta[layout.B3 : layout.LOSS],
    }
    p = {name: value.clone().requires_grad_() for name, value in p.items()}
    before = slices.sum(0).requires_grad_()
    z = F.linear(F.relu(before + p["b3"]), p["w4"], p["b4"])
    right = labels[order[:8]].long()
    loss = F.cross_entropy(z, right)
    loss.backward()
    got = torch.tensor(parts.copy_to_host())
    assert apart(got[:1280].view(10, 128), p["w4"].grad) < 1e-5
    assert apart(got[1280:1290], p["b4"].grad) < 1e-5
    assert apart(got[1290:1418], p["b3"].grad) < 1e-5
    assert abs(got[1418].item() / 8 - loss.item()) < 1e-5
    assert got[1419] == (z.argmax(1) == right).sum()
    assert apart(numbers(dh).view(8, 128), before.grad) < 4e-3


def test_fc1_backwards() -> None:
    @cuda.jit
    def one_of_each(dh, x2, w3, master, following, dx2):  # type: ignore[no-untyped-def]
        pool = cuda.shared.array(12288, int32, alignment=16)
        on = dh, x2, master, following
        linear.weights_tile(pool, int32(50), *on, np.float32(0.25), int32(1))
        cuda.syncthreads()
        linear.data_tiles(pool, int32(0), dh, w3, dx2, int32(1))

    dh, x2 = noise(8, 64, 128).bfloat16(), noise(9, 64, 3136).bfloat16()
    w3 = noise(10, 128, 3136).bfloat16()
    master, following, dx2 = on_device(w3.float()), words(128 * 1568), words(64 * 1568)
    on = on_device(dh), on_device(x2), on_device(w3), master, following, dx2
    one_of_each[1, 128](*on)
    got = torch.tensor(master.copy_to_host()).view(128, 3136)
    wanted = w3.float() - 0.25 * dh.float().T @ x2.float()
    assert apart(got[64:, 64:128], wanted[64:, 64:128]) < 1e-6
    assert torch.equal(got[:64], w3[:64].float())
    copy = numbers(following).view(128, 3136)
    assert torch.equal(copy[64:, 64:128], rounded(got)[64:, 64:128])
    wanted = dh.float() @ w3.float()[:, :64]
    assert apart(numbers(dx2).view(64, 3136)[:, :64], wanted) < 4e-3


def test_the_update() -> None:
    conv, parts = noise(11, 5, layout.CONV), noise(12, 3, layout.HEAD)
    theta = noise(13, layout.SIZE)
    on = [on_device(conv), np.int32(5), on_device(parts), np.int32(3)]
    new, counter, stats = on_device(theta), words(1), floats(2)
    w2 = cuda.to_device(np.zeros(layout.B2, np.int16))
    rest = new, w2, counter, stats, np.float32(0.5), np.int32(2)
    jit(update.update)[update.BLOCKS, 256](*on, *rest)
    gradient = torch.cat([conv.sum(0), parts.sum(0)])[: layout.SIZE]
    got = torch.tensor(new.copy_to_host())
    wanted = theta - 0.5 * gradient
    assert apart(got[: layout.LOSS], wanted[: layout.LOSS]) < 1e-6
    assert torch.equal(got[layout.LOSS :], theta[layout.LOSS :])
    bits = torch.tensor(w2.copy_to_host()).view(torch.bfloat16)
    assert torch.equal(bits, got[: layout.B2].bfloat16())
    assert apart(torch.tensor(stats.copy_to_host()), gradient[layout.LOSS :]) < 1e-5
    assert counter.copy_to_host()[0] == 1
