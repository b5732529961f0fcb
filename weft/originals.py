"""Functions of NumPy and `math` as they were when `weft` was imported.

A check computes with them, so it must be told when a notebook has put others in their
place.
"""

import math
from types import ModuleType
from typing import Any

import numpy as np

_MODULES: tuple[ModuleType, ...] = (math, np, np.random, np.linalg, np.fft)


def _public(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value)
    }


_then = {module: _public(module) for module in _MODULES}


def replaced() -> list[str]:
    """The names that are something else now, such as `numpy.random.default_rng`."""
    return [
        f"{module.__name__}.{name}"
        for module, names in _then.items()
        for name, value in names.items()
        if vars(module).get(name) is not value
    ]
