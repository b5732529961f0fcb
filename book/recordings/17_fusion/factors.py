"""Compile lab 17's RMSNorm in five processes, and write down what the kernels take.

python factors.py [--out FOLDER], on a machine with a GPU, Numba and PyTorch. Each
process tunes anew, with an empty cache, and may choose another kernel.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import compiled_anew  # noqa: E402

CASE = 16384, 4096
PROCESSES = (
    "torch.compile, process 1",
    "torch.compile, process 2",
    "torch.compile, process 3",
    "torch.compile, process 4",
    "torch.compile, process 5",
)


def once() -> dict[str, float]:
    """Compile once; return the ms of a copy, of PyTorch's kernel and of that one."""
    from weft import timing

    of = lab(HERE.name, "norm_arrays", "rms_in_torch", "compiled")
    x, gamma, beta, out, *_ = of.norm_arrays(*CASE)
    given = [t.requires_grad_() for t in (x, gamma, beta)]
    tuned = of.compiled(of.rms_in_torch)
    launches = {
        "copy": lambda: out.copy_(x.detach()),
        "PyTorch": lambda: of.rms_in_torch(*given),
        "torch.compile": lambda: tuned(*given),
    }
    found = timing.measure(launches, timing.EventStopwatch())
    return {name: found[name].ms for name in launches}


if __name__ == "__main__":
    title = "RMSNorm, {} x {} float32".format(*CASE)
    what = title, once, "torch.compile", PROCESSES, "PyTorch"
    compiled_anew(__doc__, __file__, *what)
