"""The figure on strides, against PyTorch's own views."""

import itertools
from typing import Any

import pytest
import torch
from test_schedules import called

OPERATIONS = {
    "t": lambda x: x.t(),
    "rows": lambda x: x[1:],
    "skip": lambda x: x[:, ::2],
    "narrow": lambda x: x[:, :-1],
    "expand": lambda x: x[0].expand(*x.shape),
    "contiguous": lambda x: x.contiguous(),
}
CHAINS = [
    list(chain) for n in range(4) for chain in itertools.product(OPERATIONS, repeat=n)
]


def possible(x: torch.Tensor, operation: str) -> bool:
    """Return whether the figure offers an operation: none that changes nothing."""
    needed = {"rows": 0, "expand": 0, "skip": 1, "narrow": 1}.get(operation)
    return needed is None or x.shape[needed] > 1


def viewed(chain: list[str]) -> tuple[torch.Tensor, int]:
    """Return the view that PyTorch makes, and how many numbers it copied."""
    x, moved = torch.arange(12).view(3, 4), 0
    for operation in filter(lambda name: possible(x, name), chain):
        before, x = x, OPERATIONS[operation](x)
        if x.untyped_storage().data_ptr() != before.untyped_storage().data_ptr():
            moved += x.numel()
    return x, moved


@pytest.fixture(scope="module")
def found() -> list[tuple[list[str], dict[str, Any]]]:
    views = called("strides_rules", *[("viewed", chain) for chain in CHAINS])
    return list(zip(CHAINS, views, strict=True))


def test_the_recipe_is_pytorchs(found: list[tuple[list[str], dict[str, Any]]]) -> None:
    for chain, view in found:
        x, moved = viewed(chain)
        assert tuple(view["shape"]) == x.shape, chain
        assert tuple(view["strides"]) == x.stride(), chain
        assert (view["offset"], view["moved"]) == (x.storage_offset(), moved), chain
        whole = torch.tensor([], dtype=x.dtype).set_(x.untyped_storage())
        assert view["storage"] == whole.tolist(), chain


def test_the_code_is_what_gives_the_view(
    found: list[tuple[list[str], dict[str, Any]]],
) -> None:
    for chain, view in found:
        x = torch.arange(12).view(3, 4)
        assert eval(view["code"], {"x": x}).tolist() == viewed(chain)[0].tolist()


def test_values_and_contiguity(found: list[tuple[list[str], dict[str, Any]]]) -> None:
    views = [view for _, view in found]
    values = called("strides_rules", *[("values", view) for view in views])
    contiguous = called("strides_rules", *[("isContiguous", view) for view in views])
    for (chain, _), rows, flag in zip(found, values, contiguous, strict=True):
        x, _ = viewed(chain)
        assert rows == x.tolist(), chain
        assert flag == x.is_contiguous(), chain


def test_merging_says_whether_flattening_is_free(
    found: list[tuple[list[str], dict[str, Any]]],
) -> None:
    merged = called("strides_rules", *[("merged", view) for _, view in found])
    kinds = set()
    for (chain, _), (sizes, strides) in zip(found, merged, strict=True):
        x, _ = viewed(chain)
        flat = x.reshape(-1)
        free = flat.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert free == (len(sizes) <= 1), chain
        if free and sizes:
            assert [list(flat.shape), list(flat.stride())] == [sizes, strides], chain
        kinds.add((free, x.is_contiguous()))
    assert kinds == {(True, True), (True, False), (False, False)}
