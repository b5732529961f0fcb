"""Time the CuTe DSL's product beside cuBLAS and chapter 21's, and write a table.

python factors.py CUBINS [--out FOLDER], on a machine with an H200, Numba, PyTorch and
CuPy. CUBINS is the folder that `product.py --cubins` has made; the DSL is not needed.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, Launch, record  # noqa: E402

FEW = 256  # rows of a product that are compared, at both ends


def by_cute(n: int, *matrices: Any) -> Launch:
    """Return a launch of the compiled kernel for n x n matrices a, w and c."""
    import cupy
    import torch

    made = about[str(n)]
    module = cupy.RawModule(path=str(cubins / f"{n}.cubin"))
    kernel = module.get_function(made["name"])
    kernel.max_dynamic_shared_size_bytes = shared = made["shared"]
    at = tuple(cupy.uint64(matrix.data_ptr()) for matrix in matrices)

    def launch() -> None:
        stream = torch.cuda.current_stream().cuda_stream
        with cupy.cuda.ExternalStream(stream):
            grid, block = (made["blocks"],), (made["threads"],)
            kernel(grid, block, at, shared_mem=shared)

    return launch


def experiment(n: int) -> Experiment:
    """Return the table for n x n matrices."""
    held: dict[str, Any] = {}

    def launches() -> dict[str, Callable[[], Any]]:
        held["all"] = a, w, c = of.matrices(n, n, n)
        b = w.t().contiguous()
        return {
            "cuBLAS": of.fastest(of.library(a, w, c)),
            "CuTe DSL": by_cute(n, a, w, c),
            "chapter 21, 64 x 64": of.launch_large(128, 128, 64, 64, a, b, c),
            "chapter 21, 256 x 128": of.launch_large(
                *(256, 128, 64, 64, a, b, c), STAGES=4, SETS=2
            ),
        }

    def right(name: str) -> None:
        import torch

        a, w, c = held["all"]
        for rows in (slice(FEW), slice(-FEW, None)):
            wanted = torch.mm(a[rows].float(), w.float().t())
            off = (c[rows].float() - wanted).abs().max()
            assert off < 0.02 * wanted.abs().max(), name
        c.fill_(float("nan"))

    return Experiment(f"{n} x {n} x {n} bfloat16", launches, "cuBLAS", right)


if __name__ == "__main__":
    cubins = Path(sys.argv.pop(1)).resolve()
    about = json.loads((cubins / "about.json").read_text(encoding="utf-8"))
    of = lab("22_hopper_gemm", "matrices", "fastest", "library")
    of.launch_large = lab("21_tensor_cores", "launch_large").launch_large
    tables = [experiment(n) for n in (8192, 4096)]
    record(__doc__, HERE, tables, about["version"], bursts=True)
