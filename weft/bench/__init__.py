"""Time what you wrote beside what a library does, and say which share of the machine
it reaches.

    table = bench.compare(
        "8192 x 8192 float32",
        {"copy": lambda: out.copy_(x), "naive": lambda: naive[grid, block](a, b)},
        baseline="copy", bytes=2 * x.nbytes, ceiling="copy", guess={"naive": 0.5},
    )

On a GPU everything is timed here. Without one nothing is: the rows are those that the
notebook measured on the reference GPU, and the table says so.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft import device, lesson, timing, units
from weft.bench import builds, ladder, results
from weft.errors import LearnerError
from weft.timing import CandidateError, Timing

__all__ = [
    "CandidateError",
    "Row",
    "Table",
    "Timing",
    "compare",
    "compiled",
    "reference",
    "stream",
    "time",
]

Candidate = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One candidate's measurement; a value that is not known is NaN.

    ms: the median time of a call; spread: its interquartile range, ms; rate: bytes/s or
    flop/s; ratio: how many times as fast as the baseline; ceiling: fraction of the
    ceiling's rate; guess: the ratio that the learner predicted. remark: what else went
    into the time, "" for nothing.
    """

    name: str
    ms: float = math.nan
    spread: float = math.nan
    rate: float = math.nan
    ratio: float = math.nan
    ceiling: float = math.nan
    guess: float = math.nan
    remark: str = ""

    @property
    def measured(self) -> bool:
        return math.isfinite(self.ms)


@dataclass(frozen=True, repr=False)
class Table:
    """The rows of one case; `table["naive"]` is one of them.

    unit: "B" or "FLOP", "" where no amount of work was given. baseline, ceiling: what
    the ratios and fractions refer to, "" for nothing. source: where the times come
    from, a sentence. here: whether they were measured on this machine.
    """

    case: str
    rows: tuple[Row, ...]
    unit: str
    baseline: str
    ceiling: str
    source: str
    here: bool
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise LearnerError(f'no row "{name}" in this table. {_names(self.rows)}')

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def expect(
        self,
        name: str,
        *,
        at_least: float | None = None,
        times: str | None = None,
        ceiling: float | None = None,
    ) -> None:
        """Assert what a lesson claims of a row.

        at_least: it is that many times as fast as the row `times` (by default the
        baseline); ceiling: it reaches that fraction of the ceiling. Raises
        AssertionError with the numbers. Where a row was not measured it prints that
        nothing was checked.
        """
        if not self.rows and not self.here:
            print(f'Not checked: "{self.case}" was not timed on a GPU yet.')
            return
        row = self[name]
        other = times if times is not None else self.baseline
        if at_least is None and ceiling is None:
            raise LearnerError("expect what? Give at_least=, or ceiling=")
        if at_least is not None and not other:
            raise LearnerError(
                f'at_least={at_least} times what? Say times="..." or give the table a '
                f"baseline. {_names(self.rows)}"
            )
        if ceiling is not None and not self.ceiling:
            raise LearnerError("this table has no ceiling: give compare a ceiling=")
        compared = [row] if at_least is None else [row, self[other]]
        unknown = [r.name for r in compared if not r.measured]
        if unknown:
            names = " and ".join(f'"{n}"' for n in unknown)
            print(f"Not checked: {names} was not timed on a GPU yet.")
            return
        at = f'on "{self.case}" ({self.source.rstrip(".")})'
        if at_least is not None:
            base = self[other]
            factor = base.ms / row.ms
            if not factor >= at_least:
                raise AssertionError(
                    f'"{name}" should be at least {units.digits(at_least)} times as '
                    f'fast as "{other}" {at}; it is {units.digits(factor)} times: '
                    f"{_time(row)} against {_time(base)}"
                )
        if ceiling is not None and not row.ceiling >= ceiling:
            raise AssertionError(
                f'"{name}" should reach {units.percent(ceiling)} of {self.ceiling} '
                f"{at}; it reaches {units.percent(row.ceiling)}: {_time(row)}"
            )

    def __repr__(self) -> str:
        return ladder.text(self)

    def _repr_html_(self) -> str:
        return ladder.html(self)


def time(
    function: Candidate,
    *,
    host: bool = False,
    graph: bool = False,
    stopwatch: timing.Stopwatch | None = None,
) -> Timing:
    """Time one function on the GPU: cold cache, median of 20 calls or more.

    host, graph: time the host's part too, or a CUDA graph of many calls, both with a
    warm cache, as `compare` does.
    Raises LearnerError without a GPU or PyTorch, or for what is not a function,
    CandidateError if the function fails.
    """
    _check({"the function": function})
    if stopwatch is None:
        gpu = device.find()
        if not gpu.usable:
            raise LearnerError(
                f"there is no GPU to time on: {gpu.why}. `bench.compare` "
                "shows the reference GPU's times instead"
            )
        stopwatch = _stopwatch(host, graph)
    return timing.measure({"the function": function}, stopwatch)["the function"]


