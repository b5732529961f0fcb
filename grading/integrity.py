"""Whether the functions that a check consists of are still what they were."""

import builtins
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

# Modules of these packages; of the others, what can be reached by a single name.
WHOLE = ("weft",)
PUBLIC = ("math", "numpy", "numpy.linalg", "numpy.random")  # PyTorch changes its own
CLASSES = (("torch", "Tensor"), ("torch.nn", "Module"))

Found = dict[tuple[str, str], tuple[int, int]]  # of each its identity, and its code's


def found() -> Found:
    """What the functions and classes of the modules that are loaded are now."""
    return {(where, name): _same(value) for where, name, value in _all()}


def changed(before: Found) -> list[str]:
    """The names that are something else than before, such as `weft.check`."""
    now = found()
    return [
        ".".join(place) for place, value in before.items() if now.get(place) != value
    ]


def _same(value: Any) -> tuple[int, int]:
    """What tells a function from another, and from itself with other code."""
    code = value.__code__ if isinstance(value, FunctionType) else None
    return id(value), id(code)


def _all() -> Iterator[tuple[str, str, Any]]:
    yield from _of("builtins", builtins)
    for name, module in list(sys.modules.items()):
        if name in PUBLIC or name.partition(".")[0] in WHOLE:
            yield from _of(name, module)
            if name.partition(".")[0] in WHOLE:
                for each in list(vars(module).values()):
                    if isinstance(each, type) and each.__module__ == name:
                        yield from _of(f"{name}.{each.__qualname__}", each)
    for name, title in CLASSES:
        if name in sys.modules:
            yield from _of(f"{name}.{title}", getattr(sys.modules[name], title))


def _of(where: str, holder: ModuleType | type) -> Iterator[tuple[str, str, Any]]:
    """The functions and classes that a module or a class has, also by inheritance."""
    known = dict(vars(holder))
    for base in holder.__mro__ if isinstance(holder, type) else ():
        known = dict(vars(base)) | known
    for name, value in known.items():
        if callable(value) or isinstance(value, property | staticmethod | classmethod):
            yield where, name, value
