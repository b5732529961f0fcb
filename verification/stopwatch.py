"""Show on this machine's GPU that the stopwatch of `weft.bench` is clean and cold.

    python -m verification.stopwatch OUT.json

Before each call the stopwatch empties the L2 cache. Two things can go wrong. The cache
may be left full of data that must still be written to memory, which then happens in the
call's time; or it may still hold some of what the call reads. So the same kernels are
timed after several ways of emptying the cache. If Nsight Compute is on the PATH, it
counts the bytes that memory moves during each. All of this takes about 20 s. The exit
status is 1 if the stopwatch that weft uses fails, 2 if there is no GPU to try it on.

What a call has written and left in L2 is not waited for. The rows of `write` and `copy`
show how much that is; nothing is asserted of them.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # isort: skip

from verification import reports
from weft import device, timing, units

MIB = 1 << 20
THREADS = 1 << 20  # a power of two, so that it divides the sizes
SIZES = {  # by kernel: bytes that it reads, bytes that it writes
    "read 1 GiB": (1024 * MIB, 0),
    "read 64 MiB": (64 * MIB, 0),
    "write 64 MiB": (0, 64 * MIB),
    "copy 512 MiB": (512 * MIB, 512 * MIB),
}
OURS = "weft"  # the stopwatch's own way of emptying the cache
READS = (1, 2, 3, 4)  # multiples of the size of L2
WAYS = ("none", "write 2x", *(f"read {k}x" for k in READS), OURS)
COUNTED = 3  # launches of each kernel under Nsight Compute
METRICS = {"read": "dram__bytes_read", "written": "dram__bytes_write"}
LIMIT = 90  # seconds that Nsight Compute may take

DIRTY = 0.02  # of the bytes that a kernel reads, written meanwhile by something else
COLD = 0.95  # of the bytes that it reads, at least, must come from memory
SLOWER = 1.02  # times as long as after the longest eviction


@cuda.jit(cache=True)
def timed_read(x, out):
    """Read x, four elements per iteration, so that the compiler keeps the loads."""
    step = cuda.gridsize(1)
    total = float32(0)
    for i in range(cuda.grid(1), x.size, 4 * step):
        total += x[i] + x[i + step] + x[i + 2 * step] + x[i + 3 * step]
    if total < float32(-1e30):
        out[0] = total


@cuda.jit(cache=True)
def timed_write(x, out):
    """Fill out, whose size is a multiple of the grid's."""
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = float32(1)


@cuda.jit(cache=True)
def timed_copy(x, out):
    """Copy x to out, four elements per iteration."""
    step = cuda.gridsize(1)
    for i in range(cuda.grid(1), x.size, 4 * step):
        a, b, c, d = x[i], x[i + step], x[i + 2 * step], x[i + 3 * step]
        out[i], out[i + step] = a, b
        out[i + 2 * step], out[i + 3 * step] = c, d


@dataclass(frozen=True)
class Row:
    """One kernel after one way of emptying the cache; None for what was not counted.

    ms: its time; spread: of its time; read, written: bytes that memory moved meanwhile.
    """

    way: str
    kernel: str
    ms: float
    spread: float
    read: int | None = None
    written: int | None = None


def kernels(torch: Any) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name: kernels launched on the whole grid."""
    big = torch.zeros(1024 * MIB // 4, device="cuda")
    array = cuda.as_cuda_array
    whole, part = array(big), array(big[: 64 * MIB // 4])
    near, far = array(big[: 512 * MIB // 4]), array(big[512 * MIB // 4 :])
    shape = THREADS // 256, 256
    return {
        "read 1 GiB": lambda: timed_read[shape](whole, part),
        "read 64 MiB": lambda: timed_read[shape](part, far),
        "write 64 MiB": lambda: timed_write[shape](far, part),
        "copy 512 MiB": lambda: timed_copy[shape](near, far),
    }


def evictions(torch: Any) -> dict[str, Callable[[], object]]:
    """Return the ways to empty the cache, by name, without "none"."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    dirty = torch.empty(2 * l2, dtype=torch.int8, device="cuda")
    ways: dict[str, Callable[[], object]] = {"write 2x": dirty.zero_}
    for k in READS:
        ways[f"read {k}x"] = timing.reader(torch, times=k, least=0)
    return ways | {OURS: timing.reader(torch)}


def timed(torch: Any) -> dict[tuple[str, str], timing.Timing]:
    """Time every kernel after every eviction; return the times by (way, kernel)."""
    functions = kernels(torch)
    found = {}
    for name, function in functions.items():  # as the eviction is part of the function
        again = timing.EventStopwatch(function)
        found["none", name] = timing.measure({name: function}, again)[name]
    for way, evict in evictions(torch).items():
        times = timing.measure(functions, timing.EventStopwatch(evict))
        found |= {(way, name): time for name, time in times.items()}
    return found


def plan() -> Iterator[tuple[str, str]]:
    """Yield (way, kernel) in the order in which `launch_all` launches."""
    for way in WAYS:
        for name in SIZES:
            for _ in range(COUNTED):
                yield way, name


def launch_all(torch: Any) -> None:
    """Launch everything in the plan, for Nsight Compute to count.

    Before each launch the cache is filled with data that must be written, as by a
    candidate that was timed before.
    """
    functions, ways = kernels(torch), evictions(torch)
    for way, name in plan():
        if way != "none":
            ways["write 2x"]()
            ways[way]()
        functions[name]()
        torch.cuda.synchronize()


