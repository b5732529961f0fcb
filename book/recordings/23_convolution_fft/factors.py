"""Time lab 23's filters with one thing changed at a time, and write it down.

python factors.py [--out FOLDER], on a machine with a GPU, Numba and PyTorch.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, Launch, record  # noqa: E402

of = lab(
    HERE.name,
    *("correlate", "correlate_tiled", "correlate_lean", "blocks_of"),
    *("K", "HIGH", "WIDE", "TALL", "BROAD", "cuda", "float32", "uint32"),
)
cuda, float32, uint32 = of.cuda, of.float32, of.uint32
K, HIGH, WIDE, TALL, BROAD = of.K, of.HIGH, of.WIDE, of.TALL, of.BROAD
CELLS = TALL * BROAD
EDGE = 8192


@cuda.jit
def tile_lean(x, w, out, width):
    """correlate_lean with a tile of x in shared memory; x: (h * width,), w: (25,)."""
    tile = cuda.shared.array(CELLS, float32)
    tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    left, top = uint32(WIDE * cuda.blockIdx.x), uint32(HIGH * cuda.blockIdx.y)
    high = uint32(x.size // width)

    for i in range(ty, uint32(TALL), uint32(HIGH)):
        for j in range(tx, uint32(BROAD), uint32(WIDE)):
            if top + i < high and left + j < width:
                at = uint32((top + i) * width + left + j)
                tile[uint32(i * BROAD + j)] = x[at]
    cuda.syncthreads()

    row, col = uint32(top + ty), uint32(left + tx)
    if row < out.shape[0] and col < out.shape[1]:
        at = uint32(ty * BROAD + tx)
        total = float32(0)
        for down in range(K):
            for right in range(K):
                total += tile[at + right] * w[K * down + right]
            at = uint32(at + BROAD)
        out[row, col] = total


def filters() -> dict[str, Launch]:
    """Return the lab's filters of 5 x 5 taps, and those that change one thing."""
    global out, wanted
    import torch
    import torch.nn.functional as F

    m = EDGE - K + 1
    x = torch.randn(EDGE, EDGE, device="cuda")
    w = torch.randn(K, K, device="cuda") / K
    out = torch.empty(m, m, device="cuda")
    wanted = F.conv2d(x[None, None].double(), w[None, None].double())[0, 0].float()
    d_x, d_w, d_out = map(cuda.as_cuda_array, (x, w, out))
    flat, taps = map(cuda.as_cuda_array, (x.view(-1), w.view(-1)))
    shape = of.blocks_of(m, m)
    return {
        "correlate": lambda: of.correlate[shape](d_x, d_w, d_out),
        "correlate_tiled": lambda: of.correlate_tiled[shape](d_x, d_w, d_out),
        "correlate_lean": lambda: of.correlate_lean[shape](flat, taps, d_out, EDGE),
        "correlate_lean, with a tile": lambda: tile_lean[shape](
            flat, taps, d_out, EDGE
        ),
    }


def right(name: str) -> None:
    """Compare out with PyTorch's answer in float64."""
    import torch

    assert torch.allclose(out, wanted, rtol=1e-4, atol=1e-4), name
    out.fill_(float("nan"))


if __name__ == "__main__":
    title = f"5 x 5 taps, image {EDGE} x {EDGE}"
    record(__doc__, HERE, [Experiment(title, filters, "correlate", right)])
