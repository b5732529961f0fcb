"""Exam sheets: what they ask, what they keep to themselves, and who gets which."""

import csv
import re
from pathlib import Path

import pytest

from exams.__main__ import main
from exams.drawing import draw
from exams.questions import FEW, ExamError, Question, questions
from exams.sheets import Asked, Sheet, page, sheet

ROOT = Path(__file__).parents[1]
LAB = "09_atomics"
COURSE = "GPU programming, spring 2027"


@pytest.fixture(scope="module")
def pool():
    return questions(ROOT, LAB)


def test_a_question_has_all_that_it_takes_to_judge(pool):
    asked = {question.exercise for question in pool if question.line}
    assert len(asked) == 6, asked
    for question in pool:
        lines = question.code.splitlines()
        assert question.task
        assert f"check({question.exercise}" in re.sub(r"\(\n\s+", "(", question.check)
        assert question.code.startswith(("@", "def ", "from ", "BLOCK", "class "))
        assert "<- here" not in question.code
        assert "verdict:" not in question.code
        if question.line:
            assert lines[question.line - 1].strip()
            assert any(text[0] in "+-" for text in question.changes)
    race = next(q for q in pool if "out[0] += 1" in q.code and q.verdict == "race")
    assert race.code.splitlines()[race.line - 1].strip() == "out[0] += 1"
    assert "+        cuda.atomic.add(out, 0, 1)" in race.changes
    assert race.also == []  # the mistake is where it shows
    assert "BINS = 256" in next(q for q in pool if "shared" in q.exercise).given


def test_another_student_gets_another_sheet_and_the_same_one_the_same(pool):
    students = [f"student {n}" for n in range(40)]
    drawn = {name: draw(pool, name, COURSE, 3, right=1) for name in students}
    assert drawn == {name: draw(pool, name, COURSE, 3, right=1) for name in students}
    assert len({tuple(q.code for q in some) for some in drawn.values()}) > 35
    for some in drawn.values():
        assert len({q.exercise for q in some}) == 3
        assert sum(q.line is None for q in some) == 1
    other = {name: draw(pool, name, "another course", 3, right=1) for name in students}
    assert sum(drawn[name] == other[name] for name in students) < 5


def test_the_sheet_does_not_tell_and_the_key_does(pool):
    one = sheet(pool, "Ada <Lovelace>", COURSE, 4)
    asked = page("sheets.html", [one], COURSE)
    key = page("key.html", [one], COURSE)
    assert "Ada &lt;Lovelace&gt;" in asked
    for part in one.asked:
        question = part.question
        assert part.choices[ord(part.letter) - ord("a")] == question.headline
        assert len(set(part.choices)) == len(part.choices) > 3
        assert part.choices[-1] == "it passes"
        assert question.thinking not in asked
        assert f"Line {question.line}:" in key
        assert f"Line {question.line}:" not in asked
    assert "hint(" not in asked
    assert not re.search(r"(?:src|href)=", asked), "it is printed without a network"


def test_sheets_a_key_and_a_table_are_written(tmp_path, capsys):
    names = tmp_path / "class.txt"
    names.write_text("Ada Lovelace\nGrace Hopper\n\n", "utf-8")
    out = tmp_path / "exam"
    given = ["9", LAB, "--students", str(names), "--course", COURSE, "--out", str(out)]
    assert main(["09", *given[2:], "--questions", "2"]) == 0
    assert "2 sheets" in capsys.readouterr().out
    assert (out / "sheets.html").is_file()
    assert (out / "key.html").is_file()
    own = sorted(path.name for path in (out / "students").iterdir())
    assert own == ["001-Ada-Lovelace.html", "002-Grace-Hopper.html"]
    rows = list(csv.DictReader((out / "key.csv").open()))
    assert [row["student"] for row in rows] == ["Ada Lovelace"] * 2 + [
        "Grace Hopper"
    ] * 2
    assert "none" in {row["line"] for row in rows}


@pytest.mark.parametrize(
    ("labs", "names", "more", "told"),
    [
        (["99"], "Ada", [], "no lab 99"),
        ([LAB], "Ada", ["--questions", "9"], "6 exercises"),
        ([LAB], "Ada", ["--right", "5"], "5 right kernels among 4"),
        (["04"], "Ada", [], "0 exercises"),
        ([LAB], "", [], "no names"),
        ([LAB], "Ada\nAda", [], "Ada twice"),
        ([LAB], None, [], "cannot be read"),
    ],
)
def test_a_mistake_gets_a_sentence(tmp_path, capsys, labs, names, more, told):
    file = tmp_path / "class.txt"
    if names is not None:
        file.write_text(names, "utf-8")
    given = [*labs, "--students", str(file), "--course", COURSE, *more]
    assert main([*given, "--out", str(tmp_path / "exam")]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "exam").exists()


def test_every_lab_of_kernels_has_questions():
    few = {}
    for path in sorted((ROOT / "labs").glob("*.ipynb")):
        exercises = {q.exercise for q in questions(ROOT, path.stem) if q.line}
        if len(exercises) < 3:
            few[path.stem] = len(exercises)
    # C cells; and kernels too long for a page, or verdicts that name several lines
    assert few.keys() <= {
        *("04_c_for_python", "21_tensor_cores", "22_hopper_gemm"),
        *("34_diffusion", "35_mnist_cnn"),
    }, few
    with pytest.raises(ExamError, match="no lab 77"):
        questions(ROOT, "77")


def test_the_line_with_the_mistake_is_right_too():
    """The verdict names where it shows: where the sum is written."""
    code = "total = 0\nfor i in range(1, 4):\n    total += x[i]\nout[0] = total"
    given = ("05", "sum", "", "", "", code, "wrong-value", 4, "")
    question = Question(*given, code.replace("(1, 4)", "(4)  # all"))
    assert question.also == [2]
    assert Question(*given, f"x = x\n{code}").also == []  # nothing is changed
    assert Question(*given, "out[0] = sum(x)\nreturn\na\nb").also == []  # all is


def test_some_questions_have_a_second_right_line():
    pool = [q for lab in ("06_grids_2d", "14_reduction") for q in questions(ROOT, lab)]
    also = [question for question in pool if question.also]
    assert also
    for question in also:
        assert len(question.also) <= FEW
        assert question.line not in question.also
        key = page(
            "key.html", [Sheet("ana", [Asked(question, [question.headline])])], ""
        )
        assert f"also right: line {question.also[0]}" in key
