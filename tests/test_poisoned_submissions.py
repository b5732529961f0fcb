"""No file ends a run of the grader: it gets its marks, and the others get theirs."""

import csv
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from test_grade import (
    EXERCISES,
    LAB,
    ROOT,
    as_notebook,
    damaged,
    notebook,
    right,
    save,
)

from grading import sitting
from grading.__main__ import main
from grading.paper import Paper
from grading.sitting import Limits, sit

MANY = "\n".join(f"x{k} = {k}" for k in range(20_000))
TUPLE = f"every = ({', '.join(f'x{k}' for k in range(20_000))})"
# Cells of which none ends the run, or costs another exercise its marks.
POISON = {
    "half a character": 's = "\ud800"\ncheck(s)',
    "six thousand terms": "n = " + " + ".join("1" * 6000),
    "three thousand signs": "n = " + "-" * 3000 + "1",
    "a null": "n = 1\0",
    "brackets": "n = " + "(" * 500 + ")" * 500,
}


def marks(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def bytes_of(cells: list[str]) -> bytes:
    return json.dumps(as_notebook(cells)).encode()


def test_a_poisoned_file_costs_nobody_else_a_mark(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    paths = [save(folder / "ana.ipynb", notebook(right(*EXERCISES)))]
    for name, cell in POISON.items():
        path = folder / f"{name}.ipynb"
        path.write_bytes(bytes_of(notebook(right(*EXERCISES), cell)))
        paths.append(path)
    deep = folder / "deep.ipynb"
    deep.write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")
    named = Path(os.fsdecode(os.fsencode(folder) + b"/M\xfcller.ipynb"))
    linked = folder / "linked.ipynb"
    linked.symlink_to(ROOT / "solutions" / f"{LAB}.ipynb")
    os.mkfifo(folder / "pipe.ipynb")
    paths += [deep, linked, folder / "pipe.ipynb", folder / "none.ipynb"]
    if sys.platform == "linux":
        paths.append(save(named, notebook(right("double"))))
    out, pages = tmp_path / "marks.csv", tmp_path / "feedback"
    options = ["--csv", str(out), "--feedback", str(pages), "--jobs", "2"]
    assert main([LAB, *map(str, paths), *options]) == 1  # some cannot be read

    found = marks(out)
    assert len(found) == len(paths)
    assert found["ana"]["points"] == "3"
    assert {found[name]["points"] for name in POISON} == {"3"}
    for name in ("deep", "linked", "pipe", "none"):
        assert found[name]["double"] == "unreadable", found[name]
    if sys.platform == "linux":
        assert found["M\\udcfcller"]["double"] == "pass"
        assert (pages / "M\\udcfcller.html").is_file()
    assert len(list(pages.iterdir())) == len(paths)
    assert sorted(tmp_path.glob("*marks*")) == [tmp_path / "marks-audit.csv", out]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that each run of a submission is given, as they begin."""
    given: list[float] = []

    def counted(task: Any, heard: Any, limits: Limits, left: float, start: Any) -> Any:
        given.append(left)
        return run(task, heard, limits, left, start)

    run = sitting._run
    monkeypatch.setattr(sitting, "_run", counted)
    return given


def test_an_answer_that_takes_too_long_to_read_is_stopped(runs: list[float]) -> None:
    """It is read where it runs, under the same limits."""
    double = right("double")["double"] + "\n    every\n"
    cells = notebook({"double": double}, MANY, TUPLE)
    paper = Paper(LAB, ROOT / "labs" / f"{LAB}.ipynb")
    result = sit(paper, "ana", bytes_of(cells), Limits(seconds=4))
    assert {mark.kind for mark in result.marks} == {"hang"}
    assert len(runs) <= 2, runs


FINDS = """import gc
    report = next(o for o in gc.get_objects() if type(o).__name__ == 'Report')
    while True: report.say(begins='double')"""
BEGINS = b'{"begins": "double"}\n'
LIES = {
    "no json": "os.write(fd, b'not json\\n')",
    "another object": "os.write(fd, b'[1]\\n')",
    "no key": f"os.write(fd, {BEGINS!r})",
    "begins for ever": f"[os.write(fd, {BEGINS!r}) for k in iter(int, 1)]",
    "no line for ever": "[os.write(fd, b'0' * 999) for k in iter(int, 1)]",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_report_that_lies_gets_no_marks(lie: str) -> None:
    code = f"import os; fd = int(__import__('sys').argv[1]); {lie}"
    answers = right(*EXERCISES)
    answers["double"] += "\n    HERE = 1\n"
    paper = damaged("double", code)
    result = sit(paper, "eve", bytes_of(notebook(answers)), Limits(seconds=20))
    assert [mark.kind for mark in result.marks] == ["tampered"] * 3
    assert result.points == 0


def test_a_stream_of_true_lines_does_not_reset_the_clock() -> None:
    """Even with the key: what was said cannot be said again."""
    answers = right(*EXERCISES)
    answers["double"] += "\n    HERE = 1\n"
    paper = damaged("double", FINDS)
    result = sit(paper, "eve", bytes_of(notebook(answers)), Limits(seconds=20))
    assert [mark.kind for mark in result.marks] == ["tampered"] * 3


def test_the_grader_is_not_killed_by_a_submission() -> None:
    code = "import os; os.kill(os.getppid(), 9)"
    answers = right(*EXERCISES)
    answers["double"] += "\n    HERE = 1\n"
    paper = damaged("double", code)
    result = sit(paper, "eve", bytes_of(notebook(answers)), Limits(seconds=20))
    kinds = {mark.exercise: mark.kind for mark in result.marks}
    assert kinds.pop("double") in ("crash", "pass")  # alone, it has no such process
    assert set(kinds.values()) == {"pass"}


def test_the_time_for_a_submission_is_limited(runs: list[float]) -> None:
    """Each exercise hangs; what does not still gets its mark."""
    answers = right(*EXERCISES)
    answers["double"] += "\n    HERE = 1\n"
    paper = damaged("double", "import time; time.sleep(60)")
    limits = Limits(seconds=100, total=8)
    result = sit(paper, "ana", bytes_of(notebook(answers)), limits)
    assert [m.kind for m in result.marks if m.exercise == "double"] == ["hang"]
    assert "within 8 s" in result.marks[0].text
    assert len(runs) <= 2, runs


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child there")
def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """Ctrl-C leaves what is done, and the same command does the rest."""
    slow, names = right(*EXERCISES), "abcdefghi"
    paths = [save(tmp_path / "in" / f"{n}.ipynb", notebook(slow)) for n in names]
    out = tmp_path / "marks.csv"
    command = [sys.executable, "-m", "grading", LAB, *map(str, paths)]
    command += ["--csv", str(out), "--jobs", "1"]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # where it is not
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heard,
    ) as run:  # fmt: skip
        assert run.stdout
        assert run.stdout.readline().startswith("1 of 9  a  3 of 3")
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "of 9." in said
    before = marks(out)
    assert 1 <= len(before) < 9

    assert main(command[3:]) == 0
    after = marks(out)
    assert list(after) == list(names)
    assert all(after[name] == row for name, row in before.items())  # with its seconds
    assert sorted(tmp_path.glob("*marks*")) == [tmp_path / "marks-audit.csv", out]
