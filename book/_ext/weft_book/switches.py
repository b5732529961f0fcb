"""A kernel with switches: every combination judged while the book is built.

{switches} name reads `book/switches/<name>.toml`: the code, whose lines depend on
switches, and the check. The page holds all verdicts; a script shows the one that fits,
and without a script there is the kernel as it is first, with its verdict.
"""

import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx

from . import judging
from .page import WeftDirective

FOLDER = Path("book", "switches")
SCRIPT = "switches.js"
HISTORY = re.compile('<details class="weft-history".*?</script>', re.DOTALL)  # left out
State = Mapping[str, bool]


@dataclass(frozen=True)
class Line:
    """A line of the kernel, and the switches that must be on (or off) for it."""

    text: str
    when: tuple[str, ...]

    def there(self, state: State) -> bool:
        return all(
            state[word.removeprefix("!")] is not word.startswith("!")
            for word in self.when
        )


@dataclass(frozen=True)
class Switched:
    """A kernel with switches, as its file describes it."""

    lines: tuple[Line, ...]
    switches: tuple[dict[str, Any], ...]
    setup: str
    check: str

    @property
    def names(self) -> list[str]:
        return [switch["name"] for switch in self.switches]

    @property
    def first(self) -> dict[str, bool]:
        return {switch["name"]: bool(switch["on"]) for switch in self.switches}

    @property
    def states(self) -> list[dict[str, bool]]:
        """All combinations."""
        values = itertools.product((True, False), repeat=len(self.switches))
        return [dict(zip(self.names, each, strict=True)) for each in values]

    def code(self, state: State) -> str:
        return "\n".join(line.text for line in self.lines if line.there(state))


def read(path: Path) -> Switched:
    """Read a kernel with switches. Raises ValueError for a switch that is not one."""
    found = tomllib.loads(path.read_text(encoding="utf8"))
    names = {switch["name"] for switch in found["switches"]}
    lines = []
    for row in found["code"].strip("\n").splitlines():
        when, _, text = row.partition("| ")
        words = tuple(when.split())
        if lost := {word.removeprefix("!") for word in words} - names:
            raise ValueError(f"{path.name}: there is no switch {', '.join(lost)}")
        lines.append(Line(text.rstrip(), words))
    return Switched(
        tuple(lines), tuple(found["switches"]), found["setup"], found["check"]
    )


def key(state: State) -> str:
    """Return a state as the page writes it: `guard barrier`, the switches on."""
    return " ".join(name for name, on in state.items() if on)


def judge(root: Path, kernel: Switched) -> dict[str, str]:
    """Run the check on every combination, in the simulator; return key -> HTML."""
    cells = [kernel.setup.strip()]
    for state in kernel.states:
        cells += [kernel.code(state), kernel.check.strip()]
    found = judging.shown(cells, root, root)
    shown = [HISTORY.sub("", html) for html in found[2::2]]
    return dict(zip(map(key, kernel.states), shown, strict=True))


def kernel_html(kernel: Switched) -> str:
    """Return all lines as HTML; those of other states than the first are hidden."""
    text = "\n".join(line.text for line in kernel.lines)
    coloured = highlight(text, PythonLexer(), HtmlFormatter(nowrap=True)).splitlines()
    rows = []
    for line, html in zip(kernel.lines, coloured, strict=True):
        hidden = "" if line.there(kernel.first) else " hidden"
        when = f' data-when="{" ".join(line.when)}"' if line.when else ""
        rows.append(f'<span class="weft-line"{when}{hidden}>{html}\n</span>')
    return f'<div class="highlight"><pre tabindex="0">{"".join(rows)}</pre></div>'


def page_html(
    name: str, kernel: Switched, verdicts: Mapping[str, str], legend: str
) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" role="switch" value="{switch["name"]}"'
        f"{' checked' if switch['on'] else ''}> {escape(switch['label'])}</label>"
        for switch in kernel.switches
    )
    first = key(kernel.first)
    shown = "".join(
        f'<div data-state="{state}"{"" if state == first else " hidden"}>{html}</div>'
        for state, html in verdicts.items()
    )
    return (
        f'<div class="weft-exchange weft-switches" id="switches-{name}">'
        f"<fieldset><legend>{escape(legend)}</legend>{boxes}</fieldset>{kernel_html(kernel)}"
        f'<div class="weft-shown" aria-live="polite">{shown}</div></div>'
    )


class SwitchesDirective(WeftDirective):
    """{switches} name shows book/switches/<name>.toml; :legend: says what to do."""

    required_arguments = 1
    option_spec: ClassVar = {"legend": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        path = root / FOLDER / f"{self.arguments[0]}.toml"
        self.env.note_dependency(str(path))
        if not path.is_file():
            return self.warn(f"there is no {path.relative_to(root)}")
        try:
            kernel = read(path)
            verdicts = judge(root, kernel)
        except (ValueError, KeyError, judging.CellError) as error:
            return self.warn(error)
        if silent := [state for state, html in verdicts.items() if not html]:
            return self.warn(f"the check shows nothing for {silent}")
        legend = self.options.get("legend", "Switch parts of the kernel")
        return self.html(page_html(path.stem, kernel, verdicts, legend))


def setup(app: Sphinx) -> None:
    app.add_directive("switches", SwitchesDirective)
    app.add_js_file(SCRIPT, loading_method="defer")
