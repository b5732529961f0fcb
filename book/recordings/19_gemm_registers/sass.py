"""Write down what the compiler makes of lab 19's kernels: python sass.py.

It needs no GPU, but Numba, ptxas and nvdisasm, and an NVVM that is no newer than this
ptxas. The definitions are those of the lab and of `kernels.py`; nothing is run.
"""

import ast
import importlib
import itertools
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CHAPTER = ROOT / "chapters" / "19_gemm_registers"
IMPORTS = """
import numpy as np
from numba import cuda, float32, int32, int64
from weft.intrinsics import commit_group, copy4_async, copy_async
from weft.intrinsics import load4, store4, wait_group
from weft.templates import specialise
"""
SIZES = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}


def without_gpu() -> Any:
    """Make Numba compile for capability 9.0; return `numba.cuda`."""
    package = types.ModuleType("weft")  # importing `weft` would choose the simulator
    package.__path__ = [str(ROOT / "weft")]
    sys.modules["weft"] = package
    sys.path.insert(0, str(ROOT))
    cuda: Any = importlib.import_module("numba.cuda")
    backend: Any = importlib.import_module("weft.backend")
    backend.pretend_device((9, 0)).compute_capability = (9, 0)
    return cuda


def definitions() -> dict[str, Any]:
    """Return the functions and the constants that the lab and its kernels define."""
    scope: dict[str, Any] = {"__name__": "lab"}
    exec(IMPORTS, scope)
    for file in (CHAPTER / "kernels.py", CHAPTER / "lab.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            constants = isinstance(node, ast.Assign) and all(
                name.id.isupper() for name in names
            )
            if constants or isinstance(node, ast.FunctionDef):
                exec(compile(ast.Module([node], []), str(file), "exec"), scope)
    return scope


def kernels(lab: dict[str, Any]) -> dict[str, Any]:
    """Return the kernels of four rungs, compiled with the ladder's sizes."""
    specialise = lab["specialise"]
    tile = lab["sized"](128, 256, 8, 16, 64, 64)
    return {
        "a column of 8": specialise(lab["gemm_1d"], BM=64, BN=64, BK=8, TM=8),
        "8 x 8": specialise(lab["gemm_2d"], **SIZES, THREADS=256),
        "by fours": specialise(
            lab["gemm_wide"], **SIZES, WIDTH=132, unroll=lab["WRITE_OUT"]
        ),
        "8 x 16": lab["pipeline"](**tile, SNAKE=0),
    }


def assembled(cuda: Any, kernel: Any) -> list[str]:
    """Return the lines of a kernel's SASS, without addresses and encodings."""
    types_: Any = importlib.import_module("numba").types
    matrix = types_.Array(types_.float32, 2, "C")
    number = types_.float32
    signature = types_.void(number, matrix, matrix, number, matrix)
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=(9, 0))
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(ptx, encoding="utf-8")
        run = ["ptxas", "-arch=sm_90a", str(source), "-o", str(binary)]
        subprocess.run(run, check=True)
        command = ["nvdisasm", "-c", str(binary)]
        text = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = (re.sub(r"/\*[0-9a-f]{4,}\*/", "", n) for n in text.stdout.splitlines())
    return [re.sub(r"\s*;$", "", n.strip()) for n in lines if n.strip()]


def main_loop(lines: list[str]) -> list[str]:
    """Return the loop with most multiply-adds, from its label to its branch."""
    labels = {n[:-1]: i for i, n in enumerate(lines) if re.match(r"\.L_x_\d+:", n)}
    loops = []
    for i, line in enumerate(lines):
        back = re.search(r"\bBRA\b.*?(\.L_x_\d+)", line)
        if back and labels.get(back[1], i) < i:
            loops.append(lines[labels[back[1]] : i + 1])
    return max(loops, key=lambda n: sum("FFMA" in line for line in n))


def runs(lines: list[str], name: str, most: int) -> Iterator[str]:
    """Keep `most` instructions of each run of this name, and count the others."""
    for same, group in itertools.groupby(lines, lambda n: n.startswith(name)):
        run = list(group)
        kept = run if not same or len(run) <= most + 1 else run[:most]
        yield from kept
        if len(kept) < len(run):
            yield f"…  {len(run) - most} more {name}"


def guarded(lines: list[str]) -> Iterator[str]:
    """Keep the guards, loads and stores of the first loop that fills a tile."""
    kept = re.compile(r"(@!?U?P\d )?(BRA|LDG|STS|BSSY|BSYNC)|\.L")
    (end,) = [i for i, n in enumerate(lines) if re.search(r"BRA `\(\.L_x_15\)", n)]
    loop = lines[lines.index(".L_x_15:") : end + 1]
    for keep, group in itertools.groupby(loop, lambda n: bool(kept.match(n))):
        run = list(group)
        yield from run if keep else [f"…  {len(run)} for indices and addresses"]


def ahead(loop: list[str]) -> Iterator[str]:
    """Keep one step, from its last copy to the first use of the next fragments."""
    copies = [i for i, n in enumerate(loop) if n.startswith("LDGSTS")]
    rest = loop[copies[-1] :]
    loads = (re.match(r"LDS\.128 (R\d+),", n) for n in rest)
    fragment = next(m[1] for m in loads if m)
    use = re.compile(rf"FFMA R\d+, (R\d+(\.reuse)?, )?{fragment}\b")
    read = next(i for i, n in enumerate(rest) if n.startswith(f"LDS.128 {fragment}"))
    first = next(i for i, n in enumerate(rest) if i > read and use.match(n))
    yield from runs(rest[:first], "FFMA", 1)
    yield rest[first]


def recording(cuda: Any) -> str:
    found = {
        name: assembled(cuda, kernel) for name, kernel in kernels(definitions()).items()
    }
    column, fours = main_loop(found["a column of 8"]), main_loop(found["by fours"])
    sections = {
        "a column of 8: the first operands": column[6:22],
        "8 x 8: loading a tile": list(guarded(found["8 x 8"]))[:16],
        "by fours: the inner loop": list(runs(fours, "FFMA", 6)),
        "8 x 16: one step": list(ahead(main_loop(found["8 x 16"]))),
    }
    parts = [f"# {name}\n" + "\n".join(text) for name, text in sections.items()]
    return "\n\n".join([heading(), *parts]) + "\n"


def heading() -> str:
    """Say which compiler it was."""
    said = [
        re.search(r"V([\d.]+)", subprocess.check_output([n, "--version"], text=True))
        for n in ("ptxas", "nvdisasm")
    ]
    tools = ", ".join(
        f"{n} {m[1]}" for n, m in zip(("ptxas", "nvdisasm"), said, strict=True) if m
    )
    return f"# for sm_90a: {tools}; by sass.py"


if __name__ == "__main__":
    text = recording(without_gpu())
    (HERE / "sass.txt").write_text(text, encoding="utf-8")
    print(text)
