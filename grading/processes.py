"""The process of one submission: how it is started, watched and stopped."""

import contextlib
import functools
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from grading import landlock

ROOT = Path(__file__).parents[1]
LOOK = 0.2  # seconds between two looks at the processes
LONGEST = 1 << 20  # bytes of a line of the report
MOST = 256  # processes of a submission
KEPT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV")
NO_NETWORK = ("--user", "--map-current-user", "--net")
ALONE = ("--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")

stopping = threading.Event()  # set: every submission's process is to be stopped


class Ended(Exception):
    """A process was stopped, or broke off; the argument says how, in a word."""


@functools.cache
def isolated() -> tuple[str, ...]:
    """What to put before a command so that it is alone; () where nothing can.

    It then has no network, and with `--pid` it sees no other processes, and what it
    starts ends with it.
    """
    tool = shutil.which("unshare") or ""
    for options in ((*NO_NETWORK, *ALONE), NO_NETWORK):
        command = (tool, *options)
        if tool and _works(command):
            return command
    return ()


def _works(command: tuple[str, ...]) -> bool:
    try:
        done = subprocess.run([*command, "true"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def report(
    task: bytes, seed: str, memory: float
) -> Generator[dict[str, Any] | None, None, None]:
    """Run the worker on a task; yield what it reports, and None while it says nothing.

    memory: in bytes, for all its processes. Raises Ended when the process breaks off,
    needs too much or says what is no report.
    """
    with tempfile.TemporaryDirectory(
        prefix="weft-grade-", ignore_cleanup_errors=True
    ) as home:
        reading, writing = os.pipe()
        alone = "--pid" in isolated()
        worker = (sys.executable, "-m", "grading.worker", str(writing), str(int(alone)))
        process = subprocess.Popen(
            [*isolated(), *worker],
            cwd=home,
            env=_environment(home, seed),
            pass_fds=[writing],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(writing)
        try:
            with os.fdopen(reading, "rb") as lines:
                with contextlib.suppress(BrokenPipeError):
                    assert process.stdin
                    process.stdin.write(task)
                    process.stdin.close()
                yield from _lines(lines, process.pid, memory)
            _wait(process)
        finally:
            _end(process)


def _environment(home: str, seed: str) -> dict[str, str]:
    return {k: os.environ[k] for k in KEPT if k in os.environ} | {
        "HOME": home,
        "IPYTHONDIR": home,
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": home,
        "WEFT_HOME": home,
        "WEFT_SEED": seed,
        "WEFT_SIMULATOR": "1",
        "WEFT_VERIFIED": "1",
    }


def _lines(lines: Any, session: int, memory: float) -> Iterator[dict[str, Any] | None]:
    """Yield the lines of a report, and None every now and then. Raises Ended."""
    with selectors.DefaultSelector() as selector:
        selector.register(lines, selectors.EVENT_READ)
        rest, looked = b"", time.monotonic()
        while not stopping.is_set():
            if selector.select(LOOK):
                more = os.read(lines.fileno(), 1 << 16)
                if not more:
                    return
                *whole, rest = (rest + more).split(b"\n")
                yield from map(_parsed, whole)
                if len(rest) > LONGEST:
                    raise Ended("tampered")
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                _within(session, memory)
                yield None
    raise Ended("stopped")


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Ended("tampered")
    return found


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that has closed its report. Raises Ended if it failed."""
    try:
        if process.wait(10) != 0:
            raise Ended("crash")
    except subprocess.TimeoutExpired:
        raise Ended("tampered") from None


def _within(session: int, memory: float) -> None:
    """Raises Ended if a session's processes are too many, or need too much memory.

    All that it has started count, those that left the session as well; nothing is
    known without /proc.
    """
    children: dict[int, list[int]] = defaultdict(list)
    size: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            number = int(folder.name)
            parent, of, pages = int(fields[1]), int(fields[3]), int(fields[21])
        except (OSError, IndexError, ValueError):
            continue
        size[number] = pages * os.sysconf("SC_PAGE_SIZE")
        children[session if of == session else parent].append(number)
    counted, waiting = set[int](), [session]
    while waiting:
        counted.add(number := waiting.pop())
        waiting += [child for child in children[number] if child not in counted]
    if sum(size.get(number, 0) for number in counted) > memory:
        raise Ended("memory")
    if len(counted) > MOST:
        raise Ended("processes")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def isolation() -> Iterator[str]:
    """What a submission can reach on this system that it cannot on others."""
    if not isolated():
        yield "Submissions can reach the network on this system."
    if "--pid" not in isolated():
        yield "Submissions see other processes on this system."
    if not landlock.version():
        yield "Submissions can read and write your files on this system."
