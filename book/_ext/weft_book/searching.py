"""What the search finds first: the page that explains.

`book/search_terms.toml` lists, for a page (or a section of one), what a reader might
type who wants it. Each becomes an entry of the index, which Sphinx's search puts above
what merely contains the words. Solutions repeat their labs, and are left out.
"""

import tomllib
from pathlib import Path

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

SOLUTIONS = "solutions/"
SCORER = "book/_static/search_scorer.js"
TERMS = Path("book", "search_terms.toml")

logger = logging.getLogger(__name__)


def terms_of(root: Path) -> dict[str, list[str]]:
    """Return page (`13_shared_memory#bank-conflicts`) -> terms; {} without a file."""
    path = root / TERMS
    if not path.is_file():
        return {}
    found: dict[str, list[str]] = tomllib.loads(path.read_text("utf8"))
    return found


class IndexTerms(SphinxTransform):
    """Put a page's terms into its document, before Sphinx collects index entries."""

    default_priority = 500

    def apply(self) -> None:
        page = self.env.docname.removeprefix("book/")
        self.env.note_dependency(str(Path(self.env.srcdir) / TERMS))
        for place, terms in terms_of(Path(self.env.srcdir)).items():
            name, _, anchor = place.partition("#")
            if name == page:
                entries = [("single", term, anchor, "main", None) for term in terms]
                self.document.insert(0, addnodes.index(entries=entries))


def leave_out_solutions(app: Sphinx, env: BuildEnvironment) -> None:
    for page in env.found_docs:
        if page.startswith(SOLUTIONS):
            env.metadata[page]["nosearch"] = "True"


def warn_of_lost_pages(app: Sphinx, env: BuildEnvironment) -> None:
    for place in terms_of(Path(app.srcdir)):
        page = f"book/{place.partition('#')[0]}"
        if page not in env.found_docs:
            logger.warning("%s: there is no page %s", TERMS, page, type="weft")


def use_scorer(app: Sphinx, config: Config) -> None:
    if (Path(app.srcdir) / SCORER).is_file():
        config["html_search_scorer"] = str(Path(app.srcdir) / SCORER)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", use_scorer)
    app.connect("env-updated", leave_out_solutions)
    app.connect("env-check-consistency", warn_of_lost_pages)
    app.add_transform(IndexTerms)
