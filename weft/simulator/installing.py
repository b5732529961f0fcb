"""Let ordinary launches, `kernel[grid, block](...)`, run in this simulator.

If Numba is installed, it is switched to its simulator, and ours runs behind it;
otherwise, our stand-in replaces it. This module never imports Numba; the kernels' files
do.
"""

import os
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from weft import backend, meaning

_CUDA = "numba.cuda"


def install(
    package: str = "numba", *, check: Callable[[Any], None] | None = None
) -> None:
    """Let the kernels of this process run in the simulator, with or without Numba.

    Call it before the files that define the kernels are imported, for example at the
    top of `conftest.py`. Then `from numba import cuda` and launches work as on a GPU:
    with Numba's own types and compiler options if Numba is installed, otherwise with a
    stand-in that has what kernels and their host code use.

    package: the package that those files import, `numba` or `numba_cuda_mlir`. The
    second has no simulator, so the stand-in replaces it even if it is installed. check:
    called after each launch with its trace (`weft.simulator.trace.trace.Trace`). For
    example, `weft.sanitizer.refuse` raises `Fault` for races and reads of unwritten
    memory.

    A second call only changes `check`. Raises ImportError if the package has already
    been imported for a GPU, and ValueError for another package.
    """
    if package not in meaning.PACKAGES:
        raise ValueError(f"package is {' or '.join(meaning.PACKAGES)}, not {package!r}")
    if not _is_ours(package):
        if package == "numba" and meaning.installed():
            if not (meaning.loaded() is None or meaning.simulating()):
                raise ImportError(_late(package))
            behind_numba()
        elif meaning.loaded(package) is not None:
            raise ImportError(_late(package))
        else:
            from weft.simulator.stand_in import modules

            modules.provide(package)
    from weft.simulator import host

    host.check_launches(check)


def _is_ours(package: str) -> bool:
    """Return whether the stand-in has replaced a package."""
    return hasattr(meaning.loaded(package), "__weft__")


def _late(package: str) -> str:
    return (
        f"{package} has been imported already, and compiles for a GPU. Call "
        "weft.simulator.install() before anything that imports it, and in a notebook "
        "restart the kernel first."
    )


def behind_numba() -> None:
    """Switch Numba to its simulator; put ours behind it once Numba is imported."""
    os.environ[meaning.SIMULATES] = "1"
    if _is_ours("numba") or any(isinstance(f, _Arrival) for f in sys.meta_path):
        return
    if _CUDA in sys.modules:
        _replace()
    else:
        sys.meta_path.insert(0, _Arrival())


def _replace() -> None:
    from weft.simulator import behind_numba

    behind_numba.install()


class _Arrival(MetaPathFinder):
    """A finder that waits for other code to do the slow import of `numba.cuda`."""

    def __init__(self) -> None:
        self._looking = False

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name != _CUDA or self._looking:
            return None
        spec = self._found()
        if spec is not None and spec.loader is not None:
            backend.do_without_cudart()
            self._follow(spec.loader)
        return spec

    def _found(self) -> ModuleSpec | None:
        """Return the spec of `numba.cuda` from the other finders, or None.

        numba-cuda's own finder in turn asks all finders again, including this one.
        """
        self._looking = True
        try:
            return find_spec(_CUDA)
        finally:
            self._looking = False

    def _follow(self, loader: Any) -> None:
        """Replace the simulator as soon as `loader` has executed the module."""
        execute = loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _replace()

        loader.exec_module = executed
