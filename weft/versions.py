"""The versions of this package and of what measurements depend on."""

import platform
from importlib import metadata

# The only place where it is set; pyproject.toml reads it too. It ends in .dev0 until
# this version is released; see CONTRIBUTING.md.
__version__ = "0.1.0.dev0"

PACKAGES = ("numba", "numba-cuda", "numpy", "torch", "triton")


def revision(version: str = __version__) -> str:
    """Return Git's name for a version: its tag, or `main` if it is not released."""
    return "main" if ".dev" in version else f"v{version}"


def of(package: str) -> str:
    """Return the version of a package, or "" if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def installed() -> dict[str, str]:
    """Return the versions of Python and of those `PACKAGES` that are installed."""
    found = {package: of(package) for package in PACKAGES}
    return {"python": platform.python_version()} | {p: v for p, v in found.items() if v}
