"""Figures to play with: modules of weft/exploring/figures, each with a still picture.

A page holds a figure's first state and its still, which stays where there is no
JavaScript and in print. `python book/stills.py` draws the stills.
"""

import hashlib
import json
import re
import shutil
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from weft.bench.results import REFERENCE
from weft.exploring import linking
from weft.exploring.report import place

from . import results
from .page import WeftDirective, load_for

COURSE = Path(__file__).resolve().parents[3]  # also where only some pages are built
FIGURES = Path("weft", "exploring", "figures")
STILLS = Path("book", "figures", "stills")
PLACE = "figures"  # under the pages' _static
WRITTEN = re.compile(r"^```\{play\} *(\w+)\n((?::\w+:.*\n)*)", re.M)
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6}
STATE = re.compile(r"^:state: *(.*)$", re.M)


def state_of(root: Path, text: str) -> dict[str, Any]:
    """Read a figure's first state, YAML on one line, with measured numbers filled in.

    Raises ValueError, or MissingResult for a number that was not measured.
    """
    try:
        state = yaml.safe_load(text or "{}")
    except yaml.YAMLError as error:
        raise ValueError(f":state: is not YAML: {error}") from None
    if not isinstance(state, dict):
        raise ValueError(":state: is not a mapping, such as {stride: 2}")
    return {name: filled(root, value) for name, value in state.items()}


def filled(root: Path, value: Any) -> Any:
    """Replace {measured: "lab | case | name"} by that row's rate, per second.

    Without a name, it becomes [name, seconds] of every row of the case.
    """
    if isinstance(value, list):
        return [filled(root, each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"measured"}:
        lab, case, *names = (part.strip() for part in value["measured"].split("|"))
        measured = results.read(results.path_of(root, lab, REFERENCE))
        if not names:
            return [[row.name, seconds(row)] for row in measured.of_case(case)]
        row = measured.find(case, names[0])
        prefix = re.match(r"([TGMk]?)(B|FLOP)/s", row.unit or "")
        if row.value is None or prefix is None:
            raise ValueError(f"{value['measured']}: that row has no rate")
        return row.value * results.PREFIXES[prefix[1]]
    return {name: filled(root, each) for name, each in value.items()}


def seconds(row: results.Row) -> float:
    """Return a row's time. Raises ValueError where none was measured."""
    if row.ms is not None:
        return row.ms * SECONDS["ms"]
    if row.value is None or row.unit not in SECONDS:
        raise ValueError(f"{row.case} | {row.name}: that row has no time")
    return row.value * SECONDS[row.unit]


def still_path(root: Path, name: str, state: dict[str, Any]) -> Path:
    """Return where the still picture of a figure in this state lies."""
    said = json.dumps(state, sort_keys=True)
    digest = hashlib.sha256(said.encode()).hexdigest()[:8]
    return root / STILLS / f"{name}-{digest}.html"


def written(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """List the (name, first state) of all figures in the book's pages.

    One whose numbers have not been measured is left out; its page warns of it.
    """
    found = []
    for page in sorted((root / "book").glob("*.md")):
        for name, options in WRITTEN.findall(page.read_text(encoding="utf8")):
            match = STATE.search(options)
            with suppress(results.MissingResult):
                found.append((name, state_of(root, match[1] if match else "")))
    return found


def html_of(name: str, state: dict[str, Any], alt: str, still: str) -> str:
    label = escape(alt)
    picture = f'<div class="weft-still" role="img" aria-label="{label}">{still}</div>'
    return place(name, state, alt, picture)


class PlayDirective(WeftDirective):
    """{play} name puts a figure here; the content is its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "alt": directives.unchanged_required,
        "state": directives.unchanged,
        "name": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        name, root = self.arguments[0], Path(self.env.srcdir)
        module = root / FIGURES / f"{name}.js"
        if not module.is_file():
            return self.warn(f"there is no {FIGURES / module.name}")
        if not self.options.get("alt"):
            return self.warn("say in :alt: what is seen")
        try:
            state = state_of(root, self.options.get("state", ""))
        except (ValueError, results.MissingResult) as error:
            return self.warn(error)
        still = still_path(root, name, state)
        self.env.note_dependency(str(still))
        if not still.is_file():
            return self.warn("it has no still picture: run `make figures`")
        figure = nodes.figure(classes=["weft-drawing", "weft-played"])
        picture = still.read_text(encoding="utf8")
        figure += self.html(html_of(name, state, self.options["alt"], picture))
        if self.content:
            caption = " ".join(self.content)
            inlines, messages = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *inlines)
            figure += messages
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]


def copy_modules(app: Sphinx) -> None:
    """Put the figures' modules and style where the pages find them."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", PLACE)
    target.mkdir(parents=True, exist_ok=True)
    for path in (COURSE / FIGURES).iterdir():
        if path.suffix in (".js", ".css"):
            shutil.copyfile(path, target / path.name)
    for name in linking.names():  # for who opens the book from a folder
        code = linking.script(name)
        (target / f"{name}.script.js").write_text(code, encoding="utf8")


def load_where_played(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Load the figures' style and loader on the pages that have a figure.

    An executed notebook has them too: what `weft.explore` left there.
    """
    load_for(app, doctree, "data-figure=", f"{PLACE}/figures.css", f"{PLACE}/load.js")


def setup(app: Sphinx) -> None:
    app.add_directive("play", PlayDirective)
    app.connect("builder-inited", copy_modules)
    app.connect("html-page-context", load_where_played)
