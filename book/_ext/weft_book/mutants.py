"""The mutation score: which share of the wrong mutants each lab's checks refuse."""

from html import escape
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx

from verification.mutants import facts
from verification.mutants.facts import Fact, Score, score
from weft.checking.kinds import KINDS

from .agreement import code
from .kills import words
from .lessons import lesson_title
from .page import WeftDirective, table

TOP = 4  # kinds of verdict that a row names


def share(found: Score) -> str:
    """Return the share of the wrong ones that are rejected, never rounded up to all."""
    tenths = int(1000 * found.share)
    return f"{tenths // 10}.{tenths % 10} %" if tenths < 1000 else "100 %"


def row(name: str, found: Score) -> list[str]:
    kinds = ", ".join(f"{k} {n}" for k, n in found.kinds.most_common(TOP))
    counts = (found.mutants, found.equivalent, found.right, found.wrong, found.rejected)
    return [escape(name), *map(str, counts), share(found), escape(kinds)]


def by_lab(root: Path, found: list[Fact]) -> str:
    """Return a row a lab."""
    rows = []
    for lab, group in groupby(found, key=lambda f: f.lab):
        rows.append(("", row(lesson_title(root, lab), score(list(group)))))
    rows.append(("total", row("all", score(found))))
    columns = [
        ("name", "lab"),
        ("count", "mutants"),
        ("count", "the compiler makes the same of them"),
        ("count", "right"),
        ("count", "wrong"),
        ("count", "rejected"),
        ("count", "share"),
        ("kinds", "most often as"),
    ]
    return table(columns, rows)


def by_kind(root: Path, found: list[Fact]) -> str:
    """Return a row a kind of verdict: how many wrong mutants it rejects."""
    kinds = score(found).kinds.most_common()
    rows = [("", [escape(headline(kind)), str(count)]) for kind, count in kinds]
    return table([("verdict", "verdict"), ("count", "mutants")], rows)


def headline(kind: str) -> str:
    return KINDS[kind].headline if kind in KINDS else kind


def by_operator(root: Path, found: list[Fact]) -> str:
    """Return a row a way to change a kernel."""
    rows = []
    ordered = sorted(found, key=lambda f: f.operator)
    for operator, group in groupby(ordered, key=lambda f: f.operator):
        of = score(list(group))
        cells = [str(n) for n in (of.mutants, of.wrong, of.rejected)]
        rows.append(("", [escape(words(operator)), *cells]))
    columns = [("name", "what is changed"), ("count", "mutants")]
    return table([*columns, ("count", "wrong"), ("count", "rejected")], rows)


def accepted(root: Path, found: list[Fact]) -> str:
    return explained([f for f in found if f.survives])


def refused(root: Path, found: list[Fact]) -> str:
    return explained([f for f in found if f.refused and f.cause])


def explained(found: list[Fact]) -> str:
    """Return each cause, with the mutants that show it and what each is now."""
    causes = dict.fromkeys(f.cause for f in found if f.cause)
    out = []
    for cause in causes:
        names = "".join(
            f"<li>{escape(of(f))}: <code>{escape(f.text)}</code></li>"
            for f in found
            if f.cause is cause
        )
        out.append(
            f"<dt>{escape(cause.title)}</dt><dd><p>{code(cause.because)}</p>"
            f'<ul class="weft-names">{names}</ul></dd>'
        )
    return f'<dl class="weft-causes">{"".join(out)}</dl>' if out else "<p>None.</p>"


def of(fact: Fact) -> str:
    """Return "sum_grid, right: tuple, line 12"."""
    name = fact.name.split("/")[2]
    which = "" if name == "solution" else f", {words(name)}"
    return f"{fact.exercise}{which}, line {fact.line}"


class MutantsDirective(WeftDirective):
    """{mutants} what: one of the tables, or why some are accepted or refused."""

    required_arguments = 1
    tables: ClassVar = {
        "labs": by_lab,
        "kinds": by_kind,
        "operators": by_operator,
        "accepted": accepted,
        "refused": refused,
    }

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        for path in ("results/mutants", "verification/mutants/explained.toml"):
            self.env.note_dependency(str(root / path))
        what = self.arguments[0]
        if what not in self.tables:
            return self.warn(f"there is {', '.join(self.tables)}")
        found = facts.read(root)
        if not found:
            return self.warn("no mutants in results/mutants")
        return self.html(self.tables[what](root, found))


def setup(app: Sphinx) -> None:
    app.add_directive("mutants", MutantsDirective)
