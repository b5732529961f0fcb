"""Write down what the course's own check says of one mistake in three languages.

python verdicts.py writes verdicts.txt; it needs no GPU. Gluon and CUDA C++ are missing
there: Triton's interpreter has no layouts, and the check of CUDA C++ no shuffles.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE)]

from languages import (  # noqa: E402
    MISTAKES,
    SMALL,
    Program,
    inputs,
    loaded,
    reference,
)

LAUNCHES: dict[tuple[str, str], Callable[..., Any]] = {
    ("numba", "sum"): lambda n: (2, 1024),
    ("triton", "sum"): lambda n: ((2,), {"BLOCK": 8192, "num_warps": 8}),
    ("cutile", "sum"): lambda n: ((2,), {"TILE": 2048}),
    ("cutile", "softmax"): lambda rows, cols: ((rows,), {"WIDTH": 4096}),
    ("cutile", "gemm"): lambda m, n, k: (
        (-(-m // 128) * -(-n // 256),),
        {"TM": 128, "TN": 256, "TK": 64},
    ),
}
KERNELS = {"sum": "add_up", "softmax": "softmax", "gemm": "matmul"}
SHOWN = ("numba", "triton", "cutile")
RAGGED = 4099  # three numbers more than a multiple of 4, and of a tile


def verdict(program: Program, folder: Path, *sizes: tuple[int, ...]) -> Any:
    """Return the verdict of `weft.check` on a program's kernel.

    folder: where its file goes. sizes: those of its cases, by default the small ones.
    """
    import numpy as np
    import torch

    import weft

    task = program.task
    kernel = vars(sys.modules[loaded(program, folder).__module__])[KERNELS[task]]

    def spec(*given: Any) -> Any:
        exact, _ = reference(task, *map(torch.as_tensor, given))
        return exact.numpy().astype(np.float32)

    def made(rng: Any, *size: int) -> tuple[Any, ...]:
        return tuple(each.numpy() for each in inputs(task, size, "cpu", "float16"))

    whole = {"out": lambda x: np.zeros(1, np.float32)} if task == "sum" else {}
    return weft.check(
        kernel,
        spec=spec,
        inputs=made,
        sizes=list(sizes or SMALL[task]),
        launch=LAUNCHES[program.language, task],
        tolerance=1e-2 if task == "gemm" else 1e-4,
        **whole,
    )


def text() -> str:
    """Return what verdicts.txt has."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for language in SHOWN:
            program = Program(language, "sum", wrong=True)
            old, new = MISTAKES[language, "sum"]
            said = str(verdict(program, Path(folder), (RAGGED,))).rstrip()
            name = program.path.name
            parts.append(f"# {name}: `{old}` is now `{new}`\n{said}\n")
    return "\n".join(parts)


def main() -> None:
    (HERE / "verdicts.txt").write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("WEFT_SIMULATOR", "1")
    main()
