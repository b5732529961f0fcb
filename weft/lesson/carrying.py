"""Progress as a file to take along: from Colab to a laptop, or to a new checkout."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from weft import store, wording
from weft.errors import LearnerError
from weft.lesson import board, predictions

NAME = "weft-progress.json"
KINDS = {
    "passed": board.FILE,
    "opened": board.OPENED,
    "predicted": predictions.FILE,
}


def save(file: str | Path = NAME) -> str:
    """Write the passes and predictions so far to a file; return a line about them.

    file: its path; an existing file is replaced. Raises LearnerError if the file cannot
    be written.
    """
    path = Path(file).expanduser()
    kept = {kind: store.read(store.place(name))[0] for kind, name in KINDS.items()}
    trouble = store.write(path, {"warp-and-weft": 1, **kept})
    if trouble:
        raise LearnerError(f"{trouble} Name another file.")
    return f"{_passes(kept['passed'])}; saved in {path.resolve()}."


def load(file: str | Path = NAME) -> str:
    """Merge the progress in a file made by `save` with the progress here.

    Returns a line that says what the file brought. Nothing is lost: an exercise passed
    in either place counts as passed, at the earlier of the two times. Raises
    LearnerError for a file that `save` did not write, and then changes nothing.
    """
    path = Path(file).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LearnerError(
            f"{path} cannot be read ({error}). On Colab, upload it first: the folder "
            "icon on the left."
        ) from error
    brought = _brought(path, text)
    before = _count(board.passed())
    for kind, name in KINDS.items():
        trouble = store.update(store.place(name), partial(_merge, brought[kind]))
        if trouble:
            raise LearnerError(trouble)
    return (
        f"{_passes(brought['passed'])} in {path.name}, "
        f"{_count(board.passed()) - before} of them new here."
    )


def _brought(path: Path, text: str) -> dict[str, dict[str, Any]]:
    """Return the parts of a file made by `save`, given its text.

    Raises LearnerError if the file was not made by `save`, or is damaged.
    """
    other = LearnerError(
        f"{path} was not written by weft.save_progress(), or is damaged. Nothing has "
        "changed here. Save it again where the progress is, and copy the whole file."
    )
    try:
        contents = json.loads(text)
    except ValueError as error:
        raise other from error
    if not isinstance(contents, dict) or contents.get("warp-and-weft") != 1:
        raise other
    parts = {kind: contents.get(kind) for kind in KINDS}
    entries = [part for part in parts.values() if isinstance(part, dict)]
    if len(entries) != len(KINDS) or not all(
        isinstance(entry, dict) for part in entries for entry in part.values()
    ):
        raise other
    return dict(zip(KINDS, entries, strict=True))


def _merge(brought: dict[str, Any], here: dict[str, Any]) -> None:
    """Merge `brought` into `here`, keeping the earlier of two passes or predictions.

    Progress maps lab → exercise → time. Predictions map row → a prediction, with its
    time as "when".
    """
    for key, entry in brought.items():
        mine = here.get(key)
        if not isinstance(mine, dict):
            here[key] = entry
        elif "when" in mine or "when" in entry:  # a prediction: the first counts
            here[key] = min(mine, entry, key=lambda one: str(one.get("when", "~")))
        else:
            here[key] = entry | mine
            for name in entry.keys() & mine.keys():
                here[key][name] = min(mine[name], entry[name], key=str)


def _count(passed: dict[str, Any]) -> int:
    return sum(len(exercises) for exercises in passed.values())


def _passes(passed: dict[str, Any]) -> str:
    return f"{wording.several(_count(passed), 'exercise')} passed"
