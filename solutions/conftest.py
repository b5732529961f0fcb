"""What nbval leaves out on this machine, and why; no kernel is started to find out.

Claims about speed do not stop a notebook. The kernel writes those that fail to a file,
and the cell that made one fails here, when it has run.
"""

import json
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from weft import device

_ledger = pytest.StashKey[Path]()
_read = pytest.StashKey[int]()  # lines of it
_warned = pytest.StashKey[list[str]]()


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


def pytest_collection_finish(session: pytest.Session) -> None:
    """Name the file of claims before any kernel starts: kernels inherit it."""
    handle, name = tempfile.mkstemp(suffix=".jsonl")
    os.close(handle)
    os.environ["WEFT_CLAIMS"] = name
    session.config.stash[_ledger] = Path(name)
    session.config.stash[_read] = 0
    session.config.stash[_warned] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a cell whose claims do not hold, once it has run."""
    try:
        result = yield
    finally:
        entries = _claims(item.config)
    warned = [e["text"] for e in entries if e["state"] == "warned"]
    item.config.stash[_warned] += warned
    failed = [e["text"] for e in entries if e["state"] == "failed"]
    if failed:
        item.raise_cell_error("what the lesson claims does not hold", "\n".join(failed))
    return result


def _claims(config: pytest.Config) -> list[dict[str, str]]:
    """Return what was noted since the last call."""
    lines = config.stash[_ledger].read_text(encoding="utf-8").splitlines()
    begin, config.stash[_read] = config.stash[_read], len(lines)
    return [json.loads(line) for line in lines[begin:]]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for text in terminalreporter.config.stash.get(_warned, []):
        terminalreporter.write_line(f"to look at: {text}")


def pytest_unconfigure(config: pytest.Config) -> None:
    if (ledger := config.stash.get(_ledger, None)) is not None:
        ledger.unlink(missing_ok=True)
