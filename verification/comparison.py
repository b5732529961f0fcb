"""Where we and NVIDIA's tools agree on a kernel, where not, and why.

The module reads results/agreement.<gpu>.json, which `verification.agreement` writes,
and verification/differences.toml, whose explanations are written by hand. It needs
neither Numba nor a GPU.
"""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

# The tool whose task it is to find what we call by this name.
LOOKS_FOR = {
    "out-of-bounds": "memcheck",
    "negative-index": "memcheck",
    "misaligned": "memcheck",
    "race": "racecheck",
    "uninitialised": "initcheck",
    "barrier": "synccheck",
    "warp": "synccheck",
}
REFUSED = ("launch", "type", "exception")  # by CUDA or Numba, so nothing runs


@dataclass(frozen=True)
class Cause:
    """Why some numbers or verdicts differ; `of` names the kernels or patterns."""

    title: str
    because: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Agreement:
    """What was measured on one GPU, and the causes of all differences."""

    device: str
    versions: dict[str, str]
    date: str
    kernels: dict[str, Entry]
    patterns: dict[str, dict[str, list[int]]]
    causes: dict[str, list[Cause]]  # by "counters", "verdicts" and "patterns"


def read(root: Path, gpu: str = "nvidia-h200") -> Agreement:
    path = root / "results" / f"agreement.{gpu}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    text = (root / "verification" / "differences.toml").read_text(encoding="utf-8")
    causes = {
        part: [
            Cause(
                cause["title"],
                " ".join(cause["because"].split()),
                tuple(cause["patterns" if part == "patterns" else "kernels"]),
            )
            for cause in found
        ]
        for part, found in tomllib.loads(text).items()
    }
    return Agreement(
        data["device"],
        data["versions"],
        data["date"],
        data["kernels"],
        data["patterns"],
        causes,
    )


def same_verdict(entry: Entry) -> bool:
    """Return whether NVIDIA's tools agree with our verdict on a kernel.

    On a right kernel, they must report nothing. On a wrong kernel, the tool that looks
    for such mistakes must name one of our lines, and no other tool may report anything.
    CUDA or Numba must refuse what we refuse. If no tool looks for the mistake, none may
    report anything.
    """
    verdict, tools = entry["verdict"], entry["tools"]
    if verdict == "pass":
        return not tools and entry["on the GPU"] == "right"
    if verdict in REFUSED:
        ran = entry["on the GPU"] in ("right", "wrong", "hangs")
        return not tools and not ran
    tool = LOOKS_FOR.get(verdict)
    if tool is None:
        return not tools
    lines = {n for found in tools.get(tool, []) for n in found["lines"]}
    return set(tools) == {tool} and bool(lines & set(entry["lines"]))


def unequal(counters: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the totals that are not equal, ours first."""
    return {name: pair for name, pair in counters.items() if pair[0] != pair[1]}


def differences(found: Agreement) -> dict[str, set[str]]:
    """Return what needs an explanation: names, by the part in which they differ."""
    kernels = found.kernels.items()
    return {
        "counters": {k for k, e in kernels if unequal(e.get("counters", {}))},
        "verdicts": {k for k, e in kernels if not same_verdict(e)},
        "patterns": {k for k, pairs in found.patterns.items() if unequal(pairs)},
    }
