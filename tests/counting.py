"""Count what Python runs: a slow or a busy machine does not change these numbers."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(function: Callable[[], Any]) -> int:
    """Call `function` and count the lines of Python that it runs, wherever they are."""
    return _events(function, "line")


def instructions_run(function: Callable[[], Any]) -> int:
    """Call `function` and count the instructions of Python's bytecode that it runs."""
    return _events(function, "opcode")


def _events(function: Callable[[], Any], kind: str) -> int:
    count = 0

    def seen(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = kind == "line", kind == "opcode"
        count += event == kind
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
