"""What a kernel may be written in: what Numba does not compile is refused."""

import enum
import math
import operator  # noqa: F401  the kernels name it
import sys  # noqa: F401
from collections import namedtuple
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda, float32  # noqa: F401  isort: skip
from weft.simulator import Fault, simulate

LIST, DICT, TABLE = [1, 2], {1: 2}, np.arange(4, dtype=np.float32)
MIXED = (1, 2.0)
GENERATOR = np.random.default_rng(0)
Pair = namedtuple("Pair", "a b")
PAIR = Pair(1, 2)


class Way(enum.IntEnum):
    UP = 1


class Clever:
    value = 3

    def __call__(self, x: Any) -> Any:
        return x


CLEVER = Clever()


def run(body: str, folder: Path) -> Any:
    """Run one thread of a kernel with this body; give its output."""
    path = folder / "kernel.py"
    path.write_text(f"def kernel(x, out):\n    {body}\n", encoding="utf-8")
    scope = dict(globals())
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    out = np.zeros(4, np.float32)
    simulate(scope["kernel"], (1, 1), (np.ones(4, np.float32), out))
    return out


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("try:\n        out[9] = 1\n    except:\n        pass", "no `try`"),
        ("try:\n        out[9] = 1\n    except* ValueError:\n        pass", "no `try`"),
        ("try:\n        out[9] = 1\n    finally:\n        return", "no `try`"),
        ("with x:\n        out[0] = 1", "no `with`"),
        ("import numpy\n    out[0] = 1", "cannot import"),
        ("from os import path\n    out[0] = 1", "cannot import"),
        ("global STATE\n    STATE = 1", "cannot change what is outside"),
        ("cuda.grid = 1\n    out[0] = 1", "changes `cuda.grid`"),
        ("CLEVER.value += 1\n    out[0] = 1", "changes `CLEVER.value`"),
        ("s = [x[0]]\n    out[0] = s[0]", "cannot make a list"),
        ("out[0] = sum(v for v in (1, 2))", "cannot make a list"),
        ("d = {}\n    out[0] = 1", "cannot make a dict"),
        ("a, *b = (1, 2, 3)\n    out[0] = a", "cannot unpack with `*`"),
        ("a = (1, *x)\n    out[0] = a[0]", "cannot unpack with `*`"),
        ("s = f'{x[0]}'\n    out[0] = 1", "cannot make strings"),
        ("out._data[0] = 1", "`out._data` cannot be used"),
        ("yield 1", "no `yield`"),
        ("a = x[0]\n    del a", "no `del`"),
        ("out[0] = sorted((2, 1))[0]", "`sorted` cannot be used"),
        ("eval('1')\n    out[0] = 1", "`eval` cannot be used"),
        ("__import__('os')\n    out[0] = 1", "`__import__` cannot be used"),
        ("globals()['A'] = 1\n    out[0] = 1", "`globals` cannot be used"),
        ("open('/dev/null')\n    out[0] = 1", "`open` cannot be used"),
        ("out[0] = LIST[0]", "the list `LIST` cannot be used"),
        ("DICT[0] = 1\n    out[0] = 1", "the dict `DICT` cannot be used"),
        ("out[0] = sys.maxsize", "the module `sys` cannot be used"),
        ("out[0] = weft.GPU", "the module `weft` cannot be used"),
        ("out[0] = CLEVER(x[0])", "`CLEVER`, a Clever, cannot be used"),
        ("out[0] = GENERATOR.random()", "`GENERATOR`, a Generator, cannot be used"),
        ("TABLE[0] = 1\n    out[0] = 1", "writes to TABLE, which is a constant"),
        ("out[0] = TABLE[4]", "TABLE has 4 elements"),
        ("for i, v in enumerate():\n        out[i] = v", "missing required argument"),
    ],
)
def test_refused(body: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Fault) as caught:
        run(body, tmp_path)
    assert said in caught.value.message
    assert caught.value.places[0].line > 1


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("for k in [1, 2]:\n        out[0] += k", 3),
        ("out[0] = 1 if int(x[0]) in [1, 2] else 2", 1),
        ("[a, b] = x[0], x[1]\n    out[0] = a + b", 2),
        ("out[0] = operator.add(x[0], x[1])", 2),
        ("out[0] = Way.UP", 1),
        ("out[0] = PAIR.b + Pair(1, 2).a", 3),
        ("out[0] = MIXED[0]", 1),
        ("f = lambda a: a + 1\n    out[0] = f(x[0])", 2),
        ("def f(a):\n        return a + 1\n    out[0] = f(x[0])", 2),
        ("out[0] = TABLE[3]", 3),
        ("t = cuda.const.array_like(TABLE)\n    out[0] = t[2]", 2),
        ("out[0] = np.sin(np.float32(np.pi))", np.sin(np.float32(np.pi))),
        ("out[0] = float32(max(abs(-2), min(1, 5)))", 2),
        ("out[0] = divmod(7, 2)[1] + len(x) + round(2.4)", 7),
        ("print('thread', cuda.threadIdx.x)\n    out[0] = 1", 1),
        ("if x[0] > 1:\n        raise ValueError('x')\n    out[0] = 1", 1),
    ],
)
def test_allowed(body: str, value: Any, tmp_path: Path) -> None:
    assert run(body, tmp_path)[0] == np.float32(value)


def test_functions_of_math_keep_the_width_however_they_are_imported() -> None:
    @cuda.jit
    def kernel(x, out):
        out[0] = sqrt(x[0]).itemsize
        out[1] = math.sqrt(x[0]).itemsize
        out[2] = sqrt(-x[0])

    out = np.zeros(3, np.float32)
    simulate(kernel, (1, 1), (np.ones(1, np.float32), out))
    assert out[:2].tolist() == [4, 4]
    assert np.isnan(out[2])


def test_math_holds_no_more_than_pythons() -> None:
    @cuda.jit
    def kernel(out):
        out[0] = math.np.float32(1)

    with pytest.raises(Fault, match=r"Numba has no math\.np on a GPU"):
        simulate(kernel, (1, 1), (np.zeros(1, np.float32),))
