"""The rows of one case, how they are shown, and what a lesson claims about them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from weft import device, lesson, units
from weft.bench import claims, ladder, results
from weft.bench.rows import Row, Rows, from_result
from weft.errors import LearnerError


class Measurements:
    """Further measurements of a table's rows, made on request.

    This object keeps the timed functions alive, with the arrays that they use. If the
    candidates come from a function, only that function is kept, and called again.
    """

    def __init__(self, lab: str | None, host: bool, again: Callable[[], Rows]) -> None:
        """Prepare to measure a table's rows again.

        lab: the lab whose record is used to check claims. host: whether the host's
        clock measured the times. again: measures all rows again.
        """
        self.lab = lab
        self.host = host
        self._again = again
        self._later: list[Rows] = []

    def repeat(self, number: int) -> Rows:
        """Return the rows of repetition `number`, counted from 1.

        A repetition is measured only when it is first asked for.
        """
        while len(self._later) < number:
            self._later.append(self._again())
        return self._later[number - 1]


@dataclass(frozen=True, repr=False)
class Table:
    """The rows of one case; `table["naive"]` is one of them.

    unit: "B" or "FLOP", or "" if no amount of work was given. baseline, ceiling: what
    the ratios and fractions refer to, or "" if there are none. source: where the times
    come from, as a sentence. here: whether the times were measured on this machine.
    measurements: how to measure the times again. covered: rows that are shown without
    numbers, because the learner has not predicted them yet. machine: the GPU of the
    rows, if it is not this machine's.
    """

    case: str
    rows: Rows
    unit: str
    baseline: str
    ceiling: str
    source: str
    here: bool
    notes: tuple[str, ...] = ()
    measurements: Measurements | None = field(default=None, compare=False)
    covered: frozenset[str] = frozenset()
    machine: str = ""

    def __getitem__(self, name: str) -> Row:
        return self._row(name, self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return ladder.text(self)

    def _repr_html_(self) -> str:
        return ladder.html(self)

    def expect(
        self,
        name: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        times: str | None = None,
        of: "Table | None" = None,
        law: float | None = None,
        within: float | None = None,
        ceiling: float | None = None,
    ) -> None:
        """Make a lesson's claim about a row's speed.

        at_least, at_most: bounds on the row's speed as a multiple of that of the row
        `times` (by default the baseline) in the table `of` (by default this one). law:
        the factor that follows from counted bytes or operations; within: how far from
        `law` the factor may be on the reference GPU, as a fraction. ceiling: a lower
        bound on the fraction of the ceiling that the row reaches. If `of` is another
        table with the same unit of work, speeds are rates; otherwise they are calls per
        second.

        Whether a claim holds, and what happens if it does not, depends on the machine:
        see `weft.bench.claims`. If a row was not measured, nothing is checked, and a
        line says so. Raises LearnerError if the claim makes no sense.
        """
        of = self if of is None else of
        for table in (self, of):
            if not table.rows and not table.here:
                print(f'Not checked: "{table.case}" was not timed on a GPU yet.')
                return
        factor = (at_least, at_most, times, law, within)
        if ceiling is None or any(value is not None for value in factor):
            bounds = claims.Bounds(at_least, at_most, law, within)
            self._expect_factor(name, bounds, times, of)
        if ceiling is not None:
            self._expect_share(name, claims.Bounds(ceiling, share=True))

    def _expect_factor(
        self, name: str, bounds: claims.Bounds, times: str | None, of: "Table"
    ) -> None:
        """Claim that the ratio of a row's speed to another's is within `bounds`."""
        other = times if times is not None else of.baseline
        if not other:
            raise LearnerError(
                f'{bounds.text} what? Say times="..." or give the table a '
                f"baseline. {_names(of.rows)}"
            )
        row, base = self[name], of[other]
        if not _all_measured(row, base):
            return
        rated = of is not self and bool(self.unit) and self.unit == of.unit

        def measured(attempt: int) -> float:
            fast = self._row(name, self._rows(attempt))
            slow = of._row(other, of._rows(attempt))
            return fast.rate / slow.rate if rated else slow.ms / fast.ms

        there = "" if of is self else f' on "{of.case}"'
        what = (
            f'"{name}" on "{self.case}" beside "{other}"{there} '
            f"({_time(row)} and {_time(base)})"
        )
        mine, theirs = self._recorded(name), of._recorded(other)
        recorded = mine.rate / theirs.rate if rated else theirs.ms / mine.ms
        host = any(
            t.measurements is not None and t.measurements.host for t in (self, of)
        )
        self._settle(what, bounds, measured, recorded, host)

    def _expect_share(self, name: str, bounds: claims.Bounds) -> None:
        """Claim what share of the ceiling a row reaches."""
        if not self.ceiling:
            raise LearnerError("this table has no ceiling: give compare a ceiling=")
        row = self[name]
        if not _all_measured(row):
            return
        what = f'"{name}" on "{self.case}", of {self.ceiling} ({_time(row)})'
        self._settle(
            what,
            bounds,
            lambda attempt: self._row(name, self._rows(attempt)).ceiling,
            self._recorded(name).ceiling,
            self.measurements is not None and self.measurements.host,
        )

    def _settle(
        self,
        what: str,
        bounds: claims.Bounds,
        measured: Callable[[int], float],
        recorded: float,
        host: bool,
    ) -> None:
        """Decide a claim with what is known about this machine, and report it."""
        claim = claims.Claim(
            what,
            bounds,
            measured,
            here=self.here,
            host=host,
            recorded=recorded,
            attempts=claims.MEASUREMENTS if self.measurements is not None else 1,
            reference=results.reference_name(self._lab),
            on_reference=results.slug(device.find().name) == results.REFERENCE,
        )
        claims.settle(claims.decide(claim, claims.recording()))

    @property
    def _lab(self) -> str | None:
        return self.measurements.lab if self.measurements else lesson.current()

    def _rows(self, attempt: int) -> Rows:
        """Return the rows as first measured (attempt 0), or as measured again.

        Without `measurements`, they are always returned as first measured.
        """
        if not attempt or self.measurements is None:
            return self.rows
        return self.measurements.repeat(attempt)

    def _row(self, name: str, rows: Rows) -> Row:
        for row in rows:
            if row.name == name:
                return row
        raise LearnerError(f'no row "{name}" in this table. {_names(self.rows)}')

    def _recorded(self, name: str) -> Row:
        """Return the row `name` of this GPU's own record, or an empty row."""
        gpu = results.slug(device.find().name)
        if not self.here or self._lab is None or not gpu:
            return Row(name)
        data = results.reference(self._lab, gpu=gpu)
        return from_result(name, results.of_case(data, self.case).get(name, {}))


def _all_measured(*rows: Row) -> bool:
    """Return whether all rows have times; print which have none."""
    unknown = [f'"{row.name}"' for row in rows if not row.measured]
    if unknown:
        were = "was" if len(unknown) == 1 else "were"
        print(f"Not checked: {' and '.join(unknown)} {were} not timed on a GPU yet.")
    return not unknown


def _names(rows: Rows) -> str:
    return f"Its rows: {', '.join(r.name for r in rows) or 'none'}"


def _time(row: Row) -> str:
    return f"{units.time(row.ms)} ± {units.time(row.spread / 2)}"
