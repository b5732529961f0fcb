"""Count with ncu what kernels of lab 17 execute and move, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, number, only, record, table, value  # noqa: E402

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
TIME, REGISTERS = "gpu__time_duration.sum", "launch__registers_per_thread"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
INSTRUCTIONS, WARPS = "smsp__inst_executed.sum", "smsp__warps_launched.sum"
LOCAL = "smsp__sass_inst_executed_op_local_{}.sum"
SPILLS = LOCAL.format("ld"), LOCAL.format("st")
RATE = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
RESIDENT = "sm__warps_active.avg.pct_of_peak_sustained_active"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
WAITS = {
    "cycles of wait: for memory": STALL.format("long_scoreboard"),
    "  at a barrier": STALL.format("barrier"),
    "  for its turn": STALL.format("not_selected"),
    "  for its pipe": STALL.format("math_pipe_throttle"),
}
METRICS = (
    *(TIME, REGISTERS, READ, WRITTEN, INSTRUCTIONS, WARPS, *SPILLS, RATE),
    *(RESIDENT, ISSUE, *WAITS.values()),
)
# A thread of either layer has four elements: a warp has four times 32.
LAYER = {
    "instructions a warp": value(INSTRUCTIONS, over=WARPS),
    "  for 32 elements": lambda row: (
        f"{number(row, INSTRUCTIONS) / number(row, WARPS) / 4:.1f}"
    ),
    "cycles that issue, %": value(ISSUE, digits=1),
}
BYTES = {
    "read from memory, MB": value(READ, over=1e6, digits=1),
    "written to memory, MB": value(WRITTEN, over=1e6, digits=1),
}
LOADS = {"loads and stores of spills": value(*SPILLS, over=WARPS, digits=1)}
REGS = {"registers of a thread": value(REGISTERS)}
WAIT = {label: value(metric, digits=1) for label, metric in WAITS.items()}
BUSY = {
    "memory, % of its rate": value(RATE, digits=1),
    "warps of an SM, %": value(RESIDENT, digits=1),
    "cycles that issue, %": value(ISSUE, digits=1),
}


def write(kernels: Found) -> str:
    rows = only(kernels, [name for name in kernels if "backward" in name])
    norms = "yours", "unknown index", "at most 32", "at most 24"
    backward = [f"backward, 8192, {ahead}" for ahead in ("no", "registers", "shared")]
    a_warp = {"instructions a warp": value(INSTRUCTIONS, over=WARPS)}
    duration = {"duration, us": value(TIME, over=1e3, digits=1)}
    return "\n".join(
        (
            table(
                rows,
                ("math.erf", "fewer"),
                LAYER,
                title="bias, GELU, dropout",
                each=13,
            ),
            table(
                rows,
                norms,
                REGS | a_warp | LOADS | BYTES | WAIT,
                title="LayerNorm, 4096 x 4096",
                heads=("yours", "unknown", "at most 32", "at most 24"),
                each=11,
            ),
            table(
                rows,
                ("backward, 4096", *backward, "copy"),
                duration | REGS | BYTES | BUSY | WAIT,
                title="backward, x ahead in",
                heads=("4096", "8192, no", "8192, reg", "8192, sh", "copy"),
                each=10,
            ),
        )
    )


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
