"""Steps with kernels of the learner's: from plain ones to those in the fused step."""

import numpy as np
import torch
from numba import cuda

from weft import bench

from . import learner
from .fused import Fused
from .measure import captured, fast_settings, mixed_order, real, real_labels, twice
from .network import Plain, fresh
from .opponents import DEVICE, best_step, eager_step, on_device

BATCH = 64


def plain_rung(**options):
    """Return a CUDA graph of two steps of the plain kernels, see `Plain`."""
    given = fresh(np.random.default_rng(0), norm=False)
    net = Plain(given, (BATCH, 28, 28), norm=False, rate=0.02, **options)
    data = cuda.to_device(real), cuda.to_device(real_labels)
    order = cuda.to_device(np.arange(BATCH, dtype=np.int32))

    def step():
        net.load(*data, order, 0)
        net.step()

    return captured(step)


def fused_rung(data, order, *names):
    """Return a CUDA graph of two fused steps with these kernels of the learner's."""
    given = fresh(np.random.default_rng(0), norm=False)
    digits = data["images"], data["labels"]
    kernels = {name: learner.in_use[name] for name in names}
    return Fused(given, digits, order, BATCH, 0.02, kernels).graph().replay


def rungs():
    learner.report_stubs()
    fast_settings()
    data, order = on_device(real, real_labels), mixed_order(BATCH * 128)
    return {
        "torch, best": best_step(data, order, BATCH),
        "torch, eager": twice(eager_step(data, BATCH)),
        "plain": plain_rung(),
        "plain, your split": plain_rung(slices=BATCH),
        "plain, your split, conv_pool": plain_rung(slices=BATCH, tensor=True),
        "fused, your head": fused_rung(data, order, "head"),
        "fused, your head, update": fused_rung(data, order, "head", "update"),
        "fused, your head, update, conv_pool": fused_rung(
            data, order, "head", "update", "conv_pool"
        ),
        "fused, all given": fused_rung(data, order),
    }


def whose_kernels(guess=None):
    """Take two steps with 64 images each, with ever more kernels of the learner's."""
    return bench.compare(
        "2 steps, batch 64, whose kernels",
        rungs,
        baseline="torch, best",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def trained(kernels, data, order, steps):
    """Return the parameters after so many fused steps with these kernels."""
    digits = data["images"], data["labels"]
    given = fresh(np.random.default_rng(0), norm=False)
    net = Fused(given, digits, order, BATCH, 0.02, kernels)
    graph = net.graph()
    for _ in range(steps // 2):
        graph.replay()
    return net.parameters()


def differences():
    """Print how much two steps with the learner's kernels differ from the given step.

    Returns the differences by parameter, relative to what the steps have changed, and
    whether twenty steps give the same bits twice.
    """
    learner.report_stubs()
    data, order = on_device(real, real_labels), mixed_order(BATCH * 128)
    own = {name: learner.in_use[name] for name in ("head", "update", "conv_pool")}
    mine, theirs = (trained(kernels, data, order, 2) for kernels in (own, {}))
    found = {}
    for name, value in fresh(np.random.default_rng(0), norm=False).items():
        moved = theirs[name] - torch.as_tensor(value, device=DEVICE)
        apart = (mine[name] - theirs[name]).norm() / moved.norm()
        found[name] = apart.item()
        print(f"{name:4}{found[name]:10.1e}")
    once, again = (trained(own, data, order, 20) for _ in range(2))
    same = all(torch.equal(once[name], again[name]) for name in once)
    print("twenty steps give the same bits twice:", same)
    return found, same
