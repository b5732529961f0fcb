"""Write down which kernels each door of lab 02 launches, for a batch of 8192.

python record.py [--out FOLDER], on a machine with a GPU and PyTorch. The doors are
those of the chapter's `measure.py`. Names of kernels are cut short, by `short`; of the
host's operators those in OPERATORS are kept.
"""

import argparse
import datetime
import re
import sys
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab  # noqa: E402

DOORS = {
    "A": "eager",
    "B": "by hand",
    "C": "compile, CUDA graph",
    "D": "eager, bfloat16",
    "E": "eager, CUDA graph",
}
OPERATORS = "linear", "addmm", "mm", "relu"


def ways() -> ModuleType:
    """Return the chapter's `measure`; its model by hand runs the lab's kernel."""
    kernel = lab(HERE.name, "linear_relu").linear_relu
    measure = import_module(f"weft.chapters.{HERE.name}.measure")
    measure.use(kernel)
    return measure


def short(name: str) -> str:
    """Cut a kernel's name down to what tells it from others."""
    if "launch_clamp_scalar" in name:
        return "elementwise_kernel<launch_clamp_scalar>"
    name = re.sub(r"^void |^lab02::|cutlass::Kernel2<", "", name)
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

    measure = ways()
    doors = measure.with_many()
    doors["eager, CUDA graph"] = measure.as_graph(doors["eager"])
    from weft import device

    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("torch", "triton"))
    lines = [
        f"# {device.find().name}, driver {device.driver_version()}, {versions},",
        f"# {datetime.date.today()}; a batch of {measure.MANY}; µs; by record.py",
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
