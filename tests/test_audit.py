"""The audit names answers that are equal, however they were made to differ."""

import csv
from pathlib import Path

from test_grade import EXERCISES, LAB, ROOT, notebook, right, save

from grading import audit, comparing
from grading.__main__ import main
from grading.listening import Mark
from grading.paper import Paper
from grading.sitting import Result

ONE = """
def half(x, out):
    \"\"\"Halve.\"\"\"
    i = cuda.grid(1)  # the index
    if i < x.size:
        out[i] = x[i] / 2
"""
LAYOUT = ONE.replace("# the index", "").replace('"""Halve."""', "").replace(" / ", "/")
NAMES = (
    "def half(a, b):\n    n = cuda.grid(1)\n    if n < a.size:\n        b[n] = a[n] / 2"
)
OTHER = ONE.replace("/ 2", "* 0.5")


def test_layout_and_comments_do_not_make_another_answer() -> None:
    assert comparing.digests(ONE) == comparing.digests(LAYOUT)


def test_other_names_do_not_make_another_answer() -> None:
    one, two = comparing.digests(ONE), comparing.digests(NAMES)
    assert one[0] != two[0]
    assert one[1:] == two[1:]


def test_another_formula_is_another_answer() -> None:
    assert comparing.digests(ONE)[1] != comparing.digests(OTHER)[1]
    assert comparing.digests("def f(n):\n    return g(n)") != comparing.digests(
        "def f(n):\n    return h(n)"
    )


def test_c_is_compared_without_its_comments() -> None:
    one, two = "%%c f\nint f; // one", "%%c f\nint  f; /* two */"
    assert comparing.digests(one) == comparing.digests(two)
    assert comparing.digests(one) != comparing.digests("%%c f\nint g;")


def test_groups() -> None:
    def result(student: str, source: str, kind: str = "pass") -> Result:
        mark = Mark("half", kind, text="Line 2 uses `open`.\nMore")
        answers = {"half": list(comparing.digests(source))}
        return Result(student, [mark], answers=answers)

    starters = {"half": comparing.digests("def half(x, out):\n    pass")}
    blank = "def half(x, out):\n    pass  # yours"
    results = [
        result("ana", ONE),
        result("bo", LAYOUT),
        result("cy", NAMES),
        result("di", OTHER),
        result("ed", blank),
        result("fi", blank),
        Result("eve", [Mark("half", "refused", text="Line 2 uses `open`.\nMore")]),
    ]
    nodes = comparing.digests(ONE)[2]
    found = list(audit.rows(results, {"half": comparing.digests(OTHER)}, starters))
    assert found == [
        ("half", "refused", "eve", "", "", "Line 2 uses `open`."),
        ("half", "equal", "ana, bo", "", nodes, ""),
        ("half", "equal", "di", "yes", nodes, ""),
        ("half", "equal but for names", "ana, bo, cy", "", nodes, ""),
    ]


def test_a_run_writes_its_audit(tmp_path: Path) -> None:
    cheats = right("fix_me") | {
        "double": "@cuda.jit\ndef double(x, out):\n    open('x', 'w')\n"
    }
    save(tmp_path / "ana.ipynb", notebook(right(*EXERCISES)))
    save(tmp_path / "bo.ipynb", notebook(right(*EXERCISES)))
    save(tmp_path / "eve.ipynb", notebook(cheats))
    out = tmp_path / "marks.csv"
    paths = map(str, sorted(tmp_path.glob("*.ipynb")))
    assert main([LAB, *paths, "--csv", str(out), "--jobs", "2"]) == 0
    with (tmp_path / "marks-audit.csv").open(encoding="utf-8-sig") as file:
        rows = {(row["exercise"], row["what"]): row for row in csv.DictReader(file)}
    assert rows["double", "refused"]["students"] == "eve"
    assert "uses `open`" in rows["double", "refused"]["why"]
    assert rows["double", "equal"]["students"] == "ana, bo"
    assert rows["fix_me", "equal"]["students"] == "ana, bo, eve"


def test_the_solution_is_known_where_there_is_one() -> None:
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    assert set(comparing.of_solution(paper)) == set(EXERCISES)
    starters = comparing.of_starters(paper)
    assert all(comparing.of_solution(paper)[e] != starters[e] for e in EXERCISES)
