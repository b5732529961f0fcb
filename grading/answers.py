"""What a submission contributes: the definitions of exercises, and what these need.

An answer is read before it runs; `inspector` refuses what no answer needs.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from IPython.core.inputtransformer2 import TransformerManager

from grading.inspector import Imports, Refused, inspect
from weft.cells import checked

MAGIC = re.compile(r"%%(?:c|makefile)[ \t]+(\w+)[^\n]*\n")
BEGUN = re.compile(r"^(?:def|class)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """source: the cell to run. If it is "", refused says why, and kind in a word."""

    source: str
    refused: str = ""
    kind: str = "refused"


@dataclass(frozen=True)
class Piece:
    """A statement at the top of a cell: its text, and the names that it defines.

    A call such as `f.register_fake(g)` defines nothing, and belongs to what `f` is.
    """

    text: str
    node: ast.stmt
    names: frozenset[str]
    of: str = ""

    def uses(self) -> set[str]:
        """The names that the statement refers to and does not define itself."""
        found = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name)}
        return found - _local(self.node)


def magic(source: str) -> str:
    """Return the name that a cell of C or of a Makefile defines, "" for others."""
    found = MAGIC.match(source.lstrip())
    return found[1] if found else ""


def pieces(source: str) -> Iterator[Piece]:
    """Take a cell apart. Raises SyntaxError, also for what Python cannot read."""
    text: str = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    lines = text.splitlines()
    try:
        body = ast.parse(text).body
    except (MemoryError, RecursionError, ValueError) as error:
        raise SyntaxError(f"{type(error).__name__}: {error}") from None
    for node in body:
        first = min([node, *getattr(node, "decorator_list", [])], key=_line)
        part = "\n".join(lines[first.lineno - 1 : node.end_lineno])
        if found := frozenset(_bound(node)):
            yield Piece(part, node, found)
            continue
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute() as called)):
                yield Piece(part, node, found, of=_root(called))


def _line(node: ast.stmt | ast.expr) -> int:
    return node.lineno


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a cell gives a value."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {(a.asname or a.name).partition(".")[0] for a in aliases}
        case ast.Assign(targets=targets):
            stored = targets
        case ast.AnnAssign(target=target):
            stored = [target]
        case _:
            return set()
    if any(isinstance(t, ast.Attribute | ast.Subscript) for t in stored):
        return set()
    return {n.id for t in stored for n in ast.walk(t) if isinstance(n, ast.Name)}


def names(source: str) -> set[str]:
    """The names that a cell defines; with a syntax error, those that it begins to."""
    if name := magic(source):
        return {name}
    try:
        return {name for piece in pieces(source) for name in piece.names}
    except SyntaxError:
        return set(BEGUN.findall(source))


def where(cells: Sequence[str], name: str) -> int | None:
    """The number of the last cell that defines a name, as a function if one does."""
    found = [k for k, cell in enumerate(cells) if name in names(cell)]
    written = [k for k in found if magic(cells[k]) or name in BEGUN.findall(cells[k])]
    return max(written or found, default=None)


@dataclass(frozen=True)
class Known:
    """What a lab has: the names that it defines, and what it imports."""

    names: frozenset[str]
    imports: Imports


NOTHING = Known(frozenset(), {})


class Submission:
    """The code cells of a learner's notebook, and what their lab has."""

    def __init__(self, cells: Iterable[str], known: Known = NOTHING) -> None:
        self.cells, self.known = list(cells), known
        self.pieces: dict[str, Piece] = {}
        for cell in self.cells:
            if not magic(cell):
                try:
                    self.pieces |= {n: p for p in pieces(cell) for n in p.names}
                except SyntaxError:
                    continue

    def answer(self, exercise: str, own: set[str], given: set[str]) -> Answer | None:
        """Return the answer to an exercise, None if the notebook has none.

        own: the names that the exercise's cell may define; given: those that the rest
        of the lab defines, which an answer cannot change.
        """
        number = where(self.cells, exercise)
        if number is None:
            return None
        cell = self.cells[number]
        if magic(cell):
            return Answer(cell)
        try:
            return _judged(self._needed(list(pieces(cell)), own, given), self.known)
        except SyntaxError as error:
            return Answer("", f"Line {error.lineno}: {error.msg}.", "syntax")

    def value(self, name: str, exercise: str) -> Answer | None:
        """Return the last assignment to a name before the check of an exercise."""
        found = None
        for cell in self.cells:
            if checked(cell) == exercise:
                return _judged([found], self.known) if found else None
            if name in names(cell) and not magic(cell):
                try:
                    found = [p for p in pieces(cell) if name in p.names][-1]
                except SyntaxError as error:
                    return Answer("", f"Line {error.lineno}: {error.msg}.", "syntax")
        return None

    def _needed(
        self, here: list[Piece], own: set[str], given: set[str]
    ) -> Iterator[Piece]:
        """The pieces that the answer consists of, those from elsewhere first."""
        kept = [p for p in here if p.names & own or p.of in own]
        known = self.pieces | {n: p for p in here for n in p.names}
        wanted = [name for piece in kept for name in piece.uses()]
        more: dict[str, Piece] = {}
        while wanted:
            name = wanted.pop()
            piece = known.get(name)
            if piece and piece not in kept and not {name} & (given | more.keys()):
                more[name] = piece
                wanted += piece.uses()
        yield from dict.fromkeys(p for p in known.values() if p in more.values())
        yield from kept


def _judged(found: Iterable[Piece], known: Known) -> Answer:
    """The answer that consists of these pieces, if all of them may be in one."""
    kept = list(found)
    try:
        inspect(kept, known.imports, known.names)
    except Refused as error:
        return Answer("", str(error))
    except RecursionError:
        return Answer("", "It is nested too deeply to be read.", "error")
    return Answer("\n\n\n".join(piece.text for piece in kept))


def _local(node: ast.AST) -> set[str]:
    """The names that some code gives a value, parameters included."""
    return {
        n.arg if isinstance(n, ast.arg) else n.id
        for n in ast.walk(node)
        if isinstance(n, ast.arg)
        or (isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    }


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes and indices begins with, "" if none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
