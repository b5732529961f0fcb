"""Start, watch and stop the process of one submission."""

import contextlib
import functools
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

from grading import landlock, namespaces
from grading.namespaces import Apart

ROOT = Path(__file__).parents[1]
LOOK = 0.2  # seconds between two looks at the processes
LONGEST = 1 << 20  # bytes of the longest line of a report
MOST = 256  # processes of a submission
KEPT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV")
TRY = "from grading.namespaces import *; enter(Apart({!r}))"

stopping = threading.Event()  # when set, every submission's process is stopped


class Ended(Exception):
    """A process was stopped or broke off; the argument says how, in a word."""


@functools.cache
def isolated() -> Apart:
    """Return what this system can keep a submission's process from."""
    for apart in (Apart.ALL, Apart.NETWORK):
        if sys.platform == "linux" and _works(apart):
            return apart
    return Apart.NOTHING


def _works(apart: Apart) -> bool:
    """Return whether a process can enter these namespaces on this system."""
    command = [sys.executable, "-c", TRY.format(apart.value)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class Running(Protocol):
    """The processes of a submission.

    sessions: the numbers of the processes that lead the others' sessions.
    """

    sessions: list[int]

    def wait(self, seconds: float) -> int | None:
        """Wait for the end; return the exit status, or None if it has not ended."""

    def end(self) -> None:
        """Stop the submission's processes, and all that they have started."""


Start = Callable[[str, dict[str, str], int, int], Running]


class Fresh:
    """A submission's process that begins with a newly started Python."""

    def __init__(
        self, home: str, environment: dict[str, str], task: int, report: int
    ) -> None:
        """Start the process.

        home: its folder. task, report: the descriptors that it reads and writes.
        """
        apart = isolated()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grading.worker", str(report), apart],
            cwd=home,
            env=environment,
            pass_fds=[report],
            stdin=task,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._apart = apart
        self.sessions = [self._process.pid]

    def wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        namespaces.end(self._process.pid, self._apart)
        if self.wait(namespaces.SECONDS) is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def report(
    task: bytes, seed: str, memory: float, start: Start = Fresh
) -> Generator[dict[str, Any] | None, None, None]:
    """Run the worker on a task; yield its report's lines, and None during silence.

    task: a pickled `worker.Task`. seed: the value of WEFT_SEED. memory: in bytes, for
    all its processes. Raises Ended if the process breaks off, needs too much, or writes
    what is no report.
    """
    with tempfile.TemporaryDirectory(
        prefix="weft-grade-", ignore_cleanup_errors=True
    ) as home:
        tasks, giving = os.pipe()
        reading, reports = os.pipe()
        with os.fdopen(giving, "wb") as given, os.fdopen(reading, "rb") as lines:
            try:
                running = start(home, environment(home, seed), tasks, reports)
            finally:
                os.close(tasks)
                os.close(reports)
            try:
                _give(given, task)
                yield from _lines(lines, running.sessions, memory)
                _wait(running)
            finally:
                running.end()


def _give(file: IO[bytes], task: bytes) -> None:
    """Write a whole task to a process, which may have ended by then."""
    with contextlib.suppress(BrokenPipeError):
        file.write(task)
        file.flush()
    with contextlib.suppress(BrokenPipeError):
        file.close()


def environment(home: str, seed: str) -> dict[str, str]:
    """Return the environment variables of a submission's process."""
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


def _lines(
    lines: Any, sessions: list[int], memory: float
) -> Iterator[dict[str, Any] | None]:
    """Yield the lines of a report, and None every 0.2 s without one. Raises Ended."""
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
                _within(sessions, memory)
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


def _wait(running: Running) -> None:
    """Wait for a process that has closed its report. Raises Ended if it failed."""
    code = running.wait(10)
    if code is None:
        raise Ended("tampered")
    if code != 0:
        raise Ended("crash")


def _within(sessions: list[int], memory: float) -> None:
    """Check the number and the memory of the sessions' processes. Raises Ended.

    All processes that they have started count, even those that have left their session,
    but not the leader of a session if it only waits. Without /proc, nothing is checked.
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
        children[of if of in sessions else parent].append(number)
    counted, waiting = set[int](), list(sessions)
    while waiting:
        counted.add(number := waiting.pop())
        waiting += [child for child in children[number] if child not in counted]
    if isolated() is Apart.ALL:
        counted -= set(sessions)
    if sum(size.get(number, 0) for number in counted) > memory:
        raise Ended("memory")
    if len(counted) > MOST:
        raise Ended("processes")


def isolation() -> Iterator[str]:
    """Yield a sentence on each thing that a submission can reach on this system."""
    if not isolated():
        yield "Submissions can reach the network on this system."
    if isolated() is not Apart.ALL:
        yield "Submissions see other processes on this system."
    if not landlock.version():
        yield "Submissions can read and write your files on this system."
