"""Time functions on the GPU, or show the reference GPU's results."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from weft import device, lesson, starters, timing, units
from weft.bench import claims, recorded, results
from weft.bench.comparison import Candidate, Comparison, Guesses, check_candidates
from weft.bench.rows import Row, Rows, as_results
from weft.bench.table import Measurements, Table
from weft.errors import LearnerError
from weft.lesson import board, predictions
from weft.timing import Timing

Candidates = Mapping[str, Candidate]


def time(
    function: Candidate,
    *,
    host: bool = False,
    graph: bool = False,
    stopwatch: timing.Stopwatch | None = None,
) -> Timing:
    """Time one function on the GPU, with a cold cache.

    The time is the median of at least 20 calls, or of at least 5 if they are slow.

    host, graph: time the host's part too, or a CUDA graph of many calls, both with a
    warm cache, as `compare` does.

    Raises LearnerError without a GPU or PyTorch, or if `function` is not a function,
    and CandidateError if the function fails.
    """
    check_candidates({"the function": function})
    if stopwatch is None:
        gpu = device.find()
        if not gpu.usable:
            raise LearnerError(
                f"there is no GPU to time on: {gpu.why}. `bench.compare` "
                "shows the reference GPU's times instead"
            )
        stopwatch = Way(host, graph).watch()
    return timing.measure({"the function": function}, stopwatch)["the function"]


def compare(
    case: str,
    candidates: Candidates | Callable[[], Candidates],
    *,
    baseline: str | None = None,
    bytes: float | None = None,
    flops: float | None = None,
    ceiling: str | float | None = None,
    guess: Mapping[str, float | None] | None = None,
    host: bool = False,
    graph: bool = False,
    unsteady: str = "",
    lab: str | None = None,
    stopwatch: timing.Stopwatch | None = None,
) -> Table:
    """Time several functions in turn and return a table of their times.

    case: what is timed, with its shape and type; together with a row's name it is the
    key of a result. candidates: name → function without arguments that queues the work,
    as in `{"mine": lambda: kernel[grid, block](x, out)}`; or a function that returns
    such a dict, which is only called if there is a GPU, so that it can allocate GPU
    memory. baseline: the name whose time the ratios refer to. bytes, flops: the amount
    that one call moves or computes, for the rate; at most one of the two. ceiling: a
    name, or a rate in bytes/s or flop/s. guess: name → predicted ratio, shown beside
    the measured one; None for "not guessed yet", which hides the row in a learner's
    notebook.

    host: whether to time all that a program waits for, and not only the GPU's part.
    This times calls in a loop, with a warm cache, and suits training steps and launch
    costs. graph: whether to time a CUDA graph of many launches, with a warm cache. This
    suits kernels that take a few µs. stopwatch: another way to time; its attribute
    `host` says whether the host's time is included (by default it is). lab: the lab
    whose results to use, by default the current one. unsteady: the reason, if times of
    this case vary by more than a fifth or come from fewer than five repetitions.

    On a GPU, adds the rows to the results if `WEFT_RESULTS` is set. A row that is
    unsteady without a reason is not written, and counts as a failed claim. Without a
    GPU, shows the reference GPU's rows and calls nothing. The functions are kept, so
    that a claim can have them measured again.

    Raises LearnerError if the arguments cannot work, and CandidateError if a function
    fails.
    """
    if bytes is not None and flops is not None:
        raise LearnerError("give bytes= or flops=, not both: a rate is of one")
    work, unit = (flops, "FLOP") if flops is not None else (bytes, "B")
    unit = unit if work is not None else ""
    way = Way(host, graph, stopwatch)
    asked = Comparison(
        case, work, unit, baseline or "", ceiling, dict(guess or {}), host or graph
    )
    lab = lab or lesson.current()
    on_gpu = stopwatch is not None or device.find().usable
    built, names = _built(candidates, on_gpu)
    if built is not None:
        check_candidates(built)
    if names is not None:
        asked.check(names)
    if isinstance(ceiling, int | float) and not unit:
        raise LearnerError("a ceiling in bytes/s or flop/s needs bytes= or flops= too")

    if built is None or not on_gpu:
        return held_against(recorded.instead(asked, names, lab), asked.guess, lab)
    rows = asked.rows(timing.measure(built, way.watch()))

    def again() -> Rows:
        anew = candidates() if callable(candidates) else candidates
        return asked.rows(timing.measure(anew, way.watch()))

    table = _table(asked, rows, way, Measurements(lab, way.by_host, again))
    if lab is not None:
        sure = rows if unsteady else tuple(row for row in rows if not row.doubt)
        results.record(lab, as_results(case, sure, unit, asked.baseline, unsteady))
        _refuse(case, [row for row in rows if row not in sure])
    table = replace(table, notes=(*table.notes, *_not_begun(built)))
    return held_against(table, asked.guess, lab)


@dataclass(frozen=True)
class Way:
    """How to time: including the host, as a CUDA graph, or with a given stopwatch.

    Raises LearnerError if both `host` and `graph` are true.
    """

    host: bool = False
    graph: bool = False
    stopwatch: timing.Stopwatch | None = None

    def __post_init__(self) -> None:
        if self.host and self.graph:
            raise LearnerError(
                "give host= or graph=, not both: a graph has no host part"
            )

    def watch(self) -> timing.Stopwatch:
        """Return the stopwatch: the given one, or a new one."""
        if self.stopwatch is not None:
            return self.stopwatch
        if self.graph:
            return timing.GraphStopwatch()
        return timing.WallStopwatch() if self.host else timing.EventStopwatch()

    @property
    def by_host(self) -> bool:
        """Whether the times include the host's part."""
        own = self.stopwatch is not None and getattr(self.stopwatch, "host", True)
        return self.host or own

    @property
    def source(self) -> str:
        """Where a table's times come from, as a sentence."""
        name = device.find().name or "this machine"
        how = ", the host included" if self.host else ""
        return f"Measured here, on {name}{', as CUDA graphs' if self.graph else how}."


