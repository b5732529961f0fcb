"""The results of a run, kept as they come, so that a stopped run can go on."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from grading.listening import Mark
from grading.paper import Paper
from grading.sitting import Limits, Result
from weft.versions import __version__


def key(paper: Paper, notebook: bytes, limits: Limits) -> str:
    """Return a digest of all that the marks of a submission depend on."""
    asked = [__version__, paper.lab, paper.cells, asdict(limits)]
    return hashlib.sha256(json.dumps(asked).encode() + notebook).hexdigest()


class Record:
    """A file with a line for each finished submission; with None, nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Result] = {}
        if path and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    read = json.loads(line)
                    marks = [Mark(**mark) for mark in read["marks"]]
                    result = Result(**(read | {"marks": marks}))
                except (ValueError, TypeError, KeyError):  # half written
                    continue
                self._known[result.key] = result

    def get(self, key: str, student: str) -> Result | None:
        """Return a submission's result if the record has it, or None."""
        found = self._known.get(key)
        return found if found and found.student == student else None

    def add(self, result: Result) -> None:
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")

    def remove(self) -> None:
        """Remove the file, as the run has come to its end."""
        if self._path:
            self._path.unlink(missing_ok=True)
