"""Count with ncu what kernels of lab 23 execute, and write it down.

python record.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and ncu, and
with the right to read counters. Of the libraries the names of the kernels are written
down as well.
"""

import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import WIDTH, Found, Row, only, record, table, value  # noqa: E402

INSTRUCTIONS = "smsp__inst_executed.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
CYCLES = "l1tex__data_pipe_lsu_wavefronts"
SHARED = f"{CYCLES}_mem_shared_op_ld.sum", f"{CYCLES}_mem_shared_op_st.sum"
REGISTERS = "launch__registers_per_thread"
METRICS = (
    *(INSTRUCTIONS, f"{CYCLES}.sum", *SHARED, REGISTERS),
    *(SECTORS.format("ld"), SECTORS.format("st"), REQUESTS.format("ld")),
)
TAPS = 25 * (8192 - 4) ** 2 / 32  # of a warp, all of them together
ROWS = 1 << 16
WHOLE = 1024 * 8 / 32 * ROWS  # sectors of the result
LIBRARIES = {
    "cuFFT": "cuFFT, 65536 x 1024",
    "cuFFT, 2^20": "cuFFT, 64 x 2^20",
    "cuDNN": "cuDNN, 32 x 64 x 56 x 56, 64 filters of 3 x 3",
}


def kernel(row: Row) -> str:
    """Return what a kernel is called, its block and its registers, in lines."""
    name = re.sub(r"\(.*", "", row["Kernel Name"].removeprefix("void "))
    block, registers = row["Block Size"], row[REGISTERS]
    text = f"{name}, block {block}, {registers} registers"
    options = {"initial_indent": "  ", "subsequent_indent": "    "}
    return "\n".join(textwrap.wrap(text, WIDTH, **options))


def write(kernels: Found) -> str:
    several = [name for name in LIBRARIES if name in kernels]
    rows = only(kernels, several)
    filters = "correlate", "correlate_tiled", "correlate_lean", "rows"
    ffts = "fft_shared", "radix 4", "pairs apart", "registers", "cuFFT"
    a_row = {
        "instructions": value(INSTRUCTIONS, over=ROWS),
        "cycles of L1 and shared": value(f"{CYCLES}.sum", over=ROWS),
        "  of shared memory": value(*SHARED, over=ROWS),
        "sectors of a load": value(
            SECTORS.format("ld"), over=REQUESTS.format("ld"), digits=1
        ),
        "writes of a sector": value(SECTORS.format("st"), over=WHOLE, digits=2),
    }
    tables = [
        table(
            rows,
            filters,
            {"instructions for each tap": value(INSTRUCTIONS, over=TAPS, digits=2)},
            title="5 x 5 taps",
            heads=("correlate", "tiled", "lean", "rows"),
        ),
        table(
            rows,
            ffts,
            a_row,
            title="a row of 1,024",
            heads=("shared", "radix 4", "apart", "registers", "cuFFT"),
            each=10,
        ),
    ]
    if len(kernels["cuFFT"]) > 1:
        raise ValueError("cuFFT takes more than one kernel, its column is of the first")
    for name, title in LIBRARIES.items():
        lines = "\n".join(map(kernel, kernels[name]))
        tables.append(f"{title}\n{lines}\n")
    return "\n".join(tables)


if __name__ == "__main__":
    record(__doc__, HERE, METRICS, write)
