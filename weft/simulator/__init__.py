"""Run a Numba kernel's Python function on the CPU, thread by thread.

The simulator can be used without the rest of the course:

- `install` makes ordinary launches, `kernel[grid, block](...)`, run here, whether Numba
  is installed or not, and can check each launch for races;
- `simulate` launches one kernel, whether or not the machine has a GPU;
- `record` also records the kernel's accesses: a trace, in which `weft.sanitizer` finds
  races and `weft.counters` counts sectors and bank conflicts;
- `Fault` is raised for what would fail or corrupt memory on a GPU, with the line and
  the thread, and `LaunchError` for a launch that no GPU accepts.

Each name is loaded when it is first used. Loading imports Numba only if Numba compiles
for a GPU in this process.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.places import Place
    from weft.simulator.faults import Fault, LaunchError
    from weft.simulator.installing import install
    from weft.simulator.launch import Launch, calls, record, simulate

__all__ = [
    "Fault",
    "Launch",
    "LaunchError",
    "Place",
    "calls",
    "install",
    "record",
    "simulate",
]

_HOME = {
    "Fault": "weft.simulator.faults",
    "Launch": "weft.simulator.launch",
    "LaunchError": "weft.simulator.faults",
    "Place": "weft.places",
    "calls": "weft.simulator.launch",
    "install": "weft.simulator.installing",
    "record": "weft.simulator.launch",
    "simulate": "weft.simulator.launch",
}


def __getattr__(name: str) -> Any:
    """Import the simulator's `name` when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
