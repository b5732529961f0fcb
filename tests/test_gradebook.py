"""Marks reach a spreadsheet, Moodle and Canvas; the page of a class is right."""

import csv
import zipfile

import pytest

from grading import class_page, reports, table
from grading.gradebook import main
from grading.listening import Mark
from grading.register import Person, Register
from grading.scoring import Rules, scores
from grading.sitting import Result
from grading.table import Row, Run
from weft.errors import LearnerError

LAB = "00_start_here"
RUN = Run(LAB, 0, "1.0", "CUDA 13")
DATE = "2027-03-01T10:00:00+00:00"
EVIL = '=HYPERLINK("evil")'
REGISTER = """student,id,email,login,canvas,section,name
ana,17,ana@example.edu,anal,901,A,Ana Li
ana-2,17,ana@example.edu,anal,901,A,Ana Li
müller,18,mueller@example.edu,muel,902,A,Jörg Müller
"""


def result(student, *kinds, said="", line=""):
    names = ("double", "fix_me", "add_index")
    marks = [
        Mark(name, kind, kind == "pass", line="" if kind == "pass" else line)
        for name, kind in zip(names, kinds, strict=True)
    ]
    return Result(student, marks, 1.25, said=said, date=DATE, seed="spring")


def row(student, *kinds, lab=LAB, late=0.0, date="1", line="", note=""):
    names = ("double", "fix_me", "add_index")
    found = dict(zip(names, kinds, strict=True))
    lines = {name: line if kind != "pass" else "" for name, kind in found.items()}
    return Row(student, lab, found, lines, late, note, "CUDA 13", date)


@pytest.fixture
def marks(tmp_path):
    path = tmp_path / "marks.csv"
    results = [
        result("ana", "pass", "race", "begin", line="-x[i]"),
        result("ana-2", "begin", "pass", "pass"),
        result("müller", "pass", "pass", "out-of-bounds", line="y[i + 1] = x[i]"),
        result(EVIL, *["unreadable"] * 3, said="It is not a notebook."),
    ]
    table.write_csv(path, RUN, results)
    return path


@pytest.fixture
def register(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text(REGISTER, encoding="utf-8")
    return path


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_the_table_says_what_was_graded_and_how(marks):
    assert marks.read_bytes().startswith(b"\xef\xbb\xbf")  # Excel asks for it
    names, first, *_ = rows_of(marks)
    found = dict(zip(names, first, strict=True))
    assert found | {"lab": LAB, "points": "1", "of": "3", "fix_me": "race"} == found
    assert found | {"release": "1.0", "compiler": "CUDA 13", "seed": "spring"} == found
    assert found["date"] == DATE


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " ="])
def test_no_cell_is_a_formula(start, tmp_path):
    text = f"{start}1+1"
    path = tmp_path / "marks.csv"
    table.write_rows(path, [["student"], [text], ["ana"], [-3]])
    assert rows_of(path)[1:] == [[f"'{text}"], ["ana"], ["-3"]]
    assert table.read_rows(path)[0]["student"] == text


def test_what_was_written_is_read_again(marks):
    found = table.read_csv(marks)
    assert [r.student for r in found] == ["ana", "ana-2", "müller", EVIL]
    assert found[0].kinds == {"double": "pass", "fix_me": "race", "add_index": "begin"}
    assert found[0].lines["fix_me"] == "-x[i]"
    assert found[3].note == "It is not a notebook."


def test_a_table_that_a_spreadsheet_saved_is_read(marks, tmp_path):
    saved = tmp_path / "saved.csv"
    with saved.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows_of(marks))
    assert table.read_csv(saved) == table.read_csv(marks)
    saved.write_text("student;points\nana;1\n", encoding="utf-8")
    with pytest.raises(LearnerError, match="no table of marks"):
        table.read_csv(saved)


def test_a_run_says_which_compiler_there_was():
    run = Run.here(LAB, 2)
    assert run.compiler == "none" or run.compiler.startswith("CUDA ")
    assert (run.release, run.late) == (table.__version__, 2)


@pytest.mark.parametrize(
    "name",
    [
        *("ana", "Ana Li", "ANA  LI", "17", "anal"),
        "Ana Li_1234567_assignsubmission_file_",
        "liana_LATE_901_55501_05_first_kernel",
        "liana_901_55501_05_first_kernel-2",
    ],
)
def test_a_submission_finds_its_owner(register, name):
    found = Register.read(register).find(name)
    assert found
    assert found.email == "ana@example.edu"


