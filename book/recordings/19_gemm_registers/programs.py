"""Launch each rung of lab 19's ladder once: python programs.py, for ncu to watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import candidates, lab, watched  # noqa: E402

WANTED = ("ladder", "gemm_1d", "gemm_2d", "gemm_wide")


def launches() -> dict[str, Callable[[], Any]]:
    """Return the launches, under their names in the lab and at its size."""
    of = lab(HERE.name, *WANTED)
    kernels = of.gemm_1d, of.gemm_2d, of.gemm_wide
    found: dict[str, Callable[[], Any]] = candidates(of.ladder, *kernels)
    return found


if __name__ == "__main__":
    watched(launches())
