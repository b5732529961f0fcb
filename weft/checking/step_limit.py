"""Stop a plain Python function that does not end, by counting the lines it runs."""

import ast
import dis
import functools
import io
import linecache
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from types import CodeType, FrameType
from typing import Any

from weft import effort
from weft.checking.cases import copies
from weft.checking.source import at_line, returns, tree_of
from weft.checking.verdict import Failed, common
from weft.checking.watchdog import LONGEST, watchdog
from weft.places import Note, Place
from weft.starters import source_function
from weft.tracebacks import deliberate

MOST_LINES = 3_000_000  # how many of the learner's lines one call may run
BOUNDED = 20  # multiplies the limit if all running loops are `for`


class Endless(BaseException):
    """Ends a function that ran too many lines. `except Exception` does not catch it."""

    def __init__(self, place: Place, lines: int) -> None:
        super().__init__(place)
        self.place, self.lines = place, lines


class Waiting(Endless):
    """Ends a function that has done nothing for too long."""

    def __init__(self, place: Place, seconds: int) -> None:
        BaseException.__init__(self, place)
        self.place, self.lines, self.seconds = place, 0, seconds


def limited(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    most: int | None = None,
    scope: Any = None,
) -> Any:
    """Call a learner's function on copies of `args`, and count the lines it runs.

    See `counted`. If counting overflows the stack, the function is called again
    without counting.
    """
    try:
        return counted(function, copies(args), most, scope)
    except RecursionError:
        return without_leaving(function, copies(args))


