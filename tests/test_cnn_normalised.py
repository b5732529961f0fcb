"""The kernels of the fused step with batch normalisation, against PyTorch."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_cnn import apart, floats, jit, noise, numbers, on_device, rounded, words

import weft  # noqa: F401  before Numba
from weft.chapters import Chapter

fused = Chapter("35_mnist_cnn").fused
backward, forward, layout = fused.backward, fused.forward, fused.layout
moments, norm_backward = fused.moments, fused.norm_backward
norm_forward, norm_update = fused.norm_forward, fused.norm_update
cuda, int32 = fused.names.cuda, fused.names.int32

COUNT = 3
Arrays = dict[str, Any]


@pytest.fixture(autouse=True)
def _as_much_shared_memory_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("limits", "running.declared"):
        monkeypatch.setattr(f"weft.simulator.{module}.MOST_SHARED", 1 << 18)


@pytest.fixture(scope="module")
def given() -> Arrays:
    """Three images, and parameters whose gammas have both signs."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (COUNT, 28, 28), dtype=np.uint8)
    images[:, :, :9] = 0
    theta = 0.1 * noise(1, layout.NORM_SIZE)
    theta[layout.GAMMA1 :] = 1 + 0.3 * noise(2, 96)
    theta[layout.GAMMA1 : layout.NORM_SIZE : 5] *= -1
    return {"images": images, "theta": theta, "order": np.array([2, 0, 1], np.int32)}


def batch(given: Arrays) -> tuple[Any, ...]:
    data = on_device(given["images"].view(np.int32)), on_device(given["order"])
    return *data, words(1)


def loaded(given: Arrays) -> torch.Tensor:
    images = given["images"][given["order"]].astype(np.float32)
    return rounded(torch.tensor(images) * float(layout.SCALE) + float(layout.SHIFT))[
        :, None
    ]


def parameters(given: Arrays) -> dict[str, torch.Tensor]:
    theta = given["theta"]
    return {
        "w1": rounded(theta[layout.W1 : layout.B1])
        .view(3, 3, 1, 32)
        .permute(3, 2, 0, 1),
        "beta1": theta[layout.B1 : layout.CONV],
        "gamma1": theta[layout.GAMMA1 : layout.GAMMA2],
        "w2": rounded(theta[: layout.B2]).view(64, 3, 3, 32).permute(0, 3, 1, 2),
        "beta2": theta[layout.B2 : layout.W1],
        "gamma2": theta[layout.GAMMA2 :],
    }


@pytest.fixture(scope="module")
def summed(given: Arrays) -> Any:
    """What `moments` writes, two blocks of it."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("limits", "running.declared"):
            patch.setattr(f"weft.simulator.{module}.MOST_SHARED", 1 << 18)
        part = floats(2 * moments.CELLS)
        jit(moments.moments)[2, moments.THREADS](*batch(given), part, np.int32(COUNT))
    return part


def test_moments_are_sums_over_patches(given: Arrays, summed: Any) -> None:
    x = loaded(given).double()
    patches = F.unfold(x, 3, padding=1).permute(0, 2, 1).reshape(-1, 9)
    rows = torch.cat([patches, torch.ones(len(patches), 1).double()], 1)
    whole = rows.T @ rows
    got = torch.tensor(summed.copy_to_host()).view(2, -1).sum(0)
    for high in range(10):
        for low in range(high + 1):
            cell = high * (high + 1) // 2 + low
            assert abs(got[cell] - whole[low, high]) < 1e-5 * whole.abs().max()
    assert got[54] == COUNT * 784


@pytest.fixture(scope="module")
def convolved(given: Arrays, summed: Any) -> Arrays:
    """What `forward` writes, in two blocks."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("limits", "running.declared"):
            patch.setattr(f"weft.simulator.{module}.MOST_SHARED", 1 << 18)
        state, running = floats(layout.STATE), on_device(torch.ones(layout.RUNNING))
        arrays = {
            "x1": words(COUNT * 3136),
            "win1": words(COUNT * 784),
            "y2": words(COUNT * 6272),
            "pooled": words(COUNT * 1568),
            "win2": words(COUNT * 392),
            "part": floats(2 * norm_forward.SUMS),
        }
        theta = given["theta"]
        on = *batch(given), on_device(theta), on_device(theta[: layout.B2].bfloat16())
        on = *on, summed, np.int32(2), state, running, *arrays.values()
        launch = 2, forward.THREADS, 0, forward.SHARED
        jit(norm_forward.forward)[launch](*on, np.int32(COUNT))
    return arrays | {"state": state, "running": running}


