"""What a submission's process gives up before it runs any of the submission's code."""

import contextlib
import sys
from pathlib import Path

from grading import landlock

ROOT = Path(__file__).parents[1]
FILE = 256 << 20  # bytes of the largest file that may be written
PROCESSES = 256  # processes and threads at a time
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/nix", "/sys")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OF_PROC = ("self", "cpuinfo", "meminfo", "stat", "sys", "filesystems")
WITHHELD = ("answers", "lab.py")  # not readable in a chapter's folder


def confine(home: Path, alone: bool) -> None:
    """Limit files and processes as far as the system can.

    home: the only folder in which this process may write. alone: whether it has a
    process namespace of its own, so that it may see all of /proc and only its own
    processes count. What the system cannot limit stays as it is.
    """
    with contextlib.suppress(ImportError):
        import resource

        _at_most(resource.RLIMIT_FSIZE, FILE)
        _at_most(resource.RLIMIT_CORE, 0)
        if alone:
            _at_most(resource.RLIMIT_NPROC, PROCESSES)
    if sys.platform == "linux":
        landlock.hide()
    with contextlib.suppress(OSError):
        landlock.restrict([ROOT], _readable(alone), [home, *map(Path, DEVICES)])


def _at_most(limit: int, value: int) -> None:
    import resource

    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(limit, (value, value))


def _readable(alone: bool) -> list[Path]:
    """Return what may be read: Python, system programs, the course without answers."""
    chapters = [
        path
        for path in ROOT.glob("chapters/*/*")
        if path.name not in WITHHELD and path.parent.name[:1].isdigit()
    ]
    own = [ROOT / name for name in ("weft", "grading", "results", "pyproject.toml")]
    python = {sys.prefix, sys.base_prefix, *filter(None, sys.path)} - {str(ROOT)}
    proc = ["/proc"] if alone else [f"/proc/{name}" for name in OF_PROC]
    named = [*map(Path, (*sorted(python), *SYSTEM, *proc))]
    return [*named, *own, *chapters]
