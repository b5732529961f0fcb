"""Count with ncu what each rung of lab 19 does, and write it down for one step.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters. A step is 32 multiply-adds, one for each lane of a
warp: 4096 cubed / 32 of them in a product.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, Line, number, only, record, table, value  # noqa: E402

STEPS = 4096**3 / 32
GROUPS = (  # side by side: name in the lab → in the table
    {
        "tiles of 32": "tiles, 32",
        "a column of 8": "column, 8",
        "8 x 8, int64": "8x8, int64",
        "8 x 8": "8x8",
    },
    {
        "by fours, no padding": "unpadded",
        "by fours": "by fours",
        "pipelined": "pipelined",
        "warp tiles": "warp tiles",
    },
    {
        "pairs": "pairs",
        "8 x 16": "8x16",
        "serpentine": "serpentine",
        "cuBLAS": "cuBLAS",
    },
)
TIME = "gpu__time_duration.sum"
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
METRICS = (
    *(TIME, *(metric for group in COUNTED.values() for metric in group)),
    *(metric for metric, _ in EACH.values()),
)


def lines() -> dict[str, Line]:
    """Return the lines of the tables, in their order."""
    return {
        "duration, ms": lambda row: f"{number(row, TIME) / 1e6:.4g}",
        **{k: value(*group, over=STEPS, digits=3) for k, group in COUNTED.items()},
        **{k: value(metric, digits=digits) for k, (metric, digits) in EACH.items()},
    }


def write(kernels: Found) -> str:
    rows = only(kernels)
    return "\n".join(
        table(rows, list(group), lines(), heads=list(group.values()))
        for group in GROUPS
    )


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
