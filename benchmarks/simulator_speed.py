"""Time a tiled matmul in this course's simulator and in Numba's own, side by side.

    python benchmarks/simulator_speed.py [size]

Each runs in a process of its own, as Numba's simulator can only be chosen once. Prints
seconds of processor time, which other work on the machine does not lengthen: the
best of three for ours, one run of Numba's, and their ratio.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

TILE = 16
ROOT = Path(__file__).parents[1]


def measure(which: str, size: int) -> float:
    """Multiply two size × size matrices with 16 × 16 tiles; give the seconds of CPU."""
    global cuda  # where Numba's simulator looks for it
    if which == "ours":
        import weft  # noqa: F401  puts our simulator in place of Numba's
    import numpy as np
    from numba import cuda, float32

    @cuda.jit
    def matmul(a, b, c):
        tile_a = cuda.shared.array((TILE, TILE), float32)
        tile_b = cuda.shared.array((TILE, TILE), float32)
        col, row = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // TILE):
            tile_a[ty, tx] = a[row, t * TILE + tx]
            tile_b[ty, tx] = b[t * TILE + ty, col]
            cuda.syncthreads()
            for k in range(TILE):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        c[row, col] = total

    rng = np.random.default_rng(0)
    a, b = (rng.random((size, size), np.float32) for _ in "ab")
    c = np.zeros_like(a)
    best = float("inf")
    for _ in range(3 if which == "ours" else 1):
        start = time.process_time()
        matmul[(size // TILE, size // TILE), (TILE, TILE)](a, b, c)
        best = min(best, time.process_time() - start)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    return best


def compare(size: int = 64) -> dict[str, float]:
    """Measure both; give {"ours": s, "numba": s, "ratio": numba / ours}."""
    environment = os.environ | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "WEFT_SIMULATOR": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    seconds = {}
    for which in ("numba", "ours"):
        done = subprocess.run(
            [sys.executable, __file__, str(size), which],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seconds[which] = float(json.loads(done.stdout.splitlines()[-1]))
    return seconds | {"ratio": seconds["numba"] / seconds["ours"]}


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    if len(sys.argv) > 2:
        print(json.dumps(measure(sys.argv[2], size)))
    else:
        found = compare(size)
        print(f"{size} × {size} matmul, 16 × 16 tiles, {size * size:,} threads")
        print(f"  Numba's simulator  {found['numba']:7.3f} s")
        print(f"  Warp & Weft        {found['ours']:7.3f} s")
        print(f"  ratio              {found['ratio']:7.1f}")
