"""Capture a training step in right and wrong ways; write what becomes of each.

python capture.py [--out FOLDER], on a machine with a GPU, Numba and PyTorch. Each way
runs in a process of its own, since a capture that fails can spoil what follows.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import shorten, wrap

import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import WIDTH, facts  # noqa: E402

COMMAND = "$ python3 capture.py\n"
HOW = """\
# six steps on six batches: the largest difference from the losses without
# a graph, and the steps with a difference; the warm-up is in both
"""
STEPS, WARM = 6, 3
LONG = 20_000_000  # cycles, about 10 ms, for which a kernel keeps its stream busy
AT_ONCE = 5  # processes: most of their time goes into importing PyTorch
SECONDS = 120  # after which a way counts as one that does not end

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def made() -> Step:
    """Return a step that trains a small network, the same at every call."""
    torch.manual_seed(33)
    net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 8)).cuda()
    optimiser = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)

    def step(x: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        optimiser.zero_grad()
        loss = F.cross_entropy(net(x), answers)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return what the steps train on."""
    torch.manual_seed(34)
    xs = torch.randn(STEPS, 32, 64, device="cuda")
    return list(zip(xs, torch.randint(8, (STEPS, 32), device="cuda"), strict=True))


def warmed(step: Step, x: torch.Tensor, answers: torch.Tensor, count: int) -> None:
    """Step on a stream of its own, as PyTorch's manual does before a capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(count):
            step(x, answers)
    torch.cuda.current_stream().wait_stream(side)


def graphed(
    step: Step,
    x: torch.Tensor,
    answers: torch.Tensor,
    warm: int = WARM,
    into: bool = True,
    inside: bool = False,
    own: bool = True,
) -> Step:
    """Return a step that replays a graph of `step`.

    warm: steps before the capture. into: copy batches into what was captured. inside:
    do so in the capture. own: return the loss in a tensor of its own.
    """
    held = x.clone(), answers.clone()
    warmed(step, *held, warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        if inside:
            held[0].copy_(x)
            held[1].copy_(answers)
        loss = step(*held)

    def replay(x: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        if into and not inside:
            held[0].copy_(x)
            held[1].copy_(answers)
        graph.replay()
        return loss.clone() if own else loss

    return replay


def on_another_stream(step: Step, x: torch.Tensor, answers: torch.Tensor) -> Step:
    """Replay on a stream for which the caller's stream does not wait."""

    def long(x: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        torch.cuda._sleep(LONG)
        return step(x, answers)

    replay, side = graphed(long, x, answers, own=False), torch.cuda.Stream()

    def run(x: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            loss = replay(x, answers)
        return loss.clone()

    return run


def with_more(more: Callable[[torch.Tensor], object]) -> Callable[..., Step]:
    """Return what captures a step that does something more with its loss."""

    def capture(step: Step, x: torch.Tensor, answers: torch.Tensor) -> Step:
        def longer(x: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
            loss = step(x, answers)
            more(loss)
            return loss

        return graphed(longer, x, answers)

    return capture


def numba_launch(loss: torch.Tensor) -> None:
    """Launch a kernel of Numba's on its default stream."""
    from numba import cuda

    @cuda.jit
    def add_one(out):
        out[0] += 1

    add_one[1, 1](cuda.as_cuda_array(loss.view(1)))


def forgotten(_: Step, x: torch.Tensor, answers: torch.Tensor) -> Step:
    """Capture a step of a network that is freed before its graph is replayed."""
    return graphed(made(), x, answers)


WAYS: dict[str, Callable[..., Step]] = {
    "as it should be": graphed,
    "network freed": forgotten,
    "no warm-up": lambda *given: graphed(*given, warm=0),
    "batch not copied": lambda *given: graphed(*given, into=False),
    "copied inside the capture": lambda *given: graphed(*given, inside=True),
    "loss without a copy": lambda *given: graphed(*given, own=False),
    "replayed on another stream": on_another_stream,
    "loss.item() inside": with_more(lambda loss: loss.item()),
    "a tensor from a list inside": with_more(
        lambda loss: loss * torch.tensor([2.0], device="cuda")
    ),
    "a mask as index inside": with_more(lambda loss: loss.view(1)[loss.view(1) > 0]),
    "synchronize() inside": with_more(lambda _: torch.cuda.synchronize()),
    "an allocation inside": with_more(lambda loss: torch.zeros(10, device="cuda")),
    "Numba's default stream inside": with_more(numba_launch),
}


def tried(name: str) -> str:
    """Return what becomes of a capture: an error, or how far the losses are off."""
    given, first = batches(), batches()[0]
    warm = 0 if name == "no warm-up" else WARM
    plain = made()
    warmed(plain, *first, warm)
    wanted = [float(plain(*each)) for each in given]
    step = made()  # alive for as long as its graph is: that holds addresses alone
    try:
        run = WAYS[name](step, *first)
        losses = [run(*each) for each in given]
        torch.cuda.synchronize()
        got = [float(loss) for loss in losses]
    except Exception as error:
        said = str(error).strip().splitlines()
        return f"{type(error).__name__}: {said[0] if said else ''}"
    worst = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
    off = [n for n, (a, b) in enumerate(zip(got, wanted, strict=True), 1) if a != b]
    return f"{worst:.1e}, steps off: {', '.join(map(str, off)) or 'none'}"


def apart(name: str) -> str:
    """Return what a process that tries this way says in its last line."""
    asked = [sys.executable, str(Path(__file__).resolve()), "--way", name]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"no end in {SECONDS} s"
    last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
    return "".join(last)


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    options.add_argument("--way", choices=WAYS)
    given = options.parse_args()
    if given.way:
        print(tried(given.way))
        raise SystemExit
    shown = []
    with ThreadPoolExecutor(AT_ONCE) as processes:
        for name, said in zip(WAYS, processes.map(apart, WAYS), strict=True):
            cut = shorten(said, 2 * (WIDTH - 32), placeholder=" …")
            shown.append(f"{name:32}" + f"\n{'':32}".join(wrap(cut, WIDTH - 32)))
            print(shown[-1], flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    text = COMMAND + facts(ncu=False) + HOW + "\n" + "\n".join(shown) + "\n"
    (given.out / "capture.txt").write_text(text, encoding="utf-8")
