"""The digests by which equal answers are found.

Two answers are equal if their syntax trees are, so comments, layout, docstrings and
annotations do not count. For a second comparison, the parameters and variables of their
functions are numbered, so that renaming does not hide a copy; literals and all other
names stay. Short answers are often equal by chance, so the digests include the number
of nodes in the tree.
"""

import ast
import hashlib
import re

from grading.answers import Submission
from grading.paper import Paper, Script, cells_of
from grading.processes import ROOT

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|#[^\n]*", re.DOTALL)
Digests = tuple[str, str, int]  # as written; with names numbered; number of nodes


def digests(source: str) -> Digests:
    """Return the digests of an answer, or of its words if Python cannot parse it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        words = COMMENT.sub("", source).split()
        return _digest(" ".join(words)), _digest(" ".join(words)), len(words)
    tree = _Plain().visit(tree)
    nodes = sum(1 for _ in ast.walk(tree))
    written = _digest(ast.dump(tree))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            _number(node)
    return written, _digest(ast.dump(tree)), nodes


def compared(script: Script) -> dict[str, Digests]:
    """Return the digests of each answer in a script, by exercise."""
    return {
        cell.defines: digests(cell.source)
        for cell in script.cells
        if cell.defines and cell.defines not in script.missing
    }


def of_starters(paper: Paper) -> dict[str, Digests]:
    """Return the digests of the lab's starters, by exercise."""
    return {e: digests(paper.cells[n]) for n, e in paper.defines.items()}


def of_solution(paper: Paper) -> dict[str, Digests]:
    """Return the digests of the course's own answers; {} if there is no solution."""
    path = ROOT / "solutions" / f"{paper.lab}.ipynb"
    if not path.is_file():
        return {}
    return compared(paper.script(Submission(cells_of(path), paper.known)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Plain(ast.NodeTransformer):
    """A transformer that removes docstrings and annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


def _number(node: ast.AST) -> None:
    """Number the parameters and variables of a statement in order of appearance."""
    numbers: dict[str, str] = {}
    for part in ast.walk(node):
        match part:
            case ast.arg(arg=name):
                numbers.setdefault(name, f"name {len(numbers)}")
            case ast.Name(id=name, ctx=ast.Store()):
                numbers.setdefault(name, f"name {len(numbers)}")
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            part.arg = numbers[part.arg]
        elif isinstance(part, ast.Name):
            part.id = numbers.get(part.id, part.id)
