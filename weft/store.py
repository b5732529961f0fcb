"""The folder in which this package keeps progress and a machine's measured ceilings.

Inside a working copy of the course it is the copy's folder `.weft/`; elsewhere (in an
installed package, or a copy that belongs to another user) it is in the user's own
folders. WEFT_HOME overrides it.
"""

import json
import os
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

HOME = "WEFT_HOME"
PATIENCE = 10  # seconds to wait while another notebook writes


def root(start: Path | None = None) -> Path | None:
    """Return the working copy: the nearest folder with `_toc.yml` and `weft/`.

    start: the folder from which to search upward, by default the current one. Returns
    None outside a working copy.
    """
    try:
        here = (start or Path.cwd()).resolve()
    except OSError:  # the current folder was deleted
        return None
    for folder in (here, *here.parents):
        if (folder / "_toc.yml").is_file() and (folder / "weft").is_dir():
            return folder
    return None


def place(name: str, *, cache: bool = False) -> Path:
    """Return the path of the file `name` in the store; it need not exist.

    cache: whether the file can be recreated, and may thus be in `~/.cache`.
    """
    if home := os.environ.get(HOME):
        return Path(home).expanduser() / name
    copy = root()
    if copy is not None and _is_ours(copy):
        return copy / ".weft" / name
    if cache:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "weft" / name


def _is_ours(copy: Path) -> bool:
    """Return whether this user may write to a copy's store, or could create it."""
    try:
        owner = (copy / ".weft").stat().st_uid
    except FileNotFoundError:
        return os.access(copy, os.W_OK)
    except OSError:
        return False
    return owner == os.geteuid() or os.geteuid() == 0  # root: the user of a container


def read(path: Path) -> tuple[dict[str, Any], str]:
    """Read a JSON object from a file. Never raises.

    Returns (contents, message). A missing file counts as an empty object. A file that
    does not hold a JSON object is moved aside to `<name>.bad` (or `.bad2`, `.bad3`, …:
    earlier ones are kept), and the message says so; otherwise the message is "".
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        return {}, _set_aside(path, str(error))
    try:
        contents = json.loads(text)
    except ValueError as error:
        return {}, _set_aside(path, str(error))
    if not isinstance(contents, dict):
        return {}, _set_aside(path, "it does not hold a JSON object")
    return contents, ""


def _set_aside(path: Path, why: str) -> str:
    """Move an unreadable file aside if possible, and return a message about it."""
    bad, number = path.with_name(path.name + ".bad"), 2
    while bad.exists():
        bad, number = path.with_name(f"{path.name}.bad{number}"), number + 1
    try:
        path.replace(bad)
    except OSError:
        return f"{path} cannot be read ({why}) and cannot be moved; it is ignored."
    return f"{path.name} could not be read ({why}). It is kept as {bad}; a new begins."


def write(path: Path, contents: dict[str, Any]) -> str:
    """Write a JSON object to a file, whole or not at all.

    Returns "" or, if the file cannot be written, the reason.
    """
    text = json.dumps(contents, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, text)
    except OSError as error:
        return f"{path} could not be written ({error.strerror or error})."
    return ""


def update(path: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """Change the JSON object in a file, which is locked against other writers.

    change: gets the contents and changes them in place. Returns a message if the file
    could not be read and was started anew, or could not be written, else "". Raises
    only what `change` raises.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = lock.acquire()
    except Timeout:
        return f"{path} could not be written (another program holds it)."
    except OSError as error:
        return f"{path} could not be written ({error.strerror or error})."
    with held:
        contents, trouble = read(path)
        before = json.dumps(contents, sort_keys=True)
        change(contents)
        if json.dumps(contents, sort_keys=True) == before:
            return trouble
        return " ".join(filter(None, (trouble, write(path, contents))))


def replace(path: Path, text: str) -> None:
    """Replace a file's text in one step, so that no reader sees half of it.

    Raises OSError if the file cannot be written.
    """
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=".new"
    )
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def now() -> str:
    """Return the local time to the second, in ISO 8601."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
