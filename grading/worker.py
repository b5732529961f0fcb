"""What runs in the process of one submission: its cells, and a report of the checks.

    python -m grading.worker FD < cells.json

The report goes to the file descriptor FD, a JSON object per line: {"begins": name}
before a check, and {"name", "kind", "passed", "text"} after it. Whatever the cells
print is thrown away.
"""

import json
import os
import sys
from typing import Any

NO_VERDICT = "Its check gave no verdict on a function of this name."


def run(cells: list[dict[str, str]], report: Any) -> None:
    """Run all cells; report on those that check an exercise."""
    from IPython.core.interactiveshell import InteractiveShell

    from weft.checking.verdict import Verdict

    def say(**fields: Any) -> None:
        report.write(json.dumps(fields) + "\n")
        report.flush()

    shell: Any = InteractiveShell.instance(colors="nocolor")
    for cell in cells:
        name = cell["checks"]
        if name:
            say(begins=name)
        done = shell.run_cell(cell["source"], store_history=True)
        if not name:
            continue
        verdict, error = done.result, done.error_before_exec or done.error_in_exec
        named = type(verdict) is Verdict and verdict.name in (name, "<lambda>")
        if named and error is None:
            kind, passed, text = (
                verdict.kind,
                bool(verdict),
                str(verdict.but(onward=None)),
            )
        else:
            kind, passed = "error", False
            text = f"{type(error).__name__}: {error}" if error else NO_VERDICT
        say(name=name, kind=kind, passed=passed, text=text)


def main() -> None:
    report = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    os.set_inheritable(report.fileno(), False)
    cells = json.load(sys.stdin)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    run(cells, report)


if __name__ == "__main__":
    main()
