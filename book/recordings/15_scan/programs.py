"""Launch the scans of blocks of lab 15: python programs.py [n], for ncu to watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

SCANS = {"steps": "scan_steps", "tree": "scan_tree", "warps": "scan_shuffled"}
WANTED = tuple(SCANS.values())


def launches(n: int) -> dict[str, Callable[[], Any]]:
    """Return the launches on n elements, in blocks of 256."""
    of = lab(HERE.name, *WANTED)
    import torch
    from numba import cuda

    x = cuda.as_cuda_array(torch.rand(n, device="cuda"))
    out = cuda.as_cuda_array(torch.empty(n, device="cuda"))
    found = {}
    for name, kernel in SCANS.items():
        run = getattr(of, kernel)[n // 256, 256]
        found[name] = lambda run=run: run(x, out)
    return found


if __name__ == "__main__":
    watched(launches(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 28))
