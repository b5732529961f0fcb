"""Launch kernels of lab 23, and cuFFT's and cuDNN's: python programs.py, for ncu."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = "filters", "transforms", "K"
FILTERS = "correlate", "correlate_tiled", "correlate_lean", "rows"
FFTS = "fft_shared", "radix 4", "pairs apart", "registers"


def launches(edge: int, rows: int) -> dict[str, Callable[[], Any]]:
    """Return the launches: an image edge x edge, and rows of 1,024 points."""
    of = lab(HERE.name, *WANTED)
    import torch
    import torch.nn.functional as F

    filters, transforms = of.filters(edge, of.K)(), of.transforms(rows)()
    found = {name: filters[name] for name in FILTERS}
    found |= {name: transforms[name] for name in FFTS}

    found["cuFFT"] = transforms["torch.fft"]
    million = torch.randn(64, 1 << 20, dtype=torch.complex64, device="cuda")
    found["cuFFT, 2^20"] = lambda: torch.fft.fft(million)
    x = torch.randn(32, 64, 56, 56, device="cuda")
    w = torch.randn(64, 64, 3, 3, device="cuda") / 24
    found["cuDNN"] = lambda: F.conv2d(x, w, padding=1)
    return found


if __name__ == "__main__":
    watched(launches(8192, 1 << 16))
