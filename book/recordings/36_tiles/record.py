"""Write down what `tileiras` gives to a block of lab 36's kernels.

python record.py, where `tileiras` is installed; it needs no GPU. The kernels are those
of the lab. Lab and page read the table, chapters/36_tiles/resources.txt.
"""

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("WEFT_SIMULATOR", "1")

LAST = "measure.show_resources("  # is in the cell before which all are needed


def scope_of_lab() -> dict[str, Any]:
    """Run the lab's cells, but for its checks, and give what they define."""
    from verification.cells import cells, run
    from weft.cells import checked

    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells("36_tiles")):
        if LAST in cell.source:
            return scope
        if not checked(cell.source):
            run(cell.source, f"<cell {number}>", scope)
    raise SystemExit(f"no cell has {LAST!r}")


def table() -> str:
    """Return the table, below the versions of both compilers."""
    lab = scope_of_lab()
    made_by = f"# cuda-tile {metadata.version('cuda-tile')}, tileiras {VERSION}"
    measure = lab["measure"]
    return f"{made_by}\n\n{measure.resources(lab['softmax'], lab['matmul'])}\n"


VERSION = "13.4.92"

if __name__ == "__main__":
    path = ROOT / "chapters" / "36_tiles" / "resources.txt"
    path.write_text(table(), encoding="utf-8")
