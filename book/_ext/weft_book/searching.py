"""What the search finds first: the page that explains; and what it transfers.

`book/search_terms.toml` lists, for a page (or a section of one), what a reader might
type who wants it. Each becomes an entry of the index, which `search.js` puts above what
merely contains the words. Solutions repeat their labs, and are left out.

The search reads `_search/index.bin`, Sphinx's index as compressed JSON, and for each
result in sight `_search/<page>.bin`, the text of its sections, from which it takes an
excerpt. Many web servers compress neither, and a whole page is 40 times as long.
"""

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.index_entries import split_index_msg

SOLUTIONS = "solutions/"
TERMS = Path("book", "search_terms.toml")
INDEX, START = "searchindex.js", "Search.setIndex("
PACKED = "_search"  # a folder of the built book
PROSE, CODE = (nodes.paragraph, nodes.term), (nodes.literal_block,)
UNREAD = (nodes.raw, nodes.image)

Section = tuple[str, str, str]  # its anchor, its title, its text
Entry = tuple[int, str, bool]  # the page's number, the anchor, whether it explains

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


def sections_of(document: nodes.document) -> list[Section]:
    """Return the sections of a page in order, each without those inside it."""
    return [
        (section["ids"][0], _words(section.next_node(nodes.title)), _text(section))
        for section in document.findall(nodes.section)
    ]


def _text(section: nodes.section) -> str:
    """The text of a section, its code last: an excerpt is of the prose if it can be."""
    own = [
        child
        for child in section.children
        if not isinstance(child, (nodes.section, nodes.title))
    ]
    return " ".join(
        _words(text)
        for kinds in (PROSE, CODE)
        for child in own
        for text in child.findall(lambda node, kinds=kinds: isinstance(node, kinds))
    )


def _words(node: nodes.Node | None) -> str:
    """The words of a node on one line, without HTML and the names of images."""
    if node is None:
        return ""
    read = [
        str(text)
        for text in node.findall(nodes.Text)
        if not isinstance(text.parent, UNREAD)
    ]
    return " ".join("".join(read).split())


def pack(folder: Path, name: str, data: Any) -> None:
    """Write `data` as compressed JSON; the bytes depend on nothing else."""
    path = folder / PACKED / f"{name}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def pack_page(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if app.builder.format != "html" or doctree is None:
        return
    if not pagename.startswith(SOLUTIONS):
        pack(Path(app.outdir), pagename, sections_of(doctree))


def pack_index(app: Sphinx, failure: Exception | None) -> None:
    path = Path(app.outdir) / INDEX
    if failure is None and app.builder.format == "html" and path.is_file():
        text = path.read_text("utf8").removeprefix(START).rstrip(");\n")
        index = json.loads(text)
        # Sphinx keeps no index entries of pages that this build did not write.
        index["indexentries"] = entries_of(app.env, index["docnames"])
        pack(Path(app.outdir), "index", index)


def entries_of(env: BuildEnvironment, pages: list[str]) -> dict[str, list[Entry]]:
    """Return the index's terms, each with the places that explain or name it."""
    known = env.get_domain("index").data["entries"]
    found: dict[str, list[Entry]] = {}
    for number, page in enumerate(pages):
        entries = {
            (term.lower(), anchor or "", main == "main")
            for kind, value, anchor, main, _ in known.get(page, ())
            for term in split_index_msg(kind, value)
        }
        for term, anchor, main in sorted(entries):
            found.setdefault(term, []).append((number, anchor, main))
    return found


def setup(app: Sphinx) -> None:
    app.connect("env-updated", leave_out_solutions)
    app.connect("env-check-consistency", warn_of_lost_pages)
    app.connect("html-page-context", pack_page)
    app.connect("build-finished", pack_index)
    app.add_transform(IndexTerms)
