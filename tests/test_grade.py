"""A class is graded right: by `python -m grading`, and by nbgrader with its help."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from grading import course, reports
from grading.__main__ import main
from grading.answers import Known, Submission
from grading.paper import Paper, cells_of
from grading.sitting import Limits, sit
from weft.errors import LearnerError

ROOT = Path(__file__).parents[1]
LAB = "00_start_here"
EXERCISES = ("double", "fix_me", "add_index")
KERNELS = ROOT / "chapters" / LAB / "answers"
HANGS = """@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    while i >= 0:
        i = i + 1 - 1
"""
# What a cell of its own does to the rest of the notebook: nothing.
TRICKS = {
    "check redefined": "check = lambda *a, **k: True",
    "weft patched": "import weft\nweft.check = lambda *a, **k: True",
    "verdict patched": (
        "from weft.checking.verdict import Verdict\nVerdict.__bool__ = lambda v: True"
    ),
    "environment": "import os\nos.environ['WEFT_STRICT'] = '0'",
    "progress": "from weft import lesson\nlesson.record('00_start_here', 'double')",
    "printed": "print('✓ double passed')\nprint('✓ add_index passed')",
    "early exit": "import os\nos._exit(0)",
    "exit": "raise SystemExit",
    "shell": "!touch cheated",
}
# What is refused inside an answer.
REFUSED = {
    "import os": "import os\n    os._exit(0)",
    "from weft import check": "from weft import check",
    "weft.check = print": "weft.check = print",
    "np.allclose = print": "np.allclose = print",
    "open('x')": "open('x', 'w')",
    "global check": "global check\n    check = print",
    "__import__('os')": "__import__('os')",
    "().__class__": "().__class__.__base__",
}


def starters() -> list[str]:
    return cells_of(ROOT / "labs" / f"{LAB}.ipynb")


def notebook(answers: dict[str, str], *more: str) -> list[str]:
    """Return the lab's cells with answers in place of starters, and more cells."""
    cells = [
        next((a for name, a in answers.items() if f"def {name}(" in cell), cell)
        for cell in starters()
    ]
    return [cells[0], *more, *cells[1:]]


def as_notebook(cells: list[str]) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))


