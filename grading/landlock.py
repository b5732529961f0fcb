"""Landlock: Linux lets a process give up its own access to files for good.

Constants and structures are those of `linux/landlock.h`; the numbers of the system
calls are the same on every architecture. See
https://docs.kernel.org/userspace-api/landlock.html.
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from grading.system_calls import call, checked, prctl

CREATE, ADD, RESTRICT = 444, 445, 446  # numbers of the system calls
DUMPABLE, NO_NEW_PRIVS = 4, 38  # options of prctl
PATH_BENEATH = 1
VERSION_OF = 1  # a flag of CREATE

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
# By version: the file access rights that this version added.
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
    """Return the kernel's version of Landlock; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    return max(0, call(CREATE, None, ctypes.c_size_t(0), VERSION_OF))


def restrict(
    listing: Iterable[Path], reading: Iterable[Path], writing: Iterable[Path]
) -> bool:
    """Restrict this thread, and all it starts, to these files and folders.

    listing: folders in which only names may be read. reading: what may be read.
    writing: what may be read and written.

    Threads that already run are not restricted. Returns False, with nothing changed, if
    the kernel has no Landlock. Raises OSError if the kernel refuses.
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
    """Keep this user's other processes from reading or changing this one."""
    prctl(DUMPABLE, 0)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Allow a file, or a folder with all its contents; ignore a missing path."""
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
