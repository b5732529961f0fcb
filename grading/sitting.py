"""Runs one submission in a process of its own, and collects what its checks say."""

import contextlib
import dataclasses
import functools
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.answers import Submission
from grading.paper import Cell, Paper

ROOT = Path(__file__).parents[1]
LOOK = 0.2  # seconds between two looks at the memory
KEPT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV")
STOPPED = {
    "hang": "It did not come to an end within {seconds:g} s and was stopped.",
    "crash": "The process ended while it was checked: it crashed, or ended itself.",
    "memory": "It needed more than {memory:g} GB of memory and was stopped.",
}


@dataclass(frozen=True)
class Limits:
    """seconds: for one check; memory: in GB, for a submission; seed: any text."""

    seconds: float = 120
    memory: float = 4
    seed: str = ""


@dataclass(frozen=True)
class Mark:
    """What one exercise got. kind: the verdict's, or why there is none."""

    exercise: str
    kind: str
    passed: bool = False
    text: str = ""


@dataclass
class Result:
    """The marks of one submission, and how long it took.

    said: why it was not graded at all, "" if it was.
    """

    student: str
    marks: list[Mark] = field(default_factory=list)
    seconds: float = 0
    said: str = ""

    @property
    def points(self) -> int:
        """How many exercises passed."""
        return sum(mark.passed for mark in self.marks)


def sit(paper: Paper, student: str, cells: list[str], limits: Limits) -> Result:
    """Grade one submission, given by its code cells.

    An exercise that hangs or takes the process down gets no mark, and the rest is run
    again without it.
    """
    begun, submission = time.monotonic(), Submission(cells)
    marks: dict[str, Mark] = {}
    lost: dict[str, Mark] = {}
    while True:
        script = paper.script(submission, without=lost)
        stopped, ended = "", ""
        for line in _lines(script.cells, limits):
            if "begins" in line:
                stopped = line["begins"]
            elif "ended" in line:
                ended = line["ended"]
            else:
                marks[line["name"]] = Mark(
                    line["name"], line["kind"], line["passed"], line["text"]
                )
                stopped = ""
        if not ended or not stopped or stopped in lost:
            break
        text = STOPPED[ended].format(**dataclasses.asdict(limits))
        lost[stopped] = Mark(stopped, ended, text=text)
    for name, why in script.missing.items():
        marks[name] = Mark(name, why.kind, text=why.refused)
    for name, note in script.notes.items():
        for kept in (marks, lost):
            if name in kept and not kept[name].passed:
                text = f"{kept[name].text}\n\n{note}"
                kept[name] = dataclasses.replace(kept[name], text=text)
    nothing = "Its check did not run."
    found = [
        lost.get(name) or marks.get(name) or Mark(name, "crash", text=nothing)
        for name in paper.exercises
    ]
    return Result(student, found, time.monotonic() - begun)


@functools.cache
def without_network() -> tuple[str, ...]:
    """What to put before a command so that it has no network; () where nothing can."""
    tool = shutil.which("unshare")
    command = (tool or "", "--user", "--map-current-user", "--net")
    if tool and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        return command
    return ()


def _lines(cells: list[Cell], limits: Limits) -> Iterator[dict[str, Any]]:
    """Run cells; yield what the process reports, and last how it broke off, if so."""
    with tempfile.TemporaryDirectory(prefix="weft-grade-") as home:
        reading, writing = os.pipe()
        environment = {k: os.environ[k] for k in KEPT if k in os.environ} | {
            "HOME": home,
            "IPYTHONDIR": home,
            "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": home,
            "WEFT_HOME": home,
            "WEFT_SEED": limits.seed,
            "WEFT_SIMULATOR": "1",
        }
        worker = (sys.executable, "-m", "grading.worker")
        process = subprocess.Popen(
            [*without_network(), *worker, str(writing)],
            cwd=home,
            env=environment,
            pass_fds=[writing],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(writing)
        try:
            assert process.stdin
            process.stdin.write(
                json.dumps([vars(cell) for cell in cells if cell.source]).encode()
            )
            process.stdin.close()
            with os.fdopen(reading, "rb") as report:
                yield from _until_it_ends(report, process.pid, limits)
            if process.wait() != 0:
                yield {"ended": "crash"}
        except TimeoutError:
            yield {"ended": "hang"}
        except MemoryError:
            yield {"ended": "memory"}
        except BrokenPipeError:
            yield {"ended": "crash"}
        finally:
            _end(process)


def _until_it_ends(report: Any, pid: int, limits: Limits) -> Iterator[dict[str, Any]]:
    """Yield the lines of a report.

    Raises TimeoutError when none comes for too long, MemoryError for too much memory.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(report, selectors.EVENT_READ)
        rest, heard = b"", time.monotonic()
        while time.monotonic() - heard < limits.seconds:
            if selector.select(min(LOOK, limits.seconds)):
                more = os.read(report.fileno(), 1 << 16)
                if not more:
                    return
                *lines, rest = (rest + more).split(b"\n")
                yield from map(json.loads, lines)
                heard = time.monotonic()
            if _memory(pid) > limits.memory * 2**30:
                raise MemoryError
    raise TimeoutError


def _memory(session: int) -> int:
    """The bytes that a session's processes have in memory; 0 without /proc."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            continue
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
