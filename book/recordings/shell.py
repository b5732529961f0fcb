"""What recordings of commands share: programs in a folder of their own, and a shell."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def copied(here: Path, *kinds: str) -> Iterator[Path]:
    """Give a folder that holds what `here` has of these kinds, such as ".c".

    The folder is empty but for that, and gone in the end.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in here.iterdir():
            if path.suffix in kinds and path.name != "record.py":
                text = path.read_text(encoding="utf-8")
                (folder / path.name).write_text(text, encoding="utf-8")
        yield folder


def run(command: str, folder: Path, **env: str) -> str:
    """Run a command of the shell in `folder`; return all that it says.

    It says that in English, with nobody at the keyboard; the folder's name is cut.
    """
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=os.environ | {"LC_ALL": "C"} | env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.replace(f"{folder}/", "")
