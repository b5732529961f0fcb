"""A verdict as a learner sees it: a wrong kernel, judged while the book is built."""

import re
from pathlib import Path
from typing import ClassVar

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from nbformat import NotebookNode
from sphinx.application import Sphinx

from verification.corpus import HERE, MAGICS, under_magic
from weft.cells import checked

from . import judging
from .page import WeftDirective


class VerdictError(Exception):
    """The verdict cannot be shown; the message says why."""


def as_typed(text: str) -> str:
    """Return an answer without what is written in it for the tests."""
    lines = text.splitlines()
    while lines and (lines[0].startswith(("# ", "//")) or not lines[0].strip()):
        lines.pop(0)
    return "\n".join(HERE.sub("", line) for line in lines).rstrip()


def judging_cells(lab: NotebookNode, exercise: str, typed: str) -> list[NotebookNode]:
    """Return the code cells that judge `typed`: setup, what is given, it, its check."""
    code = [cell for cell in lab.cells if cell.cell_type == "code"]
    given = [cell for cell in code if "given" in cell.metadata.get("tags", [])]
    checks = [cell for cell in code if checked(cell.source) == exercise]
    if not checks:
        raise VerdictError(f"the lab has no check({exercise}, ...)")
    return [code[0], *given, nbformat.v4.new_code_cell(typed), checks[0]]


def judge(root: Path, lab: str, exercise: str, typed: str) -> str:
    """Run the lab's own check on `typed` in the simulator; return the HTML it shows."""
    path = root / "labs" / f"{lab}.ipynb"
    if not path.is_file():
        raise VerdictError(f"there is no labs/{path.name}")
    cells = judging_cells(nbformat.read(path, as_version=4), exercise, typed)
    own = root / "solutions"  # where passes are not a learner's
    folder = own if own.is_dir() else path.parent
    try:
        *_, html = judging.shown([cell.source for cell in cells], root, folder)
    except judging.CellError as error:
        raise VerdictError(str(error)) from None
    if not html:
        raise VerdictError("the check shows no HTML")
    return html


class VerdictDirective(WeftDirective):
    """{verdict} lab | exercise | kernel: a wrong or right answer and its verdict."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"kind": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        parts = [part.strip() for part in self.arguments[0].split("|")]
        if len(parts) != 3:
            return self.warn("write `lab | exercise | kernel`")
        lab, exercise, kernel = parts
        path = root / "chapters" / lab / "answers" / exercise / f"{kernel}.py"
        for suffix in MAGICS:
            if path.with_suffix(suffix).is_file():
                path = path.with_suffix(suffix)
        self.env.note_dependency(str(path))
        self.env.note_dependency(str(root / "labs" / f"{lab}.ipynb"))
        if not path.is_file():
            return self.warn(f"there is no {path.relative_to(root)}")
        typed = under_magic(path, as_typed(path.read_text(encoding="utf8")))
        try:
            html = judge(root, lab, exercise, typed)
        except VerdictError as error:
            return self.warn(error)
        kinds = re.findall(r'data-kind="([^"]*)"', html)
        wanted = self.options.get("kind")
        if wanted and kinds[:1] != [wanted]:
            return self.warn(f"the check says {kinds[:1]}, not {wanted!r}")
        code = nodes.literal_block(
            typed, typed, language=MAGICS.get(path.suffix, "python")
        )
        self.set_source_info(code)
        shown = self.html(f'<div class="weft-shown">{html}</div>')
        return [nodes.container("", code, *shown, classes=["weft-exchange"])]


def setup(app: Sphinx) -> None:
    app.add_directive("verdict", VerdictDirective)
