"""`weft.trace`: the table that a learner sees, and what it takes as arguments."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft

from numba import cuda, float32  # isort: skip
from weft.simulator import Fault, LaunchError

ROOT = Path(__file__).parents[1]


@cuda.jit
def transpose(x, out):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        out[col, row] = x[row, col] * float32(2)


def matrices() -> tuple[Any, Any]:
    x = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    return x, np.zeros((32, 64), np.float32)


def test_the_table_names_lines_arrays_and_their_cost() -> None:
    x, out = matrices()
    trace = weft.trace(transpose)[(1, 2), (32, 32)](x, out)
    np.testing.assert_array_equal(out, 2 * x.T)
    shown = repr(trace)
    assert shown.startswith("transpose[(1, 2), (32, 32)]: 4,096 accesses by 2 blocks\n")
    line = transpose.py_func.__code__.co_firstlineno + 4
    words = [re.split(r"  +", text.strip()) for text in shown.splitlines()]
    code = "out[col, row] = x[row, col] * float32(2)"
    assert [str(line), code, "load x", "64", "4 sectors", "32", "2,048"] in words
    assert ["store out", "64", "32 sectors (4 would do)", "32"] in words
    assert "16.4 kB asked for, 73.7 kB moved in sectors, 16.4 kB of those" in shown
    assert "no race" in shown


def test_the_html_is_a_table_with_headers() -> None:
    x, out = matrices()
    shown = weft.trace(transpose)[(1, 2), (32, 32)](x, out)._repr_html_()
    assert 'aria-label="Trace of transpose[(1, 2), (32, 32)]"' in shown
    assert shown.count("<tr") == 3
    assert shown.count('scope="col"') == 7
    assert "out[col, row] = x[row, col] * float32(2)</span>" in shown


def test_columns_hold_every_access() -> None:
    x, out = matrices()
    trace = weft.trace(transpose)[(1, 2), (32, 32)](x, out)
    stores = trace.operation == 1
    assert stores.sum() == 2048
    assert [line.sectors for line in trace.lines] == [256, 2048]
    assert trace.total.flops == 2048
    assert set(trace.block[stores]) == {0, 1}
    assert set(trace.warp[stores]) == set(range(32))


def test_a_hazard_is_shown_as_a_check_would() -> None:
    @cuda.jit
    def reverse(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        out[t] = tile[63 - t]

    trace = weft.trace(reverse)[1, 64](np.ones(64, np.float32), np.ones(64, np.float32))
    assert trace.hazard.kind == "race"
    assert "✗ reverse — race on shared memory" in repr(trace)
    assert "race on shared memory" in trace._repr_html_()


def test_large_grids_are_sampled_and_say_so() -> None:
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = x[i] + x[i]

    x = np.ones(200 * 32, np.float32)
    trace = weft.trace(double)[200, 32](x)
    assert (x == 2).all()
    assert trace.blocks == 64
    assert "by 64 of the 200 blocks; the others ran" in repr(trace)


def test_a_divergent_line_is_marked() -> None:
    @cuda.jit
    def evens(x):
        i = cuda.grid(1)
        if i % 2 == 0:
            x[i] = 1

    assert "16 (divergent)" in repr(weft.trace(evens)[1, 64](np.zeros(64, np.float32)))


def test_wrong_launches_and_faults_are_worded() -> None:
    x, out = matrices()
    with pytest.raises(LaunchError, match="at most 1024"):
        weft.trace(transpose)[1, 2048]
    with pytest.raises(LaunchError, match=r"weft\.trace\(transpose\)\[grid, block\]"):
        weft.trace(transpose)(x, out)
    with pytest.raises(Fault, match="the shape of out is"):
        weft.trace(transpose)[(1, 2), (32, 32)](x, out[:8])
    with pytest.raises(Fault, match="is not a kernel"):
        weft.trace(3)[1, 1]()


def test_python_functions_and_device_arrays() -> None:
    def fill(out):
        out[cuda.grid(1)] = 3

    out = cuda.to_device(np.zeros(32, np.float32))
    weft.trace(fill)[1, 32](out)
    assert (out.copy_to_host() == 3).all()


class OnDevice:
    """What an array of another library looks like to Numba."""

    def __init__(self) -> None:
        self.__cuda_array_interface__ = {"shape": (8,), "typestr": "<f4", "version": 3}
        self.data = np.zeros(8, np.float32)

    def copy_to_host(self) -> Any:
        return self.data.copy()

    def copy_to_device(self, host: Any) -> None:
        self.data[:] = host


def test_arrays_on_a_gpu_are_copied_there_and_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @cuda.jit
    def fill(out):
        out[cuda.grid(1)] = 3

    monkeypatch.setattr(cuda, "as_cuda_array", lambda array: array)
    array = OnDevice()
    weft.trace(fill)[1, 8](array)
    assert (array.data == 3).all()


def test_tensors() -> None:
    torch = pytest.importorskip("torch")

    @cuda.jit
    def double(x, out):
        i = cuda.grid(1)
        out[i] = x[i] + x[i]

    x, out = torch.ones(32), torch.zeros(32)
    assert weft.trace(double)[1, 32](x, out).total.requested == 384
    assert (out == 2).all()
    with pytest.raises(Fault, match="detach"):
        weft.trace(double)[1, 32](x.requires_grad_(), out)
    with pytest.raises(Fault, match="bfloat16, which NumPy does not have"):
        weft.trace(double)[1, 32](out.bfloat16(), out)


def test_it_runs_the_python_function_where_numba_compiles(tmp_path: Path) -> None:
    """As on a machine with a GPU: Numba is imported first, and not as a simulator."""
    code = """
        import sys, types
        import numpy as np
        import numba
        from numba import cuda

        sys.modules["weft"] = types.ModuleType("weft")  # to find its device module
        sys.modules["weft"].__path__ = ["weft"]
        from weft import device
        device.find = lambda: types.SimpleNamespace(usable=True)
        del sys.modules["weft"]
        import weft
        assert weft.GPU and not numba.config.ENABLE_CUDASIM

        @cuda.jit
        def double(x, out):
            i = cuda.grid(1)
            if i < x.size:
                out[i] = x[i] + x[i]

        x, out = np.ones(50, np.float32), np.zeros(50, np.float32)
        print(weft.trace(double)[2, 32](x, out))
        assert (out == 2).all()
    """
    path = tmp_path / "double.py"
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
    )
    assert done.returncode == 0, done.stderr
    assert "load x" in done.stdout
