"""Count with ncu what softmaxes of lab 16 move and wait for, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, only, record, table, value  # noqa: E402

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
TIME = "gpu__time_duration.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
BYTES = {
    "duration, us": value(TIME, over=1e3, digits=1),
    "read from memory, MB": value(READ, over=1e6, digits=1),
    "written to memory, MB": value(WRITTEN, over=1e6, digits=1),
}
EACH = {  # what the table calls it → ncu's name, digits
    "memory, % of its rate": (
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        1,
    ),
    "warps of an SM, % of the most": (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        1,
    ),
    "cycles that issue, %": ("smsp__issue_active.avg.pct_of_peak_sustained_active", 1),
    "a warp waits for memory, cycles": (STALL.format("long_scoreboard"), 1),
    "  at a barrier": (STALL.format("barrier"), 1),
    "pipe of exponentials, %": (
        "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
        1,
    ),
    "registers of a thread": ("launch__registers_per_thread", 0),
}
METRICS = TIME, READ, WRITTEN, *(metric for metric, _ in EACH.values())
CASES = "forward, {} float32", "backward, {} float32"
CASES = *CASES, "forward, {} bfloat16", "backward, {} bfloat16"
HEADS = "forward", "backward", "fwd, bf16", "bwd, bf16"


def write(kernels: Found) -> str:
    rows = only(kernels)
    lines = BYTES | {k: value(m, digits=digits) for k, (m, digits) in EACH.items()}
    of_copy = {k: lines[k] for k in (*BYTES, "memory, % of its rate")}
    tables = []
    for shape in ("1024 x 131072", "128 x 262144"):
        names = [case.format(shape) for case in CASES]
        copies = [f"{name}, copy" for name in names]
        tables += [
            table(rows, names, lines, title=shape, heads=HEADS),
            table(
                rows, copies, of_copy, title="  a copy of as many bytes", heads=HEADS
            ),
        ]
    passes = ("three passes",)
    tables.append(table(rows, passes, BYTES, title="8192 x 8192 float32", each=13))
    return "\n".join(tables)


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
