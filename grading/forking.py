"""The process that forks: it has imported what a lab needs, and nothing else.

    python -m grading.forking FD submissions < lab, and modules that it imports
    python -m grading.forking FD compilers

On FD, a socket, the process says "ready", or why it must not fork. An order is a JSON
object, sent with the files of the new process; the replies are the new process's
number, and later how it ended. "stop" ends that process; closing the socket ends this
one as well. Only the new process reads anything of a submission.
"""

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grading import namespaces, worker
from grading.confining import confine
from grading.namespaces import Apart

READY = b"ready"
STOP = b"stop"
LONGEST = 1 << 16  # bytes of the longest order
FILES = 4  # descriptors, at most, for a new process
SOURCE = Path(__file__).parents[1] / "weft" / "compiling" / "worker.py"

Run = Callable[..., None]  # takes file descriptors
NEEDED = ["IPython.core.interactiveshell", "grading.answers", "grading.audit"]
NEEDED += ["grading.canary", "grading.submitted"]
# imported with all their modules
WHOLE = ["weft.checking", "weft.functions", "weft.kernels"]


def submissions() -> Run:
    """Import what a submission needs; return the function that runs one."""
    for name in NEEDED:
        importlib.import_module(name)
    rooms = [f"{room}.room" for room in importlib.import_module("weft.dispatch").ROOMS]
    lab, *others = sys.stdin.read().split()
    for package in (*WHOLE, f"weft.chapters.{lab}"):
        path = importlib.import_module(package).__path__
        found = [each.name for each in pkgutil.iter_modules(path)]
        others += [f"{package}.{name}" for name in found if name != "lab"]
    for name in (*rooms, *others):
        with contextlib.suppress(Exception):  # the submission's process reports it
            importlib.import_module(name)
    return worker.run


def compilers() -> Run:
    """Prepare the compiler; return the function that compiles for a submission."""
    found = importlib.util.spec_from_file_location("compiler", SOURCE)
    assert found
    assert found.loader
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    compiler: Any = module.Compiler()

    def run(jobs: int, answers: int) -> None:
        os.dup2(jobs, 0)
        os.dup2(answers, 1)
        sys.stdin = os.fdopen(0, closefd=False)
        module.Compiler = lambda: compiler
        module.main()

    return run


def unsafe() -> str:
    """Return why this process must not fork; "" if it may."""
    if len(os.listdir("/proc/self/task")) > 1:
        return "it has threads"
    if "libcuda.so" in Path("/proc/self/maps").read_text():
        return "it has loaded the driver of a GPU"
    return ""


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    try:
        run = {"submissions": submissions, "compilers": compilers}[sys.argv[2]]()
        why = unsafe()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    control.send(why.encode() or READY)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)  # the new processes do not live long
    while not why:
        order, files, _, _ = socket.recv_fds(control, LONGEST, FILES)
        if order == STOP:  # the process has ended already
            continue
        if not order:
            return
        number = os.fork()
        if number == 0:
            control.close()
            _begin(run, json.loads(order), files)
        for file in files:
            os.close(file)
        control.send(str(number).encode())
        if not _watch(control, number, Apart(json.loads(order)["apart"])):
            return


def _begin(run: Run, order: dict[str, Any], files: list[int]) -> None:
    """Become the new process: separate, confined, then running what it is for."""
    status = 1
    try:
        os.setsid()
        os.environ.clear()
        os.environ.update(order["environment"])
        os.chdir(order["home"])
        tempfile.tempdir = None  # as it depends on the environment
        apart = Apart(order["apart"])
        namespaces.enter(apart)
        confine(Path(order["home"]), apart is Apart.ALL)
        run(*files)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _watch(control: socket.socket, number: int, apart: Apart) -> bool:
    """Wait until a process ends, or end it; return False if no orders will follow."""
    heard, file = b"", os.pidfd_open(number)
    try:
        ready, _, _ = select.select([control.fileno(), file], [], [])
        asked = control.fileno() in ready
        if asked:
            heard = control.recv(LONGEST)
            namespaces.end(number, apart)
            if not select.select([file], [], [], namespaces.SECONDS)[0]:
                os.killpg(number, signal.SIGKILL)
    finally:
        os.close(file)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    with contextlib.suppress(OSError):
        control.send(str(code).encode())
    return not asked or bool(heard)


if __name__ == "__main__":
    main()
