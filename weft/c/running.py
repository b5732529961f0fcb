"""Run programs in separate processes, with a time limit."""

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft import effort
from weft.c import compiler, driver

SECONDS = 30  # of wall time; the program itself ends after CPU_SECONDS of computation
ATTEMPTS = 5
ASAN = {
    "detect_leaks": "1",
    "detect_stack_use_after_return": "1",
    "malloc_fill_byte": "190",
    "max_malloc_fill_size": "1048576",
    "hard_rss_limit_mb": "1024",
    "allocator_may_return_null": "1",
    "abort_on_error": "0",
}
FILL = 190  # the byte that fills unwritten memory
NO_LEAKS = (
    "LeakSanitizer has encountered a fatal error",
    "detect_leaks is not supported",
)


@dataclass(frozen=True)
class Ran:
    """The outcome of a run: the sanitizers' output, the results, and what was printed.

    complete: whether the program completed. late: whether it ran out of time.
    leaks_seen: whether leaks were looked for.
    """

    status: int
    said: str
    results: list[np.ndarray[Any, Any]]
    complete: bool
    printed: str
    late: bool
    leaks_seen: bool = True


def run(program: Path, data: bytes) -> Ran:
    """Run `program` on one case, given as its packed `data`; return the outcome.

    A sanitizer may fail through no fault of the learner's: with some address layouts it
    cannot start, and under a debugger it cannot look for leaks. The program is then run
    again, in the second case without the leak check.
    """
    ran = _run(program, data, "1")
    for _ in range(ATTEMPTS):
        if "weft: begun" in ran.said:
            break
        ran = _run(program, data, "1")
    if any(words in ran.said for words in NO_LEAKS):
        ran = _run(program, data, "0")
    return ran


def heard(
    command: str | list[str], folder: Path, env: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`, with stdout and stderr as one stream.

    command: a string is run by the shell. Raises subprocess.TimeoutExpired after
    `seconds`.
    """
    effort.done["programs"] += 1
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds,
    )


def _run(program: Path, data: bytes, leaks: str) -> Ran:
    """Run a program in a process with limits on its time, memory and output."""
    effort.done["programs"] += 1
    folder = program.parent
    given, out = folder / "case.in", folder / "case.out"
    given.write_bytes(data)
    out.unlink(missing_ok=True)
    options = ":".join(f"{k}={v}" for k, v in (ASAN | {"detect_leaks": leaks}).items())
    env = compiler.english() | {
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    if symbolizer := shutil.which("llvm-symbolizer"):
        env["ASAN_SYMBOLIZER_PATH"] = symbolizer
    said, printed = folder / "said", folder / "printed"
    with said.open("wb") as errors, printed.open("wb") as output:
        process = subprocess.Popen(
            [str(program), str(given), str(out)],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        late = False
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    results, complete = driver.unpacked(out.read_bytes() if out.exists() else b"")
    return Ran(
        process.returncode,
        said.read_text(errors="replace"),
        results,
        complete,
        printed.read_text(errors="replace")[:2000],
        late,
        leaks == "1",
    )
