"""Launch kernels of lab 23, and cuFFT's and cuDNN's: python programs.py, for ncu."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import candidates, lab, watched  # noqa: E402

WANTED = "correlate", "correlate_tiled", "five_by_five", "fft_shared", "fft_ladder"
FILTERS = "correlate", "correlate_tiled", "correlate_lean", "rows"
FFTS = "fft_shared", "radix 4", "pairs apart", "registers"


def launches() -> dict[str, Callable[[], Any]]:
    """Return the launches: of 5 x 5 taps, and of 65,536 rows of 1,024 points."""
    of = lab(HERE.name, *WANTED)
    import torch
    import torch.nn.functional as F

    filters = candidates(of.five_by_five, of.correlate, of.correlate_tiled)
    transforms = candidates(of.fft_ladder, of.fft_shared)
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
    watched(launches())
