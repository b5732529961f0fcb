"""Built pages ask the network for nothing, and lead to each other without it."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from weft.links import COLAB as RELEASE
from weft.links import PUBLIC

logger = logging.getLogger(__name__)

COLAB = "https://colab.research.google.com/"
NEWEST = re.compile(rf"{COLAB}github/[\w-]+/[\w-]+/blob/main")


class KeepToThePage(SphinxTransform):
    """Take out a lab's way to Colab; warn of images that lie elsewhere.

    A lab's first cell leads to Colab, for those who read it on GitHub. In the book
    the strip above the title does, and a badge would be fetched from the network. A
    button of a page stays, and opens the lab as it was when the book was released.
    """

    default_priority = 400

    def apply(self, **kwargs: object) -> None:
        for block in list(self.document.findall(nodes.paragraph)):
            links = list(block.findall(nodes.reference))
            if len(links) != 1 or not links[0].get("refuri", "").startswith(COLAB):
                continue
            if block.astext().strip() == links[0].astext().strip():
                block.parent.remove(block)
        for link in self.document.findall(nodes.reference):
            if "refuri" in link:
                link["refuri"] = NEWEST.sub(RELEASE, link["refuri"])
        for image in list(self.document.findall(nodes.image)):
            if image["uri"].startswith(("http:", "https:", "//")):
                logger.warning(
                    "an image from the network, %s: put a copy into the repository",
                    image["uri"],
                    location=image,
                    type="weft",
                    subtype="network",
                )


def lead_to_these_pages(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Let links to the published book, as verdicts have them, lead to this one."""
    if app.builder.format == "html" and "body" in context:
        root = "../" * pagename.count("/")
        for folder in ("book", "labs", "solutions"):
            public, here = f'href="{PUBLIC}/{folder}/', f'href="{root}{folder}/'
            context["body"] = context["body"].replace(public, here)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", lead_to_these_pages)
    app.add_transform(KeepToThePage)
