"""Numbers that a page computes from results and recordings, and what it claims of them.

`chapters/<chapter>/facts.toml` has a table for each number that the page states and no
table shows as it is:

    [missed]
    is = "rec('16_softmax/counters.txt', 'read from memory, MB', 'three passes') - 268"
    text = "{:.0f} MB"

The page writes {fact}`missed`; another page, {fact}`16_softmax:missed`. A table with
`holds` instead of `text` is a sentence of the page that must stay true:

    [padded_wins]
    says = "padding is as good as swizzling, or better"
    holds = "ms('4096 x 4096', 'padded') <= ms('4096 x 4096', 'swizzled')"
"""

import functools
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from weft.bench.results import REFERENCE

from . import recordings, results
from .outline import pages_with
from .page import Computed

logger = logging.getLogger(__name__)
KEYS = ({"is", "text"}, {"says", "holds"})
TOGETHER = re.compile(r"(?<=[\d×]) | (?=×)")  # no line ends in here: 17 %, 8 × 8
BUILTINS = (abs, all, any, len, max, min, round, sorted, sum, zip)


class MissingFact(LookupError):
    """There is no such fact, or it cannot be computed; the message says why."""


@dataclass(frozen=True)
class Sources:
    """What an expression can ask for; `lab` is whose results it means by itself."""

    root: Path
    lab: str

    def row(self, case: str, name: str, lab: str = "", gpu: str = "") -> results.Row:
        """Return a row of the results of a lab on the reference GPU, or on another."""
        return self._results(lab, gpu).find(case, name)

    def rows(self, case: str, lab: str = "", gpu: str = "") -> list[results.Row]:
        """Return all rows of a case."""
        return self._results(lab, gpu).of_case(case)

    def cases(self, lab: str = "", gpu: str = "") -> list[str]:
        """Return the names of all cases of a lab."""
        return self._results(lab, gpu).cases

    def rec(self, file: str, row: str, column: str, table: str = "") -> float:
        """Return a number of a table in book/recordings; see `recordings.cell`."""
        return recordings.cell(self._recording(file), row, column, table)

    def find(self, file: str, pattern: str) -> float:
        """Return the number that a pattern finds in a recording, exactly once."""
        return recordings.match(self._recording(file), pattern)

    def _results(self, lab: str, gpu: str) -> results.Results:
        lab = lab or self.lab
        if gpu:
            return results.read(results.path_with(self.root, lab, gpu))
        return results.read(results.path_of(self.root, lab, REFERENCE))

    def _recording(self, file: str) -> Path:
        path = self.root / "book" / "recordings" / file
        if not path.is_file():
            raise recordings.MissingRecord(f"there is no book/recordings/{file}")
        return path

    def names(self) -> dict[str, Callable[..., Any]]:
        """Return the names of an expression: those above, and fields of a row."""
        asked = {n: getattr(self, n) for n in ("row", "rows", "cases", "rec", "find")}
        fields = {
            name: functools.partial(self._field, name)
            for name in ("ms", "ratio", "ceiling", "spread", "value")
        }
        return asked | fields | {f.__name__: f for f in BUILTINS}

    def _field(
        self, what: str, case: str, name: str, lab: str = "", gpu: str = ""
    ) -> float:
        value = getattr(self.row(case, name, lab, gpu), what)
        if value is None:
            raise MissingFact(f"{case!r}, {name!r} has no {what}")
        return float(value)


def path_of(root: Path, page: str) -> Path:
    """Return the file of a page's facts.

    The second page of a chapter, such as 16_wide_rows, has `wide_rows.facts.toml` in
    the chapter's folder; a page of no chapter has its file beside it.
    """
    number, _, rest = page.partition("_")
    own = root / "chapters" / page
    if own.is_dir():
        return own / "facts.toml"
    if number.isdigit() and (found := list(root.glob(f"chapters/{number}_*"))):
        return found[0] / f"{rest}.facts.toml"
    return root / "book" / f"{page}.facts.toml"


def page_of(path: Path) -> str:
    """Return the page whose facts a file has, see `path_of`."""
    name = path.name.removesuffix("facts.toml").removesuffix(".")
    chapter = path.parent.name
    if not chapter[:2].isdigit():
        return name
    return f"{chapter[:2]}_{name}" if name else chapter


def read(root: Path, page: str) -> dict[str, dict[str, str]]:
    """Return the facts of a page. Raises MissingFact for a table with other keys."""
    path = path_of(root, page)
    if not path.is_file():
        return {}
    found = tomllib.loads(path.read_text(encoding="utf8"))
    for name, fact in found.items():
        if set(fact) - {"lab"} not in KEYS:
            raise MissingFact(
                f"{path.name}, [{name}]: give `is` and `text`, or `says` and `holds`"
            )
    return found


def compute(root: Path, page: str, name: str) -> Any:
    """Return the value of a fact: a number, some numbers, or whether it holds."""
    facts = read(root, page)
    if name not in facts:
        raise MissingFact(
            f"no fact {name!r} in {path_of(root, page).relative_to(root)}"
        )
    fact = facts[name]
    lab = fact.get("lab") or pages_with(root, page)[0]["stem"]
    scope = Sources(root, lab).names() | {"__builtins__": {}}
    try:
        return eval(fact.get("is") or fact["holds"], scope)
    except MissingFact:
        raise
    except Exception as error:  # whatever an expression can raise
        raise MissingFact(f"{page}, [{name}]: {error}") from error


def worded(root: Path, page: str, name: str) -> str:
    """Return a fact as the page writes it."""
    value = compute(root, page, name)
    text = read(root, page)[name].get("text")
    if text is None:
        raise MissingFact(f"{page}, [{name}] is a claim and has no text")
    values = value if isinstance(value, tuple | list) else (value,)
    return TOGETHER.sub(results.NBSP, text.format(*values))


class FactRole(SphinxRole):
    """{fact}`name` puts a computed number in the text.

    {fact}`page:name` takes it from another page.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        page, _, name = self.text.rpartition(":")
        page = page or Path(self.env.docname).name
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(path_of(root, page)))
        try:
            text = worded(root, page, name)
        except (MissingFact, results.MissingResult) as missing:
            logger.warning(
                "{fact}`%s`: %s",
                self.text,
                missing,
                location=self.get_location(),
                type="weft",
                subtype="fact",
            )
            return [nodes.problematic(self.rawtext, self.text)], []
        return [Computed(self.rawtext, text)], []


def setup(app: Sphinx) -> None:
    app.add_role("fact", FactRole())
