"""Measure the limits of this machine, which bound every kernel that runs on it.

Hardly anything moves bytes faster than a plain copy, or multiplies large matrices
faster than the vendor's library. A kernel is good if it comes near one of these limits.
(Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009.)
"""

import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from weft import store, units
from weft.device import cpu
from weft.device.gpu import Device, driver_version, find
from weft.wording import several

FILE = "ceilings.json"
METHOD = "L2 emptied by reading"  # rates measured by another method are measured again


@dataclass(frozen=True)
class Ceilings:
    """The rates measured on a machine; NaN where a rate could not be measured.

    copy: bytes/s of a device-to-device copy, read and written bytes together.
    fp32: flop/s of a float32 matrix product on the ordinary cores (no TF32).
    tensor: flop/s of a matrix product on the tensor cores in the type `tensor_type`.
    """

    name: str
    on_gpu: bool
    copy: float = math.nan
    fp32: float = math.nan
    tensor: float = math.nan
    tensor_type: str = ""
    versions: str = ""
    date: str = ""

    def __str__(self) -> str:
        parts = [
            f"copy {units.rate(self.copy, 'B')}",
            f"fp32 {units.rate(self.fp32, 'FLOP')}",
        ]
        if math.isfinite(self.tensor):
            parts.append(f"{self.tensor_type} tensor {units.rate(self.tensor, 'FLOP')}")
        return " · ".join(parts)

    def roof(self, flops: float, bytes: float) -> float:
        """Return the least time, in ms, in which this machine can do the work.

        flops: float32 operations; bytes: read plus written. The result is the larger of
        the two times that the copy rate and the fp32 rate allow (the roofline model).
        """
        return max(flops / self.fp32, bytes / self.copy) * 1e3


def of_this_machine(again: bool = False) -> Ceilings:
    """Return the ceilings of this machine's GPU, or of its CPU if there is none.

    They are measured once for each GPU and driver and kept in the store. again: whether
    to measure anew. Raises LearnerError if there is a GPU but no PyTorch that can use
    it.
    """
    gpu = find()
    name = gpu.name if gpu.usable else cpu_name()
    versions = "numpy"
    if gpu.usable:
        versions = f"driver {driver_version()}, {METHOD}"
    path = store.place(FILE, cache=True)
    known, _ = store.read(path)
    kept = _from_json(known.get(name))
    if kept is not None and kept.versions == versions and not again:
        return kept
    measured = _measure_gpu(gpu) if gpu.usable else _measure_cpu()
    found = Ceilings(
        name, gpu.usable, *measured, versions=versions, date=store.now()[:10]
    )
    entry = {
        k: v
        for k, v in asdict(found).items()
        if not (isinstance(v, float) and math.isnan(v))
    }
    store.write(path, {**known, name: entry})
    return found


def _from_json(entry: object) -> Ceilings | None:
    """Return the ceilings in an entry of the file, or None for an invalid entry."""
    if not isinstance(entry, dict):
        return None
    try:
        found = Ceilings(**entry)
    except TypeError:
        return None
    rates = (found.copy, found.fp32, found.tensor)
    return found if all(isinstance(r, int | float) for r in rates) else None


def _measure_gpu(gpu: Device) -> tuple[float, float, float, str]:
    """Measure a GPU with PyTorch; return (copy, fp32, tensor, tensor_type)."""
    from weft import timing

    stopwatch = timing.EventStopwatch()
    import torch

    # half a GiB each, well beyond any L2; less on a GPU with little free memory
    count = min(1 << 29, torch.cuda.mem_get_info()[0] // 8)
    x = torch.empty(count, dtype=torch.int8, device="cuda").random_()
    out = torch.empty_like(x)
    n, m = 4096, 8192 if gpu.memory > 2e10 else 4096
    # bf16 came with Ampere; a T4's tensor cores support fp16
    kind = torch.bfloat16 if gpu.capability >= (8, 0) else torch.float16
    a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
    ab = torch.empty_like(a)
    p, q = (torch.randn(m, m, device="cuda").to(kind) for _ in range(2))
    pq = torch.empty_like(p)

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        times = timing.measure(
            {
                "copy": lambda: out.copy_(x),
                "fp32": lambda: torch.mm(a, b, out=ab),
                "tensor": lambda: torch.mm(p, q, out=pq),
            },
            stopwatch,
        )
    finally:
        torch.set_float32_matmul_precision(before)
    return (
        2 * count / times["copy"].ms * 1e3,
        2 * n**3 / times["fp32"].ms * 1e3,
        2 * m**3 / times["tensor"].ms * 1e3,
        "bf16" if kind is torch.bfloat16 else "fp16",
    )


def _measure_cpu() -> tuple[float, float, float, str]:
    """Measure the CPU with NumPy; return (copy, fp32, NaN, "")."""
    import numpy as np

    x = np.ones(1 << 24, np.float32)  # 64 MiB, larger than most last-level caches
    out = np.empty_like(x)
    copy = _seconds(lambda: np.copyto(out, x))
    n = 1024
    a = np.random.default_rng(0).random((n, n), np.float32)
    ab = np.empty_like(a)
    product = _seconds(lambda: np.matmul(a, a, out=ab))
    return 2 * x.nbytes / copy, 2 * n**3 / product, math.nan, ""


def _seconds(function: Callable[[], Any]) -> float:
    """Return the median time of 7 calls, in seconds, after one call to warm up."""
    function()
    times = []
    for _ in range(7):
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def cpu_name() -> str:
    """Return the processor's name, with the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return f"{cpu.name()}, {several(cores, 'core')}"
