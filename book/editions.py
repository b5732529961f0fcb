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
from collections.abc import Callable
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
        link = f' · <a href="{escape(to)}">version {escape(version)}</a>'
        _edit(newest / page, lambda text, link=link: with_link(text, link))
    for page in old:
        same = page if page in new else HOME
        to = address(PurePosixPath(version) / page, same)
        link = f' · <a href="{escape(to)}">the newest version</a>'
        note = (
            f'\n<aside class="admonition note" style="padding-block: 0.6em">'
            f'<p style="margin: 0">This is version {escape(version)}; there is '
            f'<a href="{escape(to)}">a newer one</a>.</p></aside>'
        )

        def edited(text: str, link: str = link, note: str = note) -> str:
            text = ARTICLE.sub(lambda found: found[0] + note, text, count=1)
            return with_link(text, link)

        _edit(there / page, edited)


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


def with_link(text: str, link: str) -> str:
    """Return a page with a link at the end of its line on the version."""
    return LINE.sub(lambda found: f"{found[1]}{link}{found[2]}", text, count=1)


def _edit(path: Path, edited: Callable[[str], str]) -> None:
    path.write_text(edited(path.read_text(encoding="utf-8")), encoding="utf-8")


def built(tag: str) -> Path:
    """Build the book of a release in a folder of its own; return its pages."""
    _git("worktree", "prune")
    if not OLDER.exists():
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
    join(newest, built(tag), tag[1:])
    print(f"{tag[1:]} is in {newest / tag[1:]}")


if __name__ == "__main__":
    main()
