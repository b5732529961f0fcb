"""Plain values are compared without NumPy, and just as NumPy's arrays are."""

import math
import random
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba
from weft import check
from weft.checking import compare, plain
from weft.checking.plain import block

CASES = 400


def made(rng: random.Random, kind: str, size: int) -> list[Any]:
    """Return numbers, of which some are equal, large, tiny or not finite."""
    if kind == "int":
        return [rng.choice([0, 1, 2, -3, 7, 100, 65_536]) for _ in range(size)]
    few = [0.0, 1.0, -2.5, 1e-9, 3e8, math.nan, math.inf]
    return [
        rng.choice(few) if rng.random() < 0.4 else rng.gauss(0, 5) for _ in range(size)
    ]


def changed(rng: random.Random, wanted: list[Any]) -> list[Any]:
    """Return what a wrong function might give instead."""
    got = list(wanted)
    match rng.randrange(7):
        case 0:
            rng.shuffle(got)
        case 1:
            got = got[1:] + got[:1]
        case 2:
            got = [2 * x for x in got]
        case 3:
            at = rng.randrange(len(got))
            got[at:] = [x + 1 for x in got[at:]]
        case 4:
            got[rng.randrange(len(got))] += 3
        case 5:
            got = [x * (1 + 3e-6) if isinstance(x, float) else x for x in got]
        case 6:
            got = [0 * x for x in got]
    return got


def test_numbers_compared_one_by_one_keep_their_index() -> None:
    for got, wanted, where in (
        (2.0, 3.0, "x"),
        ((1.0, 2.0), (1.0, 3.0), "x[1]"),
        (((1, 2), (3, 4)), ((1, 2), (3, 5)), "x[1, 1]"),
    ):
        found, aim = block(got), block(wanted)
        assert found is not None
        assert aim is not None
        wrong = plain.one_by_one(found, aim, 1e-6)
        assert wrong is not None
        assert wrong.where("x") == where


@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_plain_numbers_differ_as_arrays_do(kind: str) -> None:
    rng = random.Random(20)
    found = 0
    for _ in range(CASES):
        wanted = made(rng, kind, rng.randint(1, 6))
        got = changed(rng, wanted)
        if kind == "float":
            got = [float(x) for x in got]
        if len(wanted) == 6 and rng.random() < 0.5:  # a matrix
            wanted, got = [wanted[:3], wanted[3:]], [got[:3], got[3:]]
        aim, mine = block(wanted), block(got)
        assert aim is not None
        assert mine is not None
        ours = plain.difference(mine, aim, 1e-5)
        theirs = compare.difference(np.asarray(got), np.asarray(wanted), 1e-5)
        assert (ours is None) == (theirs is None), (got, wanted)
        if ours is not None and theirs is not None:
            found += 1
            assert ours.index == theirs.index, (got, wanted)
            assert ours.sentence("x") == theirs.sentence("x"), (got, wanted)
            said = (ours.pattern, ours.hint, ours.belongs)
            assert said == (theirs.pattern, theirs.hint, theirs.belongs), (got, wanted)
    assert found > CASES / 2


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        ((1, 2.5), False),
        (((1, 2), (3, 4)), False),
        ((), False),
        (((1, 2), 3), True),
        ({"a": 1}, True),
        ((1, None), True),
        ((1, "a"), True),
        ("text", False),
        (7, False),
    ],
)
def test_a_tree_is_what_no_array_holds(value: Any, tree: bool) -> None:
    assert plain.is_tree(value) == tree


def said(got: Any, wanted: Any) -> str:
    def function(x):
        return got

    asked = {"spec": lambda x: wanted, "inputs": [(1,)], "unseen": False}
    return str(check(function, **asked).message)


def test_texts_are_compared_as_texts() -> None:
    assert said("a", "b") == "function(1) returns 'a' and should return 'b'."
    assert "result[1] is 'a' and should be 'b'" in said((1, "a"), (1, "b"))
    assert "result[1][1] is 'a' and should be 'b'" in said((1, (2, "a")), (1, (2, "b")))


def test_integers_are_compared_exactly_whatever_their_size() -> None:
    assert said(10**20, 10**20) == ""
    assert f"should return {10**20}." in said(10**20 + 1, 10**20)


def test_numpys_numbers_are_still_its_own() -> None:
    assert said(np.int64(3), 3) == ""
    assert said((np.float32(0.5), 2), (0.5, 2)) == ""
    assert said(np.arange(3), (0, 1, 2)) == ""
