"""Compile tile.cu and instructions.cu and write down what the tools say of them.

python record.py, on a machine with CUDA 13's nvcc; it needs no GPU, and runs nothing on
one. cuobjdump is the toolkit's or Triton's. The kernels of instructions.cu are compiled
for Hopper, for Blackwell's servers and for its desktop cards.
"""

import datetime
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import shell  # noqa: E402

TARGETS = ("sm_90a", "sm_100a", "sm_120a")
# how the recording calls a kernel of instructions.cu -> the name that selects it
KERNELS = {
    "TMA load": "TMA",
    "mbarrier": "MBARRIER",
    "stmatrix": "STMATRIX",
    "setmaxnreg": "SETMAXNREG",
    "mma.sync": "MMA",
    "wgmma": "WGMMA",
    "tcgen05.ld": "TCGEN05",
    "tcgen05.mma, NVFP4": "SCALED_TILE",
    "mma.sync, NVFP4": "SCALED",
    "try_cancel": "CANCEL",
}
# of machine code: what these instructions become, and nothing else of the kernels
OPCODES = "UTMA|SYNCS|STSM|USETMAX|HMMA|OMMA|WARPGROUP|UTC|LDTM|UGETNEXT"
SEEN = (
    "cuobjdump -sass tile.cubin | grep -oE "
    "'(UTMALDG|UTCATOMSWS|UTCHMMA|UTCBAR|LDTM|SYNCS.PHASECHK)[^,; ]*' | sort | uniq -c"
)


def with_tools() -> str:
    """Return a search path that ends in the folder of Triton's own cuobjdump."""
    spec = find_spec("triton")
    folders = spec.submodule_search_locations if spec else None
    tools = [f"{folder}/backends/nvidia/bin" for folder in folders or ()]
    return ":".join([os.environ["PATH"], *tools])


def about(folder: Path) -> str:
    """Return the line that says what made a recording."""
    found = re.search(r"release [\d.]+, V([\d.]+)", shell.run("nvcc --version", folder))
    today = datetime.date.today().isoformat()
    return f"# nvcc {found[1] if found else '?'}, {today}; compiled, never run\n"


def of_kernel(define: str, target: str, folder: Path) -> str:
    """Return a kernel's instruction in machine code; - if the target has none."""
    command = f"nvcc -arch={target} -D{define} -cubin instructions.cu -o one.cubin"
    said = shell.run(command, folder)
    if re.search(r"not supported on|requires \.target", said):
        return "-"
    sass = shell.run("cuobjdump -sass one.cubin", folder, PATH=with_tools())
    found = re.search(rf"({OPCODES})\w*", sass)
    if not found:
        raise SystemExit(f"{command}\n{said}{sass}")
    return found[0]


def table(folder: Path) -> str:
    """Return the machine instruction of every kernel for every target."""
    lines = [f"{'':20}" + "".join(f"{target:>16}" for target in TARGETS)]
    for name, define in KERNELS.items():
        cells = [of_kernel(define, target, folder) for target in TARGETS]
        lines.append(f"{name:20}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join(lines) + "\n"


def refused(folder: Path) -> str:
    """Return what ptxas says of `wgmma` for Blackwell."""
    command = "nvcc -arch=sm_100a -DWGMMA -cubin instructions.cu"
    said = re.findall(r"error *: (.*)", shell.run(command, folder))
    return f"$ {command}\n" + "\n".join(said) + "\n"


def main() -> None:
    with shell.copied(HERE, ".cu") as folder:
        header = about(folder)
        compiled = "nvcc -arch=sm_100a -Xptxas -v -cubin tile.cu -o tile.cubin"
        said = shell.run(compiled, folder)
        used = "\n".join(re.findall(r"ptxas info *: (Used .*)", said))
        seen = shell.run(SEEN, folder, PATH=with_tools())
        text = f"$ {compiled}\n{header}{used}\n$ {SEEN}\n{seen}"
        (HERE / "tile.txt").write_text(text, encoding="utf-8")
        (HERE / "instructions.txt").write_text(header + "\n" + table(folder), "utf-8")
        (HERE / "wgmma.txt").write_text(header + refused(folder), encoding="utf-8")


if __name__ == "__main__":
    main()
