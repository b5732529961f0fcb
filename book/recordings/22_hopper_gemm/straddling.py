"""Time products whose rows straddle two lines of L2, and those whose rows do not.

python straddling.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch,
writes straddling.txt: the time of 132 tiles of two heights, for rows of 3984 and of
4096 bytes. It also writes the names of cuBLAS's kernels for six shapes, and looks at
the edges between two launches of each in a CUDA graph.
"""

import argparse
import ctypes
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]

from profiled import facts  # noqa: E402

from weft.chapters import Chapter  # noqa: E402  before Numba
from weft.timing import BurstStopwatch, measure  # noqa: E402

Run = Callable[[], Any]

chapter = Chapter("22_hopper_gemm")
HEIGHTS = {"128 x 256": 128, "64 x 256": 64}
LENGTHS = 1992, 2048
ORDINARY = 0  # CU_GRAPH_DEPENDENCY_TYPE_DEFAULT


def right(run: Run, a: Any, w: Any, c: Any) -> None:
    """Raise AssertionError unless a launch gives the product."""
    exact = a.float() @ w.float().t()
    c.fill_(float("nan"))
    run()
    far = (c.float() - exact).abs() - 0.01 * exact.abs()
    assert (far <= 2e-3 * a.shape[1] ** 0.5).all()


def products() -> dict[str, Run]:
    """Return a product of 132 tiles for each height and each length of a row."""
    found = {}
    for k in LENGTHS:
        for name, bm in HEIGHTS.items():
            on = chapter.measure.matrices(12 * bm, 2816, k)
            run = chapter.kernels.gemm(*on, bm=bm, buffers=2, GROUP=4)
            right(run, *on)
            found[f"{name}, k = {k}"] = run
    return found


def edges(run: Run) -> list[int]:
    """Return the types of the edges in a graph of two launches."""
    import torch

    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        run()
        run()
    ask, raw = ctypes.CDLL("libcuda.so.1").cuGraphGetEdges_v2, graph.raw_cuda_graph()
    count = ctypes.c_size_t(0)
    ask(ctypes.c_void_p(raw), None, None, None, ctypes.byref(count))
    starts, ends = ((ctypes.c_void_p * count.value)() for _ in "se")
    data = (ctypes.c_uint8 * (8 * count.value))()
    ask(ctypes.c_void_p(raw), starts, ends, data, ctypes.byref(count))
    return [data[8 * k + 2] for k in range(count.value)]


def names(runs: dict[str, Run]) -> list[str]:
    """Return the name of the kernel that each product launches."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as found:
        for run in runs.values():
            run()
        torch.cuda.synchronize()
    events = sorted(found.events(), key=lambda event: event.time_range.start)
    kernels = [e.name for e in events if re.match(r"\w+_\d+x\d+", e.name)]
    assert len(kernels) == len(runs), kernels
    return kernels


def libraries() -> dict[str, Run]:
    """Return cuBLAS's fastest product for each of the lab's shapes."""
    of = chapter.measure
    return {
        name: of.fastest(of.library(*of.matrices(*sizes)))
        for name, sizes in of.SHAPES.items()
    }


def main() -> None:
    """Write the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    text = "$ python3 straddling.py\n" + facts(ncu=False)
    text += "# medians of bursts of launches timed in turns\n\n"
    text += f"{'132 tiles':30}{'µs':>8}\n"
    for name, timing in measure(products(), BurstStopwatch()).items():
        text += f"{name:30}{timing.ms * 1e3:>8.2f}\n"
    found = libraries()
    kinds = [kind for run in found.values() for kind in edges(run)]
    assert len(kinds) >= len(found)
    early = sum(kind != ORDINARY for kind in kinds)
    text += f"\n{'launches of cuBLAS, six shapes':30}{'edges':>8}\n"
    text += f"{'programmatic':30}{early:>8}\n\nkernels of cuBLAS\n"
    for name, kernel in zip(found, names(found), strict=True):
        text += f"{name:16}{kernel}\n"
    (given.out / "straddling.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
