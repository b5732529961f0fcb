"""solutions/NN.ipynb -> labs/NN.ipynb: answers cut out, outputs cleared."""

import re
from pathlib import Path

from nbformat import NotebookNode

from weft import versions

from . import PipelineError, notebook
from .edited import edited, lab_digest

STUB = "# your code here\npass"
# JupyterLab folds the first cell to this line.
FIRST = "# Imports: run this cell first, and again after a restart of the kernel."
# What JupyterLab folds below its heading.
MORE = "## More", "## If you want more", "## Try it"
ANSWER = re.compile(
    r"^([ \t]*)(#|//) BEGIN SOLUTION\n(.*?)^[ \t]*\2 END SOLUTION[ \t]*(?:\n|\Z)",
    re.M | re.S,
)
WAS = re.compile(r"^[ \t]*(?:#|//) was:(?: (.*))?$", re.M)
COURSE = "github.com/warp-and-weft/warp-and-weft"
COLAB_LINK = "colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/"
COLAB = {"accelerator": "GPU", "colab": {"gpuType": "T4", "provenance": []}}
COLAB_CPU = {"colab": {"provenance": []}}


def derive(root: Path, stem: str) -> NotebookNode:
    """Make a lab from its solution's notebook."""
    try:
        from nbconvert.preprocessors import (
            ClearMetadataPreprocessor,
            ClearOutputPreprocessor,
            TagRemovePreprocessor,
        )
        from nbgrader.preprocessors import ClearSolutions
    except ImportError as error:
        raise PipelineError(
            f"making labs needs {error.name}: pip install -r requirements-dev.txt"
        ) from error

    nb = notebook.up_to_date(root, stem)
    where = notebook.runs_on(nb)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.source = undo(cell.source)
    for step in (
        TagRemovePreprocessor(remove_cell_tags={"solution"}),
        ClearSolutions(code_stub={"python": STUB}, enforce_metadata=False),
        ClearOutputPreprocessor(),
        ClearMetadataPreprocessor(preserve_cell_metadata_mask={"tags"}),
    ):
        nb, _ = step.preprocess(nb, {})
    notebook.titled(nb, "Lab")
    for cell in nb.cells:
        cell.source = at_revision(cell.source, versions.revision())
    if first := next((cell for cell in nb.cells if cell.cell_type == "code"), None):
        first.source = f"{FIRST}\n{first.source}"
    stamp = {"lab": stem, "digest": lab_digest(nb.cells), **where}
    made = notebook.canonical(nb, stamp, **(COLAB_CPU if where else COLAB))
    for cell in made.cells:
        if cell.cell_type == "markdown" and cell.source.startswith(MORE):
            cell.metadata["jp-MarkdownHeadingCollapsed"] = True
        if cell.source.startswith(FIRST):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return made


def at_revision(source: str, revision: str) -> str:
    """Make Colab open and install the course as it was when the lab was made.

    revision: a release's tag; `main` stands for the newest version.
    """
    if revision == "main":
        return source
    source = source.replace(f"{COLAB_LINK}main/", f"{COLAB_LINK}{revision}/")
    install = re.compile(rf"(%pip install .*git\+https://{COURSE})$", re.M)
    return install.sub(rf"\1@{revision}", source)


def undo(source: str) -> str:
    """Replace each answer by what it changes: the text of its lines `# was: ...`.

    A line `# was:` alone says that the answer only adds something. Answers without such
    lines stay, for a stub to replace them; in another language than Python, under a
    magic, a comment replaces them here.
    """
    foreign = source.startswith("%%")

    def before(answer: re.Match[str]) -> str:
        lines = WAS.findall(answer[3])
        if not lines and foreign:
            return f"{answer[1]}{answer[2]} your code here\n"
        if not lines:
            return answer[0]
        return "".join(f"{answer[1]}{line}\n" for line in lines if line)

    return ANSWER.sub(before, source).rstrip("\n")


def write_lab(root: Path, stem: str) -> bool:
    """Write labs/NN.ipynb; return whether it changed.

    Raises PipelineError rather than overwrite a learner's copy.
    """
    path = notebook.lab(root, stem)
    nb = derive(root, stem)
    if path.exists() and (why := edited(path)) is not None:
        raise PipelineError(
            f"labs/{path.name} is left as it is: {why}.\n"
            f"  To keep that work, rename the file to my_{path.name}, as `make update` "
            "does when\n  a newer lab arrives; to throw it away, delete the file. Then "
            "`make labs` again."
        )
    return notebook.write(nb, path)
