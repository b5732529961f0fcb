"""On a page about a bug, the verdict is shown as a learner sees it.

The page's Markdown has it as text, which GitHub shows, and which `tests/test_bugs.py`
compares with what the check says. The same test writes it as HTML to `verdicts.json`.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from .page import logger

FOLDER = "book/bugs/"
VERDICTS = Path("book", "bugs", "verdicts.json")
TO_HERE = re.compile(r'<p [^>]*><span aria-hidden="true">→ </span>book: Bugs.*?</p>')


class ShowVerdict(SphinxTransform):
    """Put the first kernel of the page and its verdict into one box."""

    default_priority = 400

    def apply(self, **kwargs: object) -> None:
        path = Path(self.env.srcdir) / VERDICTS
        kind = self.env.docname.removeprefix(FOLDER)
        if not self.env.docname.startswith(FOLDER) or not path.is_file():
            return
        self.env.note_dependency(str(path))
        shown = json.loads(path.read_text(encoding="utf-8")).get(kind)
        blocks = list(self.document.findall(nodes.literal_block))
        if shown is None or len(blocks) < 2:
            return
        kernel, text = blocks[:2]
        if kernel.parent.index(text) != kernel.parent.index(kernel) + 1:
            logger.warning("%s: no verdict after its kernel", kind, type="weft")
            return
        # The link to this page would lead nowhere.
        html = f'<div class="weft-shown">{TO_HERE.sub("", shown, count=1)}</div>'
        box = nodes.container("", classes=["weft-exchange"])
        kernel.replace_self(box)
        text.parent.remove(text)
        box += [kernel, nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> None:
    app.add_transform(ShowVerdict)
