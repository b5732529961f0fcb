"""Compile the installed packages, now or once JupyterLab is open.

    .venv/bin/python -m installing.bytecode PID    wait for the server of that process

Without this, the first program that imports a file compiles it; where a copy of the
course belongs to another user, every program would, every time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120  # seconds in which JupyterLab opens
TESTS = "site-packages/.*/tests?/"  # of packages; the course may be in such a folder


def compile_all(python: Path, packages: Path, done: Path, workers: int = 0) -> None:
    """Compile `packages` with as many workers (0: one per core); leave the file `done`.

    Left out are the tests of packages. Some packages have files that are no Python;
    compileall fails, and nobody minds.
    """
    leave_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME")
    kept = {name: text for name, text in os.environ.items() if name not in leave_out}
    quiet = ["-m", "compileall", "-q", "-q", f"-j{workers}", "-x", TESTS]
    words = [str(word) for word in (python, *quiet, packages)]
    subprocess.run(words, env=kept, capture_output=True, check=False)
    done.touch()


def compile_later(root: Path) -> None:
    """Start a program that compiles once this process has become a JupyterLab.

    It does nothing where all is compiled, or may not be.
    """
    folder = root / ".venv"
    if (folder / "compiled").exists() or not os.access(folder, os.W_OK):
        return
    subprocess.Popen(
        [sys.executable, "-m", "installing.bytecode", str(os.getpid())],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def serves(pid: int, runtime: Path) -> bool:
    """Wait until process `pid` is a Jupyter server; False where it never is."""
    for _ in range(PATIENCE * 2):
        if (runtime / f"jpserver-{pid}.json").exists():
            return True
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        time.sleep(0.5)
    return False


def main(arguments: list[str]) -> None:
    from jupyter_core.paths import jupyter_runtime_dir

    os.nice(19)
    if serves(int(arguments[0]), Path(jupyter_runtime_dir())):
        folder = ROOT / ".venv"
        packages = next(folder.glob("lib/python3.*/site-packages"))
        half = max(1, (os.cpu_count() or 1) // 2)
        compile_all(Path(sys.executable), packages, folder / "compiled", half)


if __name__ == "__main__":
    main(sys.argv[1:])