def _table(
    asked: Comparison, rows: Rows, way: Way, measurements: Measurements
) -> Table:
    """Return the table of rows that were measured here."""
    return Table(
        asked.case,
        rows,
        asked.unit,
        asked.baseline,
        asked.ceiling_name,
        way.source,
        True,
        asked.notes(rows),
        measurements,
    )


def _refuse(case: str, rows: list[Row]) -> None:
    """If this run writes a record, report each row left out of it as a failure."""
    for row in rows if claims.recording() else ():
        text = (
            f'"{row.name}" on "{case}" is not recorded: {row.doubt}. '
            "Measure it better, or say with unsteady= why it is so"
        )
        claims.settle(claims.Outcome(claims.State.FAILED, text))


def _not_begun(built: Candidates) -> list[str]:
    """Return a remark on each row whose kernel is still the unedited starter."""
    found = {
        name: starters.called_stubs(candidate) for name, candidate in built.items()
    }
    return [
        f"{name}: `{stubs[0]}` is not written yet, so this is the time of a kernel "
        "that does nothing."
        for name, stubs in found.items()
        if stubs
    ]


def _built(
    candidates: Candidates | Callable[[], Candidates], on_gpu: bool
) -> tuple[Candidates | None, list[str] | None]:
    """Return the candidates and their names.

    Returns (None, None) if making them takes a GPU and there is none.
    """
    if not callable(candidates):
        return candidates, list(candidates)
    if not on_gpu:
        return None, None
    built = candidates()
    return built, list(built)


NEAR = 1.1  # a factor; a closer guess counts as right


def held_against(table: Table, guesses: Guesses, lab: str | None) -> Table:
    """Return `table` with unguessed rows hidden, and remarks on the guesses added.

    Only a learner's tables hide rows and have their guesses recorded. The tables of
    solutions show everything.
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
    quoted = ", ".join(f'"{name}"' for name in names)
    return [words.format(quoted)] if names else []


def verdict(row: Row) -> str:
    """Return a sentence that compares a row's guess with its ratio."""
    guess, found = units.digits(row.guess), units.digits(row.ratio)
    said = f"{row.name}: you predicted {guess}, and it is {found}"
    factor = row.ratio / row.guess
    if max(factor, 1 / factor) < NEAR:
        return f"{said}: right."
    if factor > 1:
        return f"{said}: {units.digits(factor)} times as fast as you expected."
    return f"{said}: {units.digits(1 / factor)} times slower than you expected."
