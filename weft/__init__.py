"""Warp & Weft: what the labs of the course need, with or without a GPU.

Import `weft` before Numba. Where there is no usable GPU, `weft` switches Numba to its
simulator, which is only possible before Numba is imported. Once Numba is imported, our
own simulator replaces Numba's.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

from weft import device, originals, tracebacks
from weft.versions import __version__

if TYPE_CHECKING:
    from weft import bench
    from weft.device import doctor
    from weft.dispatch import check
    from weft.exploring import explore
    from weft.launching import prepare
    from weft.lesson import (
        has_tools,
        hint,
        lab,
        load_progress,
        on_gpu,
        progress,
        quiz,
        save_progress,
    )
    from weft.sharing import share, shared
    from weft.torch_stream import current_stream
    from weft.tracing import trace


__all__ = [
    "GPU",
    "__version__",
    "bench",
    "check",
    "current_stream",
    "doctor",
    "explore",
    "has_tools",
    "hint",
    "lab",
    "load_progress",
    "on_gpu",
    "prepare",
    "progress",
    "quiz",
    "save_progress",
    "share",
    "shared",
    "trace",
]


def _import_first() -> str:
    """Return advice on how to import this package before Numba."""
    # Notebooks run by pytest have this variable too, so look for pytest itself as well.
    if "PYTEST_VERSION" in os.environ and "_pytest" in sys.modules:
        return "Put `import weft` at the top of conftest.py, before any other import."
    return "Restart the kernel (Kernel ▸ Restart Kernel) and put `import weft` first."


def _choose() -> bool:
    """Decide where kernels run; return True for a GPU, False for the simulator.

    Without a usable GPU, switches Numba to the simulator. Raises ImportError if it is
    too late for that.
    """
    if device.find().usable:
        return True
    numba = sys.modules.get("numba")
    if numba is not None and not numba.config.ENABLE_CUDASIM:
        raise ImportError(
            "Numba was imported before weft, so it can no longer be switched to the "
            f"simulator, and there is no usable GPU here. {_import_first()}"
        )
    from weft.simulator import installing

    installing.behind_numba()
    return False


originals.watch("math", "numpy")

# The launches of a course are small, and Numba would warn of each on stderr.
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")

GPU = _choose()
tracebacks.install()

_HOME = {
    "bench": "weft.bench",
    "check": "weft.dispatch",
    "current_stream": "weft.torch_stream",
    "doctor": "weft.device",
    "explore": "weft.exploring",
    "has_tools": "weft.lesson",
    "hint": "weft.lesson",
    "lab": "weft.lesson",
    "on_gpu": "weft.lesson",
    "prepare": "weft.launching",
    "load_progress": "weft.lesson",
    "progress": "weft.lesson",
    "quiz": "weft.lesson",
    "save_progress": "weft.lesson",
    "share": "weft.sharing",
    "shared": "weft.sharing",
    "trace": "weft.tracing",
}


def __getattr__(name: str) -> Any:
    """Import a name of the package when it is first used."""
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    module = importlib.import_module(_HOME[name])
    found = module if name == "bench" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
