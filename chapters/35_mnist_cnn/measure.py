"""The measurements of chapter 35: training steps, and the kernels of the fused one.

`training` has those of an epoch, and of what the networks learn.
"""

import functools
import logging
import re

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda

import weft
from weft import bench
from weft.bench import results

from . import digits
from .fused import Fused
from .network import Plain, fresh, network
from .opponents import (
    DEVICE,
    TUNED,
    InNumPy,
    Net,
    as_module,
    best_step,
    eager_step,
    loaded,
    on_device,
)

real, real_labels = digits.packed()


def twice(step):
    """Return a function of two steps."""

    def steps():
        step()
        step()

    return steps


def captured(step):
    """Return the replay of a CUDA graph of two steps."""
    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
        step()
    graph.step = step
    return graph.replay


def mixed_order(count, rows=10_000):
    """Return so many image numbers, each as often as any other."""
    parts = [torch.randperm(rows, device=DEVICE) for _ in range(-(-count // rows))]
    return torch.cat(parts)[:count].int()


def fused_net(data, order, batch, rate=0.02, seed=0, norm=False):
    given = fresh(np.random.default_rng(seed), norm=norm)
    digits_there = data["images"], data["labels"]
    return Fused(given, digits_there, order, batch, rate)


def plain_step(batch, norm):
    """Return a step of the plain kernels, always on the same batch."""
    given = fresh(np.random.default_rng(0), norm=norm)
    net = Plain(given, (batch, 28, 28), norm, rate=0.02)
    data = cuda.to_device(real), cuda.to_device(real_labels)
    order = cuda.to_device(np.arange(batch, dtype=np.int32))

    def step():
        net.load(*data, order, 0)
        net.step()

    return step


def fast_settings():
    torch._logging.set_logs(all=logging.ERROR)  # compiling an optimiser warns
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")


def torch_steps(data, order, batch, norm=False):
    """Return two steps of PyTorch, in four ways: a graph of both, but for the last."""

    def graph(mode):
        return best_step(data, order, batch, norm, mode)

    return {
        "torch, best": graph(TUNED),
        "torch, compiled": graph("default"),
        "torch, bfloat16, graph": graph(None),
        "torch, eager": twice(eager_step(data, batch, norm)),
    }


def steps_of_64():
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(64 * 128)
    in_numpy = InNumPy((real, real_labels), 64)
    plain, fused = plain_step(64, norm=False), fused_net(data, order, 64)
    graph = fused.graph()

    def launches():
        fused.step(0)
        fused.step(1)

    return torch_steps(data, order, 64) | {
        "NumPy": twice(in_numpy.step),
        "plain kernels": twice(plain),
        "plain, one graph": captured(plain),
        "fused": launches,
        "fused, one graph": graph.replay,
    }


def batch_64(guess=None):
    """Take two steps with 64 images each, in nine ways."""
    return bench.compare(
        "2 steps, batch 64",
        steps_of_64,
        baseline="torch, best",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def compared(norm, batch=1024, rate=1.0):
    """Print relative errors of all gradients, of ours and of autocast."""
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    data, order = on_device(real, real_labels), mixed_order(4 * batch)
    given = {
        name: torch.tensor(value, device=DEVICE)
        for name, value in fresh(np.random.default_rng(1), norm=norm).items()
    }
    net = fused_net(data, order, batch, rate, seed=1, norm=norm)
    net.step(0)
    moved = net.parameters()
    rows = order[:batch].long()
    x = loaded(data, rows).permute(0, 2, 3, 1)

    def gradients_of(autocast):
        p = {k: v.clone().requires_grad_() for k, v in given.items()}
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            logits = network(p, x, norm)
        logits = F.log_softmax(logits.float(), 1)
        F.nll_loss(logits, data["labels"][rows].long()).backward()
        zero = {"b1", "b2"} if norm else set()
        return {k: v.grad for k, v in p.items() if k not in zero}

    def averages_of(autocast):
        pupil = Net(norm=True, tutorial=True).to(DEVICE)
        pupil.load_state_dict(as_module(given))
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            pupil(x.permute(0, 3, 1, 2))
        norms = {1: pupil.norm1, 2: pupil.norm2}
        means = {f"mean{k}": each.running_mean for k, each in norms.items()}
        return means | {f"var{k}": n.running_var for k, n in norms.items()}

    exact, cast = gradients_of(False), gradients_of(True)
    found = {k: (given[k] - moved[k]) / rate for k in exact}
    if norm:
        exact |= averages_of(False)
        cast |= averages_of(True)
        found |= net.averages()
    print(f"batch normalisation: {norm}")
    print(f"{'':7}{'fused':>10}{'autocast':>10}")
    errors = {}
    for name, right in exact.items():
        errors[name] = [
            ((each - right).norm() / right.norm()).item()
            for each in (found[name], cast[name])
        ]
        print(f"{name:7}{errors[name][0]:10.1e}{errors[name][1]:10.1e}")
    runs = []
    for _ in range(3):
        net = fused_net(data, order, batch, 0.1, norm=norm)
        graph = net.graph()
        for _ in range(10):
            graph.replay()
        runs.append(net.parameters())
    same = all(torch.equal(run[name], runs[0][name]) for run in runs for name in run)
    print("three times twenty steps give the same bits:", same, "\n")
    return errors, same


def steps_of_1024():
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(1024 * 8)
    fused = fused_net(data, order, 1024)
    return torch_steps(data, order, 1024) | {"fused, one graph": fused.graph().replay}


def batch_1024(guess=None):
    """Take two steps with 1024 images each."""
    return bench.compare(
        "2 steps, batch 1024",
        steps_of_1024,
        baseline="torch, best",
        host=True,
        guess=guess,
    )


def normalised_steps(batch):
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(batch * 8)
    fused = fused_net(data, order, batch, norm=True)
    steps = torch_steps(data, order, batch, norm=True)
    if batch == 64:
        steps["plain, one graph"] = captured(plain_step(64, norm=True))
    return steps | {"fused, one graph": fused.graph().replay}


def normalised_64(guess=None):
    """Take two steps with batch normalisation, with 64 images each."""
    return bench.compare(
        "2 steps, batch 64, batch normalisation",
        functools.partial(normalised_steps, 64),
        baseline="torch, best",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def normalised_1024():
    """Take two steps with batch normalisation, with 1024 images each."""
    return bench.compare(
        "2 steps, batch 1024, batch normalisation",
        functools.partial(normalised_steps, 1024),
        baseline="torch, best",
        host=True,
    )


def noted(case, unit, measure):
    """Print what `measure` finds on a GPU; without one, what is recorded."""
    lab = "35_mnist_cnn"
    if weft.GPU:
        found = {name: float(f"{value:.4g}") for name, value in measure().items()}
        rows = [
            {"case": case, "name": name, "value": value, "unit": unit}
            for name, value in found.items()
        ]
        results.record(lab, rows)
    else:
        recorded = results.of_case(results.reference(lab), case)
        found = {name: row["value"] for name, row in recorded.items()}
        print("There is no GPU here. Recorded on the reference GPU:")
    for name, value in found.items():
        print(f"{name:28}{value:>10,g} {unit}")
    return found


KINDS = {  # of kernels, by their names, the first that fits
    "convolutions": "fprop|dgrad|wgrad|conv2d|convolve|cudnn|triton_tem.*convolution",
    "pooling and its gradient": "max_pool",
    "matrix products": "gemm|nvjet|cutlass|splitk|triton_tem",
    "sums": "triton_red|triton_per|reduce",
    "other generated kernels": "triton",
}


def kind_of(kernel):
    """Return what a kernel does, by its name."""
    fits = (kind for kind, part in KINDS.items() if re.search(part, kernel.lower()))
    return next(fits, "the rest")


def kernel_times(replay):
    """Return the µs of each kernel in a replay, by name."""
    replay()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        replay()
        torch.cuda.synchronize()
    return {event.key: event.self_device_time_total for event in seen.key_averages()}


def torch_kernels(norm=False):
    """Print where the time of PyTorch's best step goes, two steps of 1024 images."""
    case = "2 steps, batch 1024"
    if norm:
        case += ", batch normalisation"

    @functools.cache
    def times():
        fast_settings()
        data, order = on_device(real, real_labels), mixed_order(1024 * 8)
        return kernel_times(best_step(data, order, 1024, norm))

    def by_kind():
        found = dict.fromkeys([*KINDS, "the rest"], 0.0)
        for name, time in times().items():
            found[kind_of(name)] += time
        return found

    def longest():
        found = sorted(times().items(), key=lambda item: -item[1])
        return {name.removeprefix("void ")[:60]: time for name, time in found[:8]}

    kinds = noted(f"torch, best: {case}, by kind", "us", by_kind)
    noted(f"torch, best: {case}, longest kernels", "us", longest)
    return kinds


def kernels_of(batch, norm=False):
    def build():
        data, order = on_device(real, real_labels), mixed_order(batch * 4)
        net = fused_net(data, order, batch, norm=norm)
        return net.launches() | {"all seven" if norm else "all six": net.step}

    return build


def profile_64():
    """Time each kernel of the fused step for 64 images."""
    return bench.compare("kernels, batch 64", kernels_of(64), graph=True)


def profile_1024():
    """Time each kernel of the fused step for 1024 images."""
    return bench.compare("kernels, batch 1024", kernels_of(1024), graph=True)


def normalised_profile_64():
    """Time each kernel of the fused step with batch normalisation, for 64 images."""
    return bench.compare(
        "kernels, batch 64, batch normalisation", kernels_of(64, True), graph=True
    )


def normalised_profile_1024():
    """Time each kernel of the fused step with batch normalisation, for 1024 images."""
    return bench.compare(
        "kernels, batch 1024, batch normalisation",
        kernels_of(1024, True),
        graph=True,
    )
