"""Time products whose rows straddle two lines of L2, and those whose rows do not.

python straddling.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch,
writes straddling.txt: the time of 132 tiles of two heights, for rows of 3984 and of
4096 bytes. It also looks at the edges between two launches of cuBLAS in a CUDA graph.
"""

import argparse
import ctypes
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]

from profiled import facts  # noqa: E402

from weft.chapters import Chapter  # noqa: E402  before Numba

Run = Callable[[], Any]

chapter = Chapter("22_hopper_gemm")
TURNS = 13
HEIGHTS = {"128 x 256": 128, "64 x 256": 64}
LENGTHS = 1992, 2048
ORDINARY = 0  # CU_GRAPH_DEPENDENCY_TYPE_DEFAULT


def medians(runs: dict[str, Run]) -> dict[str, float]:
    """Return the µs of a launch, by bursts of launches timed in turns."""
    from weft.timing import BurstStopwatch

    watch, times = BurstStopwatch(), {name: [] for name in runs}
    for turn in range(TURNS + 1):
        order = list(runs)
        first = turn % len(order)
        for name in order[first:] + order[:first]:
            ms = watch.once(runs[name], 0.0).ms
            times[name] += [ms] if turn else []
    return {n: statistics.median(ms) * 1e3 for n, ms in times.items()}


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


def early_edges() -> int:
    """Return how many edges between launches of cuBLAS are programmatic."""
    measure, found = chapter.measure, []
    for sizes in measure.SHAPES.values():
        found += edges(measure.fastest(measure.library(*measure.matrices(*sizes))))
    assert len(found) >= len(measure.SHAPES)
    return sum(kind != ORDINARY for kind in found)


def main() -> None:
    """Write the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    text = "$ python3 straddling.py\n" + facts(ncu=False)
    text += f"# medians of {TURNS} bursts of launches timed in turns\n\n"
    text += f"{'132 tiles':30}{'µs':>8}\n"
    for name, us in medians(products()).items():
        text += f"{name:30}{us:>8.2f}\n"
    text += f"\n{'launches of cuBLAS, six shapes':30}{'edges':>8}\n"
    text += f"{'programmatic':30}{early_edges():>8}\n"
    (given.out / "straddling.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
