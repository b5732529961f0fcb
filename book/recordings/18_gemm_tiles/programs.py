"""Launch each rung of lab 18's ladder once: python programs.py, for ncu to watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = (  # of the lab, then of its modules
    *("gemm_naive", "gemm_coalesced", "gemm_ragged"),
    *("gemm_unsigned", "in_cpp", "in_tiles", "on_rows", "on_cols", "N"),
    *("one", "zero", "d_a", "d_b", "d_c"),
)


def launches() -> dict[str, Callable[[], Any]]:
    """Return the launches, under their names in the lab and at its size."""
    of = lab(HERE.name, *WANTED)
    matrices = of.d_a, of.d_b, of.d_c
    given, tiles = (of.one, of.d_a, of.d_b, of.zero, of.d_c), (of.N // 32, of.N // 32)
    return {
        "naive": lambda: of.gemm_naive[of.on_rows](*given),
        "coalesced": lambda: of.gemm_coalesced[of.on_cols](*given),
        "unsigned": lambda: of.gemm_unsigned[of.on_cols](*given),
        "C++": of.in_cpp("direct", *of.on_cols),
        "tiles of 16": of.in_tiles(of.gemm_ragged, 16, *matrices),
        "tiles of 32": of.in_tiles(of.gemm_ragged, 32, *matrices),
        "C++, tiles of 32": of.in_cpp("tiled", tiles, (32, 32)),
    }


if __name__ == "__main__":
    watched(launches())
