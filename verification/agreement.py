"""Compare our verdicts and counters with those of NVIDIA's tools.

    python -m verification.agreement RAW

reads what `verification.measure` left in RAW on a GPU, runs the same kernels in the
simulator, and writes results/agreement.<gpu>.json. For every kernel the file holds our
verdict and what each tool found; for kernels that ran under Nsight Compute, also the
totals of sectors, requests and passes, ours and theirs.
"""

import argparse
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("WEFT_SIMULATOR", "1")

import weft  # noqa: F401  before Numba
from verification import measure, patterns, reports
from verification.corpus import ROOT, Kernel, corpus
from verification.launch import exercise_of
from weft import check
from weft.counters import count
from weft.simulator import Fault, record
from weft.simulator.trace.trace import Trace

Totals = dict[str, int]

# Nsight Compute's names for the numbers that we count.
METRICS = {
    "global load requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld",),
    "global load sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld",),
    "global store requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st",),
    "global store sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st",),
    "global atomic requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red",
    ),
    "global atomic sectors": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red",
    ),
    "shared load passes": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld",),
    "shared load conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld",),
    "shared store passes": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st",),
    "shared store conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st",),
    "shared atomic passes": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom",),
    "shared atomic conflicts": (
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom",
    ),
}


def ours(trace: Trace) -> Totals:
    """Return the totals of a launch, counted from its trace."""
    found: Counter[str] = Counter()
    for line in count(trace):
        operation = "atomic" if line.atomic else "store" if line.store else "load"
        if line.shared:
            found[f"shared {operation} passes"] += line.ideal + line.conflicts
            found[f"shared {operation} conflicts"] += line.conflicts
        else:
            found[f"global {operation} requests"] += line.requests
            found[f"global {operation} sectors"] += line.sectors
    return {name: found[name] for name in METRICS}


def theirs(metrics: Totals) -> Totals:
    return {
        name: sum(metrics.get(part, 0) for part in parts)
        for name, parts in METRICS.items()
    }


def beside(mine: Totals, measured: Totals) -> dict[str, list[int]]:
    """Return both numbers of each total that either side has, ours first."""
    pairs = {name: [mine[name], measured[name]] for name in METRICS}
    return {name: pair for name, pair in pairs.items() if any(pair)}


def trace_of(kernel: Kernel) -> Trace | None:
    """Return the trace of the launch that was measured; None if it ends in a fault."""
    exercise = exercise_of(kernel)
    case = exercise.case(exercise.sizes[-1])
    outputs = exercise.fresh(case)
    try:
        config = exercise.launch(*case.size)
        return record(exercise.kernel, config, (*case.inputs, *outputs))[0]
    except Fault:
        return None


def judged(kernel: Kernel) -> dict[str, Any]:
    """Return our verdict on a kernel, and the numbers of the lines that it names."""
    function, arguments = kernel.load()
    verdict = check(function, **arguments)
    lines = sorted({place.line for place, _ in verdict.places})
    return {"digest": kernel.digest, "verdict": verdict.kind, "lines": lines}


def of_kernel(kernel: Kernel, raw: "Raw") -> dict[str, Any]:
    name = kernel.function
    entry: dict[str, Any] = {"label": kernel.label} | judged(kernel)
    launch = raw.plain.get(name)
    entry["on the GPU"] = reports.outcome(launch) if launch else "not launched"
    entry["tools"] = {t: found[name] for t, found in raw.tools.items() if name in found}
    trace = trace_of(kernel) if name in raw.metrics else None
    if trace is not None:
        entry["counters"] = beside(ours(trace), theirs(raw.metrics[name]))
    return entry


def request_of(pattern: patterns.Pattern) -> Trace:
    """Return the trace of a pattern's launch."""
    return record(pattern.kernel(), (1, 32), pattern.arguments())[0]


def of_pattern(pattern: patterns.Pattern, measured: Totals) -> dict[str, list[int]]:
    return beside(ours(request_of(pattern)), theirs(measured))


class Raw:
    """What was measured on the GPU, read from its folder."""

    def __init__(self, folder: Path) -> None:
        self.plain: dict[str, dict[str, Any]] = {}
        for part in sorted(folder.glob("plain*")):
            self.plain |= reports.launches(part)
        self.tools = {tool: reports.findings(folder / tool) for tool in reports.TOOLS}
        self.metrics = dict(reports.metrics(folder / "ncu" / "report.0.txt"))
        labels = (folder / "patterns" / "labels").read_text().splitlines()
        numbers = reports.metrics(folder / "patterns" / "report.0.txt")
        self.patterns = {
            json.loads(label): values
            for label, (_, values) in zip(labels, numbers, strict=True)
        }
        self.versions = json.loads((folder / "versions.json").read_text())


def brief(version: str) -> str:
    """Return the version number in what a tool prints about its version."""
    found = re.search(r"Version (\S+)", version)
    return found[1] if found else version


def agreement(raw: Raw, date: str) -> dict[str, Any]:
    known = {pattern.label: pattern for pattern in patterns.patterns()}
    return {
        "device": raw.versions.pop("driver").splitlines()[-1],
        "versions": {name: brief(text) for name, text in raw.versions.items()},
        "date": date,
        "not launched": measure.ENDLESS,
        "kernels": {k.function: of_kernel(k, raw) for k in corpus()},
        "patterns": {
            label: of_pattern(known[label], values)
            for label, values in raw.patterns.items()
            if label in known
        },
    }


def written(found: dict[str, Any]) -> str:
    """Return the results as JSON, with a line for each kernel and each pattern."""
    parts = []
    for key, value in found.items():
        if key in ("kernels", "patterns"):
            each = (f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            text = "{\n" + ",\n".join(each) + "\n }"
        else:
            text = json.dumps(value)
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw", type=Path, help="the folder that measure wrote")
    parser.add_argument("--gpu", default="nvidia-h200")
    parser.add_argument("--date", required=True, help="of the measurement, YYYY-MM-DD")
    args = parser.parse_args()
    found = agreement(Raw(args.raw), args.date)
    path = ROOT / "results" / f"agreement.{args.gpu}.json"
    path.write_text(written(found), encoding="utf-8")


if __name__ == "__main__":
    main()
