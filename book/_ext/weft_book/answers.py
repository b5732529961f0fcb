"""Solutions without the marks between which a lab's answers are cut out."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

MARKS = re.compile(r"^[ \t]*(?:#|//) (?:BEGIN|END) SOLUTION[ \t]*(?:\n|\Z)", re.M)


class HideMarks(SphinxTransform):
    """Take the marks out of the code that a page shows."""

    default_priority = 400

    def apply(self, **kwargs: object) -> None:
        for block in list(self.document.findall(nodes.literal_block)):
            code = MARKS.sub("", block.astext())
            if code != block.astext():
                code = code.rstrip("\n")
                block.rawsource = code  # equal to the text, or it is not highlighted
                block.children = []
                block += nodes.Text(code)


def setup(app: Sphinx) -> None:
    app.add_transform(HideMarks)
