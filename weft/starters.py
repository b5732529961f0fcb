"""What a learner wrote, as text, and whether it was begun at all."""

import inspect
from types import FunctionType
from typing import Any

from weft.meaning import python_function

STUB = "your code here"  # in the comment that a starter cell contains


def source_function(value: Any) -> FunctionType | None:
    """The Python function of a kernel, or a plain function, if there is one.

    Of a function that `functools.wraps` put around another it is the inner one, which
    is what the learner wrote.
    """
    if isinstance(value, FunctionType):
        inner: FunctionType = inspect.unwrap(value)
        return inner
    return python_function(value)


def source(function: Any) -> str:
    """The text of a function, "" where there is none."""
    inner = source_function(function)
    try:
        return inspect.getsource(inner) if inner else ""
    except (OSError, TypeError):
        return ""


def has_stub(function: Any) -> bool:
    """Whether the function still holds the starter's comment."""
    return STUB in source(function)


def called_stubs(function: Any) -> list[str]:
    """The names of the functions not begun that a plain function refers to.

    They are looked up where the function would find them: around it, then globally.
    """
    inner = source_function(function)
    if inner is None:
        return []
    around = inspect.getclosurevars(inner)
    known = {**around.globals, **around.nonlocals}
    begun = (source_function(value) for value in known.values() if has_stub(value))
    return [function.__name__ for function in begun if function is not None]
