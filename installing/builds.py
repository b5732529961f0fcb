"""What this machine is, and which build of torch suits it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import NamedTuple

from installing import Stop

GPU_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu")  # Linux, WSL, Jetson
LIBCUDA = ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")


class Build(NamedTuple):
    """One build of torch, and what goes with it."""

    kind: str  # the same for every build that would do
    numba: str
    pins: tuple[str, ...]  # packages whose version depends on the CUDA version
    gigabytes: float  # free disk space that a learner needs
    compilers: tuple[str, ...] = ()  # of kernels, for checks; CUDA builds bring them


BUILDS = {
    "cpu": Build(
        "cpu",
        "numba-cuda",
        # Even without a GPU, importing numba.cuda loads CUDA's runtime library.
        ("cuda-bindings==13.5.0", "nvidia-cuda-runtime==13.5.37"),
        2.6,
        ("nvidia-cuda-nvrtc==13.5.37", "nvidia-nvvm==13.5.37"),
    ),
    "cu126": Build("cu12", "numba-cuda[cu12]", ("cuda-bindings==12.9.10",), 8),
    "cu129": Build("cu12", "numba-cuda[cu12]", ("cuda-bindings==12.9.10",), 8),
    "cu130": Build(
        "cu13",
        "numba-cuda[cu13]",
        ("cuda-bindings==13.5.0", "nvidia-nvjitlink==13.0.88"),
        8,
    ),
}


def cuda_of_driver() -> tuple[int, int] | None:
    """CUDA version that the NVIDIA driver can run; None without a GPU and driver."""
    if not any(os.path.exists(device) for device in GPU_DEVICES):
        return None

    for library in LIBCUDA:
        try:
            version = ctypes.c_int()
            if ctypes.CDLL(library).cuDriverGetVersion(ctypes.byref(version)) == 0:
                return version.value // 1000, version.value % 1000 // 10
        except OSError:
            continue
    return None


def choose_build(cuda: tuple[int, int] | None, asked: str = "") -> tuple[str, str]:
    """Name of the torch build for this driver, and a sentence that says why.

    CUDA keeps a minor version's programs running on any driver of the same major
    version. Blackwell's first drivers are CUDA 12.8, and cu126 has no code for it.
    """
    if asked not in ("", "auto", "cpu", "cu12", "cu13"):
        raise Stop(f"VARIANT={asked} is not one of cpu, cu12, cu13, auto.")
    if sys.platform not in ("linux", "darwin"):
        raise Stop("On Windows, use WSL 2: https://learn.microsoft.com/windows/wsl")

    cu12 = "cu129" if cuda and (12, 8) <= cuda < (13, 0) else "cu126"
    if asked not in ("", "auto"):
        return {"cpu": "cpu", "cu12": cu12, "cu13": "cu130"}[asked], "as asked"
    if cuda is None:
        return "cpu", "no NVIDIA driver; kernels will run on the simulator"

    found = "the NVIDIA driver supports CUDA {}.{}".format(*cuda)
    if cuda >= (13, 0):
        return "cu130", found
    if cuda >= (12, 0):
        return cu12, found
    return "cpu", (
        found + ", which is too old for these packages. Kernels will run on the "
        "simulator.\nTo use the GPU, update the driver to 580 or later (525 at the "
        "least) and run make again"
    )


def check_disk(free: int, needed: float, where: Path) -> None:
    """Raise Stop unless `free` bytes hold `needed` GB (10^9 bytes)."""
    if free < needed * 1e9:
        raise Stop(
            f"Not enough disk space: {needed:.1f} GB needed and {free / 1e9:.1f} GB "
            f"free in {where}.\nFree some, or move this folder to a larger disk."
        )


def folder_size(folder: Path) -> int:
    """Bytes on disk below a folder; 0 where there is none."""
    return sum(
        os.lstat(os.path.join(here, name)).st_size
        for here, _, names in os.walk(folder)
        for name in names
    )


def owner_of(folder: Path) -> str:
    """Name the user whose folder this is."""
    try:
        return folder.owner()
    except KeyError:  # a number that has no name on this machine
        return f"user {folder.stat().st_uid}"
