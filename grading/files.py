"""Read submissions with care, and write files whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LARGEST = 50 << 20  # bytes of the largest notebook


class Unreadable(Exception):
    """A submission cannot be read as a file; the message says why."""


def printable(text: object) -> str:
    """Return a text without lone surrogates, which no file can hold.

    The bytes of a name that is not UTF-8 are written as `\\udcfc`.
    """
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def contents(path: Path) -> bytes:
    """Read a submission's bytes. Raises Unreadable.

    A symbolic link is not followed, as it may lead to a file that is not the student's.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_symlink():
            raise Unreadable("This is a symbolic link, not a file.")
        with os.fdopen(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Unreadable("This is not a file.")
            if found.st_size > LARGEST:
                raise Unreadable(f"This file has more than {LARGEST >> 20} MB.")
            return file.read()
    except OSError as error:
        raise Unreadable(f"The file cannot be read: {error.strerror}.") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; the file replaces `path` once it is whole."""
    new = path.with_name(f".{path.name}.new")
    try:
        yield new
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
