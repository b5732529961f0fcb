"""Count with ncu what each rung of lab 18 does, and write it down for one step.

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
DIRECT = "naive", "coalesced", "unsigned", "C++"
TILES = {  # name in the lab → in the table
    "tiles of 16": "tiles of 16",
    "tiles of 32": "tiles of 32",
    "C++, tiles of 32": "C++, 32",
}
TIME = "gpu__time_duration.sum"
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
HIT = L1.format("sectors", "_lookup_hit")
BYTES = {  # sectors of 32 bytes
    "read from L2, GB": "lts__t_sectors_op_read.sum",
    "read from memory, GB": "dram__sectors_read.sum",
}
SHARES = {
    "passes, % of the SM's rate": f"{PASSES}.avg.pct_of_peak_sustained_elapsed",
    "instructions, % of the rate": "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
}
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
METRICS = (
    *(TIME, *COUNTED.values(), HIT, *BYTES.values()),
    *(*SHARES.values(), *WAITS.values()),
)


def found_in_l1(row: dict[str, str]) -> str:
    return f"{100 * number(row, HIT) / number(row, COUNTED['sectors of those']):.0f}"


def lines() -> dict[str, Line]:
    """Return the lines of the tables, in their order."""
    return {
        "duration, ms": lambda row: f"{number(row, TIME) / 1e6:.4g}",
        **{k: value(metric, over=STEPS, digits=2) for k, metric in COUNTED.items()},
        "  found in L1, %": found_in_l1,
        **{
            k: lambda row, metric=metric: f"{number(row, metric) * 32 / 1e9:.3g}"
            for k, metric in BYTES.items()
        },
        **{k: value(metric) for k, metric in SHARES.items()},
        **{k: value(metric, digits=1) for k, metric in WAITS.items()},
    }


def write(kernels: Found) -> str:
    rows = only(kernels)
    direct = table(rows, DIRECT, lines())
    tiles = table(rows, list(TILES), lines(), heads=list(TILES.values()), each=12)
    return f"{direct}\n{tiles}"


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
