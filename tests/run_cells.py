"""Run a notebook's code cells in IPython, without a kernel; print JSON about each.

python run_cells.py NOTEBOOK REPORT COMPILED: the report is a list with one object per
cell that ran: {"cell", "error", "kind", "passed", "text", "done", "cost"}; the last two
say what it did and what that costs, see `budget`. It ends with the first cell in error.
COMPILED is the folder of what the compiler said, see `compiled`.
"""

import json
import sys
from collections import Counter
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


def run(path: str, folder: Path) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    InteractiveShell.history_length = 0
    shell = InteractiveShell.instance(colors="nocolor")
    report = []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
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


if __name__ == "__main__":
    report = run(sys.argv[1], Path(sys.argv[3]))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(report, file)
