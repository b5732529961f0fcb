"""What the page on one's own kernels shows and says is what happens."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "own_kernels.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
KEPT = json.loads(
    (ROOT / "benchmarks" / "simulator_speed.json").read_text(encoding="utf-8")
)


def run(*command: str, folder: Path, **environment: str) -> str:
    """What a program says, in a folder of the reader's."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder, capture_output=True, text=True,
        env=clean | {"PYTHONPATH": str(ROOT), "WEFT_SIMULATOR": "1"} | environment,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize("fixed", [False, True])
def test_the_example_of_the_page(fixed: bool, tmp_path: Path) -> None:
    conftest, test, _ = PYTHON
    if fixed:
        first, store, rest = test.partition("    tile[t] = x[t]\n")
        test = f"{first}{store}    cuda.syncthreads()\n{rest}"
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_reverse.py").write_text(test, encoding="utf-8")
    said = run("-m", "pytest", "-q", "-p", "no:nbval", folder=tmp_path)
    assert f"1 {'passed' if fixed else 'failed'}" in said
    shown, _ = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    lines = [line.strip() for line in shown.splitlines()]
    assert all(line in said for line in lines) is not fixed


def test_the_tile_kernel_of_the_page(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    (tmp_path / "scaled.py").write_text(PYTHON[-1], encoding="utf-8")
    said = run("scaled.py", folder=tmp_path)
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[-1]
    assert said.startswith(shown)


KERNELS = """
import numpy as np
from numba import cuda, float32

@cuda.jit
def negative(x):
    x[0] = x[cuda.grid(1) - 1]

@cuda.jit
def race(x):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = 1
    x[t] = tile[31 - t]

@cuda.jit
def unwritten(x):
    tile = cuda.shared.array(32, float32)
    x[0] = tile[0]

@cuda.jit
def barriers(x):
    if cuda.threadIdx.x < 16:
        cuda.syncthreads()
    else:
        cuda.syncthreads()

@cuda.jit
def shuffle(x):
    x[cuda.threadIdx.x] = cuda.shfl_down_sync(0xffffffff, cuda.threadIdx.x, 1)

@cuda.jit
def sum_of_bytes(x):
    x[0] = np.uint8(200) + np.uint8(100)

@cuda.jit("void(float32[:])")
def signature(x):
    x[0] = 1

@cuda.jit
def large(x):
    x[0] = 1

for kernel, threads in (
    (negative, 1), (race, 32), (unwritten, 1), (barriers, 32), (shuffle, 32),
    (sum_of_bytes, 1), (signature, 1), (large, 2048),
):
    x = np.arange(32.0) + 1
    try:
        kernel[1, threads](x)
        print(kernel.__name__, x[0] if kernel in (negative, sum_of_bytes) else "runs")
    except Exception as error:
        print(kernel.__name__, type(error).__name__)
"""

STOCK = """
negative 32.0
race runs
unwritten runs
barriers runs
shuffle AttributeError
sum_of_bytes 44.0
signature runs
large runs
"""

OURS = """
negative Fault
race Fault
unwritten Fault
barriers Fault
shuffle runs
sum_of_bytes 300.0
signature Fault
large LaunchError
"""


def test_the_table_of_the_page(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (?!a kernel that|---).*\|$", PAGE, re.MULTILINE)
    assert len(rows) == len(OURS.split("\n")) - 2
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS, encoding="utf-8")
    stock = run("-W", "ignore", str(file), folder=tmp_path, NUMBA_ENABLE_CUDASIM="1")
    assert "\n" + stock == STOCK
    file.write_text(PYTHON[0] + KERNELS, encoding="utf-8")
    assert "\n" + run(str(file), folder=tmp_path) == OURS


def test_the_time_on_the_page() -> None:
    found = re.search(r"takes (\d+) to (\d+) times\s+as much proc", PAGE)
    assert found
    ratios = [KEPT["series"][-1]["one core"]["ratio"]]
    ratios += KEPT["another processor"]["ratio"]
    assert float(found[1]) == pytest.approx(min(ratios), rel=0.05)
    assert float(found[2]) == pytest.approx(max(ratios), rel=0.05)
