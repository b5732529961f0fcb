"""A run's parameters as controls: `explore(kernel)[1, 32](x, out, choose(1, 2, 4))`."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)  # two with the same values are two controls
class Choice:
    """Values of which one is used in a launch, the first to begin with."""

    values: tuple[Any, ...]


def choose(*values: Any) -> Choice:
    """Return something to give to `explore` instead of a number: a control over it.

    It may stand for an argument, or for a number of blocks or threads of the launch.
    """
    if len(values) < 2:
        raise ValueError("choose(1, 2, 4): give it the values to choose from")
    return Choice(values)


def named(function: Any, config: Any, args: Any) -> dict[str, Choice]:
    """Return the choices of a launch by what they stand for first."""
    found: dict[str, Choice] = {}
    parts = config if isinstance(config, tuple) else (config,)
    places: list[tuple[str, Any]] = []
    for name, part in zip(("blocks", "threads"), parts, strict=False):
        if isinstance(part, tuple):
            axes = zip("xyz", part, strict=False)
            places += [(f"{name} in {axis}", value) for axis, value in axes]
        else:
            places.append((name, part))
    places += zip(inspect.signature(function).parameters, args, strict=False)
    for name, value in places:
        if isinstance(value, Choice) and value not in found.values():
            found[name] = value
    return found


def settled(value: Any, chosen: dict[Choice, Any]) -> Any:
    """Replace the choices by the chosen values, the first where none is."""
    if isinstance(value, Choice):
        return chosen.get(value, value.values[0])
    if isinstance(value, tuple):
        return tuple(settled(each, chosen) for each in value)
    return value


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as they are now, for launches to come."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
