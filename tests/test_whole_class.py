"""Every kind of file in one run, which is killed in the middle and goes on.

The marks are written down here, one line per student; nothing computes them.
"""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from test_grade import (
    EXERCISES,
    HANGS,
    LAB,
    REFUSED,
    ROOT,
    TRICKS,
    answer,
    as_notebook,
    notebook,
    right,
)
from test_inspector import CHEATS
from test_poisoned_submissions import POISON, bytes_of

from grading.__main__ import main
from grading.files import LARGEST

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

# What each exercise gets: double, fix_me, add_index. A star: in the fast tier too.
MARKS = """
right *               pass            pass            pass
right_nested          pass            pass            pass
right_typed           pass            pass            pass
right_early           pass            pass            pass
right_helper          pass            out-of-bounds   begin
right_renamed         pass            out-of-bounds   begin
right_two             pass            pass            begin
blank *               begin           out-of-bounds   begin
blank_again           begin           out-of-bounds   begin
empty                 missing         missing         missing
prose                 missing         missing         missing
no_definition         missing         pass            pass
windows               pass            pass            pass
mark_of_order         pass            pass            pass
one_string            pass            pass            pass
scratch *             pass            pass            pass
wrong_square *        wrong-value     pass            pass
wrong_into_input      input-written   pass            pass
wrong_rebinds         unwritten       pass            pass
wrong_returns         exception       pass            pass
wrong_array           type            pass            pass
wrong_block           pass            unwritten       pass
wrong_off             pass            out-of-bounds   pass
wrong_thread          pass            out-of-bounds   pass
wrong_unchanged       pass            out-of-bounds   pass
wrong_way             pass            unwritten       pass
wrong_from_one        pass            pass            wrong-value
wrong_no_guard        pass            pass            out-of-bounds
wrong_index           pass            pass            unwritten
wrong_number          pass            pass            wrong-value
wrong_all             wrong-value     unwritten       wrong-value
half_a_character *    pass            pass            pass
many_terms            pass            pass            pass
many_signs            pass            pass            pass
a_null                pass            pass            pass
brackets              pass            pass            pass
deep                  unreadable      unreadable      unreadable
refused_import *      refused         pass            pass
refused_open          refused         pass            pass
refused_dunder        refused         pass            pass
refused_class         refused         pass            pass
refused_patch         refused         pass            pass
refused_len           refused         pass            pass
refused_getattr       refused         pass            pass
refused_ctypes        refused         pass            pass
trick_check           begin           out-of-bounds   begin
trick_verdict         begin           out-of-bounds   begin
trick_exit *          begin           out-of-bounds   begin
trick_shell           begin           out-of-bounds   begin
trick_right           pass            out-of-bounds   begin
syntax *              syntax          pass            pass
syntax_twice          syntax          pass            syntax
time_magic *          pass            pass            pass
capture_magic         pass            pass            pass
shell_magic           pass            pass            pass
loop *                endless-loop    pass            pass
loop_of_python        hang            pass            pass
other_lab *           other-lab       other-lab       other-lab
huge *                unreadable      unreadable      unreadable
binary *              unreadable      unreadable      unreadable
cut_off               unreadable      unreadable      unreadable
a_link                unreadable      unreadable      unreadable
"""
LINES = [line.replace("*", "").split() for line in MARKS.strip().splitlines()]
FAST = [line.split()[0] for line in MARKS.strip().splitlines() if " *" in line]
Make = Callable[[Path], object]

SOLVED = right(*EXERCISES)
HELPER = "@cuda.jit(device=True)\ndef twice(v):\n    return v + v\n"
USES = """@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = twice(x[i])
"""
RENAMED = USES.replace("cuda.", "gpu.").replace("twice(x[i])", "2 * x[i]")
BROKEN = "@cuda.jit\ndef {}(x, out:\n"
ENDLESS = "N = 0\nwhile N < 1:\n    N -= 1\n"


def cells(answers: dict[str, str], *more: str) -> Make:
    return lambda path: path.write_bytes(bytes_of(notebook(answers, *more)))


