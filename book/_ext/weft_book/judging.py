"""Cells of a lab, run in the simulator while the book is built.

    python judging.py < runs

does it: each line of its input is a run, a JSON object with "folder", "home", "cells"
and "answer", the file for the answer. A run has a process of its own, a fork of this
one, which has imported what takes long; where processes cannot fork, this one takes
the first run and ends. It answers each line with the exit status.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FORKS = hasattr(os, "fork")
LONGEST = 600  # seconds, for a run that hangs; checks end their own endless loops

_started: dict[tuple[int, Path], subprocess.Popen[str]] = {}


class CellError(Exception):
    """A cell of a run fails; the message says how."""


def shown(cells: Sequence[str], root: Path, folder: Path) -> list[str]:
    """Run cells in a folder; return the HTML that each shows as its result, or "".

    root: where `weft` is. Raises CellError.
    """
    with tempfile.TemporaryDirectory() as home:
        answer = Path(home, "answer.json")
        run = {"folder": folder, "home": home, "cells": cells, "answer": answer}
        process = started(root)
        try:
            print(json.dumps(run, default=str), file=process.stdin, flush=True)
            status = process.stdout.readline().strip() if process.stdout else ""
        except BrokenPipeError:
            status = str(process.wait())
        if not answer.is_file():
            raise CellError(f"the process ends with status {status or 'unknown'}")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if found["error"]:
        raise CellError(found["error"])
    return list(found["shown"])


def started(root: Path) -> "subprocess.Popen[str]":
    """Return this process's own Python that takes runs. It ends when this one does."""
    process = _started.get((os.getpid(), root))
    if process is not None and FORKS and process.poll() is None:
        return process
    env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    paths = filter(None, [str(root), env.get("PYTHONPATH")])
    env |= {"WEFT_SIMULATOR": "1", "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        text=True,
    )
    _started[os.getpid(), root] = process
    return process


def serve() -> None:
    """Take the runs, one after the other."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.path.pop(0)  # the folder of this file
    import weft  # noqa: F401  before Numba
    from weft import dispatch

    rooms = [f"{room}.room" for room in dispatch.ROOMS]
    for name in ("IPython.core.interactiveshell", "matplotlib.pyplot", *rooms):
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        run = json.loads(line)
        if not FORKS:
            answer(run)
            print(0, file=answers, flush=True)
            return
        if child := os.fork():
            print(ended(child), file=answers, flush=True)
            continue
        try:
            answer(run)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)


def ended(child: int) -> int:
    """Wait for a process; return its status."""
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def answer(run: dict[str, Any]) -> None:
    """Run the cells, and write what they show."""
    os.environ["WEFT_HOME"] = os.environ["IPYTHONDIR"] = run["home"]
    os.chdir(run["folder"])
    sys.path.insert(0, "")  # as in a notebook
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.history_length = 0
    shell = InteractiveShell.instance(colors="nocolor")
    if (c := sys.modules.get("weft.c")) is not None:  # it was imported without a shell
        c.register(shell)
    found: dict[str, Any] = {"shown": [], "error": ""}
    for cell in run["cells"]:
        done = shell.run_cell(cell, store_history=True)
        if error := done.error_before_exec or done.error_in_exec:
            found["error"] = f"a cell fails with {type(error).__name__}: {error}"
            break
        data, _ = shell.display_formatter.format(done.result)
        found["shown"].append(data.get("text/html", ""))
    Path(run["answer"]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    serve()
