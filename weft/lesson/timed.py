"""Time cells with `%%time` so that a check can still read the functions in them.

IPython's own magic runs the cell's text as a string, whose functions have no source.
Instead, this module blanks the `%%time` line before the cell runs, and times the cell.
"""

import re
import time
from typing import Any

from weft import units

MAGIC = re.compile(r"\s*%%time\s*\n")

_begun: tuple[float, float] | None = None  # when it began: wall time, CPU time


def watch(shell: Any) -> None:
    """Have this module, not IPython, time cells that begin with `%%time`."""
    if without in shell.input_transformers_cleanup:
        return
    shell.input_transformers_cleanup.append(without)
    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


def without(lines: list[str]) -> list[str]:
    """Return a cell's lines with `%%time` blanked, so that line numbers stay right."""
    first = next((k for k, line in enumerate(lines) if line.strip()), 0)
    if not lines[first:] or lines[first].strip() != "%%time":
        return lines
    return [*lines[:first], "\n", *lines[first + 1 :]]


def begin(info: Any) -> None:
    global _begun
    timed = MAGIC.match(info.raw_cell or "")
    _begun = (time.perf_counter(), time.process_time()) if timed else None


def end(result: Any) -> None:
    """Print the CPU time and the wall time of the timed cell that has just ended."""
    global _begun
    if _begun is None:
        return
    clock, processor = _begun
    _begun = None
    print(f"CPU time: {units.time(1e3 * (time.process_time() - processor))}")
    print(f"Wall time: {units.time(1e3 * (time.perf_counter() - clock))}")
