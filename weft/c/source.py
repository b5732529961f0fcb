"""What a `%%c` or `%%makefile` cell holds: its text, by the lines of the cell."""

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

    `text` is the whole cell; its first line, the magic's own, is a comment or empty, so
    that a compiler counts lines as the learner's editor does. `language` is "c" or
    "makefile", `file` the name of the file, such as `swap.c`.
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
        """What begins a comment in the cell's language."""
        return "#" if self.language == "makefile" else "//"

    @property
    def is_stub(self) -> bool:
        """Whether a starter's comment still stands where it stood, with no code by it.

        It is below `// about 3 lines`, and after it the function ends or returns.
        """
        lines = [line.strip() for line in self.lines if line.strip()]
        for at in [n for n, line in enumerate(lines) if STUB in line]:
            behind = lines[at + 1] if at + 1 < len(lines) else ""
            if ABOUT.match(lines[at - 1]) and RETURNS.fullmatch(behind):
                return True
        return False

    @property
    def seed(self) -> int:
        """A number that belongs to this text: other data for other answers."""
        return int.from_bytes(hashlib.sha256(self.text.encode()).digest()[:8])

    def place(self, line: int) -> Place:
        """The line as a verdict quotes it."""
        there = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return Place(self.name, line, there.strip())

    def containing(self, words: str) -> list[int]:
        """The lines in which `words` occurs."""
        return [n for n, line in enumerate(self.lines, 1) if words in line]


def read(magic: str, language: str, body: str) -> Source:
    """Make the source of a cell from what follows its magic, and from its text.

    magic: the name of a function, or of a file: `swap`, `stats.h`.
    """
    path = Path(magic.strip() or "cell")
    file = path.name if path.suffix else path.name + SUFFIXES[language]
    text = body if body.endswith("\n") else body + "\n"
    if language == "makefile":
        text = "".join(map(_tabbed, text.splitlines(keepends=True)))
    return Source(path.stem, file, language, "\n" + text)


def _tabbed(line: str) -> str:
    """Give a recipe's line the tab that make wants; a notebook's Tab key has none."""
    inner = line.lstrip(" ")
    return f"\t{inner}" if len(line) - len(inner) >= 4 and inner.strip() else line
