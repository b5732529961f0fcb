"""Numbers that were measured: a role, ladders, curves, the page of all results."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from weft.bench.results import REFERENCE

from . import cloth, curve, results
from .evidence import ClosedSection, ClosedTitle, counted, findings, permalink, slugs
from .gpus import Panel, choice
from .lessons import lesson_title
from .page import Computed, WeftDirective, table
from .results import MissingResult, Results, Row

logger = logging.getLogger(__name__)


class MeasuredRole(SphinxRole):
    """{measured}`lab | case | name | field` puts one measured number in the text.

    A fifth part, as in `… | h100`, takes it from another GPU's results.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        parts = [part.strip() for part in self.text.split("|")]
        try:
            if len(parts) not in (4, 5):
                raise MissingResult("write `lab | case | name | field`, or `… | gpu`")
            lab, case, name, what = parts[:4]
            root = Path(self.env.srcdir)
            path = results.path_of(root, lab, REFERENCE)
            if parts[4:]:
                path = results.path_with(root, lab, parts[4])
            self.env.note_dependency(str(path))
            measured = results.read(path)
            text = results.text_of(measured.find(case, name), what)
        except MissingResult as missing:
            logger.warning(
                "{measured}`%s`: %s",
                self.text,
                missing,
                location=self.get_location(),
                type="weft",
                subtype="measured",
            )
            return [nodes.problematic(self.rawtext, self.text)], []
        source = f"measured: {' · '.join(machine_facts(measured))}"
        return [Computed(self.rawtext, text, source=source)], []


class VersionsRole(SphinxRole):
    """{versions}`lab` says with which PyTorch and Triton a lab was measured.

    {versions}`installed` says which of them the course installs.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        root = Path(self.env.srcdir)
        try:
            if self.text == "installed":
                path = root / "requirements.txt"
                known = pins(path)
            else:
                path = results.path_of(root, self.text, REFERENCE)
                known = results.read(path).versions
            self.env.note_dependency(str(path))
            text = frameworks(known)
        except MissingResult as missing:
            logger.warning(
                "{versions}`%s`: %s",
                self.text,
                missing,
                location=self.get_location(),
                type="weft",
                subtype="measured",
            )
            return [nodes.problematic(self.rawtext, self.text)], []
        return [Computed(self.rawtext, text, source=path.name)], []


def pins(path: Path) -> dict[str, str]:
    """Return package -> version of the lines `package==version` of a file."""
    lines = path.read_text(encoding="utf8").splitlines() if path.is_file() else []
    return dict(re.findall(r"^([\w-]+)==([\w.]+)", "\n".join(lines), re.MULTILINE))


def frameworks(versions: Mapping[str, str]) -> str:
    """Return "PyTorch 2.13.0 and Triton 3.7.1". Raises MissingResult without them."""
    missing = [name for name in ("torch", "triton") if name not in versions]
    if missing:
        raise MissingResult(f"no version of {' and '.join(missing)} is known")
    words = f"PyTorch {versions['torch']} and Triton {versions['triton']}"
    return re.sub(r" (?=\d)", results.NBSP, words)


EARLIER = "an earlier version of this lab's kernels or measurements"


def machine_facts(measured: Results) -> list[str]:
    """List where and when a file of results was measured."""
    device = measured.device
    facts = [
        device.get("name", measured.gpu),
        device.get("capability") and f"compute capability {device['capability']}",
        device.get("sms") and f"{device['sms']} SMs",
        device.get("driver") and f"driver {device['driver']}",
        device.get("cuda") and f"CUDA {device['cuda']}",
        measured.date[:10],
    ]
    return [str(fact) for fact in facts if fact]


def joined(facts: list[str]) -> str:
    """Return facts as HTML in one line, which breaks between them only."""
    return " · ".join(
        f'<span class="weft-fact">{escape(fact)}</span>' for fact in facts
    )


def columns_of(rows: list[Row], of: str) -> list[tuple[str, str]]:
    """Return the (class, title) of the columns that these rows can fill.

    of: the title of the column of shares.
    """
    has_ceiling = any(row.ceiling is not None for row in rows)
    timed = any(row.ms is not None for row in rows)
    columns = [("name", "")]
    if has_ceiling or (timed and len(rows) > 1):
        columns.append(("bar", of if has_ceiling else "speed"))
    if any(row.value is not None for row in rows):
        columns.append(("rate", "rate" if timed else ""))
    if timed:
        columns.append(("time", "time"))
    baseline = next((row.baseline for row in rows if row.baseline), None)
    if baseline and any(row.ratio is not None for row in rows):
        columns.append(("ratio", f"speed, × {baseline}"))
    return columns


def bar(row: Row, rows: list[Row]) -> str:
    """Return a row's bar: its share of the ceiling, or its speed beside the fastest."""
    share, text = 0.0, ""
    if any(other.ceiling is not None for other in rows):
        if row.ceiling is not None:
            share, text = row.ceiling, results.percent_text(row.ceiling)
    elif row.ms:
        share = min(other.ms for other in rows if other.ms) / row.ms
    width = f"{100 * min(max(share, 0), 1):.1f}%"
    return (
        f'<span class="weft-bar"><span class="weft-fill" style="width:{width}"></span>'
        f'</span><span class="weft-share">{text}</span>'
    )


