"""Time entries of chapter 34 beside the compiler with more tuning; write a table.

python factors.py [--out FOLDER], on a machine with a GPU, Numba, PyTorch and Triton.
Tuning takes several minutes. TUNED are the options of Diffusers' guide.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402
from timed import Experiment, record  # noqa: E402

TUNED = {
    "max_autotune": True,
    "coordinate_descent_tuning": True,
    "coordinate_descent_check_all_directions": True,
    "conv_1x1_as_mm": True,
    "epilogue_fusion": False,
}
NAMES = "Sampler", "Fused", "compiled", "recorded", "sdpa_kernel", "CUDNN"
WRITTEN = "guided", "constants", "phases"  # by the learner


def steps() -> dict[str, Callable[[], Any]]:
    """Return a step of the model for one image in three ways, as graphs.

    Only the opponent is tuned: it alone takes several minutes.
    """
    best = of.Sampler(1)
    with of.sdpa_kernel(of.CUDNN):
        whole = best.one_call
        found = {
            "compiled": of.recorded(of.compiled(whole)),
            "two kernels": of.recorded(of.compiled(best.in_parts(of.Fused))),
        }
        torch._dynamo.reset()
        found["compiled, tuned"] = of.recorded(of.compiled(whole, TUNED))
    held.update({name: step() for name, step in found.items()})
    return found


def right(name: str) -> None:
    """Compare the latents after a step with those of the compiled entry."""
    wanted, got = held["compiled"].float(), held[name].float()
    assert (got - wanted).norm() < 0.02 * wanted.norm(), name


if __name__ == "__main__":
    of = lab("34_diffusion", *NAMES, *WRITTEN)
    learner = import_module("weft.chapters.34_diffusion.learner")
    learner.use(**{name: getattr(of, name) for name in WRITTEN})
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    held: dict[str, Any] = {}
    title = "a step, 1 image"
    record(__doc__, HERE, [Experiment(title, steps, "compiled", right)])
