"""Programs of several ranks: on a model of `torch.distributed`, or in real processes.

A function that ranks run takes `dist` as its first argument. In a check, `dist` is a
model of the module `torch.distributed` that knows which rank waits for which others;
`launch` starts one process per rank and passes the module itself. `measured` launches a
function that times other functions, on one GPU per rank.
"""

from importlib import import_module
from typing import Any

HOMES = {
    **dict.fromkeys(("Log", "Measured", "measured"), "weft.ranks.measurement"),
    **dict.fromkeys(("RanksFailed", "launch", "start_early"), "weft.ranks.processes"),
    "timeline": "weft.ranks.drawing",
}

__all__ = [
    "Log",
    "Measured",
    "RanksFailed",
    "launch",
    "measured",
    "start_early",
    "timeline",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because its module needs PyTorch."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
