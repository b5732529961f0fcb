"""Submissions are read with care, and what is written is whole or not there."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LARGEST = 50 << 20  # bytes of a notebook


class Unreadable(Exception):
    """A submission is no file to be read; the message says why."""


def printable(text: object) -> str:
    """Text without halves of characters, which no file could hold.

    A name that is not UTF-8 has its bytes written as `\\\\udcfc`.
    """
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def contents(path: Path) -> bytes:
    """Read a submission. Raises Unreadable.

    A symbolic link may lead to what is not the student's, so it is not followed.
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
    """Yield a file to write, which takes the place of `path` once it is whole."""
    new = path.with_name(f".{path.name}.new")
    try:
        yield new
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
