"""A process in which wrong answers pass has been tampered with: it earns no marks.

What the inspector refuses is run here all the same, from the instructor's copy, as if
it had found a way past it.
"""

import pytest
import torch  # noqa: F401  is watched if it is loaded
from test_grade import EXERCISES, LAB, ROOT, damaged, notebook, right
from test_poisoned_submissions import bytes_of

from grading import integrity
from grading.canary import unearned
from grading.paper import Paper
from grading.sitting import Limits, sit
from verification.corpus import TYPED, under_magic

LABS = sorted(path.stem for path in (ROOT / "labs").glob("*.ipynb"))

PATCHES = {
    "every kind is a pass": (
        "from weft.checking.kinds import KINDS\n"
        "    KINDS.update(dict.fromkeys(KINDS, KINDS['pass']))"
    ),
    "verdicts are true": (
        "from weft.checking.verdict import Verdict; Verdict.__bool__ = lambda v: True"
    ),
    "no check is made": (
        "from weft.checking import room, verdict\n"
        "    room.settled = lambda judge: verdict.Verdict('double', 'pass')"
    ),
    "all outputs agree": (
        "from weft.kernels import outputs\n"
        "    outputs.agrees = lambda *_: True; outputs.difference = lambda *_: None"
    ),
    "all values agree": (
        "from weft.functions import judging; judging.compare = lambda *_, **__: None"
    ),
}
SILENT = {
    "a method of tensors": "import torch as t; t.Tensor.allclose = lambda *_: True",
    "a built-in": "import builtins; builtins.all = lambda _: True",
    "code": "import weft as w; w.check.__code__ = (lambda *a, **k: 1).__code__",
    "a library's function": "import numpy as np; np.allclose = lambda *_, **__: True",
}
FORGED = """import gc, os
    report = next(o for o in gc.get_objects() if type(o).__name__ == 'Report')
    for name in ('double', 'fix_me', 'add_index'):
        report.say(name=name, kind='pass', passed=True, text='')
    os._exit(0)"""


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_check_that_was_changed_earns_nothing(patch: str) -> None:
    answers = right("double")
    answers["double"] += "\n    HERE = 1\n"
    paper = damaged("double", patch)
    result = sit(paper, "eve", bytes_of(notebook(answers)), Limits(seconds=60))
    assert {mark.kind for mark in result.marks} == {"tampered"}
    assert result.points == 0


@pytest.mark.parametrize("patch", SILENT.values(), ids=SILENT)
def test_what_a_check_computes_with_must_stay_what_it_was(patch: str) -> None:
    """Even where no wrong answer of ours notices."""
    before = integrity.found()
    assert integrity.changed(before) == []
    with pytest.MonkeyPatch.context() as patched:
        target, value = patch.split(" = ")
        patched.setattr(*_place(target), eval(value))
        assert integrity.changed(before)
    assert integrity.changed(before) == []


def _place(target: str) -> tuple[object, str]:
    """The object and the attribute that an assignment changes."""
    imported, _, path = target.partition("; ")
    scope: dict[str, object] = {}
    exec(imported, scope)
    holder, _, name = path.rpartition(".")
    return eval(holder, scope), name


def test_verdicts_that_nobody_asked_for_earn_nothing() -> None:
    answers = right("double")
    answers["double"] += "\n    HERE = 1\n"
    paper = damaged("double", FORGED)
    result = sit(paper, "eve", bytes_of(notebook(answers)), Limits(seconds=60))
    assert {mark.kind for mark in result.marks} == {"tampered"}


def test_a_process_that_leaves_before_its_last_line_earns_nothing() -> None:
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    leaves = "get_ipython().events.register('pre_run_cell', lambda _: os._exit(0))\n"
    paper.cells[max(paper.checks)] = (
        f"import os\n{leaves}{paper.cells[max(paper.checks)]}"
    )
    result = sit(paper, "eve", bytes_of(notebook(right(*EXERCISES))), Limits())
    assert {mark.kind for mark in result.marks} == {"tampered"}


def answered(paper: Paper, begins: str) -> list[str]:
    """The lab's cells with answers of the course whose file begins like this."""
    cells = list(paper.cells)
    for number, exercise in paper.defines.items():
        folder = ROOT / "chapters" / paper.lab / "answers" / exercise
        files = [p for p in sorted(folder.glob(f"{begins}_*")) if p.suffix in TYPED]
        file = files[len(files) // 2]
        cells[number] = under_magic(file, file.read_text(encoding="utf-8"))
    return cells


@pytest.mark.long
@pytest.mark.parametrize("begins", ["right", "wrong"])
@pytest.mark.parametrize("lab", LABS)
def test_honest_answers_change_no_check(lab: str, begins: str) -> None:
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    cells = bytes_of(answered(paper, begins))
    result = sit(paper, "ana", cells, Limits(seconds=300, total=1200))
    assert result.said == ""
    kinds = {mark.kind for mark in result.marks}
    if begins == "right":  # a diagnosis belongs to the answer in some labs
        assert kinds <= {"pass", "suspect"}
    else:
        assert result.points == 0


def test_unchanged_checks_let_nothing_pass() -> None:
    class Shell:
        def __init__(self) -> None:
            self.user_ns: dict[str, object] = {}

        def run_cell(self, source: str) -> None:
            raise NameError(source)

    assert list(unearned(Shell(), Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb"))) == []
