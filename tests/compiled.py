"""Keep what the compiler said of a kernel, so that no test has to ask twice.

The answer follows from the kernel's code, the types of its arguments and the compiler.
A digest of these names the file that holds the answer, in pytest's cache; so a kernel
is compiled again when it, or the compiler, has changed. The compiler's process starts
with the first kernel that is new, and serves all modules of tests.
"""

import contextlib
import hashlib
import marshal
import os
import pickle
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any
from unittest import mock

from weft import compiling
from weft.device import toolkit

PATIENCE = 1800.0  # seconds to wait for the compiler, where a learner waits 30
_Worker = compiling.Worker
_running: compiling.Worker | None = None
_starts = 0  # how often this process has started the compiler's
_begun = dict(os.environ)  # no test's own environment is the compiler's


def keep(folder: Path) -> type:
    """The class to put in the place of `compiling.Worker`; it keeps answers there."""

    class Keeping:
        def __init__(self, command: list[str]) -> None:
            self.owner = os.getpid()
            self._command = command
            self._worker: compiling.Worker | None = None

        def ask(self, job: Any) -> Any:
            file = folder / digest(job)
            with contextlib.suppress(FileNotFoundError):
                return pickle.loads(file.read_bytes())
            if self._worker is None:
                self._worker = running(self._command)
            answer = self._worker.ask(job)
            if not {"skipped", "unverified"} & answer.keys():
                new = file.with_suffix(f".{os.getpid()}")
                new.write_bytes(pickle.dumps(answer))
                new.replace(file)
            return answer

        def end(self) -> None:
            if self._worker is not None:
                self._worker.end()
                forget()

    return Keeping


def running(command: list[str]) -> compiling.Worker:
    """The compiler's process, started if there is none, or only that of a parent."""
    global _running, _starts
    if _running is None or _running.owner != os.getpid():
        _starts += 1
        with mock.patch.dict(os.environ, _begun, clear=True):
            _running = _Worker(command)
    return _running


def forget() -> None:
    """Let the next kernel that is new start another process."""
    global _running
    _running = None


def borrow(jobs: int, answers: int) -> None:
    """Use a process that has said what it can do, instead of one of its own."""
    global _running
    _running = compiling.Lent(jobs, answers)
    _running._started = True


def has_started() -> bool:
    """Whether this process has started the compiler's, not only borrowed it."""
    return _starts > 0


def end() -> None:
    """End the process, if there is one."""
    if _running is not None:
        _running.end()
        forget()


def digest(job: Any) -> str:
    rest = [job[name] for name in ("args", "fastmath", "classes", "signatures")]
    parts = compiler(), *rest, *map(function, job["functions"])
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def function(parcel: Any) -> Any:
    """A function of a job; what `marshal` gives would differ from run to run."""
    return [*(parcel | {"code": code(marshal.loads(parcel["code"]))}).items()]


def code(one: Any) -> Any:
    if not isinstance(one, CodeType):
        return one
    names = sorted(name for name in dir(one) if name.startswith("co_"))
    plain = {name: getattr(one, name) for name in names if name != "co_consts"}
    plain = {name: value for name, value in plain.items() if not callable(value)}
    return [*plain.items(), [code(each) for each in one.co_consts]]


@cache
def compiler() -> Any:
    """What the answers depend on besides the kernel."""
    packages = [version(name) for name in ("numba", "numba-cuda", "llvmlite", "numpy")]
    ours = [(Path(compiling.__file__).with_name("worker.py")).read_bytes()]
    intrinsics = Path(compiling.__file__).parents[1] / "intrinsics"
    ours += [path.read_bytes() for path in sorted(intrinsics.glob("*.py"))]
    names = ("backend.py", "meaning.py", "own_classes.py")
    ours += [intrinsics.with_name(name).read_bytes() for name in names]
    found = [(p, p.stat().st_size) for p in vars(toolkit.find()).values() if is_file(p)]
    return packages, ours, found


def is_file(value: Any) -> bool:
    return isinstance(value, Path) and value.is_file()
