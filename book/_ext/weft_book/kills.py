"""The kill table: kernels as learners write them, and the verdict each one gets.

Its rows come from the heads of the files in chapters/*/answers, which the tests
hold against the checks.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from verification.corpus import Kernel, corpus, of_labs
from verification.mutants import facts
from verification.mutants.facts import Score, score
from weft.checking.kinds import KINDS

from .evidence import counted, findings, group, index
from .lessons import lesson_title
from .page import WeftDirective, table

COLUMNS = [
    ("name", "kernel"),
    ("thinking", "what the learner was thinking"),
    ("verdict", "verdict"),
    ("line", "line that it names"),
]


def words(name: str) -> str:
    """Return "no guard" for "wrong_no_guard"."""
    return re.sub(r"^(wrong|right)_", "", name).replace("_", " ")


def class_title(name: str) -> str:
    """Return "wrong value" for "wrong_value"."""
    return name.replace("_", " ")


def kernels_of(root: Path, group: str) -> list[Kernel]:
    """Return the kernels of a class of the corpus, or of a lab."""
    if group[:2].isdigit():
        everything = of_labs(root / "chapters")
    else:
        everything = corpus(root / "tests" / "corpus")
    return [k for k in everything if k.group.partition("/")[0] == group]


def ordered(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Return the kernels by name, the wrong ones first."""
    return sorted(kernels, key=lambda k: (not k.wrong, k.label))


def balance(kernels: Sequence[Kernel]) -> str:
    """Return "12 wrong, 4 right"."""
    wrong, right = split(kernels)
    return f"{wrong} wrong, {right} right"


def split(kernels: Sequence[Kernel]) -> list[str]:
    """Return how many of the kernels are wrong, and how many are right."""
    wrong = sum(kernel.wrong for kernel in kernels)
    return [f"{wrong:,}", f"{len(kernels) - wrong:,}"]


def rows(
    kernels: Iterable[Kernel], root: Path, source: str
) -> list[tuple[str, list[str]]]:
    """Return one row per kernel; `source` is where the files of `root` are shown."""
    found = []
    for kernel in kernels:
        exercise = kernel.group.partition("/")[2]
        name = escape(f"{exercise}: " if exercise else "") + escape(
            words(kernel.path.stem)
        )
        if source:
            path = kernel.path.relative_to(root).as_posix()
            name = f'<a href="{escape(source)}/{escape(path)}">{name}</a>'
        headline = KINDS[kernel.verdict].headline
        verdict = f"✗ {headline}" if kernel.wrong else "✓ passes"
        lines = [f"<code>{escape(kernel.line(n))}</code>" for n in kernel.marked]
        cells = [name, escape(kernel.thinking), escape(verdict), "<br>".join(lines)]
        found.append(("wrong" if kernel.wrong else "right", cells))
    return found


def source_of(app: Sphinx) -> str:
    """Return the address at which the repository shows its files, "" without one."""
    options = app.config.html_theme_options or {}
    repository = options.get("repository_url", "").rstrip("/")
    branch = options.get("repository_branch", "main")
    return f"{repository}/blob/{branch}" if repository else ""


class KillTableDirective(WeftDirective):
    """{kill-table} group: the kernels of a class of the corpus, or of a lab.

    They are a closed group, whose address is the name: #13_shared_memory. With
    `labs 00 19`, each of these labs gets one.
    """

    required_arguments = 1
    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        name, *ends = self.arguments
        if not ends:
            return self.group_of(name, class_title(name), kernels_of(root, name))
        found: list[nodes.Node] = []
        for lab, kernels in by_group(of_labs(root / "chapters")).items():
            if ends[0] <= lab[:2] <= ends[-1]:
                found += self.group_of(lab, lesson_title(root, lab), kernels)
        return found

    def group_of(
        self, name: str, title: str, kernels: Sequence[Kernel]
    ) -> list[nodes.Node]:
        if not kernels:
            return self.warn("there are no kernels of this name")
        for kernel in kernels:
            self.env.note_dependency(str(kernel.path))
        shown = ordered(kernels)
        # Nothing leads to the right kernels of a lab, and the page has to stay light.
        led_to = not name[:2].isdigit()
        ids = [kernel.label if kernel.wrong or led_to else "" for kernel in shown]
        source = source_of(self.env.app)
        shown_rows = rows(shown, Path(self.env.srcdir), source)
        html = table(COLUMNS, shown_rows, ids=ids)
        return self.html(group(name, title, balance(kernels), html))


def by_group(kernels: Iterable[Kernel]) -> dict[str, list[Kernel]]:
    """Return class of the corpus, or lab -> its kernels, in the order of the names."""
    found: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        found.setdefault(kernel.group.partition("/")[0], []).append(kernel)
    return dict(sorted(found.items()))


def proven(kernels: Sequence[Kernel], classes: int, labs: int) -> list[tuple[str, str]]:
    """Return how many kernels the checks judge, and of what."""
    wrong, right = split(kernels)
    return [
        (wrong, "wrong kernels, each rejected for the reason stated"),
        (right, "right kernels, each accepted"),
        (f"{classes} + {labs}", "classes of mistakes, and labs"),
    ]


def mutants_proven(found: Score) -> tuple[str, str]:
    what = f"of {counted(found.wrong, 'wrong mutant')} rejected"
    return f"{found.rejected:,}", what


class KillCountDirective(WeftDirective):
    """{kill-count}: how many kernels there are, and of which classes."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        classes = corpus(root / "tests" / "corpus")
        labs = of_labs(root / "chapters")
        by_class, by_lab = by_group(classes), by_group(labs)
        numbers = proven([*classes, *labs], len(by_class), len(by_lab))
        if mutants := facts.read(root):
            numbers.append(mutants_proven(score(mutants)))
        places = [(f"#{n}", class_title(n), balance(k)) for n, k in by_class.items()]
        if labs:
            places.append(("#in-the-labs", "in the labs", balance(labs)))
        return self.html(findings(numbers) + index(places))


def setup(app: Sphinx) -> None:
    app.add_directive("kill-table", KillTableDirective)
    app.add_directive("kill-count", KillCountDirective)
