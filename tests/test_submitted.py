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
def test_another_lab_is_named(paper, stamped):
    found = lab("13_shared_memory")
    if not stamped:
        del found["metadata"]["weft"]
    with pytest.raises(NotGraded) as error:
        read(json.dumps(found).encode(), paper)
    assert str(error.value).startswith(f"This is lab 13_shared_memory; {LAB} was")
    assert error.value.kind == "other-lab"


def test_a_notebook_without_any_exercise_is_graded(paper):
    assert read(b'{"cells": []}', paper) == []


def test_a_byte_order_mark_does_no_harm(paper):
    notebook = json.dumps(lab(LAB)).encode("utf-8-sig")
    assert read(notebook, paper) == cells_of(ROOT / "labs" / f"{LAB}.ipynb")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"cells": 3}', b"\xff\xfe"])
def test_what_is_no_notebook_is_named(paper, content):
    with pytest.raises(NotGraded, match=r"^It is not a notebook") as error:
        read(content, paper)
    assert error.value.kind == "unreadable"


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
