"""Open JupyterLab on the labs; where there is no browser, print the address.

    .venv/bin/python lab.py [JupyterLab's own options, such as --port 9000]
    .venv/bin/python lab.py --healthy    # does a JupyterLab of this machine answer?

Where the labs belong to another user and cannot be written, it opens copies in the
user's own folder, `~/warp-and-weft`.
"""

import os
import shutil
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from installing import bytecode

ROOT = Path(__file__).resolve().parent
BOOK = Path("_build", "html")  # where `make book` puts the pages
FIRST_LAB = "labs/00_start_here.ipynb"
STARTUP = Path("weft", "lesson", "startup.py")  # what each kernel runs first
OWN = "warp-and-weft"  # a user's folder, where the labs are another user's
# jsonschema's grammar of international addresses takes 1.4 s to import, more than all
# the rest of JupyterLab's start; no schema of Jupyter's has such an address.
JUPYTERLAB = """\
import sys
sys.modules["rfc3987_syntax"] = None
from jupyterlab.labapp import main
main()
"""


def own_copies(root: Path, home: Path) -> Path:
    """Copy the labs that `home` lacks into it, and return it.

    What is there already is this user's work, and stays as it is.
    """
    (home / "labs").mkdir(parents=True, exist_ok=True)
    for lab in sorted((root / "labs").glob("*.ipynb")):
        mine = home / "labs" / lab.name
        if not mine.exists():
            shutil.copyfile(lab, mine)
    return home


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


def command(
    root: Path, browser: bool, as_root: bool, pages: Path = ROOT / BOOK
) -> list[str]:
    """JupyterLab's command line: all of `root` in view, the first lab open.

    It also serves the book's `pages`, for links that need no network (weft/links.py).
    """
    page = FIRST_LAB if (root / FIRST_LAB).exists() else "labs"
    options = [
        f"--ServerApp.root_dir={root}",
        f"--ServerApp.extra_static_paths={pages}",
        f"--LabApp.default_url=/lab/tree/{quote(page)}",
        "--log-level=WARN",
        "--LabApp.log_level=WARN",
    ]
    if not browser:
        options.append("--no-browser")
    if as_root:  # a container; the token still guards the door
        options.append("--allow-root")
    return [sys.executable, "-c", JUPYTERLAB, *options]


def healthy() -> bool:
    """True if every JupyterLab that this user has started answers, and one does."""
    from jupyter_server.serverapp import list_running_servers

    try:
        answers = [
            urlopen(f"{server['url']}api", timeout=3).status
            for server in list_running_servers()
        ]
    except OSError:
        return False
    return bool(answers) and set(answers) == {200}


def main(arguments: list[str]) -> None:
    if arguments == ["--healthy"]:
        sys.exit(0 if healthy() else "no JupyterLab answers here")
    browser = has_browser(os.environ)
    if not browser:
        print("No browser here: open the address below in one.", flush=True)
    shown = ROOT
    if not os.access(ROOT / "labs", os.W_OK):
        shown = own_copies(ROOT, Path.home() / OWN)
        print(f"You may not write in {ROOT}: your labs are in {shown}.", flush=True)
    words = command(shown, browser, as_root=os.geteuid() == 0)
    bytecode.compile_later(ROOT)
    os.environ["WEFT_BOOK"] = str(ROOT / BOOK)
    os.environ.setdefault("PYTHONSTARTUP", str(ROOT / STARTUP))
    # PyTorch looks for ninja, which is a package of this Python, on the path.
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
    )
    os.execv(words[0], [*words, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
