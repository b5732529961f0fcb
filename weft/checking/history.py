"""How a fault came about: the accesses that led to it, one step at a time.

A verdict has them as its `past`, in the order in which the simulator ran them. They are
shown as a list that can be opened; where scripts run, a slider steps through it.
"""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from weft import markup
from weft.places import Place
from weft.wording import several

MONOSPACE = "font-family:var(--jp-code-font-family,ui-monospace,monospace)"
BUTTON = (
    "font:inherit;color:inherit;background:none;border-radius:4px;cursor:pointer;"
    "border:1px solid color-mix(in srgb, currentColor 45%, transparent);"
    "padding:.1em .8em;min-height:2.2em"
)

# The steps are a list, and the script shows one of them at a time. It begins with the
# last, which is the fault. The event `weft-step` tells an editor in the page its line.
SCRIPT = """
(() => {
  const box = document.currentScript.previousElementSibling;
  const steps = [...box.querySelectorAll("li")];
  const rows = [...box.querySelectorAll("div[data-row]")];
  const [back, range, forward] = box.querySelectorAll("button, input");
  const tell = (detail) =>
    box.dispatchEvent(new CustomEvent("weft-step", { bubbles: true, detail }));
  const show = (at) => {
    range.value = at;
    range.setAttribute("aria-valuetext", `step ${at} of ${steps.length}`);
    back.disabled = at <= 1;
    forward.disabled = at >= steps.length;
    steps.forEach((step, n) => (step.style.display = n === at - 1 ? "" : "none"));
    for (const row of rows) {
      const here = row.dataset.row === steps[at - 1].dataset.row;
      row.setAttribute("aria-current", here ? "step" : "false");
      row.style.background = here
        ? "color-mix(in srgb, currentColor 14%, transparent)" : "";
      row.style.boxShadow = here ? "inset 3px 0 #c8473c" : "";
      if (here && box.open)
        tell({ line: row.dataset.line, text: row.lastElementChild.textContent });
    }
  };
  range.addEventListener("input", () => show(Number(range.value)));
  back.addEventListener("click", () => show(Number(range.value) - 1));
  forward.addEventListener("click", () => show(Number(range.value) + 1));
  box.addEventListener("toggle", () =>
    box.open ? show(Number(range.value)) : tell(null));
  range.parentElement.style.display = "flex";
  show(steps.length);
})();
"""


@dataclass(frozen=True)
class Step:
    """One action of a thread, or of a block at a barrier.

    place: the line. who: the thread. did: what the thread did, in words. element: what
    the element in question held before, and holds now; '' if that is unknown.
    """

    place: Place
    who: str
    did: str
    element: str = ""

    def __str__(self) -> str:
        held = f"; {self.element}" if self.element else ""
        return f"line {self.place.line}: {self.who} {self.did}{held}"


@dataclass(frozen=True)
class History:
    """The steps to a fault, and the sentence that describes the fault."""

    steps: Sequence[Step]
    fault: str

    def __repr__(self) -> str:
        lines = [f"{n:3}  {step}" for n, step in enumerate(self.steps, 1)]
        if not lines:
            return "No steps of this verdict are known."
        said = textwrap.fill(self.fault, 80, break_long_words=False)
        return "\n".join([*lines, "", said])

    def _repr_html_(self) -> str:
        return html_of(self) if self.steps else markup.note(repr(self))


def html_of(history: History) -> str:
    """Return a history as HTML for a notebook, without a stylesheet."""
    steps = history.steps
    last = len(steps)
    items = "".join(
        _item(number, step, history.fault if number == last else "")
        for number, step in enumerate(steps, 1)
    )
    controls = (
        '<div style="display:none;align-items:center;gap:.6em;margin:.5em 0">'
        f'<button type="button" style="{BUTTON}">Back</button>'
        f'<input type="range" min="1" max="{last}" value="{last}" aria-label="Step" '
        'style="flex:1;min-width:4em;max-width:24em;height:2.2em">'
        f'<button type="button" style="{BUTTON}">Forward</button></div>'
    )
    return (
        '<details class="weft-history" style="max-width:46rem;line-height:1.45;'
        'border-left:4px solid #c8473c;padding:.3em .9em;margin:-.3em 0 .3em">'
        "<summary>Step back through what led to this "
        f"({several(last, 'step')})</summary>{controls}{_code(steps)}"
        f'<ol aria-live="polite" style="margin:.5em 0;padding-left:2em">{items}</ol>'
        f"</details><script>{SCRIPT}</script>"
    )


def _key(place: Place) -> str:
    """Return a key that distinguishes a line from lines of other functions."""
    return f"{html.escape(place.function)}:{place.line}"


def _code(steps: Sequence[Step]) -> str:
    """Return, as HTML, the lines that the steps are on, in source order."""
    places = {_key(step.place): step.place for step in steps}
    rows = "".join(
        f'<div data-row="{key}" data-line="{place.line}" '
        'style="padding:.1em .5em;display:flex;gap:1em">'
        f'<span style="{markup.MUTED};white-space:nowrap">line {place.line}</span>'
        '<span style="white-space:pre-wrap;overflow-wrap:anywhere;font-size:.92em;'
        f'{MONOSPACE}">{html.escape(place.text)}</span></div>'
        for key, place in sorted(places.items(), key=lambda one: one[1].line)
    )
    return f'<div role="group" aria-label="Lines of the steps">{rows}</div>'


def _item(number: int, step: Step, fault: str) -> str:
    """Return a step of the list as HTML; the last step includes the fault."""
    parts = [
        f"line {step.place.line}: <strong>{html.escape(step.who)}</strong> "
        f"{markup.inline(step.did)}"
    ]
    if step.element:
        parts.append(
            f'<span style="{markup.MUTED}">{markup.inline(step.element)}</span>'
        )
    if fault:
        parts.append(f"<strong>{markup.inline(fault)}</strong>")
    said = "<br>".join(parts)
    return f'<li value="{number}" data-row="{_key(step.place)}">{said}</li>'
