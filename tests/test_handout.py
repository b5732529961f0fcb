"""What learners are handed out works on its own, and has no answers in it."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRY = """
import weft
from weft import hint
weft.lab("00_start_here")
for level in (1, 9):
    print(hint("double", level))
"""


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("make"),
    reason="needs git and make",
)
def test_the_handout_has_what_a_lab_needs_and_no_answers(tmp_path):
    subprocess.run(["make", "-s", "handout"], cwd=ROOT, check=True, timeout=120)
    with zipfile.ZipFile(ROOT / "_build" / "handout.zip") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    top = {name.split("/")[1] for name in names}
    assert top >= {"labs", "weft", "results", "Makefile", "install.py", "lab.py"}
    assert not top & {"solutions", "tests", "verification", "pipeline", "book"}
    chapters = {
        name.split("/")[3]
        for name in names
        if name.count("/") > 2 and "/chapters/" in name
    }
    assert "lesson.toml" in chapters
    assert not chapters & {"lab.py", "answers"}

    course = tmp_path / "warp-and-weft"
    outside = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        cwd=course / "labs",
        env=outside | {"PYTHONPATH": str(course), "WEFT_SIMULATOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "there is an answer in the book" in " ".join(done.stdout.split())
