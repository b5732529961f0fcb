"""Resident blocks by our rules, in both languages, against NVIDIA's.

occupancy.json was made with `cudaOccMaxActiveBlocksPerMultiprocessor` of the CUDA
Toolkit 13.0's `cuda_occupancy.h`, for random blocks on every capability.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from weft.device.occupancy import LIMITS, occupancy

ROOT = Path(__file__).parents[2]
CASES = json.loads((ROOT / "tests" / "figures" / "occupancy.json").read_text())
RUN = """
import { readFileSync } from "node:fs";
const { occupancy, LIMITS } = await import(process.argv[1]);
const cases = JSON.parse(readFileSync(0));
const found = cases.map((c) => {
  const { blocks, warps, allowed } = occupancy(c);
  return { blocks, warps, allowed };
});
console.log(JSON.stringify([Object.keys(LIMITS), found]));
"""


def number(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def ours(case: dict[str, Any]) -> Any:
    return occupancy(
        number(case["capability"]), case["threads"], case["registers"], case["shared"]
    )


def test_nvidias_rules_give_the_same_blocks() -> None:
    assert {number(case["capability"]) for case in CASES} == LIMITS.keys()
    wrong = [case for case in CASES if ours(case).blocks != case["blocks"]]
    assert wrong == []


def test_the_limiter_is_named() -> None:
    full = occupancy((9, 0), 1024, 32, 0)
    assert (full.blocks, full.warps, full.share) == (2, 64, 1.0)
    assert full.limited_by == ("warps", "registers")
    assert occupancy((9, 0), 256, 65, 0).limited_by == ("registers",)
    assert occupancy((9, 0), 128, 16, 100 * 1024).limited_by == ("shared memory",)
    assert occupancy((8, 6), 32, 16, 0).limited_by == ("blocks",)
    assert occupancy((9, 0), 1024, 65, 0).blocks == 0


def test_an_unknown_capability_is_refused() -> None:
    with pytest.raises(ValueError, match=r"capability 6\.1"):
        occupancy((6, 1), 128, 32)


def test_the_figure_computes_the_same() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    module = ROOT / "weft" / "exploring" / "figures" / "occupancy_rules.js"
    done = subprocess.run(
        [node, "--input-type=module", "--eval", RUN, module],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        check=True,
    )
    capabilities, found = json.loads(done.stdout)
    assert {number(c) for c in capabilities} == LIMITS.keys()
    for case, theirs in zip(CASES, found, strict=True):
        mine = ours(case)
        assert theirs["blocks"] == case["blocks"], case
        assert (theirs["warps"], theirs["allowed"]) == (mine.warps, mine.allowed), case
