"""Train the image network of chapter 33 on two GPUs in two ways; write a table.

python parallel.py [--out FOLDER], on a machine with two GPUs, Numba and PyTorch.
DataParallel runs in one process, DistributedDataParallel in one for each GPU.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import distributed as dist
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import WIDTH, facts, lab  # noqa: E402

COMMAND = "$ python3 parallel.py\n"
HOW = """\
# 2 GPUs of one host; medians of rounds of steps by the host's clock, all GPUs idle
# before and after a round; bfloat16, channels-last, SGD with momentum
"""
COLUMNS = "ms", "images/s", "GB, GPU 0", "GB, GPU 1", "gradient"
EACH = 11  # characters of a column
WARM, ROUNDS, STEPS = 10, 11, 10


@dataclass(frozen=True)
class Load:
    """What a step trains on: images in all, their side in pixels, and the device."""

    images: int
    side: int = 112
    kind: str = "cuda"

    def device(self, rank: int) -> torch.device:
        return torch.device(self.kind, rank if self.kind == "cuda" else 0)


@dataclass(frozen=True)
class Row:
    """What is written of a way to train: ms of a step, GB per GPU, gradient's norm."""

    name: str
    images: int
    ms: float
    held: tuple[float, float]
    gradient: float

    def cells(self) -> list[str]:
        rate = f"{self.images / self.ms * 1e3:,.0f}"
        return [
            f"{self.ms:.4g}",
            rate,
            *(f"{gb:.2f}" for gb in self.held),
            f"{self.gradient:.3g}",
        ]


class InHalfPrecision(nn.Module):
    """A network whose forward pass is under autocast, in whatever thread it runs."""

    def __init__(self, net: nn.Module, kind: str) -> None:
        super().__init__()
        self.net, self.kind = net, kind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self.kind, torch.bfloat16):
            return self.net(x)


def network(load: Load, rank: int = 0) -> nn.Module:
    """Return the network, which begins with the same weights everywhere."""
    torch.manual_seed(33)
    net = InHalfPrecision(lab("33_training_speed", "Net").Net(depth=2), load.kind)
    return net.to(load.device(rank), memory_format=torch.channels_last)


def batch(load: Load, part: slice, rank: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a part of the one batch: images and answers, on a device."""
    generator = torch.Generator().manual_seed(34)
    shape = load.images, 3, load.side, load.side
    images = torch.randn(shape, generator=generator)
    answers = torch.randint(1000, shape[:1], generator=generator)
    at = load.device(rank)
    images = images[part].to(at, memory_format=torch.channels_last)
    return images, answers[part].to(at)


def step_of(net: nn.Module, given: tuple[torch.Tensor, torch.Tensor]) -> Callable:
    """Return a function that trains for one step."""
    images, answers = given
    optimiser = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9, foreach=True)

    def step() -> None:
        optimiser.zero_grad()
        F.cross_entropy(net(images), answers).backward()
        optimiser.step()

    return step


def wait(load: Load) -> None:
    """Wait for all GPUs that this process uses."""
    for rank in range(torch.cuda.device_count() if load.kind == "cuda" else 0):
        torch.cuda.synchronize(rank)


def norm(net: nn.Module) -> float:
    """Return the norm of the gradients that the last backward pass has left."""
    each = [p.grad.float().norm() for p in net.parameters() if p.grad is not None]
    return float(torch.stack(each).norm())


def held(load: Load, rank: int) -> float:
    """Return the most memory that tensors have taken on a GPU, in GB."""
    return torch.cuda.max_memory_allocated(rank) / 1e9 if load.kind == "cuda" else 0.0


def timed(step: Callable, load: Load, meet: Callable = lambda: None) -> float:
    """Return the median time of a step, in ms. meet: waits for the other processes."""
    for _ in range(WARM):
        step()
    rounds = []
    for _ in range(ROUNDS):
        wait(load)
        meet()
        begun = time.perf_counter()
        for _ in range(STEPS):
            step()
        wait(load)
        rounds.append((time.perf_counter() - begun) / STEPS * 1e3)
    return statistics.median(rounds)


def alone(name: str, load: Load, wrapped: Callable = lambda net: net) -> Row:
    """Train in this process, with the network as it is or `wrapped`."""
    if load.kind == "cuda":
        torch.cuda.init()
        torch.cuda.empty_cache()
        for rank in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(rank)
    net = wrapped(network(load))
    step = step_of(net, batch(load, slice(None)))
    step()
    gradient = norm(net)
    ms = timed(step, load)
    return Row(name, load.images, ms, (held(load, 0), held(load, 1)), gradient)


def one_of_two(rank: int, load: Load, folder: str) -> None:
    """Train on half of the batch, as one of two processes; rank 0 keeps the row."""
    at = load.device(rank)
    if load.kind == "cuda":
        torch.cuda.set_device(at)
    dist.init_process_group(
        "nccl" if load.kind == "cuda" else "gloo",
        init_method=f"file://{folder}/meeting",
        rank=rank,
        world_size=2,
        device_id=at if load.kind == "cuda" else None,
    )
    half = load.images // 2
    ids = [rank] if load.kind == "cuda" else None
    net = nn.parallel.DistributedDataParallel(network(load, rank), device_ids=ids)
    step = step_of(net, batch(load, slice(rank * half, (rank + 1) * half), rank))
    step()
    gradient = norm(net)
    ms = timed(step, load, dist.barrier)
    found = torch.zeros(3, device=at)
    found[0], found[1 + rank] = ms, held(load, rank)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    if rank == 0:
        torch.save((*found.tolist(), gradient), Path(folder) / "found")
    dist.destroy_process_group()


def together(name: str, load: Load) -> Row:
    """Train in two processes, with the gradients averaged during the backward pass."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(one_of_two, (load, folder), nprocs=2)
        ms, first, second, gradient = torch.load(Path(folder) / "found")
    return Row(name, load.images, ms, (first, second), gradient)


def rows(load: Load) -> list[Row]:
    """Train with one load in all ways."""
    half = Load(load.images // 2, load.side, load.kind)
    return [
        alone("half, on one GPU", half),
        alone("one GPU", load),
        alone("DataParallel", load, nn.DataParallel),
        together("DDP", load),
    ]


def table(load: Load) -> str:
    """Set the table of one load."""
    shown = [[f"{load.images} images", *COLUMNS]]
    shown += [[row.name, *row.cells()] for row in rows(load)]
    left = WIDTH - EACH * len(COLUMNS)
    lines = (
        f"{n:{left}}{''.join(f'{c:>{EACH}}' for c in cells)}" for n, *cells in shown
    )
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    if torch.cuda.device_count() < 2:
        raise SystemExit("two GPUs are needed")
    tables = "\n".join(table(Load(images)) for images in (512, 64))
    given.out.mkdir(parents=True, exist_ok=True)
    text = COMMAND + facts(ncu=False) + HOW + "\n" + tables
    (given.out / "parallel.txt").write_text(text, encoding="utf-8")
    print(text)
