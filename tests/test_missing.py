"""A check whose cell never ran, or failed, is explained, in a real IPython."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

START = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
from weft.lesson import missing
missing.explain(["vector_add"])
"""

CODE = """
for cell in ("def vector_add(a:", "check(vector_add)", "other_name"):
    print("CELL")
    shell.run_cell("check = print\\n" + cell)
"""

STALE = """
GOOD = "def vector_add(a):\\n    return a"
for cell in (GOOD, GOOD + "]", GOOD):
    shell.run_cell(cell)
    print("STALE", missing.is_stale("vector_add"))
"""


def run(code: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if k != "JPY_SESSION_NAME"}
        | {"PYTHONPATH": str(ROOT)},
    )
    return done.stdout


def test_a_name_error_says_which_cell_to_run() -> None:
    _, syntax, missing, other = run(CODE).split("CELL")
    assert "SyntaxError" in syntax or "incomplete input" in syntax  # from 3.13 on
    assert "NameError: vector_add does not exist yet. Run the cell" in missing
    assert "Traceback" not in missing
    assert "name 'other_name' is not defined" in other


STOPPED = """
import os, signal, threading, time
os.environ["WEFT_SIMULATOR"] = "1"
shell.run_cell("import weft, numpy as np\\nfrom numba import cuda")
shell.run_cell("x = np.zeros(30_000, np.float32)")
shell.run_cell('''@cuda.jit
def spin(x):
    for k in range(30_000):
        x[k] = x[k] + k''')
signal.signal(signal.SIGINT, signal.default_int_handler)

def stop():
    while not shell.user_ns["x"][10]:  # until the kernel runs
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop, daemon=True).start()
print("CELL")
shell.run_cell("spin[1000000, 64](x)")
"""


def test_stop_shows_the_learners_line_alone() -> None:
    said = run(STOPPED).split("CELL")[1]
    assert "KeyboardInterrupt: stopped" in said
    assert re.search(r"line [34] of spin: (for k|x\[k\])", said)
    assert "weft/" not in said
    assert len(said.strip().splitlines()) <= 4


def test_a_function_whose_cell_failed_is_stale_until_it_runs() -> None:
    answers = [line for line in run(STALE).splitlines() if line.startswith("STALE")]
    assert answers == ["STALE False", "STALE True", "STALE False"]


CELLS = {
    "setup": "from math import floor",
    "halve": "def halve(n):\n    return n // 2",
    "loop": "for step in range(3):\n    pass\nlocal = [hidden for hidden in 'ab']",
    "c": "%%c swap\nvoid swap(int *a, int *b) {}",
    "here": "halve(4)",
    "below": "%matplotlib inline\nlater = 1",
}

NOTEBOOK = """
missing.explain([], "05_first_kernel")
def go(source, cell_id=None):
    print("CELL")
    shell.run_cell(source, cell_id=cell_id)
"""


def said_in(folder: Path, code: str, cells: dict[str, str] = CELLS) -> list[str]:
    """What IPython prints for each cell that `code` runs, beside a notebook's file."""
    made = [
        {"id": name, "cell_type": "code", "source": text.splitlines(keepends=True)}
        for name, text in cells.items()
    ]
    made.insert(0, {"id": "top", "cell_type": "markdown", "source": ["halve = 1"]})
    file = folder / "05_first_kernel.ipynb"
    file.write_text(json.dumps({"cells": made}), encoding="utf-8")
    return run(NOTEBOOK + code, cwd=folder).split("CELL\n")[1:]


def test_a_name_of_a_cell_above_that_has_not_run_is_known(tmp_path: Path) -> None:
    by_id, by_source, edited = said_in(
        tmp_path, "go('a = 1\\nhalve(4)', 'here'); go('halve(4)'); go('halve(5)')"
    )
    told = (
        "`halve` is defined in a cell above that has not been run since the kernel "
        "started: Run ▸ Run All Above Selected Cell."
    )
    assert told in by_id
    assert "name 'halve' is not defined" in by_id
    assert "2 halve(4)" in by_id
    assert told in by_source
    assert "`halve` is defined in another cell of this lab" in edited


def test_what_a_cell_defines_is_what_is_left_after_it(tmp_path: Path) -> None:
    names = ["floor", "step", "local", "hidden", "swap", "unknown", "n"]
    said = said_in(tmp_path, f"for name in {names}: go(name, 'here')")
    known = [name for name, text in zip(names, said, strict=True) if "above" in text]
    assert known == ["floor", "step", "local"]


def test_a_cell_below_is_not_called_one_above(tmp_path: Path) -> None:
    (said,) = said_in(tmp_path, "go('later', 'here')")
    assert "`later` is defined in another cell of this lab, which has not" in said
    assert "above" not in said


def test_nothing_is_said_of_a_cell_that_has_run(tmp_path: Path) -> None:
    *_, said = said_in(
        tmp_path, f"go({CELLS['halve']!r}, 'halve'); go('del halve'); go('halve(1)')"
    )
    assert "name 'halve' is not defined" in said
    assert "in a" not in said.replace("in <module>", "")


def test_a_cell_that_ended_in_an_error_is_called_that(tmp_path: Path) -> None:
    _, said = said_in(tmp_path, "go('halve = 1 / 0', 'halve'); go('halve(1)', 'here')")
    assert "defined in a cell that ended in an error: fix that cell" in said


def test_a_notebook_that_cannot_be_read_breaks_nothing(tmp_path: Path) -> None:
    code = "from pathlib import Path\nPath('05_first_kernel.ipynb').write_text('{')\n"
    (said,) = said_in(tmp_path, code + "go('halve(4)', 'here')")
    assert "name 'halve' is not defined" in said
    assert "defined in" not in said


def test_without_the_notebook_the_names_of_the_checks_are_known(tmp_path: Path) -> None:
    code = NOTEBOOK.replace("05_first_kernel", "01_why_gpus")
    checks, np = run(code + "go('checks'); go('np')", cwd=tmp_path).split("CELL\n")[1:]
    assert "`checks` is defined in another cell of this lab. Has that cell" in checks
    assert "defined in" not in np


def test_a_check_and_a_launch_say_it_too(tmp_path: Path) -> None:
    code = """
import os
os.environ["WEFT_SIMULATOR"] = "1"
go('''import weft, numpy as np
from numba import cuda
@cuda.jit
def use(x, out):
    out[0] = halve(x[0])
def plain(n):
    return halve(n)
x = np.zeros(1, np.float32)''')
go("use[1, 1](x, x)", "here")
go('''weft.check(use, spec=lambda x: x / 2, inputs=lambda rng, n: (x,),
    sizes=[1], launch=lambda n: (1, 1))''', "here")
go("weft.check(plain, spec=lambda n: n, inputs=[(1,)])", "here")
"""
    _, *said = said_in(tmp_path, code)
    for text in said:
        assert "name 'halve' is not defined" in text
        assert "`halve` is defined in a cell above" in " ".join(text.split())
