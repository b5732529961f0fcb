"""The launch at which the last check of a kernel stopped, to be looked at again."""

from typing import Any

from weft.backend import python_function
from weft.kernels.exercise import Trial

_stopped: dict[str, Trial] = {}  # by the kernel's name: its cell may be run again


def keep(trial: Trial) -> None:
    """Remember a launch whose results were wrong."""
    _stopped[name_of(trial.exercise.kernel)] = trial


def of(kernel: Any) -> Trial | None:
    """The launch remembered for a kernel, None if there is none."""
    return _stopped.get(name_of(kernel))


def name_of(kernel: Any) -> str:
    function = python_function(kernel) or kernel
    return str(getattr(function, "__name__", function))
