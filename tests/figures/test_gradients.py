"""The figure on backward passes, against chapter 31's engine and PyTorch."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from test_schedules import called

PAGE = Path(__file__).parents[2] / "book" / "31_autograd.md"
NODES = ["d", "c", "a", "b", "x"]
RIGHT = {"d": 1, "c": 1, "a": 5, "b": 3, "x": 5}


def computed(x: Any, b: Any, one: Any) -> dict[str, Any]:
    """Compute the figure's graph with numbers of any kind."""
    a = x + one
    c = a * b
    return {"d": a + c, "c": c, "a": a, "b": b, "x": x}


def of_the_page() -> dict[str, Any]:
    """Run the listings that make the engine, and return their names."""
    listings = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    scope: dict[str, Any] = {}
    for code in listings:
        if code.startswith(("class Value", "def ordered")):
            exec(code, scope)
    return scope


def passed(engine: str) -> dict[str, Any]:
    (found,) = called("gradients_rules", ("passed", engine, len(NODES)))
    return found


def test_gradients_are_those_of_the_pages_engine() -> None:
    scope = of_the_page()
    value = scope["Value"]
    nodes = computed(value(2.0), value(4.0), value(1.0))
    gradients = scope["backward"](nodes["d"])
    found = passed("right")
    assert found["gradients"] == {n: gradients[nodes[n]] for n in NODES} == RIGHT
    order: list[Any] = []
    scope["ordered"](nodes["d"], set(), order)
    assert set(found["visited"]) == {n for n in NODES if nodes[n] in order}


def test_gradients_are_pytorchs() -> None:
    leaf = {"x": torch.tensor(2.0), "b": torch.tensor(4.0)}
    for tensor in leaf.values():
        tensor.requires_grad_()
    nodes = computed(leaf["x"], leaf["b"], torch.tensor(1.0))
    gradients = torch.autograd.grad(nodes["d"], [nodes[n] for n in NODES])
    assert passed("right")["gradients"] == {
        n: g.item() for n, g in zip(NODES, gradients, strict=True)
    }


def test_a_node_is_visited_when_nothing_is_missing() -> None:
    steps = range(len(NODES) + 1)
    found = called("gradients_rules", *[("passed", "right", n) for n in steps])
    for step, now in zip(steps, found, strict=True):
        assert len(now["visited"]) == step
        assert (now["next"] is None) == (step == len(NODES))
        assert all(now["missing"][name] == 0 for name in now["visited"])
        if now["next"]:
            assert now["missing"][now["next"]] == 0
    (count,) = called("gradients_rules", ("incoming",))
    assert count == {"d": 0, "c": 1, "a": 2, "b": 1, "x": 1}


@pytest.mark.parametrize(
    ("engine", "gradients"),
    [
        ("assigns", RIGHT | {"a": 4, "x": 4}),  # c's share has replaced d's
        ("early", RIGHT | {"x": 1}),  # a passed on what it had from d
    ],
)
def test_a_bug_shows_where_a_node_is_used_twice(
    engine: str, gradients: dict[str, int]
) -> None:
    assert passed(engine)["gradients"] == gradients
