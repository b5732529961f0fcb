"""Whether a lab's copy is ours or already the learner's. Standard library only."""

import hashlib
import json
from pathlib import Path


def lab_digest(cells: list[dict]) -> str:
    """Return a hash of the cells as a learner sees them.

    Empty cells, which Jupyter adds, do not count, nor do outputs and execution counts.
    """
    seen = []
    for cell in cells:
        source = cell["source"]
        source = source if isinstance(source, str) else "".join(source)
        if source.strip():
            seen.append([cell["cell_type"], source])
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]


def edited(path: Path) -> str | None:
    """Return why a lab is the learner's own; None if it has nothing of theirs."""
    try:
        nb = json.loads(path.read_text(encoding="utf-8"))
        ours = nb["metadata"].get("weft", {}).get("digest")
        if lab_digest(nb["cells"]) != ours:
            return "its cells have been edited"
        if any(cell.get("outputs") for cell in nb["cells"]):
            return "it has been run, and holds outputs"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "it cannot be read as a notebook of ours"
    return None
