"""One value for several targets: what the simulator gives is what Numba gives."""

import linecache
import math
from typing import Any

import numpy as np
import pytest

from weft.simulator import record, simulate

from numba import cuda, float32, njit  # isort: skip

X = np.array([1.5, -2.25, 3.125, 0.1], np.float32)
TABLE = np.array([0.25, 7.5, -1.0], np.float32)

DEVICE = {"@njit": njit, "@cuda.jit": cuda.jit(device=True)}
FULL = 0xFFFFFFFF


def twice(x):
    """Return 2 x."""
    return x + x


def both(a, b):
    """Return two numbers in the other order."""
    return b, a


# `x`: (4,) float32; `n`: (4,) int32; `out`: (8,) float64; the rest is zero. No form
# uses anything of `cuda`, so that njit compiles the same text.
FORMS = {
    "an element": "p = q = x[2]\nout[0], out[1] = p, q",
    "three names": "p = q = r = x[1]\nout[0], out[1], out[2] = p, q, r",
    "arithmetic": "p = q = x[2] * x[3]\nout[0], out[1] = p, q",
    "a quotient": "p = q = x[2] / x[3]\nout[0], out[1] = p, q",
    "a power": "p = q = x[3] ** 2\nout[0], out[1] = p, q",
    "an integer": "p = q = n[2]\nout[0], out[1] = p, q",
    "integers": "p = q = n[2] // n[1]\nout[0], out[1] = p, q",
    "a choice": "p = q = x[1] if n[1] > 0 else x[2]\nout[0], out[1] = p, q",
    "a call": "p = q = max(x[1], x[2])\nout[0], out[1] = p, q",
    "a function": "p = q = math.exp(x[1])\nout[0], out[1] = p, q",
    "a device function": "p = q = twice(x[1])\nout[0], out[1] = p, q",
    "a name": "r = x[1]\np = q = r\nr = x[2]\nout[0], out[1], out[2] = p, q, r",
    "itself": "p = x[1]\np = q = p\nout[0], out[1] = p, q",
    "a sum with itself": "p = x[1]\np = q = p + x[2]\nout[0], out[1] = p, q",
    "two elements": "out[0] = out[1] = x[2]",
    "an element, then a name": "out[0] = p = x[2]\nout[1] = p",
    "a name, then an element": "p = out[0] = x[2]\nout[1] = p",
    "an index that is assigned": "i = out[i] = n[1]\nout[7] = i",
    "an index that is used first": "out[i] = i = n[1]\nout[7] = i",
    "narrower elements": "n[0] = p = x[2]\nout[0], out[1] = n[0], p",
    "an element of itself": "x[0] = x[1] = p = x[0] + x[1]\n"
    "out[0], out[1], out[2] = x[0], x[1], p",
    "pairs": "p, q = r, s = x[1], x[2]\nout[0], out[1], out[2], out[3] = p, q, r, s",
    "a pair and its parts": "t = p, q = x[1], x[2]\n"
    "out[0], out[1], out[2], out[3] = t[0], t[1], p, q",
    "a pair of elements": "out[0], p = q, out[1] = x[1], x[2]\nout[2], out[3] = p, q",
    "exchanged pairs": "p, q = x[1], x[2]\np, q = r, s = q, p\n"
    "out[0], out[1], out[2], out[3] = p, q, r, s",
    "a pair that is returned": "p, q = r, s = both(x[1], x[2])\n"
    "out[0], out[1], out[2], out[3] = p, q, r, s",
    "in a loop": "p = q = x[0]\nfor k in range(1, 4):\n    p = p * q + x[k]\n"
    "    q = r = x[k]\nout[0], out[1], out[2] = p, q, r",
    "a sum that becomes wider": "p = q = x[0]\nfor k in range(3):\n"
    "    p = p + 0.1\n    q += x[k]\nout[0], out[1] = p, q",
    "in two branches": "if n[1] > 1:\n    p = q = x[1]\nelse:\n    p = q = 0.1\n"
    "out[0], out[1] = p, q",
    "augmented": "p = q = x[1]\np += x[2]\nq *= x[3]\nout[0], out[1] = p, q",
    "augmented elements": "out[0] = out[1] = x[1]\nout[0] += x[2]\nout[1] *= x[3]",
    "from outside": "p = q = TABLE[1]\nout[0], out[1] = p, q",
    "a conversion": "p = q = float32(0.1)\nout[0], out[1] = p, q",
    "a comparison": "p = q = x[1] > x[2]\nout[0], out[1] = p, q",
    "a size": "p = q = x.shape[0]\nout[0], out[1] = p, q",
    "a tuple's parts": "a, b = p = q = (n[1], n[2])\n"
    "out[0], out[1], out[2], out[3] = a, b, p[0], q[1]",
}


def made(name: str, body: str, decorator: str) -> Any:
    """The function of a form."""
    lines = ["", *(f"    {line}" for line in body.splitlines())]
    text = f"{decorator}\ndef form(x, n, out):\n    i = 3" + "\n".join(lines) + "\n"
    file = f"<{name}, {decorator}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    functions = {"twice": DEVICE[decorator](twice), "both": DEVICE[decorator](both)}
    scope = globals() | {"math": math} | functions
    exec(compile(text, file, "exec"), scope)
    return scope["form"]


def arrays() -> tuple[np.ndarray, ...]:
    return X.copy(), np.array([5, 2, -7, 4], np.int32), np.zeros(8)


@pytest.mark.parametrize("name", FORMS)
def test_several_targets_get_what_numba_gives_them(name: str) -> None:
    wanted, noted, plain = arrays(), arrays(), arrays()
    compiled = made(name, FORMS[name], "@njit")
    compiled(*wanted)
    kernel = made(name, FORMS[name], "@cuda.jit")
    record(kernel, (1, 1), noted)
    simulate(kernel, (1, 1), plain)
    for a, b, c in zip(wanted, noted, plain, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


@cuda.jit
def several(x, out):
    """Give several names the value of an operation of a warp, or of an array."""
    table = cuda.const.array_like(TABLE)
    shared = cuda.shared.array(32, float32)
    mine = cuda.local.array(2, float32)
    i = j = cuda.grid(1)
    p = q = cuda.shfl_xor_sync(FULL, x[i], 1)
    r = s = largest(x[i])
    shared[i] = mine[1] = t = x[j]
    cuda.syncthreads()
    u = v = shared[31 - i]
    w = y = table[2]
    z = mine[0] = mine[1]
    p += q
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = p, q, r, s
    out[i, 4], out[i, 5], out[i, 6], out[i, 7] = t + u, v, w, y
    out[i, 8] = out[i, 9] = z + mine[0]


@cuda.jit(device=True)
def largest(value):
    """Return the largest of a warp's values, in all its lanes."""
    for step in (16, 8, 4, 2, 1):
        value = other = max(value, cuda.shfl_xor_sync(FULL, value, step))
    return other


@pytest.mark.parametrize("run", [simulate, record])
def test_several_names_for_what_only_a_gpu_has(run: Any) -> None:
    x = np.arange(32, dtype=np.float32) / 4
    out = np.zeros((32, 10), np.float32)
    run(several, (1, 32), (x, out))
    beside = x.reshape(16, 2)[:, ::-1].ravel()
    wanted = [2 * beside, beside, x * 0 + x[-1], x * 0 + x[-1]]
    wanted += [x + x[::-1], x[::-1], x * 0 - 1, x * 0 - 1, 2 * x, 2 * x]
    np.testing.assert_array_equal(out, np.stack(wanted, axis=1))
