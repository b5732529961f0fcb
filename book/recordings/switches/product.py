"""Multiply on a GPU: with a bias and an activation, and without."""

import torch

x, w = torch.randn(2, 1024, 1024, device="cuda", dtype=torch.bfloat16)
bias = torch.zeros(1024, device="cuda", dtype=torch.bfloat16)

torch.addmm(bias, x, w)
torch.ops.aten._addmm_activation(bias, x, w, use_gelu=True)
x @ w
