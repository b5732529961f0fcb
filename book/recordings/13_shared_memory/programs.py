"""Launch kernels of lab 13 once: python programs.py [n], for ncu to watch.

A matrix of n x n float32 is transposed.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = (  # of the lab
    *("naive_read", "naive_write", "transpose_tiled", "transpose_padded"),
    *("transpose_swizzled", "transpose_rows", "transpose_fast", "TILE", "WIDE", "ROWS"),
)


def launches(n: int) -> dict[str, Callable[[], Any]]:
    """Return the launches: a name and what calls the kernel."""
    of = lab(HERE.name, *WANTED)
    import torch
    from numba import cuda

    source = torch.rand(n, n, device="cuda")
    x, out = cuda.as_cuda_array(source), cuda.as_cuda_array(torch.empty_like(source))
    naive = (n // 32, n // 8), (32, 8)
    square = (n // of.TILE, n // of.TILE), (of.TILE, of.TILE)
    flat = (n // of.TILE, n // of.TILE), (of.TILE, of.ROWS)
    wide = (n // of.WIDE, n // of.WIDE), (16, 16)
    return {
        "naive_read": lambda: of.naive_read[naive](x, out),
        "naive_write": lambda: of.naive_write[naive](x, out),
        "tiled": lambda: of.transpose_tiled[square](x, out),
        "padded": lambda: of.transpose_padded[square](x, out),
        "swizzled": lambda: of.transpose_swizzled[square](x, out),
        "rows": lambda: of.transpose_rows[flat](x, out),
        "fast": lambda: of.transpose_fast[wide](x, out),
    }


if __name__ == "__main__":
    watched(launches(int(sys.argv[1]) if len(sys.argv) > 1 else 8192))
