"""Whether the networks' gradients are right: they are compared with others."""

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda

from . import digits, learner
from .network import Plain, fresh, network

tiny_images, tiny_labels = digits.generated(32, seed=1, side=8)
tiny = {
    name: cuda.to_device(array)
    for name, array in {
        "data": tiny_images,
        "labels": tiny_labels,
        "order": np.arange(32, dtype=np.int32),
    }.items()
}


def errors_of(norm, batch=3):
    """Return how far gradients of the kernels are from two others, by parameter."""
    rng = np.random.default_rng(7)
    given = fresh(rng, side=8, c1=2, c2=3, hidden=5, norm=norm)
    net = Plain(given, (batch, 8, 8), norm, slices=2)
    net.load(*tiny.values(), 0)
    net.forward()
    net.backward()
    x = torch.tensor(net.x.copy_to_host().astype(np.float64))
    labels = torch.tensor(tiny_labels[:batch].astype(np.int64))
    exact = {
        name: torch.tensor(value.astype(np.float64), requires_grad=True)
        for name, value in given.items()
    }

    def loss_of():
        logits = network(exact, x, norm)
        return F.nll_loss(F.log_softmax(logits, 1), labels)

    loss_of().backward()
    worst = {}
    for name, parameter in exact.items():
        mine = net.g[name].copy_to_host().ravel()
        size = max(parameter.grad.norm().item() / mine.size**0.5, 1e-3)
        theirs = np.abs(mine - parameter.grad.numpy().ravel()).max()
        cells, eps = rng.integers(0, mine.size, 10), 1e-6
        differences = []
        flat = parameter.data.view(-1)
        for cell in cells:
            at = flat[cell].item()
            around = []
            for value in (at + eps, at - eps):
                flat[cell] = value
                with torch.no_grad():
                    around.append(loss_of().item())
            flat[cell] = at
            differences.append((around[0] - around[1]) / (2 * eps))
        off = np.abs(mine[cells] - differences).max()
        worst[name] = theirs / size, off / size
    return worst


def print_errors():
    """Print errors of the plain kernels' gradients; return those with norms."""
    learner.report_stubs()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several would only wait for each other
    plain, normed = errors_of(norm=False), errors_of(norm=True)
    torch.set_num_threads(threads)
    heads = f"{'PyTorch':>15}{'differences':>15}"
    print(f"\n{'':6}{'without normalisation':>30}{'with normalisation':>30}")
    print(f"{'':6}{heads}{heads}")
    for name, pair in normed.items():
        numbers = "".join(f"{off:15.0e}" for off in (*plain.get(name, ()), *pair))
        print(f"{name:6}{numbers:>60}")
    return normed


def by_heart(steps=6):
    """Train a small network on four digits; return the losses."""
    learner.report_stubs()
    rng = np.random.default_rng(2)
    given = fresh(rng, side=8, c1=4, c2=6, hidden=16)
    pupil = Plain(given, (4, 8, 8), norm=True, rate=0.2, slices=2)
    losses = []
    for _ in range(steps):
        pupil.load(*tiny.values(), 0)
        pupil.step()
        losses.append(float(pupil.loss.copy_to_host().mean()))
    return losses
