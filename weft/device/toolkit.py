"""Find the parts of CUDA with which Numba compiles kernels.

Numba-CUDA needs NVRTC, NVVM and NVVM's libdevice. It looks for them through
cuda-pathfinder: in wheels, in a Conda environment, in `CUDA_PATH` or `CUDA_HOME`, and
where the system's loader looks. This module searches the same places in the same order
(cuda-pathfinder 1.9, `descriptor_catalog.py`; numba-cuda 0.30, `cuda_paths.py`) but
only looks at file names: it loads nothing, and takes a millisecond.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PIECES = ("nvrtc", "nvvm", "libdevice")
INSTALL = "To install the compilers: `pip install nvidia-cuda-nvrtc nvidia-nvvm`"

_windows = sys.platform == "win32"
_wheels = {  # below a site-packages folder
    "nvrtc": ("nvidia/cu13/{lib}", "nvidia/cuda_nvrtc/{lib}"),
    "nvvm": ("nvidia/cu13/{lib}", "nvidia/cuda_nvcc/nvvm/{lib64}"),
    "libdevice": ("nvidia/cu13/nvvm/libdevice", "nvidia/cuda_nvcc/nvvm/libdevice"),
}
_toolkit = {  # below the root of an installed toolkit
    "nvrtc": ("{lib64}", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"),
    "nvvm": ("nvvm/{lib64}", "{lib64}", "lib"),
    "libdevice": ("nvvm/libdevice",),
}
_files = {
    "nvrtc": "nvrtc64_*.dll" if _windows else "libnvrtc.so.*",
    "nvvm": "nvvm*.dll" if _windows else "libnvvm.so*",
    "libdevice": "libdevice.10.bc",
}


@dataclass(frozen=True)
class Toolkit:
    """The files that were found, with None for each piece that is missing."""

    nvrtc: Path | None = None
    nvvm: Path | None = None
    libdevice: Path | None = None

    @property
    def missing(self) -> list[str]:
        """The names of the pieces that were not found."""
        return [name for name in PIECES if getattr(self, name) is None]

    @property
    def major(self) -> int | None:
        """The major CUDA version of NVRTC, from its file's name, or None if unknown."""
        if self.nvrtc is None:
            return None
        found = re.search(r"nvrtc(?:\.so\.|64_)(\d{2})", self.nvrtc.name)
        return int(found[1]) if found else None


def find(environ: Mapping[str, str] = os.environ) -> Toolkit:
    """Look for the pieces that compile a kernel. Loads nothing and never raises."""
    return Toolkit(**{name: _locate(name, environ) for name in PIECES})


def _locate(piece: str, environ: Mapping[str, str]) -> Path | None:
    """Return the file of one piece, or None if it is missing."""
    for folder in _folders(piece, environ):
        try:
            found = sorted(
                f for f in folder.glob(_files[piece]) if "builtins" not in f.name
            )
        except OSError:  # a folder that cannot be read
            continue
        if found:
            return found[0]
    return None


def _folders(piece: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders where a piece may be, in the order in which Numba looks."""
    lib, lib64 = ("bin", "bin") if _windows else ("lib", "lib64")

    def below(root: Path, subfolders: tuple[str, ...]) -> Iterator[Path]:
        for sub in subfolders:
            folder = root / sub.format(lib=lib, lib64=lib64)
            if _windows:  # CUDA 13 keeps its libraries one folder further down
                yield folder / "x86_64"
                yield folder / "x64"
            yield folder

    for entry in sys.path:
        if entry and os.path.isdir(os.path.join(entry, "nvidia")):
            yield from below(Path(entry), _wheels[piece])
    if environ.get("CONDA_PREFIX"):
        conda = Path(environ["CONDA_PREFIX"])
        yield from below(conda / "Library" if _windows else conda, _toolkit[piece])
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if environ.get(variable):
            yield from below(Path(environ[variable]), _toolkit[piece])
    if not _windows:
        yield from below(Path("/usr/local/cuda"), _toolkit[piece])
    if not _windows and piece != "libdevice":
        for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
            if folder:
                yield Path(folder)
        yield Path("/usr/lib/x86_64-linux-gnu")
        yield Path("/usr/lib/aarch64-linux-gnu")
