"""Hold tensors of growing size, and print what PyTorch has reserved for them.

python grown.py [FRACTION]: of the GPU's memory, that PyTorch may use.
"""

import sys

import torch

if len(sys.argv) > 1:
    torch.cuda.set_per_process_memory_fraction(float(sys.argv[1]))
x = torch.empty(0, device="cuda")
for megabytes in range(64, 2049, 64):
    x = torch.empty(megabytes << 20, dtype=torch.uint8, device="cuda")
used, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
print(f"in use {used >> 20} MB, reserved {reserved >> 20} MB")
