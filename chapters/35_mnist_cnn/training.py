"""An epoch from beginning to end, and what the networks learn: measured on a GPU.

Without a GPU, the functions print what the reference GPU has recorded.
"""

import functools
import math
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda

from .measure import fast_settings, fused_net, mixed_order, noted, real, real_labels
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
    net = Net(norm, tutorial=True).to(DEVICE)
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
    steps = 60_000 // 64 // 4 * 4  # 936, in graphs of four: the last are left out
    order = mixed_order(64 * steps)
    best = best_step(data, order, 64, norm, steps=4)
    net = fused_net(data, order, 64, norm=norm)
    graph = net.graph(4)

    def best_epoch():
        shuffled_into(order)
        for _ in range(steps // 4):
            best()

    def fused_epoch():
        shuffled_into(order)
        net.counter.zero_()
        for _ in range(steps // 4):
            graph.replay()

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


SEEDS = 30
STUDENT = 2.045  # 97.5th percentile of Student's t, 29 degrees of freedom


def taught(norm, seeds=SEEDS):
    """Return test accuracies, and the difference of the two programs, in %.

    Each seed is tested on a tenth of the digits, three seeds on each, and trains on the
    others; both programs begin with the same weights. half: of the 95 % confidence
    interval of the difference, from the pairs. With norms, also the fused networks'
    mean if the running means lack the biases that the tested network adds.
    """
    fast_settings()
    data = on_device(real, real_labels)
    numbers = torch.arange(10_000, device=DEVICE)
    found = {"fused": [], "torch": []} | (
        {"averages without biases": []} if norm else {}
    )
    for seed in range(seeds):
        tests, train = numbers[seed % 10 :: 10], numbers[numbers % 10 != seed % 10]
        order = train[: len(train) // 64 * 64].int()
        pupil = fused_pupil(data, order, train, seed, norm)
        parameters, averages = pupil.parameters(), pupil.averages() if norm else None
        found["fused"].append(tested(data, tests, parameters, averages))
        if norm:
            off = {
                f"mean{k}": averages[f"mean{k}"] - parameters[f"b{k}"] for k in (1, 2)
            }
            wrong = tested(data, tests, parameters, averages | off)
            found["averages without biases"].append(wrong)
        theirs = torch_pupil(data, order, train, seed, norm)
        found["torch"].append(right(theirs, data, tests))
    apart = [a - b for a, b in zip(found["fused"], found["torch"], strict=True)]
    half = STUDENT * statistics.stdev(apart) / math.sqrt(seeds)
    rows = {f"{name}, mean": statistics.mean(each) for name, each in found.items()}
    for name in ("fused", "torch"):
        rows[f"{name}, deviation"] = statistics.stdev(found[name])
    return rows | {"difference, mean": statistics.mean(apart), "difference, half": half}


def shuffled(order, train):
    """Fill `order` with images of `train` in a new order."""
    order.copy_(train[torch.randperm(len(train), device=DEVICE)][: len(order)])


def fused_pupil(data, order, train, seed, norm, epochs=5):
    """Train the fused step, and return it."""
    torch.manual_seed(seed)
    net = fused_net(data, order, 64, rate=0.1, seed=seed, norm=norm)
    graph = net.graph(len(order) // 64)
    for _ in range(epochs):
        shuffled(order, train)
        graph.replay()
    return net


def torch_pupil(data, order, train, seed, norm, epochs=5):
    """Train PyTorch's step from the same weights, not compiled; return the network."""
    initial = as_module(fresh(np.random.default_rng(seed), norm=norm), tutorial=False)
    net, steps = Net(norm), len(order) // 64
    step = best_step(data, order, 64, norm, mode=None, net=net, rate=0.1)
    with torch.no_grad():  # the steps before the capture are undone
        for name, value in net.state_dict().items():
            value.copy_(initial[name])
    torch.manual_seed(seed)
    for _ in range(epochs):
        shuffled(order, train)
        for _ in range(steps // 2):
            step()
    return net


def tested(data, tests, parameters, averages):
    """Return the accuracy of a network with these parameters, in %."""
    net = Net("gamma1" in parameters, tutorial=True).to(DEVICE)
    net.load_state_dict(as_module(parameters, averages))
    return right(net, data, tests)


def right(net, data, tests):
    """Return the accuracy of a network on images `tests`, in %."""
    net.eval()
    with torch.no_grad():
        found = net(loaded(data, tests)).argmax(1)
    return 100 * (found == data["labels"][tests]).float().mean().item()


def accuracy():
    """Train the fused step and PyTorch to the end, for thirty seeds each."""
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
