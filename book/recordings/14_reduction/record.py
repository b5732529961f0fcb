"""Count with ncu what sums of lab 14 execute and wait for, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, only, record, table, value  # noqa: E402

N = 1 << 28
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
INSTRUCTIONS, WARPS = "smsp__inst_executed.sum", "smsp__warps_launched.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
RESIDENT = "sm__warps_active.avg.per_cycle_active"
WAITS = {
    "a warp's cycles per instruction": (
        "smsp__average_warp_latency_per_inst_issued.ratio"
    ),
    "  for global memory": STALL.format("long_scoreboard"),
    "  for shared memory or a shuffle": STALL.format("short_scoreboard"),
    "  at a barrier": STALL.format("barrier"),
}
METRICS = INSTRUCTIONS, WARPS, CONFLICTS, RESIDENT, *WAITS.values()


def write(kernels: Found) -> str:
    rows = only(kernels)
    trees = "interleaved", "no division", "packed", "sequential", "shuffle"
    waits = {label: value(metric, digits=1) for label, metric in WAITS.items()}
    resident = {"warps of an SM": value(RESIDENT, digits=1)}
    lines = {
        "instructions a warp": value(INSTRUCTIONS, over=WARPS, digits=1),
        "bank conflicts a warp": value(CONFLICTS, over=WARPS, digits=2),
    }
    share = {
        "instructions for 32 elements": value(INSTRUCTIONS, over=N / 32, digits=1),
    }
    return "\n".join(
        (
            table(rows, trees[:3], lines | resident | waits, each=13),
            table(rows, trees[3:], lines | resident | waits, each=13),
            table(
                rows, ("loads of 4 bytes", "grid"), share | resident | waits, each=18
            ),
        )
    )


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
