"""Missing waits, in Gluon for ConSan and in Numba for the simulator: both name them."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

import weft  # noqa: F401  before Numba

from test_hopper_rules import Held  # isort: skip
from verification import consan, hopper_rules
from weft.kernels import hazards
from weft.simulator import Fault
from weft.simulator.launch import record

RECORDS = sorted(Path(consan.__file__).parent.glob("consan.*.json"))
without_triton = pytest.mark.skipif(find_spec("triton") is None, reason="no Triton")


@without_triton
@pytest.mark.parametrize("name", consan.RULES)
def test_kernels_compile_with_what_consan_should_say(name):
    made = consan.compiled(name).asm
    assert consan.RULES[name].consan in made["llir"]
    fenced = "fence.proxy.async" in made["ptx"]
    assert fenced or consan.RULES[name].kernel != "store_box"


class Judged:
    """A kernel whose launches are recorded, and judged as a check does it."""

    def __init__(self, kernel, kinds):
        self.kernel, self.kinds = kernel, kinds

    def __getitem__(self, launch):
        return lambda *args: self.kinds.append(self.kind(launch, args))

    def kind(self, launch, args):
        traces = []
        try:
            trace, _ = record(
                self.kernel, launch, args, failed=lambda t, _: traces.append(t)
            )
        except Fault as fault:  # an early read may have led to it
            early = hazards.too_early(traces[0])
            return fault.kind if early is None else early.kind
        hazard = hazards.find(trace)
        return "" if hazard is None else hazard.verdict.kind


@pytest.mark.parametrize("name", consan.RULES)
def test_the_simulator_says_the_same(name, monkeypatch):
    rule, kinds, made = consan.RULES[name], [], hopper_rules.kernel_of
    monkeypatch.setattr(
        hopper_rules, "kernel_of", lambda *a, **k: Judged(made(*a, **k), kinds)
    )
    ours = hopper_rules.RULES[rule.ours]
    next(hopper_rules.RUNS[ours.kernel](ours, lambda x: x.copy().view(Held)))
    assert kinds == [rule.simulator]
    assert bool(rule.simulator) == bool(rule.consan or rule.differs)


@pytest.mark.parametrize("path", RECORDS, ids=lambda p: p.stem)
def test_consan_has_said_what_the_rules_say(path):
    said = json.loads(path.read_text(encoding="utf-8"))["rules"]
    assert said.keys() == consan.RULES.keys()
    for name, each in said.items():
        assert consan.judged(consan.RULES[name], each), name
