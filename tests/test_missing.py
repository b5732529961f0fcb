"""A check whose cell never ran, or failed, is explained, in a real IPython."""

import re
import subprocess
import sys

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


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_name_error_says_which_cell_to_run() -> None:
    _, syntax, missing, other = run(CODE).split("CELL")
    assert "SyntaxError" in syntax
    assert "NameError: vector_add does not exist yet. Run the cell" in missing
    assert "Traceback" not in missing
    assert "name 'other_name' is not defined" in other


STOPPED = """
import os, signal, threading
os.environ["WEFT_SIMULATOR"] = "1"
shell.run_cell("import weft, numpy as np\\nfrom numba import cuda")
shell.run_cell('''@cuda.jit
def spin(x):
    for k in range(64):
        x[k] = x[k] + k''')
threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
print("CELL")
shell.run_cell("spin[1000000, 64](np.zeros(64, np.float32))")
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
