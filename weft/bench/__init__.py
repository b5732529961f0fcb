"""Time your kernels against a library, and show what share of the peak they reach.

    table = bench.compare(
        "8192 x 8192 float32",
        {"copy": lambda: out.copy_(x), "naive": lambda: naive[grid, block](a, b)},
        baseline="copy", bytes=2 * x.nbytes, ceiling="copy", guess={"naive": 0.5},
    )

With a GPU, everything is timed on it. Without one, nothing is timed: the rows are those
that were measured on the reference GPU, and the table says so.
"""

from weft.bench.builds import compiled
from weft.bench.claims import always, expect, sometimes
from weft.bench.compare import compare, time
from weft.bench.recorded import reference
from weft.bench.rows import Row
from weft.bench.table import Table
from weft.timing import CandidateError, Timing
from weft.torch_stream import current_stream as stream

__all__ = [
    "CandidateError",
    "Row",
    "Table",
    "Timing",
    "always",
    "compare",
    "compiled",
    "expect",
    "reference",
    "sometimes",
    "stream",
    "time",
]
