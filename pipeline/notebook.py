"""A notebook's canonical form: read from a percent script, merged, written."""

import difflib
import hashlib
import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from . import PipelineError
from .wordless import wordless

SIZE_CAP = 1_000_000  # bytes of one notebook's outputs, including pictures
SHORT = 5  # lines; JupyterLab folds given code that is longer
KERNELSPEC = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}
LANGUAGE = {"name": "python", "pygments_lexer": "ipython3"}
MARKER = re.compile(r"\s*(?:#\s+)?(?:#|//) (BEGIN|END) SOLUTION")
BOUND = re.compile(r"\b(at_least|at_most|law)=-?[0-9.e-]+")
TITLE = re.compile(r"\A# (?:Solution |Lab )?(\d\d · )")


def stems(root: Path, names: list[str] | None = None) -> list[str]:
    """Return the stems asked for ("05", "05_first_kernel", a path), or else all."""
    known = sorted(p.parent.name for p in root.glob("chapters/[0-9][0-9]_*/lab.py"))
    if not names:
        return known
    chosen = []
    for name in names:
        stem = Path(name.removesuffix("lab.py")).name.removesuffix(".ipynb")
        found = [k for k in known if k == stem or k.startswith(stem + "_")]
        if len(found) != 1:
            raise PipelineError(
                f"no solution is called {name!r}; there is {', '.join(known) or 'none'}"
            )
        chosen += found
    return chosen


def script(root: Path, stem: str) -> Path:
    return root / "chapters" / stem / "lab.py"


def solution(root: Path, stem: str) -> Path:
    return root / "solutions" / f"{stem}.ipynb"


def lab(root: Path, stem: str) -> Path:
    return root / "labs" / f"{stem}.ipynb"


def read_script(path: Path) -> NotebookNode:
    """Read a percent script as a notebook.

    Raises PipelineError if the markers of an answer do not pair up.
    """
    if not path.exists():
        raise PipelineError(f"{path} does not exist: it is the notebook's one source")
    text = path.read_text(encoding="utf-8")
    _check_markers(path, text)
    nb = jupytext.reads(text, fmt="py:percent")
    for cell in nb.cells:
        # A cell in another language, `# %% language="c" magic_args="swap"`, has its
        # lines as comments in the script; in the notebook it becomes a cell with a
        # magic.
        if language := cell.metadata.pop("language", None):
            name = cell.metadata.pop("magic_args", "")
            cell.source = f"%%{language} {name}".rstrip() + f"\n{cell.source}"
    titled(nb, "Solution")
    return nb


def titled(nb: NotebookNode, kind: str) -> None:
    """Make a notebook's title say what it is: `# Lab 05 · Your first kernel`."""
    if nb.cells and nb.cells[0].cell_type == "markdown":
        nb.cells[0].source = TITLE.sub(rf"# {kind} \1", nb.cells[0].source, count=1)


def _check_markers(path: Path, text: str) -> None:
    """Raise PipelineError, with the line, unless BEGIN and END SOLUTION pair up."""
    opened, indent = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        here = f"chapters/{path.parent.name}/{path.name}:{number}"
        if opened and line.startswith("# %%"):
            raise PipelineError(
                f"{here}: the cell ends before the answer begun in line {opened}; "
                "close it with '# END SOLUTION'"
            )
        if "BEGIN SOLUTION" not in line and "END SOLUTION" not in line:
            continue
        match = MARKER.fullmatch(line)
        if match is None:
            raise PipelineError(f"{here}: put '{line.strip()}' on a line of its own")
        if match[1] == "BEGIN":
            if opened:
                raise PipelineError(
                    f"{here}: an answer begins inside the one of line {opened}"
                )
            opened, indent = number, line[: line.index("#")]
        else:
            if not opened:
                raise PipelineError(f"{here}: an answer ends here, but none has begun")
            if line[: line.index("#")] != indent:
                raise PipelineError(
                    f"{here}: indent this marker like its '# BEGIN SOLUTION' "
                    f"in line {opened}"
                )
            opened = 0
    if opened:
        raise PipelineError(
            f"chapters/{path.parent.name}/{path.name}:{opened}: this answer never "
            "ends; close it with '# END SOLUTION'"
        )


def runs_on(nb: NotebookNode) -> dict[str, str]:
    """Return {"runs_on": "cpu"} for a notebook that has no use for a GPU, else {}.

    A script says so in its header, under jupyter: weft: runs_on: cpu. Its stamp then
    names the CPU, and its lab asks Colab for no GPU. Raises PipelineError for another
    value.
    """
    value = nb.metadata.get("weft", {}).get("runs_on")
    if value is None:
        return {}
    if value != "cpu":
        raise PipelineError(f"runs_on: {value!r}; write 'cpu', or leave it out")
    return {"runs_on": value}


