"""Disassemble one step of `cube_roots32`: python sass.py. No GPU is needed.

Needs Numba with NVIDIA's compiler, PyTorch (for programs.py), ptxas and cuobjdump.
"""

import re
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

from numba import cuda, float32
from programs import cube_roots32

HERE = Path(__file__).parent
TARGET = "sm_90"
COMMAND = "cuobjdump -sass cube_roots32.cubin"
LINE = re.compile(r"/\*[0-9a-f]{4}\*/.*?;")


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    ptx, _ = cuda.compile_ptx(
        cube_roots32.py_func, (float32[::1], float32[::1]), cc=(9, 0)
    )
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "k.ptx"), Path(folder, "cube_roots32.cubin")
        source.write_text(ptx, encoding="utf-8")
        said("ptxas", f"-arch={TARGET}", str(source), "-o", str(binary))
        lines = LINE.findall(said("cuobjdump", "-sass", str(binary)))
    ptxas = re.search(r"V(\d\S+)", said("ptxas", "--version"))
    versions = [f"{p} {metadata.version(p)}" for p in ("numba", "numba-cuda")]
    # The compiler unrolls the loop: a step begins where y is squared.
    first, second = [n for n, line in enumerate(lines) if " FMUL " in line][1:3]
    text = [
        f"$ {COMMAND}",
        f"# NVIDIA ptxas {ptxas[1] if ptxas else '?'} for {TARGET}, without a GPU",
        f"# {', '.join(versions)}",
        "# one of the 20 steps",
        *lines[first:second],
    ]
    out = HERE / "cube_roots32.sass.txt"
    out.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
