"""Borrowed answers: code that calls its own spec, or calls a library to do the work."""

import inspect
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from weft import chapters
from weft.checking.step_limit import limited
from weft.checking.verdict import Verdict, common
from weft.places import Note, Place
from weft.starters import source, source_function

Borrowed = tuple[str, list[Note]]


def watched(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    spec: Callable[..., Any],
    without: tuple[str, ...],
    most_lines: int | None = None,
    scope: Any = None,
) -> tuple[Any, Borrowed | None]:
    """Call `function` on copies of `args`; return its result, and any borrowed answer.

    The borrowed answer is None if the function did the work itself. Otherwise it is the
    name of the spec, or of a function or module that `without` lists, and the line that
    calls it. scope: the learner's function, if `function` is a wrapper around it.
    Raises `Endless` if the function does not end, and any exception that it raises.
    """
    watch = _Watch(scope or function, spec, without)
    if not watch.needed:
        return limited(function, args, most_lines, scope), None
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        got = limited(function, args, most_lines, scope)
    except Exception:  # perhaps only due to profiling, with the stack nearly used up
        sys.setprofile(before)
        return limited(function, args, most_lines, scope), None
    finally:
        sys.setprofile(before)
    return got, watch.found


class _Watch:
    """A profiler that records the first call by which a function borrows its answer."""

    def __init__(
        self, function: Any, spec: Callable[..., Any], without: tuple[str, ...]
    ) -> None:
        self.inner = source_function(function)
        self.lines = source(function).splitlines()
        self.answer = getattr(inspect.unwrap(spec), "__code__", None)
        if self.answer is not None and self.answer.co_name == "<lambda>":
            self.answer = None  # no code can call it by name
        self.spec, self.without = spec, without
        self.found: Borrowed | None = None

    @property
    def needed(self) -> bool:
        return self.inner is not None and bool(self.answer or self.without)

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if self.found or event not in ("call", "c_call"):
            return
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if event == "c_call":
            module = called.__module__ or getattr(called.__self__, "__name__", "")
            name = called.__name__
        for each in self.without:
            whole = f"{chapters.plain(module)}.{name}"
            if within(whole, each) and not name.startswith(("_", "<")):
                said = each if whole == each else f"{each}.{name}"
                self.found = said, self.caller(frame)
                return
        if event == "call" and frame.f_code is self.answer:
            self.found = self.spec.__name__, self.caller(frame)

    def caller(self, frame: FrameType | None) -> list[Note]:
        """Return the line of the learner's function that the call comes from."""
        assert self.inner is not None
        code = self.inner.__code__
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        if frame is None:
            return []
        offset = frame.f_lineno - code.co_firstlineno
        if not 0 <= offset < len(self.lines):
            return []
        text = self.lines[offset].strip()
        return [(Place(self.inner.__name__, frame.f_lineno, text), "")]


def belongs(function: Any, modules: tuple[str, ...]) -> bool:
    """Return whether a function is defined in one of these modules."""
    module = chapters.plain(str(getattr(function, "__module__", "")))
    return any(within(module, each) for each in modules)


def within(module: str, package: str) -> bool:
    """Return whether `module` is `package`, or is inside it."""
    return f"{module}.".startswith(f"{package}.")


def of_another(
    name: str, call: str, called: str, places: Sequence[Note] = ()
) -> Verdict:
    """Return the verdict on an answer that is, or calls, an excluded function."""
    return common.verdict(name, "library", places, call=call, called=called)
