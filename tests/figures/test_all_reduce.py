"""The figure on all-reduces, against the functions of lab 28 on the model of ranks."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from test_schedules import called

from weft.ranks.model import Distributed
from weft.ranks.world import World

LAB = Path(__file__).parents[2] / "chapters" / "28_multi_gpu" / "lab.py"
SIZES = (2, 3, 4, 6, 8)


def of_lab(name: str) -> Callable[..., None]:
    """Return the answer of an exercise as the lab has it."""
    found = re.search(rf"^def {name}\(.*?(?=^# %%)", LAB.read_text(), re.M | re.S)
    assert found is not None
    scope: dict[str, Any] = {"torch": torch}
    exec(found[0], scope)
    function: Callable[..., None] = scope[name]
    return function


class Watched:
    """A rank's `dist` that notes what it sends, as (target, numbers)."""

    def __init__(self, dist: Distributed) -> None:
        self._dist = dist
        self.sent: list[tuple[int, torch.Tensor]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dist, name)

    def P2POp(self, op: Any, tensor: torch.Tensor, peer: int) -> Any:
        if op == self._dist.isend:
            self.sent.append((peer, tensor.clone()))
        return self._dist.P2POp(op, tensor, peer)

    def send(self, tensor: torch.Tensor, peer: int) -> Any:
        self.sent.append((peer, tensor.clone()))
        return self._dist.send(tensor, peer)


def ran(name: str, size: int) -> list[tuple[int, int, int, list[float]]]:
    """Run an all-reduce; return (step, source, target, numbers) of each message.

    The number of rank r in chunk c is 2^r + 1000 c, summed over the ranks.
    """
    function, world = of_lab(name), World(size)
    watched = [Watched(Distributed(world, rank, {})) for rank in range(size)]
    tensors = [
        torch.arange(size, dtype=torch.float64) * 1000 + 2**rank for rank in range(size)
    ]
    world.run([partial(function, d, x) for d, x in zip(watched, tensors, strict=True)])
    found = []
    for source, dist in enumerate(watched):
        arrivals = sorted(round(t.end) for t in world.transfers if t.source == source)
        for end, (target, numbers) in zip(arrivals, dist.sent, strict=True):
            found.append((end - 1, source, target, numbers.tolist()))
    return sorted(found)


@pytest.mark.parametrize("method", ["ring", "tree"])
@pytest.mark.parametrize("size", SIZES)
def test_messages_are_those_of_the_lab(method: str, size: int) -> None:
    expected = ran(f"{method}_all_reduce", size)
    (count,) = called("all_reduce_rules", ("steps", method, size))
    assert count == 1 + max(step for step, *_ in expected)
    before = called(
        "all_reduce_rules", *[("after", method, size, n) for n in range(count + 1)]
    )
    messages = called(
        "all_reduce_rules", *[("messages", method, size, n) for n in range(count)]
    )
    found = []
    for step, all_of_them in enumerate(messages):
        held = before[step]["held"]
        for one in all_of_them:
            numbers = [
                sum(2**rank + 1000 * chunk for rank in held[one["from"]][chunk])
                for chunk in one["chunks"]
            ]
            found.append((step, one["from"], one["to"], numbers))
    if method == "ring" or size.bit_count() == 1:
        assert sorted(found) == expected
    else:  # a rank without a partner on a level need not wait for the others there
        assert sorted(one[1:] for one in found) == sorted(one[1:] for one in expected)
        earliest = {one[1:3]: one[0] for one in expected}
        assert all(step >= earliest[source, to] for step, source, to, _ in found)
    whole = list(range(size))
    assert before[-1]["held"] == [[whole] * size] * size
    sent = [
        sum(len(numbers) for _, source, _, numbers in expected if source == rank)
        for rank in range(size)
    ]
    assert before[-1]["sent"] == sent


def test_the_cost_is_that_of_the_formulas() -> None:
    for size in SIZES:
        ring, tree = called(
            "all_reduce_rules", ("cost", "ring", size), ("cost", "tree", size)
        )
        levels = (size - 1).bit_length()
        assert ring["latencies"] == 2 * (size - 1)
        assert ring["sizes"] == pytest.approx(2 * (size - 1) / size)
        assert tree == {"latencies": 2 * levels, "sizes": 2 * levels}
