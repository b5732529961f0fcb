"""What a notebook notes of its cells: which run a check judged, how long one took."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.lesson import executed, timed

ROOT = Path(__file__).parents[1]
LAB = "05_first_kernel"
START = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
def run(*cells):
    for cell in cells:
        print("CELL")
        shell.run_cell(cell, store_history=True)
run('''import numpy as np
import weft
from numba import cuda
from weft import check
weft.lab("{LAB}")''')
KERNEL = '''@cuda.jit
def reverse(x, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = x[out.size - 1 - i]
'''
CHECK = '''check(
    reverse,
    spec=lambda x: x[::-1],
    inputs=lambda rng, n: (rng.random(n, np.float32),),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)'''
"""


def said(code: str, tmp_path: Path, **more: str) -> list[str]:
    """What each cell printed, in a lab of its own folder."""
    (tmp_path / "labs").mkdir()
    path = tmp_path / "labs" / f"{LAB}.ipynb"
    path.write_bytes((ROOT / "labs" / path.name).read_bytes())
    env = os.environ | {"PYTHONPATH": str(ROOT), "WEFT_SIMULATOR": "1"}
    env |= {"HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")}
    env |= {"WEFT_PROGRESS": str(tmp_path / "progress.json")} | more
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        capture_output=True,
        text=True,
        check=True,
        cwd=path.parent,
        env={k: v for k, v in env.items() if k not in ("JPY_SESSION_NAME",)},
    )
    return done.stdout.split("CELL\n")[1:]


def test_a_verdict_names_the_run_that_it_judged(tmp_path: Path) -> None:
    code = "run(KERNEL, CHECK, KERNEL.replace('<', '<='), 'reverse(', CHECK)"
    _, _, first, _, _, second = said(code, tmp_path)
    assert "✓ reverse" in first
    assert "judged: cell [2]" in first
    assert "✗ reverse" in second
    assert "judged: cell [4]" in second


def test_a_solution_has_no_such_line(tmp_path: Path) -> None:
    _, _, shown = said("run(KERNEL, CHECK)", tmp_path, WEFT_STRICT="1")
    assert "✓ reverse" in shown
    assert "judged" not in shown


def test_cells_of_exercises_and_of_checks_can_be_timed(tmp_path: Path) -> None:
    wrong = "KERNEL.replace('out.size:', 'out.size + 1:')"
    code = f"run('%%time\\n' + {wrong}, '\\n%%time\\n' + CHECK, CHECK)"
    _, cell, check, plain = said(code, tmp_path)
    for timed_cell in (cell, check):
        assert re.search(r"CPU time: \S+ (µs|ms|s)\nWall time: \S+ ", timed_cell)
    assert "Wall time" not in plain
    for shown in (check, plain):
        assert "✗ reverse — a negative index" in shown
        assert re.search(r"line 7 +out\[i\]", shown)  # as the cell counts, with %%time


@pytest.mark.parametrize(
    ("cell", "run"),
    [
        ("%%time\nx = 1\n", "\nx = 1\n"),
        ("\n%%time\nx = 1", "\n\nx = 1"),
        ("x = 1\n%%time\n", None),
        ("%%timeit\nx = 1", None),
        ("%time x = 1", None),
        ("", None),
    ],
)
def test_only_a_first_line_with_the_magic_is_left_out(
    cell: str, run: str | None
) -> None:
    lines = cell.splitlines(keepends=True)
    assert "".join(timed.without(lines)) == (cell if run is None else run)


def test_the_next_exercise_is_a_link_to_its_text(tmp_path: Path) -> None:
    code = "run(KERNEL, CHECK + '._repr_html_()')"
    *_, shown = said(code, tmp_path)
    link = re.search(r'href="([^"]+)">exercise 4, <code>interleave</code></a>', shown)
    assert link
    lab = json.loads((ROOT / "labs" / f"{LAB}.ipynb").read_text())
    titled = {cell["id"]: "".join(cell["source"]) for cell in lab["cells"]}
    name, _, cell = link[1].partition("#cell-id=")
    assert name == f"{LAB}.ipynb"
    assert titled[cell].startswith("## 4 · Which thread does what")


def test_what_a_cell_runs_is_told_from_what_it_shows() -> None:
    source = "def f(x):\n    return 2 * x\n"
    assert executed.digest(source) == executed.digest(f"\n{source}\n\n")
    assert executed.digest(source) != executed.digest(source.replace("2", "3"))
    page = executed.Execution(46, source).html()
    assert "judged: cell [46]" in page
    assert str(executed.digest(source)) in page
    assert re.search(r'class="weft-edited" hidden>', page)


STARTED = """
import runpy, builtins
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.safe_execfile(STARTUP, shell.user_ns, raise_exceptions=True)
print("CELL")
shell.run_cell("cuda.grid(1)")
print("CELL")
shell.run_cell("1 / 0\\n")
print("CELL", [name for name in shell.user_ns if "explain" in name], "weft" in
      __import__("sys").modules)
"""


@pytest.mark.parametrize("ours", [True, False])
def test_after_a_restart_the_first_missing_name_is_explained(
    tmp_path: Path, ours: bool
) -> None:
    notebook = tmp_path / "mine.ipynb"
    notebook.write_bytes((ROOT / "labs" / f"{LAB}.ipynb").read_bytes())
    if not ours:
        notebook.write_text('{"cells": []}')
    startup = ROOT / "weft" / "lesson" / "startup.py"
    done = subprocess.run(
        [sys.executable, "-c", f"STARTUP = {str(startup)!r}\n{STARTED}"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ
        | {"JPY_SESSION_NAME": str(notebook), "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    _, missing, other, left = done.stdout.split("CELL")
    assert "name 'cuda' is not defined" in missing
    told = "the first cell of this lab has not been run" in missing
    assert told == ours
    assert "ZeroDivisionError" in other
    assert "Run All Above" not in other
    assert left.split() == ["[]", "False"]


def test_the_startup_does_nothing_in_a_plain_python() -> None:
    startup = ROOT / "weft" / "lesson" / "startup.py"
    done = subprocess.run(
        [sys.executable, str(startup)], capture_output=True, text=True, check=True
    )
    assert done.stdout + done.stderr == ""
