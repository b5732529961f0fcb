"""Compile lab 17's RMSNorm in five processes, and write down what the kernels take.

python factors.py [--out FOLDER], on a machine with a GPU, Numba and PyTorch. Each
process tunes anew, with an empty cache, and may choose another kernel.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import facts, lab  # noqa: E402
from timed import COMMAND, HOW, Experiment, table  # noqa: E402

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


def in_a_process() -> dict[str, float]:
    """Run `once` in a process of its own, with empty caches of compiled kernels."""
    with tempfile.TemporaryDirectory() as empty:
        caches = dict.fromkeys(("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"), empty)
        command = [sys.executable, __file__, "--once"]
        said = subprocess.run(
            command, env=os.environ | caches, check=True, stdout=subprocess.PIPE
        )
    found: dict[str, float] = json.loads(said.stdout.splitlines()[-1])
    return found


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    options.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.once:
        print(json.dumps(once()))
        return
    runs = [in_a_process() for _ in PROCESSES]
    times = {name: min(run[name] for run in runs) for name in ("copy", "PyTorch")}
    tuned = [run["torch.compile"] for run in runs]
    times |= dict(zip(PROCESSES, tuned, strict=True))
    title = "RMSNorm, {} x {} float32".format(*CASE)
    text = table(Experiment(title, dict, "PyTorch", print), times)
    given.out.mkdir(parents=True, exist_ok=True)
    target = given.out / "factors.txt"
    target.write_text(f"{COMMAND}{facts(ncu=False)}{HOW}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
