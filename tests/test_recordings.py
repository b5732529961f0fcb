"""The recordings show what the labs ask about: the same kernels, line for line."""

import ast
from pathlib import Path

import pytest

from pipeline import labs, notebook

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "book" / "recordings" / "10_debugging"
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


def test_recordings_name_no_folders():
    for path in FOLDER.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("$ ") or path.stem == "tools", path.name
        assert "# NVIDIA" in text, path.name
        assert not any(f in text for f in ("/tmp/", "/root/", "/home/")), path.name
