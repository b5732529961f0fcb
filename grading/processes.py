"""The process of one submission: how it is started, watched and stopped."""

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
LONGEST = 1 << 20  # bytes of a line of the report
MOST = 256  # processes of a submission
KEPT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV")
TRY = "from grading.namespaces import *; enter(Apart({!r}))"

stopping = threading.Event()  # set: every submission's process is to be stopped


class Ended(Exception):
    """A process was stopped, or broke off; the argument says how, in a word."""


@functools.cache
def isolated() -> Apart:
    """What this system can keep a submission from."""
    for apart in (Apart.ALL, Apart.NETWORK):
        if sys.platform == "linux" and _works(apart):
            return apart
    return Apart.NOTHING


def _works(apart: Apart) -> bool:
    """Whether a process can enter these namespaces here."""
    command = [sys.executable, "-c", TRY.format(apart.value)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class Running(Protocol):
    """The processes of a submission.

    sessions: the numbers of those that lead the others.
    """

    sessions: list[int]

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; return its exit status, None if it has not ended."""

    def end(self) -> None:
        """Stop it, and all that it has started."""


Start = Callable[[str, dict[str, str], int, int], Running]


class Fresh:
    """A submission's process that begins with an empty Python."""

    def __init__(
        self, home: str, environment: dict[str, str], task: int, report: int
    ) -> None:
        """home: its folder. task, report: what it reads and writes, as descriptors."""
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
    """Run the worker on a task; yield what it reports, and None while it says nothing.

    memory: in bytes, for all its processes. Raises Ended when the process breaks off,
    needs too much or says what is no report.
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
    """Write all of a task to a process, which may have ended by then."""
    with contextlib.suppress(BrokenPipeError):
        file.write(task)
        file.flush()
    with contextlib.suppress(BrokenPipeError):
        file.close()


def environment(home: str, seed: str) -> dict[str, str]:
    """The variables of a submission's process."""
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
    """Raises Ended if the processes of sessions are too many, or need too much memory.

    All that they have started count, those that left their session as well, but not the
    process that leads one where it only waits; nothing is known without /proc.
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
    """What a submission can reach on this system that it cannot on others."""
    if not isolated():
        yield "Submissions can reach the network on this system."
    if isolated() is not Apart.ALL:
        yield "Submissions see other processes on this system."
    if not landlock.version():
        yield "Submissions can read and write your files on this system."
