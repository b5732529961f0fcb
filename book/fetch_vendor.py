"""Fetch the fonts and browser code that package.json pins into book/vendor.

    python book/fetch_vendor.py

Only what a page loads is kept, with its licence. `manifest.json` records the
version and the digest of every file; a test compares it with the files.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "book" / "vendor"

# package -> (folder under book/vendor, its files: pattern -> folder to put them in)
KEEP = {
    "@fontsource-variable/source-sans-3": (
        "source-sans",
        {"files/source-sans-3-latin-wght-*.woff2": ".", "LICENSE": "."},
    ),
    "requirejs": ("requirejs", {"require.js": "."}),
    "@jupyter-widgets/html-manager": (
        "html-manager",
        {"dist/embed-amd.js": ".", "dist/embed.js.LICENSE.txt": "."},
    ),
    "anywidget": ("anywidget", {"dist/index.js": ".", "LICENSE": "."}),
}


def pinned() -> dict[str, str]:
    """Return package -> version from package.json."""
    return json.loads((ROOT / "package.json").read_text())["dependencies"]


def fetch(package: str, version: str, folder: Path) -> tuple[Path, dict[str, str]]:
    """Unpack one package with npm; return where it lies and npm's account of it."""
    packed = subprocess.run(
        ["npm", "pack", f"{package}@{version}", "--json", "--silent"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    account = json.loads(packed.stdout)
    account = account[0] if isinstance(account, list) else next(iter(account.values()))
    place = folder / package.replace("/", "-")
    with tarfile.open(folder / account["filename"]) as tar:
        tar.extractall(place, filter="data")
    return place / "package", account


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    if shutil.which("npm") is None:
        print("npm is needed to fetch the book's scripts: install Node.js 20 or later.")
        return 1
    versions = pinned()
    if versions.keys() != KEEP.keys():
        print("package.json and KEEP in this file name different packages.")
        return 1

    manifest: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "vendor"
        for package, version in sorted(versions.items()):
            source, account = fetch(package, version, Path(scratch))
            place, wanted = KEEP[package]
            for pattern, target in wanted.items():
                found = sorted(source.glob(pattern))
                if not found:
                    print(f"{package}@{version} has no {pattern}.")
                    return 1
                (fresh / place / target).mkdir(parents=True, exist_ok=True)
                for file in found:
                    shutil.copyfile(file, fresh / place / target / file.name)
            licence = fresh / place / "LICENSE"
            if not licence.exists():  # two packages ship none: keep the one we wrote
                shutil.copyfile(VENDOR / place / "LICENSE", licence)
            files = sorted(p for p in (fresh / place).rglob("*") if p.is_file())
            manifest[package] = {
                "version": version,
                "integrity": account["integrity"],
                "files": {p.relative_to(fresh).as_posix(): digest(p) for p in files},
            }
        (fresh / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
        shutil.rmtree(VENDOR, ignore_errors=True)
        shutil.copytree(fresh, VENDOR)

    size = sum(p.stat().st_size for p in VENDOR.rglob("*") if p.is_file())
    print(f"book/vendor: {len(manifest)} packages, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