def compare(
    case: str,
    candidates: Mapping[str, Candidate] | Callable[[], Mapping[str, Candidate]],
    *,
    baseline: str | None = None,
    bytes: float | None = None,
    flops: float | None = None,
    ceiling: str | float | None = None,
    guess: Mapping[str, float | None] | None = None,
    host: bool = False,
    graph: bool = False,
    lab: str | None = None,
    stopwatch: timing.Stopwatch | None = None,
) -> Table:
    """Time several functions in turns and return them as a table.

    case: what is timed, shape and type; with a row's name the key of a result.
    candidates: name → function without arguments that queues the work, as in
    `{"mine": lambda: kernel[grid, block](x, out)}`; or a function that returns such a
    dict, called only where there is a GPU, so that it can allocate GPU memory.
    baseline: the name whose time the ratios refer to. bytes, flops: what one
    call moves or computes, for the rate; at most one of them. ceiling: a name, or a
    rate in bytes/s or flop/s. guess: name → predicted ratio, shown beside the measured
    one; None for "not guessed yet". host: time what a program waits for, calls in
    a loop with the host's part and a warm cache, rather than the GPU's part alone: for
    training steps and launch costs. graph: time a CUDA graph of many launches, with a
    warm cache: for kernels of a few µs. lab: whose results, by default those of the
    current one.

    On a GPU, writes the rows to results where `WEFT_RESULTS` is set. Without one,
    shows the reference GPU's rows and calls nothing.
    Raises LearnerError for a call that cannot work, CandidateError for a function
    that fails.
    """
    if bytes is not None and flops is not None:
        raise LearnerError("give bytes= or flops=, not both: a rate is of one")
    if host and graph:
        raise LearnerError("give host= or graph=, not both: a graph has no host part")
    work, unit = (flops, "FLOP") if flops is not None else (bytes, "B")
    if work is None:
        unit = ""
    lab = lab or lesson.current()
    on_gpu = stopwatch is not None or device.find().usable
    names: list[str] | None
    if callable(candidates):
        built = candidates() if on_gpu else None
        names = list(built) if built is not None else None
    else:
        built, names = candidates, list(candidates)
    if built is not None:
        _check(built)
    if names is not None:
        _check_names(names, baseline, ceiling, guess)
    if isinstance(ceiling, int | float) and not unit:
        raise LearnerError("a ceiling in bytes/s or flop/s needs bytes= or flops= too")

    if not on_gpu:
        return _from_reference(case, names, unit, baseline, ceiling, guess, lab)
    assert built is not None
    times = timing.measure(built, stopwatch or _stopwatch(host, graph))
    rows = _rows(times, work, baseline, ceiling, guess)
    gpu = device.find()
    table = Table(
        case,
        rows,
        unit,
        baseline or "",
        _ceiling_name(ceiling, unit),
        f"Measured here, on {gpu.name or 'this machine'}"
        f"{', the host included' if host else ', as CUDA graphs' if graph else ''}.",
        True,
        _notes(rows, guess),
    )
    if lab is not None:
        results.record(lab, _as_results(table))
    return table


def compiled(case: str, kernels: Callable[[], Mapping[str, tuple[Any, int]]]) -> None:
    """Print what the compiler made of kernels, and record it as `compare` does.

    case: what they have in common, the key of the results; kernels: a function that
    returns name → (a kernel that has run, threads of its blocks), called only where
    there is a GPU. Without one, prints the reference GPU's numbers.
    """
    lab, gpu = lesson.current(), device.find()
    if gpu.usable:
        made = {
            name: builds.build_of(kernel, threads, gpu.capability)
            for name, (kernel, threads) in kernels().items()
        }
        if lab is not None:
            results.record(lab, builds.rows_of(case, made))
    else:
        data = results.reference(lab) if lab is not None else None
        made = builds.from_rows(case, data["rows"]) if data is not None else {}
        if not made:
            print("There is no GPU here, and the reference GPU has no such numbers.")
            return
        assert data is not None
        print(f"There is no GPU here. On {data['device']['name']}:")
    print("\n".join(builds.lines(made)))


def reference(lab: str, case: str, gpu: str = "") -> Table | None:
    """Return a case as the reference GPU measured it, or None; for the book.

    gpu: the slug of a certain GPU, such as `nvidia-h200`.
    """
    data = results.reference(lab, gpu=gpu)
    found = _case(data, case) if data is not None else {}
    if data is None or not found:
        return None
    return _table_of(data, case, list(found), None)


