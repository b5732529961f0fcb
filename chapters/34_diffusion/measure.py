"""The worklog of chapter 34: steps of denoising, their times and their errors."""

import contextlib
import copy
import functools
import io

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import weft
from weft import bench
from weft.bench import results

from . import learner
from .model import BF16, CHANNELS_LAST, DEVICE, UNet
from .operators import norm_image, own_norm, sum_image
from .parts import Fused, Mine, Rewritten, Yours

RATE, SCALE, STEPS = 0.05, 7.5, 20
CUDNN = SDPBackend.CUDNN_ATTENTION
KINDS = {
    "attention": ("sdpa", "flash", "fmha", "attention"),
    "norms and sums": ("norm_words", "add_sums"),
    "fused by the compiler": ("triton",),
    "convolutions": ("conv", "fprop", "implicit", "cudnn", "xmma"),
    "matrix products": ("gemm", "nvjet", "cutlass", "splitk", "cublas"),
}


@functools.cache
def large_net():
    """Return the network in float32, always with the same weights."""
    torch.manual_seed(34)
    return UNet().requires_grad_(False).to(DEVICE)


class Sampler:
    """Denoising steps in one dtype and layout."""

    def __init__(self, images, dtype=BF16, layout=CHANNELS_LAST):
        rng = torch.Generator().manual_seed(images)

        def random(*shape):
            return torch.randn(shape, generator=rng).to(DEVICE, dtype)

        self.net = copy.deepcopy(large_net()).to(dtype)
        self.net.to(memory_format=layout)
        self.x = random(images, 4, 64, 64).contiguous(memory_format=layout)
        self.text, self.empty = random(images, 77, 768), random(77, 768)
        self.times = torch.linspace(981, 1, STEPS, device=DEVICE)
        self.step = torch.zeros(1, dtype=torch.int64, device=DEVICE)

    def moved(self, prediction):
        """Return the latents after a step with this prediction."""
        return self.x - RATE * prediction

    def time(self):
        return self.times.index_select(0, self.step).expand(len(self.x))

    def two_calls(self):
        """Step with one call for the empty text, and one for the texts."""
        t, empty = self.time(), self.empty.expand_as(self.text)
        nothing = self.net(self.x, t, empty)
        something = self.net(self.x, t, self.text)
        return self.moved(nothing + SCALE * (something - nothing))

    def one_call(self):
        """Step with one call."""
        given = self.x, self.time(), self.text, self.empty, SCALE
        return self.moved(learner.guided(self.net, *given))

    def in_parts(self, kind):
        """Return the step with the network in parts of this kind."""
        texts = torch.cat([self.empty.expand_as(self.text), self.text])
        parts = kind(self.net, *learner.constants(self.net, self.times, texts))

        def by_parts(x, t, text):
            return parts(x, self.step)

        def step():
            given = self.x, self.time(), self.text, self.empty, SCALE
            return self.moved(learner.guided(by_parts, *given))

        return step


def compiled(run, options=None):
    return torch.compile(run, fullgraph=True, dynamic=False, options=options)


def recorded(run):
    """Return a function that replays the step as a CUDA graph."""
    side = torch.cuda.Stream()
    reports = contextlib.redirect_stderr(io.StringIO())  # of what was tuned
    with torch.cuda.stream(side), reports:
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()

    def replay():
        graph.replay()
        return out

    replay.run = run  # keeps what the graph reads
    return replay


def tf32(allowed, run):
    """Return the step with TF32 allowed, or not.

    cuDNN chooses its algorithms anew where that has changed, so every step says it.
    """

    def step():
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed
        return run()

    return step


@functools.cache
def entries(images):
    """Return each entry's step, and the sampler that it works on."""
    torch.backends.cudnn.benchmark = True
    wide = Sampler(images, torch.float32, torch.contiguous_format)
    rows = Sampler(images, layout=torch.contiguous_format)
    best = Sampler(images)
    found = {
        "float32": (tf32(False, wide.two_calls), wide),
        "TF32": (tf32(True, wide.two_calls), wide),
        "bfloat16": (tf32(True, rows.two_calls), rows),
        "channels-last": (tf32(True, best.two_calls), best),
        "one call": (tf32(True, best.one_call), best),
    }
    with sdpa_kernel(CUDNN):
        found["graph"] = recorded(best.one_call), best
        steps = {
            "compiled": best.one_call,
            "rewritten": best.in_parts(Rewritten),
            "two kernels": best.in_parts(Fused),
            "your sums": best.in_parts(Yours),
        }
        for name, step in steps.items():
            found[name] = recorded(compiled(step)), best
    return found


def steps_of(images, *names):
    """Return the steps of some entries, or of all."""
    found = entries(images)
    return {name: found[name][0] for name in names or found}


