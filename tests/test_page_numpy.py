"""The NumPy of a page, compared with NumPy itself."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.in_page.numpy.modules import modules

OURS = modules()["numpy"]
KINDS = "uint8 int16 int32 uint32 int64 float16 float32 float64 bool".split()
CLOSE = {2: 2e-3, 4: 1e-6, 8: 1e-14}  # relative, by the size of a float
ONE = (
    "negative absolute square sign sqrt exp log floor ceil rint isnan isfinite isinf "
    "signbit logical_not sin exp2 log2 cbrt"
).split()
TWO = (
    "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax "
    "fmin equal less greater_equal logical_and logical_or bitwise_and bitwise_or "
    "bitwise_xor left_shift right_shift arctan2 copysign hypot"
).split()
RNG = np.random.default_rng(0)

Function = Callable[..., Any]


def data(kind: str, shape: tuple[int, ...]) -> Any:
    """Small numbers of a type, some of them zero or negative, some repeated."""
    numbers = RNG.integers(-5, 9, shape)
    if kind == "bool":
        return numbers > 0
    if kind.startswith("float"):
        return (numbers / 4).astype(kind)
    return (abs(numbers) if kind.startswith("u") else numbers).astype(kind)


def ours(value: Any) -> Any:
    """A value with our arrays and numbers for NumPy's."""
    if isinstance(value, np.ndarray):
        flat = OURS.frombuffer(np.ascontiguousarray(value).tobytes(), str(value.dtype))
        return flat.reshape(value.shape)
    if isinstance(value, np.generic):
        return getattr(OURS, value.dtype.name)(value.item())
    return value


def same(a: Any, b: Any) -> bool:
    """Whether NumPy's result and ours have the same types, shapes and numbers."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        if a.dtype.name != b.dtype.name or a.shape != b.shape:
            return False
        mine = np.array(b.tolist(), a.dtype).reshape(a.shape)
        if a.dtype.kind == "f":
            return np.allclose(mine, a, CLOSE[a.dtype.itemsize], 0, equal_nan=True)
        return np.array_equal(a, mine)
    return bool(a == b)


def result(function: Function, module: Any, args: list[Any]) -> Any:
    """What a function returns; the class of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(module, *args)
        except (TypeError, ValueError, IndexError):
            return "refused"


def compare(function: Function, *args: Any) -> None:
    theirs = result(function, np, list(args))
    mine = result(function, OURS, list(map(ours, args)))
    assert same(theirs, mine), (theirs, mine)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_number(name: str, kind: str) -> None:
    if kind == "bool" and name in ("negative", "sign", "square"):
        pytest.skip("NumPy refuses it, or gives int8")
    compare(lambda m, a: getattr(m, name)(a), data(kind, (3, 4)))


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_numbers(name: str) -> None:
    def called(m: Any, a: Any, b: Any) -> Any:
        return getattr(m, name)(a, b)

    for one, other in itertools.product(KINDS, KINDS):
        if "bool" in (one, other) and name == "subtract":
            continue
        compare(called, data(one, (3, 4)), data(other, (4,)))
        compare(called, data(one, (3, 4)), data(other, (1,))[0])
    for one, other in itertools.product(KINDS, (2, 2.5)):
        compare(called, data(one, (5,)), other)
        compare(called, data(one, (5,))[0], other)


