"""With which packages the numbers were measured, and which the course installs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from weft import versions
from weft.wording import joined

from . import results
from .measured import pins
from .page import WeftDirective

NAMES = {"torch": "PyTorch", "triton": "Triton", "numba": "Numba"}
Versions = Mapping[str, str]


def plain(version: str) -> str:
    """Return a version without its build: 2.13.0 for 2.13.0+cu130."""
    return version.partition("+")[0]


def newer(measured: Iterable[Versions], installed: Versions) -> list[str]:
    """Return the packages of which the course installs another version."""
    known = list(measured)
    return [
        package
        for package in NAMES
        if any(plain(v[package]) != installed[package] for v in known if package in v)
    ]


def sentence(measured: Iterable[Versions], installed: Versions) -> str:
    """Say which versions were measured, and how they differ from the installed ones."""
    known = list(measured)
    used = {
        package: sorted({plain(v[package]) for v in known if package in v})
        for package in NAMES
    }
    were = joined(f"{NAMES[p]} {' or '.join(v)}" for p, v in used.items() if v)
    others = newer(known, installed)
    if not others:
        return f"The runs on a GPU used {were}, which the course installs."
    are = joined(f"{NAMES[package]} {installed[package]}" for package in others)
    return (
        f"The runs on a GPU used {were}. The course now installs {are}, with which it "
        "has not been run on a GPU yet."
    )


class StackDirective(WeftDirective):
    """{stack} says which versions were measured, and whether they are the installed."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        everything = results.read_all(root)
        for path in (root / "requirements.txt", *(m.path for m in everything)):
            self.env.note_dependency(str(path))
        installed = pins(root / "requirements.txt")
        if missing := [name for name in NAMES if name not in installed]:
            return self.warn(f"requirements.txt pins no {joined(missing)}")
        text = sentence([m.versions for m in everything], installed)
        return [nodes.paragraph("", text)]


class VersionRole(SphinxRole):
    """{version}`course` gives the version of the course, and whether it is released."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        number, unreleased, _ = versions.__version__.partition(".dev")
        state = ", in development" if unreleased else ""
        return [nodes.Text(f"{number}{state}")], []


def setup(app: Sphinx) -> None:
    app.add_directive("stack", StackDirective)
    app.add_role("version", VersionRole())
