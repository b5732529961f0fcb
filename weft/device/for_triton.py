"""The requirements of Triton. Nothing here imports it."""

import importlib.util
import sys

from weft.device.gpu import Device

VERSION = "3.7.1"  # the version that PyTorch 2.13.0's CUDA builds require
OLDEST = (8, 0)  # the lowest compute capability that Triton supports


def missing() -> str:
    """Return why Triton cannot run here and what to do, or "" if it can."""
    return "" if importlib.util.find_spec("triton") is not None else advice()


def advice(platform: str = sys.platform) -> str:
    """Return advice on installing Triton, or on where else to run the lab."""
    if platform == "linux":
        return (
            "Triton is not installed. It comes with PyTorch's CUDA builds; without a "
            f"GPU, run `%pip install triton=={VERSION}` in a cell (189 MiB to "
            "download, 0.7 GB on disk)."
        )
    system = {"darwin": "macOS", "win32": "Windows"}.get(platform, platform)
    way = "use WSL 2, which is a Linux, or " if platform == "win32" else ""
    return (
        f"Triton is not installed, and its makers publish it for Linux alone; this is "
        f"{system}. To work with it, {way}open the lab in Colab."
    )


def too_old(gpu: Device) -> str:
    """Return why Triton does not support this GPU; "" if it does or there is none."""
    if not gpu.usable or gpu.capability >= OLDEST:
        return ""
    has, needs = (".".join(map(str, each)) for each in (gpu.capability, OLDEST))
    return (
        f"Triton supports GPUs of compute capability {needs} and higher; the "
        f"{gpu.name} has {has}."
    )
