"""Count the instructions per weight of the kernels for few tokens: python count.py.

It needs Triton and no GPU. The kernels are compiled for an H200, and the longest loop
of the machine code is counted.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import kernels  # noqa: E402

HOPPER = GPUTarget("cuda", 90, 32)
TOOL = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
TYPES = {"x": "*bf16", "scales": "*fp32", "y": "*bf16", "m": "i32", "n": "i32"}
BN, WARPS, STAGES = 64, 4, 3
LABEL = re.compile(r"^\s*(\.L_x_\d+):")
STEP = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*?);")
# what turns codes into bfloat16 numbers, or brings these to their places
CONVERSION = "PRMT LOP3 SHF IMAD LEA HADD2 HMUL2 I2F I2FP F2FP VIADD SGXT".split()

# name: kernel, type of w, its constants, groups of 128 per iteration
ROWS: dict[str, tuple[Any, str, dict[str, Any], int]] = {
    "bf16": (kernels.small_batch, "*bf16", {"KIND": "plain"}, 1),
    "int8 per row": (kernels.small_batch, "*i8", {"KIND": "row"}, 1),
    "int4 per 128": (kernels.small_batch, "*u8", {"KIND": "group"}, 1),
}
for kind in ("int8", "e4m3", "int4"):
    of_words = kernels.small_batch_of_words
    ROWS[f"{kind}, words"] = of_words, "*i32", {"KIND": kind, "DEEP": 2}, 2


def machine_code(kernel: Any, kind: str, constants: dict[str, Any]) -> str:
    """Compile a kernel for 16 tokens, and return its machine code as text."""
    constants = {**constants, "BM": 16, "BN": BN}
    types = {"w": kind, **TYPES, "k": "i32"} | dict.fromkeys(constants, "constexpr")
    aligned = {(i,): [["tt.divisibility", 16]] for i in (0, 1, 2, 3, 5, 6)}
    source = ASTSource(kernel, types, constants, aligned)
    options = {"num_warps": WARPS, "num_stages": STAGES}
    compiled = triton.compile(source, target=HOPPER, options=options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.asm["cubin"])
        file.flush()
        done = subprocess.run(
            [TOOL, "-c", file.name], capture_output=True, text=True, check=True
        )
    return done.stdout


def longest_loop(text: str) -> Counter[str]:
    """Return how often each operation is in the longest loop."""
    labels: dict[str, int] = {}
    names: list[str] = []
    loops: list[tuple[int, int]] = []
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(names)
        elif step := STEP.search(line):
            names.append(step[1].partition(".")[0])
            to = re.search(r"`\((\.L_x_\d+)\)", step[2])
            if names[-1] == "BRA" and to and to[1] in labels:
                loops.append((labels[to[1]], len(names)))
    first, last = max(loops, key=lambda loop: loop[1] - loop[0])
    return Counter(names[first:last])


def table() -> str:
    """Return the table: instructions of a thread, divided by its weights."""
    lines = [f"{'instructions per weight':30}{'all':>15}{'to convert':>15}"]
    for name, (kernel, kind, constants, groups) in ROWS.items():
        counts = longest_loop(machine_code(kernel, kind, constants))
        weights = groups * 128 * BN / (32 * WARPS)
        converting = sum(counts[one] for one in CONVERSION)
        cells = (counts.total() / weights, converting / weights)
        lines.append(f"{name:30}" + "".join(f"{cell:15.2f}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    head = f"$ python3 count.py\n# triton {triton.__version__}, compiled for sm_90a\n\n"
    (HERE / "instructions.txt").write_text(f"{head}{table()}\n", encoding="utf-8")
