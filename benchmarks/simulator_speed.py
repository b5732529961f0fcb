"""What a simulated kernel costs, in this course's simulator and in Numba's own.

    python benchmarks/simulator_speed.py [size]   a size × size matmul, side by side
    python benchmarks/simulator_speed.py --plot   cost against threads and accesses
    python benchmarks/simulator_speed.py --waited how long one waits for the matmul;
                                                  begins when no other program runs
    python benchmarks/simulator_speed.py --draw   the plot, from the numbers kept

Each measurement runs in a process of its own, as Numba's simulator can only be chosen
once: the best of some runs for ours, one run of Numba's. There are two clocks.

Processor time, on one core, is nearly the same however busy the machine is. The plot is
of it. What remains of the difference goes when it is divided by that of a yardstick, a
fixed loop of Python which the same process runs before and after each launch.

How long one waits is another matter. Numba runs a thread of the operating system for
each CUDA thread, and Python lets one of them run at a time. On one core they take
turns. On several they fight for their turn, and the same matmul takes nearly three
times as long; the other cores must be free for that, which `busy` tells. Ours is one
thread of the operating system, and takes the same time on any number of cores.

`simulator_speed.json` keeps a series of these numbers for each way in which our
simulator has run threads, with the commit that was measured: as greenlets, and as
generators. The plot and the pages show the last. `backends.py` compares the two.
"another processor" has four more runs of the matmul on another machine, where both
ratios are lower.
"""

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_suffix(".json")
FIGURE = ROOT / "book" / "figures" / "simulator_cost.svg"
KINDS = ("numba", "ours", "traced", "sanitised")

THREADS = (256, 1024, 4096, 16384)  # with 16 rounds of `loads` each
ROUNDS = (16, 64, 256, 1024)  # of `loads`, by 1,024 threads
QUIET = 0.05  # of a core, for other programs


def measure(which: str, kernel: str, size: int, rounds: int, pinned: bool) -> Any:
    """Run one kernel one way; give seconds of waiting and of the processor.

    size: of the matmul, or the number of threads of `loads`. "bytes" is by how much
    the process grew at most, "relative" the processor time in yardsticks.
    """
    if pinned:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if which != "numba":
        import weft  # noqa: F401  puts our simulator in place of Numba's
    import numpy as np
    from launches import TILE, loads, matmul

    rng = np.random.default_rng(0)
    if kernel == "matmul":
        a, b = (rng.random((size, size), np.float32) for _ in "ab")
        out = np.zeros_like(a)
        config: Any = (size // TILE,) * 2, (TILE, TILE)
        given: tuple[Any, ...] = a, b, out
        run, wanted = matmul, a @ b
    else:
        x, out = rng.random(size + rounds, np.float32), np.zeros(size, np.float32)
        config, given = (size // 256, 256), (x, rounds, out)
        run = loads
        wanted = np.convolve(x, np.ones(rounds), "valid")[:size]
    launch = way(which)
    before = grown()
    waited = worked = relative = float("inf")
    length = yardstick()
    for _ in range(1 if which == "numba" else 5 if kernel == "matmul" else 3):
        start, start_work = time.perf_counter(), time.process_time()
        launch(run, config, given)
        waited = min(waited, time.perf_counter() - start)
        spent = time.process_time() - start_work
        earlier, length = length, yardstick()
        worked = min(worked, spent)
        relative = min(relative, 2 * spent / (earlier + length))
    np.testing.assert_allclose(out, wanted, rtol=1e-4)
    return {
        "waited": waited,
        "worked": worked,
        "relative": relative,
        "bytes": grown() - before,
    }


def yardstick() -> float:
    """Processor time of a fixed loop of Python: how fast this machine is just now."""
    start, total = time.process_time(), 0
    for k in range(1_000_000):
        total += k & 7
    return time.process_time() - start


def grown() -> int:
    """The most bytes that the process has had in memory so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def way(which: str) -> Callable[[Any, Any, Any], Any]:
    """How to launch: as it is, with a trace, or as a check that looks for hazards.

    In "rows" each access is written down in order, as if the notes of the launch had
    not proved that there is no hazard.
    """
    if which in ("numba", "ours"):
        return lambda kernel, config, given: kernel[config](*given)
    from weft.kernels import hazards
    from weft.simulator import record

    def launch(kernel: Any, config: Any, given: Any) -> None:
        trace, _ = record(kernel, config, given, rows=which == "rows")
        if which in ("sanitised", "rows"):
            assert hazards.find(trace) is None

    return launch


def apart(
    which: str, kernel: str, size: int, rounds: int = 0, pinned: bool = False
) -> dict[str, float]:
    """`measure`, in a process of its own."""
    environment = os.environ | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "WEFT_SIMULATOR": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, __file__, which, kernel, str(size), str(rounds), str(+pinned)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(size: int = 64, pinned: bool = False) -> dict[str, Any]:
    """Measure a matmul every way: seconds waited, or of the processor if `pinned`.

    Gives seconds for each of KINDS, "ratio" (numba / ours), "sanitised_ratio" (numba /
    sanitised), and "others": the cores that other programs used meanwhile.
    """
    clock = "worked" if pinned else "waited"
    before, start = busy(), time.perf_counter()
    found: dict[str, Any] = {
        which: apart(which, "matmul", size, pinned=pinned)[clock] for which in KINDS
    }
    others = (busy() - before) / (time.perf_counter() - start)
    return found | {
        "ratio": found["numba"] / found["ours"],
        "sanitised_ratio": found["numba"] / found["sanitised"],
        "others": others,
    }


def compare_in_quiet() -> dict[str, Any]:
    """`compare`, as soon as no other program runs."""
    while True:
        before = busy()
        time.sleep(2)
        if busy() - before < 2 * QUIET:
            found = compare()
            if found["others"] < QUIET:
                return found


def busy() -> float:
    """Seconds of all cores that went to others than our child processes (Linux)."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(n) for n in file.readline().split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = ticks[:8]
    all_of_them = user + nice + system + irq + softirq + steal
    own = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, CHILDREN)]
    return all_of_them / os.sysconf("SC_CLK_TCK") - sum(
        u.ru_utime + u.ru_stime for u in own
    )


