"""What nbval leaves out on this machine, and why; no kernel is started to find out."""

import pytest

from weft import device


def missing(needs: str) -> str:
    """Return why a need ("gpu: why", "sm_90: why") is not met here, "" if it is."""
    gpu = device.find()
    wanted, _, because = needs.partition(": ")
    if not gpu.usable:
        return f"no GPU here, and {because}"
    if wanted.startswith("sm_"):
        capability = divmod(int(wanted[3:]), 10)
        if gpu.capability < capability:
            return f"the {gpu.name} is below {wanted}, and {because}"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        nb = getattr(item.parent, "nb", None)
        if nb is None:
            continue
        needs = nb.metadata.get("weft", {}).get("needs")
        if "gpu" in item.cell.metadata.get("tags", []):
            needs = needs or "gpu: this cell runs on one only"
        if needs and (reason := missing(needs)):
            item.add_marker(pytest.mark.skip(reason=reason))
