"""Print what a compiled function keeps for its backward pass, for two budgets."""

import torch
import torch._functorch.config as config

x, w = torch.randn(2, 1024, 1024, device="cuda", requires_grad=True)


def layers(x, w):
    for _ in range(4):
        x = torch.sin(torch.relu(x @ w))
    return x


for budget in (1, 0.5, 0):
    torch._dynamo.reset()
    config.activation_memory_budget = budget
    run = torch.compile(layers)
    run(x, w).sum().backward()
    before = torch.cuda.memory_allocated()
    kept = run(x, w)
    held = torch.cuda.memory_allocated() - before
    print(f"budget {budget}: {held / 1e6:.1f} MB after the forward pass")
    del kept
