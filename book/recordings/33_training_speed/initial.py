"""Train a deep network from PyTorch's default weights and from Kaiming's.

python initial.py [--out FOLDER], on a CPU, in about a minute. Writes a table.
"""

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).resolve().parent
WIDTH = 76  # of the table
EACH = 11  # characters of a column
LAYERS, FEATURES, INPUTS, CLASSES, BATCH = 20, 128, 32, 8, 128
SEEDS, STEPS = (33, 34, 35), 300
RATES = 0.3, 0.1, 0.03, 0.01  # the best of them counts for each row
SHOWN = 1, 5, 10, 20  # layers


def network(norms: bool, kaiming: bool) -> nn.Sequential:
    """Return a network of LAYERS linear layers with ReLU, and one for the classes."""
    layers: list[nn.Module] = []
    for layer in range(LAYERS):
        layers.append(nn.Linear(INPUTS if layer == 0 else FEATURES, FEATURES))
        layers += [nn.LayerNorm(FEATURES)] * norms
        layers.append(nn.ReLU())
    net = nn.Sequential(*layers, nn.Linear(FEATURES, CLASSES))
    for each in net:
        if kaiming and isinstance(each, nn.Linear):
            nn.init.kaiming_normal_(each.weight, nonlinearity="relu")
            nn.init.zeros_(each.bias)
    return net


def task() -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    """Return a source of batches: points, and which of some lines they are beyond."""
    lines = torch.randn(INPUTS, CLASSES)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.randn(BATCH, INPUTS)
        return x, (x @ lines).argmax(1)

    return batch


def spreads(net: nn.Sequential, x: torch.Tensor) -> list[float]:
    """Return how far each layer's outputs before ReLU differ from sample to sample.

    The mean over the features of the standard deviation over a batch.
    """
    found = []
    for each in net[:-1]:
        if isinstance(each, nn.ReLU):
            found.append(float(x.std(0).mean()))
        x = each(x)
    return found


def trained(seed: int, rate: float, norms: bool, kaiming: bool) -> float:
    """Return the mean loss of the last 50 steps of a training."""
    torch.manual_seed(seed)
    batch, net = task(), network(norms, kaiming)
    optimiser = torch.optim.SGD(net.parameters(), rate, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        x, answers = batch()
        optimiser.zero_grad()
        loss = F.cross_entropy(net(x), answers)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    return statistics.mean(losses[-50:])


def row(norms: bool, kaiming: bool) -> list[str]:
    """Return the cells of a network: spreads before a step, and the loss after all."""
    torch.manual_seed(SEEDS[0])
    batch, net = task(), network(norms, kaiming)
    with torch.no_grad():
        before = spreads(net, batch()[0])
    losses = [
        statistics.median(trained(seed, rate, norms, kaiming) for seed in SEEDS)
        for rate in RATES
    ]
    return [f"{before[n - 1]:.2g}" for n in SHOWN] + [f"{min(losses):.3f}"]


def table() -> str:
    """Set the table."""
    rows = {
        "default": row(False, False),
        "Kaiming": row(False, True),
        "norms, default": row(True, False),
        "norms, Kaiming": row(True, True),
    }
    heads = ["spread", *(f"layer {n}" for n in SHOWN), "loss"]
    left = WIDTH - EACH * (len(heads) - 1)
    shown = [heads, *([name, *cells] for name, cells in rows.items())]
    return "".join(
        f"{name:{left}}{''.join(f'{cell:>{EACH}}' for cell in cells)}\n"
        for name, *cells in shown
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    torch.set_num_threads(1)
    text = f"""\
$ python3 initial.py
# torch {torch.__version__.partition("+")[0]}, on a CPU
# {LAYERS} linear layers of {FEATURES} with ReLU; spread: standard deviation over the
# samples of a batch before ReLU, at the start; loss: at the end of {STEPS} steps,
# median of {len(SEEDS)} seeds, at the best of {len(RATES)} learning rates
# guessing has a loss of ln {CLASSES} = 2.079

{table()}"""
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "initial.txt").write_text(text, encoding="utf-8")
    print(text)
