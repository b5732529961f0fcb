"""The recordings show what the labs ask about: the same kernels, line for line."""

import ast
import re
from pathlib import Path

import pytest

from pipeline import labs, notebook

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "book" / "recordings"
FOLDER = RECORDINGS / "10_debugging"
PROFILES = RECORDINGS / "11_profiling"
C = RECORDINGS / "04_c_for_python"
DOORS = RECORDINGS / "02_ecosystem" / "doors.txt"
VARIANTS = {"mirror_once", "raises"}  # broken in another way, on purpose


def functions(text: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(text)
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}


def starters() -> dict[str, ast.FunctionDef]:
    found = {}
    for cell in notebook.read_script(notebook.script(ROOT, "10_debugging")).cells:
        if "broken" in cell.metadata.get("tags", []):
            found |= functions(labs.undo(cell.source))
    return found


def bare(function: ast.FunctionDef) -> str:
    """The function without its decorators, which may ask for line numbers."""
    function.decorator_list = []
    return ast.unparse(function)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_kernels_are_those_of_the_lab(path):
    broken = starters()
    assert len(broken) == 10
    if path.stem in VARIANTS:
        return
    for name, function in functions(path.read_text(encoding="utf-8")).items():
        if name in broken:
            assert bare(function) == bare(broken[name])


def test_profiled_kernels_are_those_of_the_lab():
    found = functions((PROFILES / "programs.py").read_text(encoding="utf-8"))
    cells = notebook.read_script(notebook.script(ROOT, "11_profiling")).cells
    answers = {}
    for cell in cells:
        if "@cuda.jit" in cell.source:
            answers |= functions(cell.source)
    shared = sorted(found.keys() & answers.keys())
    assert len(shared) == 8
    for name in shared:
        assert bare(found[name]) == bare(answers[name])


def counters(upper: bool) -> dict[str, list[str]]:
    """One of the recorded tables of counters: what is counted → four values."""
    text = (PROFILES / "counters.txt").read_text(encoding="utf-8")
    rows = {}
    lines = [n for n in text.splitlines() if not n.startswith(("$", "#"))]
    middle = lines.index("")
    for line in (lines[:middle] if upper else lines[middle + 1 :])[1:]:
        label, *values = re.split(r"\s{2,}", line.strip())
        rows[label] = values
    return rows


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text that are about counters."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    split = [[r.strip("| ").split(" | ") for r in t.splitlines()] for t in found]
    return [rows for rows in split if rows[2][0].startswith("Duration")]


def test_lab_and_page_show_what_was_recorded():
    cells = notebook.read_script(notebook.script(ROOT, "11_profiling")).cells
    (lab,) = tables("\n".join(cell.source for cell in cells))
    page = (ROOT / "book" / "11_profiling.md").read_text(encoding="utf-8")
    before, after = tables(page)
    for rows, upper in ((lab, True), (before, True), (after, False)):
        assert len(rows) == 11
        compare(rows[2:], counters(upper))


def compare(rows: list[list[str]], recorded: dict[str, list[str]]) -> None:
    """Hold rounded values against the recorded ones."""
    for label, *shown in rows:
        for value, exact in zip(shown, recorded[label], strict=True):
            *unit, value = value.lower().split()
            *of, exact = exact.replace(",", "").split()
            assert unit == of, label
            digits = len(value.partition(".")[2])
            assert f"{float(exact):.{digits}f}" == value, label


@pytest.mark.parametrize("folder", ["10_debugging", "11_profiling"])
def test_recordings_name_no_folders(folder):
    for path in (RECORDINGS / folder).glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("$ ") or path.stem == "tools", path.name
        assert "# NVIDIA" in text, path.name
        assert not any(f in text for f in ("/tmp/", "/root/", "/home/")), path.name


def test_the_c_that_was_timed_is_that_of_the_lab():
    cells = notebook.read_script(notebook.script(ROOT, "04_c_for_python")).cells
    (lab,) = [c.source for c in cells if c.source.startswith("%%c sums\n")]
    assert lab.split("\n", 1)[1].strip() == (C / "sums.c").read_text().strip()


def test_recordings_of_c_name_the_processor_and_no_folders():
    for path in C.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("$ "), path.name
        assert re.search(r"^# .+, \d{4}-\d\d-\d\d\n# gcc \d", text, re.M), path.name
        assert not re.search(r"/(tmp|root|home|work)/", text), path.name


def test_records_of_doors_are_those_that_the_lab_shows():
    recorded = DOORS.read_text(encoding="utf-8").split("\n\n", 1)[1]
    cells = notebook.read_script(notebook.script(ROOT, "02_ecosystem")).cells
    (shown,) = [c.source for c in cells if c.source.startswith("## 3 · Read a record")]
    lines = [n for n in shown.splitlines() if n.startswith("    ")]
    assert lines == [f"    {n}" for n in recorded.splitlines() if n]
