"""Launch kernels of lab 14 once: python programs.py [n], for ncu to watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

TREES = {  # what the page calls it → its name in the lab
    "interleaved": "sum_interleaved",
    "no division": "sum_masked",
    "packed": "sum_packed",
    "sequential": "sum_sequential",
    "shuffle": "sum_shuffle",
}
GRIDS = {"loads of 4 bytes": "sum_narrow", "grid": "sum_grid"}
WANTED = *TREES.values(), *GRIDS.values()


def launches(n: int) -> dict[str, Callable[[], Any]]:
    """Return the launches on n elements, in blocks of the lab's sizes."""
    of = lab(HERE.name, *WANTED)
    import torch
    from numba import cuda

    x = cuda.as_cuda_array(torch.rand(n, device="cuda"))
    out = cuda.as_cuda_array(torch.zeros(n // 256, device="cuda"))
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    found = {}
    for shape, kernels in (((n // 256, 256), TREES), ((2 * sms, 1024), GRIDS)):
        for name, kernel in kernels.items():
            run = getattr(of, kernel)[shape]
            found[name] = lambda run=run: run(x, out)
    return found


if __name__ == "__main__":
    watched(launches(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 28))
