"""Landlock: Linux lets a process give up its own access to files, for good.

Constants and structures are those of `linux/landlock.h`; the system calls have the same
numbers on every architecture. See https://docs.kernel.org/userspace-api/landlock.html.
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from grading.system_calls import call, checked, prctl

CREATE, ADD, RESTRICT = 444, 445, 446  # the system calls
DUMPABLE, NO_NEW_PRIVS = 4, 38  # for prctl
PATH_BENEATH = 1
VERSION_OF = 1  # a flag of CREATE

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
# By version: the rights over files that this one was the first to have.
RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: TRUNCATE, 5: IOCTL}
CONNECT_AND_BIND = 0b11  # over TCP, from version 4
OUTSIDE = 0b11  # abstract sockets and signals to other processes, from version 6


class Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`."""

    _fields_ = [(n, ctypes.c_uint64) for n in ("files", "network", "scoped")]


class Beneath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """Return the version of Landlock that the kernel has, 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(0, call(CREATE, None, ctypes.c_size_t(0), VERSION_OF))


def restrict(
    listing: Iterable[Path], reading: Iterable[Path], writing: Iterable[Path]
) -> bool:
    """Let this thread, and what it starts, use these files and folders only.

    listing: folders of which only the names below them may be read.
    Threads that run already are not restricted. Returns False, and changes nothing,
    where the kernel has no Landlock. Raises OSError where it refuses.
    """
    known = version()
    if not known:
        return False
    every = sum(right for first, right in RIGHTS.items() if first <= known)
    asked = Ruleset(
        every, CONNECT_AND_BIND if known >= 4 else 0, OUTSIDE if known >= 6 else 0
    )
    ruleset = checked(call(CREATE, ctypes.byref(asked), ctypes.sizeof(asked), 0))
    try:
        for path in listing:
            _allow(ruleset, path, READ_DIR)
        for path in reading:
            _allow(ruleset, path, READ & every)
        for path in writing:
            _allow(ruleset, path, every)
        prctl(NO_NEW_PRIVS, 1)
        checked(call(RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)
    return True


def hide() -> None:
    """Keep this user's other processes from looking into this one, or changing it."""
    prctl(DUMPABLE, 0)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Allow a file, or what is below a folder; nothing if there is no such path."""
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            rights &= OF_FILES
        rule = Beneath(rights, folder)
        checked(call(ADD, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(folder)
