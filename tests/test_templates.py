"""Kernels with other constants, and loops that are written out."""

import ast
import inspect

import numpy as np
import pytest

import weft  # noqa: F401

from numba import cuda  # isort: skip
from weft.kernels.constants import changed
from weft.templates import specialise, written_out

TILE = 2
LAST = 0


@cuda.jit(device=True)
def scaled(value):
    return value * TILE


@cuda.jit
def fill(out):
    i = cuda.grid(1)
    total = 0
    for kk in range(TILE):
        if kk == TILE - 1:
            total += 100
        total += scaled(kk)
    if i < out.size:
        out[i] = total


def launched(kernel):
    out = np.zeros(3, np.float32)
    kernel[1, 4](out)
    return out.tolist()


def test_constants_reach_the_kernel_and_what_it_calls():
    assert launched(fill) == [102] * 3
    assert launched(specialise(fill, TILE=4)) == [100 + 4 * (0 + 1 + 2 + 3)] * 3
    assert launched(fill) == [102] * 3  # as it was


def test_an_unknown_name_is_refused():
    assert launched(specialise(fill, LAST=1)) == [102] * 3
    with pytest.raises(ValueError, match="fill knows no global name WIDTH"):
        specialise(fill, WIDTH=3)
    with pytest.raises(ValueError, match="is no kernel"):
        specialise(launched, TILE=3)


def loops(n):
    found = []
    for i in range(TILE):
        for kk in range(1, TILE + 1):
            if kk == TILE:
                found.append(-1)
            elif kk > 99:
                pass
            found.append((i, kk % 2))
        if n > i:
            found.append(n)
    return found


def test_loops_are_written_out_and_keep_their_lines():
    for names in ({"kk"}, {"i", "kk"}, {"i"}):
        scope = globals() | {"TILE": 3}
        made = written_out(loops, names, scope)
        expected = type(loops)(loops.__code__, globals() | {"TILE": 3})
        assert made(2) == expected(2)
        assert made.__code__.co_firstlineno == loops.__code__.co_firstlineno
        lines = {line for *_, line in made.__code__.co_lines() if line}
        assert lines <= {line for *_, line in loops.__code__.co_lines() if line}
        assert not names & set(made.__code__.co_varnames)


def test_a_loop_without_constant_limits_is_refused():
    def open_ended(n):
        for kk in range(n):
            print(kk)

    with pytest.raises(ValueError, match="over kk in line 2 cannot be written out"):
        written_out(open_ended, {"kk"}, globals())
    assert ast.parse(inspect.getsource(test_an_unknown_name_is_refused))


def test_constants_reach_a_device_function_of_another_module(tmp_path, monkeypatch):
    file = tmp_path / "factors.py"
    file.write_text(
        "from numba import cuda\n\nFACTOR = 2\n\n\n"
        "@cuda.jit(device=True)\ndef times(x):\n    return x * FACTOR\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from factors import times

    @cuda.jit
    def kernel(out):
        out[0] = scaled_elsewhere(out[0])  # noqa: F821

    def run(kernel):
        out = np.ones(1, np.float32)
        kernel[1, 1](out)
        return out[0]

    monkeypatch.setitem(globals(), "scaled_elsewhere", times)
    assert run(kernel) == 2
    assert run(specialise(kernel, FACTOR=5)) == 5
    with changed(kernel.py_func, {"FACTOR": 7}):
        assert run(kernel) == 7
    assert run(kernel) == 2
