"""Count with ncu what each rung of lab 19 does, and write it down for one step.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters. A step is 32 multiply-adds, one for each lane of a
warp: 4096 cubed / 32 of them in a product.
"""

import argparse
import csv
import datetime
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
N = 4096
NAMES = (
    *("cuBLAS", "tiles of 32", "column of 8", "8x8, int64", "8 x 8", "no padding"),
    *("by fours", "pipelined", "warp tiles", "pairs", "8 x 16", "serpentine"),
)
SHOWN = (1, 2, 3, 4, 5, 6), (7, 8, 9, 10, 11, 0)  # side by side
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTED = {  # what the table calls it → ncu's name; of these a step's share
    "instructions": "smsp__inst_executed.sum",
    "  loads from shared memory": "smsp__inst_executed_op_shared_ld.sum",
    "passes of shared memory": f"{SHARED}.sum",
    "  conflicts of its stores": CONFLICTS.format("st"),
}
SHARES = {
    "passes, % of the SM's rate": f"{SHARED}.avg.pct_of_peak_sustained_elapsed",
    "cycles with an issue, %": "smsp__issue_active.avg.pct_of_peak_sustained_active",
}
WAITS = {
    "warps held at dispatch": "dispatch_stall",
    "  at a barrier": "barrier",
    "  by shared memory": "short_scoreboard",
}


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    return done.stdout


def facts() -> str:
    gpu = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, driver = gpu.strip().splitlines()[0].split(", ")
    ncu = re.search(r"Version (\S+)", run("ncu", "--version"))
    packages = (f"{p} {metadata.version(p)}" for p in ("torch", "numba", "numba-cuda"))
    versions = [f"driver {driver}", f"ncu {ncu[1] if ncu else '?'}", *packages]
    return f"# {name}, {datetime.date.today()}\n# {', '.join(versions)}\n"


def table(rows: list[dict[str, str]]) -> str:
    def number(row: dict[str, str], metric: str) -> float:
        return float(row[metric].replace(",", ""))

    lines = [("", *NAMES)]
    time = [number(r, "gpu__time_duration.sum") / 1e6 for r in rows]
    lines.append(("duration, ms", *(f"{t:.4g}" for t in time)))
    registers = [number(r, "launch__registers_per_thread") for r in rows]
    lines.append(("registers of a thread", *(f"{x:.0f}" for x in registers)))
    for label, metric in COUNTED.items():
        values = (number(r, metric) / (N**3 / 32) for r in rows)
        lines.append((label, *(f"{v:.3f}" for v in values)))
    for label, metric in SHARES.items():
        lines.append((label, *(f"{number(r, metric):.1f}" for r in rows)))
    for label, stall in WAITS.items():
        lines.append((label, *(f"{number(r, STALL.format(stall)):.2f}" for r in rows)))
    return "\n\n".join(
        "\n".join(
            f"{line[0]:28}" + "".join(f"{line[1:][i]:>12}" for i in shown)
            for line in lines
        )
        for shown in SHOWN
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    metrics = [
        *("gpu__time_duration.sum", "launch__registers_per_thread"),
        *COUNTED.values(),
        *SHARES.values(),
        *(STALL.format(stall) for stall in WAITS.values()),
    ]
    said = run(
        *("ncu", "--clock-control", "none", "--csv", "--page", "raw"),
        *("-k", "regex:gemm", "--print-units", "base"),
        *("--metrics", ",".join(metrics), sys.executable, "programs.py"),
    )
    lines = [line for line in said.splitlines() if line.startswith('"')]
    _, *rows = csv.DictReader(lines)
    assert len(rows) == len(NAMES), [r["Kernel Name"] for r in rows]
    head = "$ ncu --clock-control none --metrics … python3 programs.py\n"
    (out / "counters.txt").write_text(head + facts() + table(rows) + "\n")


if __name__ == "__main__":
    main()
