"""One truth, two languages: cases.json against weft.counters and against the figures.

Whatever a figure says of sectors, lines and bank conflicts is computed in JavaScript.
The numbers here are what the simulator's trace of a real kernel gives.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from numba import cuda  # isort: skip
from weft.counters import Line, count
from weft.intrinsics import load4
from weft.simulator import record

ROOT = Path(__file__).parents[2]
CASES = json.loads((ROOT / "tests" / "figures" / "cases.json").read_text())
TYPES = {1: np.int8, 2: np.int16, 4: np.float32, 8: np.float64}
RUN = """
import { readFileSync } from "node:fs";
const of = await import(process.argv[1]);
const found = JSON.parse(readFileSync(0)).map((c) => {
  if (c.kind === "tile") {
    const at = of.tilePattern(c.pattern, c.size, c.at);
    const where = ([row, col]) => of.tileAddress(row, col, c.size, c.layout);
    const addresses = at.map(where);
    return {
      passes: of.passes(addresses, c.size), conflicts: of.conflicts(addresses, c.size)
    };
  }
  const addresses = {
    array: () => of.strided(c.stride, c.offset, c.size),
    aos: () => of.arrayOfStructs(c.fields, c.field, c.size),
    soa: () => of.structOfArrays(c.field, c.size),
  }[c.kind]();
  return { sectors: of.sectors(addresses, c.size), lines: of.lines(addresses, c.size) };
});
console.log(JSON.stringify(found));
"""


def elements(case: dict[str, Any]) -> list[int]:
    """Which element each lane of a warp reads, said once more and independently."""
    lanes = range(32)
    if case["kind"] == "array":
        return [case["stride"] * lane + case["offset"] for lane in lanes]
    if case["kind"] == "aos":
        return [case["fields"] * lane + case["field"] for lane in lanes]
    if case["kind"] == "soa":
        return [32 * case["field"] + lane for lane in lanes]
    width, at = 128 // case["size"], case["at"]
    wanted = {
        "row": [((at + lane // width) % 32, lane % width) for lane in lanes],
        "column": [(lane, at % width) for lane in lanes],
        "diagonal": [(lane, (at + lane) % width) for lane in lanes],
        "same": [(at % 32, at % width)] * 32,
    }[case["pattern"]]
    if case["layout"] == "padded":
        return [row * (width + 1) + col for row, col in wanted]
    if case["layout"] == "swizzled":
        return [row * width + (col ^ (row % width)) for row, col in wanted]
    return [row * width + col for row, col in wanted]


def counted(case: dict[str, Any]) -> Line:
    """What the counters say of a kernel in which one warp reads as the case does."""
    wide = case["size"] == 16
    at = tuple(4 * i if wide else i for i in elements(case))
    dtype = np.float32 if wide else TYPES[case["size"]]
    length = max(at) + 4

    @cuda.jit
    def from_global(x, out):
        lane = cuda.threadIdx.x
        out[lane] = load4(x, at[lane])[0] if wide else x[at[lane]]

    @cuda.jit
    def from_shared(x, out):
        tile = cuda.shared.array(length, dtype)
        lane = cuda.threadIdx.x
        out[lane] = load4(tile, at[lane])[0] if wide else tile[at[lane]]

    kernel = from_shared if case["kind"] == "tile" else from_global
    out = np.zeros(32, dtype)
    trace, _ = record(kernel, (1, 32), (np.zeros(length, dtype), out))
    return next(line for line in count(trace) if not line.store)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_counters_agree(case: dict[str, Any]) -> None:
    line = counted(case)
    assert line.requests == 1
    if case["kind"] == "tile":
        assert line.shared
        assert line.conflicts == case["conflicts"]
        assert line.ideal + line.conflicts == case["passes"]
        return
    assert line.sectors == case["sectors"]
    size = case["size"]
    assert len({i * size // 128 for i in elements(case)}) == case["lines"]


def test_the_figures_agree() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here; tests/browser/test_figures.py asks Chromium")
    module = ROOT / "weft" / "exploring" / "figures" / "counting.js"
    done = subprocess.run(
        [node, "--input-type=module", "--eval", RUN, module],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        check=True,
    )
    for case, found in zip(CASES, json.loads(done.stdout), strict=True):
        assert found == {name: case[name] for name in found}, case["name"]
