"""Build the book once for all tests of a run, whichever worker asks first.

It is kept in _build/tested, so that the next run builds only pages that have changed.
"""

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTED = ROOT / "_build" / "tested"


@dataclass(frozen=True)
class Book:
    """A build of the book: what it said, and where its pages are."""

    status: int
    said: str
    html: Path


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder of this run; pytest-xdist gives each worker one inside it."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def build_once(factory: pytest.TempPathFactory) -> Book:
    folder = shared_folder(factory) / "book"
    folder.mkdir(exist_ok=True)
    TESTED.mkdir(parents=True, exist_ok=True)
    report = folder / "report.json"
    with open(TESTED / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not report.exists():
            program = ROOT / "book" / "build.py"  # other tests keep the cores busy
            done = subprocess.run(
                [sys.executable, program, "--out", TESTED, "--jobs", "1"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            report.write_text(json.dumps([done.returncode, done.stdout]))
    status, said = json.loads(report.read_text())
    return Book(status, said, TESTED / "_build" / "html")
