"""Whether the functions that a check consists of are still what they were."""

import builtins
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

# Modules of these packages; of the others, what can be reached by a single name.
WHOLE = ("weft",)
PUBLIC = ("math", "numpy", "numpy.linalg", "numpy.random")  # PyTorch changes its own
LABS = "weft.chapters."  # lab 29 makes its programs anew with a learner's function
CLASSES = (("torch", "Tensor"),)

BOUND = (property, staticmethod, classmethod)
Found = dict[tuple[str, str], tuple[int, int]]  # of each its identity, and its code's


def found() -> Found:
    """What the functions and classes of the modules that are loaded are now."""
    return {
        (where, name): (id(value), _code(value))
        for where, has in _holders()
        for name, value in has.items()
        if callable(value) or isinstance(value, BOUND)
    }


def changed(before: Found) -> list[str]:
    """The names that are something else than before, such as `weft.check`."""
    now = found()
    return [
        ".".join(place) for place, value in before.items() if now.get(place) != value
    ]


def _code(value: Any) -> int:
    return id(value.__code__) if type(value) is FunctionType else 0


def _holders() -> Iterator[tuple[str, dict[str, Any]]]:
    """What modules and classes have whose functions count, by their name."""
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
