"""The model that lab 2 runs in many ways, a batch for it, and the right answer.

Importing this module sets how PyTorch runs: without gradients, and on the CPU with at
most eight threads, so that all ways to run the model are compared alike.
"""

import logging
import os
import warnings

import torch
from torch import nn

FEATURES, HIDDEN, CLASSES = 64, 1024, 10

torch.set_grad_enabled(False)  # we only ask, we do not train
logging.disable(logging.WARNING)  # exporters talk much
warnings.filterwarnings("ignore", message="TensorFloat32")  # off on purpose
THREADS = min(8, os.cpu_count())  # for what runs on the CPU
torch.set_num_threads(THREADS)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(FEATURES, HIDDEN)
        self.two = nn.Linear(HIDDEN, HIDDEN)
        self.three = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        x = torch.relu(self.one(x))
        x = torch.relu(self.two(x))
        return self.three(x)


torch.manual_seed(2)
model = MLP().eval()
few = torch.randn(32, FEATURES)  # a batch of 32 inputs
exact = MLP().double()
exact.load_state_dict(model.state_dict())
wanted = exact(few.double())
weights = FEATURES * HIDDEN + HIDDEN * HIDDEN + HIDDEN * CLASSES
