"""Compile chapter 34's shift, norm and SiLU in five processes, and time the kernels.

python norms.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and Triton. Each
process tunes anew, with an empty cache, and may choose other kernels. All are replayed
as CUDA graphs.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import GRAPHS, compiled_anew  # noqa: E402

TIMED = "eager", "compiled", "two kernels"
PROCESSES = (
    "compiled, process 1",
    "compiled, process 2",
    "compiled, process 3",
    "compiled, process 4",
    "compiled, process 5",
)


def once() -> dict[str, float]:
    """Compile once; return the ms of PyTorch's kernels, of those, and of the lab's."""
    from weft import timing

    of = lab(HERE.name, "norms")
    norms = of.norms()
    launches = {name: norms[name] for name in TIMED}
    found = timing.measure(launches, timing.GraphStopwatch())
    return {name: found[name].ms for name in launches}


if __name__ == "__main__":
    title = "shift, norm and SiLU"
    what = title, once, "compiled", PROCESSES, "two kernels"
    compiled_anew(__doc__, __file__, *what, how=GRAPHS)
