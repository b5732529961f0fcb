"""Read the result of a recorded graph after its next replay; change an argument."""

import torch


@torch.compile(mode="reduce-overhead")
def scaled(x):
    return 2 * x + 1


@torch.compile(mode="reduce-overhead")
def counted(x, calls):
    calls.add_(1)
    return x * calls


x, calls = torch.ones(8, device="cuda"), torch.zeros(1, device="cuda")
for _ in range(3):
    counted(x, calls)
first = scaled(x)
for _ in range(3):
    second = scaled(x)
try:
    print(first.sum())
except RuntimeError as error:
    print("RuntimeError:", str(error).split(" Stack trace")[0])
