"""What a submission contributes: the definitions of exercises, and what these need.

An answer is read before it runs; `inspector` refuses what no answer needs.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from grading.inspector import Refused, inspect
from grading.naming import Imports
from grading.pieces import Piece, magic, pieces, where
from weft.cells import checked

LEFT = "Of the cell, these lines were not taken:"
SEVERAL = "The notebook has {} {} times; that in code cell {} of {} was graded."


@dataclass(frozen=True)
class Answer:
    """source: the cell to run. If it is "", refused says why, and kind in a word.

    note: which lines of the notebook were not taken, and which of several answers was.
    """

    source: str
    refused: str = ""
    kind: str = "refused"
    note: str = ""


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
        self.pieces: list[list[Piece]] = []
        for cell in self.cells:
            try:
                self.pieces.append([] if magic(cell) else list(pieces(cell)))
            except SyntaxError:
                self.pieces.append([])

    def answer(
        self, exercise: str, own: set[str], given: set[str], starter: str = ""
    ) -> Answer | None:
        """Return the answer to an exercise, None if the notebook has none.

        It is the last one before the last check of the exercise, unless that is still
        the lab's starter and a later one is not. own: the names that the exercise's
        cell may define; given: those that the rest of the lab defines, which an answer
        cannot change.
        """
        found = where(self.cells, exercise)
        if not found:
            return None
        until = self._checked(exercise)
        begun = [k for k in found if self.cells[k].strip() != starter.strip()]
        number = max([k for k in begun if k <= until] or begun or found)
        several = ""
        if len(found) > 1:
            several = SEVERAL.format(exercise, len(found), number + 1, len(self.cells))
        cell, here = self.cells[number], self.pieces[number]
        if magic(cell) and starter and not magic(starter):
            return Answer("", "This exercise is not written in C.", note=several)
        if magic(cell):
            return Answer(cell, note=several)
        if error := _broken(cell):
            return replace(error, note=several)
        kept = [p for p in here if p.names & own or p.of in own]
        needed = [
            piece
            for piece in self._needed(number, until, kept, given)
            if piece in here or piece.fresh or not _judged([piece], self.known).refused
        ]
        left = [
            f"line {piece.line}: {piece.text.splitlines()[0]}"
            for piece in here
            if piece not in needed and _worth_saying(piece)
        ]
        lines = [several] * bool(several) + [LEFT, *left] * bool(left)
        return replace(_judged(needed, self.known, given), note="\n".join(lines))

    def value(self, name: str, exercise: str) -> Answer | None:
        """Return what gives a name its value before the check of an exercise."""
        for number, cell in enumerate(self.cells):
            if checked(cell) == exercise:
                made = _made(name, self.pieces[:number])
                return _judged(made, self.known) if made else None
        return None

    def _checked(self, exercise: str) -> int:
        """The number of the last cell that checks an exercise, or of the last cell."""
        found = [k for k, cell in enumerate(self.cells) if checked(cell) == exercise]
        return max(found, default=len(self.cells) - 1)

    def _needed(
        self, number: int, until: int, kept: list[Piece], given: set[str]
    ) -> list[Piece]:
        """The pieces that the answer consists of, those from other cells first.

        number: the exercise's cell, of whose pieces `kept` define it. until: the cell
        that checks it; what stands below counts only for names that nothing above
        defines.
        """
        last = max(number, until) + 1
        chosen, known = list(kept), set(given)
        wanted = [name for piece in kept for name in piece.uses()]
        while wanted:
            name = wanted.pop()
            if name in known:
                continue
            known.add(name)
            made = _made(name, self.pieces[:last]) or _made(name, self.pieces[last:])
            new = [piece for piece in made if piece not in chosen]
            chosen += new
            wanted += [name for piece in new for name in piece.uses()]
        others = [*self.pieces[:number], *self.pieces[number + 1 :]]
        order = [piece for cell in [*others, self.pieces[number]] for piece in cell]
        return [piece for piece in order if piece in chosen]


def _made(name: str, cells: list[list[Piece]]) -> list[Piece]:
    """The pieces that make a name what it is after the last of these cells.

    From its last definition that stands for itself on; a call of one of its methods
    counts in the cell of a definition.
    """
    found = [
        piece
        for cell in cells
        if any(name in piece.names for piece in cell)
        for piece in cell
        if name in piece.names or piece.of == name
    ]
    fresh = [k for k, p in enumerate(found) if p.fresh and name in p.names]
    return found[max(fresh, default=0) :]


def _worth_saying(piece: Piece) -> bool:
    """Whether a learner should hear that a piece was not taken."""
    match piece.node:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name not in ("check", "display", "hint", "print", "quiz")
    return True


def _broken(cell: str) -> Answer | None:
    """What there is to say about a cell that Python cannot read, None for others."""
    try:
        list(pieces(cell))
    except SyntaxError as error:
        return Answer("", f"Line {error.lineno}: {error.msg}.", "syntax")
    return None


def _judged(found: Iterable[Piece], known: Known, given: Iterable[str] = ()) -> Answer:
    """The answer that consists of these pieces, if all of them may be in one."""
    kept = list(found)
    try:
        inspect(kept, known.imports, known.names, given)
    except Refused as error:
        return Answer("", str(error))
    except RecursionError:
        return Answer("", "It is nested too deeply to be read.", "error")
    return Answer("\n\n\n".join(piece.text for piece in kept))
