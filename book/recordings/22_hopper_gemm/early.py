"""Time chapter 22's GEMM with launches that overlap, and without, beside cuBLAS.

python early.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch,
writes early.json and early.txt. python early.py --table writes early.txt from
early.json, without a GPU.
"""

import argparse
import ctypes
import json
import statistics
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]

import weft  # noqa: E402  before Numba
from weft.chapters import Chapter  # noqa: E402
from weft.intrinsics import griddep_launch, griddep_wait  # noqa: E402

from numba import cuda  # noqa: E402  isort: skip

Run = Callable[[], Any]

chapter = Chapter("22_hopper_gemm")
produce_tiles = chapter.kernels.produce
TURNS = 15
KERNELS = {  # shape → the chapter's tiles for it
    "1024³": "64 x 128",
    "2048³": "128 x 256, deep",
    "ragged": "128 x 256, cluster",
}
EARLY = ", early"
ORDINARY = 0  # CU_GRAPH_DEPENDENCY_TYPE_DEFAULT


@cuda.jit(device=True)
def produce_early(map_a, map_w, memory, full, empty, tiles, sizes):
    """Load the stages of all tiles of this block, once earlier grids have ended."""
    griddep_launch()
    griddep_wait()
    produce_tiles(map_a, map_w, memory, full, empty, tiles, sizes)


def early_gemm(a: Any, w: Any, c: Any, **sizes: Any) -> Run:
    """Return a function that computes c = a @ w.T, in launches that begin early."""
    kernels, real = chapter.kernels, weft.prepare
    kernels.prepare = lambda kernel, cluster: real(kernel, cluster, early=True)
    try:
        run: Run = kernels.gemm(a, w, c, **sizes, produce=produce_early)
    finally:
        kernels.prepare = real
    return run


def right(run: Run, a: Any, w: Any, c: Any) -> None:
    """Raise AssertionError unless 30 launches in a row give the product."""
    exact = a.float() @ w.float().t()
    for _ in range(30):
        c.fill_(float("nan"))
        run()
    far = (c.float() - exact).abs() - 0.01 * exact.abs()
    assert (far <= 2e-3 * a.shape[1] ** 0.5).all()


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


def timed(shape: str) -> list[dict[str, Any]]:
    """Return the rows of a shape: cuBLAS, the chapter's kernel, the same early."""
    from weft.timing import BurstStopwatch

    measure = chapter.measure
    on = measure.matrices(*measure.SHAPES[shape])
    tile = KERNELS[shape]
    sizes = measure.TILES[tile]
    runs = {
        "cuBLAS": measure.fastest(measure.library(*on)),
        tile: chapter.kernels.gemm(*on, **sizes),
        tile + EARLY: early_gemm(*on, **sizes),
    }
    for run in runs.values():
        right(run, *on)
    watch, times = BurstStopwatch(), {name: [] for name in runs}
    for turn in range(TURNS + 1):
        order = list(runs)
        for name in order[turn % 3 :] + order[: turn % 3]:
            ms = watch.once(runs[name], 0.0).ms
            times[name] += [ms] if turn else []
    rows = []
    for name, found in times.items():
        low, middle, high = statistics.quantiles(found, n=4)
        one = {"case": shape, "name": name, "us": round(middle * 1e3, 3)}
        rows.append(one | {"spread": round((high - low) * 1e3, 3), "reps": TURNS})
    rows[0]["edges"] = edges(runs["cuBLAS"])
    return rows


def table(data: dict[str, Any]) -> str:
    """Set a table for each shape: time, spread and share of cuBLAS's speed."""
    text = f"# {data['device']}, {data['date']}\n"
    text += "".join(f"# {line}\n" for line in data["made by"])
    ordinary = all(set(row.get("edges", ())) <= {ORDINARY} for row in data["rows"])
    if ordinary:
        text += "# no edge between two launches of cuBLAS is programmatic\n"
    for shape in KERNELS:
        rows = [row for row in data["rows"] if row["case"] == shape]
        lines = [(shape, "µs", "spread", "of cuBLAS")]
        for row in rows:
            share = f"{rows[0]['us'] / row['us']:.1%}"
            spread = f"{row['spread'] / row['us']:.1%}"
            lines.append((row["name"], f"{row['us']:.4g}", spread, share))
        text += "\n" + "".join(
            f"{name:40}{us:>12}{spread:>12}{share:>12}\n"
            for name, us, spread, share in lines
        )
    return text


def machine(how: str) -> tuple[str, list[str]]:
    """Return the device with the date, and lines on how its figures were made."""
    from profiled import facts

    first, *more = (line.removeprefix("# ") for line in facts(ncu=False).splitlines())
    return first, [*more, how]


def record(
    program: str,
    description: str | None,
    measured: Callable[[], dict[str, Any]],
    table: Callable[[dict[str, Any]], str],
) -> None:
    """Do what a program's options say: measure or not, then write the table.

    program: the program's file, whose name both files have.
    """
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    options.add_argument("--table", action="store_true")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / Path(program).with_suffix(".json").name
    if not given.table:
        text = json.dumps(measured(), indent=1)
        path.write_text(text + "\n", encoding="utf-8")
    data = json.loads(path.read_text(encoding="utf-8"))
    path.with_suffix(".txt").write_text(table(data), encoding="utf-8")


def measured() -> dict[str, Any]:
    """Time all shapes, and say on what."""
    device, made = machine(
        f"medians of {TURNS} bursts of launches timed in turns, each after a pause"
    )
    return {
        "device": device.partition(",")[0],
        "date": str(date.today()),
        "made by": made,
        "rows": [row for shape in KERNELS for row in timed(shape)],
    }


if __name__ == "__main__":
    record(__file__, __doc__, measured, table)
