"""Read the reports of NVIDIA's tools on the kernels of the corpus."""

import csv
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

KERNEL = re.compile(r"corpus::(\w+?)\[")
PLACE = re.compile(r"corpus::(\w+?)\[.* in (\w+\.py):(\d+)")
HEADLINE = re.compile(r"^========= (?:(?:Error|Warning|Info): )?(.*)")
RACE = re.compile(r"(Read|Write|Atomic)\w* access")


@dataclass
class Finding:
    """One kind of report on a kernel, and the lines of its source that it names."""

    what: str
    lines: set[int] = field(default_factory=set)

    def entry(self) -> dict[str, Any]:
        return {"what": self.what, "lines": sorted(self.lines)}


def findings(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what the tool with reports in `folder` found, by kernel."""
    found: dict[str, dict[str, Finding]] = defaultdict(dict)
    for report in sorted(folder.glob("report.*.txt")):
        text = report.read_text(encoding="utf-8", errors="replace")
        for part in re.split(r"^========= ?\n", text, flags=re.M):
            places = PLACE.findall(part)
            if not places:
                continue
            what = headline(part)
            finding = found[places[0][0]].setdefault(what, Finding(what))
            finding.lines |= {int(line) for _, _, line in places}
    return {name: [f.entry() for f in each.values()] for name, each in found.items()}


def headline(part: str) -> str:
    """Return a report's first line in short, without numbers and names."""
    first = next(m[1] for line in part.splitlines() if (m := HEADLINE.match(line)))
    if first.startswith("COMPUTE-SANITIZER"):
        rest = part.split("\n", 1)[1]
        return headline(rest)
    if first.startswith("Race reported"):
        kinds = sorted({kind.lower() for kind in RACE.findall(part)})
        level = "race, as information" if "= Info: " in part else "race"
        return f"{level}: {' and '.join(kinds)}"
    first = re.sub(r" of size \d+ bytes?", "", first)
    return first.removeprefix("Barrier error detected. ").rstrip(".")


def launches(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the result of each launch, by kernel: `right`, an `error`, or neither."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for log in sorted(folder.glob("launches.*.jsonl")):
        for line in log.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            found[entry["kernel"]] |= entry
    return dict(found)


def outcome(entry: dict[str, Any]) -> str:
    """Return "right", "wrong", "hangs", or the name of CUDA's or Numba's error."""
    if "right" in entry:
        return "right" if entry["right"] else "wrong"
    if "error" not in entry:
        return "hangs"
    code = re.search(r"CUDA_ERROR_\w+", entry["error"])
    return code[0] if code else str(entry["error"].split(":")[0])


def metrics(report: Path) -> list[tuple[str, dict[str, int]]]:
    """Return Nsight Compute's numbers per launch: the kernel's name, its metrics."""
    text = report.read_text(encoding="utf-8", errors="replace")
    start = text.index('"ID"')
    rows = list(csv.DictReader(text[start:].splitlines()))
    found = []
    for row in rows[1:]:  # the first row holds the units
        name = row["Kernel Name"]
        match = re.search(r"(\w+)(?:\[|\()", name.split("::")[-1])
        values = {
            key.removesuffix(".sum"): int(float(value.replace(",", "")))
            for key, value in row.items()
            if key and key.endswith(".sum") and value and value != "n/a"
        }
        found.append((match[1] if match else name, values))
    return found
