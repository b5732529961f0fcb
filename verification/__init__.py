"""How far our verdicts and counters agree with NVIDIA's tools, measured on a GPU."""

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # Numba-CUDA still uses it; NumPy 2.5 no longer has it
