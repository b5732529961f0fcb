"""Compile a kernel for GPUs that need not be present.

Numba compiles in a separate process, because it may be running as a simulator here. The
process starts in the background when the first kernel is to be compiled, and ends with
this process. If it hangs or dies, the kernel counts as not compiled.
"""

import atexit
import contextlib
import os
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from weft import effort
from weft.compiling.packing import Unpackable, pack
from weft.compiling.worker import read, write
from weft.device import toolkit

__all__ = ["Outcome", "compile_kernel", "warm_up"]

START, PATIENCE = 60.0, 30.0  # seconds for the process to start, and for one kernel
NO_COMPILER = "no CUDA compiler here (NVRTC and NVVM)"
MOST_LOSSES = 3  # after this many processes have died, none is started any more
_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Outcome:
    """The outcome of compiling a kernel.

    If it was compiled: `capabilities` are the targets, `doubles` the lines (file,
    number) that compute in float64, `local` those that access local memory, of which a
    thread takes `local_bytes`; arrays from outside the kernel take `constant_bytes`. If
    it was refused: `error` and `message` are Numba's, `place` is the line. If neither:
    `skipped` says why there is no compiler here, or `unverified` says why the compiler
    that is here did not compile this kernel.
    """

    capabilities: list[tuple[int, int]] = field(default_factory=list)
    doubles: list[tuple[str, int]] = field(default_factory=list)
    local: list[tuple[str, int]] = field(default_factory=list)
    local_bytes: int = 0
    constant_bytes: int = 0
    error: str = ""
    message: str = ""
    place: tuple[str, int] | None = None
    skipped: str = ""
    unverified: str = ""


class Gone(Exception):
    """The process has ended, or does not answer; the message says which."""


class Missing(Gone):
    """The process cannot compile anything; the message says why."""


class Worker:
    """The compiling process, whose answers come through a queue."""

    def __init__(self, command: list[str]) -> None:
        process = self._process = _started(command)
        assert process.stdin is not None
        assert process.stdout is not None
        self._open(process.stdin, process.stdout)

    def _open(self, jobs: IO[bytes], answers: IO[bytes]) -> None:
        self.owner = os.getpid()
        self._jobs = jobs
        self._answers: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, args=[answers], daemon=True).start()
        self._started = False

    def _listen(self, answers: IO[bytes]) -> None:
        with contextlib.suppress(Exception):
            while (answer := read(answers)) is not None:
                self._answers.put(answer)
        self._answers.put(None)

    def _next(self, patience: float) -> Any:
        try:
            answer = self._answers.get(timeout=patience)
        except queue.Empty:
            raise Gone(f"the compiler said nothing for {patience:.0f} s") from None
        if answer is None:
            raise Gone("the compiler ended unexpectedly")
        return answer

    def ask(self, job: Any) -> Any:
        """Send a job and wait for its answer. Raises `Gone` if none comes."""
        if not self._started:
            hello = self._next(START)
            if not hello["ready"]:
                raise Missing(hello["why"])
            self._started = True
        try:
            write(self._jobs, job)
        except OSError:
            raise Gone("the compiler ended unexpectedly") from None
        return self._next(PATIENCE)

    def end(self) -> None:
        """End the process: close its input, then kill it if it is still running."""
        if self.owner != os.getpid():
            return  # a fork; the process is its parent's
        with contextlib.suppress(OSError):
            self._jobs.close()
        try:
            self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)


class Lent(Worker):
    """A compiling process that another process has started, and will end."""

    def __init__(self, jobs: int, answers: int) -> None:
        self._open(os.fdopen(jobs, "wb"), os.fdopen(answers, "rb"))

    def end(self) -> None:
        """Release the process, which ends when it gets no more jobs."""
        with contextlib.suppress(OSError):
            self._jobs.close()


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    environment = {k: v for k, v in os.environ.items() if "CUDASIM" not in k}
    environment["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C is meant for the notebook
    )


_worker: Worker | None = None
_given_up = ""  # why nothing is compiled any more
_losses = 0
_lost = False  # whether the last process lost had started, and so can compile
_lock = threading.RLock()


def warm_up() -> None:
    """Start the compiling process in the background, if there is a compiler."""
    global _worker, _given_up, _lost
    with _lock:
        if _worker is not None and _worker.owner == os.getpid():
            return
        missing = toolkit.find().missing
        if missing:
            _given_up, _lost = NO_COMPILER, False
        if _given_up:
            return
        try:
            _worker = Worker([sys.executable, str(_WORKER)])
        except OSError as error:
            _given_up = f"the compiler could not be started: {error}"


def adopt(jobs: int, answers: int) -> None:
    """Use an existing compiling process, reached through two file descriptors."""
    global _worker
    _worker = Lent(jobs, answers)


def compile_kernel(kernel: Any, args: tuple[Any, ...]) -> Outcome:
    """Compile `kernel` for arguments like `args`, if that is possible here."""
    global _worker, _given_up, _losses, _lost
    try:
        job = pack(kernel, args)
    except Unpackable as error:
        missing = bool(toolkit.find().missing)
        return (
            Outcome(skipped=NO_COMPILER) if missing else Outcome(unverified=str(error))
        )
    with _lock:
        warm_up()
        if _worker is None:
            return without(_given_up)
        try:
            effort.done["compilations"] += 1
            return Outcome(**_worker.ask(job))
        except Gone as gone:
            _worker.end()
            _worker = None
            _losses += 1
            _lost = not isinstance(gone, Missing)
            if _losses >= MOST_LOSSES:
                _given_up = str(gone)
            return without(str(gone))


def without(reason: str) -> Outcome:
    """Return the outcome for a kernel that was not compiled, with the `reason`.

    The reason is in `unverified` if the last compiling process that was lost had
    started, which shows that there is a compiler. Otherwise it is in `skipped`.
    """
    return Outcome(unverified=reason) if _lost else Outcome(skipped=reason)


@atexit.register
def _end() -> None:
    if _worker is not None:
        _worker.end()
