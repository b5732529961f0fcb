"""Classes of the learner's own that Numba compiles: enums, named tuples, exceptions.

Another process cannot import them, so what makes them up is recorded and built
again there. Only that is kept: members, fields and bases, no methods.
"""

import enum
import pickle
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

Written = tuple[Any, ...]
ENUMS = (enum.IntFlag, enum.Flag, enum.IntEnum, enum.StrEnum, enum.Enum)
# What a class may define and still be its members or fields, in an expression.
HARMLESS = frozenset(
    (
        "__new__ __init__ __repr__ __str__ __format__ __doc__ __reduce__ "
        "__reduce_ex__ __getnewargs__ __init_subclass__ __replace__ "
        "__annotate__ __annotate_func__"
    ).split()
)


def is_named_tuple(kind: type) -> bool:
    """Return whether a class was made by `namedtuple` or `NamedTuple`."""
    fields = getattr(kind, "_fields", None)
    return issubclass(kind, tuple) and isinstance(fields, tuple)


def can_be_written(kind: Any) -> bool:
    """Return whether `written` can serialise a class."""
    return isinstance(kind, type) and (
        (issubclass(kind, enum.Enum) and kind not in ENUMS)
        or is_named_tuple(kind)
        or issubclass(kind, BaseException)
    )


@cache
def acts_as_a_value(kind: type) -> bool:
    """Return whether instances of a class pass for numbers, strings or tuples."""
    values = (int, float, complex, str, bytes)
    return can_be_written(kind) or issubclass(kind, values)


@cache
def operators_of(kind: type) -> list[str]:
    """Return the operators that a class of the learner's overloads.

    Numba ignores them: to it a member is its value.
    """
    mine = [base for base in kind.__mro__ if base.__module__ not in _PYTHONS]
    return sorted(
        name
        for base in mine
        for name, value in vars(base).items()
        if name.startswith("__") and name.endswith("__") and name not in HARMLESS
        if callable(value) and not isinstance(value, type)
        if getattr(value, "__module__", None) not in (None, *_PYTHONS)
    )


_PYTHONS = ("builtins", "enum", "typing", "collections")


def written(kind: Any, value_of: Callable[[Any], Any]) -> Written:
    """Write a class down. value_of: writes the value of a member."""
    if issubclass(kind, enum.Enum):
        base = next(base for base in ENUMS if issubclass(kind, base))
        members = [(n, value_of(m.value)) for n, m in kind.__members__.items()]
        return ("enum", kind.__name__, ENUMS.index(base), members)
    if is_named_tuple(kind):
        return ("named", kind.__name__, list(kind._fields))
    base = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    return ("raised", kind.__name__, pickle.dumps(base))


def built(item: Written, value_of: Callable[[Any], Any]) -> Any:
    """Build a class as it was recorded. value_of: reads the value of a member."""
    what, name, *rest = item
    if what == "enum":
        base, members = rest
        make: Any = ENUMS[base]
        return make(name, [(n, value_of(v)) for n, v in members])
    if what == "named":
        return namedtuple(name, rest[0])
    return type(name, (pickle.loads(rest[0]),), {})
