"""Training steps that chapter 33 measures, and what repeats, records or watches one."""

import functools
import time

import torch
import torch.nn.functional as F
from torch import nn

import weft
from weft.bench import results

from .models import BF16, DEVICE, Block, ByHand, Net, Stack, Watched


def stack_step(
    rows=16, length=512, dtype=None, net=None, after=None, to_none=True, **adam
):
    """Return a training step of the stack, with random tokens.

    dtype: of autocast, None for none. after: called with the model and the loss
    when the gradients are there. to_none: how zero_grad clears. adam: options
    of the optimiser.
    """
    net = (Stack() if net is None else net).to(DEVICE)
    options = {"fused": True} | adam
    optimiser = torch.optim.AdamW(net.parameters(), 1e-4, **options)
    most = net.predict.out_features
    tokens, answers = torch.randint(most, (2, rows, length), device=DEVICE)

    def step():
        optimiser.zero_grad(set_to_none=to_none)
        with torch.autocast("cuda", dtype, enabled=dtype is not None):
            scores = net(tokens)
            loss = F.cross_entropy(scores.flatten(0, 1), answers.flatten())
        loss.backward()
        if after is not None:
            after(net, loss)
        optimiser.step()
        return loss

    step.net = net
    return step


def five(step):
    """Return a function of five steps, so that one may be queued in another."""

    def steps():
        for _ in range(5):
            step()

    return steps


def busy(step):
    """Return the part of a step in which a kernel is running, in per cent."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    steps = five(step)
    steps()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    steps()
    torch.cuda.synchronize()
    whole = time.perf_counter() - begun
    with torch.profiler.profile(activities=activities) as seen:
        steps()
        torch.cuda.synchronize()
    events = seen.key_averages()
    kernels = sum(event.self_device_time_total for event in events) / 1e6
    return 100 * min(kernels / whole, 1)


def noted(case, unit, measure):
    """Print what `measure` finds on a GPU; without one, what is recorded."""
    lab = "33_training_speed"
    if weft.GPU:
        found = {name: float(f"{value:.3g}") for name, value in measure().items()}
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
        print(f"{name:28}{value:>8,g} {unit}")
    return found


def scaled_step():
    """Return a step in float16, with the loss scaled."""
    net = Stack().to(DEVICE)
    optimiser = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)
    tokens, answers = torch.randint(8192, (2, 16, 512), device=DEVICE)
    scaler = torch.amp.GradScaler()

    def step():
        optimiser.zero_grad()
        with torch.autocast("cuda", torch.float16):
            scores = net(tokens)
            loss = F.cross_entropy(scores.flatten(0, 1), answers.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimiser)
        scaler.update()

    return step


def products(precision, step):
    """Return five steps whose float32 products have this precision."""
    steps = five(step)

    def run():
        torch.set_float32_matmul_precision(precision)
        steps()

    return run


def net_step(dtype=None, tf32=True, layout=torch.contiguous_format):
    """Return five training steps of the image network, with random images."""
    net = Net().to(DEVICE, memory_format=layout)
    optimiser = torch.optim.SGD(net.parameters(), 0.1, 0.9, fused=True)
    images = torch.randn(512, 3, 112, 112, device=DEVICE)
    images = images.to(memory_format=layout)
    labels = torch.randint(1000, (512,), device=DEVICE)

    def step():
        optimiser.zero_grad()
        with torch.autocast("cuda", dtype, enabled=dtype is not None):
            loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimiser.step()

    steps = five(step)

    def run():
        torch.backends.cudnn.allow_tf32 = tf32
        steps()

    return run


def by_item(net, loss):
    """Clip gradients, and ask for each norm."""
    parameters = list(net.parameters())
    total = sum(p.grad.norm().item() ** 2 for p in parameters) ** 0.5
    if total > 1:
        for p in parameters:
            p.grad.mul_(1 / total)


def graphed(step):
    """Record a step in a CUDA graph, and return what replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay():
        graph.replay()

    replay.step = step  # a graph holds addresses: keep the tensors alive
    return replay


def hosts(rows, length):
    """Return a function that builds the candidates for this batch."""

    def build():
        torch.set_float32_matmul_precision("high")
        step = functools.partial(stack_step, rows, length, BF16)
        clip = nn.utils.clip_grad_norm_
        found = {
            "plain": step(),
            "loss.item()": step(after=lambda net, loss: loss.item()),
            "clipped by item": step(after=by_item),
            "clip_grad_norm_": step(after=lambda net, _: clip(net.parameters(), 1)),
            "foreach": step(fused=False, foreach=True),
            "looping": step(fused=False, foreach=False),
            "a CUDA graph": graphed(step(capturable=True)),
        }
        return {name: five(each) for name, each in found.items()}

    return build


def compiled_steps():
    torch.set_float32_matmul_precision("high")

    def step(block=Block, whole=True, compiled=True, **adam):
        net = Stack()
        net.blocks = nn.ModuleList(block(1024, 16) for _ in net.blocks)
        if compiled:
            net.compile(fullgraph=whole)
        return stack_step(dtype=BF16, net=net, **adam)

    found = {
        "eager": step(compiled=False),
        "compiled, with breaks": step(Watched, False),
        "compiled": step(),
        "compiled, CUDA graph": graphed(step(capturable=True)),
    }
    return {name: five(each) for name, each in found.items()}


def in_parts(parts, **adam):
    """Return a step of the stack that accumulates over parts of the batch."""
    net = Stack().to(DEVICE)
    optimiser = torch.optim.AdamW(net.parameters(), 1e-4, fused=True, **adam)
    tokens, answers = torch.randint(8192, (2, 16, 512), device=DEVICE)

    def step():
        optimiser.zero_grad()
        for x, y in zip(tokens.chunk(parts), answers.chunk(parts), strict=True):
            with torch.autocast("cuda", BF16):
                scores = net(x)
                loss = F.cross_entropy(scores.flatten(0, 1), y.flatten()) / parts
            loss.backward()
        optimiser.step()

    return step


def keeping(count, **adam):
    """Return a step in which so many blocks keep their activations."""
    net = Stack()
    net.recomputed = range(len(net.blocks) - count)
    return stack_step(dtype=BF16, net=net, **adam)


def savers(**adam):
    torch.set_float32_matmul_precision("high")
    return {
        "all kept": keeping(4, **adam),
        "2 of 4 recomputed": keeping(2, **adam),
        "4 of 4 recomputed": keeping(0, **adam),
        "in 4 parts": in_parts(4, **adam),
    }


def graphed_savers():
    """Return the same steps, each in a CUDA graph."""
    return {n: graphed(step) for n, step in savers(capturable=True).items()}


def nevers():
    torch.set_float32_matmul_precision("high")
    plain = stack_step(dtype=BF16)
    by_hand = Stack()
    by_hand.blocks = nn.ModuleList(ByHand(1024, 16) for _ in range(4))

    def anomaly():
        with torch.autograd.set_detect_anomaly(True):
            plain()

    def emptied():
        plain()
        torch.cuda.empty_cache()

    def waited():
        plain()
        torch.cuda.synchronize()

    found = {
        "plain": plain,
        "attention by hand": stack_step(dtype=BF16, net=by_hand),
        "a vocabulary of 8191": stack_step(dtype=BF16, net=Stack(vocabulary=8191)),
        "anomaly detection": anomaly,
        "empty_cache()": emptied,
        "synchronize()": waited,
        "gradients zeroed": stack_step(dtype=BF16, to_none=False),
    }
    return {name: five(each) for name, each in found.items()}
