"""Keep the answers about mutants, so that nothing is asked twice.

An answer depends on the code of a mutant, the cells of its lab, and the files that
computed it. It is asked again once one of these has changed.
"""

import ast
import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from typing import Any

from pipeline.wordless import wordless
from verification import cells
from verification.corpus import ROOT, dumped
from verification.mutants.making import Mutant, Right

FOLDER = ROOT / "_build" / "mutants"
MINE = ROOT / "verification" / "mutants"


@cache
def of_files(*patterns: str) -> str:
    """Return a digest of all files of the repository that match."""
    found = sorted(path for p in patterns for path in ROOT.glob(p))
    return digest(path.read_bytes() for path in found)


def digest(parts: Iterable[bytes]) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part + b"\0")
    return sha.hexdigest()[:16]


@cache
def of_lab(lab: str, exercise: str) -> str:
    """Return a digest of what a mutant's cell and check use, without messages.

    What a check says of a rejected answer does not decide whether it is rejected.
    """
    used = [c for c in cells.cells(lab)[1:] if "given" in c.metadata.get("tags", [])]
    texts = [cells.cells(lab)[0].source, *(c.source for c in used)]
    specs = ROOT / "chapters" / lab / "checks.py"
    if specs.is_file():
        spec = specs.read_text(encoding="utf-8")
        if len(ast.parse(without_reasons(spec)).body) > 1:  # more than its docstring
            texts.append(spec)
    checked = cells.checks(lab)[exercise]
    return digest(without_reasons(wordless(t)).encode() for t in (*texts, checked))


class _Reasons(ast.NodeTransformer):
    """Removes functions that only return sentences, and `because=` arguments."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        said = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
        return None if said and all(map(_is_text, said)) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [k for k in node.keywords if k.arg != "because"]
        return self.generic_visit(node)


def _is_text(node: ast.expr | None) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) and _is_text(node.orelse)
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr)


def without_reasons(source: str) -> str:
    """Return Python source without what it says of wrong answers.

    Source that is not Python is returned unchanged.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    return ast.unparse(_Reasons().visit(tree))


def of_exercise(rights: list[Right]) -> str:
    """Return a digest of an exercise's right kernels, and of what `of_lab` covers."""
    codes = (dumped(wordless(r.source)).encode() for r in rights)
    return digest([of_lab(rights[0].lab, rights[0].exercise).encode(), *codes])


TOOLS: dict[str, tuple[str, ...]] = {
    "check": ("weft/**/*.py", "weft/**/*.toml"),
    "values": (
        "weft/simulator/**/*.py",
        "weft/intrinsics/**/*.py",
        "verification/mutants/nearness.py",
        "verification/mutants/settings.py",
        "verification/mutants/values.py",
        "verification/mutants/schedules.py",
    ),
    "ptx": (
        "weft/compiling/*.py",
        "weft/intrinsics/**/*.py",
        "verification/mutants/ptx.py",
    ),
}


@cache
def of_tool(tool: str) -> str:
    packages = [f"{p} {version(p)}".encode() for p in ("numba", "numba-cuda", "numpy")]
    return digest([*packages, of_files(*TOOLS[tool]).encode()])


class Kept:
    """The answers about the mutants of a lab, in a file that only grows."""

    def __init__(self, lab: str) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self._path = FOLDER / f"{lab}.jsonl"
        self._known: dict[str, Any] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                key, value = json.loads(line)
                self._known[key] = value

    def get(
        self, tool: str, mutant: Mutant, rights: list[Right], ask: Callable[[], Any]
    ) -> Any:
        """Return a tool's answer; call `ask` if it is not known."""
        right = mutant.of
        parts = [tool, of_tool(tool), of_lab(right.lab, right.exercise), mutant.digest]
        parts += [right.exercise]
        if tool == "values":
            parts += [r.source for r in rights]
        key = digest(p.encode() for p in parts)
        if key not in self._known:
            self._known[key] = ask()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]
