"""Launch kernels of lab 17 once: python programs.py [rows], for ncu to watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = (  # of the lab
    *("layer", "lean_layer", "layer_norm", "norm_unknown", "capped", "norm_arrays"),
    *("fused_backward", "HOW"),
)
AHEAD = "no", "registers", "shared"  # where the next row's x arrives


def forward(of: Any, rows: int, cols: int) -> dict[str, Callable[[], Any]]:
    import torch
    from numba import cuda

    array = cuda.as_cuda_array
    arrays = of.norm_arrays(rows, cols)
    x, gamma, beta, out, mean, rstd = map(array, arrays)
    state = torch.tensor([17, 1], dtype=torch.int32, device="cuda")
    seed, fours = array(state.view(torch.uint32)), ((cols // 512, rows), 128)
    kernels = {"yours": of.layer_norm, "unknown index": of.norm_unknown}
    for most in (32, 24):
        kernels[f"at most {most}"] = of.capped(of.layer_norm, most)
    found: dict[str, Callable[[], Any]] = {
        "math.erf": lambda: of.layer[fours](x, beta, seed, out),
        "fewer": lambda: of.lean_layer[fours](x, beta, seed, out),
    }
    for name, kernel in kernels.items():
        found[name] = lambda kernel=kernel: kernel[rows, 256](
            x, gamma, beta, out, mean, rstd
        )
    return found


def backward(of: Any, elements: int) -> dict[str, Callable[[], Any]]:
    import torch
    from numba import cuda

    array = cuda.as_cuda_array
    found: dict[str, Callable[[], Any]] = {}
    for name, cols, how in (
        ("4096", 4096, of.HOW[4096]),
        *((f"8192, {ahead}", 8192, (4, 512, ahead, 1)) for ahead in AHEAD),
    ):
        rows = elements // cols
        arrays = of.norm_arrays(rows, cols)
        of.layer_norm[rows, cols // 16](*map(array, arrays))  # for mean and rstd
        x, gamma, _, dx, mean, rstd = arrays
        given = x, torch.randn_like(x), gamma, mean, rstd, dx
        found[f"backward, {name}"], *_ = of.fused_backward(how, True, cols, *given)
    source, target = torch.zeros(2, 3 * elements // 2, device="cuda")
    a, b = array(source), array(target)
    found["copy"] = lambda: of.copy4[a.size // 512, 128](a, b)
    return found


def launches(rows: int) -> dict[str, Callable[[], Any]]:
    """Return the launches: forward of that many rows, backward of four times those."""
    of = lab(HERE.name, *WANTED)
    of.copy4 = lab("12_global_memory", "copy4").copy4
    return forward(of, rows, 4096) | backward(of, 4 * rows * 4096)


if __name__ == "__main__":
    watched(launches(int(sys.argv[1]) if len(sys.argv) > 1 else 4096))
