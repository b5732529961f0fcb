"""The measurements of chapter 33. Each function times, and returns a table."""

import time

import torch

import weft
from weft import bench

from .checks import channel_constants
from .models import BF16, CHANNELS_LAST, DEVICE, Net, Stack
from .scripts import as_given, best_known, large_batches, rungs
from .training import (
    busy,
    compiled_steps,
    five,
    graphed_savers,
    hosts,
    net_step,
    nevers,
    noted,
    products,
    savers,
    scaled_step,
    stack_step,
)


def three_loads():
    torch.set_float32_matmul_precision("highest")
    return {
        "float32": busy(stack_step()),
        "bfloat16": busy(stack_step(dtype=BF16)),
        "bfloat16, 2 x 128": busy(stack_step(2, 128, dtype=BF16)),
    }


def gpu_busy():
    """Print and return how busy three steps keep the GPU."""
    return noted("the GPU is busy", "%", three_loads)


def precisions():
    return {
        "float32": products("highest", stack_step()),
        "TF32": products("high", stack_step()),
        "bfloat16": products("high", stack_step(dtype=BF16)),
        "float16, scaler": products("high", scaled_step()),
        "bfloat16 weights": products("high", stack_step(net=Stack().to(BF16))),
    }


def precision(guess=None):
    """Train the stack in several precisions."""
    return bench.compare(
        "5 steps of the stack",
        precisions,
        baseline="float32",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def layouts():
    torch.backends.cudnn.benchmark = True
    return {
        "float32": net_step(tf32=False),
        "TF32": net_step(),
        "TF32, channels-last": net_step(layout=CHANNELS_LAST),
        "bfloat16": net_step(BF16),
        "bfloat16, channels-last": net_step(BF16, layout=CHANNELS_LAST),
    }


def layout(guess=None):
    """Train the image network in two layouts and three precisions."""
    return bench.compare(
        "5 steps of the image network",
        layouts,
        baseline="TF32",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def quantised(x):
    """Return x in fp8 (e4m3) and its scale."""
    scale = x.abs().amax().float() / 448
    return (x / scale).to(torch.float8_e4m3fn), scale


def fp8_product(x, weight):
    """Multiply in fp8: x (m, k), weight (n, k), both bfloat16 -> (m, n)."""
    (a, by_a), (b, by_b) = quantised(x), quantised(weight)
    return torch._scaled_mm(a, b.t(), by_a, by_b, out_dtype=BF16, use_fast_accum=True)


def fp8_products():
    x = torch.randn(8192, 4096, device=DEVICE, dtype=BF16)
    weight = 0.02 * torch.randn(16384, 4096, device=DEVICE, dtype=BF16)
    (a, by_a), (b, by_b) = quantised(x), quantised(weight)
    compiled = torch.compile(fp8_product)
    return {
        "bfloat16": lambda: x @ weight.t(),
        "fp8, product alone": lambda: torch._scaled_mm(
            a, b.t(), by_a, by_b, out_dtype=BF16, use_fast_accum=True
        ),
        "fp8, scaled and cast": lambda: fp8_product(x, weight),
        "fp8, compiled": lambda: compiled(x, weight),
    }


def fp8():
    """Multiply in bfloat16 and in fp8; return nothing where the GPU has no fp8."""
    if not weft.GPU or torch.cuda.get_device_capability() >= (8, 9):
        return bench.compare(
            "8192 x 4096 x 16384",
            fp8_products,
            baseline="bfloat16",
            flops=2 * 8192 * 4096 * 16384,
        )
    return None


class Images(torch.utils.data.Dataset):
    """Images in memory, as bytes or normalised."""

    def __init__(self, normalised):
        self.normalised = normalised
        self.images = torch.randint(0, 256, (512, 3, 112, 112), dtype=torch.uint8)

    def __len__(self):
        return 256 * 40

    def __getitem__(self, index):
        image = self.images[index % len(self.images)]
        return (image / 255 - 0.45) / 0.22 if self.normalised else image


def per_batch(normalised, pinned=False, workers=8):
    """Return the milliseconds that a batch takes, after the first ten."""
    loader = torch.utils.data.DataLoader(
        Images(normalised), 256, num_workers=workers, pin_memory=pinned
    )
    begun = 0.0
    for number, images in enumerate(loader):
        if number == 10:
            torch.cuda.synchronize()
            begun = time.perf_counter()
        images.to(DEVICE, non_blocking=pinned).float()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / 30 * 1e3


def loaders():
    return {
        "0 workers, float32": per_batch(True, workers=0),
        "8 workers, float32": per_batch(True),
        "8 workers, bytes": per_batch(False),
        "8 workers, bytes, pinned": per_batch(False, True),
    }


def loading():
    """Print and return how long a batch takes to come from a loader."""
    return noted("a batch from the loader", "ms", loaders)


def large():
    """Train with a large batch: the GPU sets the pace."""
    return bench.compare(
        "16 x 512 tokens",
        hosts(16, 512),
        baseline="plain",
        host=True,
        unsteady="the host's time is part of it",
    )


def small():
    """Train with a small batch: the host sets the pace."""
    return bench.compare(
        "2 x 128 tokens",
        hosts(2, 128),
        baseline="plain",
        host=True,
        unsteady="the host's time is part of it",
    )


def by_compiler():
    """Train the stack eagerly and compiled."""
    return bench.compare(
        "5 steps, compiled",
        compiled_steps,
        baseline="eager",
        host=True,
        unsteady="the host's time is part of it",
    )


def memory_time():
    """Train the stack in ways that save memory."""
    return bench.compare(
        "5 steps, saving memory",
        lambda: {name: five(step) for name, step in savers().items()},
        baseline="all kept",
        host=True,
        unsteady="the host's time is part of it",
    )


def memory_time_in_graphs():
    """Train the stack in ways that save memory, each step in a CUDA graph."""
    return bench.compare(
        "5 steps, saving memory, in CUDA graphs",
        lambda: {name: five(step) for name, step in graphed_savers().items()},
        baseline="all kept",
        host=True,
        unsteady="the host's time is part of it",
    )


def peaks():
    """Return how far memory rises during a step, in MiB."""
    found = {}
    for name, step in savers().items():
        step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        found[name] = (torch.cuda.max_memory_allocated() - before) / 2**20
    return found


def peak():
    """Print and return how far memory rises during a step."""
    return noted("memory of a step", "MiB", peaks)


def one_by_one():
    """Fix one fault of the script after the other."""
    return bench.compare(
        "one fault after the other",
        rungs,
        baseline="as given",
        host=True,
        unsteady="the host's time is part of it",
    )


def never():
    """Do what lists say that you must never do."""
    return bench.compare(
        "5 steps, never",
        nevers,
        baseline="plain",
        host=True,
        unsteady="the host's time is part of it",
    )


def whole(train, guess=None):
    """Time the script: as given, the learner's, and the best known."""

    def scripts():
        torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        batches = large_batches()
        setting = batches, *channel_constants(DEVICE), DEVICE
        nets = [Net(depth=3).to(DEVICE) for _ in range(4)]
        given, mine, compiled, best = nets
        compiled.compile()
        best_run = best_known(best, *setting[1:])
        return {
            "as given": lambda: as_given(given, *setting),
            "yours": lambda: train(mine, *setting),
            "yours, compiled": lambda: train(compiled, *setting),
            "best known": lambda: best_run(batches),
        }

    return bench.compare(
        "4 steps of the script",
        scripts,
        baseline="as given",
        ceiling="best known",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )
