"""Time compactions and scans of lab 15 beside CUB's, and write down what each takes.

python factors.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and nvcc.
"""

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, Launch, record  # noqa: E402

WANTED = (
    *("selections", "three_kernels", "count_fours", "keep_fours", "keeping"),
    *("libraries", "in_one_pass", "once_sixteen", "in_rounds", "two_rounds"),
    *("x", "out", "exact_sums", "use", "keep_positive"),
)
FLAGS = "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC"
RELAXED = "--expt-relaxed-constexpr"  # or a kernel could not call std::plus


def built() -> ctypes.CDLL:
    """Compile device_select.cu and load it. Raises CalledProcessError, with nvcc's."""
    target = Path(tempfile.mkdtemp()) / "device_select.so"
    source = HERE / "device_select.cu"
    command = ["nvcc", *FLAGS, RELAXED, "-o", str(target), str(source)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def called(function: Any, *between: Any) -> Callable[[], None]:
    """Return a launch of a function of device_select.cu, its memory allocated.

    between: its arguments after the size of the temporary memory, before the stream.
    """
    import torch

    def call(temp: Any, size: Any) -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if status := function(temp, size, *between, stream):
            raise RuntimeError(f"CUB reports CUDA error {status}")

    size = ctypes.c_size_t(0)
    call(None, ctypes.byref(size))
    temp = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    return lambda: call(ctypes.c_void_p(temp.data_ptr()), ctypes.byref(size))


def version() -> str:
    """Return CUB's version, a line of the recording."""
    major, rest = divmod(library.version(), 100_000)
    return f"# CUB {major}.{rest // 100}.{rest % 100}, nvcc {' '.join(FLAGS[:2])}\n"


def compactions() -> dict[str, Launch]:
    """Return the ways to keep what is positive: PyTorch's, CUB's, the lab's."""
    import torch

    mask = of.x > 0
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    tensors = {"x": of.x, "mask": mask, "out": of.out, "count": count}
    at = {name: ctypes.c_void_p(t.data_ptr()) for name, t in tensors.items()}
    n = ctypes.c_int(of.x.numel())
    found = of.selections()
    chosen = ("copy", "torch.masked_select", "torch, x[x > 0]")
    return {name: found[name] for name in chosen} | {
        "cub::DeviceSelect::Flagged, mask given": called(
            library.select_flagged, at["x"], at["mask"], at["out"], at["count"], n
        ),
        "cub::DeviceSelect::If": called(
            library.select_positive, at["x"], at["out"], at["count"], n
        ),
        "three kernels": of.three_kernels(),
        "the same, fours": of.three_kernels(of.count_fours, of.keep_fours, 4, 256),
        "two rounds later": of.keeping()[0],
    }


def scans() -> dict[str, Launch]:
    """Return the ways to scan: PyTorch's, CUB's with both additions, the lab's."""
    x, out = (ctypes.c_void_p(t.data_ptr()) for t in (of.x, of.out))
    n = ctypes.c_int(of.x.numel())
    return of.libraries() | {
        "cub::DeviceScan, std::plus": called(library.scan_plus, x, out, n),
        "cub::DeviceScan::InclusiveSum": called(library.scan_sum, x, out, n),
        "sixteen fours": of.in_one_pass(of.once_sixteen, items=64, block=128),
        "two rounds later": of.in_rounds(of.two_rounds),
    }


def right(name: str) -> None:
    """Compare what a launch has left in out with PyTorch's answer."""
    import torch

    if not name.startswith(("copy", "torch")):
        kept = of.x[of.x > 0]
        assert torch.equal(of.out[: kept.numel()], kept), name
        of.out.fill_(float("nan"))


def right_sums(name: str) -> None:
    """Compare the sums that a launch has left in out with those in float64."""
    if not name.startswith(("copy", "torch")):
        exact = of.exact_sums()
        off = (of.out - exact).abs().max()
        assert off < 1e-4 * exact.abs().max(), name
        of.out.fill_(float("nan"))


if __name__ == "__main__":
    of, library = lab(HERE.name, *WANTED), built()
    of.use(keep_positive=of.keep_positive)
    kept = Experiment(
        "2^28 float32, keep half", compactions, "torch.masked_select", right
    )
    scanned = Experiment("2^28 float32, scan", scans, "torch.cumsum", right_sums)
    record(__doc__, HERE, [kept, scanned], version())
