"""Launch each rung of lab 18's ladder once: python programs.py, for ncu to watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = ("rungs",)


def launches() -> dict[str, Callable[[], Any]]:
    """Return the launches, under their names in the lab and at its size."""
    found: dict[str, Callable[[], Any]] = lab(HERE.name, *WANTED).rungs()
    del found["cuBLAS"]
    return found


if __name__ == "__main__":
    watched(launches())
