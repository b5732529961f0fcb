"""cuTile's kernels as learners write them: right ones pass, wrong ones say why."""

from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba
from weft import check
from weft.dispatch import room_of
from weft.tile_programs import missing, room

if reason := missing():
    pytest.skip(reason, allow_module_level=True)

import cuda.tile as ct

Constant = ct.Constant[int]
ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def normal(rng: Any, *shape: int, dtype: Any = np.float32) -> Any:
    return rng.standard_normal(shape).astype(dtype)


# Three exercises, and their launches

ADD: dict[str, Any] = {
    "spec": lambda x, y: x + y,
    "inputs": lambda rng, n: (normal(rng, n), normal(rng, n)),
    "sizes": [97, 300],
    "launch": lambda n, TILE=64: ((cdiv(n, TILE),), {"TILE": TILE}),
}


def softmax_of(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


SOFTMAX: dict[str, Any] = {
    "spec": softmax_of,
    "inputs": lambda rng, rows, cols: (normal(rng, rows, cols) - 20,),
    "sizes": [(3, 70), (4, 128)],
    "launch": lambda rows, cols: ((rows,), {"TILE": 128}),
}
GEMM: dict[str, Any] = {
    "spec": lambda a, b: a.astype(np.float32) @ b.astype(np.float32),
    "inputs": lambda rng, m, k, n: (
        normal(rng, m, k, dtype=np.float16),
        normal(rng, k, n, dtype=np.float16),
    ),
    "sizes": [(32, 32, 32), (40, 50, 36)],
    "launch": lambda m, k, n: (
        (cdiv(m, 16), cdiv(n, 16)),
        {"TM": 16, "TN": 16, "TK": 16},
    ),
    "tolerance": 1e-2,
}


@ct.kernel
def add(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=a + b)


@ct.kernel
def softmax(x, out, TILE: Constant):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def gemm(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        x = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ZERO)
        y = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(i, j), tile=acc)


@ct.kernel
def gathered(x, y, out, TILE: Constant):
    """The same sum by single elements, in tiles of another size than the grid's."""
    where = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, where, ct.gather(x, where) + ct.gather(y, where))


PAIRS: dict[str, Any] = {
    "spec": lambda x: x[1::2].copy(),
    "inputs": lambda rng, n: (normal(rng, n),),
    "sizes": [16],
    "launch": lambda n: ((1,), {"N": n}),
}


@ct.kernel
def halved(x, out, N: Constant):
    """Two values for each element: NumPy keeps the last, a GPU any."""
    i = ct.arange(N, dtype=ct.int32)
    ct.scatter(out, i // 2, ct.gather(x, i))


@ct.kernel
def halved_alike(x, out, N: Constant):
    """The same element twice, with the same value."""
    i = ct.arange(N, dtype=ct.int32) // 2
    ct.scatter(out, i, ct.gather(x, 2 * i + 1))


def test_a_scatter_that_stores_two_values_to_an_element_is_a_race() -> None:
    verdict = check(halved, **PAIRS)
    assert verdict.kind == "race"
    assert "Program 0 stores 2 different values to `out[0]` at once." in str(verdict)
    assert "ct.scatter(" in str(verdict)
    assert check(halved_alike, **PAIRS)


@ct.kernel
def in_turns(x, y, out, TILE: Constant):
    """The same sum by fewer programs, each of which takes several tiles."""
    tiles = ct.num_tiles(x, axis=0, shape=(TILE,))
    for i in range(ct.bid(0), tiles, ct.num_blocks(0)):
        a = ct.load(x, index=(i,), shape=(TILE,))
        ct.store(out, index=(i,), tile=a + ct.load(y, index=(i,), shape=(TILE,)))


FEW = ADD | {"launch": lambda n: ((2,), {"TILE": 64})}


@ct.kernel
def total(x, out, TILE: Constant):
    """Add the sum of each tile to one number."""
    t = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ZERO)
    ct.atomic_add(out, 0, ct.sum(t))


TOTAL: dict[str, Any] = {
    "spec": lambda x: x.sum(keepdims=True),
    "inputs": lambda rng, n: (normal(rng, n),),
    "out": lambda x: np.zeros(1, np.float32),
    "sizes": [97, 300],
    "launch": lambda n: ((cdiv(n, 64),), {"TILE": 64}),
}


@pytest.mark.parametrize(
    ("kernel", "exercise"),
    [
        *((add, ADD), (gathered, ADD), (in_turns, FEW)),
        *((total, TOTAL), (softmax, SOFTMAX), (gemm, GEMM)),
    ],
    ids=["add", "gathered", "in_turns", "total", "softmax", "gemm"],
)
def test_a_right_kernel_passes(kernel: Any, exercise: dict[str, Any]) -> None:
    verdict = check(kernel, **exercise)
    assert verdict, str(verdict)
    assert room_of(kernel, exercise) is room.ROOM


# Wrong ones


@ct.kernel
def elements(x, y, out, TILE: Constant):
    i = ct.bid(0) * TILE
    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=a + b)


