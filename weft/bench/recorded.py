"""Tables of earlier measurements, on the reference GPU or on another."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.bench import results
from weft.bench.comparison import Comparison
from weft.bench.rows import Row, from_result, related
from weft.bench.table import Table


def reference(lab: str, case: str, gpu: str = "") -> Table | None:
    """Return the recorded table of a case, or None if there is none.

    gpu: the slug of the GPU that was measured, such as `nvidia-h200`; by default that
    of the reference GPU.
    """
    data = results.reference(lab, gpu=gpu)
    found = results.of_case(data, case)
    if data is None or not found:
        return None
    return _table(data, Comparison(case), list(found))


def instead(
    asked: Comparison,
    names: list[str] | None,
    lab: str | None,
    absent: str = "No GPU here",
) -> Table:
    """Return the reference GPU's table for a case, or one without numbers.

    names: the rows to show, in order; None for all that were recorded. absent: a
    phrase that says what is missing.
    """
    data = results.reference(lab) if lab is not None else None
    found = results.of_case(data, asked.case)
    if data is None or not found:
        return _unknown(asked, names or [], f"{absent}. {_why(lab, data)}")
    if names is None:
        names = list(found)
        asked.check(names)
    table = _table(data, asked, names)
    return replace(
        table,
        rows=related(table.rows, asked.baseline, asked.ceiling),
        baseline=asked.baseline,
        # A rate is a limit of the machine on which it was measured, not of this one.
        ceiling=asked.ceiling if isinstance(asked.ceiling, str) else table.ceiling,
        source=f"{absent}: these times are the reference GPU's. {table.source}",
    )


def _why(lab: str | None, data: Mapping[str, Any] | None) -> str:
    """Explain in a sentence why there is nothing to show."""
    if lab is None:
        return 'Nothing says which lab this is: call weft.lab("...") first.'
    if data is None:
        return (
            "This notebook has not been run on a GPU yet, so it has no times to show."
        )
    return "The reference GPU has no times for this case."


def _unknown(asked: Comparison, names: list[str], source: str) -> Table:
    """Return a table whose rows have no numbers."""
    rows = tuple(Row(name, guess=asked.guess_of(name)) for name in names)
    return Table(
        asked.case, rows, asked.unit, asked.baseline, asked.ceiling_name, source, False
    )


def _table(data: Mapping[str, Any], asked: Comparison, names: list[str]) -> Table:
    """Return a case's table from a results file; rows without a result are empty."""
    found = {r["name"]: r for r in data["rows"] if r["case"] == asked.case}
    rows = tuple(
        from_result(name, found.get(name, {}), asked.guess_of(name), asked.whole)
        for name in names
    )
    first = next(iter(found.values()))
    unit = str(first.get("unit") or "")
    absent = [r.name for r in rows if not r.measured]
    notes = asked.notes(rows)
    if absent:
        notes += (f"Not timed on the reference GPU: {', '.join(absent)}.",)
    return Table(
        asked.case,
        rows,
        "" if not unit else "FLOP" if "FLOP" in unit else "B",
        str(first.get("baseline") or ""),
        "the ceiling" if any(math.isfinite(r.ceiling) for r in rows) else "",
        f"Measured on {_machine(data)}.",
        False,
        notes,
        machine=str(data.get("device", {}).get("name", "")),
    )


def _machine(data: Mapping[str, Any]) -> str:
    """Describe the GPU of `data`, with its driver and the date if they are known."""
    machine = data.get("device", {})
    when = [f"driver {machine['driver']}"] if machine.get("driver") else []
    when += [str(data["date"])] if data.get("date") else []
    name = machine.get("name", "unnamed GPU")
    article = "an" if name[:1].upper() in "AEINO" else "a"
    return f"{article} {name}" + (f" ({', '.join(when)})" if when else "")