def _unbound(source: str) -> str:
    """Return a cell's source without the bounds of claims, comments and docstrings."""
    source = wordless(source)
    return BOUND.sub(r"\1=0", source) if ".expect(" in source else source


def keep_outputs(nb: NotebookNode, old: NotebookNode) -> None:
    """Copy outputs from `old` to the code cells of `nb` with the same source.

    Comments, docstrings and the bounds of claims may differ.
    """
    new_code = [cell for cell in nb.cells if cell.cell_type == "code"]
    old_code = [cell for cell in old.cells if cell.cell_type == "code"]
    match = difflib.SequenceMatcher(
        None,
        [_unbound(cell.source) for cell in old_code],
        [_unbound(cell.source) for cell in new_code],
        autojunk=False,
    )
    for i, j, length in match.get_matching_blocks():
        pairs = zip(old_code[i : i + length], new_code[j : j + length], strict=True)
        for before, after in pairs:
            after.outputs = before.outputs
            after.execution_count = before.execution_count


def canonical(nb: NotebookNode, weft: dict, **metadata: object) -> NotebookNode:
    """Rebuild a notebook from what a notebook of ours may contain.

    A cell's id comes from its content, so it stays when cells are inserted before it.
    Cells keep their tags and no other metadata. Widgets, whose state only a running
    kernel has, become the text that they show.
    """
    cells, seen = [], {}
    for cell in nb.cells:
        content = f"{cell.cell_type}\n{cell.source}"
        key = hashlib.sha256(content.encode()).hexdigest()[:8]
        seen[key] = seen.get(key, 0) + 1
        tags = sorted(set(cell.metadata.get("tags", [])))
        clean = {
            "cell_type": cell.cell_type,
            "id": key if seen[key] == 1 else f"{key}-{seen[key]}",
            "metadata": _metadata(tags, cell.source),
            "source": cell.source,
        }
        if cell.cell_type == "code":
            clean["outputs"] = _canonical_outputs(cell.get("outputs", []))
            clean["execution_count"] = cell.get("execution_count")
        cells.append(clean)
    return nbformat.from_dict(
        {
            "cells": cells,
            "metadata": {
                "kernelspec": KERNELSPEC,
                "language_info": LANGUAGE,
                "weft": weft,
                **metadata,
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def _metadata(tags: list[str], source: str) -> dict:
    """Return a cell's metadata: its tags, and that JupyterLab folds long given code.

    Constants stay visible, as the learner's code uses them. The tag `folded` is for
    code of which only the output matters.
    """
    found: dict = {"tags": tags} if tags else {}
    code = re.search(r'^(def|class|@)|"""', source, re.M)
    given = "given" in tags and code and len(source.splitlines()) > SHORT
    if given or "folded" in tags:
        found["jupyter"] = {"source_hidden": True}
    return found


def _canonical_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    for output in outputs:
        last = kept[-1] if kept else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            kept[-1] = nbformat.from_dict({**last, "text": last["text"] + output.text})
            continue
        output = nbformat.from_dict(output)
        if "data" in output:
            for mime in [m for m in output.data if "jupyter.widget" in m]:
                del output.data[mime]
        kept.append(output)
    return kept


def read(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:
        raise PipelineError(
            f"{path} is not a notebook ({error}): delete it and run this again"
        ) from error


def up_to_date(root: Path, stem: str) -> NotebookNode:
    """Read solutions/NN.ipynb. Raises PipelineError if its lab.py has other cells."""
    path, source = solution(root, stem), read_script(script(root, stem))
    nb = read(path) if path.exists() else NotebookNode(cells=[])
    if [cell.source for cell in nb.cells] != [cell.source for cell in source.cells]:
        raise PipelineError(f"{path.name} is behind its lab.py: make notebooks first")
    return nb


def dumps(nb: NotebookNode) -> str:
    nbformat.validate(nb)
    return nbformat.writes(nb) + "\n"


def write(nb: NotebookNode, path: Path) -> bool:
    """Write a canonical notebook; return whether the file changed."""
    text = dumps(nb)
    if (size := len(text.encode())) > SIZE_CAP:
        raise PipelineError(
            f"{path.name} would take {size / 1e6:.1f} MB; a notebook holds at most "
            f"{SIZE_CAP / 1e6:.0f} MB: draw fewer or smaller pictures"
        )
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return True


def build(root: Path, stem: str) -> NotebookNode:
    """Make solutions/NN.ipynb from chapters/NN/lab.py; unchanged cells keep outputs."""
    nb = read_script(script(root, stem))
    stamp: dict = {}
    if solution(root, stem).exists():
        old = read(solution(root, stem))
        keep_outputs(nb, old)
        stamp = dict(old.metadata.get("weft", {}))
    stamp.pop("runs_on", None)
    return canonical(nb, stamp | runs_on(nb))
