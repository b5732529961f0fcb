"""Every expression of a kernel has a kind, and that is the type that Numba has."""

import ast
from typing import Any

import numpy as np
import pytest

from verification import kinds
from weft.intrinsics import registry
from weft.intrinsics.registry import Effect
from weft.simulator.arithmetic.numbers import FLOAT32, FLOAT64
from weft.simulator.inference.outside import kind_of
from weft.simulator.inference.statements import Function
from weft.simulator.inference.unknown import unknown
from weft.simulator.language.lowering import _conversion, _written

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
    from numba import cuda

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
        *(Effect.WIDE_STORE, Effect.RELAXED_STORE, Effect.ASYNCHRONOUS),
        *(Effect.PHASES, Effect.HARDWARE, Effect.WIDE_LOAD, Effect.RELAXED_LOAD),
    )
    for one in registry.operations():
        collective = one.effect is Effect.COLLECTIVE and one.last is not None
        assert one.gives or one.effect in silent or collective, one.name


def test_a_tuple_is_converted_part_by_part() -> None:
    cast = FLOAT64, None, (FLOAT32, None)
    assert _written(cast) == "(f64,-,(f32,-))"
    made = _conversion(_written(cast))((np.float32(0.5), "x", (1, 2)))
    assert made == (0.5, "x", (1.0, 2))
    assert type(made[0]) is np.float64
    assert type(made[2][0]) is np.float32