def test_forward_normalises_and_pools(given: Arrays, convolved: Arrays) -> None:
    p = parameters(given)
    y = F.conv2d(loaded(given), p["w1"], padding=1)
    running = torch.ones(32), torch.ones(32)
    y = F.batch_norm(y, *running, p["gamma1"], p["beta1"], True, 0.1, float(layout.EPS))
    x1 = F.relu(F.max_pool2d(y, 2)).permute(0, 2, 3, 1)
    got = numbers(convolved["x1"]).view(COUNT, 14, 14, 32)
    assert apart(got, x1) < 4e-3
    kept = torch.tensor(convolved["running"].copy_to_host())
    assert apart(kept[layout.RUN_MEAN1 : layout.RUN_VAR1], running[0]) < 1e-5
    assert apart(kept[layout.RUN_VAR1 : layout.RUN_MEAN2], running[1]) < 1e-5

    y = F.conv2d(got.permute(0, 3, 1, 2), p["w2"], padding=1)
    windows = y.view(COUNT, 64, 7, 2, 7, 2).permute(0, 2, 4, 3, 5, 1)
    windows = windows.reshape(COUNT, 49, 4, 64)
    y2 = numbers(convolved["y2"]).view(COUNT, 49, 4, 64)
    assert apart(y2, windows) < 4e-3
    signed = windows * p["gamma2"].sign()
    most, winner = signed.max(2)
    pooled = numbers(convolved["pooled"]).view(COUNT, 49, 64)
    assert apart(pooled, most * p["gamma2"].sign()) < 4e-3
    nibbles = torch.tensor(convolved["win2"].copy_to_host()).view(COUNT, 49, 8, 1)
    nibbles = (nibbles >> (4 * torch.arange(8))) & 15
    assert (nibbles.view(COUNT, 49, 64) == winner).float().mean() > 0.999
    sums = torch.tensor(convolved["part"].copy_to_host()).view(2, 2, 64).sum(0)
    assert apart(sums[0], windows.sum((0, 1, 2))) < 1e-4
    assert apart(sums[1], (windows**2).sum((0, 1, 2))) < 1e-5


def test_fc1_normalises_what_it_loads(given: Arrays) -> None:
    theta = given["theta"]
    pooled = noise(3, 64, 3136).bfloat16()
    w3 = noise(4, 128, 3136).bfloat16()
    y = noise(5, 64 * 196, 64) * 2 + 0.5  # what the statistics are of
    sums2 = (
        torch.cat([y[:6000], y[:6000] ** 2], 1).sum(0),
        torch.cat([y[6000:], y[6000:] ** 2], 1).sum(0),
    )
    part, x2 = floats(64 * 128), words(64 * 1568)
    state, running = floats(layout.STATE), on_device(torch.ones(layout.RUNNING))
    on = on_device(pooled), on_device(torch.cat(sums2)), np.int32(2), on_device(theta)
    on = *on, state, running, x2, on_device(w3), part, np.int32(64), np.int32(2)
    jit(norm_forward.fc1)[(1, 1), 256, 0, norm_forward.SHARED_FC1](*on)

    mean, variance = y.mean(0), y.var(0, unbiased=False)
    over = 1 / (variance + layout.EPS).sqrt()
    p = parameters(given)
    scale = (p["gamma2"] * over).repeat(49)
    shift = (p["beta2"] - mean * p["gamma2"] * over).repeat(49)
    wanted = F.relu(pooled.float() * scale + shift)[:, :128]
    got = numbers(x2).view(64, 3136)
    assert apart(got[:, :128], wanted) < 4e-3
    assert not got[:, 128:].any()
    wanted = got[:, :128] @ w3[:, :128].float().T
    assert apart(torch.tensor(part.copy_to_host()).view(64, 128), wanted) < 1e-6
    left = torch.tensor(state.copy_to_host())
    assert apart(left[layout.MEAN2 : layout.OVER2], mean) < 1e-5
    assert apart(left[layout.OVER2 : layout.OVER2 + 64], over) < 1e-5
    kept = torch.tensor(running.copy_to_host())
    assert apart(kept[layout.RUN_MEAN2 : layout.RUN_VAR2], 0.9 + 0.1 * mean) < 1e-5
    assert apart(kept[layout.RUN_VAR2 :], 0.9 + 0.1 * y.var(0)) < 1e-5


def test_fc1_backward_passes_relu_and_adds_up(given: Arrays) -> None:
    @jit
    def tiles(dh, w3, pooled, theta, state, dx2, part):  # type: ignore[no-untyped-def]
        pool = cuda.shared.array(12288, int32, alignment=16)
        on = dh, w3, pooled, theta, state, dx2, part, int32(1)
        norm_backward.data_tiles(pool, int32(0), *on)

    theta, p = given["theta"], parameters(given)
    dh, w3 = noise(6, 64, 128).bfloat16(), noise(7, 128, 3136).bfloat16()
    pooled = noise(8, 64, 3136).bfloat16()
    mean, over = 0.3 * noise(9, 64), 0.5 + noise(10, 64) ** 2
    state = torch.zeros(layout.STATE)
    state[layout.MEAN2 : layout.OVER2], state[layout.OVER2 : layout.OVER2 + 64] = (
        mean,
        over,
    )
    dx2, part = words(64 * 1568), floats(128)
    on = on_device(dh), on_device(w3), on_device(pooled), on_device(theta)
    tiles[1, 128](*on, on_device(state), dx2, part)
    y = pooled[:, :64].float()
    alive = (y - mean) * over * p["gamma2"] + p["beta2"] > 0
    wanted = torch.where(alive, dh.float() @ w3[:, :64].float(), 0)
    got = numbers(dx2).view(64, 3136)
    assert apart(got[:, :64], wanted) < 4e-3
    assert ((got[:, :64] != 0) == alive).all()
    assert not got[:, 64:].any()
    sums = torch.tensor(part.copy_to_host()).view(2, 64)
    assert apart(sums[0], got[:, :64].sum(0)) < 1e-5
    assert apart(sums[1], (got[:, :64] * y).sum(0)) < 1e-5


