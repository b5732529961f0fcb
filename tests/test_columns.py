"""Sorting and grouping of columns, against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.simulator.trace import columns

SMALL = st.integers(-5, 5)
LARGE = st.integers(-(2**61), 2**61)


def rows(*kinds):
    return st.lists(st.tuples(*kinds), max_size=40)


@settings(max_examples=60)
@given(
    rows(SMALL, SMALL, SMALL) | rows(LARGE, LARGE, SMALL) | rows(LARGE, SMALL, LARGE)
)
def test_order_and_distinct(given_rows):
    keys = np.array(given_rows, np.int64).reshape(-1, 3).T
    found, new = columns.order(*keys)
    wanted = sorted(range(len(given_rows)), key=lambda k: (given_rows[k], k))
    assert found.tolist() == wanted
    assert new.sum() == len(set(given_rows))
    unique = columns.distinct(*keys)
    assert list(zip(*(u.tolist() for u in unique), strict=True)) == sorted(
        set(given_rows)
    )


@given(rows(SMALL, st.integers(0, 4)))
def test_spread(given_rows):
    first = np.array([a for a, _ in given_rows], np.int64)
    length = np.array([n for _, n in given_rows], np.int64)
    values, whose = columns.spread(first, first + length)
    wanted = [(a + k, row) for row, (a, n) in enumerate(given_rows) for k in range(n)]
    assert list(zip(values.tolist(), whose.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(
    ("values", "unit"), [([4, 8], 4), ([12, 24], 4), ([3], 1), ([], 1), ([0, 16], 16)]
)
def test_unit(values, unit):
    assert columns.unit(np.array(values, np.int64)) == unit


def test_dense_and_starts():
    values = np.array([7, 7, 2, 9, 9])
    assert columns.dense(values).tolist() == [1, 1, 0, 2, 2]
    assert columns.starts(values).tolist() == [0, 2, 3]
