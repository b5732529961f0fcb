"""Replace what was measured before by what a run has measured."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

Row = tuple[str, str]  # its case and its name


def rows(path: Path) -> list[Row]:
    """Return the case and the name of every row of a results file, in its order."""
    if not path.is_file():
        return []
    found = json.loads(path.read_text(encoding="utf-8")).get("rows", [])
    return [(row["case"], row["name"]) for row in found]


def lost(folder: Path, record: Path) -> list[str]:
    """Return the rows of the record that are not in the file of the same name.

    folder: what a run has measured; record: what was measured before, on any GPU.
    """
    return [
        f"{file.name}: {case} | {name}"
        for file in sorted(folder.iterdir())
        for case, name in rows(record / file.name)
        if (case, name) not in rows(file)
    ]


def only_shown(folder: Path, record: Path, stem: str) -> bool:
    """Return whether a run measured nothing of a lab that has been measured before."""
    return not any(folder.iterdir()) and any(record.glob(f"{stem}.*.json"))


def publish(folder: Path, target: Path) -> None:
    """Put the files of a folder into another, each whole or not at all."""
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        part = target / f"{file.name}.part"
        shutil.copyfile(file, part)
        part.replace(target / file.name)


def listed(lines: Iterable[str]) -> str:
    """Return one line for each, indented."""
    return "".join(f"\n  {line}" for line in lines)
