"""A plain Python function that does not come to its end: its lines are counted."""

import ast
import dis
import functools
import linecache
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from weft import effort
from weft.checking.exercise import copies, source_function
from weft.checking.source import tree_of
from weft.checking.verdict import Failed, Verdict
from weft.simulator import Place

MOST_LINES = 1_000_000  # of the learner's, that one call may run


class Endless(BaseException):
    """Ends a function that has run too many lines; no `except Exception` keeps it."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.place = place


def patiently(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a learner's function on copies of `args`, and count the lines it runs.

    See `counted`. A function that the counting leaves no room on the stack is called
    again, without it.
    """
    try:
        return counted(function, copies(args))
    except RecursionError:
        return function(*copies(args))


def counted(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a learner's function once, on `args`, and count the lines it runs.

    Those of the learner's other functions count as well. Raises `Endless` where they
    are more than MOST_LINES. No time is taken, so a slow machine changes nothing. A
    debugger that follows the lines already is left alone: then nothing is counted.
    """
    inner = source_function(function)
    if inner is None or sys.gettrace() is not None:
        return function(*args)
    scope = inner.__globals__
    count = 0
    late: set[tuple[CodeType, int]] = set()  # lines run in the last half

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += 1
        if count > MOST_LINES // 2:
            late.add((frame.f_code, frame.f_lineno))
            if count > MOST_LINES:
                raise Endless(place_of(frame.f_code, frame.f_lineno, late))
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_globals is not scope:
            return None
        frame.f_trace_opcodes = circles(frame.f_code)
        return line(frame, event, _)

    sys.settrace(call)
    try:
        return function(*args)
    finally:
        sys.settrace(None)
        effort.done["lines"] += count


@functools.cache
def circles(code: CodeType) -> bool:
    """Whether an instruction jumps to itself: `while True: pass` runs no line again."""
    return any(
        step.opname.startswith("JUMP") and step.argval == step.offset
        for step in dis.get_instructions(code)
    )


def endless(name: str, call: str, place: Place) -> Failed:
    """The verdict on a call that `patiently` has ended."""
    return Failed(
        Verdict(
            name,
            "endless-loop",
            f"{call} has run {MOST_LINES:,} lines of Python and has not come to its "
            "end.",
            "What has to change for this loop to end, and does a line in it change it?",
            [(place, "")],
        )
    )


def place_of(code: CodeType, stopped: int, late: set[tuple[CodeType, int]]) -> Place:
    """The loop that goes on and on round the line `stopped`, or that line."""
    lines = {n for found, n in late if found is code}
    number = stopped
    for loop in loops_round(code, stopped):
        number = loop.lineno
        first = loop.body[0]
        again = number in lines
        if not isinstance(first, ast.While | ast.For):  # its line is not the loop's own
            again |= first.lineno in lines
        if again:
            break
    text = linecache.getline(code.co_filename, number).strip()
    return Place(code.co_name, number, text)


def loops_round(code: CodeType, stopped: int) -> list[ast.While | ast.For]:
    """The loops of a function that a line is in, the outermost first."""
    found = [
        node
        for node in ast.walk(tree_of(code))
        if isinstance(node, ast.While | ast.For)
        and node.lineno <= stopped <= (node.end_lineno or node.lineno)
    ]
    return sorted(found, key=lambda node: node.lineno)
