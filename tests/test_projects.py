"""The projects that end the course: right kernels pass, and slips are named."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "where_next.md").read_text(encoding="utf-8")
CHECKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
HEAD = "from math import sqrt\n\nfrom numba import cuda, float32\n\n"

MANDELBROT = '''
@cuda.jit
def mandelbrot(x, y, out):
    """Count the steps within a distance of 2."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        re = im = 0.0
        count = 0
        while count < 30 and re * re + im * im <= 4:
            re, im = re * re - im * im + x[col], 2 * re * im + y[row]
            count += 1
        out[row, col] = count
'''

GRAVITY = '''
@cuda.jit
def gravity(body, out):
    """Add the pulls of tiles of 64 bodies."""
    tile = cuda.shared.array((64, 4), float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    ax = ay = az = float32(0)
    for first in range(0, body.shape[0], 64):
        if first + t < body.shape[0]:
            for k in range(4):
                tile[t, k] = body[first + t, k]
        cuda.syncthreads()
        if i < body.shape[0]:
            for j in range(min(64, body.shape[0] - first)):
                x = tile[j, 0] - body[i, 0]
                y = tile[j, 1] - body[i, 1]
                z = tile[j, 2] - body[i, 2]
                square = x * x + y * y + z * z + float32(0.01)
                pull = tile[j, 3] / (square * float32(sqrt(square)))
                ax, ay, az = ax + pull * x, ay + pull * y, az + pull * z
        cuda.syncthreads()
    if i < body.shape[0]:
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az
'''

LAYERNORM = '''
@cuda.jit
def layernorm(x, weight, bias, out, mean, rstd):
    """Normalise one row per block of 128 threads."""
    sums = cuda.shared.array(2, float32)
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    if t < 2:
        sums[t] = 0
    cuda.syncthreads()
    for c in range(t, n, 128):
        cuda.atomic.add(sums, 0, x[row, c])
    cuda.syncthreads()
    m = sums[0] / float32(n)
    for c in range(t, n, 128):
        d = x[row, c] - m
        cuda.atomic.add(sums, 1, d * d)
    cuda.syncthreads()
    s = float32(1) / float32(sqrt(sums[1] / float32(n) + float32(1e-5)))
    for c in range(t, n, 128):
        out[row, c] = (x[row, c] - m) * s * weight[c] + bias[c]
    if t == 0:
        mean[row], rstd[row] = m, s
'''

SLIPS = [
    (MANDELBROT, "<= 4", "< 2", "wrong"),
    (MANDELBROT, "row < out.shape[0] and col", "col", "outside"),
    (GRAVITY, "        cuda.syncthreads()\n    if i", "    if i", "race"),
    (GRAVITY, "min(64, body.shape[0] - first)", "64", "read before"),
    (LAYERNORM, "float32(n) + float32(1e-5)", "float32(n - 1)", "wrong"),
    (LAYERNORM, "m, s\n", "m, s * s\n", "wrong"),
]


@pytest.fixture
def verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What the page's check says of a kernel above it, in a file of the reader's."""

    def says(kernel: str) -> str:
        name = kernel.split("def ")[1].split("(")[0]
        (check,) = (block for block in CHECKS if f"    {name},  # {name}(" in block)
        file = tmp_path / "project.py"
        file.write_text(f"{HEAD}{kernel}\n\n{check}", encoding="utf-8")
        runpy.run_path(str(file))
        return capsys.readouterr().out

    return says


@pytest.mark.parametrize("kernel", [MANDELBROT, GRAVITY, LAYERNORM])
def test_a_right_kernel_passes(kernel: str, verdict: Callable[[str], str]) -> None:
    assert verdict(kernel).startswith("✓")


@pytest.mark.parametrize(("kernel", "old", "new", "said"), SLIPS)
def test_a_slip_is_named(
    kernel: str, old: str, new: str, said: str, verdict: Callable[[str], str]
) -> None:
    assert old in kernel
    told = verdict(kernel.replace(old, new))
    assert told.startswith("✗")
    assert said in told
