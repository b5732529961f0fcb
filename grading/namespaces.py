"""Namespaces: they keep a process from the network, and from other processes.

The numbers are those of `linux/sched.h`, `linux/mount.h` and `linux/capability.h`. See
https://man7.org/linux/man-pages/man7/namespaces.7.html
"""

import contextlib
import ctypes
import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from grading.landlock import NO_NEW_PRIVS
from grading.system_calls import named, prctl

MOUNTS, IPC, USER, PROCESSES, NETWORK = (
    0x0002_0000,
    0x0800_0000,
    0x1000_0000,
    0x2000_0000,
    0x4000_0000,
)
RECURSIVE, PRIVATE = 1 << 14, 1 << 18
NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1 << 1, 1 << 2, 1 << 3
SIGNAL_WHEN_PARENT_ENDS = 1  # option of prctl
CAPABILITIES = 0x2008_0522  # version 3 of capset: two words for each set
SECONDS = 5.0  # that a process has for ending those that it started


class Apart(StrEnum):
    """What a process is kept from."""

    NOTHING = ""
    NETWORK = "network"
    ALL = "all"  # from other processes too; what it starts ends with it


def enter(apart: Apart) -> None:
    """Move this process into namespaces of its own. Raises OSError if refused.

    Call it while there are no threads. With `Apart.ALL`, the caller goes on as a new
    process, the first of its namespace. The old process only waits for the new one,
    exits with its status, and ends it on SIGTERM.
    """
    if apart is Apart.NOTHING:
        return
    kinds = USER | NETWORK | (IPC | PROCESSES | MOUNTS) * (apart is Apart.ALL)
    user, group = os.geteuid(), os.getegid()
    named("unshare", kinds)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    if apart is Apart.ALL:
        _become_the_first()
    _drop_capabilities()


def end(number: int, apart: Apart) -> None:
    """Ask a process, and all that it has started, to end.

    number: the process that called `enter`; it leads a session.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if apart is Apart.ALL:
            os.kill(number, signal.SIGTERM)
        else:
            os.killpg(number, signal.SIGKILL)


def _become_the_first() -> None:
    """Fork into the new process namespace, and mount its own /proc."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    number = os.fork()
    if number:
        _stand_by(number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    prctl(SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)
    named("mount", b"none", b"/", None, ctypes.c_ulong(RECURSIVE | PRIVATE), None)
    flags = ctypes.c_ulong(NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    named("mount", b"proc", b"/proc", b"proc", flags, None)


def _stand_by(number: int) -> NoReturn:
    """Wait for a process, and end it on SIGTERM or when this one's parent ends."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(number, signal.SIGKILL))
    prctl(SIGNAL_WHEN_PARENT_ENDS, signal.SIGTERM)
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def _drop_capabilities() -> None:
    """Give up the capabilities that a new user namespace gives its first user."""
    header = (ctypes.c_uint32 * 2)(CAPABILITIES, 0)
    none = (ctypes.c_uint32 * 6)()
    named("capset", header, none)
    prctl(NO_NEW_PRIVS, 1)