def test_a_register_without_its_columns_is_refused(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text("first,last\nAna,Li\n", encoding="utf-8")
    with pytest.raises(LearnerError, match="no column of the register"):
        Register.read(path)


def test_moodle_gets_ids_and_marks(marks, register, tmp_path, capsys):
    out = tmp_path / "moodle.csv"
    given = [str(marks), "--register", str(register), "--moodle", str(out)]
    assert main(given) == 1  # the file with the formula for a name has no owner
    assert capsys.readouterr().err.startswith(f"{register} does not have {EVIL}")
    assert rows_of(out) == [
        ["ID number", "Email address", "Full name", LAB],
        ["17", "ana@example.edu", "Ana Li", "2"],
        ["18", "mueller@example.edu", "Jörg Müller", "2"],
    ]


def test_the_audit_beside_the_marks_is_passed_over(marks, tmp_path):
    table.write_rows(tmp_path / "marks-audit.csv", [["exercise", "what"]])
    out = tmp_path / "all.csv"
    names = [str(path) for path in sorted(tmp_path.glob("marks*.csv"))]
    assert len(names) == 2
    assert main([*names, "--csv", str(out)]) == 0
    assert rows_of(out)[0] == ["student", "id", "email", LAB]
    assert len(rows_of(out)) == 5


def test_canvas_gets_its_columns_and_the_points_possible(marks, register, tmp_path):
    out, rules = tmp_path / "canvas.csv", tmp_path / "rules.toml"
    rules.write_text(
        f'out_of = 10\n[weights]\nfix_me = 3\n[columns]\n{LAB} = "Lab 0 (12345)"\n'
    )
    given = [str(marks), "--register", str(register), "--rules", str(rules)]
    main([*given, "--canvas", str(out)])
    assert rows_of(out) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 0 (12345)"],
        ["    Points Possible", "", "", "", "", "10"],
        ["Ana Li", "901", "17", "anal", "A", "8"],
        ["Jörg Müller", "902", "18", "muel", "A", "8"],
    ]


@pytest.mark.parametrize(
    ("best_of", "cost", "points"),
    [("submission", 0, 2), ("exercise", 0, 3), ("submission", 0.25, 1.5)],
)
def test_of_several_submissions_the_best_counts(best_of, cost, points):
    one = Person("Ana Li", "17")
    rows = [
        row("ana", "pass", "race", "begin"),
        row("ana-2", "begin", "pass", "pass", late=2, date="2"),
    ]
    rules = Rules(best_of=best_of, cost=cost, free=1)
    people = Register([("ana", one), ("ana-2", one)])
    (found,) = scores(rows, people, rules)
    assert found.points == points
    assert set(found.kinds.values()) == {"pass"}


def test_days_late_cost_and_never_more_than_all():
    rules = Rules({"double": 2}, out_of=8, free=1, cost=0.5)
    late = [0, 1, 2, 3, 9]
    rows = [row(f"s{days}", "pass", "pass", "race", late=days) for days in late]
    points = [score.points for score in scores(rows, Register(), rules)]
    assert points == [6, 6, 3, 0, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [("weigths = {}", "The rules are"), ("best_of = 'x'", "best_of is"), ("=", "TOML")],
)
def test_rules_that_are_wrong_are_named(tmp_path, text, said):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(LearnerError, match=said):
        Rules.read(path)


def test_the_page_says_what_went_wrong_and_who_is_stuck():
    rows = [
        row("ana", "pass", "race", "begin", line="out[0] += x[i]"),
        row("bo", "race", "race", "race", line="out[0] += x[i]"),
        row("cy", *["begin"] * 3),
        row("di", *["pass"] * 3),
        row("<b>", *["other-lab"] * 3, note="This is lab 13."),
    ]
    page = class_page.page(scores(rows, Register(), Rules()))
    assert "5 students." in page
    assert "Not begun: cy<" in page
    assert "Named most often, 2 times:" in page
    assert page.count("out[0] += x[i]") == 3  # one line per exercise
    stuck = page.partition("<h3>Stuck</h3>")[2].partition("<h3>")[0]
    assert "bo" in stuck
    assert "0 passed" in stuck
    assert not {"ana", "cy", "di"} & set(stuck.replace("<", " ").split())
    assert "&lt;b&gt;: This is lab 13." in page
    assert "No CUDA compiler" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_says_when_no_compiler_checked(marks, tmp_path):
    rows = [Row("ana", LAB, {"double": "pass"}, compiler="none")]
    page = class_page.page(scores(rows, Register(), Rules()))
    assert "No CUDA compiler checked these kernels" in page


def test_each_student_has_a_folder_in_the_archive(tmp_path):
    path = tmp_path / "feedback.zip"
    name = "Ana Li_1234567_assignsubmission_file_"
    reports.write_archive(path, LAB, [result(name, "pass", "race", "begin")])
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [f"{name}/{LAB}.html"]
        assert b"1 of 3 exercises passed" in archive.read(f"{name}/{LAB}.html")
