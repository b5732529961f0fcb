"""Count with ncu what each rung of lab 18 does, and write it down for one step.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters. A step is 32 multiply-adds, one for each lane of a
warp: 4096 cubed / 32 of them in a product.
"""

import argparse
import csv
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from profiled import facts  # noqa: E402

N = 4096
NAMES = "naive", "coalesced", "unsigned", "tiles of 16", "tiles of 32", "C++", "C++, 32"
SHOWN = (0, 1, 2, 5), (3, 4, 6)  # side by side
L1 = "l1tex__t_{}_pipe_lsu_mem_global_op_ld{}.sum"
PASSES = "l1tex__data_pipe_lsu_wavefronts"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTED = {  # what the table calls it → ncu's name; of these a step's share
    "instructions": "smsp__inst_executed.sum",
    "passes": f"{PASSES}.sum",
    "  of loads from shared memory": f"{PASSES}_mem_shared_op_ld.sum",
    "requests to global memory": L1.format("requests", ""),
    "sectors of those": L1.format("sectors", ""),
}
BYTES = {
    "read from L2, GB": ("lts__t_sectors_op_read.sum", 32),
    "read from memory, GB": ("dram__sectors_read.sum", 32),
}
SHARES = {
    "passes, % of the SM's rate": f"{PASSES}.avg.pct_of_peak_sustained_elapsed",
    "instructions, % of the rate": "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
}
HIT = L1.format("sectors", "_lookup_hit")
WAITS = {
    "a warp's cycles per instruction": (
        "smsp__average_warp_latency_per_inst_issued.ratio"
    ),
    "  for global memory": STALL.format("long_scoreboard"),
    "  for room in its queue": STALL.format("lg_throttle"),
    "  for shared memory": STALL.format("short_scoreboard"),
    "  for room in that queue": STALL.format("mio_throttle"),
    "  at a barrier": STALL.format("barrier"),
}


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    return done.stdout


def table(rows: list[dict[str, str]]) -> str:
    steps = N**3 / 32

    def number(row: dict[str, str], metric: str) -> float:
        return float(row[metric].replace(",", ""))

    lines = [("", *NAMES)]
    time = [number(r, "gpu__time_duration.sum") / 1e6 for r in rows]
    lines.append(("duration, ms", *(f"{t:.4g}" for t in time)))
    for label, metric in COUNTED.items():
        lines.append((label, *(f"{number(r, metric) / steps:.2f}" for r in rows)))
    sectors = COUNTED["sectors of those"]
    hits = [100 * number(r, HIT) / number(r, sectors) for r in rows]
    lines.append(("  found in L1, %", *(f"{h:.0f}" for h in hits)))
    for label, (metric, size) in BYTES.items():
        values = (number(r, metric) * size / 1e9 for r in rows)
        lines.append((label, *(f"{v:.3g}" for v in values)))
    for label, metric in SHARES.items():
        lines.append((label, *(f"{number(r, metric):.0f}" for r in rows)))
    for label, metric in WAITS.items():
        lines.append((label, *(f"{number(r, metric):.1f}" for r in rows)))
    blocks = (
        "\n".join(
            f"{line[0]:32}" + "".join(f"{line[1:][i]:>12}" for i in shown)
            for line in lines
        )
        for shown in SHOWN
    )
    return "\n\n".join(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    metrics = [
        "gpu__time_duration.sum",
        *COUNTED.values(),
        *(metric for metric, _ in BYTES.values()),
        *SHARES.values(),
        HIT,
        *WAITS.values(),
    ]
    kernels = "regex:gemm_|direct|tiled|ragged"
    said = run(
        *("ncu", "--clock-control", "none", "--csv", "--page", "raw", "-k", kernels),
        *("--print-units", "base", "--metrics", ",".join(metrics)),
        *(sys.executable, "programs.py", str(N)),
    )
    lines = [line for line in said.splitlines() if line.startswith('"')]
    _, *rows = csv.DictReader(lines)
    assert len(rows) == len(NAMES), [r["Kernel Name"] for r in rows]
    head = "$ ncu --clock-control none --metrics … python3 programs.py\n"
    (out / "counters.txt").write_text(head + facts() + table(rows) + "\n")


if __name__ == "__main__":
    main()
