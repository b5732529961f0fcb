"""The status page: what each executed notebook says of its own run."""

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from .lessons import lesson_title
from .page import WeftDirective, table
from .results import NBSP

Stamp = dict[str, Any]


def read_stamps(root: Path) -> dict[str, Stamp]:
    """Return stem -> stamp of every solution; a notebook that never ran has {}."""
    stamps = {}
    for path in sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf8"))
        stamps[path.stem] = notebook["metadata"].get("weft", {})
    return stamps


def split(root: Path, stamps: dict[str, Stamp]) -> tuple[dict[str, Stamp], list[str]]:
    """Return the stamps of what is in the contents, and the stems of all else.

    A solution that has not run on a GPU yet is in the repository, and not in _toc.yml.
    """
    contents = root / "_toc.yml"
    named = contents.read_text(encoding="utf8") if contents.exists() else None
    to_come = [s for s in stamps if named is not None and f"solutions/{s}" not in named]
    return {s: stamp for s, stamp in stamps.items() if s not in to_come}, to_come


def to_come_html(root: Path, stems: list[str]) -> str:
    """Return a sentence on the notebooks that are not in the contents yet."""
    if not stems:
        return ""
    titles = ", ".join(escape(lesson_title(root, stem)) for stem in stems)
    return (
        '<p class="weft-machine">In the repository, and waiting for a run on a GPU: '
        f"{titles}.</p>"
    )


def seconds_text(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds >= 90:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def stamps_html(root: Path, stamps: dict[str, Stamp]) -> str:
    """Return one row per executed notebook."""
    columns = [
        ("name", "notebook"),
        ("gpu", "machine"),
        ("driver", "driver"),
        ("cuda", "CUDA"),
        ("date", "run on"),
        ("seconds", "took"),
    ]
    rows = []
    for stem, stamp in stamps.items():
        title = escape(lesson_title(root, stem))
        link = f'<a href="../solutions/{stem}.html">{title}</a>'
        facts = (
            stamp.get("device", "–"),
            stamp.get("driver", "–"),
            stamp.get("cuda", "–"),
            str(stamp.get("date", "–"))[:10],
            seconds_text(stamp.get("seconds")),
        )
        rows.append(("", [link, *(escape(str(fact)) for fact in facts)]))
    return table(columns, rows)


def versions_html(stamps: dict[str, Stamp]) -> str:
    """Return what the notebooks ran with: one line for those that agree."""
    groups: dict[str, list[str]] = {}
    for stem, stamp in stamps.items():
        versions = stamp.get("versions") or {}
        text = " · ".join(f"{name} {version}" for name, version in versions.items())
        if text:
            groups.setdefault(text, []).append(stem[:2])
    return "".join(
        f'<p class="weft-machine">Notebook{"s" * (len(stems) > 1)} '
        f"{', '.join(stems)}: {escape(text)}</p>"
        for text, stems in groups.items()
    )


def minutes(stamps: dict[str, Stamp], device: str) -> int:
    """Return how many minutes the solutions took that ran on a machine."""
    took = [s["seconds"] for s in stamps.values() if s.get("device") == device]
    return round(sum(took) / 60)


class TookRole(SphinxRole):
    """{took}`NVIDIA H200` says how long all solutions took on a machine."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        stamps = read_stamps(Path(self.env.srcdir))
        text = f"{minutes(stamps, self.text)}{NBSP}minutes"
        return [nodes.Text(text)], []


class StampsDirective(WeftDirective):
    """{stamps} shows where, when and how long every solution ran."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        stamps, to_come = split(root, read_stamps(root))
        for stem, stamp in stamps.items():
            self.env.note_dependency(str(root / "solutions" / f"{stem}.ipynb"))
            if not stamp.get("digest"):
                self.warn(f"solutions/{stem}.ipynb has no stamp; execute it")
        text = stamps_html(root, stamps) + versions_html(stamps)
        return self.html(text + to_come_html(root, to_come))


def setup(app: Sphinx) -> None:
    app.add_directive("stamps", StampsDirective)
    app.add_role("took", TookRole())
