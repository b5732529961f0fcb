"""The versions of what measurements depend on."""

import platform
from importlib import metadata

PACKAGES = ("numba", "numba-cuda", "numpy", "torch", "triton")


def of(package: str) -> str:
    """Return the version of an installed package, "" if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def installed() -> dict[str, str]:
    """Return the versions of Python and of `PACKAGES`, of those that are installed."""
    found = {package: of(package) for package in PACKAGES}
    return {"python": platform.python_version()} | {p: v for p, v in found.items() if v}
