"""Run a notebook's code cells in IPython, without a kernel; print JSON about each.

python run_cells.py NOTEBOOK REPORT: the report is a list with one object per cell that
ran: {"cell", "error", "kind", "passed", "text", "seconds"}, the last of processor
time. It ends with the first cell in error.
"""

import json
import os
import sys

from IPython.core.interactiveshell import InteractiveShell


def run(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    InteractiveShell.history_length = 0
    shell = InteractiveShell.instance(colors="nocolor")
    report = []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        start = sum(os.times()[:4])
        done = shell.run_cell("".join(cell["source"]), store_history=True)
        error = done.error_before_exec or done.error_in_exec
        verdict = done.result if hasattr(done.result, "kind") else None
        report.append(
            {
                "cell": number,
                "error": f"{type(error).__name__}: {error}" if error else None,
                "kind": getattr(verdict, "kind", None),
                "passed": None if verdict is None else bool(verdict),
                "text": "" if verdict is None else str(verdict),
                "seconds": round(sum(os.times()[:4]) - start, 2),
            }
        )
        if error:
            break
    return report


if __name__ == "__main__":
    report = run(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(report, file)
