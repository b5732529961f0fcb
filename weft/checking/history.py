"""How a fault came about: the accesses that led to it, one step at a time.

A verdict has them as its `past`, in the order in which the simulator ran them. Shown is a
list that opens; where scripts run, a slider goes through it.
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
# last, which is the fault. `weft-step` tells an editor in the page which line it is.
SCRIPT = """
document.querySelectorAll(".weft-history:not([data-woken])").forEach((box) => {
  box.dataset.woken = "";
  const steps = [...box.querySelectorAll("li")];
  const lines = [...box.querySelectorAll("[data-row]")];
  const [back, range, forward] = box.querySelectorAll("button, input");
  const tell = (line) =>
    box.dispatchEvent(new CustomEvent("weft-step", { bubbles: true, detail: line }));
  const show = (at) => {
    range.value = at;
    range.setAttribute("aria-valuetext", `step ${at} of ${steps.length}`);
    back.disabled = at <= 1;
    forward.disabled = at >= steps.length;
    steps.forEach((step, n) => (step.style.display = n === at - 1 ? "" : "none"));
    const { line } = steps[at - 1].dataset;
    lines.forEach((row) => {
      const here = row.dataset.row === line;
      row.toggleAttribute("aria-current", here);
      row.style.background = here
        ? "color-mix(in srgb, currentColor 14%, transparent)" : "";
      row.style.boxShadow = here ? "inset 3px 0 #c8473c" : "";
    });
    if (box.open) tell(Number(line));
  };
  range.addEventListener("input", () => show(Number(range.value)));
  back.addEventListener("click", () => show(Number(range.value) - 1));
  forward.addEventListener("click", () => show(Number(range.value) + 1));
  box.addEventListener("toggle", () =>
    box.open ? show(Number(range.value)) : tell(0));
  range.parentElement.style.display = "flex";
  show(steps.length);
});
"""


@dataclass(frozen=True)
class Step:
    """One thing that a thread did, or a block at a barrier.

    place: the line. who: the thread. did: what, in words. element: what the element in
    question held before, and holds now; '' where it is not known.
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
    """The steps to a fault, and the sentence that says what it is."""

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
    """A history as a notebook shows it, without a stylesheet."""
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
        "<summary>Step back through how it came about "
        f"({several(last, 'step')})</summary>{controls}{_code(steps)}"
        f'<ol aria-live="polite" style="margin:.5em 0;padding-left:2em">{items}</ol>'
        f"</details><script>{SCRIPT}</script>"
    )


def _code(steps: Sequence[Step]) -> str:
    """The lines that the steps are on, in the order of the source."""
    places = {(s.place.function, s.place.line): s.place.text for s in steps}
    rows = "".join(
        f'<div data-row="{line}" style="padding:.1em .5em;display:flex;gap:1em">'
        f'<span style="{markup.MUTED};white-space:nowrap">line {line}</span>'
        '<span style="white-space:pre-wrap;overflow-wrap:anywhere;font-size:.92em;'
        f'{MONOSPACE}">{html.escape(text)}</span></div>'
        for (_, line), text in sorted(places.items(), key=lambda one: one[0][1])
    )
    return f'<div role="group" aria-label="Lines of the steps">{rows}</div>'


def _item(number: int, step: Step, fault: str) -> str:
    """A step of the list; the last has the sentence on the fault."""
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
    return (
        f'<li value="{number}" data-line="{step.place.line}">{"<br>".join(parts)}</li>'
    )