def counted(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    most: int | None = None,
    scope: Any = None,
    longest: int = LONGEST,
) -> Any:
    """Call a learner's function once, on `args`, and count the lines it runs.

    Lines of the learner's other functions count as well. scope: the learner's function,
    if `function` is a wrapper around it.

    Raises `Endless` after more than `most` lines (by default MOST_LINES), or BOUNDED
    times as many if only `for` loops are running, because those usually end. A line
    counts the same however long it takes, so a slow machine changes nothing. Raises
    `Waiting` if the function does nothing for `longest` seconds (see `watchdog`). An
    exception that would end Python, such as that of `sys.exit()`, becomes an ordinary
    exception of the same name. If a debugger is already tracing, nothing is counted.
    """
    inner = source_function(function if scope is None else scope)
    if inner is None or sys.gettrace() is not None:
        return without_leaving(function, args)
    names = inner.__globals__
    limit = MOST_LINES if most is None else most
    counter = _Counter(limit)

    def call(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_globals is not names:
            return None
        frame.f_trace_opcodes = circles(frame.f_code)
        return counter.line(frame, event, _)

    stopped = 0  # how many times the function was found to have stopped the counting

    def again(frame: FrameType | None) -> None:
        """Resume counting if the function has turned it off."""
        nonlocal stopped
        if sys.gettrace() is call:
            return
        stopped += 1
        if stopped > longest:
            raise Endless(place_in(frame, names), counter.count)
        while frame is not None:
            if frame.f_globals is names:
                frame.f_trace_opcodes = circles(frame.f_code)
                frame.f_trace = counter.line
            frame = frame.f_back
        sys.settrace(call)

    def idle(frame: FrameType | None) -> None:
        raise Waiting(place_in(frame, names), longest)

    sys.settrace(call)
    try:
        with watchdog(idle, again, longest):
            return without_leaving(function, args)
    finally:
        sys.settrace(None)
        effort.done["lines"] += counter.count


def without_leaving(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function, turning an exception that would end Python into an ordinary one.

    The new exception has the same name. A `KeyboardInterrupt` is left alone, unless the
    function raises it itself.
    """
    try:
        return function(*args)
    except (Exception, Endless):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not deliberate(error):
            raise
        plain = type(type(error).__name__, (Exception,), {})
        raise plain(*error.args).with_traceback(error.__traceback__) from None


class _Counter:
    """Counts lines, and decides when there are too many."""

    def __init__(self, limit: int) -> None:
        self.limit = self.first = limit
        self.watch_from = limit // 2
        self.count = 0
        self.late: set[tuple[CodeType, int]] = set()  # lines run in the last half

    def line(self, frame: FrameType, event: str, _: Any) -> Any:
        self.count += 1
        if self.count > self.watch_from:
            self.late.add((frame.f_code, frame.f_lineno))
            if self.count > self.limit:
                self._decide(frame)
        return self.line

    def _decide(self, frame: FrameType) -> None:
        """Raise `Endless`, or extend the limit once if only `for` loops are running."""
        if self.limit == self.first and _only_for_loops(frame):
            self.limit *= BOUNDED
            self.watch_from = self.limit - self.first // 2
            self.late.clear()
            return
        place = place_of(frame.f_code, frame.f_lineno, self.late)
        raise Endless(place, self.limit)


def _only_for_loops(frame: FrameType | None) -> bool:
    """Return whether the learner's frames are in loops, and only in `for` loops."""
    scope = frame.f_globals if frame else None
    loops: list[ast.While | ast.For] = []
    while frame is not None:
        if frame.f_globals is scope:
            loops += loops_around(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return bool(loops) and all(isinstance(loop, ast.For) for loop in loops)


@functools.cache
def circles(code: CodeType) -> bool:
    """Return whether an instruction of `code` jumps to itself.

    `while True: pass` has such an instruction, and causes no line events.
    """
    return any(
        step.opname.startswith("JUMP") and step.argval == step.offset
        for step in dis.get_instructions(code)
    )


def endless(
    name: str, call: str, stopped: Endless, when: str = "", usual: int = MOST_LINES
) -> Failed:
    """Return the error to raise for a call that was stopped.

    stopped: the exception that stopped it. usual: the usual limit on lines; a lower
    limit can also stop a loop that would have ended.
    """
    if isinstance(stopped, Waiting):
        places = [(stopped.place, "")] if stopped.place.line else []
        told = {"call": call, "seconds": stopped.seconds, "when": when}
        return Failed(common.verdict(name, "waiting", places, **told))
    told = {"call": call, "lines": stopped.lines, "when": when}
    row = "few-lines" if stopped.lines < usual else "endless-loop"
    return Failed(common.verdict(name, row, [(stopped.place, "")], **told))


def place_of(code: CodeType, stopped: int, late: set[tuple[CodeType, int]]) -> Place:
    """Return the place of the endless loop that contains line `stopped`.

    If no loop contains the line, its own place is returned. late: the lines that ran
    last.
    """
    lines = {n for found, n in late if found is code}
    number = stopped
    for loop in loops_around(code, stopped):
        number = loop.lineno
        first = loop.body[0]
        again = number in lines
        if not isinstance(first, ast.While | ast.For):  # its line is not the loop's own
            again |= first.lineno in lines
        if again:
            break
    text = linecache.getline(code.co_filename, number).strip()
    return Place(code.co_name, number, text)


def place_in(frame: FrameType | None, names: dict[str, Any]) -> Place:
    """Return the current line of the learner's code, or the loop around that line.

    Searches from `frame` towards the callers. Returns Place("", 0) if no frame is the
    learner's.
    """
    while frame is not None:
        if frame.f_globals is names:
            return place_of(frame.f_code, frame.f_lineno, set())
        frame = frame.f_back
    return Place("", 0)


def loops_around(code: CodeType, stopped: int) -> list[ast.While | ast.For]:
    """Return the loops of a function that contain a line, outermost first."""
    found = [
        node
        for node in ast.walk(tree_of(code))
        if isinstance(node, ast.While | ast.For)
        and node.lineno <= stopped <= (node.end_lineno or node.lineno)
    ]
    return sorted(found, key=lambda node: node.lineno)


def ended(function: Any, again: Callable[[], Any]) -> list[Note]:
    """Return the line of the `return` that ends a call, by making the call `again`.

    Returns the function's first `return` if that fails.
    """
    inner = source_function(function)
    lines: list[int] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and inner and frame.f_code is inner.__code__:
            lines.append(frame.f_lineno)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        with redirect_stdout(io.StringIO()):  # its output has already been shown
            again()
    except (Exception, Endless):  # the first call used up what it was given
        lines.clear()
    finally:
        sys.setprofile(before)
    if inner and lines:
        place = at_line(inner, lines[-1])
        if place.text.startswith("return"):
            return [(place, "")]
    return returns(function)
