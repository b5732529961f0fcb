"""Load an operator that was compiled against PyTorch's stable interface."""

import torch

torch.ops.load_library("./twice.so")
print(torch.ops.demo.twice(torch.arange(4.0)))
