"""Self-explanatory errors, shown without the frames of this package.

IPython asks an error how to show itself (`_render_traceback_`); Python itself shows
every frame. So our hook for uncaught errors removes our frames.
"""

import ast
import dis
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any

_OURS = str(Path(__file__).parent)
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
_TOOLS = ("IPython", "ipykernel", "nbclient", "_pytest", "pluggy")


def _nowhere(name: str) -> str:
    return ""


_where: Callable[[str], str] = _nowhere


def install() -> None:
    """Make Python show our errors without our frames in their tracebacks."""
    shown = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if hasattr(error, "_render_traceback_"):
            trace = without_ours(trace)
            error.__traceback__ = trace  # Python prints this one
        shown(kind, error, trace)

    if getattr(sys.excepthook, "__module__", "") != __name__:
        sys.excepthook = hook


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return `trace` without the frames of this package."""
    if trace is None:
        return None
    rest = without_ours(trace.tb_next)
    if is_ours(trace):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def is_ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_OURS)


def called_at(error: BaseException) -> tuple[int, str] | None:
    """Return the number and text of the learner's line that led to `error`, or None."""
    found = None
    trace = error.__traceback__
    while trace is not None and not is_ours(trace):
        filename = trace.tb_frame.f_code.co_filename
        if not any(tool in Path(filename).parts for tool in _TOOLS):
            text = linecache.getline(filename, trace.tb_lineno).strip()
            found = trace.tb_lineno, text
        trace = trace.tb_next
    return found


def interrupted(error: KeyboardInterrupt) -> list[str]:
    """Describe, in lines of text, where an interrupt stopped the learner's code.

    Returns [] if this package was not running: Python's own traceback is then best.
    """
    places, ours = [], False
    trace = error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if is_ours(trace):
            ours = True
        elif not any(tool in Path(filename).parts for tool in _TOOLS):
            line = line_of(trace)
            text = linecache.getline(filename, line).strip()
            name = trace.tb_frame.f_code.co_name.strip("<>")
            if text:
                where = f"line {line} of {name}"
                places.append(f"  {where}: {text}")
        trace = trace.tb_next
    return ["KeyboardInterrupt: stopped", *places] if ours else []


def line_of(trace: TracebackType) -> int:
    """Return the line number of a traceback's first entry.

    If its instruction has none, return that of the nearest earlier instruction.
    """
    code = trace.tb_frame.f_code
    lines = [line for start, _, line in code.co_lines() if start <= trace.tb_lasti]
    known = [line for line in lines if line is not None]
    return known[-1] if known else code.co_firstlineno


def look_up_names(where: Callable[[str], str]) -> None:
    """From now on, use `where(name)` to say which cell defines an undefined name."""
    global _where
    _where = where


@contextmanager
def looking_up_names(where: Callable[[str], str]) -> Iterator[None]:
    """Within a `with` block, use `where(name)` to explain undefined names."""
    before = _where
    look_up_names(where)
    try:
        yield
    finally:
        look_up_names(before)


def undefined(error: BaseException) -> str:
    """Return a text that says where a NameError's name is defined, or "" if unknown."""
    name = getattr(error, "name", None)
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError):
        return ""
    try:
        return _where(name) if name else ""
    except Exception:  # the learner's own error matters more
        return ""


def zero_divisor(error: Exception, function: FunctionType) -> str:
    """Return a sentence that names what `function` divided by when it was 0.

    Returns '' if `error` has another cause, or if other code raised it.

    >>> def half(x, parts=0):
    ...     return x // parts
    >>> try:
    ...     half(3)
    ... except ZeroDivisionError as error:
    ...     zero_divisor(error, half)
    '`parts` is 0.'
    """
    trace = innermost(error)
    if not isinstance(error, ZeroDivisionError) or trace is None:
        return ""
    code = trace.tb_frame.f_code
    line, last, start, end = list(code.co_positions())[trace.tb_lasti // 2]
    if trace.tb_frame.f_globals is not function.__globals__ or line != last or not line:
        return ""
    text = linecache.getline(code.co_filename, line).encode()[start:end].decode()
    try:
        (node,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    match node:
        case (
            ast.Expr(ast.BinOp(op=op, right=found)) | ast.AugAssign(op=op, value=found)
        ):
            named = isinstance(op, _DIVISIONS)
        case ast.Expr(ast.Call(ast.Name("divmod"), [_, found])):
            named = True
        case _:
            return ""
    if not named or isinstance(found, ast.Constant):
        return ""
    return f"`{ast.unparse(found)}` is 0."


def innermost(error: BaseException) -> TracebackType | None:
    """Return the part of an error's traceback that is about where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def deliberate(error: BaseException) -> bool:
    """Return whether a `raise` statement, and not an interrupt, raised `error`.

    An interrupt from outside arrives between instructions.
    """
    trace = innermost(error)
    if trace is None:
        return False
    code = trace.tb_frame.f_code.co_code
    return dis.opname[code[trace.tb_lasti]] == "RAISE_VARARGS"
