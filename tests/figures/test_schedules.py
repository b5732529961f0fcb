"""What the figures on time and on tiles compute, against counts by hand."""

import atexit
import itertools
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FIGURES = Path(__file__).parents[2] / "weft" / "exploring" / "figures"
RUN = """
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    const [module, calls] = JSON.parse(line);
    const rules = await import(module);
    said = { found: calls.map(([name, ...args]) => rules[name](...args)) };
  } catch (error) {
    said = { error: String(error) };
  }
  console.log(JSON.stringify(said));
}
"""


@cache
def node() -> subprocess.Popen[str] | None:
    """A process that calls functions of modules; each of them keeps no state."""
    path = shutil.which("node")
    if path is None:
        return None
    command = [path, "--input-type=module", "--eval", RUN]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes, text=True)
    atexit.register(process.communicate)  # it ends with its input
    return process


def called(module: str, *calls: tuple[Any, ...]) -> list[Any]:
    """Call functions of a figure's module: (name, arguments...) each."""
    process = node()
    if process is None:
        pytest.skip("no node here")
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps([str(FIGURES / f"{module}.js"), calls]) + "\n")
    process.stdin.flush()
    said = json.loads(process.stdout.readline())
    assert "error" not in said, said["error"]
    found: list[Any] = said["found"]
    return found


def test_a_scheduler_is_as_busy_as_its_warps_allow() -> None:
    names = ("warps", "work", "latency", "ways")
    values = itertools.product((1, 2, 5, 9, 16), (1, 3, 8), (4, 24, 40), (1, 2))
    cases = [dict(zip(names, each, strict=True)) for each in values]
    cycles = 4000
    reached = called("latency_rules", *[("schedule", c, cycles) for c in cases])
    shares = called("latency_rules", *[("busyShare", c) for c in cases])
    enough = called("latency_rules", *[("enough", c) for c in cases])
    for case, one, share, least in zip(cases, reached, shares, enough, strict=True):
        issues = case["work"] * case["ways"] + 1
        by_hand = case["warps"] * issues / (issues + case["latency"])
        assert share == pytest.approx(min(1, by_hand))
        assert one["busy"] / cycles == pytest.approx(share, abs=0.02), case
        assert (case["warps"] >= least) == (by_hand >= 1)


def test_a_tile_is_used_as_often_as_it_is_wide() -> None:
    for tile, held in ((2, 1), (4, 2), (8, 4)):
        case = {"tile": tile, "held": held}
        (steps,) = called("tiling_rules", ("steps", case))
        (found,) = called("tiling_rules", ("counted", case, steps))
        assert found["flops"] == 2 * tile * tile * 16
        assert found["moved"] == 2 * tile * 16 * 4
        assert found["flops"] / found["moved"] == tile / 4
        assert found["shared"] == found["flops"] / held


def test_streams_overlap_like_a_pipeline() -> None:
    case = {"pieces": 6, "streams": 3, "copy": 6, "work": 6, "pinned": True}
    overlapped, in_order, pageable, uneven = called(
        "streams_rules",
        ("schedule", case),
        ("schedule", case | {"streams": 1}),
        ("schedule", case | {"pinned": False}),
        ("schedule", case | {"streams": 4, "pieces": 12, "copy": 3}),
    )
    assert overlapped["total"] == pytest.approx(6 + 2)  # six pieces, three engines
    assert in_order["total"] == pageable["total"] == pytest.approx(18)
    assert uneven["total"] == pytest.approx(6 + 2 * 3 / 12)  # all but the kernels hide
    for found in (overlapped, uneven):
        for engine in range(3):
            mine = [e for e in found["events"] if e["engine"] == engine]
            assert all(
                a["end"] <= b["start"] + 1e-9 for a, b in itertools.pairwise(mine)
            )


def test_a_race_is_there_in_every_order() -> None:
    orders = ["0011", "0101", "0110", "1001", "1100"]
    without = called("barrier", *[("play", order, False) for order in orders])
    assert all(len(found["hazards"]) == 2 for found in without)
    assert [found["results"] for found in without][1] == ["good", "good"]
    assert without[0]["results"] == ["garbage", "good"]
    with_one = called("barrier", *[("play", order + "01", True) for order in orders])
    assert all(found["hazards"] == [] for found in with_one)
    (stuck,) = called("barrier", ("play", "0000", True))
    assert (stuck["waits"], stuck["epoch"]) == ([True, False], [0, 0])
