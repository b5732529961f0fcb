"""The measurements of chapter 31."""

import contextlib
import io
import logging
import warnings

import numpy as np
import torch
from numba import cuda
from torch.nn import functional

import weft
from weft import bench
from weft.bench import results

from .engine import (
    SUMS,
    Tensor,
    add,
    cross_entropy,
    matmul,
    ready,
    relu,
    sum_by_threads,
    sum_by_warps,
)
from .kernels import TILE, launch, nothing_kernel
from .training import digits, my_loss, my_step, parameters, torch_loss

TUNED = "max-autotune-no-cudagraphs"  # the step is captured in a graph of ours


def graphed(step):
    """Return a function that replays one captured step."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    reports = contextlib.redirect_stderr(io.StringIO())  # of what was tuned
    with torch.cuda.stream(side), reports:  # compiles, allocates before the capture
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def torch_training(batch, start, mode=None):
    """Return a training step as most people write it.

    mode: of `torch.compile`, for the loss and the optimiser; None for not compiled.
    """
    leaves = [p.clone().requires_grad_() for p in start]
    optimiser = torch.optim.SGD(leaves, lr=0.01)
    loss_of, update = torch_loss, optimiser.step
    if mode is not None:
        loss_of = torch.compile(loss_of, dynamic=False, mode=mode)
        update = torch.compile(update, dynamic=False, mode=mode)

    def step():
        optimiser.zero_grad()
        loss_of(*batch, *leaves).backward()
        update()

    return step


def my_training(batch, start):
    """Return a training step with our engine."""
    leaves = [Tensor(p.clone(), needs=True) for p in start]
    return lambda: my_step(my_loss, batch, leaves, 0.01)


def my_graphs(batch, start):
    """Return the engine's step in a graph, with either kernel for sums."""
    rows = {"mine, graph": graphed(my_training(batch, start))}
    SUMS["way"] = sum_by_warps
    rows["mine, graph, warps"] = graphed(my_training(batch, start))
    SUMS["way"] = sum_by_threads
    return rows


def nineteen_launches(x):
    """Return launches of an empty kernel, in three ways."""
    array = cuda.as_cuda_array(x)

    def launches(argument):
        for _ in range(19):
            launch(nothing_kernel, (128, 256), argument, argument, argument)

    def bare():
        for _ in range(19):
            nothing_kernel[(16, 8), (TILE, TILE)](array, array, array)

    return {
        "19 launches, tensors": lambda: launches(x),
        "19 launches, arrays": lambda: launches(array),
        "19 launches, bare": bare,
    }


def training_steps(count, hidden, compiled):
    """Return what builds the candidates for one size."""

    def build():
        images, labels = digits(np.random.default_rng(0), count, 28)
        batch = [torch.tensor(v, device="cuda") for v in (images, labels)]
        start = parameters(28 * 28, hidden, 10)
        rows = {"PyTorch": torch_training(batch, start)}
        mine = ready()
        if mine:
            rows["mine"] = my_training(batch, start)
        if compiled:
            rows |= nineteen_launches(batch[0])
        rows["PyTorch, graph"] = graphed(torch_training(batch, start))
        if compiled:
            warnings.filterwarnings("ignore", "TensorFloat32 tensor cores")
            torch._logging.set_logs(all=logging.ERROR)  # compiling an optimiser warns
            names = {"torch.compile, graph": "default", "autotuned, graph": TUNED}
            for name, mode in names.items():
                rows[name] = graphed(torch_training(batch, start, mode))
        if mine:
            rows |= my_graphs(batch, start)
        return rows

    return build


def small(guess=None):
    """Take training steps of a small network: mostly launches."""
    return bench.compare(
        "a step: batch 128, 256 hidden units",
        training_steps(128, 256, compiled=True),
        baseline="PyTorch",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def large(guess=None):
    """Take training steps of a large network: mostly kernels."""
    return bench.compare(
        "a step: batch 4096, 2048 hidden units",
        training_steps(4096, 2048, compiled=False),
        baseline="PyTorch",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def my_outputs(x, target, w1, b1, w2, b2):
    """Return the loss of the network, and all outputs before it."""
    product = matmul(Tensor(x), w1)
    shifted = add(product, b1)
    hidden = relu(shifted)
    loss = cross_entropy(add(matmul(hidden, w2), b2), target)
    return product, shifted, hidden, loss


KEPT_CASE = "kept for backward: batch 4096, 2048 hidden units"


def kept_bytes():
    """Return the megabytes that a forward pass leaves alive, per network."""
    images, labels = digits(np.random.default_rng(0), 4096, 28)
    x, target = (torch.tensor(v, device="cuda") for v in (images, labels))
    start = parameters(28 * 28, 2048, 10)
    leaves = [p.clone().requires_grad_() for p in start]

    def forward(activation):
        w1, b1, w2, b2 = leaves
        scores = activation(x @ w1 + b1) @ w2 + b2
        return functional.cross_entropy(scores, target)

    def without_gradients():
        with torch.no_grad():
            return forward(torch.relu)

    networks = {
        "PyTorch, no_grad": without_gradients,
        "PyTorch, ReLU": lambda: forward(torch.relu),
        "PyTorch, GELU": lambda: forward(functional.gelu),
    }
    if ready():
        mine = [Tensor(p, needs=True) for p in start]
        networks["mine, ReLU"] = lambda: my_loss(x, target, *mine)
        networks["mine, all outputs"] = lambda: my_outputs(x, target, *mine)
    found = {}
    for name, network in networks.items():
        network()  # libraries allocate their workspaces
        before = torch.cuda.memory_allocated()
        loss = network()
        found[name] = (torch.cuda.memory_allocated() - before) / 1e6
        del loss
    return found


def kept():
    """Print, record and return what each network keeps for its backward pass, in MB."""
    if weft.GPU:
        kept = kept_bytes()
        rows = [
            {"case": KEPT_CASE, "name": name, "value": round(size, 1), "unit": "MB"}
            for name, size in kept.items()
        ]
        results.record("31_autograd", rows)
    else:
        recorded = results.of_case(results.reference("31_autograd"), KEPT_CASE)
        kept = {name: row["value"] for name, row in recorded.items()}
        print("No GPU here. On the reference GPU:" if kept else "Not measured yet.")
    for name, size in kept.items():
        print(f"{name:18} {size:6.1f} MB")
    return kept
