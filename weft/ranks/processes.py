"""Ranks in real processes: one per rank, joined by torch.distributed."""

import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import cloudpickle

from weft import device
from weft.wording import several

ENDED = 5.0  # seconds for the others to end once one rank has failed

# The id of the process that started the server, and the server, from which ranks are
# forked. The server ends with that process.
_server: tuple[int, "subprocess.Popen[bytes]"] | None = None


class RanksFailed(RuntimeError):
    """A rank raised an error or did not end; the message says which rank and where."""


def launch(
    function: Callable[..., Any],
    given: Sequence[tuple[Any, ...]],
    backend: str = "gloo",
    seconds: float = 120,
) -> list[Any]:
    """Run `function(dist, *given[rank])` in one process per rank; return the results.

    `dist` is the module `torch.distributed`, with an initialised default group.
    backend: "gloo" for the CPU, "nccl" for as many GPUs as there are ranks; rank r then
    has GPU r. The function, what it needs from its notebook, its arguments and its
    result are pickled between processes. seconds: the time after which all processes
    are terminated.

    Raises ValueError for a backend that this machine cannot use, and RanksFailed if a
    rank fails or does not end: then all processes are terminated, and the message says
    which rank was on which line.
    """
    refuse_backend(backend, len(given))
    with tempfile.TemporaryDirectory(prefix="ranks-") as name:
        folder = Path(name)
        (folder / "work").write_bytes(pickled((function, list(given))))
        begin = begun if backend == "nccl" or not start_early() else forked
        workers = [begin(folder, rank, backend) for rank in range(len(given))]
        try:
            late = awaited(workers, seconds)
            found = [result_of(folder, rank) for rank in range(len(given))]
            refuse(folder, workers, found, late, seconds)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        return [value for _, value in found]


def begun(folder: Path, rank: int, backend: str) -> "Worker":
    """Start a rank in a new Python process."""
    name = str(folder)
    return subprocess.Popen(
        [sys.executable, "-m", "weft.ranks.worker", name, str(rank), backend],
        env=environment(),
        stdout=(folder / f"said-{rank}").open("wb"),
        stderr=subprocess.STDOUT,
    )


def start_early() -> bool:
    """Start the process from which `launch` forks ranks, which then begin at once.

    Returns whether there is such a process; with a GPU there is none.
    """
    global _server
    if device.find().usable or not hasattr(os, "fork"):
        return False
    if _server is None or _server[0] != os.getpid() or _server[1].poll() is not None:
        process = subprocess.Popen(
            [sys.executable, "-m", "weft.ranks.worker", "--serve"],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl+C while it imports is not meant for it
        )
        _server = os.getpid(), process
    return True