CHILDREN = resource.RUSAGE_CHILDREN


def series() -> dict[str, Any]:
    """Measure what the plot shows: seconds of the processor, on one core."""
    found: dict[str, Any] = {"threads": {}, "accesses": {}}
    for which in KINDS:
        found["threads"][which] = [
            [n, apart(which, "loads", n, 16, True)["worked"]] for n in THREADS
        ]
        found["accesses"][which] = [
            [1024 * (rounds + 1), apart(which, "loads", 1024, rounds, True)["worked"]]
            for rounds in ROUNDS
        ]
    accesses = 1024 * (ROUNDS[-1] + 1)
    found["bytes_per_access"] = {
        which: round(apart(which, "loads", 1024, ROUNDS[-1])["bytes"] / accesses)
        for which in ("traced", "sanitised", "rows")
    }
    found["rows"] = [accesses, apart("rows", "loads", 1024, ROUNDS[-1], True)["worked"]]
    found["one core"] = compare(pinned=True)
    found["python"] = sys.version.split()[0]
    return found


def keep(found: dict[str, Any], more: bool = False) -> None:
    """Write a series instead of the last one, or add what it has `more`."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    last = kept["series"][-1]
    named = {"simulator": last["simulator"], "commit": commit(ROOT), "date": today()}
    kept["series"][-1] = last | found if more else named | found
    KEPT.write_text(written(kept), encoding="utf-8")


def written(kept: dict[str, Any]) -> str:
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def commit(checkout: Path) -> str:
    """The last commit in a checkout that changed the package."""
    command = ["git", "-C", str(checkout), "log", "-1", "--format=%h", "--abbrev=8"]
    done = subprocess.run(
        [*command, "--", "weft"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


STYLES = {  # label, dashes, marker, filled
    "numba": ("Numba's simulator", (5, 2), "s", False),
    "sanitised": ("ours, traced, hazards looked for", (), "o", True),
    "traced": ("ours, traced", (1, 1.5), "^", True),
    "ours": ("ours", (), "D", False),
}
INK = "#010203"  # becomes the colour of the page's text


def draw(found: dict[str, Any]) -> None:
    """Draw what the book shows: two panels side by side, and on a phone stacked."""
    draw_to(FIGURE, found, (1, 2), (7.3, 3.5), font=10, legend=9)
    narrow = FIGURE.parent / "narrow" / FIGURE.name
    narrow.parent.mkdir(exist_ok=True)
    draw_to(narrow, found, (2, 1), (4.7, 6.6), font=12, legend=12)


def draw_to(
    path: Path,
    found: dict[str, Any],
    grid: tuple[int, int],
    inches: tuple[float, float],
    font: float,
    legend: float,
) -> None:
    """Draw the panels on a grid, in the colour of the page's text."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {
        "svg.hashsalt": "weft",
        "svg.fonttype": "none",
        "font.size": font,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    for part in ("text.color", "axes.edgecolor", "axes.labelcolor"):
        plt.rcParams[part] = INK
    for part in ("xtick.color", "ytick.color"):
        plt.rcParams[part] = INK
    figure, panels = plt.subplots(*grid, figsize=inches, sharey=True)
    for panel, key in zip(panels, ("threads", "accesses"), strict=True):
        for which, (label, dashes, marker, filled) in STYLES.items():
            x, y = zip(*found[key][which], strict=True)
            panel.plot(
                x,
                y,
                color=INK,
                dashes=dashes,
                linewidth=1.2,
                marker=marker,
                markersize=5,
                markerfacecolor=INK if filled else "none",
                label=label,
            )
        ticks = [point[0] for point in found[key]["ours"]]
        panel.set(xscale="log", yscale="log")
        names = [f"{tick / 1000:,.0f} k" for tick in ticks]
        if key == "threads":
            names = [f"{tick:,}" for tick in ticks]
        panel.set_xticks(ticks, names)
        panel.minorticks_off()
        panel.grid(True, color=INK, alpha=0.15, linewidth=0.6)
        panel.patch.set_alpha(0)
    panels[0].set(xlabel="threads, of 17 accesses each")
    panels[1].set(xlabel="accesses, by 1,024 threads")
    seconds = [0.001, 0.01, 0.1, 1, 10]
    panels[0].set_yticks(seconds, [f"{s:g}" for s in seconds])
    stacked = grid[0] > 1
    for panel in panels if stacked else panels[:1]:
        panel.set_ylabel("seconds, on one core")
    figure.patch.set_alpha(0)
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        lines,
        labels,
        loc="upper center",
        ncols=1 if stacked else len(labels),
        frameon=False,
        fontsize=legend,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.83 if stacked else 0.92))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    path.write_text(plain(path.read_text(encoding="utf-8")), encoding="utf-8")


