"""Bundle what the figures use of d3 into weft/exploring/figures/d3.js.

    python book/bundle_d3.py

The packages and their versions are in weft/exploring/figures/package.json; esbuild puts
them into one module without a trace of the network. The licence goes on top.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "weft" / "exploring" / "figures"
ENTRY = """
export { axisBottom, axisLeft } from "d3-axis";
export { scaleLinear, scaleLog } from "d3-scale";
export { select } from "d3-selection";
"""


def version(package: Path) -> str:
    return json.loads((package / "package.json").read_text())["version"]


def main() -> int:
    if shutil.which("npm") is None:
        print("npm is needed to bundle d3: install Node.js 20 or later.")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copyfile(FIGURES / "package.json", folder / "package.json")
        (folder / "entry.js").write_text(ENTRY)
        subprocess.run(["npm", "install", "--silent"], cwd=folder, check=True)
        esbuild = folder / "node_modules" / ".bin" / "esbuild"
        options = ["--bundle", "--minify", "--format=esm", "--charset=utf8"]
        bundle = subprocess.run(
            [esbuild, "entry.js", *options],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        there = folder / "node_modules"
        packages = [*sorted(there.glob("d3-*")), there / "internmap"]
        names = [f"{package.name} {version(package)}" for package in packages]
        licence = (folder / "node_modules" / "d3-scale" / "LICENSE").read_text()
    head = f"Made by book/bundle_d3.py of {', '.join(names)}.\n\n{licence.strip()}"
    text = f"/*\n{head}\n*/\n{bundle}"
    (FIGURES / "d3.js").write_text(text, encoding="utf8")
    print(f"d3.js: {len(text) / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
