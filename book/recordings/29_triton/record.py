"""Write down what Triton's compiler makes of lab 29's programs.

python record.py, on Linux with Triton; it needs no GPU. The programs are those of
the lab and its chapter: the cells are run, up to the one that gives the lab's to the
chapter's.
"""

import inspect
import linecache
import os
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("WEFT_SIMULATOR", "1")

LAST = "programs.use("  # is in the last cell that is needed
WIDTH = 88


def scope_of_lab() -> dict[str, Any]:
    """Run the lab's cells, but for its checks, and give what they define."""
    from verification.cells import cells, run
    from weft.cells import checked

    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells("29_triton")):
        if not checked(cell.source) and ".expect(" not in cell.source:
            run(cell.source, f"<cell {number}>", scope)
        if LAST in cell.source:
            return scope
    raise SystemExit(f"no cell has {LAST!r}")


def compiled(lab: dict[str, Any]) -> dict[str, Any]:
    """Compile what the page shows: a name → its machine code."""
    import torch

    code, programs = lab["machine_code"], lab["measure"].programs
    tiles = dict(programs.TILES, num_stages=3)
    x = torch.empty(4096)
    found = {
        f"addition of {n} numbers": code(lab["triton_add"], x, x, x, n, BLOCK=1024)
        for n in (4096, 4095)
    }
    for size, capability in ((8192, (8, 0)), (8192, (9, 0)), (8190, (9, 0))):
        matrix = torch.empty(size, size, dtype=torch.bfloat16, device="meta")
        found[f"matmul of {size}, capability {capability[0]}.{capability[1]}"] = code(
            *(lab["matmul"], *[matrix] * 3, *[size] * 3),
            capability=capability,
            **tiles,
        )
    matrix = torch.empty(8192, 8192, dtype=torch.bfloat16, device="meta")
    matrices = [matrix] * 3
    for name in ("matmul_descriptors", "matmul_persistent"):
        sizes = *programs.described(*matrices, 128, 256, 64), *[8192] * 3
        found[f"{name} of 8192, capability 9.0"] = code(
            getattr(programs, name), *sizes, GROUP=8, **tiles
        )
    sizes = *programs.described(*matrices, 64, 128, 64), *[8192] * 3
    few = dict(tiles, BM=64, BN=128, num_warps=4)
    for argument in ("flatten", "warp_specialize"):
        program = with_argument(programs.matmul_persistent, argument)
        found[f"matmul_persistent, 4 warps, {argument}"] = code(
            program, *sizes, GROUP=8, **few
        )
    return found


def with_argument(program: Any, argument: str) -> Any:
    """Return a program with another argument of `tl.range` instead of `flatten`."""
    import triton

    name = f"<with {argument}>"
    text = inspect.getsource(program.fn).replace("flatten=True", f"{argument}=True")
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope = dict(program.fn.__globals__)
    exec(compile(text, name, "exec"), scope)
    return triton.jit(scope[program.fn.__name__].fn)


INSTRUCTIONS = {
    "ld.global": "loads",
    "cp.async.cg": "asynchronous copies of 16 bytes",
    "cp.async.bulk.tensor": "tiles moved by the TMA",
    "ldmatrix": "ldmatrix",
    "mma.sync": "mma.sync",
    "wgmma.mma": "wgmma",
    "mbarrier.try_wait": "waits at an mbarrier",
    "setmaxnreg": "registers given or taken (setmaxnreg)",
    "bar.sync": "barriers",
    "st.global": "stores",
}


def counts(found: dict[str, Any]) -> str:
    """List how often instructions are in each text."""
    lines = [heading()]
    for name, code in found.items():
        lines += ["", f"{name}: {code.shared:,} bytes of shared memory"]
        for prefix, means in INSTRUCTIONS.items():
            each = code.count(prefix)
            if total := sum(each.values()):
                widths = {re.search(r"\.(v\d\.)?b\d+", key) for key in each}
                kind = ", ".join(sorted(w[0] for w in widths if w))
                kind = kind if prefix in ("ld.global", "st.global") else ""
                lines.append(f"  {total:4}  {means}{f' ({kind})' * bool(kind)}")
    return "\n".join(lines) + "\n"


def layouts(text: str) -> str:
    """Keep the layouts and what is done with them; drop places in the source."""
    kept = [heading(), ""]
    for line in text.splitlines():
        line = re.sub(r" loc\(.*?\)+$", "", line)
        if line.startswith("#") and "ttg." in line and "smem" not in line:
            kept.append(line)
        words = ("local_alloc", "async_copy", "async_wait", "group_dot")
        if any(f"ttg.{word}" in line or f"warp_{word}" in line for word in words):
            line = re.sub(r"(%\w+?)_\d+", r"\1", line.strip())
            kept.append(line if len(line) < WIDTH else line[: WIDTH - 2] + " …")
    return "\n".join(kept) + "\n"


def loop(ptx: str) -> str:
    """Keep the instructions of the inner loop that matter, in their order."""
    label = r"\n(\$L__BB0_\d+):[^\n]*\n"
    body = re.search(rf"{label}(?:(?!\n\$L__).)*?wgmma\.mma", ptx, re.S)
    assert body is not None
    start = body.start()
    end = ptx.index(f"{body[1]};", start)
    kept, again = [heading(), ""], 0
    words = ("cp.async", "wgmma", "bar.sync", "bra")
    for line in ptx[start:end].splitlines():
        line = re.sub(r"\s+", " ", line.strip().rstrip(";"))
        line = re.sub(r"\{(%r\d+),.*?,(%r\d+)\}", r"{\1, …, \2}", line)
        found = re.match(r"(?:@!?%p\d+ )?([\w.:]+)", line)
        if not found or not found[1].startswith(words):
            continue
        same = kept[-1].startswith(found[1]) and found[1].startswith(("cp.async.cg",))
        again = again + 1 if same else 0
        if same:
            kept[-1] = f"{kept[-1].partition('  //')[0]}  // and {again} more"
        else:
            kept.append(line if len(line) < WIDTH else line[: WIDTH - 2] + " …")
    return "\n".join(kept) + "\n"


def heading() -> str:
    return f"# Triton {metadata.version('triton')}; by record.py"


def recordings() -> dict[str, str]:
    """Return the text of each file."""
    found = compiled(scope_of_lab())
    product = found["matmul of 8192, capability 9.0"]
    return {
        "counts.txt": counts(found),
        "layouts.txt": layouts(product.layouts),
        "loop.txt": loop(product.ptx),
    }


if __name__ == "__main__":
    for name, text in recordings().items():
        (HERE / name).write_text(text, encoding="utf-8")
        print(text)