def plain(svg: str) -> str:
    """What matplotlib writes as it may stand within a page, in the page's font."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r" font-family: [^;]*;", "", svg)
    svg = svg.replace(
        "<svg ", '<svg font-family="system-ui, sans-serif" stroke-linejoin="round" ', 1
    )
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main(args: list[str]) -> None:
    if len(args) == 5:
        size, rounds, pinned = map(int, args[2:])
        print(json.dumps(measure(args[0], args[1], size, rounds, bool(pinned))))
    elif args[:1] == ["--waited"]:
        keep({"waited": compare_in_quiet()}, more=True)
    elif args[:1] in (["--plot"], ["--draw"]):
        if args[0] == "--plot":
            keep(series())
        draw(json.loads(KEPT.read_text(encoding="utf-8"))["series"][-1])
    else:
        size = int(args[0]) if args else 64
        for pinned in (False, True):
            found = compare(size, pinned)
            print(
                f"{size} × {size} matmul, 16 × 16 tiles, {size * size:,} threads: "
                + ("processor time on one core" if pinned else "waited for")
            )
            for which in KINDS:
                ratio = found["numba"] / found[which]
                print(f"  {STYLES[which][0]:40} {found[which]:7.3f} s  {ratio:6.1f}×")
            print(f"  other programs: {found['others']:.2f} of a core")


if __name__ == "__main__":
    main(sys.argv[1:])
