"""Fetch Pyodide, the Python that runs checks in the book's pages.

    python book/fetch_pyodide.py

book/check/package-lock.json pins its version and its digest; npm fetches it into
_build/pyodide/, once for each version. It is under the Mozilla Public License 2.0.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "book" / "check" / "package-lock.json"
FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
LICENCE = """\
Pyodide {version}, https://github.com/pyodide/pyodide/tree/{version}
is under the Mozilla Public License 2.0, https://www.mozilla.org/MPL/2.0/.
The Python in it is under the PSF License Agreement, https://docs.python.org/3/license.html.
"""


class NoPyodide(Exception):
    """It cannot be had here; the text says why."""


def pinned() -> tuple[str, str]:
    """The version of Pyodide and the digest of its package, as npm writes it."""
    about = json.loads(LOCK.read_text())["packages"]["node_modules/pyodide"]
    return about["version"], about["integrity"]


def fetch() -> Path:
    """Return the folder of Pyodide's files. Raises NoPyodide."""
    version, integrity = pinned()
    folder = ROOT / "_build" / "pyodide" / version
    if folder.is_dir():
        return folder
    if shutil.which("npm") is None:
        raise NoPyodide("npm is not installed, which fetches Pyodide")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        package = packed(version, Path(scratch))
        refuse_other(package, integrity)
        fresh = Path(scratch) / "fresh"
        unpack(package, fresh)
        (fresh / "LICENSE").write_text(LICENCE.format(version=version))
        if not folder.is_dir():  # another build may have been faster
            fresh.rename(folder)
    return folder


def packed(version: str, folder: Path) -> Path:
    """Let npm download the package. Raises NoPyodide."""
    command = ["npm", "pack", f"pyodide@{version}", "--silent"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    found = list(folder.glob("*.tgz"))
    if done.returncode or not found:
        said = (done.stderr.strip().splitlines() or ["npm pack failed"])[-1]
        raise NoPyodide(f"npm cannot fetch pyodide@{version}: {said}")
    return found[0]


def refuse_other(package: Path, integrity: str) -> None:
    """Raise NoPyodide unless a package has the pinned digest."""
    kind, _, wanted = integrity.partition("-")
    digest = hashlib.new(kind, package.read_bytes()).digest()
    if base64.b64encode(digest).decode() != wanted:
        raise NoPyodide("the package that npm fetched is not the one that is pinned")


def unpack(package: Path, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(package) as tar:
        for name in FILES:
            file = tar.extractfile(f"package/{name}")
            assert file is not None
            (folder / name).write_bytes(file.read())


def main() -> int:
    try:
        print(fetch())
    except NoPyodide as reason:
        print(reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
