"""Guesses before measurements: rows stay covered until the learner has guessed."""

import math
from dataclasses import replace

from weft import units
from weft.bench.comparison import Guesses
from weft.bench.rows import Row
from weft.bench.table import Table
from weft.lesson import board, predictions

NEAR = 1.1  # a factor; a guess nearer than that was right


def held_against(table: Table, guesses: Guesses, lab: str | None) -> Table:
    """Return a table that covers what is still to be guessed, and judges the rest.

    Only a learner's tables are covered: those of solutions show everything.
    """
    open_names = [name for name, value in guesses.items() if value is None]
    if not board.counts(lab):
        notes = _asking("Predict first: fill in your guess for {}.", open_names)
        return replace(table, notes=(*table.notes, *notes))
    there = {row.name for row in table.rows if row.measured}
    covered = [name for name in open_names if name in there]
    notes = _asking(
        "Covered until you predict: put a number for {} into `guess` and run this cell "
        "again. (`guess = {{}}` shows the rows without.)",
        covered,
    )
    for row in table.rows:
        if math.isfinite(row.guess) and math.isfinite(row.ratio):
            predictions.note(lab, table.case, row.name, row.guess, row.ratio)
            notes.append(verdict(row))
    return replace(table, notes=(*table.notes, *notes), covered=frozenset(covered))


def _asking(words: str, names: list[str]) -> list[str]:
    return [words.format(", ".join(names))] if names else []


def verdict(row: Row) -> str:
    """Return a sentence on one guess."""
    guess, found = units.digits(row.guess), units.digits(row.ratio)
    said = f"{row.name}: you predicted {guess}, and it is {found}"
    factor = row.ratio / row.guess
    if max(factor, 1 / factor) < NEAR:
        return f"{said}: right."
    if factor > 1:
        return f"{said}: {units.digits(factor)} times as fast as you expected."
    return f"{said}: {units.digits(1 / factor)} times slower than you expected."
