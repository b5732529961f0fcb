"""Claims about speed, where nbval runs the solutions.

They do not stop a notebook. The kernel writes those that fail to a file, and the cell
that made one fails here, when it has run.
"""

import json
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

_ledger = pytest.StashKey[Path]()
_read = pytest.StashKey[int]()  # lines of it
_warned = pytest.StashKey[list[str]]()


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
