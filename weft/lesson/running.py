"""Run the solutions of all labs on this machine, and report the result of each."""

from collections.abc import Iterable
from typing import Any

from weft import device
from weft.device import Device, tools
from weft.lesson import syllabus


def plan(labs: Iterable[str], gpu: Device | None = None) -> dict[str, Any]:
    """Return what to know before the solutions of these labs run here.

    `line` is the GPU, or the simulator and why; `reason` why there is no GPU and what
    to do, "" if there is one. `skips` has the labs that this GPU cannot run, each with
    the reason. `stops` has a sentence for each tool without which a lab ends with an
    error, `lacks` for each without which a part of one is left out. gpu: stands in for
    the one of this machine.
    """
    gpu = gpu or device.find()
    skips = {}
    if gpu.usable:
        reasons = {lab: syllabus.load(lab).gpu.unmet(gpu) for lab in labs}
        skips = {lab: reason for lab, reason in reasons.items() if reason}
    run = [lab for lab in labs if lab not in skips]
    missing = tools.missing(run, gpu.usable)
    sentences = [(one.tool.stops, f"no {one.tool.name}: {one}") for one in missing]
    return {
        "line": gpu.line,
        "reason": gpu.reason,
        "skips": skips,
        "stops": [text for stops, text in sentences if stops],
        "lacks": [text for stops, text in sentences if not stops],
    }
