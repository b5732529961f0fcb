"""The kill table: kernels as learners write them, and the verdict each one gets.

What stands in it comes from the heads of the files in tests/kernels, which the tests
hold against the checks.
"""

import re
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from verification.corpus import Kernel, corpus, of_labs
from weft.checking.kinds import KINDS

from .groups import counted, folded
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


def kernels_of(root: Path, group: str) -> list[Kernel]:
    """Return the kernels of a class of the corpus, or of a lab."""
    folder = root / "tests" / "kernels"
    everything = of_labs(folder) if group[:2].isdigit() else corpus(folder)
    return [k for k in everything if k.group.partition("/")[0] == group]


def slug(kernel: Kernel) -> str:
    """Return the id of a kernel's row."""
    return "-".join(("kernel", *kernel.group.split("/"), kernel.path.stem))


def rows(kernels: Iterable[Kernel], source: str) -> list[tuple[str, list[str]]]:
    """Return a row a kernel, the wrong ones first; `source` leads to their files."""
    found = []
    for kernel in sorted(kernels, key=lambda k: (not k.wrong, k.label)):
        exercise = kernel.group.partition("/")[2]
        name = escape(f"{exercise}: " if exercise else "") + escape(
            words(kernel.path.stem)
        )
        if source:
            folder = "/".join(kernel.path.parts[-4:])
            name = f'<a href="{escape(source)}/{escape(folder)}">{name}</a>'
        here = escape(slug(kernel))
        name = (
            f'<span id="{here}"></span>{name} <a class="weft-here" href="#{here}">#</a>'
        )
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
    return f"{repository}/blob/{branch}/tests" if repository else ""


class KillTableDirective(WeftDirective):
    """{kill-table} group: the kernels of a class of the corpus, of a lab, or of `labs`.

    With `labs` every lab gets a section of its own.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        if self.arguments[0] != "labs":
            return self.table_of(kernels_of(root, self.arguments[0]))
        found: list[nodes.Node] = []
        labs = {k.group.partition("/")[0] for k in of_labs(root / "tests" / "kernels")}
        for lab in sorted(labs):
            title = lesson_title(root, lab)
            section = nodes.section(ids=[f"kernels-{lab.replace('_', '-')}"])
            section += [nodes.title(title, title)]
            section += self.table_of(kernels_of(root, lab))
            found.append(section)
        return found

    def table_of(self, kernels: list[Kernel]) -> list[nodes.Node]:
        if not kernels:
            return self.warn("there are no kernels of this name in tests/kernels")
        for kernel in kernels:
            self.env.note_dependency(str(kernel.path))
        wrong = sum(kernel.wrong for kernel in kernels)
        both = counted(wrong, "wrong kernel"), f"{len(kernels) - wrong} right"
        made = table(COLUMNS, rows(kernels, source_of(self.env.app)))
        return self.html(folded(", ".join(both), made))


class KillCountDirective(WeftDirective):
    """{kill-count}: how many kernels there are of each class, and of each lab."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        folder = root / "tests" / "kernels"
        wrong: Counter[str] = Counter()
        right: Counter[str] = Counter()
        for kernel in (*corpus(folder), *of_labs(folder)):
            counts = wrong if kernel.wrong else right
            counts[kernel.group.partition("/")[0]] += 1
        found = []
        for group in sorted({*wrong, *right}, key=lambda g: (g[:2].isdigit(), g)):
            title = words(group)
            if group[:2].isdigit():
                title = f"lab {lesson_title(root, group)}"
            cells = [escape(title), str(wrong[group]), str(right[group])]
            found.append(("", cells))
        found.append(("total", ["all", str(wrong.total()), str(right.total())]))
        columns = [("name", "class"), ("count", "wrong"), ("count", "right")]
        return self.html(table(columns, found))


def setup(app: Sphinx) -> None:
    app.add_directive("kill-table", KillTableDirective)
    app.add_directive("kill-count", KillCountDirective)