def time(row: Row) -> str:
    if row.ms is None:
        return ""
    text = results.time_text(row.ms)
    if row.spread is None:
        return text
    said = [f"spread {results.time_text(row.spread)}"]
    said += [f"{row.reps} repetitions"] if row.reps else []
    said += [row.unsteady] if row.unsteady else []
    if row.doubtful and row.ms:
        half = results.percent_text(row.spread / 2 / row.ms)
        text += f' <span class="weft-tag weft-doubt">± {half}</span>'
    return f'<span title="{escape("; ".join(said))}">{text}</span>'


def name(row: Row) -> str:
    text = escape(row.name)
    if row.name == row.baseline:
        text += ' <span class="weft-tag">baseline</span>'
    return text


def ladder(
    measured: Results,
    case: str,
    titled: bool = True,
    anchor: str = "",
    of: str = "of the ceiling",
    now: str | None = None,
) -> str:
    """Return the rows of one case as a table with bars: HTML and CSS, no script.

    anchor: the address of the case, where its rows have their own.
    of: the title of the column of shares. now: today's digest of what the lab measures.
    """
    rows = measured.of_case(case)
    columns = columns_of(rows, of)
    body = []
    for row in rows:
        cells = {
            "name": name(row),
            "bar": bar(row, rows),
            "rate": "" if row.value is None else results.text_of(row, "rate"),
            "time": time(row),
            "ratio": "" if row.ratio is None else results.text_of(row, "ratio") + "×",
        }
        mark = "weft-baseline" if row.name == row.baseline else ""
        body.append((mark, [cells[column] for column, _ in columns]))
    facts = [case, *machine_facts(measured)[:1], measured.date[:10]]
    if now not in (None, measured.digest):
        facts.append(EARLIER)
    caption = joined([fact for fact in facts if fact]) if titled else ""
    names = slugs(row.name for row in rows) if anchor else []
    ids = [f"{anchor}/{name}" for name in names]
    return table(columns, body, caption, kind="weft-ladder", ids=ids)


class ResultsDirective(WeftDirective):
    """A directive that shows what every GPU measured, for the reader to choose."""

    def depend(self, *measured: Results) -> None:
        """Have the page built again when these results change."""
        for one in measured:
            self.env.note_dependency(str(one.path))

    def choice(self, shown: list[tuple[Results, str]]) -> list[nodes.Node]:
        """Return the HTML of each GPU's results, with buttons if there are several."""
        panels = [
            Panel(measured.gpu, measured.device.get("name", measured.gpu), html)
            for measured, html in shown
        ]
        return self.html(choice(panels, f"weft-gpus-{self.env.new_serialno('weft')}"))