def ncu(report: Path) -> list[str]:
    """Return the command that launches everything and counts the bytes memory moves."""
    return [
        *("ncu", "--replay-mode", "application", "--cache-control", "none"),
        *("--clock-control", "none", "--kernel-name-base", "demangled"),
        *("--kernel-name", "regex:.*timed_.*", "--csv", "--page", "raw"),
        *("--print-units", "base", "--log-file", str(report)),
        *("--metrics", ",".join(f"{metric}.sum" for metric in METRICS.values())),
        *(sys.executable, "-m", "verification.stopwatch", "--launch"),
    ]


def counted() -> tuple[dict[tuple[str, str], dict[str, int]], str]:
    """Return the median bytes that memory moves in each launch, or {} and why."""
    if not shutil.which("ncu"):
        return {}, "ncu is not on the PATH"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.csv")
        try:
            done = subprocess.run(
                ncu(report), capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return {}, f"ncu took longer than {LIMIT} s"
        text = report.read_text(errors="replace") if report.exists() else ""
        if done.returncode or '"ID"' not in text:
            said = f"{text}\n{done.stdout}\n{done.stderr}".strip().splitlines()
            return {}, "ncu failed: " + " / ".join(said[-3:])
        return paired([values for _, values in reports.metrics(report)])


def paired(
    launches: list[dict[str, int]],
) -> tuple[dict[tuple[str, str], dict[str, int]], str]:
    """Return the median of each pair's launches in the plan, or {} and why."""
    pairs = list(plan())
    if len(launches) != len(pairs):
        return {}, f"ncu saw {len(launches)} launches, not {len(pairs)}"
    seen = defaultdict(list)
    for pair, values in zip(pairs, launches, strict=True):
        seen[pair].append(values)
    if not all(m in values for values in launches for m in METRICS.values()):
        return {}, "ncu did not count what memory moves"
    return {
        pair: {
            what: round(statistics.median(v[metric] for v in values))
            for what, metric in METRICS.items()
        }
        for pair, values in seen.items()
    }, ""


def judged(rows: list[Row]) -> list[str]:
    """Return a sentence on each fault of the stopwatch that weft uses."""
    at = {(row.way, row.kernel): row for row in rows}
    wrong = []
    for name, (size, writes) in SIZES.items():
        if writes:
            continue
        ours, longest = at[OURS, name], at[f"read {READS[-1]}x", name]
        if ours.written is not None and ours.written > DIRTY * size:
            wrong.append(
                f"{name}: {units.size(ours.written)} were written to memory meanwhile, "
                f"{units.percent(ours.written / size)} of what it reads"
            )
        if ours.read is not None and ours.read < COLD * size:
            wrong.append(
                f"{name}: only {units.percent(ours.read / size)} came from memory; "
                "the rest was still in the cache"
            )
        if ours.ms > SLOWER * longest.ms:
            wrong.append(
                f"{name} takes {units.time(ours.ms)}, but {units.time(longest.ms)} "
                f"after reading {READS[-1]} times the cache"
            )
    return wrong


def table(rows: list[Row]) -> str:
    """Return the rows as text, one line each."""

    def share(moved: int | None, size: int) -> str:
        if moved is None:
            return units.DASH
        return units.percent(moved / size) if size else units.size(moved)

    lines = ["cache emptied by  kernel            time   spread  DRAM read   written"]
    for row in rows:
        reads, writes = SIZES[row.kernel]
        lines.append(
            f"{row.way:16}  {row.kernel:13}{units.time(row.ms):>9}"
            f"{units.time(row.spread):>9}{share(row.read, reads):>11}"
            f"{share(row.written, writes or reads):>10}"
        )
    return "\n".join([*lines, "(in % of what the kernel reads, or writes if it does)"])


def write(
    path: Path, gpu: device.Device, rows: list[Row], wrong: list[str], why: str
) -> None:
    """Write the results as JSON."""
    from weft import versions

    contents = {
        "device": gpu.name,
        "driver": device.driver_version(),
        "l2": gpu.l2,
        "date": date.today().isoformat(),
        "versions": versions.installed(),
        "not counted": why,
        "wrong": wrong,
        "rows": [asdict(row) for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Time, count and print; return 1 if the stopwatch is faulty, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", help="JSON to write")
    parser.add_argument("--launch", action="store_true", help="what ncu runs")
    options = parser.parse_args()
    gpu = device.find()
    if not gpu.usable:
        print(gpu.reason, file=sys.stderr)
        return 2
    import torch

    if options.launch:
        launch_all(torch)
        return 0
    times = timed(torch)
    moved, why = counted()
    rows = [
        Row(way, name, time.ms, time.spread, **moved.get((way, name), {}))
        for (way, name), time in times.items()
    ]
    wrong = judged(rows)
    print(gpu.line, f"{gpu.l2 / MIB:.0f} MiB of L2", sep=", ")
    print(table(rows))
    if why:
        print(f"Bytes were not counted: {why}. Only the times are compared.")
    complaints = "\n".join(f"✗ {text}" for text in wrong)
    print(complaints or "The stopwatch is clean and cold.")
    if options.out is not None:
        write(options.out, gpu, rows, wrong, why)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
