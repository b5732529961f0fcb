"""Run the cells of a lab as a notebook does: its setup, exercises and checks."""

import ast
import linecache
import re
from functools import cache
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from pipeline import notebook
from verification.corpus import ROOT
from weft.c import cell as foreign
from weft.cells import checked


def run(source: str, name: str, scope: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last expression."""
    if magic := re.match(r"%%(c|makefile) (.*)\n", source):
        written, _ = foreign(magic[1], magic[2], source[magic.end() :])
        scope[written.name] = written
        return None
    text = TransformerManager().transform_cell(source)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    body = ast.parse(text)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, name, "exec"), scope)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), scope)


@cache
def cells(lab: str) -> list[Any]:
    """Return the code cells of a lab's solution."""
    script = notebook.read_script(notebook.script(ROOT, lab))
    return [cell for cell in script.cells if cell.cell_type == "code"]


@cache
def checks(lab: str) -> dict[str, str]:
    """Return the source of the cell that checks each exercise of a lab."""
    found = {}
    for cell in cells(lab):
        if name := checked(cell.source):
            found[name] = cell.source
    return found


def scope_of(lab: str) -> dict[str, Any]:
    """Return what a learner's cell finds defined: the setup and the `given` cells."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    given = [c for c in cells(lab)[1:] if "given" in c.metadata.get("tags", [])]
    for number, cell in enumerate([cells(lab)[0], *given]):
        run(cell.source, f"<{lab} cell {number}>", scope)
    return scope