def given(text: bytes) -> Make:
    return lambda path: path.write_bytes(text)


def wrong(exercise: str, file: str) -> Make:
    return cells(SOLVED | answer(exercise, f"wrong_{file}"))


def cheat(code: str) -> Make:
    """An answer with code that no answer needs, in its kernel or above it."""
    above, _, body = code.rpartition("def blocks_for(n):\n")
    body = body.removeprefix("    ")
    kernel = f"{above}@cuda.jit\ndef double(x, out):\n    {body}\n"
    return cells(SOLVED | {"double": kernel})


def magic(line: str) -> Make:
    return cells(SOLVED | {"double": f"{line}\n{SOLVED['double']}"})


def sources_as_one(path: Path) -> None:
    """A notebook whose sources are strings, as some programs write them."""
    made = json.loads(nbformat.writes(as_notebook(notebook(SOLVED))))
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"])
    path.write_text(json.dumps(made), encoding="utf-8")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)


def without(exercise: str) -> list[str]:
    return [cell for cell in notebook(SOLVED) if f"def {exercise}(" not in cell]


def wrongs() -> Iterator[tuple[str, Make]]:
    yield "wrong_square", wrong("double", "square")
    yield "wrong_into_input", wrong("double", "into_input")
    yield "wrong_rebinds", wrong("double", "rebinds_out")
    yield "wrong_returns", wrong("double", "returns")
    yield "wrong_array", wrong("double", "whole_array")
    yield "wrong_block", wrong("fix_me", "block_size")
    yield "wrong_off", wrong("fix_me", "off_by_one")
    yield "wrong_thread", wrong("fix_me", "one_thread")
    yield "wrong_unchanged", wrong("fix_me", "unchanged")
    yield "wrong_way", wrong("fix_me", "way_round")
    yield "wrong_from_one", wrong("add_index", "from_one")
    yield "wrong_no_guard", wrong("add_index", "no_guard")
    yield "wrong_index", wrong("add_index", "thread_index")
    yield "wrong_number", wrong("add_index", "thread_number")
    several = answer("double", "wrong_square") | answer("fix_me", "wrong_way_round")
    yield "wrong_all", cells(several | answer("add_index", "wrong_from_one"))


