"""What learners are handed out works on its own, and has no answers in it."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from leaks import Answer, answers, leaks, lines_of

ROOT = Path(__file__).parents[1]
TRY = """
import weft
from weft import hint
weft.lab("00_start_here")
for level in (1, 9):
    print(hint("double", level))
"""
# Answers that stand in a file of the handout all the same, and why that is so.
LATER = "every later kernel does what this one asks for first"
BROKEN = "lab 10 shows a wrong one, and asks what is wrong with it"
TIMED = "a variant that the chapter times; the lab names the file"
KNOWN = {
    ("05_first_kernel", "saxpy"): LATER,
    ("05_first_kernel", "vector_add"): LATER,
    ("09_atomics", "histogram_global"): BROKEN,
    ("13_shared_memory", "reverse_blocks"): BROKEN,
    ("14_reduction", "sum_sequential"): BROKEN,
    ("01_why_gpus", "count_steps"): TIMED,
    ("06_grids_2d", "blur"): TIMED,
    ("06_grids_2d", "matmul"): TIMED,
    ("08_warps", "block_sum"): TIMED,
    ("08_warps", "warp_sum"): TIMED,
    ("09_atomics", "histogram_shared"): TIMED,
    ("13_shared_memory", "transpose_rows"): TIMED,
    ("14_reduction", "sum_interleaved"): TIMED,
    ("16_softmax", "merge"): TIMED,
    ("36_tiles", "matmul"): TIMED,
    ("32_extensions", "steep"): TIMED,  # its launch, as `slope` has it
}
pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("make"),
    reason="needs git and make",
)


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    """The handout, unpacked."""
    folder = tmp_path_factory.mktemp("handout")
    subprocess.run(["make", "-s", "handout"], cwd=ROOT, check=True, timeout=120)
    with zipfile.ZipFile(ROOT / "_build" / "handout.zip") as archive:
        archive.extractall(folder)
    return folder / "warp-and-weft"


def test_the_handout_has_what_a_lab_needs_and_no_answers(handout):
    top = {path.name for path in handout.iterdir()}
    assert top >= {"labs", "weft", "results", "Makefile", "install.py", "lab.py"}
    authors = {"solutions", "tests", "verification", "pipeline", "book", "grading"}
    assert not top & authors
    chapters = {path.name for path in handout.glob("chapters/*/*")}
    assert "lesson.toml" in chapters
    assert not chapters & {"lab.py", "answers"}

    outside = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        cwd=handout / "labs",
        env=outside | {"PYTHONPATH": str(handout), "WEFT_SIMULATOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "there is an answer in the book" in " ".join(done.stdout.split())


def test_no_file_of_the_handout_has_an_answer(handout):
    """But for a lab's own starters, which may be one token away: find the bug."""
    files = {
        str(path.relative_to(handout)): path
        for path in handout.rglob("*")
        if path.is_file()
    }
    assert len(files) > 500
    given = list(answers(ROOT / "chapters"))
    assert len(given) > 200
    found = [
        leak for leak in leaks(given, files) if leak.path != f"labs/{leak.lab}.ipynb"
    ]
    named = {(leak.lab, leak.exercise) for leak in found}
    assert named - KNOWN.keys() == set(), sorted(found)
    assert KNOWN.keys() - named == set(), "no longer an exception"


def test_a_table_of_wrong_kernels_would_be_noticed():
    files = {path.name: path for path in (ROOT / "results/mutants").glob("*.json")}
    found = leaks(answers(ROOT / "chapters"), files)
    assert len({leak.exercise for leak in found}) > 10


def test_an_answer_with_another_name_in_it_is_an_answer(tmp_path):
    code = (
        "for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):\n    y[i] += a * x[i]"
    )
    answer = Answer("05", "saxpy", list(lines_of(code)))
    near, far = tmp_path / "near.py", tmp_path / "far.py"
    near.write_text(code.replace("a * x[i]", "b * x[i]  # scaled"))
    far.write_text("for i in range(n):\n    y[i] += a * x[i]\n")
    found = leaks([answer], {"near": near, "far": far})
    assert [leak.path for leak in found] == ["near"]


def test_the_handouts_readme_and_make_promise_what_is_there(handout):
    readme = (handout / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\[[^]]*\]\(([^)]+)\)", readme)
    named = re.findall(r"`((?:[\w.-]+/)+|[\w-]+\.(?:py|md))`", readme)
    for path in [*links, *named]:
        assert path.startswith("https://") or (handout / path).exists(), path
    said = subprocess.run(["make"], cwd=handout, capture_output=True, text=True)
    targets = re.findall(r"^  make ([a-z-]+)", said.stdout, re.M)
    assert targets == ["help", "lab", "repair", "clean"]
    assert set(re.findall(r"`make ([a-z]+)", readme)) <= set(targets)
