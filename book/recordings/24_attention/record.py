"""Count with ncu what chapter 24's two kernels for dq move, and write it down.

python record.py [--out FOLDER], on a machine with a Hopper GPU, Numba, PyTorch and ncu,
and with the right to read counters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import Found, only, record, table, value  # noqa: E402

TIME, READ = "gpu__time_duration.sum", "dram__bytes_read.sum"
RATE = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
LINES = {
    "duration, ms": value(TIME, over=1e6, digits=2),
    "read from memory, GB": value(READ, over=1e9, digits=2),
    "memory, % of its rate": value(RATE, digits=1),
    "tensor cores, % of the cycles": value(TENSOR, digits=1),
}
NAMES = "grads_queries", "grads_queries_again"


def write(kernels: Found) -> str:
    return table(only(kernels), NAMES, LINES, title="4 x 16 heads of 4096", each=21)


if __name__ == "__main__":
    record(__doc__, HERE, (TIME, READ, RATE, TENSOR), write)
