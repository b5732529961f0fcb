"""Count with ncu what kernels of lab 12 move, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, only, record, table, value  # noqa: E402

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
MISSES = "lts__t_sectors_srcunit_tex_lookup_miss.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
INSTRUCTIONS, WARPS = "smsp__inst_executed.sum", "smsp__warps_launched.sum"
METRICS = REQUESTS, SECTORS, MISSES, READ, WRITTEN, INSTRUCTIONS, WARPS
N = 1 << 22

LOADS = {
    "requests": value(REQUESTS),
    "sectors": value(SECTORS),
    "  a request": value(SECTORS, over=REQUESTS, digits=2),
    "sectors that L2 misses": value(MISSES),
    "read from memory, MB": value(READ, over=1e6, digits=1),
    "  for an element, bytes": value(READ, over=N, digits=1),
}
BYTES = {
    "read from memory, MB": value(READ, over=1e6, digits=1),
    "written to memory, MB": value(WRITTEN, over=1e6, digits=1),
}


def write(kernels: Found) -> str:
    rows = only(kernels)
    reads = "read 1", "read 8", "read 16", "read 32", "offset 1"
    strides = "stride 1", "stride 8", "stride 16", "stride 32", "offset 1"
    fewer = "random", "random, fetching 32", "read 16, fetching 32"
    last = "read 32, fetching 32"
    return "\n".join(
        (
            table(rows, reads, LOADS, heads=strides, each=10),
            table(
                rows,
                (*fewer, last),
                {k: LOADS[k] for k in ("sectors that L2 misses", *list(LOADS)[4:])},
                title="L2 fetches",
                heads=("64, random", "32, random", "32, by 16", "32, by 32"),
                each=13,
            ),
            table(
                rows,
                ("write 8", "write 16", "write 32"),
                BYTES,
                title="writing",
                heads=("stride 8", "stride 16", "stride 32"),
                each=13,
            ),
            table(
                rows,
                ("struct of 4", "struct of 8", "no hint", "cs"),
                BYTES,
                heads=("struct of 4", "struct of 8", "past a table", "with a hint"),
                each=13,
            ),
            table(
                rows,
                ("shared, same", "shared, own"),
                {"instructions a warp": value(INSTRUCTIONS, over=WARPS)},
                each=13,
            ),
        )
    )


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