WINDOWS = bytes_of(notebook(SOLVED)).replace(b"\\n", b"\\r\\n")
FILES: dict[str, Make] = {
    "right": cells(SOLVED),
    "right_nested": cells(SOLVED | answer("fix_me", "right_by_input")),
    "right_typed": cells(SOLVED | answer("double", "right_typed_product")),
    "right_early": cells(SOLVED | answer("add_index", "right_early_return")),
    "right_helper": cells({"double": USES}, HELPER),
    "right_renamed": cells({"double": RENAMED}, "gpu = cuda"),
    "right_two": cells(right("double", "fix_me")),
    "blank": cells({}),
    "blank_again": cells({}, "x = 1"),
    "empty": given(bytes_of([])),
    "prose": given(b'{"cells": [{"cell_type": "markdown", "source": "Hello"}]}'),
    "no_definition": given(bytes_of(without("double"))),
    "windows": given(WINDOWS),
    "mark_of_order": given(b"\xef\xbb\xbf" + bytes_of(notebook(SOLVED))),
    "one_string": sources_as_one,
    "scratch": cells(SOLVED, "def double(x):\n    return x  # a try"),
    **dict(wrongs()),
    "half_a_character": cells(SOLVED, POISON["half a character"]),
    "many_terms": cells(SOLVED, POISON["six thousand terms"]),
    "many_signs": cells(SOLVED, POISON["three thousand signs"]),
    "a_null": cells(SOLVED, POISON["a null"]),
    "brackets": cells(SOLVED, POISON["brackets"]),
    "deep": given(b"[" * 100_000 + b"]" * 100_000),
    "refused_import": cheat(REFUSED["import os"]),
    "refused_open": cheat(REFUSED["open('x')"]),
    "refused_dunder": cheat(REFUSED["__import__('os')"]),
    "refused_class": cheat(REFUSED["().__class__"]),
    "refused_patch": cheat(REFUSED["weft.check = print"]),
    "refused_len": cheat(CHEATS["len defined"]),
    "refused_getattr": cheat(CHEATS["getattr computed"]),
    "refused_ctypes": cheat(CHEATS["ctypes"]),
    "trick_check": cells({}, TRICKS["check redefined"]),
    "trick_verdict": cells({}, TRICKS["verdict patched"]),
    "trick_exit": cells({}, TRICKS["early exit"]),
    "trick_shell": cells({}, TRICKS["shell"]),
    "trick_right": cells(right("double"), TRICKS["printed"]),
    "syntax": cells(SOLVED | {"double": BROKEN.format("double")}),
    "syntax_twice": cells(
        SOLVED
        | {"double": BROKEN.format("double"), "add_index": BROKEN.format("add_index")}
    ),
    "time_magic": magic("%%time"),
    "capture_magic": magic("%%capture"),
    "shell_magic": cells(SOLVED, "!echo x\n%matplotlib inline\n?len"),
    "loop": cells(SOLVED | {"double": HANGS}),
    "loop_of_python": cells(
        SOLVED | {"double": f"{ENDLESS}{SOLVED['double']}\n    N\n"}
    ),
    "other_lab": given((ROOT / "labs" / "13_shared_memory.ipynb").read_bytes()),
    "huge": huge,
    "binary": given(bytes(range(256)) * 40),
    "cut_off": given(bytes_of(notebook(SOLVED))[:2000]),
    "a_link": lambda path: path.symlink_to(ROOT / "solutions" / f"{LAB}.ipynb"),
}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def graders(word: str) -> list[int]:
    """The processes of a grader, or of what it started, whose folder has this name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word in (folder / "environ").read_bytes().decode(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("students", "done"),
    [
        pytest.param(FAST, 5, id="twelve"),
        pytest.param(list(FILES), 25, id="sixty", marks=pytest.mark.long),
    ],
)
def test_a_class_with_every_kind_of_file(
    tmp_path: Path, students: list[str], done: int
) -> None:
    """The run is killed, by a signal that it cannot catch, after `done` students."""
    folder, out = tmp_path / "in", tmp_path / "marks.csv"
    folder.mkdir()
    for name in students:
        FILES[name](folder / f"{name}.ipynb")
    paths = [str(folder / f"{name}.ipynb") for name in students]
    arguments = [LAB, *paths, "--csv", str(out), "--jobs", "2"]
    arguments += ["--seconds", "60"]  # for what never ends

    with subprocess.Popen(
        [sys.executable, "-m", "grading", *arguments],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout
        for number in range(1, done + 1):
            said = run.stdout.readline()
            assert said.split()[:3] == [str(number), "of", str(len(students))], said
        run.send_signal(signal.SIGKILL)
    before = {row["student"]: row for row in rows(out)}
    assert done <= len(before) < len(students)

    assert main(arguments) == 1  # some cannot be graded
    after = rows(out)
    assert [row["student"] for row in after] == students
    wanted = {name: kinds for name, *kinds in LINES}
    found = {row["student"]: [row[name] for name in EXERCISES] for row in after}
    assert found == {name: wanted[name] for name in students}
    points = [sum(kind == "pass" for kind in wanted[name]) for name in students]
    assert [int(row["points"]) for row in after] == points
    kept = [row for row in after if row["student"] in before and not row["note"]]
    assert kept == [before[row["student"]] for row in kept]  # with seconds and date
    assert graders(str(tmp_path)) == []
    assert not list(tmp_path.glob("*.part"))


def test_the_table_names_each_student_once() -> None:
    names = [name for name, *_ in LINES]
    assert names == list(FILES)
    assert len(names) == len(set(names)) >= 60
    assert len(FAST) >= 12
    assert all(len(kinds) == len(EXERCISES) for _, *kinds in LINES)