@ct.kernel
def first_tile(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(0,), shape=(TILE,))
    ct.store(out, index=(i,), tile=a + b)


@ct.kernel
def one_place(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(0,), tile=a + b)


@ct.kernel
def into_input(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(y, index=(i,), tile=a)


@ct.kernel
def shared_sum(x, y, out, TILE: Constant):
    """Every program adds to the first element."""
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    first = ct.load(out, index=(0,), shape=(1,))
    ct.store(out, index=(0,), tile=first + ct.sum(a))


@ct.kernel
def by_constants(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    s = a[0] + b[0]
    ct.store(out, index=(i,), tile=s)


@ct.kernel
def by_number(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    b = ct.load(y, index=(i,), shape=(TILE,))
    s = ct.full((TILE,), 0, dtype=ct.float32)
    for k in range(TILE):
        s = s + a[k] + b[k]
    ct.store(out, index=(i,), tile=s)


@ct.kernel
def as_arrays(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = x[i]
    ct.store(out, index=(i,), tile=a + y[i])


@ct.kernel
def stored_to(x, y, out, TILE: Constant):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    out[i] = a


@ct.kernel
def hundred(x, y, out, TILE: Constant):
    a = ct.load(x, index=(ct.bid(0),), shape=(100,))
    ct.store(out, index=(ct.bid(0),), tile=a)


@ct.kernel
def unannotated(x, y, out, TILE):
    a = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    ct.store(out, index=(ct.bid(0),), tile=a)


@ct.kernel
def two_shapes(x, y, out, TILE: Constant):
    a = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    b = ct.load(y, index=(ct.bid(0),), shape=(2 * TILE,))
    ct.store(out, index=(ct.bid(0),), tile=a + b)


@ct.kernel
def forever(x, y, out, TILE: Constant):
    a = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    n = ct.bid(0)
    while n < 100:
        a = a + 1
    ct.store(out, index=(ct.bid(0),), tile=a)


@ct.kernel
def gives_up(x, y, out, TILE: Constant):
    a = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    n = 0
    while n < 1:
        a = a + 1
    ct.store(out, index=(ct.bid(0),), tile=a)


@ct.kernel
def nothing(x, y, out, TILE: Constant):
    a = ct.load(x, index=(ct.bid(0),), shape=(TILE,))  # noqa: F841


def undecorated(x, y, out, TILE: Constant):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(0,), shape=(TILE,)))


@ct.kernel
def unpadded(x, out, TILE: Constant):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TILE))
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def padded_with_zero(x, out, TILE: Constant):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=ZERO)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def halves(a, b, c, TM: Constant, TN: Constant, TK: Constant):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((TM, TN), 0, dtype=ct.float16)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        x = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ZERO)
        y = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(j, i), tile=acc)


WRONG = [
    (elements, ADD, "out-of-bounds", "a = ct.load(x", "counts tiles, not elements"),
    (first_tile, ADD, "wrong-value", "ct.store(out", "should be"),
    (one_place, ADD, "unwritten", "ct.store(out", "stored by up to 2 programs"),
    (into_input, ADD, "input-written", "ct.store(y", "an input"),
    (shared_sum, ADD, "uninitialised", "first = ct.load(out", "an output"),
    (hundred, ADD, "program", "a = ct.load(x", "a power of two"),
    (by_constants, ADD, "program", "s = a[0] + b[0]", "with whole tiles"),
    (by_number, ADD, "program", "s = s + a[k] + b[k]", "with whole tiles"),
    (as_arrays, ADD, "program", "a = x[i]", "returns tile `i` of the array"),
    (stored_to, ADD, "program", "out[i] = a", "writes tile `t` there"),
    (unannotated, ADD, "program", "a = ct.load(x", "ct.Constant[int]"),
    (two_shapes, ADD, "program", "ct.store(out", "shapes do not fit"),
    (forever, ADD, "endless-loop", "a = a + 1", "200,000"),
    (gives_up, ADD, "program", "while n < 1:", "an error of its own"),
    (nothing, ADD, "unwritten", "", "Nothing is stored to out"),
    (undecorated, ADD, "program", "", "@ct.kernel"),
    (unpadded, SOFTMAX, "wrong-value", "t = ct.load(x", "padding_mode"),
    (padded_with_zero, SOFTMAX, "wrong-value", "ct.store(out", "should be"),
    (halves, GEMM, "wrong-value", "ct.store(c", "in the wrong places"),
]


@pytest.mark.parametrize(
    ("kernel", "exercise", "kind", "line", "said"),
    WRONG,
    ids=[getattr(k, "_pyfunc", k).__name__ for k, *_ in WRONG],
)
def test_a_wrong_kernel_is_told_why(
    kernel: Any, exercise: dict[str, Any], kind: str, line: str, said: str
) -> None:
    verdict = check(kernel, **exercise)
    assert not verdict
    assert verdict.kind == kind, str(verdict)
    assert said in " ".join(str(verdict).split())
    if line:
        assert any(place.text.startswith(line) for place, _ in verdict.places)


# What instructions compute, beside NumPy


