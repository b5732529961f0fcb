"""Take a notebook's cell apart into its statements and the names they define."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from IPython.core.inputtransformer2 import TransformerManager

MAGIC = re.compile(r"%%(?:c|makefile)[ \t]+(\w+)[^\n]*\n")
# Magics that run the Python code below them unchanged, and empty lines.
AROUND = re.compile(r"\A(?:\s*%%(?:capture|prun|time)\b[^\n]*\n)?(?:[ \t]*\n)*")
BEGUN = re.compile(r"^(?:def|class)[ \t]+(\w+)", re.MULTILINE)
LINES = re.compile(r"\r\n|\r|\n")  # what Python takes for the end of a line
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Piece:
    """A statement at the top level of a cell: its text, and the names it defines.

    A call such as `f.register_fake(g)`, or `TABLE[0] = 1`, defines nothing; `of` is
    then the name that it changes, `f` or `TABLE`. fresh: whether the names' new values
    are independent of their old ones, as in `ONE = 1` but not in `ONE -= 1`, or in a
    `def` under an `if`. line: its number in the cell, counted from 1.
    """

    text: str
    node: ast.stmt
    names: frozenset[str]
    of: str = ""
    fresh: bool = True
    line: int = 0

    def uses(self) -> set[str]:
        """Return the names that the statement uses but does not define itself."""
        found = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name)}
        return found - (local_names(self.node) if self.fresh else set())


def magic(source: str) -> str:
    """Return the name that a cell of C or of a Makefile defines; "" for other cells."""
    found = MAGIC.match(source.lstrip())
    return found[1] if found else ""


@cache
def pieces(source: str) -> tuple[Piece, ...]:
    """Take a cell apart. Raises SyntaxError, also for text that Python cannot read."""
    return tuple(_pieces(source))


def _pieces(source: str) -> Iterator[Piece]:
    plain = AROUND.sub("", source)
    dropped = source[: len(source) - len(plain)].count("\n")
    try:
        text: str = TransformerManager().transform_cell(plain)  # type: ignore[no-untyped-call]
        body = ast.parse(text).body
    except (MemoryError, RecursionError, ValueError) as error:
        raise SyntaxError(f"{type(error).__name__}: {error}") from None
    lines = LINES.split(text)
    touched = Counter(n for node in body for n in {node.lineno, node.end_lineno})
    for node in body:
        first = min([node, *getattr(node, "decorator_list", [])], key=_line)
        part = "\n".join(lines[first.lineno - 1 : node.end_lineno])
        if touched[node.lineno] > 1 or touched[node.end_lineno] > 1:
            # "": other statements share its lines
            part = ast.get_source_segment(text, node) or ""
        names, of = frozenset(bound(node)), _of(node)
        fresh = bool(names) and _fresh(node, names)
        yield Piece(part, node, names, of, fresh, first.lineno + dropped)


def names(source: str) -> set[str]:
    """Return the names that a cell defines, or begins to if it has a syntax error."""
    if name := magic(source):
        return {name}
    try:
        return {name for piece in pieces(source) for name in piece.names}
    except SyntaxError:
        return set(BEGUN.findall(source))


def where(cells: Sequence[str], name: str) -> list[int]:
    """Return the numbers of the cells that define a name, as a function if one does."""
    found = [k for k, cell in enumerate(cells) if name in names(cell)]
    begins = re.compile(rf"^[ \t]*(?:def|class)[ \t]+{name}\b", re.MULTILINE)
    written = [k for k in found if magic(cells[k]) or begins.search(cells[k])]
    return written or found


def local_names(node: ast.AST) -> set[str]:
    """Return the names that some code gives a value, including its parameters."""
    return {
        n.arg if isinstance(n, ast.arg) else n.id
        for n in ast.walk(node)
        if isinstance(n, ast.arg)
        or (isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    }


def bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a cell gives a value.

    A statement that sets an attribute gives none; an `if` or a `try` gives those of all
    its branches.
    """
    if isinstance(node, ast.Delete) or _targets(node, ast.Attribute):
        return set()
    found: set[str] = set()
    todo: list[ast.AST] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, SCOPES):
            found.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in part.names}
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif not isinstance(part, (ast.Lambda, *COMPREHENSIONS)):
            todo += ast.iter_child_nodes(part)
    return found


def root(node: ast.expr) -> str:
    """Return the name at the root of attributes and indices; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _line(node: ast.stmt | ast.expr) -> int:
    return node.lineno


def _targets(
    node: ast.stmt, kind: type[ast.Attribute] | type[ast.Subscript]
) -> list[ast.Attribute | ast.Subscript]:
    """Return the attributes, or else the subscripts, that a statement assigns to."""
    stored: list[ast.expr] = []
    match node:
        case ast.Assign(targets=stored):
            pass
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            stored = [target]
    return [
        part
        for target in stored
        for part in ast.walk(target)
        if isinstance(part, kind) and isinstance(part.ctx, ast.Store)
    ]


def _of(node: ast.stmt) -> str:
    """Return the name whose value a statement changes in place; "" if none."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute() as called)):
            return root(called)
    return next(map(root, _targets(node, ast.Subscript)), "")


def _fresh(node: ast.stmt, names: frozenset[str]) -> bool:
    """Return whether the names' new values are independent of their old ones."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            read = node.decorator_list
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            read = [value]
        case ast.Import() | ast.ImportFrom():
            read = []
        case _:
            return False
    used = {n.id for each in read for n in ast.walk(each) if isinstance(n, ast.Name)}
    return not used & names
