"""System calls of Linux that Python has no function for."""

import ctypes
import os


def call(number: int, *arguments: object) -> int:
    """Make a system call by its number; return what it returns."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return int(library.syscall(ctypes.c_long(number), *arguments))


def checked(returned: int) -> int:
    """Pass on what a call returned. Raises OSError if it failed."""
    if returned < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return returned


def named(name: str, *arguments: object) -> None:
    """Call a function of the C library. Raises OSError if it fails."""
    checked(getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments))


def prctl(option: int, value: int) -> None:
    """Change how this process runs; `linux/prctl.h` has the options. Raises OSError."""
    named("prctl", option, *map(ctypes.c_ulong, (value, 0, 0, 0)))
