"""Functions of NumPy and `math`, as they were when `weft` or `check` was imported.

A check computes with these functions, so it must notice if a notebook has replaced one.
"""

from importlib import import_module
from typing import Any

_then: dict[str, dict[str, Any]] = {}  # module → name → its original value


def watch(*modules: str) -> None:
    """Record the current public functions of `modules`, once per module."""
    for module in modules:
        if module not in _then:
            _then[module] = {
                name: value
                for name, value in vars(import_module(module)).items()
                if not name.startswith("_") and callable(value)
            }


def replaced() -> list[str]:
    """Return watched names that have been rebound, e.g. `numpy.random.default_rng`."""
    return [
        f"{module}.{name}"
        for module, names in _then.items()
        for name, value in names.items()
        if vars(import_module(module)).get(name) is not value
    ]
