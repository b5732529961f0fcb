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

from .agreement import causes_html
from .evidence import counted, group
from .kills import words
from .lessons import lesson_title
from .page import WeftDirective, table

WIDE = "weft-table weft-wide"
BEFORE = " (scored before its last change)"
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
    for lab, of_lab in groupby(found, key=lambda f: f.lab):
        name = lesson_title(root, lab) + BEFORE * (lab in facts.BEHIND)
        rows.append(("", row(name, score(list(of_lab)))))
    rows.append(("total", row("all", score(found))))
    columns = [
        ("name", "lab"),
        ("count", "mutants"),
        ("count", "same PTX"),
        ("count", "right"),
        ("count", "wrong"),
        ("count", "rejected"),
        ("count", "share"),
        ("kinds", "most often as"),
    ]
    labs = counted(len(rows) - 1, "lab")
    count = f"{labs}, {share(score(found))} of the wrong mutants rejected"
    return group("mutants/labs", "Lab by lab", count, table(columns, rows, kind=WIDE))


def by_kind(root: Path, found: list[Fact]) -> str:
    """Return a row a kind of verdict: how many wrong mutants it rejects."""
    kinds = score(found).kinds.most_common()
    rows = [("", [escape(headline(kind)), str(count)]) for kind, count in kinds]
    html = table([("verdict", "verdict"), ("count", "mutants")], rows)
    return group("mutants/kinds", "Kinds of verdict", counted(len(rows), "kind"), html)


def headline(kind: str) -> str:
    return KINDS[kind].headline if kind in KINDS else kind


def by_operator(root: Path, found: list[Fact]) -> str:
    """Return a row a way to change a kernel."""
    rows = []
    ordered = sorted(found, key=lambda f: f.operator)
    for operator, changes in groupby(ordered, key=lambda f: f.operator):
        of = score(list(changes))
        cells = [str(n) for n in (of.mutants, of.wrong, of.rejected)]
        rows.append(("", [escape(words(operator)), *cells]))
    columns = [("name", "what is changed"), ("count", "mutants")]
    columns += [("count", "wrong"), ("count", "rejected")]
    count = counted(len(rows), "kind of change", "kinds of change")
    return group("mutants/changes", "What is changed", count, table(columns, rows))


def accepted(root: Path, found: list[Fact]) -> str:
    return explained("accepted", [f for f in found if f.survives])


def refused(root: Path, found: list[Fact]) -> str:
    return explained("refused", [f for f in found if f.refused and f.cause])


def explained(what: str, found: list[Fact]) -> str:
    """Return each cause, with the mutants that show it and what each is now."""
    causes = dict.fromkeys(f.cause for f in found if f.cause)
    if not causes:
        return "<p>None.</p>"
    html = causes_html(
        (cause.title, cause.because, [changed(f) for f in found if f.cause is cause])
        for cause in causes
    )
    count = counted(len(found), "mutant")
    return group(f"mutants/{what}", f"The mutants that are {what}", count, html)


def changed(fact: Fact) -> str:
    return f"{escape(of(fact))}: <code>{escape(fact.text)}</code>"


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
        explained = root / "verification" / "mutants" / "explained.toml"
        self.env.note_dependency(str(explained))
        what = self.arguments[0]
        if what not in self.tables:
            return self.warn(f"there is {', '.join(self.tables)}")
        found = facts.read(root)
        if not found:
            return self.warn("no mutants in results/mutants")
        return self.html(self.tables[what](root, found))


def setup(app: Sphinx) -> None:
    app.add_directive("mutants", MutantsDirective)
