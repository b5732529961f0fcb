"""The PTX that Numba makes of a kernel; equal PTX means an equivalent mutant.

Numba compiles in another process, since here it runs as a simulator. Run as a script,
this file is that process.
"""

import hashlib
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CAPABILITY = (9, 0)  # of an H200

NAME = re.compile(r"\b_Z\w+|\b__nv_\w+|\$?[A-Za-z_]\w*(?:cudapy|__static)\w*")
NOISE = re.compile(r"^\s*(\.(loc|file|section)\b.*)?$")


def plain(ptx: str) -> str:
    """Return PTX without comments, line numbers and compiler-made names."""
    ptx = re.split(r"^\s*\.section\s+\.debug", ptx, maxsplit=1, flags=re.M)[0]
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"name{len(names)}")

    lines = [re.sub(r"\s*//.*", "", line) for line in ptx.splitlines()]
    kept = [NAME.sub(number, line) for line in lines if not NOISE.match(line)]
    return "\n".join(kept)


class Compiler:
    """The compiling process, started with the first kernel."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def digest(self, kernel: Any, args: tuple[Any, ...]) -> str:
        """Return the digest of a kernel's PTX, or "refused: …", or "skipped: …"."""
        from weft.compiling.packing import Unpackable, pack
        from weft.compiling.worker import read, write

        try:
            job = pack(kernel, args)
        except Unpackable as error:
            return f"skipped: {error}"
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "verification.mutants.ptx"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        write(self._process.stdin, job)
        answer = read(self._process.stdout)
        if answer is None:
            self._process = None
            return "skipped: the compiler ended"
        return str(answer)

    def end(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(30)


def answer(said: dict[str, Any], ptx: str) -> str:
    """Return the result of `Compiler.digest` for what the checks' compiler answered."""
    if "error" in said:
        return f"refused: {said['error']}"
    if "capabilities" in said:
        return hashlib.sha256(plain(ptx).encode()).hexdigest()[:16]
    return f"skipped: {next(iter(said.values()))}"


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing else is written to stdout
    for name in [name for name in os.environ if "CUDASIM" in name]:
        del os.environ[name]
    # `weft` itself would choose the simulator.
    sys.path.insert(0, str(ROOT / "weft" / "compiling"))
    worker: Any = importlib.import_module("worker")

    class Reading(worker.Compiler):  # type: ignore[misc]
        """The checks' own compiler, which here keeps the PTX."""

        text = ""

        def ptx(self, *args: Any) -> str:
            self.text = str(super().ptx(*args))
            return self.text

    compiler = Reading()
    compiler.capabilities = [CAPABILITY]
    while (job := worker.read(sys.stdin.buffer)) is not None:
        try:
            said = compiler.answer(job)
        except Exception as error:
            said = {"skipped": f"{type(error).__name__}: {error}"}
        worker.write(answers, answer(said, compiler.text))


if __name__ == "__main__":
    main()
