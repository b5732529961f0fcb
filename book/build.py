"""Build the book, warnings being errors, and see that every page is there.

    python book/build.py [--out FOLDER] [--lenient]

The pages go to FOLDER/_build/html (by default _build/html). jupyter-book can end
without an error and without a page, so the pages of _toc.yml are looked for.
"""

import argparse
import shutil
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMALLEST_PAGE = 2_000  # bytes; the theme alone is more


def pages_of(toc: Path) -> list[str]:
    """Return the docnames of a table of contents, in reading order."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    site = parse_toc_yaml(toc)
    return [name.removesuffix(".md").removesuffix(".ipynb") for name in site]


def missing_pages(html: Path, pages: list[str]) -> list[str]:
    """Return the pages that were not built, or are too small to be one."""
    paths = {page: html / f"{page}.html" for page in pages}
    return [
        page
        for page, path in paths.items()
        if not path.is_file() or path.stat().st_size < SMALLEST_PAGE
    ]


def build(source: Path, out: Path, lenient: bool = False) -> int:
    """Build the book of `source` into `out`/_build; return the exit status."""
    from jupyter_book.cli.main import main as jupyter_book

    if not version("jupyter-book").startswith("1."):
        print(f"jupyter-book is {version('jupyter-book')}; the book needs 1.x")
        return 1
    html = out / "_build" / "html"
    shutil.rmtree(html, ignore_errors=True)  # a page left from before proves nothing
    strict = [] if lenient else ["--warningiserror", "--keep-going"]
    start = time.monotonic()
    try:
        jupyter_book(
            ["build", str(source), "--path-output", str(out), "--all", "-q", *strict],
            standalone_mode=False,
        )
    except Exception as error:
        print(f"jupyter-book failed: {error}", file=sys.stderr)
        return 1
    except SystemExit as stop:
        if stop.code:
            return 1
    pages = pages_of(source / "_toc.yml")
    missing = missing_pages(html, [*pages, "search", "genindex"])
    if missing:
        print(f"not built: {', '.join(missing)}", file=sys.stderr)
        return 1
    if not (html / "index.html").is_file():
        print("not built: index.html, which leads to the first page", file=sys.stderr)
        return 1
    print(f"{len(pages)} pages in {time.monotonic() - start:.0f} s: {html}/index.html")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the book.")
    parser.add_argument("--source", type=Path, default=ROOT, help="where _toc.yml lies")
    parser.add_argument("--out", type=Path, help="where _build goes; else the source")
    parser.add_argument(
        "--lenient", action="store_true", help="report warnings, but do not fail"
    )
    args = parser.parse_args()
    source = args.source.resolve()
    return build(source, (args.out or source).resolve(), args.lenient)


if __name__ == "__main__":
    sys.exit(main())
