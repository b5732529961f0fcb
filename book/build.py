"""Build the book, warnings being errors, and see that every page is there.

    python book/build.py [--out FOLDER] [--lenient] [--all] [--jobs N]

Pages that have not changed since the last build are not built again, unless what all
pages depend on has (the extension, the package, the contents), or the last build
failed, or --all asks for it. The pages go to FOLDER/_build/html (by default
_build/html). jupyter-book can end without an error and without a page, so the pages of
_toc.yml are looked for.
"""

import argparse
import gc
import hashlib
import os
import re
import shutil
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
# What any page may depend on, so that all are built again when it changes.
COMMON = (
    "book/_ext/**/*.py",
    "book/*.toml",
    "book/*.bib",
    "weft/**/*.py",
    "weft/**/*.toml",
    "weft/exploring/figures/*",
    "verification/**/*.py",
    "pipeline/*.py",
    "results/**/*.json",
    "_config.yml",
    "_toc.yml",
    "constraints.txt",
)
LEADS = re.compile(r'http-equiv="Refresh" content="0; url=([^"]+)"')
SHOWN = re.compile(  # what a search engine and a shared link show of a page
    r'<title>.*?</title>|<meta [^>]*(?:name="description"|"og:|"twitter:)[^>]*>', re.S
)
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


def lead_to_first_page(html: Path) -> None:
    """Give the address of the book the title, description and card of its first page.

    jupyter-book leaves an empty page there, which leads on.
    """
    root = html / "index.html"
    leads = LEADS.search(root.read_text(encoding="utf-8"))
    if leads is None:
        return  # written before
    page = (html / leads[1]).read_text(encoding="utf-8")
    head = page[: page.index("</head>")]
    shown = "\n".join(each[0] for each in SHOWN.finditer(head))
    root.write_text(
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n{shown}\n'
        f'<link rel="canonical" href="{leads[1]}">\n'
        f'<meta http-equiv="refresh" content="0; url={leads[1]}">\n'
        f'<p><a href="{leads[1]}">Warp &amp; Weft</a></p>\n</html>\n',
        encoding="utf-8",
    )


def common(source: Path) -> str:
    """Return a digest of what every page may depend on."""
    found = hashlib.sha256()
    for pattern in COMMON:
        for path in sorted(source.glob(pattern)):
            found.update(str(path.relative_to(source)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def build(
    source: Path,
    out: Path,
    lenient: bool = False,
    everything: bool = False,
    jobs: int | None = None,
) -> int:
    """Build the book of `source` into `out`/_build; return the exit status.

    everything: also pages that have not changed. jobs: processes, one per core if None.
    """
    gc.set_threshold(50_000, 25, 25)  # a seventh of the build was collecting garbage
    # jsonschema would spend a second on a grammar for identifiers in URLs.
    sys.modules.setdefault("rfc3987_syntax", None)
    from jupyter_book import sphinx
    from jupyter_book.cli.main import main as jupyter_book

    if not version("jupyter-book").startswith("1."):
        print(f"jupyter-book is {version('jupyter-book')}; the book needs 1.x")
        return 1
    html = out / "_build" / "html"
    built, now = out / "_build" / "built", common(source)
    before = built.read_text(encoding="utf-8") if built.is_file() else ""
    built.unlink(missing_ok=True)
    again = ["--all"] if everything or before != now or not html.is_dir() else []
    if again:  # a page left from before proves nothing
        shutil.rmtree(html, ignore_errors=True)
    strict = [] if lenient else ["--warningiserror", "--keep-going"]
    arguments = [str(source), "--path-output", str(out), "-q", *again, *strict]
    start = time.monotonic()
    # jupyter-book has no option for the number of processes.
    parallel = partial(sphinx.build_sphinx, jobs=jobs or os.cpu_count())
    try:
        with mock.patch.object(sphinx, "build_sphinx", parallel):
            jupyter_book(["build", *arguments], standalone_mode=False)
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
    lead_to_first_page(html)
    if not lenient:
        built.write_text(now, encoding="utf-8")
    print(f"{len(pages)} pages in {time.monotonic() - start:.0f} s: {html}/index.html")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the book.")
    parser.add_argument("--source", type=Path, default=ROOT, help="where _toc.yml lies")
    parser.add_argument("--out", type=Path, help="where _build goes; else the source")
    parser.add_argument(
        "--lenient", action="store_true", help="report warnings, but do not fail"
    )
    parser.add_argument(
        "--all", action="store_true", help="build unchanged pages again as well"
    )
    parser.add_argument("--jobs", type=int, help="processes, else one per core")
    args = parser.parse_args()
    source = args.source.resolve()
    out = (args.out or source).resolve()
    return build(source, out, args.lenient, args.all, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
