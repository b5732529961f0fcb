"""Count with ncu what kernels of lab 13 move and wait for, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, only, record, table, value  # noqa: E402

LOAD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
LOAD_HITS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
STORE = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
STORES = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
FROM_L1 = "lts__t_requests_srcunit_tex_op_write.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
PASSES = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
WARPS = "sm__warps_active.avg.pct_of_peak_sustained_active"
ISSUED = "smsp__issue_active.avg.pct_of_peak_sustained_active"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
MEMORY = STALL.format("long_scoreboard")
BARRIER = STALL.format("barrier")
SHARED = STALL.format("mio_throttle"), STALL.format("short_scoreboard")
QUEUE = STALL.format("lg_throttle")
DRAIN = STALL.format("drain")
METRICS = (
    *(LOAD, LOAD_HITS, STORE, STORES, FROM_L1, CONFLICTS, PASSES, READ, WRITTEN),
    *(INSTRUCTIONS, WARPS, ISSUED, MEMORY, BARRIER, *SHARED, QUEUE, DRAIN),
)
N = 8192
MILLION = 1e6

LINES = {
    "sectors loaded, M": value(LOAD, over=MILLION, digits=1),
    "  found in L1, M": value(LOAD_HITS, over=MILLION, digits=1),
    "sectors stored, M": value(STORE, over=MILLION, digits=1),
    "writes to L2, M": value(FROM_L1, over=MILLION, digits=1),
    "read, MB": value(READ, over=MILLION),
    "written, MB": value(WRITTEN, over=MILLION),
    "instructions": value(INSTRUCTIONS, over=N * N / 32, digits=1),
    "shared passes": value(PASSES, over=N * N / 32, digits=2),
    "  conflicts": value(CONFLICTS, over=N * N / 32, digits=2),
    "warps there, %": value(WARPS),
    "issuing, %": value(ISSUED, digits=1),
    "waits: memory": value(MEMORY, digits=1),
    "  a barrier": value(BARRIER, digits=1),
    "  shared memory": value(*SHARED, digits=1),
    "  a full queue": value(QUEUE, digits=1),
    "  last stores": value(DRAIN, digits=1),
}


def write(kernels: Found) -> str:
    rows = only(kernels)
    names = tuple(rows)
    first = ("naive_read", "naive_write", "tiled", "padded")
    last = tuple(name for name in names if name not in first)
    return "\n".join(
        table(rows, part, LINES, title=f"{N} x {N} float32", each=13)
        for part in (first, last)
    )


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
