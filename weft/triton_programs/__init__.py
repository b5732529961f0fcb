"""Triton programs, checked in Triton's own interpreter with every access traced.

Triton is a package of its own. PyTorch's CUDA builds bring it along; where PyTorch is
the CPU build it has to be installed. Nothing here imports it before a check does.
"""

import importlib.util

VERSION = "3.7.1"  # the one that PyTorch 2.13.0's CUDA builds require


def missing() -> str:
    """Why Triton programs cannot be checked here, and what to do; '' if they can."""
    if importlib.util.find_spec("triton") is not None:
        return ""
    return (
        "Triton is not installed. It comes with PyTorch's CUDA builds; without a GPU, "
        f"on Linux: `pip install triton=={VERSION}` (a download of 189 MiB)."
    )
