"""What stands in the source of a function that a learner wrote, and where."""

import inspect
import re
from typing import Any

from weft.checking.exercise import is_kernel, source_function
from weft.simulator import Place


def source(function: Any) -> str:
    inner = source_function(function)
    try:
        return inspect.getsource(inner) if inner else ""
    except (OSError, TypeError):
        return ""


def line_with(function: Any, pattern: str) -> list[tuple[Place, str]]:
    """The place of the first line of `function` that begins like `pattern`."""
    inner = source_function(function)
    for offset, text in enumerate(source(function).splitlines()):
        if inner is not None and re.match(pattern, text.strip()):
            line = inner.__code__.co_firstlineno + offset
            return [(Place(inner.__name__, line, text.strip()), "")]
    return []


def returns(function: Any) -> list[tuple[Place, str]]:
    """The place of the first `return` of a plain function."""
    return line_with(function, "return")


def raised_at(error: BaseException, function: Any) -> list[tuple[Place, str]]:
    """Where in `function` an exception came from."""
    inner = source_function(function)
    lines = source(function).splitlines()
    trace = error.__traceback__
    found: list[tuple[Place, str]] = []
    while trace is not None and inner is not None:
        if trace.tb_frame.f_code is inner.__code__:
            offset = trace.tb_lineno - inner.__code__.co_firstlineno
            text = lines[offset].strip() if 0 <= offset < len(lines) else ""
            found = [(Place(inner.__name__, trace.tb_lineno, text), "")]
        trace = trace.tb_next
    return found


def parameter_names(kernel: Any) -> list[str]:
    inner = source_function(kernel)
    return list(inspect.signature(inner).parameters) if inner else []


def device_functions(kernel: Any) -> dict[str, Any]:
    """The device functions that a kernel calls, by the names it has for them."""
    inner = source_function(kernel)
    if inner is None:
        return {}
    try:
        seen = inspect.getclosurevars(inner)
    except ValueError:  # a name of an outer function that has no value yet
        return {}
    named = {**seen.globals, **seen.nonlocals}
    return {name: f for name, f in named.items() if is_kernel(f)}
