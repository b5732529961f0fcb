"""Open JupyterLab on the labs; where there is no browser, print the address.

    .venv/bin/python lab.py [JupyterLab's own options, such as --port 9000]
"""

import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent
BOOK = Path("_build", "html")  # where `make book` puts the pages
FIRST_LAB = "labs/00_start_here.ipynb"


def has_browser(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """True if a browser opened from here would be seen by who started us."""
    if environment.get("CI") or environment.get("SSH_CONNECTION"):
        return False
    if platform != "darwin" and not (
        environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def command(root: Path, browser: bool, as_root: bool) -> list[str]:
    """JupyterLab's command line: the whole course in view, the first lab open.

    It also serves the book, for links that need no network (weft/links.py).
    """
    page = FIRST_LAB if (root / FIRST_LAB).exists() else "labs"
    options = [
        f"--ServerApp.root_dir={root}",
        f"--ServerApp.extra_static_paths={root / BOOK}",
        f"--LabApp.default_url=/lab/tree/{quote(page)}",
        "--log-level=WARN",
        "--LabApp.log_level=WARN",
    ]
    if not browser:
        options.append("--no-browser")
    if as_root:  # a container; the token still guards the door
        options.append("--allow-root")
    return [sys.executable, "-m", "jupyterlab", *options]


def main(arguments: list[str]) -> None:
    browser = has_browser(os.environ)
    if not browser:
        print("No browser here: open the address below in one.", flush=True)
    words = command(ROOT, browser, as_root=os.geteuid() == 0)
    os.environ["WEFT_BOOK"] = str(ROOT / BOOK)
    os.execv(words[0], [*words, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
