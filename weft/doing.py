"""Show what a slow cell is doing: a line below the cell, removed when the cell ends.

`watch` has IPython report when a cell begins and ends. After LATE seconds a thread
shows the line, and updates it every second: what is being done, for how long, and how
long the same cell took last time.
"""

import contextvars
import threading
import time
import uuid
from html import escape
from typing import Any

LATE = 3.0  # seconds after which a cell gets a line
EVERY = 1.0

_what = ""  # what is being done
_counts: dict[str, int] = {}  # how many times each was done in this cell
_lines: dict[int, "Line"] = {}  # by the shell that is watched


def now(what: str) -> None:
    """Set the activity shown below a slow cell, such as `"vector_add: size 2 of 5"`."""
    global _what
    _what = what


def again(what: str) -> None:
    """Set the activity to `what` and its count in this cell, as in "measurement 3"."""
    _counts[what] = _counts.get(what, 0) + 1
    now(f"{what} {_counts[what]}")


def watch(shell: Any, late: float = LATE, every: float = EVERY) -> None:
    """Show a line below each notebook cell that runs for longer than `late` seconds.

    shell: IPython's shell. In a terminal, nothing happens.
    """
    if getattr(shell, "kernel", None) is None or id(shell) in _lines:
        return
    line = _lines[id(shell)] = Line(shell, late, every)
    shell.events.register("pre_run_cell", line.begin)
    shell.events.register("post_run_cell", line.end)


class Line:
    """The progress line that is shown below a cell while it runs."""

    def __init__(self, shell: Any, late: float, every: float) -> None:
        self._shell, self._late, self._every = shell, late, every
        self._took: dict[str, float] = {}  # cell → seconds of its last run
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._cell = ""
        self._begun = 0.0
        self._id = ""

    def begin(self, info: Any) -> None:
        """Start the thread that shows this line if the cell runs for a long time."""
        self._ended, self._id = threading.Event(), ""
        self._cell, self._begun = info.raw_cell or "", time.monotonic()
        _counts.clear()
        now("")
        # ipykernel keeps the cell that an output belongs to in a context variable.
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._follow, self._ended), daemon=True
        )
        self._thread.start()

    def end(self, result: Any) -> None:
        """Remove the progress line now that the cell has ended."""
        if self._thread is None:  # a cell that began before it was watched
            return
        self._ended.set()
        self._thread.join()
        if self._id:
            self._took[self._cell] = time.monotonic() - self._begun
            self._publish({"text/plain": "", "text/html": ""})

    def _follow(self, ended: threading.Event) -> None:
        wait = self._late
        while not ended.wait(wait):
            text = self._text(time.monotonic() - self._begun)
            html = f'<div style="opacity: 0.7">{escape(text)}</div>'
            self._publish({"text/plain": text, "text/html": html})
            wait = self._every

    def _text(self, seconds: float) -> str:
        parts = [_what or "running", duration(seconds)]
        if (before := self._took.get(self._cell)) is not None:
            parts.append(f"{duration(before)} the last time")
        return " · ".join(parts)

    def _publish(self, data: dict[str, str]) -> None:
        update, self._id = bool(self._id), self._id or uuid.uuid4().hex
        self._shell.display_pub.publish(
            data, metadata={}, transient={"display_id": self._id}, update=update
        )


def duration(seconds: float) -> str:
    """Return a time in words: `12 s`, `2 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
