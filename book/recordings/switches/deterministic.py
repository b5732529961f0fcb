"""Ask for deterministic algorithms, and call operators that may have none."""

import torch

torch.use_deterministic_algorithms(True)

print(torch.empty(2), torch.empty(2, dtype=torch.int32))
x, places = torch.zeros(4), torch.tensor([0, 0])
print(x.put_(places, torch.ones(2), accumulate=True))
try:
    x.put_(places, torch.ones(2))
except RuntimeError as error:
    print(str(error).split(", ")[0])
