"""A check whose cell never ran is explained, in a real IPython."""

import subprocess
import sys

CODE = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
from weft.lesson import missing
missing.explain(["vector_add"])
for cell in ("def vector_add(a:", "check(vector_add)", "other_name"):
    print("CELL")
    shell.run_cell("check = print\\n" + cell)
"""


def test_a_name_error_says_which_cell_to_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    _, syntax, missing, other = done.stdout.split("CELL")
    assert "SyntaxError" in syntax
    assert "NameError: vector_add does not exist yet. Run the cell" in missing
    assert "Traceback" not in missing
    assert "name 'other_name' is not defined" in other
