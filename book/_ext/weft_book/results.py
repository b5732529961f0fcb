"""Read results/*.json and word its numbers. Knows nothing of Sphinx."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft import units
from weft.bench.results import QUOTED
from weft.bench.rows import VARIES
from weft.timing import FEW

FIELDS = ("ms", "rate", "ratio", "percent", "ceiling")
COUNTED = ("", "B", "%")  # units of what is counted, not timed
WRITTEN = {"us": "µs"}  # as notebooks write a unit → as the book does
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
NBSP = "\N{NO-BREAK SPACE}"


class MissingResult(LookupError):
    """There is no such measurement; the message says what there is."""


@dataclass(frozen=True)
class Row:
    """One measured thing of one case."""

    case: str
    name: str
    ms: float | None = None
    spread: float | None = None
    value: float | None = None
    unit: str | None = None
    baseline: str | None = None
    ratio: float | None = None
    ceiling: float | None = None
    reps: int | None = None
    unsteady: str = ""

    @property
    def doubtful(self) -> bool:
        """Return whether the time varies too much to be relied on."""
        many = self.reps is None or self.reps >= FEW
        return not many or (self.spread or 0) > VARIES * (self.ms or 0)


@dataclass(frozen=True)
class Results:
    """What one lab measured on one GPU."""

    lab: str
    gpu: str
    path: Path
    device: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""
    digest: str = ""
    rows: tuple[Row, ...] = ()

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(row.case for row in self.rows))

    def of_case(self, case: str) -> list[Row]:
        rows = [row for row in self.rows if row.case == case]
        if not rows:
            raise MissingResult(
                f"{self.path.name} has no case {case!r}; it has {listed(self.cases)}"
            )
        return rows

    def find(self, case: str, name: str) -> Row:
        rows = self.of_case(case)
        for row in rows:
            if row.name == name:
                return row
        there = listed([row.name for row in rows])
        raise MissingResult(f"{self.path.name}, {case!r}: no {name!r}, but {there}")


def listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def path_of(root: Path, lab: str, gpu: str) -> Path:
    return root / "results" / f"{lab}.{gpu}.json"


def path_with(root: Path, lab: str, word: str) -> Path:
    """Return the results of a lab on the GPU that pages name by a word: h100.

    Without a row in `QUOTED`, it is the one GPU with this word in its slug. Raises
    MissingResult where no GPU has it, or several have.
    """
    files = sorted((root / "results").glob(f"{lab}.{QUOTED.get(word, '*')}.json"))
    found = [file for file in files if word in file.name.split(".")[1].split("-")]
    if len(found) != 1:
        names = listed([path.name for path in found])
        raise MissingResult(f"results of {lab} on a GPU {word!r}: {names}")
    return found[0]


def read(path: Path) -> Results:
    """Read one file of results/. Raises MissingResult where there is none."""
    if not path.is_file():
        raise MissingResult(f"there is no results/{path.name}")
    lab, gpu = path.name.removesuffix(".json").split(".", 1)
    data = json.loads(path.read_text(encoding="utf8"))
    known = Row.__dataclass_fields__.keys()
    rows = tuple(
        Row(**{key: value for key, value in row.items() if key in known})
        for row in data["rows"]
    )
    return Results(
        lab=data.get("lab", lab),
        gpu=gpu,
        path=path,
        device=data.get("device", {}),
        versions=data.get("versions", {}),
        date=data.get("date", ""),
        digest=data.get("digest", ""),
        rows=rows,
    )


def read_lab(root: Path, lab: str, first: str) -> list[Results]:
    """Read what every GPU measured of a lab, the GPU `first` before the others."""
    found = [read(path) for path in sorted((root / "results").glob(f"{lab}.*.json"))]
    return sorted(found, key=lambda measured: measured.gpu != first)


def read_all(root: Path) -> list[Results]:
    """Read every file of results/, by lab and then by GPU."""
    labs = (root / "results").glob("[0-9][0-9]_*.*.json")
    return [read(path) for path in sorted(labs)]


def time_text(ms: float) -> str:
    return units.time(ms).replace(" ", NBSP)


def rate_text(value: float, unit: str) -> str:
    """Word a rate in the prefix that suits its size: 0.02 TB/s is 20.0 GB/s.

    A count stays as it is: 24 registers are not 24.0. Five digits get a comma.
    """
    unit = WRITTEN.get(unit, unit)
    match = re.fullmatch(r"([TGMk]?)(B|FLOP)/s", unit)
    if unit in COUNTED and float(value).is_integer():
        return f"{with_commas(f'{value:.0f}')}{NBSP}{unit}".rstrip()
    if match is None:
        return f"{with_commas(units.digits(value))}{NBSP}{unit}".rstrip()
    return units.rate(value * PREFIXES[match[1]], match[2]).replace(" ", NBSP)


def with_commas(digits: str) -> str:
    """Put commas into an integer of five or more digits: 16100 becomes 16,100."""
    return f"{int(digits):,}" if re.fullmatch(r"-?[0-9]{5,}", digits) else digits


def ratio_text(ratio: float) -> str:
    return units.digits(ratio, 2 if ratio < 10 else 3)


def percent_text(fraction: float) -> str:
    return units.percent(fraction).replace(" ", NBSP)


def text_of(row: Row, what: str) -> str:
    """Word one field of a row. Raises MissingResult where it was not measured.

    "percent" is the ratio in per cent, for sentences about less than the baseline.
    """
    if what not in FIELDS:
        raise MissingResult(f"no field {what!r}; there are {', '.join(FIELDS)}")
    source = {"rate": "value", "percent": "ratio"}.get(what, what)
    value = getattr(row, source)
    if value is None:
        raise MissingResult(f"{row.case!r}, {row.name!r} has no {what}")
    if what == "ms":
        return time_text(value)
    if what == "rate":
        return rate_text(value, row.unit or "")
    if what == "ratio":
        return ratio_text(value)
    return percent_text(value)