def forked(folder: Path, rank: int, backend: str) -> "Worker":
    """Fork a rank's process from the server, or begin it here if the server is gone."""
    assert _server is not None
    process = _server[1]
    assert process.stdin is not None
    assert process.stdout is not None
    order = {"folder": str(folder), "rank": rank, "backend": backend}
    around = {"directory": os.getcwd(), "environment": environment(), "path": sys.path}
    process.stdin.write(json.dumps(order | around).encode() + b"\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:  # it has ended, for whatever reason
        return begun(folder, rank, backend)
    return Forked(int(answer), folder / f"ended-{rank}")


@dataclass
class Forked:
    """A process that the server forked, with the methods of `Popen` used here."""

    pid: int
    ended: Path  # contains its exit status
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, or None while the process runs."""
        if self.returncode is None:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                status = self.ended.read_text() if self.ended.exists() else "-1"
                self.returncode = int(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        """Wait until the process has ended."""
        while self.poll() is None:
            time.sleep(0.01)


Worker = subprocess.Popen[bytes] | Forked


class Pickler(cloudpickle.Pickler):
    """cloudpickle's pickler, extended to instances of `ModuleType`'s subclasses."""

    def reducer_override(self, obj: Any) -> Any:
        """Pickle `torch.ops` and similar modules as imports by name."""
        if isinstance(obj, ModuleType) and type(obj) is not ModuleType:
            return import_module, (obj.__name__,)
        return super().reducer_override(obj)  # type: ignore[no-untyped-call]


def pickled(value: Any) -> bytes:
    """Pickle a value, with the code of functions that are defined in a notebook."""
    into = io.BytesIO()
    pickler: Any = Pickler
    pickler(into).dump(value)
    return into.getvalue()


def refuse_backend(backend: str, ranks: int) -> None:
    """Raise ValueError if this machine cannot run `ranks` ranks with a backend."""
    import torch

    if backend not in ("gloo", "nccl"):
        raise ValueError(f"backend={backend!r}: there are 'gloo' and 'nccl'")
    if ranks < 1:
        raise ValueError("given is empty: one tuple of arguments per rank is needed")
    gpus = torch.cuda.device_count()
    if backend == "nccl" and gpus < ranks:
        raise ValueError(
            f"NCCL needs a GPU per rank: {several(ranks, 'rank')}, and here "
            f"{'is' if gpus == 1 else 'are'} {several(gpus, 'GPU')}. With "
            "backend='gloo' the ranks run on the CPU."
        )


def environment() -> dict[str, str]:
    """Return an environment in which a worker finds the same packages as this process.

    Unless OMP_NUM_THREADS is set here, the worker gets one OpenMP thread.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    threads = {"OMP_NUM_THREADS": "1"} if "OMP_NUM_THREADS" not in os.environ else {}
    return {**os.environ, **threads, "PYTHONPATH": paths}


def awaited(workers: Sequence[Worker], seconds: float) -> list[int]:
    """Wait for the workers; return the ranks that had not ended in time.

    Once a rank has failed, the others, which might wait for it for ever, get only
    `ENDED` more seconds.
    """
    until, failed = time.monotonic() + seconds, False
    while True:
        late = [rank for rank, worker in enumerate(workers) if worker.poll() is None]
        if not late or time.monotonic() > until:
            return late
        if not failed and any(worker.returncode for worker in workers):
            failed, until = True, time.monotonic() + ENDED
        time.sleep(0.01)


def result_of(folder: Path, rank: int) -> tuple[str, Any]:
    """Return a rank's result: ("value", value), ("error", text) or ("", None)."""
    path = folder / f"result-{rank}"
    if not path.exists():
        return "", None
    kind, value = pickle.loads(path.read_bytes())
    return str(kind), value


def refuse(
    folder: Path,
    workers: Sequence[Worker],
    found: Sequence[tuple[str, Any]],
    late: Sequence[int],
    seconds: float,
) -> None:
    """Raise RanksFailed unless every rank has returned a value."""
    for rank, (kind, value) in enumerate(found):
        if kind == "error":
            raise RanksFailed(f"Rank {rank} has raised an error.\n{value}")
    if late:
        where = [
            f"Rank {rank} {place_of(folder, workers[rank], rank)}." for rank in late
        ]
        raise RanksFailed(
            f"{several(len(late), 'rank')} did not end within {seconds:g} seconds. "
            + " ".join(where)
            + " A rank may wait for another one for ever: check the function first, "
            "which finds this without a clock."
        )
    for rank, (kind, _) in enumerate(found):
        if not kind:
            code = workers[rank].returncode
            said = (folder / f"said-{rank}").read_text(errors="replace").strip()
            message = f"Rank {rank} ended with exit status {code} and no result."
            raise RanksFailed(f"{message}\n{said[-2000:]}")


def place_of(folder: Path, worker: Worker, rank: int) -> str:
    """Describe where a rank is, from the stack that its worker writes on SIGUSR1."""
    if not hasattr(signal, "SIGUSR1") or worker.poll() is not None:
        return "was still running"
    worker.send_signal(signal.SIGUSR1)
    path = folder / f"stack-{rank}"
    until = time.monotonic() + ENDED
    while time.monotonic() < until and not (path.exists() and path.stat().st_size):
        time.sleep(0.02)
    time.sleep(0.1)
    text = path.read_text(errors="replace") if path.exists() else ""
    for file, line, name in re.findall(r'File "(.*)", line (\d+) in (\w+)', text):
        if is_own(file):
            return f"was in `{name}`, line {line}"
    return "was still running"


def is_own(file: str) -> bool:
    """Return whether a file is outside Python, its packages and `weft.ranks`."""
    library = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    if "site-packages" in file or "dist-packages" in file:
        return False
    return not file.startswith(("<frozen", str(Path(__file__).parent), *library))
