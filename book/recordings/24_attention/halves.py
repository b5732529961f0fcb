"""Time the backward pass of chapter 24, all heads at once and half of them at a time.

python halves.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch. Half
of the heads need half of the memory for dS.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import facts, lab  # noqa: E402
from timed import BURSTS, Experiment, timed  # noqa: E402


def experiment(causal: bool) -> Experiment:
    """Return the table for 4 x 16 heads of 4096."""

    def launches() -> dict[str, Callable[[], Any]]:
        tensors = of.normal(4, 64, 4096)

        def some(first: int, end: int) -> Any:
            q, k, v, g = (x[first:end] for x in tensors)
            mine = of.Attention(q, k, v, causal)
            mine.forward()
            mine.prepare(g)
            return mine

        whole, halves = some(0, 64), (some(0, 32), some(32, 64))
        return {
            "all heads at once": whole.backward,
            "half of the heads at a time": lambda: [x.backward() for x in halves],
        }

    title = f"backward, 4 x 4096{', causal' if causal else ''}"
    return Experiment(title, launches, "all heads at once", lambda name: None)


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    of = lab("24_attention", "normal", "Attention")
    tables = [timed(experiment(causal), bursts=True) for causal in (False, True)]
    head = "$ python3 halves.py\n" + facts(ncu=False) + BURSTS + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "halves.txt").write_text(head + "\n".join(tables), encoding="utf-8")
