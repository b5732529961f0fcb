"""Launch each rung of lab 18 once: python programs.py [n], for ncu to watch.

The kernels are those of the solution, taken out of its cells.
"""

import re
import sys
import types
from pathlib import Path

import cuda.core as core
import numpy as np
import torch
from numba import cuda, float32, uint32

ROOT = Path(__file__).resolve().parents[3]
CELLS = (ROOT / "solutions" / "18_gemm_tiles.py").read_text().split("\n# %%")
WANTED = re.compile(
    r"^(?:TILE =|CUDA_CPP =|def with_tile|def gemm_(?:naive|coal|unsigned|ragged))",
    re.MULTILINE,
)


def rungs() -> types.SimpleNamespace:
    """Return the kernels, and what they need, under their names in the lab."""
    scope = {"__name__": "lab", "cuda": cuda, "types": types}
    scope |= {"float32": float32, "uint32": uint32}
    for cell in CELLS:
        if WANTED.search(cell):
            exec(cell.partition("\n")[2], scope)
    return types.SimpleNamespace(**scope)


def main(n: int) -> None:
    lab = rungs()
    a, b, c = (torch.rand(n, n, device="cuda") for _ in range(3))
    given = (
        *(np.float32(1), cuda.as_cuda_array(a), cuda.as_cuda_array(b)),
        *(np.float32(0), cuda.as_cuda_array(c)),
    )
    on_rows, on_cols = ((n // 32, n // 8), (32, 8)), ((n // 32, n // 8), 256)
    lab.gemm_naive[on_rows](*given)
    lab.gemm_coalesced[on_cols](*given)
    lab.gemm_unsigned[on_cols](*given)
    for tile in (16, 32):
        grid = n // tile, n // tile
        lab.with_tile(lab.gemm_ragged, tile)[grid, (tile, tile)](*given)

    core.Device().set_current()
    major, minor = torch.cuda.get_device_capability()
    options = core.ProgramOptions(arch=f"sm_{major}{minor}")
    program = core.Program(lab.CUDA_CPP, code_type="c++", options=options)
    compiled = program.compile("cubin")
    pointers = a.data_ptr(), b.data_ptr(), np.float32(0), c.data_ptr()
    for name, launch in (
        ("direct", on_cols),
        ("tiled", ((n // 32, n // 32), (32, 32))),
    ):
        config = core.LaunchConfig(grid=launch[0], block=launch[1])
        core.launch(
            *(core.Device().default_stream, config, compiled.get_kernel(name)),
            *(np.float32(1), *pointers, *[np.int32(n)] * 3),
        )
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
