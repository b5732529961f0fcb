"""Call a compiled function with other sizes, other factors and another type."""

import torch


@torch.compile(backend="eager")
def scaled(x, factor):
    return x * factor


scaled(torch.ones(4, 3), 1.0)
scaled(torch.ones(8, 3), 1.0)
scaled(torch.ones(16, 3), 1.0)
scaled(torch.ones(16, 3), 2.0)
scaled(torch.ones(16, 3), 3.0)
scaled(torch.ones(16, 3, dtype=torch.float64), 3.0)
