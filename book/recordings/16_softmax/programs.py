"""Launch softmaxes of lab 16 once, and copies: python programs.py, for ncu to watch.

Long rows, forward and backward, in float32 and in bfloat16; beside each a copy that
moves as many bytes, by the kernel of lab 12; and the softmax in three passes.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = "softmax", "backward", "softmax_passes"
SHAPES = (1024, 131072), (128, 262144)
KINDS = {"float32": 1, "bfloat16": 2}  # elements to a word of 4 bytes


def launches(edge: int, shapes: tuple[tuple[int, int], ...]) -> dict[str, Any]:
    """Return the launches; three passes are of an edge x edge matrix."""
    of = lab(HERE.name, *WANTED)
    copy4 = lab("12_global_memory", "copy4").copy4
    import torch
    from numba import cuda

    array = cuda.as_cuda_array
    torch.manual_seed(16)
    most = max(rows * cols for rows, cols in shapes)
    source, target = torch.zeros(2, 3 * most // 2, device="cuda")
    found: dict[str, Callable[[], Any]] = {}
    for rows, cols in shapes:
        for kind, of_word in KINDS.items():
            dtype = getattr(torch, kind)
            x, dy = (torch.randn(rows, cols, device="cuda").to(dtype) for _ in "xy")
            if of_word == 2:
                x, dy = x.view(torch.int32), dy.view(torch.int32)
            y, dx = torch.zeros_like(x), torch.zeros_like(x)
            a, b, c, d = map(array, (x, y, dy, dx))
            words = x.numel()

            def copied(moved: int) -> Callable[[], Any]:
                part, end = array(source[:moved]), array(target[:moved])
                return lambda: copy4[moved // 512, 128](part, end)

            case = f"{rows} x {cols} {kind}"
            found |= {
                f"forward, {case}": lambda a=a, b=b: of.softmax(a, b),
                f"backward, {case}": (
                    lambda b=b, c=c, d=d: of.backward(b, c, d)  # y is there by now
                ),
                f"forward, {case}, copy": copied(words),
                f"backward, {case}, copy": copied(3 * words // 2),
            }
    square = array(torch.randn(edge, edge, device="cuda"))
    shares = array(torch.empty(edge, edge, device="cuda"))
    found["three passes"] = lambda: of.softmax_passes[edge, 256](square, shares)
    return found


if __name__ == "__main__":
    watched(launches(8192, SHAPES))
