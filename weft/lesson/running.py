"""What to know about this machine before the solutions of the labs run on it."""

from collections.abc import Iterable
from typing import Any

from weft import device
from weft.device import Device, tools
from weft.lesson import syllabus


def plan(labs: Iterable[str], gpu: Device | None = None) -> dict[str, Any]:
    """Return what one should know before running the solutions of `labs` here.

    `line` names the GPU, or says that kernels are simulated, and why. `reason` says why
    there is no GPU and what to do, or is "" if there is one. `skips` maps each lab that
    this GPU cannot run to the reason. `stops` has a sentence for each missing tool
    without which a lab ends with an error; `lacks` has one for each tool without which
    part of a lab is left out.

    gpu: replaces this machine's GPU.
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
