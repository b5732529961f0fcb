"""Run a notebook's code cells in IPython, without a kernel; write JSON about each.

python run_cells.py NOTEBOOK REPORT COMPILED: the report is a list with one object per
cell that ran: {"cell", "error", "kind", "passed", "text", "done", "cost"}; the last two
say what it did and what that costs, see `budget`. It ends with the first cell in error.
COMPILED is the folder of what the compiler said, see `compiled`.

python run_cells.py --serve does the same for every line of its input, an object with
"notebook", "report", "compiled", and perhaps "strict" and "cells" (numbers; all by
default). Each runs in a fork of its own, which has what takes long to import.
"""

import gc
import json
import mmap
import os
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from budget import cost, told
from IPython.core.interactiveshell import InteractiveShell


def done_so_far() -> Counter[str]:
    """What `weft.effort` has counted, once a cell has imported it."""
    effort = sys.modules.get("weft.effort")
    return effort.done.copy() if effort else Counter()


def compile_once(folder: Path) -> None:
    """As soon as a cell has imported weft, ask the compiler only for what is new."""
    if weft_compiling := sys.modules.get("weft.compiling"):
        from compiled import PATIENCE, keep

        if weft_compiling._worker is None:
            weft_compiling.Worker = keep(folder)
        weft_compiling.START = weft_compiling.PATIENCE = PATIENCE


def run(path: str, folder: Path, only: Collection[int] = ()) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    InteractiveShell.history_length = 0
    shell = InteractiveShell.instance(colors="nocolor")
    if cells_of_c := sys.modules.get("weft.c"):  # imported when there was no shell
        cells_of_c.register(shell)
    report = []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code" or (only and number not in only):
            continue
        compile_once(folder)
        before = done_so_far()
        done = shell.run_cell("".join(cell["source"]), store_history=True)
        effort = done_so_far() - before
        error = done.error_before_exec or done.error_in_exec
        verdict = done.result if hasattr(done.result, "kind") else None
        report.append(
            {
                "cell": number,
                "error": f"{type(error).__name__}: {error}" if error else None,
                "kind": getattr(verdict, "kind", None),
                "passed": None if verdict is None else bool(verdict),
                "text": "" if verdict is None else str(verdict),
                "done": told(effort),
                "cost": cost(effort),
            }
        )
        if error:
            break
    return report


def write(report: list[dict], path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)


def preload() -> None:
    """Import what takes long, and keep the collector of garbage away from it."""
    import matplotlib.pyplot  # noqa: F401
    import torch._dynamo  # noqa: F401

    import weft  # noqa: F401  before Numba
    from weft import bench, compiling, dispatch  # noqa: F401

    for room in dispatch.ROOMS:
        import_module(f"{room}.room")
    for package in ("numba.cuda", "weft.kernels.simulated"):
        import_module(package)
    gc.freeze()
    gc.set_threshold(50_000, 25, 25)


def serve() -> None:
    """Fork for every line of standard input; answer each with the exit status.

    Once a fork had to start the compiler's process, one is kept for those after it.
    """
    preload()
    import compiled

    answers = os.fdopen(os.dup(1), "w")
    compiles = mmap.mmap(-1, 1)  # shared with the forks
    compiler = None
    for line in sys.stdin:
        if compiles[0] and compiler is None:
            compiler = compiler_to_lend()
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            if status and compiler is not None:  # it may still owe an answer
                compiler.kill()
                compiler.wait()
                compiler = None
            print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
            continue
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if compiler is not None:
                pipes = compiler.stdin, compiler.stdout
                compiled.borrow(*(os.dup(pipe.fileno()) for pipe in pipes))
            one(json.loads(line))
            if compiled.has_started():
                compiles[0] = 1
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)


def compiler_to_lend() -> subprocess.Popen[bytes] | None:
    """Start the compiler's process, and hear what it can do; None if it cannot."""
    from weft import compiling
    from weft.compiling.worker import read

    process = compiling._started([sys.executable, str(compiling._WORKER)])
    hello = read(process.stdout)
    return process if hello and hello["ready"] else None


def one(asked: dict) -> None:
    """Run what a line asks for, in this process."""
    os.environ["WEFT_STRICT"] = "1" if asked.get("strict") else "0"
    os.environ["IPYTHONDIR"] = str(Path(asked["report"]).parent)
    os.chdir(Path(asked["notebook"]).parent)
    only = asked.get("cells", ())
    report = run(asked["notebook"], Path(asked["compiled"]), only)
    write(report, asked["report"])
    from weft import compiling

    if compiling._worker is not None:
        compiling._worker.end()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        write(run(sys.argv[1], Path(sys.argv[3])), sys.argv[2])