def network(given: Arrays, x1: torch.Tensor) -> tuple[dict[str, Any], torch.Tensor]:
    """The layers in PyTorch, the first one's result rounded to x1."""
    p = {
        name: value.clone().requires_grad_()
        for name, value in parameters(given).items()
    }
    h = loaded(given)
    for k in "12":
        h = F.conv2d(h, p[f"w{k}"], padding=1)
        h = F.batch_norm(
            h, None, None, p[f"gamma{k}"], p[f"beta{k}"], True, 0.1, float(layout.EPS)
        )
        h = F.relu(F.max_pool2d(h, 2))
        if k == "1":
            h = h + (x1.permute(0, 3, 1, 2) - h).detach()
    return p, h.permute(0, 2, 3, 1).reshape(COUNT, 49, 64)


@pytest.mark.long
def test_backward_and_update(given: Arrays, convolved: Arrays) -> None:
    theta = given["theta"]
    x1 = numbers(convolved["x1"]).view(COUNT, 14, 14, 32)
    p, x2 = network(given, x1)
    y = numbers(convolved["y2"]).view(-1, 64)
    mean, over = y.mean(0), 1 / (y.var(0, unbiased=False) + layout.EPS).sqrt()
    state = torch.tensor(convolved["state"].copy_to_host())
    state[layout.MEAN2 : layout.OVER2], state[layout.OVER2 : layout.OVER2 + 64] = (
        mean,
        over,
    )

    given_gradient = noise(11, COUNT, 49, 64)
    dz = torch.where(x2 > 0, given_gradient, 0).bfloat16()
    pooled = numbers(convolved["pooled"]).view(COUNT, 49, 64)
    one = dz[:1].float(), pooled[:1]
    rest = dz[1:].float(), pooled[1:]
    sums2 = [torch.stack([d.sum((0, 1)), (d * y).sum((0, 1))]) for d, y in (one, rest)]
    state, part = on_device(state), floats(2 * layout.CONV)
    on = (
        *batch(given),
        on_device(theta[: layout.B2].bfloat16()),
        on_device(theta),
        state,
    )
    on = *on, on_device(torch.stack(sums2)), np.int32(2)
    on = *on, convolved["x1"], convolved["win1"], convolved["y2"], on_device(dz)
    launch = 2, backward.THREADS, 0, backward.SHARED
    kernel = jit(norm_backward.backward)[launch]
    kernel(*on, convolved["win2"], part, np.int32(COUNT))

    x2.backward(dz.float())
    g = {name: value.grad for name, value in p.items()}
    left = torch.tensor(state.copy_to_host())
    assert apart(left[layout.DGAMMA2 : layout.DBETA2], g["gamma2"]) < 1e-2
    assert apart(left[layout.DBETA2 :], g["beta2"]) < 1e-2
    parts = torch.tensor(part.copy_to_host()).view(2, layout.CONV)
    got = parts[:, : layout.B2].sum(0).view(64, 3, 3, 32)
    assert apart(got, g["w2"].permute(0, 2, 3, 1)) < 1e-2

    new = on_device(theta)
    w2 = cuda.to_device(np.zeros(layout.B2, np.int16))
    on = on_device(parts), np.int32(2), floats(layout.HEAD), np.int32(1), new, state
    on = *on, w2, words(1), floats(2), np.float32(0.5), np.int32(2)
    jit(norm_update.update)[norm_update.BLOCKS, 256](*on)
    moved = (theta - torch.tensor(new.copy_to_host())) / 0.5
    assert (
        apart(moved[: layout.B2].view(64, 3, 3, 32), g["w2"].permute(0, 2, 3, 1)) < 1e-2
    )
    assert apart(moved[layout.B2 : layout.W1], g["beta2"]) < 1e-2
    assert apart(moved[layout.GAMMA2 :], g["gamma2"]) < 1e-2
    assert (
        apart(
            moved[layout.W1 : layout.B1].view(3, 3, 32), g["w1"][:, 0].permute(1, 2, 0)
        )
        < 2e-2
    )
    assert apart(moved[layout.B1 : layout.CONV], g["beta1"]) < 1e-2
    assert apart(moved[layout.GAMMA1 : layout.GAMMA2], g["gamma1"]) < 1e-2
    assert not moved[layout.CONV : layout.GAMMA1].any()
