"""Launch chapter 24's kernels for dq once: python programs.py, for ncu to watch.

One reads dS from memory, the other computes S and dP again: 4 x 16 heads of 4096.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402


def launches() -> dict[str, Callable[[], Any]]:
    """Return the launches of both kernels."""
    of = lab(HERE.name, "normal", "Attention")
    q, k, v, g = of.normal(4, 64, 4096)

    def of_queries(stored: bool) -> Callable[[], Any]:
        mine = of.Attention(q, k, v, False)
        mine.forward()
        mine.prepare(g, stored)
        mine.backward()
        grid = mine.together, 4096 // mine.q_rows, 64 // mine.together
        return lambda: mine.dq_kernel[grid, 384, 0, mine.q_shared](*mine.of_q)

    return {"grads_queries": of_queries(True), "grads_queries_again": of_queries(False)}


if __name__ == "__main__":
    watched(launches())
