"""Check whether the functions that a check relies on are still the same."""

import builtins
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

# All modules of these packages count; of the others, only the names in these modules.
WHOLE = ("weft",)
# not PyTorch, which changes its own functions
PUBLIC = ("math", "numpy", "numpy.linalg", "numpy.random")
# excepted: lab 29 remakes its programs with the learner's function
LABS = "weft.chapters."
CLASSES = (("torch", "Tensor"),)

BOUND = (property, staticmethod, classmethod)
# by module and name: the identities of a function and of its code
Found = dict[tuple[str, str], tuple[int, int]]


def found() -> Found:
    """Return the identities of the functions and classes in the loaded modules."""
    return {
        (where, name): (id(value), _code(value))
        for where, has in _holders()
        for name, value in has.items()
        if callable(value) or isinstance(value, BOUND)
    }


def changed(before: Found) -> list[str]:
    """Return the names whose objects have changed, such as `weft.check`."""
    now = found()
    return [
        ".".join(place) for place, value in before.items() if now.get(place) != value
    ]


def _code(value: Any) -> int:
    return id(value.__code__) if type(value) is FunctionType else 0


def _holders() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each module and class whose functions count: its name and attributes."""
    yield "builtins", vars(builtins)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in WHOLE and not name.startswith(LABS):
            yield name, dict(vars(module))
            for each in list(vars(module).values()):
                if isinstance(each, type) and each.__module__ == name:
                    yield f"{name}.{each.__qualname__}", dict(vars(each))
        elif name in PUBLIC:
            yield name, dict(vars(module))
    for name, title in CLASSES:
        if name in sys.modules:
            has: dict[str, Any] = {}
            for base in reversed(getattr(sys.modules[name], title).__mro__):
                has |= vars(base)
            yield f"{name}.{title}", has