def stream() -> Any:
    """Return PyTorch's current stream for a launch: `kernel[grid, block, stream()]`.

    What is timed with `graph=True` must be launched there. 0, the default stream,
    without a GPU.
    """
    if not device.find().usable:
        return 0
    import torch
    from numba import cuda

    return cuda.external_stream(torch.cuda.current_stream().cuda_stream)


def _stopwatch(host: bool, graph: bool) -> timing.Stopwatch:
    if graph:
        return timing.GraphStopwatch()
    return timing.WallStopwatch() if host else timing.EventStopwatch()


def _check(candidates: Mapping[str, Any]) -> None:
    """Raise LearnerError unless every candidate is something that can be called."""
    if not candidates:
        raise LearnerError(
            'nothing to compare: give a dict such as {"mine": lambda: kernel[...](...)}'
        )
    for name, candidate in candidates.items():
        if callable(candidate):
            continue
        write = f'"{name}": lambda: ...' if name != "the function" else "lambda: ..."
        if candidate is None:
            raise LearnerError(
                f'"{name}" is None, not a function. Without `lambda:` Python ran '
                "`kernel[grid, block](...)` once, before anything could be timed, and "
                f"a launch returns None. Write {write}"
            )
        raise LearnerError(
            f'"{name}" is a {type(candidate).__name__}, not a function. Without '
            "`lambda:` Python ran the expression once and kept its result. "
            f"Write {write}"
        )


def _check_names(
    names: list[str],
    baseline: str | None,
    ceiling: str | float | None,
    guess: Mapping[str, float | None] | None,
) -> None:
    """Raise LearnerError for a name that is not among the candidates."""
    here = f"The names here: {', '.join(names)}"
    if baseline is not None and baseline not in names:
        raise LearnerError(f'the baseline "{baseline}" is not among them. {here}')
    if isinstance(ceiling, str) and ceiling not in names:
        raise LearnerError(f'the ceiling "{ceiling}" is not among them. {here}')
    for name, value in (guess or {}).items():
        if name not in names and value is None:
            continue  # a candidate that this GPU does not have
        if name not in names:
            raise LearnerError(f'your guess for "{name}": no such name. {here}')
        if value is not None and not (
            isinstance(value, int | float) and math.isfinite(value) and value > 0
        ):
            raise LearnerError(
                f'your guess for "{name}" is {value!r}; it must be a number above 0, '
                "how many times as fast as the baseline you expect it to be"
            )
    if guess and baseline is None:
        raise LearnerError("a guess is a number of times the baseline: give baseline=")


def _rows(
    times: Mapping[str, Timing],
    work: float | None,
    baseline: str | None,
    ceiling: str | float | None,
    guess: Mapping[str, float | None] | None,
) -> tuple[Row, ...]:
    """Work out rates, ratios and fractions."""
    rows = []
    for name, t in times.items():
        rate = work / t.ms * 1e3 if work is not None else math.nan
        fraction = math.nan
        if isinstance(ceiling, str):
            fraction = times[ceiling].ms / t.ms
        elif ceiling is not None:
            fraction = rate / ceiling
        rows.append(
            Row(
                name,
                t.ms,
                t.spread,
                rate,
                times[baseline].ms / t.ms if baseline is not None else math.nan,
                fraction,
                _guess(guess, name),
                _remark(t),
            )
        )
    return tuple(rows)


def _as_results(table: Table) -> list[dict[str, Any]]:
    """Return a table's rows as they are written to results: JSON values, rounded."""

    def number(value: float, count: int = 5) -> float | None:
        return float(f"{value:.{count}g}") if math.isfinite(value) else None

    fastest = max((r.rate for r in table.rows), default=math.nan)
    one, name = units.scale(fastest, table.unit)
    return [
        {
            "case": table.case,
            "name": r.name,
            "ms": number(r.ms),
            "spread": number(r.spread, 3),
            "value": number(r.rate / one),
            "unit": name if table.unit else None,
            "baseline": table.baseline or None,
            "ratio": number(r.ratio),
            "ceiling": number(r.ceiling),
        }
        for r in table.rows
    ]


def _from_reference(
    case: str,
    names: list[str] | None,
    unit: str,
    baseline: str | None,
    ceiling: str | float | None,
    guess: Mapping[str, float | None] | None,
    lab: str | None,
) -> Table:
    """Return the reference GPU's rows for a case, or rows without numbers."""
    data = results.reference(lab) if lab is not None else None
    found = _case(data, case) if data is not None else {}
    if data is not None and found:
        if names is None:
            names = list(found)
            _check_names(names, baseline, ceiling, guess)
        table = _table_of(data, case, names, guess)
        return replace(
            table,
            rows=_related(table.rows, baseline, ceiling),
            baseline=baseline or "",
            # A rate is the limit of the machine it was measured on: not of this one.
            ceiling=ceiling if isinstance(ceiling, str) else table.ceiling,
            source="No GPU here: these times are the reference GPU's. " + table.source,
        )
    if lab is None:
        why = 'Nothing says which lab this is: call weft.lab("...") first.'
    elif data is None:
        why = "This notebook has not been run on a GPU yet, so it has no times to show."
    else:
        why = "The reference GPU has no times for this case."
    rows = tuple(Row(n, guess=_guess(guess, n)) for n in names or ())
    return Table(
        case,
        rows,
        unit,
        baseline or "",
        _ceiling_name(ceiling, unit),
        f"No GPU here. {why}",
        False,
    )