def save(path: Path, cells: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(as_notebook(cells), path)
    return path


def answer(name: str, file: str) -> dict[str, str]:
    return {name: (KERNELS / name / f"{file}.py").read_text(encoding="utf-8")}


def right(*names: str) -> dict[str, str]:
    chosen = {"double": "product", "fix_me": "nested", "add_index": "by_hand"}
    made: dict[str, str] = {}
    for name in names:
        made |= answer(name, f"right_{chosen[name]}")
    return made


def a_class() -> Iterator[tuple[str, list[str], set[str]]]:
    """Sixty submissions: a name, the cells, and the exercises that have to pass."""
    every = set(EXERCISES)
    for k in range(11):
        yield f"blank{k}", notebook({}), set()
        yield f"solved{k}", notebook(right(*EXERCISES)), every
    for name in EXERCISES:
        yield f"one_{name}", notebook(right(name)), {name}
        others = [other for other in EXERCISES if other != name]
        yield f"two_{name}", notebook(right(*others)), set(others)
    for path in sorted(KERNELS.glob("*/wrong_*.py")):
        name = path.parent.name
        given = right(*EXERCISES) | answer(name, path.stem)
        yield f"{path.stem}_{name}", notebook(given), every - {name}
    for name, trick in TRICKS.items():
        yield f"trick {name}", notebook({}, trick), set()
    for k, trick in enumerate(list(TRICKS.values())[:5]):
        yield f"both{k}", notebook(right("double"), trick), {"double"}
    for k in range(2):
        hangs = right("fix_me", "add_index") | {"double": HANGS}
        yield f"hangs{k}", notebook(hangs), {"fix_me", "add_index"}
    broken = right("fix_me", "add_index") | {
        "double": "@cuda.jit\ndef double(x, out:\n"
    }
    yield "syntax", notebook(broken), {"fix_me", "add_index"}
    stops = {
        "double": HANGS.replace("while i >= 0:", "if True:\n        raise SystemExit")
    }
    yield (
        "stops",
        notebook(right("fix_me", "add_index") | stops),
        {
            "fix_me",
            "add_index",
        },
    )
    moved = "def twice(v):\n    return v + v\n"
    helper = (
        "@cuda.jit\ndef double(x, out):\n    i = cuda.grid(1)\n    if i < x.size:\n"
    )
    uses = {"double": helper + "        out[i] = twice(x[i])\n"}
    device = "@cuda.jit(device=True)\n" + moved
    yield "helper", notebook(right("fix_me") | uses, device), {"double", "fix_me"}
    yield "empty", [], set()


ALWAYS = ("wrong_unchanged_fix_me", "blank0", "solved0", "one_double", "syntax")


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.long)])
def test_a_class_of_sixty_gets_every_mark_right(tmp_path, every):
    """In the fast tier, every twelfth of them."""
    wanted = {}
    for number, (student, cells, passed) in enumerate(a_class()):
        if number % every and student not in ALWAYS:
            continue
        save(tmp_path / "in" / f"{student}.ipynb", cells)
        wanted[student] = passed
    (tmp_path / "in" / "damaged.ipynb").write_text("{", encoding="utf-8")
    wanted["damaged"] = set()
    assert len(wanted) >= 60 / every
    paths = [str(tmp_path / "in" / f"{student}.ipynb") for student in wanted]
    out, pages = tmp_path / "marks.csv", tmp_path / "feedback"
    options = ["--jobs", "2", "--csv", str(out), "--feedback", str(pages)]
    assert main([LAB, *paths, *options]) == 1  # one is not a notebook

    with out.open(encoding="utf-8-sig") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    found = {
        student: {name for name in EXERCISES if row[name] == "pass"}
        for student, row in rows.items()
    }
    assert found == wanted
    assert {row["points"] for row in rows.values()} >= {"0", "1", "3"}
    assert rows["wrong_unchanged_fix_me"]["fix_me"] == "out-of-bounds"
    assert rows["blank0"]["double"] == "begin"
    page = (pages / "wrong_unchanged_fix_me.html").read_text(encoding="utf-8")
    assert "Reads x[50], but x has 50 elements" in page
    assert rows["syntax"]["double"] == "syntax"
    assert "Line 2" in (pages / "syntax.html").read_text()


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_an_answer_that_reaches_beyond_itself_is_refused(code):
    body = f"@cuda.jit\ndef double(x, out):\n    {code}\n"
    given = {"check", "weft", "np"}
    known = Known(frozenset(given), {})
    found = Submission([body], known).answer("double", {"double"}, given)
    assert found
    assert found.source == ""
    assert found.refused.startswith("Line ")


def test_what_an_answer_needs_comes_with_it_and_nothing_else():
    cells = [
        "TILE = 4\nprint('hello')",
        "check = print\nunused = 3",
        "def half(v):\n    return v / TILE  # a comment",
        "@cuda.jit\ndef double(x, out):\n    out[0] = half(x[0])\n\ndouble.done = 3",
    ]
    found = Submission(cells).answer("double", {"double"}, {"check"})
    assert found
    assert found.refused == ""
    assert found.source.split("\n\n\n") == [
        "TILE = 4",
        "def half(v):\n    return v / TILE  # a comment",
        "@cuda.jit\ndef double(x, out):\n    out[0] = half(x[0])",
    ]


def test_a_diagnosis_counts_as_part_of_the_answer():
    lab = "10_debugging"
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    cells = cells_of(ROOT / "solutions" / f"{lab}.ipynb")
    values = [
        v.source for n in paper.checks for v in paper._values(n, Submission(cells))
    ]
    assert len(values) == 10
    assert all(value.startswith("diagnosis = ") for value in values)


