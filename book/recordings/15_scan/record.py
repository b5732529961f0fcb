"""Count with ncu what the scans of blocks of lab 15 execute, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, only, record, table, value  # noqa: E402

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
INSTRUCTIONS, WARPS = "smsp__inst_executed.sum", "smsp__warps_launched.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
WAITS = {
    "a warp's cycles per instruction": (
        "smsp__average_warp_latency_per_inst_issued.ratio"
    ),
    "  for global memory": STALL.format("long_scoreboard"),
    "  for shared memory or a shuffle": STALL.format("short_scoreboard"),
    "  for room in its queue": STALL.format("mio_throttle"),
    "  at a barrier": STALL.format("barrier"),
}
METRICS = INSTRUCTIONS, WARPS, CONFLICTS, *WAITS.values()


def write(kernels: Found) -> str:
    lines = {
        "instructions a warp": value(INSTRUCTIONS, over=WARPS, digits=1),
        "bank conflicts a warp": value(CONFLICTS, over=WARPS, digits=2),
    }
    lines |= {label: value(metric, digits=1) for label, metric in WAITS.items()}
    return table(only(kernels), ("steps", "tree", "warps"), lines)


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
