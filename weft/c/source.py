"""A `%%c` or `%%makefile` cell: its text, with the line numbers of the cell."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from weft.places import Place
from weft.starters import STUB

ABOUT = re.compile(r"(//|#) about \d+ lines?\b")
RETURNS = re.compile(r"(\}|return \w+;)?")
SUFFIXES = {"c": ".c", "makefile": ".mk"}


@dataclass(frozen=True, repr=False)
class Source:
    """A cell of C, or a Makefile, saved as a file.

    `text` is the whole cell, with an empty line where the magic was, so that a compiler
    numbers lines as the learner's editor does. `language` is "c" or "makefile", `file`
    the name of the file, such as `swap.c`.
    """

    name: str
    file: str
    language: str
    text: str

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{self.file}, {len(self.lines) - 1} lines"

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def comment(self) -> str:
        """The marker that begins a comment in the cell's language."""
        return "#" if self.language == "makefile" else "//"

    @property
    def is_stub(self) -> bool:
        """Whether a starter's comment is still in place, without code next to it.

        In a starter, the line above the comment is `// about 3 lines` or similar, and
        the line below it ends the function or returns.
        """
        lines = [line.strip() for line in self.lines if line.strip()]
        for at in [n for n, line in enumerate(lines) if STUB in line]:
            behind = lines[at + 1] if at + 1 < len(lines) else ""
            if ABOUT.match(lines[at - 1]) and RETURNS.fullmatch(behind):
                return True
        return False

    @property
    def seed(self) -> int:
        """A number derived from this text, so that each answer gets its own data."""
        return int.from_bytes(hashlib.sha256(self.text.encode()).digest()[:8])

    def place(self, line: int) -> Place:
        """Return the place of a line, as a verdict quotes it."""
        there = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return Place(self.name, line, there.strip())

    def containing(self, words: str) -> list[int]:
        """Return the numbers of the lines in which `words` occurs."""
        return [n for n, line in enumerate(self.lines, 1) if words in line]


def read(magic: str, language: str, body: str) -> Source:
    """Make the source of a cell from its text and the argument of its magic.

    magic: the name of a function, such as `swap`, or of a file, such as `stats.h`.
    """
    path = Path(magic.strip() or "cell")
    file = path.name if path.suffix else path.name + SUFFIXES[language]
    text = body if body.endswith("\n") else body + "\n"
    if language == "makefile":
        text = "".join(map(_tabbed, text.splitlines(keepends=True)))
    return Source(path.stem, file, language, "\n" + text)


def _tabbed(line: str) -> str:
    """Restore the tab that make requires; a notebook's Tab key types spaces."""
    inner = line.lstrip(" ")
    return f"\t{inner}" if len(line) - len(inner) >= 4 and inner.strip() else line