def one_image(guess=None):
    """Time a step for one image, as each entry of the worklog computes it."""
    return bench.compare(
        "a step, 1 image",
        lambda: steps_of(1),
        baseline="one call",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def four_images(guess=None):
    """Time a step for four images."""
    return bench.compare(
        "a step, 4 images",
        lambda: steps_of(4),
        baseline="one call",
        host=True,
        unsteady="the host's time is part of it",
        guess=guess,
    )


def latents(step, sampler):
    """Return the latents after all steps, and before, in float32."""
    start = sampler.x.clone()
    for k in range(STEPS):
        sampler.step.fill_(k)
        sampler.x.copy_(step())
    end = sampler.x.to(torch.float32, copy=True)
    sampler.x.copy_(start)
    return end, start.float()


def errors():
    wanted, start = latents(*entries(1)["float32"])
    far = (wanted - start).norm()
    found = {}
    for name, entry in entries(1).items():
        if name != "float32":
            found[name] = float(100 * (latents(*entry)[0] - wanted).norm() / far)
    return found


def noted(case, unit, measure):
    """Print what `measure` finds on a GPU; without one, what is recorded."""
    if weft.GPU:
        found = {name: float(f"{v:.3g}") for name, v in measure().items()}
        rows = [
            {"case": case, "name": name, "value": value, "unit": unit}
            for name, value in found.items()
        ]
        results.record("34_diffusion", rows)
    else:
        rows = results.of_case(results.reference("34_diffusion"), case)
        found = {name: row["value"] for name, row in rows.items()}
        print("There is no GPU here. Recorded on the reference GPU:")
    for name, value in found.items():
        print(f"{name:28}{value:>8,g} {unit}")
    return found


def error():
    """Take all steps with each entry; return how far each is from float32."""
    return noted("error after 20 steps", "%", errors)


def kind_of(kernel):
    """Return what a kernel does, by its name."""
    name = kernel.lower()
    for kind, parts in KINDS.items():
        if any(part in name for part in parts):
            return kind
    return "the rest"


def profiled(step):
    """Return the microseconds of each kind of kernel, and how many run."""
    step()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CUDA]
    ) as seen:
        step()
        torch.cuda.synchronize()
    found = dict.fromkeys([*KINDS, "the rest", "kernels"], 0.0)
    for event in seen.key_averages():
        found[kind_of(event.key)] += event.self_device_time_total
        found["kernels"] += event.count
    return found


def profile_of(name):
    return noted(f"profile, {name}", "us", lambda: profiled(entries(1)[name][0]))


def norms():
    c, groups = 320, 32
    x = torch.randn(2, c, 64, 64, device=DEVICE)
    x = x.to(BF16, memory_format=CHANNELS_LAST)
    shift, gamma, beta = torch.randn(3, c, device=DEVICE)
    short = shift.to(BF16)[:, None, None], gamma.to(BF16), beta.to(BF16)
    wide = shift.expand(2, -1).contiguous()

    def eager():
        y = F.group_norm(x + short[0], groups, *short[1:])
        return F.silu(y)

    def two():
        sums = sum_image(None, x, shift, 10, False)[1]
        own = gamma, beta, groups, 1e-5, True
        return norm_image(x, None, shift, [sums], *own)

    return {
        "eager": eager,
        "compiled": torch.compile(eager),
        "yours": lambda: own_norm(x, wide, gamma, beta, groups),
        "two kernels": two,
    }


def norm_alone(guess=None):
    """Time shift, norm and SiLU alone, for two samples."""
    return bench.compare(
        "shift, norm and SiLU",
        norms,
        baseline="compiled",
        bytes=3 * 2 * 320 * 4096 * 2,
        graph=True,
        guess=guess,
    )


def attempts():
    best = Sampler(1)
    fused = entries(1)["two kernels"][0]
    with sdpa_kernel(CUDNN):
        rewritten = recorded(best.in_parts(Rewritten))
        mine = recorded(best.in_parts(Mine))
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        flash = recorded(best.in_parts(Rewritten))

    def four_steps():
        for _ in range(4):
            out = fused.run()
        return out

    graph = recorded(four_steps)
    return {
        "4 graphs of a step": lambda: [fused() for _ in range(4)],
        "a graph of 4 steps": graph,
        "4 rewritten, eager": lambda: [rewritten() for _ in range(4)],
        "4 with your norm": lambda: [mine() for _ in range(4)],
        "4 with flash attention": lambda: [flash() for _ in range(4)],
    }


def tried():
    """Time what did not help, four steps at a time."""
    return bench.compare(
        "4 steps, tried",
        attempts,
        baseline="4 rewritten, eager",
        host=True,
        unsteady="the host's time is part of it",
    )
