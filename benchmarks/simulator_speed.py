"""What a simulated kernel costs, in this course's simulator and in Numba's own.

    python benchmarks/simulator_speed.py [size]   a size × size matmul, side by side
    python benchmarks/simulator_speed.py --plot   cost against threads and accesses
    python benchmarks/simulator_speed.py --draw   the same, from the numbers kept

Each measurement runs in a process of its own, as Numba's simulator can only be chosen
once: the best of five for ours, one run of Numba's. What counts is how long one waits.
Numba runs a thread of the operating system for each CUDA thread, and these mostly wait
for each other: they take 7 s for the matmul, of which the processor works between 3 and
7, depending on how the system spreads them over its cores. Ours works all the time.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TILE = 16
ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_suffix(".json")
FIGURE = ROOT / "book" / "figures" / "simulator_cost.svg"
KINDS = ("numba", "ours", "traced", "sanitised")

SIZES = (16, 32, 48, 64)  # of the matmul: 256 to 4,096 threads
ROUNDS = (16, 64, 256, 1024)  # of `loads`, by 1,024 threads


def measure(which: str, kernel: str, size: int) -> float:
    """Run one kernel one way; give the seconds it takes."""
    global cuda  # where Numba's simulator looks for it
    if which != "numba":
        import weft  # noqa: F401  puts our simulator in place of Numba's
    import numpy as np
    from numba import cuda, float32

    @cuda.jit
    def matmul(a, b, c):
        tile_a = cuda.shared.array((TILE, TILE), float32)
        tile_b = cuda.shared.array((TILE, TILE), float32)
        col, row = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // TILE):
            tile_a[ty, tx] = a[row, t * TILE + tx]
            tile_b[ty, tx] = b[t * TILE + ty, col]
            cuda.syncthreads()
            for k in range(TILE):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        c[row, col] = total

    @cuda.jit
    def loads(x, rounds, out):
        i = cuda.grid(1)
        total = float32(0)
        for k in range(rounds):
            total += x[i + k]
        out[i] = total

    rng = np.random.default_rng(0)
    if kernel == "matmul":
        a, b = (rng.random((size, size), np.float32) for _ in "ab")
        out = np.zeros_like(a)
        config: Any = (size // TILE,) * 2, (TILE, TILE)
        given: tuple[Any, ...] = a, b, out
        run, wanted = matmul, a @ b
    else:
        x, out = rng.random(1024 + size, np.float32), np.zeros(1024, np.float32)
        config, given = (4, 256), (x, size, out)
        run = loads
        wanted = np.convolve(x, np.ones(size), "valid")[:1024]
    launch = way(which)
    best = float("inf")
    for _ in range(1 if which == "numba" else 5):
        start = time.perf_counter()
        launch(run, config, given)
        best = min(best, time.perf_counter() - start)
    np.testing.assert_allclose(out, wanted, rtol=1e-4)
    return best


def way(which: str) -> Callable[[Any, Any, Any], Any]:
    """How to launch: as it is, with a trace, or with a trace and a look for hazards."""
    if which in ("numba", "ours"):
        return lambda kernel, config, given: kernel[config](*given)
    from weft import sanitizer
    from weft.simulator import record

    def launch(kernel: Any, config: Any, given: Any) -> None:
        trace, _ = record(kernel, config, given)
        if which == "sanitised":
            assert sanitizer.races(trace) is None
            assert sanitizer.unwritten(trace) is None

    return launch


def apart(which: str, kernel: str, size: int) -> float:
    """`measure`, in a process of its own."""
    environment = os.environ | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "WEFT_SIMULATOR": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, __file__, which, kernel, str(size)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def compare(size: int = 64) -> dict[str, float]:
    """Measure a matmul every way.

    Gives seconds for each of KINDS, "ratio" (numba / ours) and "sanitised_ratio"
    (numba / sanitised).
    """
    seconds = {which: apart(which, "matmul", size) for which in KINDS}
    return seconds | {
        "ratio": seconds["numba"] / seconds["ours"],
        "sanitised_ratio": seconds["numba"] / seconds["sanitised"],
    }


def series() -> dict[str, Any]:
    """Measure what the plot shows."""
    found: dict[str, Any] = {"threads": {}, "accesses": {}}
    for which in KINDS:
        found["threads"][which] = [
            [size * size, apart(which, "matmul", size)] for size in SIZES
        ]
        found["accesses"][which] = [
            [1024 * (rounds + 1), apart(which, "loads", rounds)] for rounds in ROUNDS
        ]
    found["python"] = sys.version.split()[0]
    return found


STYLES = {  # label, colour, dashes, marker
    "numba": ("Numba's simulator", "#c2680e", (4, 2), "s"),
    "sanitised": ("Warp & Weft, traced, hazards looked for", "#2f81d8", (), "o"),
    "traced": ("Warp & Weft, traced", "#2f81d8", (1, 1.5), "^"),
    "ours": ("Warp & Weft", "#2a9d5c", (6, 1.5, 1, 1.5), "D"),
}
INK = "#010203"  # becomes the colour of the page's text


def draw(found: dict[str, Any]) -> None:
    """Draw the plot that the book shows, in the page's own colours."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {
        "svg.hashsalt": "weft",
        "svg.fonttype": "none",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    for name in ("text.color", "axes.edgecolor", "axes.labelcolor"):
        plt.rcParams[name] = INK
    for name in ("xtick.color", "ytick.color"):
        plt.rcParams[name] = INK
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 3.4), sharey=True)
    for panel, key in zip(panels, ("threads", "accesses"), strict=True):
        for which, (label, colour, dashes, marker) in STYLES.items():
            x, y = zip(*found[key][which], strict=True)
            panel.plot(
                x,
                y,
                color=colour,
                dashes=dashes,
                marker=marker,
                markersize=5,
                label=label,
            )
        panel.set(xscale="log", yscale="log", xlabel=key)
        panel.grid(True, color=INK, alpha=0.15, linewidth=0.6)
        panel.minorticks_off()
    panels[0].set(title="matrix product, 16 × 16 tiles", ylabel="seconds")
    panels[0].set_xticks([n * n for n in SIZES], [f"{n * n:,}" for n in SIZES])
    panels[1].set(title="1,024 threads, longer loops")
    ticks = [points[0] for points in found["accesses"]["ours"]]
    panels[1].set_xticks(ticks, [f"{t / 1000:,.0f} k" for t in ticks])
    seconds = [0.01, 0.1, 1, 10]
    panels[0].set_yticks(seconds, [f"{s:g}" for s in seconds])
    panels[0].legend(frameon=False, fontsize=8.5)
    figure.patch.set_alpha(0)
    for panel in panels:
        panel.patch.set_alpha(0)
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})
    plt.close(figure)
    text = FIGURE.read_text(encoding="utf-8").replace(INK, "currentColor")
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", text)
    FIGURE.write_text(
        "\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8"
    )


def main(args: list[str]) -> None:
    if len(args) == 3:
        print(json.dumps(measure(args[0], args[1], int(args[2]))))
    elif args[:1] == ["--plot"]:
        KEPT.write_text(json.dumps(series(), indent=1) + "\n", encoding="utf-8")
        draw(json.loads(KEPT.read_text(encoding="utf-8")))
    elif args[:1] == ["--draw"]:
        draw(json.loads(KEPT.read_text(encoding="utf-8")))
    else:
        size = int(args[0]) if args else 64
        found = compare(size)
        print(f"{size} × {size} matmul, 16 × 16 tiles, {size * size:,} threads")
        for which in KINDS:
            ratio = found["numba"] / found[which]
            print(f"  {STYLES[which][0]:40} {found[which]:7.3f} s  {ratio:6.1f}×")


if __name__ == "__main__":
    main(sys.argv[1:])
