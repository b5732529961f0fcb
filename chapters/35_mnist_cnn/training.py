"""An epoch from beginning to end, and what the networks learn: measured on a GPU.

Without a GPU, the functions print what the reference GPU has recorded.
"""

import functools
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda

import weft
from weft.bench import results

from .measure import fast_settings, fused_net, mixed_order, real, real_labels
from .network import Plain, fresh, network
from .opponents import DEVICE, Net, as_module, best_step, loaded, on_device


class Digits(torch.utils.data.Dataset):
    """Images as a tutorial has them: one at a time, converted on the way."""

    def __len__(self):
        return 60_000

    def __getitem__(self, k):
        image = torch.tensor(real[k % 10_000]).unsqueeze(0).float() / 255
        return (image - 0.1307) / 0.3081, int(real_labels[k % 10_000])


def tutorial_epoch(norm):
    net = Net(norm).to(DEVICE)
    optimiser = torch.optim.SGD(net.parameters(), 0.02)
    loader = torch.utils.data.DataLoader(
        Digits(), 64, shuffle=True, num_workers=1, pin_memory=True
    )
    for images, labels in loader:
        images, labels = images.to(DEVICE), labels.to(DEVICE)
        optimiser.zero_grad()
        loss = F.nll_loss(net(images), labels)
        loss.backward()
        optimiser.step()


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


def clocked(epoch, times=3):
    """Return the median time of an epoch, in ms."""
    found = []
    for _ in range(times):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        epoch()
        torch.cuda.synchronize()
        found.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(found)


def shuffled_into(order):
    mixed = torch.randperm(60_000, device=DEVICE)[: len(order)]
    order.copy_(mixed.remainder_(10_000))


def epochs_of(norm):
    """Return the times of three ways to train for an epoch."""
    data = on_device(real, real_labels)
    steps = 60_000 // 64  # 937, the last images are left out
    order = mixed_order(64 * steps)
    best = best_step(data, order, 64, norm)
    net = fused_net(data, order, 64, norm=norm)
    graph = net.graph(4)

    def best_epoch():
        shuffled_into(order)
        for _ in range(steps):
            best()

    def fused_epoch():
        shuffled_into(order)
        net.counter.zero_()
        for _ in range(steps // 4):
            graph.replay()
        net.step(0)  # the 937th

    fused_epoch()
    return {
        "torch, tutorial": clocked(lambda: tutorial_epoch(norm), 1),
        "torch, best": clocked(best_epoch),
        "fused": clocked(fused_epoch),
    }


def epochs():
    fast_settings()
    found = epochs_of(norm=False)
    with_norms = epochs_of(norm=True)
    return found | {f"{k}, with norms": v for k, v in with_norms.items()}


def epoch():
    """Train for an epoch of 60,000 images, in six ways; return the times in ms."""
    return noted("epoch of 60,000 images, batch 64", "ms", epochs)


def taught(norm):
    """Return test accuracies: means and standard deviations over ten seeds."""
    fast_settings()
    data = on_device(real, real_labels)
    tests = torch.arange(0, 10_000, 10, device=DEVICE)
    numbers = torch.arange(10_000, device=DEVICE)
    train = numbers[numbers % 10 != 0]
    steps = len(train) // 64
    order = train[: 64 * steps].int()

    def again():
        order.copy_(train[torch.randperm(len(train), device=DEVICE)][: len(order)])

    def right(net):
        net.eval()
        with torch.no_grad():
            found = net(loaded(data, tests)).argmax(1)
        return 100 * (found == data["labels"][tests]).float().mean().item()

    def fused(seed):
        torch.manual_seed(seed)
        net = fused_net(data, order, 64, rate=0.1, seed=seed, norm=norm)
        graph = net.graph(steps)
        for _ in range(5):
            again()
            graph.replay()
        trained = Net(norm).to(DEVICE)
        averages = net.averages() if norm else None
        trained.load_state_dict(as_module(net.parameters(), averages))
        return right(trained)

    def theirs(seed):
        given = fresh(np.random.default_rng(seed), norm=norm)
        initial = as_module(given)
        net = Net(norm)
        step = best_step(data, order, 64, compiled=False, net=net, rate=0.1)
        with torch.no_grad():  # the steps before the capture are undone
            for name, value in net.state_dict().items():
                value.copy_(initial[name])
        torch.manual_seed(seed)
        for _ in range(5):
            again()
            for _ in range(steps):
                step()
        return right(net)

    found = {}
    for name, teach in {"fused": fused, "torch": theirs}.items():
        accuracies = [teach(seed) for seed in range(10)]
        found[f"{name}, mean"] = statistics.mean(accuracies)
        found[f"{name}, deviation"] = statistics.stdev(accuracies)
    return found


def accuracy():
    """Train the fused step and PyTorch to the end, for ten seeds each."""
    return noted("accuracy after 5 epochs", "%", functools.partial(taught, norm=False))


def normalised_accuracy():
    """Do the same with batch normalisation."""
    return noted(
        "accuracy after 5 epochs, batch normalisation",
        "%",
        functools.partial(taught, norm=True),
    )


def plainly_taught():
    train = np.flatnonzero(np.arange(10_000) % 10)
    rng = np.random.default_rng(0)
    given = fresh(rng, norm=True)
    net = Plain(given, (64, 28, 28), norm=True, rate=0.1)
    data = cuda.to_device(real), cuda.to_device(real_labels)
    for _ in range(2):
        order = cuda.to_device(rng.permutation(train).astype(np.int32))
        for step in range(len(train) // 64):
            net.load(*data, order, 64 * step)
            net.step()
    trained = {
        name: torch.tensor(value.copy_to_host(), device=DEVICE)
        for name, value in net.p.items()
    }
    tests = np.concatenate([np.arange(0, 10_000, 10), train[:1024]])
    rows = torch.tensor(tests, device=DEVICE)
    x = loaded(on_device(real, real_labels), rows).permute(0, 2, 3, 1)
    found = network(trained, x, True)[:1000].argmax(1).cpu().numpy()
    return {"plain": 100 * (found == real_labels[tests[:1000]]).mean()}


def plain_accuracy():
    """Train the plain kernels for two epochs."""
    return noted("accuracy after 2 epochs", "%", plainly_taught)
