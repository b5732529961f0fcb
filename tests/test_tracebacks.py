"""A learner's traceback shows the learner's lines, and none of ours."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

SETUP = """\
import weft
import numpy as np
from numba import cuda
x = np.zeros(8, np.float32)

@cuda.jit
def shift(x, out):
    i = cuda.grid(1)
    out[i] = x[i + 1]

@cuda.jit
def divide(x, out):
    out[0] = x[0] + missing

@cuda.jit
def misspelt(x, out):
    out[0] = xs[0]
"""


def python(code: str, folder: Path) -> str:
    """What Python prints on stderr for a script."""
    path = folder / "script.py"
    path.write_text(SETUP + code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "WEFT_SIMULATOR": "1", "PATH": "/usr/bin"},
    )
    return done.stderr


def ipython(*cells: str) -> list[str]:
    """What IPython prints for each of these cells, run after the setup."""
    code = "\n".join(
        [
            "from IPython.core.interactiveshell import InteractiveShell",
            'shell = InteractiveShell.instance(colors="nocolor")',
            f"for cell in {[SETUP, *cells]!r}:",
            '    print("CELL")',
            "    shell.run_cell(cell)",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "WEFT_SIMULATOR": "1", "PATH": "/usr/bin"},
    )
    return done.stdout.split("CELL\n")[2:]


def test_python_shows_the_learners_frames_only(tmp_path: Path) -> None:
    said = python("def go():\n    shift[1, 8](x, x)\ngo()\n", tmp_path)
    assert said.count("  File ") == 2
    assert str(ROOT) not in said
    assert "shift[1, 8](x, x)" in said
    assert "reads x[8], but x has 8 elements" in said
    assert "line 9: out[i] = x[i + 1]" in said


def test_other_errors_keep_their_frames(tmp_path: Path) -> None:
    said = python("from weft.kernels import simulated\nsimulated.run(1)\n", tmp_path)
    assert "simulated.py" in said


def test_ipython_shows_what_happened_and_the_line_of_the_launch() -> None:
    fault, launch, value, name, kind, unconfigured, traced = ipython(
        "a = 1\nshift[1, 8](x, x)",
        "a = 1\nb = 2\nshift[1, 2048](x, x)",
        "divide[1, 1](x, x)",
        "misspelt[1, 1](x, x)",
        "def go():\n    shift[1, 8](x, [1])\ngo()",
        "shift(x, x)",
        "weft.trace(shift)[1, 8](x, x)",
    )
    for said in (fault, launch, value, name, kind, unconfigured, traced):
        assert "weft/" not in said
        assert "Traceback" not in said
    assert "thread 7, block 0\n  line 9: out[i] = x[i + 1]" in fault
    assert fault.rstrip().endswith("launched on line 2: shift[1, 8](x, x)")
    assert "at most 1024 (32 warps)" in launch
    assert launch.rstrip().endswith("launched on line 3: shift[1, 2048](x, x)")
    assert "NameError" in value
    assert "line 13: out[0] = x[0] + missing" in value
    assert "name 'xs' is not defined" in name
    assert "line 17: out[0] = xs[0]" in name
    assert kind.rstrip().endswith("launched on line 2: shift[1, 8](x, [1])")
    assert "shift[grid, block](...)" in unconfigured
    assert traced.rstrip().endswith("launched on line 1: weft.trace(shift)[1, 8](x, x)")
