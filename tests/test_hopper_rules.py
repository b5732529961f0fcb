"""The kernels that are held against a GPU: right ones are right here, others named."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from verification import hopper_rules  # isort: skip
from weft.device import toolkit
from weft.simulator import Fault

RULES = hopper_rules.RULES | hopper_rules.CLUSTER_RULES
RIGHT = [name for name, rule in RULES.items() if rule.expects == "right"]


class Held(np.ndarray):
    """An array with what a run asks of a tensor."""

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)

    def zero_(self):
        self[...] = 0


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_right_in_the_simulator(name):
    rule = RULES[name]
    runs = hopper_rules.RUNS[rule.kernel](rule, lambda x: x.copy().view(Held))
    for _ in range(2):
        got, wanted = next(runs)
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("name", [n for n, r in RULES.items() if r.expects == "error"])
def test_what_ends_a_launch_does_so_in_the_simulator(name):
    rule = RULES[name]
    runs = hopper_rules.RUNS[rule.kernel](rule, lambda x: x.copy().view(Held))
    with pytest.raises((Fault, ValueError)):
        next(runs)


@pytest.mark.long
@pytest.mark.skipif(bool(toolkit.find().missing), reason="no CUDA compiler here")
def test_all_compile_for_hopper():
    environment = {k: v for k, v in os.environ.items() if "CUDASIM" not in k}
    done = subprocess.run(
        [sys.executable, "-m", "verification.hopper_rules", "--compile"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=hopper_rules.ROOT,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(
    "path", sorted(hopper_rules.HERE.glob("*_rules.*.json")), ids=lambda p: p.stem
)
def test_a_gpu_has_done_what_the_rules_say(path):
    done = json.loads(path.read_text(encoding="utf-8"))["rules"]
    clusters = path.name.startswith("cluster_rules")
    rules = hopper_rules.CLUSTER_RULES if clusters else hopper_rules.RULES
    assert done.keys() == rules.keys()
    for name, found in done.items():
        assert hopper_rules.judged(rules[name], found), name
