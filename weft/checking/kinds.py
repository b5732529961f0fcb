"""The kinds of verdict: one table with the headline and the page of each kind.

A verdict of an unknown kind is refused where it is made. To add a kind, add a row to
`kinds.toml`. If it has a page, write `book/bugs/<page>.md` and add its title to
`pages`; if not, mark it as `plain`.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

C_CHAPTER, C_PAGE = "C for Python programmers", "04_c_for_python"
PASSED, TO_DO, FAILED = "passed", "to do", "failed"


@dataclass(frozen=True)
class Kind:
    """One way in which a check can end.

    headline: what the title of the verdict says, unless the verdict has its own. page:
    the file in book/bugs that explains the kind, without its suffix. heading: the
    heading in the chapter on C that explains it. plain: whether the verdict says enough
    without a page or heading. state: PASSED, TO_DO or FAILED.
    """

    headline: str
    page: str = ""
    heading: str = ""
    plain: bool = False
    state: str = FAILED


@dataclass(frozen=True)
class Section:
    """A section: its chapter's title, the chapter's page in book/, and the heading."""

    chapter: str
    page: str
    heading: str

    @property
    def address(self) -> str:
        """The page and the anchor, such as `04_c_for_python.html#stack-and-heap`."""
        anchor = re.sub(r"[^a-z]+", "-", self.heading.lower())
        return f"{self.page}.html#{anchor}"


_table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

KINDS = {name: Kind(**row) for name, row in _table["kinds"].items()}
PAGES: dict[str, str] = _table["pages"]
TOPICS: dict[str, str] = _table["topics"]
SECTIONS = {topic: Section(**row) for topic, row in _table["sections"].items()}
