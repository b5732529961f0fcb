"""Shapes of shared and local arrays: the check accepts what Numba compiles."""

import importlib
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32, int32  # isort: skip
from weft.device import toolkit
from weft.simulator import Fault, simulate

N, SIZES, NUMPY, FLAG = 8, (4, 8), np.int32(4), True

KNOWN = [  # what comes before the array, its shape
    ("", "(32, 33)"),
    ("", "(32, 32 + 1)"),
    ("", "32 * 2"),
    ("", "2 ** 5"),
    ("", "(N, 3)"),
    ("", "SIZES"),
    ("", "SIZES[-1]"),
    ("", "(SIZES[0], SIZES[1])"),
    ("", "SIZES[1:]"),
    ("", "N if free else 2"),
    ("", "4 if N > 2 else 2"),
    ("", "(2,) * 2"),
    ("", "free"),
    ("", "(free, 2)"),
    ("m = 8", "m"),
    ("m = N", "(m, 2)"),
    ("m = 4 + 4", "m"),
    ("m = SIZES", "m"),
    ("m, k = 4, N", "(m, k)"),
    ("m = 4; m = 8", "m"),
]
UNKNOWN = [
    ("", "(N, N + 1)"),
    ("", "N * 2"),
    ("", "-(-N)"),
    ("", "free + 1"),
    ("", "SIZES + (2,)"),
    ("", "SIZES[N - 8]"),
    ("", "int(4)"),
    ("", "int32(4)"),
    ("", "len(SIZES)"),
    ("", "x.shape[0]"),
    ("", "n"),
    ("", "(n, 2)"),
    ("", "4 if n else 2"),
    ("", "64 / 2"),
    ("", "True"),
    ("", "FLAG"),
    ("", "NUMPY"),
    ("", "[4, 4]"),
    ("m = N + 1", "m"),
    ("m = n", "m"),
    ("m = cuda.blockDim.x", "m"),
    ("m = 8; m += 8", "m"),
    ("m, k = 4, n", "(m, k)"),
]

SOURCE = """
def outer(free):
    def kernel(x, n):
        {before}
        tile = cuda.shared.array({shape}, float32)
        mine = cuda.local.array({shape}, float32)
        x[0] = tile.size + mine.size
    return kernel
"""

COMPILE = """
import json, sys
import numpy as np
from numba import cuda, float32, int32, types, void
N, SIZES, NUMPY, FLAG = 8, (4, 8), np.int32(4), True
signature = void(types.float32[::1], types.int64)
answers = []
for source in json.load(sys.stdin):
    exec(source)
    try:
        cuda.compile_ptx(outer(8), signature, cc=(8, 0))
        answers.append(True)
    except Exception:
        answers.append(False)
print(json.dumps(answers))
"""


def kernel_of(before: str, shape: str, tmp_path: Any, monkeypatch: Any) -> Any:
    """A kernel with these arrays, in a file, where its source can be found."""
    source = SOURCE.format(before=before or "pass", shape=shape)
    (tmp_path / "shaped.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shaped", raising=False)
    importlib.invalidate_caches()
    module: Any = importlib.import_module("shaped")
    vars(module).update(
        cuda=cuda, float32=float32, int32=int32,
        N=N, SIZES=SIZES, NUMPY=NUMPY, FLAG=FLAG,
    )  # fmt: skip
    return cuda.jit(module.outer(8))


@pytest.mark.parametrize(("before", "shape"), KNOWN)
def test_what_numba_knows_is_accepted(
    before: str, shape: str, tmp_path: Any, monkeypatch: Any
) -> None:
    kernel = kernel_of(before, shape, tmp_path, monkeypatch)
    x = np.zeros(1, np.float32)
    simulate(kernel, (1, 1), (x, 4))
    assert x[0] > 0


@pytest.mark.parametrize(("before", "shape"), UNKNOWN)
def test_what_numba_does_not_know_is_refused(
    before: str, shape: str, tmp_path: Any, monkeypatch: Any
) -> None:
    kernel = kernel_of(before, shape, tmp_path, monkeypatch)
    with pytest.raises(Fault) as caught:
        simulate(kernel, (1, 1), (np.zeros(1, np.float32), 4))
    assert caught.value.kind == "type"
    assert "shared.array" in caught.value.places[0].text


@pytest.mark.skipif(bool(toolkit.find().missing), reason="CUDA's compilers are missing")
def test_numba_agrees() -> None:
    cases = [*KNOWN, *UNKNOWN]
    sources = [SOURCE.format(before=b or "pass", shape=s) for b, s in cases]
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        input=json.dumps(sources), capture_output=True, text=True, timeout=120,
        env={k: v for k, v in os.environ.items() if "CUDASIM" not in k},
    )  # fmt: skip
    answers = json.loads(done.stdout)
    assert dict(zip(cases, answers, strict=True)) == {
        case: case in KNOWN for case in cases
    }


def test_a_device_function_may_get_a_shape() -> None:
    @cuda.jit(device=True)
    def total(size):
        mine = cuda.local.array(size, float32)
        for k in range(size):
            mine[k] = float32(k)
        return mine[size - 1]

    @cuda.jit
    def kernel(x):
        x[0] = total(4)

    x = np.zeros(1, np.float32)
    simulate(kernel, (1, 1), (x,))
    assert x[0] == 3
