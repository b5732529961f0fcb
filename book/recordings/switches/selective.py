"""Checkpoint a block in three ways: MB allocated by the forward pass, and products."""

from functools import partial

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

x, w = torch.randn(2, 1024, 1024, requires_grad=True).unbind()


def block(x):
    return torch.softmax(torch.nn.functional.gelu(x @ w), dim=1) * 2


def policy(context, operator, *args, **kwargs):
    if operator == torch.ops.aten.mm.default:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE


selected = partial(create_selective_checkpoint_contexts, policy)
recomputed = partial(checkpoint, block, use_reentrant=False)
ways = {
    "all kept": block,
    "checkpoint": recomputed,
    "selective": partial(recomputed, context_fn=selected),
}


class Counted(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        operators.append(operator)
        return operator(*args, **(kwargs or {}))


print("             kept, MB   products in the backward pass")
for name, run in ways.items():
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as forward:
        out = run(x)
    kept = sum(e.self_cpu_memory_usage for e in forward.key_averages())
    operators = []
    with Counted():
        out.sum().backward()
    del out
    products = operators.count(torch.ops.aten.mm.default)
    print(f"{name:12}{kept / 1e6:9.1f}{products:11}")
