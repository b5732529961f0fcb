"""What the package knows of Numba's insides, for every version that it supports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAUNCH = """
import sys
import weft
import numpy as np
from numba import cuda

# Up to numba-cuda 0.24 the class of `cuda.In` was elsewhere.
for name in [n for n in sys.modules if n.endswith("simulator.args")]:
    del sys.modules[name]
sys.modules["numba.cuda.simulator.args"] = None

@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]

x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
double[1, 32](x, out)
double[1, 32](cuda.In(x), cuda.Out(out))
print(out.tolist(), weft.GPU)
"""


def test_a_launch_needs_no_module_that_older_versions_lack(tmp_path) -> None:
    script = tmp_path / "launch.py"
    script.write_text(LAUNCH, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"WEFT_SIMULATOR": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0, 8.0] False\n", done.stderr


NO_CUDART = """
from cuda.bindings import runtime

def missing():
    raise RuntimeError("libcudart.so.13: cannot open shared object file")

runtime.getLocalRuntimeVersion = missing
import weft
print(weft.GPU)
"""


def test_the_simulator_needs_no_library_of_cudas() -> None:
    pytest.importorskip("cuda.bindings.runtime")
    done = subprocess.run(
        [sys.executable, "-c", NO_CUDART],
        cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"WEFT_SIMULATOR": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "False\n", done.stderr


INSIDE = (
    "numba.cuda.cgutils",
    "numba.cuda.simulator", "numba.cuda.dispatcher", "numba.cuda.extending",
"numba.np", "targetoptions", "_ary", "py_func",
)  # fmt: skip


@pytest.mark.parametrize("word", INSIDE)
def test_no_other_module_knows_numbas_insides(word: str) -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "weft").rglob("*.py")
        if word in path.read_text(encoding="utf-8")
    }
    alike = {path for path in found if "/stand_in/" in path}  # it has the same inside
    assert found - alike <= {"weft/backend.py", "weft/meaning.py"}
