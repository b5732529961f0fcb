"""The training script of exercise 7: as given, half fixed, and at its best."""

import functools

import torch
import torch.nn.functional as F
from torch import nn

from .checks import LONGEST, MOMENTUM, RATE, channel_constants
from .models import BF16, CHANNELS_LAST, DEVICE, Net


def as_given(model, batches, mean, std, device):
    mean, std = mean.cpu(), std.cpu()
    parameters = list(model.parameters())
    optimiser = torch.optim.SGD(parameters, RATE, MOMENTUM)
    losses = []
    for images, labels, flips in batches:
        images = (images.float() / 255 - mean) / std
        for k in range(len(images)):
            if flips[k]:
                images[k] = images[k].flip(-1)
        images, labels = images.to(device), labels.to(device)
        optimiser.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        total = 0.0
        for parameter in parameters:
            total += parameter.grad.norm().item() ** 2
        if total**0.5 > LONGEST:
            for parameter in parameters:
                parameter.grad.mul_(LONGEST / total**0.5)
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def best_known(model, mean, std, device):
    """Return a function that trains on batches."""
    weights = list(model.to(memory_format=CHANNELS_LAST).parameters())
    sgd = torch.optim.SGD(weights, RATE, MOMENTUM, fused=True)
    side = torch.cuda.Stream()

    @torch.compile(fullgraph=True)
    def loss_of(images, labels, flips):
        x = (images.float() / 255 - mean) / std
        x = torch.where(flips.view(-1, 1, 1, 1), x.flip(-1), x)
        with torch.autocast("cuda", BF16):
            x = x.to(BF16, memory_format=CHANNELS_LAST)
            return F.cross_entropy(model(x), labels)

    def fetched(batch):
        with torch.cuda.stream(side):
            return [part.to(device, non_blocking=True) for part in batch]

    def run(batches):
        found, near = [], fetched(batches[0])
        for following in (*batches[1:], None):
            torch.cuda.current_stream().wait_stream(side)
            for part in near:
                part.record_stream(torch.cuda.current_stream())
            loss = loss_of(*near)
            near = fetched(following) if following else []
            sgd.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, LONGEST)
            sgd.step()
            found.append(loss.detach())
        return torch.stack(found)

    return run


def large_batches(count=4, size=512, side=112):
    """Return batches in pinned memory."""
    batches = []
    for _ in range(count):
        images = torch.randint(0, 256, (size, 3, side, side), dtype=torch.uint8)
        labels, flips = torch.randint(1000, (size,)), torch.rand(size) < 0.5
        batches.append([part.pin_memory() for part in (images, labels, flips)])
    return batches


def rung(model, batches, mean, std, device, fixed):
    """Train with the first `fixed` of the eight faults fixed."""
    on_device, at_once, no_wait, last, half, clip, late, fused = (
        fixed > k for k in range(8)
    )
    if last:
        model.to(memory_format=CHANNELS_LAST)
    parameters = list(model.parameters())
    optimiser = torch.optim.SGD(parameters, RATE, MOMENTUM, fused=fused or None)
    losses = []
    for images, labels, flips in batches:
        where = device if on_device else "cpu"
        images = images.to(where, non_blocking=no_wait)
        images = (images.float() / 255 - mean.to(where)) / std.to(where)
        if at_once:
            mask = flips.to(where, non_blocking=no_wait).view(-1, 1, 1, 1)
            images = torch.where(mask, images.flip(-1), images)
        else:
            for k in range(len(images)):
                if flips[k]:
                    images[k] = images[k].flip(-1)
        images = images.to(device)
        labels = labels.to(device, non_blocking=no_wait)
        if last:
            images = images.contiguous(memory_format=CHANNELS_LAST)
        optimiser.zero_grad()
        with torch.autocast("cuda", BF16, enabled=half):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(parameters, LONGEST)
        else:
            total = sum(p.grad.norm().item() ** 2 for p in parameters) ** 0.5
            if total > LONGEST:
                for p in parameters:
                    p.grad.mul_(LONGEST / total)
        optimiser.step()
        losses.append(loss.detach() if late else loss.item())
    return torch.stack(losses) if late else torch.tensor(losses)


FIXED = (
    *("as given", "1 normalised on the GPU", "2 mirrored at once"),
    *("3 copies that do not block", "4 channels-last", "5 autocast"),
    *("6 clipped without waits", "7 loss not read", "8 fused optimiser"),
)


def rungs():
    torch.backends.cudnn.benchmark = True
    setting = large_batches(), *channel_constants(DEVICE), DEVICE
    found = {
        name: functools.partial(rung, Net(depth=3).to(DEVICE), *setting, fixed)
        for fixed, name in enumerate(FIXED)
    }
    net = Net(depth=3).to(DEVICE)
    net.compile()
    return found | {"9 compiled": functools.partial(rung, net, *setting, 8)}
