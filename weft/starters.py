"""The source text of a learner's function, and whether it is still unfinished."""

import inspect
from types import FunctionType
from typing import Any

from weft.meaning import python_function

STUB = "your code here"  # text of the comment in a starter cell


def source_function(value: Any) -> FunctionType | None:
    """Return the Python function of a kernel or function, or None for anything else.

    For a function wrapped with `functools.wraps`, that is the inner function, which the
    learner wrote.
    """
    if isinstance(value, FunctionType):
        inner: FunctionType = inspect.unwrap(value)
        return inner
    return python_function(value)


def source(function: Any) -> str:
    """Return the source text of a function, or "" if there is none."""
    inner = source_function(function)
    try:
        return inspect.getsource(inner) if inner else ""
    except (OSError, TypeError):
        return ""


def has_stub(function: Any) -> bool:
    """Return whether the function still contains the starter's comment."""
    return STUB in source(function)


def called_stubs(function: Any) -> list[str]:
    """Return the names of the unfinished functions that `function` refers to.

    Names are resolved as in the function itself: in its closure, then in its globals.
    """
    inner = source_function(function)
    if inner is None:
        return []
    around = inspect.getclosurevars(inner)
    known = {**around.globals, **around.nonlocals}
    begun = (source_function(value) for value in known.values() if has_stub(value))
    return [function.__name__ for function in begun if function is not None]
