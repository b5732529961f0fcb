"""The learner's classes that Numba compiles: enums, named tuples, exceptions.

Another process cannot import these classes, so their definitions are recorded, and
rebuilt there. Only members, fields and bases are kept, not methods.
"""

import enum
import pickle
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

Written = tuple[Any, ...]
ENUMS = (enum.IntFlag, enum.Flag, enum.IntEnum, enum.StrEnum, enum.Enum)
# Methods that a class may define and still act as its value in an expression.
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
    """Return whether `kind` is a class that `written` can serialise."""
    return isinstance(kind, type) and (
        (issubclass(kind, enum.Enum) and kind not in ENUMS)
        or is_named_tuple(kind)
        or issubclass(kind, BaseException)
    )


@cache
def acts_as_a_value(kind: type) -> bool:
    """Return whether Numba treats instances of a class as plain values.

    It does so for enums, named tuples, exceptions, and subclasses of Python's numbers
    and strings.
    """
    values = (int, float, complex, str, bytes)
    return can_be_written(kind) or issubclass(kind, values)


@cache
def operators_of(kind: type) -> list[str]:
    """Return the operators that a learner's class overloads.

    Numba ignores them if the class acts as a value (see `acts_as_a_value`).
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
    """Return a serialisable record of a class. value_of: converts a member's value."""
    if issubclass(kind, enum.Enum):
        base = next(base for base in ENUMS if issubclass(kind, base))
        members = [(n, value_of(m.value)) for n, m in kind.__members__.items()]
        return ("enum", kind.__name__, ENUMS.index(base), members)
    if is_named_tuple(kind):
        return ("named", kind.__name__, list(kind._fields))
    base = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    return ("raised", kind.__name__, pickle.dumps(base))


def built(item: Written, value_of: Callable[[Any], Any]) -> Any:
    """Rebuild a class from its record. value_of: restores a member's value."""
    what, name, *rest = item
    if what == "enum":
        base, members = rest
        make: Any = ENUMS[base]
        return make(name, [(n, value_of(v)) for n, v in members])
    if what == "named":
        return namedtuple(name, rest[0])
    return type(name, (pickle.loads(rest[0]),), {})
