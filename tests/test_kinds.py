"""Every expression of a kernel has a kind, and that is the type that Numba has."""

import ast
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda  # isort: skip
from unknown_kinds import unknown

from verification import kinds
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.simulator import record, simulate
from weft.simulator.arithmetic.numbers import FLOAT32, FLOAT64
from weft.simulator.inference.outside import kind_of
from weft.simulator.inference.statements import Function
from weft.simulator.translation.numbers import wider, written

CASES = kinds.cases()


@pytest.fixture(scope="module")
def numbas() -> list[dict[str, Any]]:
    """What Numba infers for every case."""
    return kinds.apart()


def test_the_types_of_variables_are_numbas(numbas: list[dict[str, Any]]) -> None:
    assert len(CASES) > 200
    assert kinds.differences(numbas) == []
    assert not any("refused" in known for known in numbas)


@pytest.mark.long
def test_random_programs_have_numbas_types() -> None:
    assert kinds.random_differences(400) == []


def inferred(source: str, **given: Any) -> ast.FunctionDef:
    """The definition in a source, inferred for such arguments."""
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    Function(definition, tuple(map(kind_of, given.values())), {}, (), lambda *_: None)
    return definition


def test_an_unknown_kind_is_found() -> None:
    """`lambda *_: None` knows no device function."""
    source = "def f(x, device):\n    y = device(x) + 1\n    device(x)\n    return y"
    device = cuda.jit(device=True)(lambda x: x)
    found = unknown(inferred(source, x=1.5, device=device))
    assert [str(one) for one in found] == [
        "line 2: device(x) + 1 (BinOp)",
        "line 2: device(x) (Call)",
        "line 4: y (Name)",
    ]
    assert [one.follows for one in found] == [True, False, False]


def test_what_is_never_reached_needs_no_kind() -> None:
    source = """
def f(x):
    if False:
        return nothing + 1
    y = x if True else nothing[0]
    return y
    return nothing
"""
    assert unknown(inferred(source.strip(), x=np.float32(1))) == []


def test_every_intrinsic_says_what_it_gives() -> None:
    silent = (
        *(Effect.WIDE_STORE, Effect.RELAXED_STORE, Effect.ASYNCHRONOUS, Effect.HOPPER),
        *(Effect.PHASES, Effect.WIDE_LOAD, Effect.RELAXED_LOAD),
    )
    for one in registry.operations():
        collective = one.effect is Effect.COLLECTIVE and one.last is not None
        assert one.gives or one.effect in silent or collective, one.name


def test_a_tuple_is_converted_part_by_part() -> None:
    cast = FLOAT64, None, (FLOAT32, None)
    assert written(cast) == "of_f64_same_of_f32_same__"
    made = wider(cast)((1, "x", (1, 2)))
    assert made == (1.0, "x", (1.0, 2))
    assert list(map(type, (made[0], *made[2]))) == [float, float, int]


def test_each_branch_may_have_another_part_of_a_tuple_converted() -> None:
    @cuda.jit
    def kernel(x, b, out):
        i = cuda.grid(1)
        pair = (b[i], x[i]) if x[i] > 1 else (x[i], b[i])
        out[i, 0] = pair[0] - (x[i] < 0)
        out[i, 1] = pair[1] - (x[i] < 0)

    x, b, out = np.array([0.5, 2]), np.array([True, False]), np.zeros((2, 2))
    simulate(kernel, (1, 2), (x, b, out))
    assert out.tolist() == [[0.5, 1], [0, 2]]


def test_a_function_in_a_kernel_has_a_form_for_each_call() -> None:
    @cuda.jit
    def kernel(x, k, out):
        i = cuda.grid(1)
        times = lambda v, w=2: v[i] * w  # noqa: E731

        def total(v):
            found = 0
            for j in range(2):
                found += v[j]
            return found

        out[0] = times(x)
        out[1] = times(k)
        out[2] = total(x)
        out[3] = total(k)
        out[4] = (lambda v: v + v)(k[0])

    x, k = np.array([1.5, 2], np.float32), np.array([3, 4], np.uint8)
    out = np.zeros(5)
    trace, _ = record(kernel, (1, 1), (x, k, out))
    assert out.tolist() == [3, 6, 3.5, 7, 6]
    assert {"found += v[j]", "times = lambda v, w=2: v[i] * w  # noqa: E731"} <= {
        place.text for place in trace.places
    }


def test_a_recursive_function_has_the_kind_of_its_other_paths() -> None:
    @cuda.jit(device=True)
    def power(base, n):
        if n == 0:
            return 1
        return base * power(base, n - 1)

    @cuda.jit
    def kernel(x, out):
        out[0] = power(x[0], 3) * x[1]
        out[1] = power(x[0], 0) + 1

    out = np.zeros(2)
    simulate(kernel, (1, 1), (np.array([0.1, 0.1], np.float32), out))
    tenth = float(np.float32(0.1))
    assert out.tolist() == [tenth * (tenth * (tenth * 1.0)) * tenth, 2]
