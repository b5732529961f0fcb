"""What a submission contributes: its exercises' definitions, and what they need.

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
    """An answer. source: the cell to run, or "" if the answer is refused.

    refused: why it is refused. kind: the reason in a word. note: which lines of the
    notebook were not taken, and which of several answers was.
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
    """The code cells of a learner's notebook, and what its lab has."""

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
        """Return the answer to an exercise, or None if the notebook has none.

        The answer is the last cell above the last check of the exercise that defines
        it, unless that cell is still the lab's starter and another one is not.

        own: the names that the exercise's cell may define. given: the names that the
        rest of the lab defines, which an answer cannot change. starter: the lab's cell
        of the exercise.
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
        """Return what sets a name before the exercise's check; None if nothing does."""
        for number, cell in enumerate(self.cells):
            if checked(cell) == exercise:
                made = _made(name, self.pieces[:number])
                return _judged(made, self.known) if made else None
        return None

    def _checked(self, exercise: str) -> int:
        """Return the number of the exercise's last check, or else of the last cell."""
        found = [k for k, cell in enumerate(self.cells) if checked(cell) == exercise]
        return max(found, default=len(self.cells) - 1)

    def _needed(
        self, number: int, until: int, kept: list[Piece], given: set[str]
    ) -> list[Piece]:
        """Return the pieces that make up an answer, those of other cells first.

        number: the exercise's cell; `kept` are the pieces of it that define the
        exercise. until: the cell that checks the exercise; cells below it count only
        for names that nothing above defines.
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
    """Return the pieces that give a name its value, as it is after the last cell.

    These begin with the name's last definition that does not depend on an earlier one.
    A call of one of its methods counts if its cell also defines the name.
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
    """Return whether to tell the learner that a piece was not taken."""
    match piece.node:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name not in ("check", "display", "hint", "print", "quiz")
    return True


def _broken(cell: str) -> Answer | None:
    """Return a refusal of a cell that Python cannot parse, or else None."""
    try:
        list(pieces(cell))
    except SyntaxError as error:
        return Answer("", f"Line {error.lineno}: {error.msg}.", "syntax")
    return None


def _judged(found: Iterable[Piece], known: Known, given: Iterable[str] = ()) -> Answer:
    """Return the answer of these pieces, refused if one of them may not be in it."""
    kept = list(found)
    try:
        inspect(kept, known.imports, known.names, given)
    except Refused as error:
        return Answer("", str(error))
    except RecursionError:
        return Answer("", "It is nested too deeply to be read.", "error")
    return Answer("\n\n\n".join(piece.text for piece in kept))
