"""Time products of bfloat16 matrices by cuBLAS, CUTLASS and chapter 22, write a table.

python factors.py [--out FOLDER], on a machine with a Hopper GPU, Numba, PyTorch and
Triton. CUTLASS's kernels are in products.cu. CUTLASS_LIBRARY names them compiled; else
they are compiled here by nvcc, with the headers of nvidia-cutlass (pip) in CUTLASS.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, Launch, record  # noqa: E402

KERNELS = (
    "CUTLASS, 128 x 256, cooperative",
    "CUTLASS, 64 x 256, ping-pong",
    "CUTLASS, 128 x 128, cooperative",
)
SIZES = 8192, 4096, 2048, 1024
FLAGS = "-std=c++17", "-O3", "-DNDEBUG", "-arch=sm_90a"
SHARED = "-shared", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr"


def built() -> ctypes.CDLL:
    """Load CUTLASS's kernels, compiled if need be. Raises CalledProcessError."""
    if ready := os.environ.get("CUTLASS_LIBRARY"):
        return ctypes.CDLL(ready)
    headers = Path(os.environ["CUTLASS"])
    paths = f"-I{headers / 'include'}", f"-I{headers / 'tools/util/include'}"
    target = Path(tempfile.mkdtemp()) / "products.so"
    source = HERE / "products.cu"
    command = ["nvcc", *FLAGS, *SHARED, *paths, "-o", str(target), str(source)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def by_cutlass(a: Any, w: Any, c: Any) -> dict[str, Launch]:
    """Return the launch of each of CUTLASS's kernels, for c = a @ w.T."""
    import torch

    room = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    at = [ctypes.c_void_p(t.data_ptr()) for t in (a, w, c)]
    sizes = a.shape[0], w.shape[0], a.shape[1]

    def launch(which: int) -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        where = ctypes.c_void_p(room.data_ptr())
        if status := library.product(which, *at, *sizes, where, stream):
            raise RuntimeError(f"CUTLASS returns status {status}")

    return {name: partial(launch, which) for which, name in enumerate(KERNELS)}


def experiment(n: int) -> Experiment:
    """Return the table for n x n matrices."""

    def launches() -> dict[str, Callable[[], Any]]:
        held[n] = a, w, c = of.matrices(n, n, n)
        return {
            "cuBLAS": of.fastest(of.library(a, w, c)),
            **by_cutlass(a, w, c),
            "chapter 22": of.fastest(
                [of.gemm(a, w, c, **sizes) for sizes in of.TILES.values()]
            ),
        }

    def right(name: str) -> None:
        import torch

        a, w, c = held[n]
        wanted = torch.mm(a[:256].float(), w.float().t())
        off = (c[:256].float() - wanted).abs().max()
        assert off < 0.02 * wanted.abs().max(), name
        c.fill_(float("nan"))

    return Experiment(f"{n} x {n} x {n} bfloat16", launches, "cuBLAS", right)


def version() -> str:
    """Return CUTLASS's version and the flags, a line of the recording."""
    number = library.version()
    release = f"{number // 100}.{number // 10 % 10}.{number % 10}"
    return f"# CUTLASS {release}, nvcc {' '.join(FLAGS)}\n"


if __name__ == "__main__":
    of = lab("22_hopper_gemm", "matrices", "fastest", "library", "gemm", "TILES")
    library, held = built(), {}
    record(__doc__, HERE, [experiment(n) for n in SIZES], version(), bursts=True)
