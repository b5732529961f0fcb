"""Addresses of the course's pages that work from the current notebook.

The book is public. If `make lab` serves a built copy of it beside JupyterLab, links
lead there instead, and need no network.
"""

import functools
import json
import os
import sys
from pathlib import Path

from weft import store, versions

PUBLIC = "https://warp-and-weft.github.io/warp-and-weft"
COLAB = (
    "https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/"
    + versions.revision()
)
SERVED = "WEFT_BOOK"  # set by lab.py: the folder of pages that JupyterLab serves


def book(page: str) -> str:
    """Return a book page's address. page: its name, such as `bugs/race.html`."""
    return _page(f"book/{page}")


def lab(stem: str) -> str:
    """Return the address of a lab's notebook if it can be opened, else of its page."""
    return _notebook("labs", stem)


def solution(stem: str) -> str:
    """Return the address of a solution's notebook if there is one, else of its page."""
    return _notebook("solutions", stem)


def solution_place(stem: str) -> str:
    """Return where to find a lab's solution: a file, or a page of the book."""
    copy = store.root()
    if copy is not None and not (copy / "solutions" / f"{stem}.ipynb").is_file():
        return f"the book, {PUBLIC}/solutions/{stem}.html"
    return f"solutions/{stem}.ipynb"


def in_solutions() -> bool:
    """Return whether this notebook is one of the course's own solutions.

    A Jupyter kernel starts in its notebook's folder, whichever program started it.
    """
    copy = store.root()
    return copy is not None and _folder() == copy / "solutions"


def _folder() -> Path | None:
    try:
        return Path.cwd().resolve()
    except OSError:  # the current folder was deleted
        return None


def _page(page: str) -> str:
    pages = os.environ.get(SERVED, "")
    if pages and (Path(pages) / page.partition("#")[0]).is_file() and (at := _server()):
        return f"{at}static/{page}"
    return f"{PUBLIC}/{page}"


def _notebook(folder: str, stem: str) -> str:
    copy, here = store.root(), _folder()
    if copy and here and here.parent == copy:
        if (copy / folder / f"{stem}.ipynb").is_file():
            return f"../{folder}/{stem}.ipynb"
    elif "google.colab" in sys.modules and folder == "labs":
        return f"{COLAB}/labs/{stem}.ipynb"
    return _page(f"{folder}/{stem}.html")


@functools.cache
def _server() -> str:
    """Return the address of the Jupyter server that started this kernel, or ""."""
    try:
        from jupyter_core.paths import jupyter_runtime_dir

        number = os.environ["JPY_PARENT_PID"]
        about = Path(jupyter_runtime_dir()) / f"jpserver-{number}.json"
        return str(json.loads(about.read_text(encoding="utf-8"))["url"])
    except (ImportError, KeyError, OSError, ValueError):
        return ""