def _case(data: Mapping[str, Any], case: str) -> dict[str, dict[str, Any]]:
    """Return the rows of one case of a results file, by name."""
    return {r["name"]: r for r in data["rows"] if r["case"] == case}


def _table_of(
    data: Mapping[str, Any],
    case: str,
    names: list[str],
    guess: Mapping[str, float | None] | None,
) -> Table:
    """Return one case of a results file as a table.

    names: the rows to show, in order; those without a result get no numbers.
    """
    found = _case(data, case)
    rows = [_row_of(name, found.get(name, {}), guess) for name in names]
    first = next(iter(found.values()))
    unit = str(first.get("unit") or "")
    notes = _notes(rows, guess)
    absent = [r.name for r in rows if not r.measured]
    if absent:
        notes += (f"Not timed on the reference GPU: {', '.join(absent)}.",)
    machine = data.get("device", {})
    when = [f"driver {machine['driver']}"] if machine.get("driver") else []
    when += [str(data["date"])] if data.get("date") else []
    name = machine.get("name", "unnamed GPU")
    return Table(
        case,
        tuple(rows),
        "" if not unit else "FLOP" if "FLOP" in unit else "B",
        str(first.get("baseline") or ""),
        "the ceiling" if any(math.isfinite(r.ceiling) for r in rows) else "",
        f"Measured on {_article(name)} ({', '.join(when)}).",
        False,
        notes,
    )


def _row_of(
    name: str, result: Mapping[str, Any], guess: Mapping[str, float | None] | None
) -> Row:
    """Return a row of a results file; an empty one has no numbers."""
    ms = _number(result.get("ms"))
    one = 1e12 if str(result.get("unit")).startswith("T") else 1e9
    return Row(
        name,
        ms,
        _number(result.get("spread")),
        _number(result.get("value")) * one,
        _number(result.get("ratio")),
        _number(result.get("ceiling")),
        _guess(guess, name),
        _remark(Timing(ms, 0, 0)),
    )


def _related(
    rows: tuple[Row, ...], baseline: str | None, ceiling: str | float | None
) -> tuple[Row, ...]:
    """Return rows with ratios, and fractions of a named row, worked out anew."""
    ms = {r.name: r.ms for r in rows}
    return tuple(
        replace(
            r,
            ratio=math.nan if baseline is None else ms[baseline] / r.ms,
            ceiling=ms[ceiling] / r.ms if isinstance(ceiling, str) else r.ceiling,
        )
        for r in rows
    )


def _notes(
    rows: tuple[Row, ...] | list[Row], guess: Mapping[str, float | None] | None
) -> tuple[str, ...]:
    """Return the remarks below a table."""
    notes = []
    for remark in dict.fromkeys(r.remark for r in rows if r.remark):
        concerned = ", ".join(r.name for r in rows if r.remark == remark)
        notes.append(f"{concerned}: {remark}.")
    open_guesses = [n for n, g in (guess or {}).items() if g is None]
    if open_guesses:
        names = ", ".join(open_guesses)
        notes.append(f"Predict first: fill in your guess for {names}.")
    return tuple(notes)


def _remark(t: Timing) -> str:
    """Return what went into a time besides the work, "" for nothing."""
    if t.host_bound:
        return "queued more slowly than the GPU runs it, so the time includes Python's"
    if t.short:
        return "so short that the time includes the launch, a few µs on the GPU"
    return ""


def _guess(guess: Mapping[str, float | None] | None, name: str) -> float:
    value = (guess or {}).get(name)
    return math.nan if value is None else float(value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _ceiling_name(ceiling: str | float | None, unit: str) -> str:
    """Return what the fractions refer to, as a table's head says it."""
    if isinstance(ceiling, int | float):
        return units.rate(float(ceiling), unit)
    return ceiling or ""


def _names(rows: tuple[Row, ...]) -> str:
    return f"Its rows: {', '.join(r.name for r in rows) or 'none'}"


def _time(row: Row) -> str:
    return f"{units.time(row.ms)} (spread {units.time(row.spread)})"


def _article(name: str) -> str:
    """Return a GPU's name with its article: an NVIDIA H200, a Tesla T4."""
    return f"{'an' if name[:1].upper() in 'AEINO' else 'a'} {name}"
