"""The execution of a cell that a check has judged, and whether the cell has changed.

Python knows a function only as its cell was when the cell last ran. A verdict names
that execution, for example `cell [46]`. In JupyterLab a few lines of JavaScript compare
its source with the cell on screen. Elsewhere, or without scripts, only the number is
shown.
"""

import html
import re
from dataclasses import dataclass, field
from typing import Any

from weft import markup

EDITED = "You have edited that cell since. Run it, and then this check."
GIVES = re.compile(r"^(?:(?:def|class)\s+(\w+)|(\w+)\s*=(?!=))", re.MULTILINE)
MODULUS = 2**32 - 5  # digests are taken modulo this, the largest prime in 32 bits

# A cell's number is in its prompt, and its text in CodeMirror's state, because the page
# itself contains only the visible lines. If either is not found, nothing is shown.
SCRIPT = """
(() => {
  const here = document.currentScript;
  const note = here && here.parentElement.querySelector(".weft-edited");
  const notebook = here && here.closest(".jp-Notebook");
  if (!note || !notebook) return;
  const cell = [...notebook.querySelectorAll(".jp-CodeCell")].find((cell) => {
    const prompt = cell.querySelector(".jp-InputPrompt");
    return prompt && prompt.textContent.includes("[NUMBER]");
  });
  if (!cell) return;
  const compare = () => {
    const content = cell.querySelector(".cm-content");
    const view = content && (content.cmTile || content.cmView)?.view;
    if (!view) return;
    let digest = 0;
    for (const character of view.state.doc.toString().trim())
      digest = (digest * 31 + character.codePointAt(0)) % MODULUS;
    note.hidden = digest === DIGEST;
  };
  compare();
  new MutationObserver(compare).observe(cell, {
    subtree: true, childList: true, characterData: true,
  });
})();
"""

_last: dict[str, "Execution"] = {}  # by a name that the cell assigns


@dataclass(frozen=True)
class Execution:
    """One run of a cell: its number, as the notebook shows it, and its source."""

    number: int
    source: str = field(repr=False)

    def __str__(self) -> str:
        return f"judged: cell [{self.number}]"

    def html(self) -> str:
        """Return HTML: the number, and a note hidden until the cell is edited."""
        script = SCRIPT.replace("[NUMBER]", f"[{self.number}]")
        script = script.replace("MODULUS", str(MODULUS))
        script = script.replace("DIGEST", str(digest(self.source)))
        return (
            f'<div style="margin:.4em 0"><span style="{markup.MUTED}">{self}</span>'
            f' <strong class="weft-edited" hidden>{html.escape(EDITED)}</strong>'
            f"<script>{script}</script></div>"
        )


def digest(source: str) -> int:
    """Return a number that identifies a cell's text, as SCRIPT computes it."""
    found = 0
    for character in source.strip():
        found = (found * 31 + ord(character)) % MODULUS
    return found


def note(result: Any) -> None:
    """Record a cell as the latest to define its names, if it ran without an error."""
    number = getattr(result, "execution_count", None)
    source = getattr(result.info, "raw_cell", None) or ""
    if number is None or not result.success:
        return
    execution = Execution(number, source)
    for function, variable in GIVES.findall(source):
        _last[function or variable] = execution


def of(name: str) -> Execution | None:
    """Return the execution that defined `name`, or None if none was recorded."""
    return _last.get(name)
