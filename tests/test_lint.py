"""The code is clean: ruff on everything, mypy --strict on the package."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*command):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_has_nothing_to_say():
    run("ruff", "check", ".")


def test_mypy_has_nothing_to_say():
    run("mypy")
