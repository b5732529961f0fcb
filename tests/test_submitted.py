"""What cannot be graded is said once, without the instructor's paths in it."""

import json
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.paper import Paper, cells_of
from grading.submitted import NotGraded, read

ROOT = Path(__file__).parents[1]
LAB = "00_start_here"


@pytest.fixture(scope="module")
def paper():
    return Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")


def lab(name):
    return json.loads((ROOT / "labs" / f"{name}.ipynb").read_text(encoding="utf-8"))


@pytest.mark.parametrize("stamped", [True, False])
def test_another_lab_is_named(paper, tmp_path, stamped):
    found = lab("13_shared_memory")
    if not stamped:
        del found["metadata"]["weft"]
    path = tmp_path / "ana.ipynb"
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(NotGraded) as error:
        read(path, paper)
    assert str(error.value).startswith(f"This is lab 13_shared_memory; {LAB} was")
    assert error.value.kind == "other-lab"


def test_a_notebook_without_any_exercise_is_graded(paper, tmp_path):
    path = tmp_path / "ana.ipynb"
    path.write_text('{"cells": []}', encoding="utf-8")
    assert read(path, paper) == []


def test_a_byte_order_mark_does_no_harm(paper, tmp_path):
    path = tmp_path / "ana.ipynb"
    path.write_text(json.dumps(lab(LAB)), encoding="utf-8-sig")
    assert read(path, paper) == cells_of(ROOT / "labs" / f"{LAB}.ipynb")


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": 3}', None])
def test_what_is_no_notebook_is_named_without_its_folder(paper, tmp_path, content):
    path = tmp_path / "ana.ipynb"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(NotGraded, match=r"^ana\.ipynb is not a notebook") as error:
        read(path, paper)
    assert str(tmp_path) not in str(error.value)


def test_the_exit_status_says_whether_all_could_be_graded(tmp_path, capsys):
    other, good = tmp_path / "ana.ipynb", tmp_path / "bo.ipynb"
    other.write_text(json.dumps(lab("13_shared_memory")), encoding="utf-8")
    good.write_text(json.dumps(lab(LAB)), encoding="utf-8")
    pages = tmp_path / "pages"
    assert main([LAB, str(other), "--feedback", str(pages)]) == 1
    assert capsys.readouterr().out.count("This is lab 13_shared_memory") == 1
    page = (pages / "ana.html").read_text(encoding="utf-8")
    assert page.count("This is lab 13_shared_memory") == 1
    assert main([LAB, str(good)]) == 0
