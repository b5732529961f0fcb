"""Limit the output of checked code to its first lines and a count of the rest.

A kernel prints once per thread, and a check launches it several times.
"""

import io

MOST = 20  # lines that are kept
WIDTH = 200  # characters that are kept of a line


class Printed(io.TextIOBase):
    """A stream that keeps the first lines written to it, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[str] = []
        self._ended = 0  # lines that are complete
        self._begun = False  # whether there is text after them

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Add `text`, which may begin and end within a line."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._ended += 1
                self._begun = False
            self._begun = self._begun or bool(part)
            if self._ended < MOST:
                self._extend(part)
        return len(text)

    def _extend(self, part: str) -> None:
        """Add `part` to the line that is being written."""
        if len(self._kept) == self._ended:
            self._kept.append("")
        line = self._kept[-1]
        self._kept[-1] = line + part[: WIDTH + 1 - len(line)]

    @property
    def text(self) -> str:
        """The first lines printed, and the number of any others; "" without output."""
        cut = [
            line if len(line) <= WIDTH else f"{line[:WIDTH]}…" for line in self._kept
        ]
        more = self._ended + self._begun - MOST
        if more > 0:
            cut.append(f"… and {more:,} more line{'s' * (more > 1)}")
        return "\n".join(cut).rstrip("\n")