def damaged(exercise: str, code: str) -> Paper:
    """The lab, where code runs before the check of an exercise whose answer has it."""
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    number = next(n for n, name in paper.checks.items() if name == exercise)
    paper.cells[number] = (
        f"import inspect\nif 'HERE' in inspect.getsource({exercise}.py_func):\n"
        f"    {code}\n{paper.cells[number]}"
    )
    return paper


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import time; time.sleep(60)", "hang"),
        ("import os; os._exit(1)", "crash"),
        ("x = bytearray(2 << 30); import time; time.sleep(60)", "memory"),
    ],
)
def test_an_exercise_that_takes_the_process_down_costs_only_itself(code, kind):
    answers = right(*EXERCISES)
    answers["double"] += "\n    HERE = 1\n"
    limits = Limits(seconds=8, memory=1)
    cells = nbformat.writes(as_notebook(notebook(answers))).encode()
    marks = {
        m.exercise: m for m in sit(damaged("double", code), "ana", cells, limits).marks
    }
    assert marks["double"].kind == kind
    assert marks["fix_me"].passed
    assert marks["add_index"].passed


def test_students_are_named_by_what_differs():
    flat = [Path("in/ana.ipynb"), Path("in/bo.ipynb")]
    assert reports.students(flat) == ["ana", "bo"]
    nested = [Path(f"submitted/{name}/05/lab.ipynb") for name in ("ana", "bo")]
    assert reports.students(nested) == ["ana", "bo"]


def test_bad_input_is_explained(tmp_path, capsys):
    assert main(["no_such_lab", "x.ipynb"]) == 2
    assert main([LAB]) == 2
    assert "Name the submissions" in capsys.readouterr().err
    with pytest.raises(LearnerError, match="is not a notebook"):
        cells_of(tmp_path / "none.ipynb")
    empty = save(tmp_path / "empty.ipynb", ["1"])
    with pytest.raises(LearnerError, match="no exercise and check of double"):
        Paper(LAB, empty)


@pytest.mark.skipif(sys.platform == "win32", reason="nbgrader needs a POSIX system")
def test_nbgrader_gives_the_same_marks(tmp_path, monkeypatch):
    from nbgrader.api import Gradebook

    # It runs the command `alembic`, which is beside this Python.
    beside = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{beside}{os.pathsep}{os.environ['PATH']}")

    # What conftest leaves out here, each of its processes would spend a second on.
    without = tmp_path / "without"
    without.mkdir()
    (without / "rfc3987_syntax.py").write_text("raise ImportError\n")

    def nbgrader(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *arguments],
            cwd=tmp_path,
            env=os.environ
            | {"PYTHONPATH": f"{ROOT}{os.pathsep}{without}"}
            | {"WEFT_HOME": str(tmp_path / "home")}
            | {"JUPYTER_DATA_DIR": str(tmp_path / "jupyter")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr

    assert main([LAB, "--nbgrader", str(tmp_path)]) == 0
    with pytest.raises(LearnerError, match="exists"):
        course.write(Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb"), tmp_path, tmp_path)
    nbgrader("generate_assignment", LAB)
    released = json.loads(
        (tmp_path / "release" / LAB / f"{LAB}.ipynb").read_text(encoding="utf-8")
    )
    trick = TRICKS["check redefined"] + "\n" + TRICKS["environment"]
    wanted = {
        "one": (right("double"), [], 1),
        "all": (right(*EXERCISES), [], 3),
        "cheat": ({}, [trick], 0),
    }
    for student, (answers, more, _) in wanted.items():
        cells = []
        for cell in released["cells"]:
            source = "".join(cell["source"])
            found = next((a for n, a in answers.items() if f"def {n}(" in source), None)
            cells.append(cell | {"source": found or source})
        cells[2:2] = [nbformat.v4.new_code_cell(text) for text in more]
        path = tmp_path / "submitted" / student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(released | {"cells": cells}), encoding="utf-8")
    assert "cannot be converted" not in nbgrader("autograde", LAB)
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        found = {s: book.find_submission(LAB, s).score for s in wanted}
    assert found == {student: points for student, (_, _, points) in wanted.items()}
