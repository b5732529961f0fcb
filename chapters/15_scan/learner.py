"""The kernels that the learner has written, for measurements that share them.

learner.use(scan_tiles=scan_tiles)
learner.scan_tiles[grid, block](x, ends, out)    # the one that was given last
"""

from typing import Any

_given: dict[str, Any] = {}


class Kernel:
    """Stands for a kernel that the lab gives later, and may give again."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, launch: Any) -> Any:
        return _given[self.name][launch]


def use(**kernels: Any) -> None:
    """Let the measurements launch these kernels, each under its name."""
    _given.update(kernels)


def __getattr__(name: str) -> Kernel:
    if name.startswith("_"):
        raise AttributeError(name)
    return Kernel(name)
