"""Publish the last release beside the newest book, each page with a link to the other.

    python book/editions.py [--html FOLDER]                after `make book`

The newest book stays where it is; the release goes to a folder named after it, such as
0.1.0/. Its pages say that there is a newer version. Without an earlier release, nothing
is changed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from weft.versions import revision  # noqa: E402

HTML = ROOT / "_build" / "html"
OLDER = ROOT / "_build" / "older"
RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
LINE = re.compile(r'(<p class="weft-version">.*?)(</p>)', re.DOTALL)  # in the footer
ARTICLE = re.compile(r'<article class="bd-article[^>]*>')
HOME = PurePosixPath("index.html")
NOTE = """
<aside class="admonition note" style="padding-block: 0.6em"><p style="margin: 0">
This is version {version}; there is <a href="{to}">a newer one</a>.</p></aside>"""


def last_release(tags: list[str], own: str) -> str:
    """Return the newest of the release tags other than `own`; "" if there is none."""
    releases = [tag for tag in tags if RELEASE.fullmatch(tag) and tag != own]
    return max(releases, key=_numbers, default="")


def _numbers(tag: str) -> list[int]:
    return [int(number) for number in tag[1:].split(".")]


def join(newest: Path, older: Path, version: str) -> None:
    """Copy the pages of `older` to `newest`/`version`, and link each page to the other.

    A page that the other book lacks leads to the first page there. Raises
    FileExistsError if `newest` has this version already.
    """
    there = newest / version
    old, new = pages(older), pages(newest)
    shutil.copytree(older, there)
    for page in new:
        to = address(page, PurePosixPath(version) / (page if page in old else HOME))
        add(newest / page, to, f"version {version}")
    for page in old:
        to = address(PurePosixPath(version) / page, page if page in new else HOME)
        note = NOTE.format(version=escape(version), to=escape(to))
        add(there / page, to, "the newest version", note)


def pages(book: Path) -> set[PurePosixPath]:
    """Return the pages of a book that have a line on its version."""
    return {
        PurePosixPath(path.relative_to(book).as_posix())
        for path in book.rglob("*.html")
        if LINE.search(path.read_text(encoding="utf-8"))
    }


def address(start: PurePosixPath, to: PurePosixPath) -> str:
    """Return the relative address of a page, seen from another."""
    return os.path.relpath(to, start.parent).replace(os.sep, "/")


def add(path: Path, to: str, what: str, note: str = "") -> None:
    """Add a link to a page's line on its version, and `note` above its text."""
    text = path.read_text(encoding="utf-8")
    link = f' · <a href="{escape(to)}">{escape(what)}</a>'
    text = LINE.sub(lambda found: f"{found[1]}{link}{found[2]}", text, count=1)
    text = ARTICLE.sub(lambda found: found[0] + note, text, count=1)
    path.write_text(text, encoding="utf-8")


def built(tag: str) -> Path:
    """Build the book of a release in a folder of its own; return its pages."""
    _git("worktree", "prune")
    if OLDER.exists():
        _git("-C", str(OLDER), "checkout", "--detach", tag)
    else:
        _git("worktree", "add", "--detach", str(OLDER), tag)
    subprocess.run(["make", "book"], cwd=OLDER, check=True)
    return OLDER / "_build" / "html"


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, default=HTML, help="the newest book")
    newest = parser.parse_args().html
    tag = last_release(_git("tag", "--merged").split(), revision())
    if not tag:
        print("There is no earlier release.")
        return
    if (newest / tag[1:]).exists():
        sys.exit(f"{newest} has {tag[1:]} already; first, `make book ARGS=--all`")
    join(newest, built(tag), tag[1:])
    print(f"{tag[1:]} is in {newest / tag[1:]}")


if __name__ == "__main__":
    main()