class LadderDirective(ResultsDirective):
    """{ladder} lab, with :case:, draws the rows of one case as a table of bars.

    Other GPUs that measured the case are there to choose; :gpu: shows that one alone.
    :of: says what the shares are of, where that is not the ceiling.
    """

    required_arguments = 1
    option_spec: ClassVar = dict.fromkeys(("case", "gpu", "of"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        lab, root = self.arguments[0], Path(self.env.srcdir)
        gpu = self.options.get("gpu", REFERENCE)
        try:
            first = results.read(results.path_of(root, lab, gpu))
            first.of_case(self.options.get("case", "".join(first.cases[:1])))
        except MissingResult as missing:
            return self.warn(missing)
        known = [first] if "gpu" in self.options else results.read_lab(root, lab, gpu)
        self.depend(*known)
        shown = [(measured, self._of(measured, first.digest)) for measured in known]
        return self.choice([(measured, html) for measured, html in shown if html])

    def _of(self, measured: Results, now: str) -> str:
        """Return what one GPU measured of the case, or of all; "" for nothing."""
        cases = [self.options["case"]] if "case" in self.options else measured.cases
        of = f"of the {self.options.get('of', 'ceiling')}"
        return "".join(
            ladder(measured, case, of=of, now=now)
            for case in cases
            if case in measured.cases
        )


class ClothDirective(WeftDirective):
    """{cloth} lab, with :case:, draws the shares of the ceiling as woven threads."""

    required_arguments = 1
    option_spec: ClassVar = {
        "case": directives.unchanged_required,
        "rows": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        path = results.path_of(Path(self.env.srcdir), self.arguments[0], REFERENCE)
        self.env.note_dependency(str(path))
        case = self.options.get("case", "")
        names = [name.strip() for name in self.options.get("rows", "").split(",")]
        try:
            measured = results.read(path)
            if names == [""]:
                rows = measured.of_case(case)
            else:
                rows = [measured.find(case, name) for name in names]
            picks = [(row, results.text_of(row, "ceiling")) for row in rows]
        except MissingResult as missing:
            return self.warn(missing)
        lines = [cloth.line(number, *pick) for number, pick in enumerate(picks)]
        said = joined([f"Share of the copy's speed, {case}", *machine_facts(measured)])
        return self.html(
            f'<figure class="weft-cloth"><ul>{"".join(lines)}</ul>'
            f"<figcaption>{said}</figcaption></figure>"
        )


class CurveDirective(WeftDirective):
    """{curve} lab draws the rates of some rows over the sizes of several cases.

    In :case:, {} stands for a size. The content is the caption.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "case": directives.unchanged_required,
        "sizes": directives.unchanged_required,
        "rows": directives.unchanged_required,
        "axis": directives.unchanged,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        path = results.path_of(Path(self.env.srcdir), self.arguments[0], REFERENCE)
        self.env.note_dependency(str(path))
        case, alt = self.options.get("case", ""), self.options.get("alt", "")
        sizes, names = (
            [part.strip() for part in self.options.get(option, "").split(",")]
            for option in ("sizes", "rows")
        )
        if not alt:
            return self.warn("say in :alt: what is seen")
        if "{}" not in case or len(sizes) < 2:
            return self.warn("give a :case: with {} for the size, and two :sizes:")
        if len(names) > len(curve.STYLES):
            return self.warn(f"at most {len(curve.STYLES)} :rows: can be told apart")
        try:
            measured = results.read(path)
            lines, unit = curve.rates(measured, case, sizes, names)
        except MissingResult as missing:
            return self.warn(missing)
        svg = curve.picture(lines, sizes, unit, self.options.get("axis", ""), alt)
        figure = nodes.figure(classes=["weft-drawing", "weft-curve"])
        figure += self.html(svg)
        facts = joined([*machine_facts(measured)[:1], measured.date[:10]])
        caption = nodes.caption()
        if self.content:
            text = " ".join(self.content)
            inlines, messages = self.state.inline_text(text, self.lineno)
            caption += [*inlines, nodes.Text(" ")]
            figure += messages
        caption += self.html(f'<span class="weft-facts">{facts}</span>')
        figure += caption
        self.set_source_info(figure)
        return [figure]


class AllResultsDirective(ResultsDirective):
    """{all-results} shows every row of every file in results/, lab by lab."""

    def run(self) -> list[nodes.Node]:
        """Return a closed section for each lab; in it, what each GPU measured."""
        root = Path(self.env.srcdir)
        everything = results.read_all(root)
        self.depend(*everything)
        if not everything:
            return self.warn("there is nothing in results/")
        sections: list[nodes.Node] = []
        for lab in dict.fromkeys(measured.lab for measured in everything):
            title = lesson_title(root, lab)
            known = results.read_lab(root, lab, REFERENCE)
            now = known[0].digest
            section = ClosedSection(
                ids=[f"results-{lab.replace('_', '-')}"],
                anchor=lab,
                count=contents(known),
            )
            section += ClosedTitle(title, title)
            section += self.choice([(one, _whole(one, now)) for one in known])
            sections.append(section)
        return sections


def _whole(measured: Results, now: str) -> str:
    """Return everything that one GPU measured of a lab; `now` is today's digest."""
    facts = machine_facts(measured)
    if measured.digest != now:
        facts.append(EARLIER)
    html = [f'<p class="weft-machine">{joined(facts)}</p>']
    for case, slug in zip(measured.cases, slugs(measured.cases), strict=True):
        html.append(_part(measured, case, f"{address(measured)}/{slug}"))
    return "".join(html)


def _part(measured: Results, case: str, anchor: str) -> str:
    title = f"{escape(case)}{permalink(anchor, 'case')}"
    return (
        f'<div class="weft-part"><h3 class="weft-case" id="{anchor}">{title}</h3>'
        f"{ladder(measured, case, titled=False, anchor=anchor)}</div>"
    )


def address(measured: Results) -> str:
    """Return the lab, as an address on the page; other GPUs' have their own."""
    if measured.gpu == REFERENCE:
        return measured.lab
    return f"{measured.lab}@{measured.gpu}"


def contents(known: Sequence[Results]) -> str:
    """Return "24 rows" for what was measured of a lab, and on how many GPUs."""
    rows = counted(sum(len(measured.rows) for measured in known), "row")
    return rows + (f", {len(known)} GPUs" if len(known) > 1 else "")


class ResultsCountDirective(WeftDirective):
    """{results-count}: how much was measured, by GPU, and what follows from it."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        everything = results.read_all(root)
        if not everything:
            return self.warn("there is nothing in results/")
        for measured in everything:
            self.env.note_dependency(str(measured.path))
        return self.html(findings(measured_so_far(everything)) + by_gpu(everything))


def measured_so_far(everything: Sequence[Results]) -> list[tuple[str, str]]:
    """Return how many rows there are, and how many cases have a faster one."""
    rows = sum(len(measured.rows) for measured in everything)
    labs = len({measured.lab for measured in everything})
    cases = [m.of_case(case) for m in everything for case in m.cases]
    compared = [case for case in cases if any(row.ratio for row in case)]
    faster = sum(any((row.ratio or 0) > 1 for row in case) for case in compared)
    return [
        (
            f"{rows:,}",
            f"rows in {counted(len(cases), 'case')}, all written by notebooks",
        ),
        (f"{labs}", "labs that measured them"),
        (f"{faster} of {len(compared)}", "cases with a row faster than the baseline"),
    ]


def reference_first(gpu: str) -> tuple[bool, str]:
    return gpu != REFERENCE, gpu


def by_gpu(everything: Sequence[Results]) -> str:
    """Return a row for each GPU: what was measured on it, and when."""
    rows = []
    for gpu in sorted({m.gpu for m in everything}, key=reference_first):
        of = [measured for measured in everything if measured.gpu == gpu]
        dates = sorted(measured.date[:10] for measured in of if measured.date)
        numbers = [len(of), sum(len(m.cases) for m in of), sum(len(m.rows) for m in of)]
        when = " to ".join(dict.fromkeys([*dates[:1], *dates[-1:]]))
        cells = [escape(of[0].device.get("name", gpu)), *(f"{n:,}" for n in numbers)]
        rows.append(("", [*cells, when]))
    columns = [("name", "GPU"), ("count", "labs"), ("count", "cases")]
    return table([*columns, ("count", "rows"), ("date", "measured")], rows)


def setup(app: Sphinx) -> None:
    app.add_role("measured", MeasuredRole())
    app.add_role("versions", VersionsRole())
    app.add_directive("ladder", LadderDirective)
    app.add_directive("cloth", ClothDirective)
    app.add_directive("curve", CurveDirective)
    app.add_directive("all-results", AllResultsDirective)
    app.add_directive("results-count", ResultsCountDirective)
