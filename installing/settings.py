"""What is configured for pip on this machine, and what of it an installation follows.

pip reads files and every variable PIP_*, and Python reads PYTHON*. One of them, such as
PIP_DRY_RUN, is enough for an installation that installs nothing. So only the settings
listed here are passed on.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import sys
from pathlib import Path

# Where packages come from. With one of these, uv would not find what pip does.
SOURCES = (
    "index-url extra-index-url find-links no-index proxy cert client-cert trusted-host "
    "keyring-provider constraint"
).split()
KEPT = ["timeout", "default-timeout", "retries", "cache-dir", "no-cache-dir"]
KEPT += ["config-file", *(name for name in SOURCES if name != "constraint")]
PYPI = "https://pypi.org/simple"


def environment() -> dict[str, str]:
    """This process's variables, less what would lead pip, uv or Python elsewhere."""
    ours = ("PIP_", "UV_", "PYTHON")
    kept = {"PIP_" + name.upper().replace("-", "_") for name in KEPT}
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.startswith(ours)
    }
    refused = "dry-run no-deps user ignore-installed upgrade pre require-hashes".split()
    taken_back = {"PIP_" + name.upper().replace("-", "_"): "0" for name in refused}
    return {
        **passed,
        **taken_back,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }


def files() -> list[Path]:
    """pip's configuration files, the later ones over the earlier."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path.home()
    shared = os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    found = [Path(folder, "pip/pip.conf") for folder in shared.split(os.pathsep)]
    found += [Path("/etc/pip.conf"), home / ".pip/pip.conf"]
    own = os.environ.get("XDG_CONFIG_HOME") or home / ".config"
    found.append(Path(own, "pip/pip.conf"))
    if sys.platform == "darwin":
        found.insert(0, Path("/Library/Application Support/pip/pip.conf"))
        found.append(home / "Library/Application Support/pip/pip.conf")
    return [*found, Path(named)] if named else found


def options() -> dict[str, str]:
    """pip's options, as its files and its variables set them: index-url, ..."""
    found: dict[str, str] = {}
    for file in files():
        parser = configparser.ConfigParser(interpolation=None)
        with contextlib.suppress(configparser.Error, OSError, UnicodeDecodeError):
            parser.read(file)
        for section in ("global", "install"):
            if parser.has_section(section):
                found.update(
                    (name.lower().replace("_", "-"), value)
                    for name, value in parser.items(section)
                )
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value:
            found[name[4:].lower().replace("_", "-")] = value
    return found


def has_sources() -> bool:
    """True where pip is told where packages come from."""
    return any(name in SOURCES for name in options())


def package_index() -> str:
    """The index that pip would use: its variable, its files, or PyPI."""
    return options().get("index-url", PYPI).rstrip("/")
