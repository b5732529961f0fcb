"""Run the corpus under NVIDIA's tools on this machine's GPU, and keep their reports.

    python -m verification.measure OUT

OUT gets a folder per tool, with its reports and the logs of `verification.launch`. A
kernel that hangs or breaks the CUDA context ends its process; the next process begins
after it. The sanitizer's tools run side by side; Nsight Compute runs alone, since it
reads counters of the whole GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verification.corpus import Kernel, corpus

SANITIZER = ("compute-sanitizer", "--print-limit", "0", "--show-backtrace", "no")
ALL_RACES = ("--racecheck-detect-level", "info", "--print-level", "info")
CONTINUE = ("--destroy-on-device-error", "kernel")
# Never launched: they do not end under any tool.
ENDLESS = "endless_loop"
# Launched last: some of them hang, or break the context.
RISKY = ("out_of_bounds", "negative_index", "warp", "barrier")
PASSES = 12  # most processes that a tool starts for what is left
LIMIT = 150  # seconds that a tool may take

METRICS = [
    f"{metric}.sum"
    for metric in (
        *(
            f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}"
            for what in ("requests", "sectors")
            for op in ("ld", "st", "atom", "red")
        ),
        *(
            f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}"
            for op in ("ld", "st", "atom")
        ),
        *(
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}"
            for op in ("ld", "st", "atom")
        ),
    )
]


def launched() -> list[Kernel]:
    """Return the kernels to launch, the risky ones last."""
    kernels = [k for k in corpus() if not (k.wrong and k.group == ENDLESS)]
    return sorted(kernels, key=risk)


def risk(kernel: Kernel) -> int:
    """Return the rank of a kernel's risk; 0 if it cannot harm later launches."""
    if kernel.wrong and kernel.group in RISKY:
        return 1 + RISKY.index(kernel.group)
    return 0


def run(tool: str, command: list[str], names: list[str], out: Path) -> None:
    """Launch the kernels `names` under a command, in as few processes as possible."""
    folder = out / tool
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    for attempt in range(PASSES):
        log = folder / f"launches.{attempt}.jsonl"
        report = folder / f"report.{attempt}.txt"
        words = [c.replace("REPORT", str(report)) for c in command]
        words += [sys.executable, "-m", "verification.launch", str(log), *names]
        with (folder / f"output.{attempt}.txt").open("w") as output:
            try:
                left = LIMIT - (time.monotonic() - started)
                subprocess.run(
                    words, stdout=output, stderr=output, check=False, timeout=left
                )
            except subprocess.TimeoutExpired:
                output.write("\ntime is up\n")
        lines = log.read_text().splitlines() if log.exists() else []
        begun = [e["kernel"] for e in map(json.loads, lines) if e.get("begun")]
        names = [name for name in names if name not in begun]
        if not names or time.monotonic() - started > LIMIT:
            break
    print(f"{tool}: {time.monotonic() - started:.0f} s, {attempt + 1} processes")
    if names:
        print(f"{tool}: not launched: {' '.join(names)}")


def compile_all(names: list[str], out: Path, parts: int) -> None:
    """Launch everything without a tool, in parts, which fills Numba's cache."""
    with ThreadPoolExecutor(parts) as pool:
        for k in range(parts):
            pool.submit(run, f"plain{k}", [], names[k::parts], out)


def known_metrics() -> list[str]:
    """Return those of `METRICS` that this GPU has."""
    done = subprocess.run(
        ["ncu", "--query-metrics"], capture_output=True, text=True, check=False
    )
    have = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return [m for m in METRICS if m.removesuffix(".sum") in have]


def ncu(metrics: list[str]) -> list[str]:
    return [
        *("ncu", "--clock-control", "none", "--cache-control", "none", "--csv"),
        *("--page", "raw", "--print-units", "base", "--log-file", "REPORT"),
        *("--kernel-name-base", "demangled", "--metrics", ",".join(metrics)),
    ]


def versions() -> dict[str, str]:
    found = {}
    for name, words in {
        "compute-sanitizer": ["compute-sanitizer", "--version"],
        "ncu": ["ncu", "--version"],
        "driver": ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv"],
    }.items():
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        found[name] = done.stdout.strip()
    from importlib.metadata import version

    return found | {p: version(p) for p in ("numba", "numba-cuda", "numpy")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", help="kernels; all without it")
    args = parser.parse_args()
    out: Path = args.out
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    os.environ.setdefault("NUMBA_CACHE_DIR", "/tmp/weft-verification")
    (out / "versions.json").write_text(json.dumps(versions(), indent=1))
    chosen = [k for k in launched() if not args.only or k.function in args.only]
    names = [k.function for k in chosen]
    safe = [k.function for k in chosen if not risk(k)]
    tools = {
        "memcheck": [*SANITIZER, *CONTINUE, "--tool", "memcheck"],
        "racecheck": [*SANITIZER, *ALL_RACES, "--tool", "racecheck"],
        "initcheck": [*SANITIZER, "--tool", "initcheck"],
        "synccheck": [*SANITIZER, *CONTINUE, "--tool", "synccheck"],
    }
    compile_all(names, out, 8)
    with ThreadPoolExecutor(len(tools)) as pool:
        for tool, command in tools.items():
            command += ["--log-file", "REPORT"]
            pool.submit(run, tool, command, names, out)
    metrics = known_metrics()
    print(f"{len(metrics)} of {len(METRICS)} metrics")
    run("ncu", ncu(metrics), safe, out)
    patterns(metrics, out)


def patterns(metrics: list[str], out: Path) -> None:
    started = time.monotonic()
    folder = out / "patterns"
    folder.mkdir(parents=True, exist_ok=True)
    words = [c.replace("REPORT", str(folder / "report.0.txt")) for c in ncu(metrics)]
    words += [sys.executable, "-m", "verification.patterns", str(folder / "labels")]
    with (folder / "output.0.txt").open("w") as output:
        subprocess.run(words, stdout=output, stderr=output, check=False, timeout=LIMIT)
    print(f"patterns: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
