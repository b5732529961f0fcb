"""System calls of Linux for which Python has no function."""

import ctypes
import os


def call(number: int, *arguments: object) -> int:
    """Make a system call by its number; return its result."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return int(library.syscall(ctypes.c_long(number), *arguments))


def checked(returned: int) -> int:
    """Return a system call's result. Raises OSError if the call failed."""
    if returned < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return returned


def named(name: str, *arguments: object) -> None:
    """Call a function of the C library. Raises OSError if it fails."""
    checked(getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments))


def prctl(option: int, value: int) -> None:
    """Set an option of this process, of `linux/prctl.h`. Raises OSError."""
    named("prctl", option, *map(ctypes.c_ulong, (value, 0, 0, 0)))
