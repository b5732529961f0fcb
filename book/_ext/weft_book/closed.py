"""What a reader opens: the answer to a question, and the kernel of an exercise."""

from docutils import nodes
from sphinx.application import Sphinx

from .page import WeftDirective, load_for


class ClosedDirective(WeftDirective):
    """A part of the page under a summary that opens it; its content is Markdown."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    kind = ""

    def summary(self) -> list[nodes.Node]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        inside = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside)
        return [
            *self.html(f'<details class="weft-closed weft-{self.kind}"><summary>'),
            *self.summary(),
            *self.html("</summary>"),
            *inside.children,
            *self.html("</details>"),
        ]

    def inline(self, text: str) -> nodes.inline:
        """Return Markdown of one line as nodes."""
        made = nodes.inline()
        found, messages = self.state.inline_text(text, self.lineno)
        made += [*found, *messages]
        return made


class PredictDirective(ClosedDirective):
    """{predict} asks its argument; its content is the answer."""

    kind = "predict"

    def summary(self) -> list[nodes.Node]:
        return [*self.html("<b>Predict.</b> "), self.inline(self.arguments[0])]


class AnswerDirective(ClosedDirective):
    """{answer} hides what its argument names: the kernel of an exercise."""

    kind = "answer"

    def summary(self) -> list[nodes.Node]:
        return [self.inline(f"{self.arguments[0]} – write it first, then compare")]


def load_cover(
    app: Sphinx,
    page: str,
    _: str,
    __: dict[str, object],
    doctree: nodes.document | None,
) -> None:
    """Load what covers a measurement on pages with a prediction."""
    load_for(app, doctree, "weft-predict", "predict.css", "predict.js")


def setup(app: Sphinx) -> None:
    app.add_directive("predict", PredictDirective)
    app.add_directive("answer", AnswerDirective)
    app.connect("html-page-context", load_cover)
