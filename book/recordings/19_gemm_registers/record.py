"""Count with ncu what each rung of lab 19 does, and write it down for one step.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters. A step is 32 multiply-adds, one for each lane of a
warp: 4096 cubed / 32 of them in a product.
"""

import argparse
import csv
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from profiled import facts, number, said  # noqa: E402

N = 4096
NAMES = (
    *("cuBLAS", "tiles of 32", "column of 8", "8x8, int64"),
    *("8x8", "unpadded", "by fours", "pipelined"),
    *("warp tiles", "pairs", "8x16", "serpentine"),
)
SHOWN = (1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 0)  # side by side
PASSES = "l1tex__data_pipe_lsu_wavefronts"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
LOCAL = "l1tex__t_requests_pipe_lsu_mem_local_op_{}.sum"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTED = {  # what the table calls it → ncu's names, added; of these a step's share
    "instructions": ("smsp__inst_executed.sum",),
    "passes": (f"{PASSES}.sum",),
    "  of loads from shared memory": (f"{PASSES}_mem_shared_op_ld.sum",),
    "  of stores to shared memory": (f"{PASSES}_mem_shared_op_st.sum",),
    "bank conflicts of stores": (CONFLICTS.format("st"),),
    "requests to local memory": (LOCAL.format("ld"), LOCAL.format("st")),
}
EACH = {
    "registers of a thread": ("launch__registers_per_thread", 0),
    "warps of an SM": ("sm__warps_active.avg.per_cycle_active", 1),
    "passes, % of the SM's rate": (
        f"{PASSES}.avg.pct_of_peak_sustained_elapsed",
        0,
    ),
    "instructions, % of the rate": (
        "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
        0,
    ),
    "a warp's cycles per instruction": (
        "smsp__average_warp_latency_per_inst_issued.ratio",
        1,
    ),
    "  for global memory": (STALL.format("long_scoreboard"), 1),
    "  for shared memory": (STALL.format("short_scoreboard"), 1),
    "  for room in its queue": (STALL.format("mio_throttle"), 1),
    "  at a barrier": (STALL.format("barrier"), 1),
    "  for an earlier result": (STALL.format("wait"), 1),
    "  for the multipliers": (STALL.format("math_pipe_throttle"), 1),
    "  at dispatch": (STALL.format("dispatch_stall"), 1),
    "  for its turn": (STALL.format("not_selected"), 1),
}


def table(rows: list[dict[str, str]]) -> str:
    steps = N**3 / 32
    lines = [("", *NAMES)]
    time = [number(r, "gpu__time_duration.sum") / 1e6 for r in rows]
    lines.append(("duration, ms", *(f"{t:.4g}" for t in time)))
    for label, metrics in COUNTED.items():
        lines.append((label, *(f"{number(r, *metrics) / steps:.3f}" for r in rows)))
    for label, (metric, digits) in EACH.items():
        lines.append((label, *(f"{number(r, metric):.{digits}f}" for r in rows)))
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
    metrics = ["gpu__time_duration.sum"]
    metrics += [m for group in COUNTED.values() for m in group]
    metrics += [metric for metric, _ in EACH.values()]
    text = said(
        *("ncu", "--clock-control", "none", "--csv", "--page", "raw", "-k"),
        *("regex:gemm", "--print-units", "base", "--metrics", ",".join(metrics)),
        *(sys.executable, "programs.py", str(N)),
        at=HERE,
    )
    lines = [line for line in text.splitlines() if line.startswith('"')]
    _, *rows = csv.DictReader(lines)
    assert len(rows) == len(NAMES), [r["Kernel Name"] for r in rows]
    head = "$ ncu --clock-control none --metrics … python3 programs.py\n"
    (out / "counters.txt").write_text(head + facts() + table(rows) + "\n")


if __name__ == "__main__":
    main()
