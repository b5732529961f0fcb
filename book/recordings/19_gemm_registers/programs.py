"""Launch each rung of lab 19 once, and cuBLAS: python programs.py, for ncu to watch.

The kernels and their parameters are those of the solution, taken out of its cells.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numba import cuda, float32, int32, int64

from weft import intrinsics
from weft.templates import specialise

ROOT = Path(__file__).resolve().parents[3]
CELLS = (ROOT / "solutions" / "19_gemm_registers.py").read_text().split("\n# %%")
WANTED = re.compile(
    r"^(?:BM, BN|THREADS =|WM, WN|TILE =|WIDTH =|one, zero|guess = |def tuned"
    r"|@cuda.jit)",
    re.MULTILINE,
)


class Weft:
    """What the cells ask of `weft`: a GPU is there, and nothing is timed."""

    @staticmethod
    def on_gpu(_: str) -> bool:
        return True


class Bench:
    """Keeps what would be timed."""

    def compare(self, _: str, rungs: Any, **__: Any) -> Any:
        return rungs()


def rungs() -> dict[str, Any]:
    """Return what the ladder of the lab times, by name."""
    scope = {"__name__": "lab", "cuda": cuda, "np": np, "weft": Weft, "torch": torch}
    scope |= {"float32": float32, "int32": int32, "int64": int64, "bench": Bench()}
    scope |= {"specialise": specialise}
    scope |= {name: getattr(intrinsics, name) for name in intrinsics.__all__[1:]}
    for number, cell in enumerate(CELLS):
        if WANTED.search(cell):
            name = f"<cell {number}>"
            text = "#" + cell
            remember(name, text)
            exec(compile(text, name, "exec"), scope)
    found: dict[str, Any] = scope["ladder"]
    return found


def remember(name: str, text: str) -> None:
    """Let `inspect` find the source of what a cell defines."""
    import linecache

    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


def main() -> None:
    for launch in rungs().values():
        launch()
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
