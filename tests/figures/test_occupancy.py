"""Resident blocks by our rules, in both languages, against NVIDIA's.

occupancy.json was made with `cudaOccMaxActiveBlocksPerMultiprocessor` of the CUDA
Toolkit 13.0's `cuda_occupancy.h`, for random blocks on every capability. What a driver
answered for compiled kernels is in resident.*.json, from `verification.resident`.
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
MEASURED = {
    path.stem.removeprefix("resident."): json.loads(path.read_text())
    for path in sorted((ROOT / "tests" / "figures").glob("resident.*.json"))
}
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


def measured(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that a driver answered, as cases like the others."""
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["cases"]]
    return [
        {
            "capability": table["capability"],
            "threads": row["threads"],
            "registers": row["registers"],
            "shared": row["static"] + row["dynamic"],
            "blocks": row["blocks"],
        }
        for row in rows
    ]


def in_javascript(cases: list[dict[str, Any]]) -> Any:
    """Give the cases to the figure's own rules."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    module = ROOT / "weft" / "exploring" / "figures" / "occupancy_rules.js"
    done = subprocess.run(
        [node, "--input-type=module", "--eval", RUN, module],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


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
    none = occupancy((9, 0), 0, 32, 0)
    assert (none.blocks, none.warps, none.limited_by) == (0, 0, ("warps",))


def test_an_unknown_capability_is_refused() -> None:
    with pytest.raises(ValueError, match=r"capability 6\.1"):
        occupancy((6, 1), 128, 32)


def test_the_figure_computes_the_same() -> None:
    capabilities, found = in_javascript(CASES)
    assert {number(c) for c in capabilities} == LIMITS.keys()
    for case, theirs in zip(CASES, found, strict=True):
        mine = ours(case)
        assert theirs["blocks"] == case["blocks"], case
        assert (theirs["warps"], theirs["allowed"]) == (mine.warps, mine.allowed), case


def test_an_h200_was_asked() -> None:
    table = MEASURED["sm_90"]
    assert table["device"] == "NVIDIA H200"
    assert table["differ"] == 0
    rows = measured(table)
    assert len(rows) >= 400
    assert len({row["registers"] for row in rows}) >= 15
    assert len({row["blocks"] for row in rows}) >= 20
    column = table["columns"].index("static")
    assert len({row[column] for row in table["cases"]}) >= 5
    assert max(row["shared"] for row in rows if row["blocks"]) > 48 * 1024


@pytest.mark.parametrize("which", MEASURED)
def test_a_driver_gives_the_same_blocks(which: str) -> None:
    cases = measured(MEASURED[which])
    assert [case for case in cases if ours(case).blocks != case["blocks"]] == []
    _, found = in_javascript(cases)
    assert [each["blocks"] for each in found] == [case["blocks"] for case in cases]
