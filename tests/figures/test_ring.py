"""The figure on a ring of stages, against the simulator's mbarriers and chapter 22."""

import random
from typing import Any

import numpy as np
import pytest
from test_schedules import called

import weft
from weft.chapters import Chapter
from weft.simulator.running.phases import Mbarrier

TILES, BYTES = 8, 16384
FIRST = {"producer": 1, "consumer": 0}
rings = Chapter("22_hopper_gemm").checks.rings
assert weft


class Ring:
    """The same ring, whose mbarriers are the simulator's."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.full, self.empty = (
            [Mbarrier(f"{name}[{s}]", 1, np.zeros(1, np.uint64)) for s in range(depth)]
            for name in ("full", "empty")
        )
        self.started = self.arrived = self.used = 0
        self.using = False

    def arrive(self, bar: Mbarrier, nbytes: int = 0) -> None:
        bar.nbytes += nbytes
        bar.missing -= 1
        bar.settle()

    def waits(self, step: str) -> bool:
        """Return whether the thread cannot go on: its wait does not return."""
        if step == "p":
            stage, _, parity = rings(self.started, self.depth)
            return not self.empty[stage].complete(parity)
        stage, parity, _ = rings(self.used, self.depth)
        return not self.using and not self.full[stage].complete(parity)

    def take(self, step: str) -> bool:
        """Take a step; return whether it could be taken."""
        if step == "b":
            if self.arrived == self.started:
                return False
            bar = self.full[self.arrived % self.depth]
            bar.nbytes -= BYTES
            bar.settle()
            self.arrived += 1
            return True
        count = self.started if step == "p" else self.used
        if count == TILES or self.waits(step):
            return False
        if step == "p":
            self.arrive(self.full[self.started % self.depth], BYTES)
            self.started += 1
        elif self.using:
            self.arrive(self.empty[self.used % self.depth])
            self.used += 1
            self.using = False
        else:
            assert self.arrived > self.used
            self.using = True
        return True


def state(bar: Mbarrier) -> tuple[int, int, int]:
    return bar.phase, bar.missing, bar.nbytes


def walks(count: int) -> list[str]:
    """Random orders of steps, the same in every run."""
    rng = random.Random(22)
    return ["".join(rng.choices("pbc", k=rng.randint(1, 90))) for _ in range(count)]


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_mbarriers_are_the_simulators(depth: int) -> None:
    orders = walks(60)
    asked = [("played", order, {"stages": depth}) for order in orders]
    for order, found in zip(orders, called("ring_rules", *asked), strict=True):
        ring = Ring(depth)
        taken = "".join(step for step in order if ring.take(step))
        assert found["order"] == taken
        for name in ("full", "empty"):
            bars = [(b["phase"], b["missing"], b["bytes"]) for b in found[name]]
            assert bars == list(map(state, getattr(ring, name))), (order, name)
        for thread, step, count in (
            ("producer", "p", ring.started),
            ("consumer", "c", ring.used),
        ):
            one = found[thread]
            assert (one["tile"], one["done"]) == (count, count == TILES)
            stage, *parities = rings(count, depth)
            assert (one["stage"], one["parity"]) == (stage, parities[step == "p"])
            assert one["waits"] == (count < TILES and ring.waits(step))
        assert found["wrong"] == []
        assert 0 <= found["producer"]["tile"] - found["consumer"]["tile"] <= depth


def test_a_wait_returns_as_the_simulators_does() -> None:
    cases = [(phase, parity) for phase in range(4) for parity in (0, 1)]
    found = called("ring_rules", *[("returns", {"phase": n}, p) for n, p in cases])
    for (phase, parity), returns in zip(cases, found, strict=True):
        bar = Mbarrier("full[0]", 1, np.zeros(1, np.uint64), phase=phase)
        assert returns == bar.complete(parity)


def played(order: str, **first: int) -> dict[str, Any]:
    ring = {"stages": 3, "first": FIRST | first}
    (found,) = called("ring_rules", ("played", order, ring))
    return found


def test_every_tile_goes_through() -> None:
    found = played("pbcc" * TILES)
    assert found["producer"]["done"]
    assert found["consumer"]["done"]
    assert found["order"] == "pbcc" * TILES


def test_a_wrong_parity_in_the_first_round() -> None:
    assert played("pbcpbc", producer=0)["order"] == ""
    early = played("pc", consumer=1)
    assert (early["order"], early["wrong"]) == ("pc", [0])
