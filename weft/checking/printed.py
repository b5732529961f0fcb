"""Limit the output of checked code to its first lines and a count of the rest.

A kernel prints once per thread, and a check launches it several times. A line that is
printed again and again is kept once.
"""

import io

from weft.wording import several

MOST = 20  # lines that are kept
WIDTH = 200  # characters that are kept of a line


class Printed(io.TextIOBase):
    """A stream that keeps the first lines written to it, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[tuple[str, int]] = []  # lines, and how often each is printed
        self._line = ""  # the line that is being written
        self._more = 0  # complete lines that are not kept

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Add `text`, which may begin and end within a line."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._end()
            self._line += part[: WIDTH + 1 - len(self._line)]
        return len(text)

    def _end(self) -> None:
        """End the line that is being written: keep it, or count it."""
        line, self._line = self._line, ""
        last, times = self._kept[-1] if self._kept else ("", 0)
        if self._more == 0 and line and line == last and len(line) <= WIDTH:
            self._kept[-1] = line, times + 1
        elif self._more == 0 and len(self._kept) < MOST:
            self._kept.append((line, 1))
        else:
            self._more += 1

    @property
    def text(self) -> str:
        """The first lines printed, and the number of any others; "" without output."""
        shown, more = [], self._more
        for line, times in self._kept:
            shown.append(cut(line))
            if times > 1:
                shown.append(f"… and the same {several(times - 1, 'more time')}")
        if self._line and not more and len(self._kept) < MOST:
            shown.append(cut(self._line))
        else:
            more += bool(self._line)
        if more > 0:
            shown.append(f"… and {several(more, 'more line')}")
        return "\n".join(shown).rstrip("\n")


def cut(line: str) -> str:
    """Return a line without what is beyond its first characters."""
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}…"