OF_AN_ARRAY: list[Function] = [
    lambda m, a: a[1],
    lambda m, a: a[:, 1:],
    lambda m, a: a[..., ::2],
    lambda m, a: a[:, None, :, 1],
    lambda m, a: a[::-1].T,
    lambda m, a: a.T.reshape(-1),
    lambda m, a: a.reshape(12, 5)[:, ::2].reshape(3, 4, 3),
    lambda m, a: a.transpose(1, 0, 2).reshape(3, 20),
    lambda m, a: a[[0, 2]],
    lambda m, a: a[[0, 1], [2, 1]],
    lambda m, a: a[[0, 1], :, [2, 1]],
    lambda m, a: a[a > 0],
    lambda m, a: a[:, m.array([True, False, True])],
    lambda m, a: a[4],
    lambda m, a: a.sum(),
    lambda m, a: a.sum(axis=(0, 2)),
    lambda m, a: a.max(1),
    lambda m, a: a.mean(1),
    lambda m, a: a.prod(),
    lambda m, a: a.any(0),
    lambda m, a: a.argmax(1),
    lambda m, a: a.cumsum(1),
    lambda m, a: m.sort(a, 1),
    lambda m, a: m.argwhere(a),
    lambda m, a: m.unique(
        a, return_index=True, return_inverse=True, return_counts=True
    ),
    lambda m, a: m.diff(a),
    lambda m, a: m.stack([a, a], 1),
    lambda m, a: m.concatenate([a, a], 2),
    lambda m, a: m.where(a > 1, a, 0),
    lambda m, a: m.roll(a, 2, 1),
    lambda m, a: m.isin(a, [0, 1]),
    lambda m, a: m.indices(a.shape),
    lambda m, a: m.repeat(a, 2),
    lambda m, a: m.flatnonzero(a),
    lambda m, a: m.broadcast_to(a[0, 0], (2, 5)),
    lambda m, a: m.maximum.accumulate(a[0, 0]),
    lambda m, a: a.astype("float16"),
    lambda m, a: a.view("uint8"),
    lambda m, a: a.T.copy(order="K").strides,
]
OF_A_VECTOR: list[Function] = [
    lambda m, v: m.bincount(abs(v.astype(int)), minlength=20),
    lambda m, v: m.bincount(abs(v.astype(int)), v),
    lambda m, v: m.lexsort((v, abs(v.astype(int)))),
    lambda m, v: m.argsort(v, kind="stable"),
    lambda m, v: m.searchsorted(m.sort(v), v),
    lambda m, v: m.maximum.reduceat(v, [0, 3, 9]),
    lambda m, v: m.logical_or.reduceat(v, [0, 3, 9]),
    lambda m, v: m.bitwise_or.reduce(v.astype(int)),
    lambda m, v: m.append(v, 3),
    lambda m, v: m.repeat(v, m.arange(17)),
    lambda m, v: m.setdiff1d(v, [1, 2]),
    lambda m, v: m.unique(m.stack([v, v]), axis=1, return_counts=True),
    lambda m, v: m.unravel_index(abs(v.astype(int)), (4, 5)),
    lambda m, v: m.split(v, [3, 5]),
    lambda m, v: m.isclose(v, 1),
    lambda m, v: m.array(v.tolist()),
    lambda m, v: v[3],
    lambda m, v: v[17],
]


@pytest.mark.parametrize("kind", ["uint8", "int32", "int64", "float32", "bool"])
def test_what_arrays_do(kind: str) -> None:
    for function in OF_AN_ARRAY:
        compare(function, data(kind, (4, 3, 5)))
    for function in OF_A_VECTOR:
        compare(function, data(kind, (17,)))


def test_stores_go_where_they_should() -> None:
    def stored(m: Any) -> Any:
        a = m.zeros((3, 4), "int32")
        a[1] = 5
        a[:, 2] = m.arange(3)
        a[[0, 2], [1, 3]] = 9
        a[a == 0] = 7
        a[0, 0] += 3
        a *= 2
        m.maximum.at(a.reshape(-1), [0, 0, 1], [100, 4, 2])
        return a

    compare(stored)


def test_views_share_memory_and_copies_do_not() -> None:
    a = OURS.arange(12).reshape(3, 4)
    row, column, copy = a[1], a[:, 1], a.copy()
    column[...] = 0
    assert row[1] == 0
    assert copy[1, 1] == 5
    assert OURS.may_share_memory(row, column)
    assert not OURS.may_share_memory(a[:1], a[2:])
    assert not OURS.may_share_memory(a, copy)
    assert column.data.tolist() == [0, 0, 0]


def test_nan_keeps_its_payload() -> None:
    bits = OURS.full(3, 0x7FC05AFE, "uint32")
    assert int(bits.view("float32").copy()[1].view("uint32")) == 0x7FC05AFE


def test_numbers_are_written_as_numpy_writes_them() -> None:
    for kind, value in itertools.product(
        ("float32", "float64", "float16"), (1.5, 0.1, 3.0, float("nan"), float("inf"))
    ):
        mine, theirs = (getattr(m, kind)(value) for m in (OURS, np))
        assert str(mine) == str(theirs)
        assert repr(mine) == repr(theirs)
        assert f"{mine:.4g}" == f"{theirs:.4g}"


@pytest.mark.parametrize(
    "given", [{"buffer": bytearray(16)}, {"offset": 8}, {"strides": (16,)}]
)
def test_memory_that_an_array_cannot_have_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match="no buffer, offset or strides"):
        OURS.ndarray(4, "float32", **given)
    assert OURS.ndarray((2, 3), "float32", order="F").strides == (4, 8)
