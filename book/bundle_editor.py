"""Bundle the editor of the checks in the pages into book/check/editor.js.

    python book/bundle_editor.py [FILE]

book/check/package.json pins CodeMirror and esbuild, package-lock.json all that they
need. The bundle is committed, so that the book builds without Node; the licences go on
top of it.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = Path(__file__).resolve().parent / "check"
SOURCES = ("package.json", "package-lock.json", "editor.src.js")
OPTIONS = ("--bundle", "--minify", "--format=esm", "--charset=utf8", "--target=es2022")


def bundle(folder: Path) -> str:
    """Return the bundle, made in `folder`, which npm fills."""
    for name in SOURCES:
        shutil.copyfile(CHECK / name, folder / name)
    subprocess.run(
        ["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True
    )
    code = subprocess.run(
        [folder / "node_modules/.bin/esbuild", "editor.src.js", *OPTIONS],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return f"/*\n{licences(folder)}\n*/\n{code}"


def licences(folder: Path) -> str:
    """What is in the bundle, and under which licences."""
    lock = json.loads((folder / "package-lock.json").read_text())["packages"]
    kept = {
        place.removeprefix("node_modules/"): about["version"]
        for place, about in lock.items()
        if place and not about.get("dev")
    }
    texts: dict[str, list[str]] = {}
    for name, version in sorted(kept.items()):
        text = (folder / "node_modules" / name / "LICENSE").read_text().strip()
        texts.setdefault(text, []).append(f"{name} {version}")
    parts = [f"{', '.join(names)}\n\n{text}" for text, names in texts.items()]
    head = "Made by book/bundle_editor.py of the packages below."
    return "\n\n".join([head, *parts])


def main() -> int:
    if shutil.which("npm") is None:
        print("npm is needed to bundle the editor: install Node.js 20 or later.")
        return 1
    target = Path(sys.argv[1]) if sys.argv[1:] else CHECK / "editor.js"
    with tempfile.TemporaryDirectory() as scratch:
        text = bundle(Path(scratch))
    target.write_text(text, encoding="utf8")
    print(f"{target.name}: {len(text.encode()) / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
