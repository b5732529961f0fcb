"""The figure on leading dimensions, against PyTorch and the model of cuBLAS."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from test_schedules import called

import weft
from weft.libraries.model_cublas import Product

M, K = 3, 4  # of the array
UNUSED, BEYOND = -1, -2
CASES = [
    {"apart": apart, "rows": rows, "columns": columns, "ld": ld}
    for apart, (rows, columns), ld in itertools.product(
        (4, 5, 6), ((K, M), (M, K)), range(2, 8)
    )
]
assert weft


@pytest.mark.parametrize("apart", [4, 5, 6])
def test_memory_is_that_of_a_part_of_a_larger_array(apart: int) -> None:
    whole = torch.full((M, apart), UNUSED)
    a = whole[:, :K]
    a.copy_(torch.arange(M * K).view(M, K))
    expected = whole.flatten()[: (M - 1) * a.stride(0) + K].tolist()
    (held,) = called("columns_rules", ("memory", apart))
    assert [UNUSED if at is None else K * at[0] + at[1] for at in held] == expected


def test_the_library_sees_what_as_strided_sees() -> None:
    for case, found in zip(
        CASES, called("columns_rules", *[("read", c) for c in CASES]), strict=True
    ):
        whole = torch.full((M, case["apart"]), UNUSED)
        whole[:, :K] = torch.arange(M * K).view(M, K)
        memory = torch.full((64,), BEYOND)
        end = (M - 1) * case["apart"] + K
        memory[:end] = whole.flatten()[:end]
        shape = case["rows"], case["columns"]
        seen = memory.as_strided(shape, (1, case["ld"]))
        transposed = whole[:, :K].T
        for i, j in itertools.product(*map(range, shape)):
            one = found[i][j]
            if "held" not in one:
                number = BEYOND
            elif one["held"] is None:
                number = UNUSED
            else:
                number = K * one["held"][0] + one["held"][1]
            assert number == seen[i, j], (case, i, j)
            inside = i < K and j < M
            assert one["right"] == (inside and bool(seen[i, j] == transposed[i, j]))


def test_the_library_refuses_what_the_model_refuses() -> None:
    found = called("columns_rules", *[("refused", case) for case in CASES])
    for case, refused in zip(CASES, found, strict=True):
        call = SimpleNamespace(
            **{"transa": 0, "transb": 0, "m": case["rows"], "k": case["columns"]},
            **{"n": 1, "lda": case["ld"], "ldb": 64, "ldc": 64},
        )
        answer = Product(call).refused()
        assert refused == (answer is not None and answer[0] == "lda")
    assert set(found) == {True, False}


def test_only_the_rows_distance_gives_the_whole_transpose() -> None:
    for case, found in zip(
        CASES, called("columns_rules", *[("read", c) for c in CASES]), strict=True
    ):
        right = all(one["right"] for row in found for one in row)
        assert right == (case["rows"] == K and case["ld"] == case["apart"])
