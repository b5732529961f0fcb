"""Replace earlier measurements by those of a run."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

Row = tuple[str, str]  # its case, its name


def rows(path: Path) -> list[Row]:
    """Return the case and the name of every row of a results file, in order."""
    if not path.is_file():
        return []
    found = json.loads(path.read_text(encoding="utf-8")).get("rows", [])
    return [(row["case"], row["name"]) for row in found]


def lost(folder: Path, record: Path) -> list[str]:
    """Return a line for each row of the record that a run's file lacks.

    folder: the files that the run has written. record: the folder of earlier results,
    which may be of another GPU.
    """
    return [
        f"{file.name}: {case} | {name}"
        for file in sorted(folder.iterdir())
        for case, name in rows(record / file.name)
        if (case, name) not in rows(file)
    ]


def only_shown(folder: Path, record: Path, stem: str) -> bool:
    """Return whether a run measured nothing, though its lab was measured before."""
    return not any(folder.iterdir()) and any(record.glob(f"{stem}.*.json"))


def publish(folder: Path, target: Path) -> None:
    """Copy a folder's files into another; each replaces the old one as a whole."""
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        part = target / f"{file.name}.part"
        shutil.copyfile(file, part)
        part.replace(target / file.name)


def listed(lines: Iterable[str]) -> str:
    """Return the lines, indented, as one text."""
    return "".join(f"\n  {line}" for line in lines)
