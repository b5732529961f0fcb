"""A right answer keeps its mark however it is written; what is not taken is named."""

import json
from pathlib import Path

import nbformat
import pytest

from grading.answers import LEFT, Submission
from grading.course import keep_answers
from grading.paper import Paper, cells_of
from grading.pieces import pieces
from grading.sitting import Limits, sit

ROOT = Path(__file__).parents[1]
LAB = "05_first_kernel"
KERNEL = "@cuda.jit\ndef double(x, out):\n    out[0] = half(x[0]) - ONE"
CHECK = "check(double, spec=lambda x: 2 * x)"


def answered(*cells, own=("double",), given=("cuda",), starter=""):
    found = Submission(cells).answer("double", set(own), set(given), starter)
    assert found
    return found


def statements(*cells, **more):
    return answered(*cells, **more).source.split("\n\n\n")


@pytest.mark.parametrize(
    "needed",
    [
        ["ONE = 2", "ONE -= 1"],
        ["ONE = TWO = 2", "ONE = ONE - 1"],
        ["try:\n    from math import pi as ONE\nexcept ImportError:\n    ONE = 1"],
        ["ONE = [2]", "ONE[0] = 1"],
        ["ONE = []", "ONE.append(1)"],
        ["TWO = 2", "ONE = 0", "for k in range(TWO):\n    ONE += k"],
        ["if True:\n    ONE = 1\nelse:\n    ONE = 2"],
        ["ONE = 9", "while ONE > 1:\n    ONE -= 1"],
        ["ONE: int = 1"],
    ],
)
def test_a_name_that_is_needed_comes_with_all_that_makes_it(needed):
    half = "def half(v):\n    return v / 2"
    assert statements("\n".join(needed), half, KERNEL) == [*needed, half, KERNEL]
    assert statements("\n".join([*needed, half, KERNEL])) == [*needed, half, KERNEL]


@pytest.mark.parametrize(
    "code",
    [
        "if True:\n    @cuda.jit\n    def double(x, out):\n        out[0] = x[0]",
        "double = lambda x: 2 * x",
        "try:\n    import math\nexcept ImportError:\n    math = None\n"
        "def double(x):\n    return math.fabs(x)",
    ],
)
def test_an_answer_counts_however_it_is_defined(code):
    assert answered(code).source.replace("\n\n\n", "\n") == code


@pytest.mark.parametrize("magic", ["%%time", "%%capture said", "\n%%time\n"])
def test_a_magic_around_a_kernel_changes_nothing(magic):
    assert statements(f"{magic}\n{KERNEL}") == [KERNEL]
    assert [piece.line for piece in pieces(f"{magic}\n{KERNEL}")] == [
        magic.count("\n") + 2
    ]


def test_a_definition_that_stands_for_itself_replaces_what_was_before():
    cells = ["ONE = 5\nONE += 1", "ONE = 1", KERNEL]
    assert statements(*cells) == ["ONE = 1", KERNEL]


def test_what_counts_is_the_last_answer_before_the_check():
    scratch = KERNEL.replace("ONE", "TWO")
    found = answered(KERNEL, CHECK, scratch)
    assert found.source == KERNEL
    assert "double 2 times; that in code cell 1 of 3 was graded" in found.note
    assert answered(scratch, KERNEL, CHECK).source == KERNEL
    assert answered(scratch, CHECK, KERNEL, CHECK).source == KERNEL


def test_an_answer_below_the_check_counts_if_the_one_above_is_the_starter():
    starter = "@cuda.jit\ndef double(x, out):\n    pass  # your code here"
    assert answered(starter, CHECK, KERNEL, starter=starter).source == KERNEL


def test_a_constant_counts_as_of_the_check():
    assert statements("ONE = 1", KERNEL, CHECK, "ONE = 7") == ["ONE = 1", KERNEL]
    assert statements(KERNEL, CHECK, "ONE = 7") == ["ONE = 7", KERNEL]


def test_lines_that_are_not_taken_are_named():
    cell = f"{KERNEL}\ndouble.done = 3\nassert double\nprint('hello')\n{CHECK}"
    assert answered(cell).note == "\n".join(
        [LEFT, "line 4: double.done = 3", "line 5: assert double"]
    )


def test_a_measurement_that_an_answer_may_not_contain_costs_nothing():
    loop = "for ONE in (1, 2):\n    open('times.txt', 'a').write(str(ONE))"
    assert statements("ONE = 1", KERNEL, loop, CHECK) == ["ONE = 1", KERNEL]


def test_right_answers_of_a_lab_pass_in_any_shape():
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    cells = cells_of(ROOT / "solutions" / f"{LAB}.ipynb")
    shapes = {
        "def blocks_for(": "blocks_for = lambda n, block: -(-n // block)",
        "def vector_add(": (
            "try:\n    import math\nexcept ImportError:\n    math = None\n"
            "ONE = 2\nONE -= 1\n{}\n    math.inf"
        ),
        "def reverse(": "%%time\n{}",
        "def saxpy(": "if True:\n{indented}",
    }
    for start, shape in shapes.items():
        number = next(k for k, cell in enumerate(cells) if start in cell)
        cell = cells[number]
        indented = "\n".join(f"    {line}" for line in cell.splitlines())
        cells[number] = shape.replace("{}", cell).replace("{indented}", indented)
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    notebook = nbformat.writes(nbformat.v4.new_notebook(cells=made)).encode()
    result = sit(paper, "ana", notebook, Limits())
    wrong = [mark for mark in result.marks if not mark.passed]
    assert not wrong


def test_nbgrader_gets_the_answers_with_what_was_not_taken():
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    source = json.loads((ROOT / "labs" / f"{LAB}.ipynb").read_text(encoding="utf-8"))
    cells = cells_of(ROOT / "solutions" / f"{LAB}.ipynb")
    number = next(k for k, cell in enumerate(cells) if "def saxpy(" in cell)
    cells[number] += "\nsaxpy.done = True"
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]
    filled = keep_answers(paper, source, {"cells": made})
    code = [c["source"] for c in filled["cells"] if c["cell_type"] == "code"]
    saxpy = next(cell for cell in code if "def saxpy(" in cell)
    assert saxpy.startswith(f"# {LEFT}\n# line ")
    assert "\nsaxpy.done" not in saxpy
    checks = [cell for number, cell in enumerate(code) if number in paper.checks]
    assert all(cell.endswith(");") for cell in checks)


def test_what_earns_nothing_does_not_run():
    """Below the last check of lab 16, a report alone computes for seconds."""
    lab = "16_softmax"
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    last = max(paper.checks)
    assert any("accuracy.report()" in cell for cell in paper.cells[last + 1 :])
    script = paper.script(Submission(paper.cells, paper.known))
    assert len(script.cells) == len(paper.cells)
    assert not any(cell.source for cell in script.cells[last + 1 :])
