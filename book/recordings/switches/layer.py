"""Compile a bias and a GELU with Inductor."""

import torch


@torch.compile
def layer(x, bias):
    return torch.nn.functional.gelu(x + bias)


layer(torch.ones(64, 1024), torch.ones(1024))