def one_kernel(source: str) -> Any:
    """A kernel of one tile of 16 rows: out = the expression, of x and y."""
    name = f"<{source}>"
    text = (
        "def computed(x, y, out):\n"
        "    x = ct.load(x, index=(0,), shape=(16,))\n"
        "    y = ct.load(y, index=(0,), shape=(16,))\n"
        f"    ct.store(out, index=(0,), tile={source})\n"
    )
    import linecache

    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"ct": ct}
    exec(compile(text, name, "exec"), scope)
    return ct.kernel(scope["computed"])


def computed(source: str, spec: Any, draw: Any) -> None:
    verdict = check(
        one_kernel(source),
        spec=spec,
        inputs=lambda rng, n: (draw(rng, n), draw(rng, n)),
        sizes=[16],
        launch=lambda n: (1,),
        unseen=False,
    )
    assert verdict, str(verdict)


def whole(rng: Any, n: int) -> Any:
    return rng.integers(-40, 40, n).astype(np.int32)


def positive(rng: Any, n: int) -> Any:
    return rng.uniform(0.1, 4, n).astype(np.float32)


FLOATS = {
    "x * y - x / y": lambda x, y: x * y - x / y,
    "ct.exp2(x) + ct.log(y)": lambda x, y: np.exp2(x) + np.log(y),
    "ct.rsqrt(x) * ct.sqrt(y)": lambda x, y: np.sqrt(y) / np.sqrt(x),
    "ct.where(x > y, x, -y)": lambda x, y: np.where(x > y, x, -y),
    "ct.minimum(x, y) + ct.maximum(x, 1)": lambda x, y: (
        np.minimum(x, y) + np.maximum(x, 1)
    ),
    "x - ct.sum(y)": lambda x, y: x - y.sum(),
    "x - ct.max(x, axis=0, keepdims=True)": lambda x, y: x - x.max(),
    "ct.cumsum(x, axis=0)": lambda x, y: np.cumsum(x, dtype=np.float32),
    "ct.astype(ct.astype(x, ct.int32), ct.float32)": lambda x, y: np.trunc(x),
    "ct.astype(ct.astype(x, ct.bfloat16), ct.float32)": lambda x, y: bfloat16(x),
    "ct.transpose(ct.reshape(x, (4, 4))).reshape((16,))": lambda x, y: x.reshape(
        4, 4
    ).T.ravel(),
    "x + ct.argmax(y, axis=0)": lambda x, y: x + np.float32(y.argmax()),
}
INTEGERS = {
    "x // 7 + y % 5": lambda x, y: x // 7 + y % 5,
    "(x & y) | (x ^ 3)": lambda x, y: (x & y) | (x ^ 3),
    "(x << 2) >> 1": lambda x, y: (x << 2) >> 1,
    "ct.cdiv(x, 6)": lambda x, y: -(-x // 6),
    "abs(x) - y": lambda x, y: abs(x) - y,
    "ct.where((x < y) & (y > 0), x, y)": lambda x, y: np.where((x < y) & (y > 0), x, y),
}


def bfloat16(x: Any) -> Any:
    import torch

    return torch.from_numpy(x).bfloat16().float().numpy()


@pytest.mark.parametrize("source", FLOATS)
def test_floats_are_computed_as_numpy_does(source: str) -> None:
    computed(source, FLOATS[source], positive)


@pytest.mark.parametrize("source", INTEGERS)
def test_integers_are_computed_as_numpy_does(source: str) -> None:
    computed(source, INTEGERS[source], whole)


def test_atomics_count_every_program() -> None:
    @ct.kernel
    def count(x, out, TILE: Constant):
        t = ct.gather(x, ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32))
        ct.atomic_add(out, t, 1)

    verdict = check(
        count,
        spec=lambda x: np.bincount(x, minlength=8).astype(np.int32),
        inputs=lambda rng, n: (rng.integers(0, 8, n).astype(np.int32),),
        sizes=[64],
        launch=lambda n: ((n // 16,), {"TILE": 16}),
        out=lambda x: np.zeros(8, np.int32),
        unseen=False,
    )
    assert verdict, str(verdict)


def test_a_loop_with_a_branch_hands_its_values_on() -> None:
    @ct.kernel
    def steps(x, out):
        t = ct.load(x, index=(0,), shape=(16,))
        for k in range(5):
            if k % 2 == 0:  # noqa: SIM108
                t = t + k
            else:
                t = t * 2
            if ct.bid(0) == 3:
                break
        ct.store(out, index=(0,), tile=t)

    def wanted(x: Any) -> Any:
        for k in range(5):
            x = x + np.float32(k) if k % 2 == 0 else x * 2
        return x

    verdict = check(
        steps,
        spec=wanted,
        inputs=lambda rng, n: (normal(rng, n),),
        sizes=[16],
        launch=lambda n: (1,),
        unseen=False,
    )
    assert verdict, str(verdict)


def test_a_limit_on_loads_holds() -> None:
    verdict = check(gemm, **GEMM, limits={"loaded": 2})
    assert not verdict
    assert verdict.kind == "reloads", str(verdict)
