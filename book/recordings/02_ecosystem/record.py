"""Write down which kernels each door of lab 02 launches, for a batch of 8192.

python record.py [--out FOLDER], on a machine with a GPU and PyTorch. The doors are
those of the lab: its cells are run, up to the one that makes them. Names of kernels are
cut short, by `short`; of the host's operators those in OPERATORS are kept.
"""

import argparse
import datetime
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

LAST = "def with_many"  # is in the last cell that is needed
DOORS = {
    "A": "eager",
    "B": "by hand",
    "C": "compile, CUDA graph",
    "D": "eager, bfloat16",
    "E": "eager, CUDA graph",
}
OPERATORS = "linear", "addmm", "mm", "relu"


def scope_of_lab() -> dict[str, Any]:
    """Run the lab's cells and give what they define."""
    from IPython.core.inputtransformer2 import TransformerManager

    from pipeline import notebook

    scope: dict[str, Any] = {"__name__": "__main__"}
    script = notebook.read_script(notebook.script(ROOT, "02_ecosystem"))
    for number, cell in enumerate(script.cells):
        if cell.cell_type != "code":
            continue
        text = TransformerManager().transform_cell(cell.source)
        name = f"<cell {number}>"
        keep(name, text)
        exec(compile(text, name, "exec"), scope)
        if LAST in cell.source:
            return scope
    raise SystemExit(f"no cell has {LAST!r}")


def keep(name: str, text: str) -> None:
    """Let `inspect` find the source of what a cell defines, as Triton wants to."""
    import linecache

    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


def short(name: str) -> str:
    """Cut a kernel's name down to what tells it from others."""
    if "launch_clamp_scalar" in name:
        return "elementwise_kernel<launch_clamp_scalar>"
    name = re.sub(r"^void |^__main__::|cutlass::Kernel2<", "", name)
    return re.split(r"\[abi|_tilesize|_\d+x\d+|[<>(]", name)[0].strip()


def record(door: Any) -> tuple[list[tuple[str, float]], list[str]]:
    """Return the kernels of one call with their µs, and the operators of the host."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    for _ in range(3):
        door()
    torch.cuda.synchronize()
    what = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=what, acc_events=True) as seen:
        door()
        torch.cuda.synchronize()
    events = sorted(seen.events(), key=lambda e: e.time_range.start)
    kernels = [
        (short(e.name), e.time_range.elapsed_us())
        for e in events
        if e.device_type.name == "CUDA"
    ]
    names = [e.name.removeprefix("aten::") for e in events if "aten::" in e.name]
    return kernels, [n for n in names if n in OPERATORS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    out = parser.parse_args().out

    scope = scope_of_lab()
    doors = scope["with_many"]()
    doors["eager, CUDA graph"] = scope["as_graph"](doors["eager"])
    from weft import device

    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("torch", "triton"))
    lines = [
        f"# {device.find().name}, driver {device.driver_version()}, {versions},",
        f"# {datetime.date.today()}; a batch of {scope['MANY']}; µs; by record.py",
    ]
    for letter, name in DOORS.items():
        kernels, operators = record(doors[name])
        lines.append("")
        for number, (kernel, us) in enumerate(kernels):
            lines.append(f"{'' if number else letter:4}{kernel:42}{us:8.1f}")
        lines.append(f"    host: {', '.join(operators) or 'nothing'}")
    (out / "doors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
