"""How far the course's tools agree with NVIDIA's, from results/agreement.*.json."""

from collections import Counter
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx

from verification import comparison
from verification.comparison import Agreement, Entry

from .evidence import counted, findings, group
from .kills import class_title, words
from .page import WeftDirective, table
from .results import NBSP

# Two totals to a column: how many, and what they cost.
COUNTS = {
    "global loads": ("global load requests", "global load sectors"),
    "global stores": ("global store requests", "global store sectors"),
    "global atomics": ("global atomic requests", "global atomic sectors"),
    "shared loads": ("shared load passes", "shared load conflicts"),
    "shared stores": ("shared store passes", "shared store conflicts"),
    "shared atomics": ("shared atomic passes", "shared atomic conflicts"),
}


def class_of(entry: Entry) -> str:
    return str(entry["label"]).partition("/")[0]


def title_of(entry: Entry) -> str:
    """Return "own cell" for "race_shared/wrong_own_cell"."""
    return words(str(entry["label"]).partition("/")[2])


def by_class(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return class of the corpus -> entries, in the order of the names."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(class_of(entry), []).append(entry)
    return dict(sorted(found.items()))


def wrong_ones(found: Agreement) -> list[Entry]:
    return [e for e in found.kernels.values() if e["verdict"] != "pass"]


def grouped(
    entries: Iterable[Entry],
    same: Callable[[Entry], bool],
    rows: Callable[[list[Entry], list[str]], str],
    prefix: str = "",
) -> str:
    """Return a closed group for each class, of the HTML that `rows` makes of it.

    The addresses are those of the kill table, after `prefix`.
    """
    groups = []
    for name, of in by_class(entries).items():
        differ = sum(not same(entry) for entry in of)
        count = counted(len(of), "kernel") + (f", {differ} differ" if differ else "")
        ids = [f"{prefix}{entry['label']}" for entry in of]
        groups.append(group(f"{prefix}{name}", class_title(name), count, rows(of, ids)))
    return "".join(groups)


def share(number: int, of: int) -> str:
    return f"{number:,} of {of:,}"


def summary(found: Agreement) -> str:
    """Return how often both sides say the same, of verdicts, totals and requests."""
    entries = found.kernels.values()
    right = [e for e in entries if e["verdict"] == "pass"]
    sought = [e for e in entries if e["verdict"] in comparison.LOOKS_FOR]
    counted_both = [e["counters"] for e in entries if e.get("counters") is not None]
    requests = found.patterns.values()
    said = [
        (right, comparison.same_verdict, "right kernels: no tool reports anything"),
        (
            sought,
            comparison.same_verdict,
            "wrong kernels with a tool for them: it names our line",
        ),
        (counted_both, all_equal, "kernels: all counters are equal"),
        (requests, all_equal, "single requests: all counters are equal"),
    ]
    return findings([(share(sum(map(f, of)), len(of)), what) for of, f, what in said])


def all_equal(counters: dict[str, list[int]]) -> bool:
    return not comparison.unequal(counters)


def lines_text(lines: list[int]) -> str:
    if not lines:
        return ""
    return f", line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"


def reports(entry: Entry) -> str:
    """Word what NVIDIA's tools said of a kernel."""
    said = [
        f"{tool}: {found['what']}{lines_text(found['lines'])}"
        for tool, findings in entry["tools"].items()
        for found in findings
    ]
    if said:
        return "<br>".join(escape(text) for text in said)
    if entry["verdict"] in comparison.LOOKS_FOR:
        return "nothing"
    outcome = entry["on the GPU"]
    if outcome.startswith("CUDA_ERROR"):
        return "refused by CUDA"
    return "refused by Numba" if outcome.endswith("Error") else "no tool looks for it"


def outcome(entry: Entry) -> str:
    """Word what became of the launch."""
    text = str(entry["on the GPU"])
    if text.startswith("CUDA_ERROR_"):
        text = text.removeprefix("CUDA_ERROR_").lower().replace("_", " ")
    return escape(text)


def overview(found: Agreement) -> str:
    """Return a row a class: how often the tool that looks for it says the same."""
    rows = []
    for name, entries in by_class(wrong_ones(found)).items():
        tools = Counter(
            tool for e in entries if (tool := comparison.LOOKS_FOR.get(e["verdict"]))
        )
        sought = sum(tools.values())
        same = sum(
            comparison.same_verdict(e)
            for e in entries
            if e["verdict"] in comparison.LOOKS_FOR
        )
        right = sum(e["on the GPU"] == "right" for e in entries)
        tool = ", ".join(tools) or "none"
        link = f'<a href="#{name}">{class_title(name)}</a>'
        cells = [link, str(len(entries)), tool]
        cells += [f"{same} of {sought}" if sought else "–", str(right)]
        rows.append(("", cells))
    columns = [
        ("name", "class"),
        ("count", "wrong kernels"),
        ("tool", "tool that looks for it"),
        ("count", "it says the same"),
        ("count", "result right all the same"),
    ]
    return table(columns, rows, kind="weft-table weft-wide")


def verdicts(found: Agreement) -> str:
    """Return the wrong kernels: our verdict, NVIDIA's, and what came out."""
    return grouped(wrong_ones(found), comparison.same_verdict, verdict_rows)


def verdict_rows(entries: list[Entry], ids: list[str]) -> str:
    rows = []
    for entry in entries:
        same = comparison.same_verdict(entry)
        ours = f"{entry['verdict']}{lines_text(entry['lines'])}"
        cells = [escape(title_of(entry)), escape(ours), reports(entry)]
        cells += [outcome(entry)]
        rows.append(("" if same else "weft-differs", [*cells, "=" if same else "≠"]))
    columns = [
        ("name", "kernel"),
        ("verdict", "we say"),
        ("tool", "NVIDIA's tools say"),
        ("result", "on the GPU"),
        ("same", "same"),
    ]
    return table(columns, rows, ids=ids)


def counters(found: Agreement) -> str:
    """Return the kernels that ran under Nsight Compute: all totals, ours and its."""
    ran = [e for e in found.kernels.values() if e.get("counters") is not None]
    return grouped(ran, lambda e: all_equal(e["counters"]), total_rows, "counters/")


def total_rows(entries: list[Entry], ids: list[str]) -> str:
    rows = []
    for entry in entries:
        totals = entry["counters"]
        cells = [escape(title_of(entry))]
        for pair in COUNTS.values():
            both = [totals.get(name, [0, 0]) for name in pair]
            cells.append(counts_text(both))
        rows.append(("weft-differs" if comparison.unequal(totals) else "", cells))
    columns = [("name", "kernel"), *(("count", name) for name in COUNTS)]
    return table(columns, rows, kind="weft-table weft-totals weft-wide", ids=ids)


def counts_text(both: list[list[int]]) -> str:
    """Write two totals, and Nsight Compute's behind them where they are others."""
    ours, theirs = zip(*both, strict=True)
    if not any(ours) and not any(theirs):
        return ""
    between = f"{NBSP}·{NBSP}"
    text = between.join(map(str, ours))
    if ours == theirs:
        return text
    return f"{text} ≠{NBSP}{between.join(map(str, theirs))}"


def patterns(found: Agreement) -> str:
    """Return a row a kind of request: how many patterns of addresses are equal."""
    total: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for label, pairs in found.patterns.items():
        kind = label.partition(":")[0]
        total[kind] += 1
        equal[kind] += not comparison.unequal(pairs)
    rows = []
    for kind in total:
        *what, of = kind.split()
        name = f"{' '.join(what)}, {of} bytes" if of.isdigit() else kind
        rows.append(("", [name, str(total[kind]), str(equal[kind])]))
    rows.append(("total", ["all", str(total.total()), str(equal.total())]))
    columns = [("name", "request"), ("count", "patterns"), ("count", "all equal")]
    return table(columns, rows)


def causes(found: Agreement, part: str) -> str:
    """Return each cause of differences, with the kernels that show it."""
    return causes_html(
        (cause.title, cause.because, [f"<code>{escape(n)}</code>" for n in cause.of])
        for cause in found.causes[part]
    )


def causes_html(causes: Iterable[tuple[str, str, list[str]]]) -> str:
    """Return causes as (title, reason, HTML of what shows it)."""
    out = []
    for title, because, items in causes:
        names = "".join(f"<li>{item}</li>" for item in items)
        out.append(
            f'<div class="weft-part"><dt>{escape(title)}</dt><dd><p>{code(because)}</p>'
            f'<ul class="weft-names">{names}</ul></dd></div>'
        )
    return f'<dl class="weft-causes">{"".join(out)}</dl>'


def code(text: str) -> str:
    """Return `text` as HTML, what stands between backticks as code."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if k % 2 else part for k, part in enumerate(parts)
    )


def measured_with(found: Agreement) -> str:
    name, _, driver = found.device.partition(",")
    tools = {"compute-sanitizer": "Compute Sanitizer", "ncu": "Nsight Compute"}
    versions = [f"{tools.get(t, t)} {v}" for t, v in found.versions.items()]
    text = f"Measured on {name}, driver{driver}, {found.date}, with " + ", ".join(
        versions
    )
    return f"<p>{escape(text)}.</p>"


class AgreementDirective(WeftDirective):
    """{agreement} what: one of the tables, or why the numbers of a part differ."""

    required_arguments = 1
    optional_arguments = 1
    tables: ClassVar = {
        "measured": measured_with,
        "summary": summary,
        "overview": overview,
        "verdicts": verdicts,
        "counters": counters,
        "patterns": patterns,
    }

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        for path in (
            "results/agreement.nvidia-h200.json",
            "verification/differences.toml",
        ):
            self.env.note_dependency(str(root / path))
        try:
            found = comparison.read(root)
        except FileNotFoundError as error:
            return self.warn(error)
        what, *of = self.arguments
        if what == "why" and of and of[0] in found.causes:
            return self.html(causes(found, of[0]))
        if what not in self.tables:
            return self.warn(f"there is {', '.join(self.tables)}, or why <part>")
        return self.html(self.tables[what](found))


def setup(app: Sphinx) -> None:
    app.add_directive("agreement", AgreementDirective)
