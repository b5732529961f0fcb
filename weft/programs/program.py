"""A program as the learner made it: its function, constants and configurations."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

Meta = Mapping[str, Any]


@dataclass(frozen=True)
class Program:
    """A function that every program of a grid runs, perhaps autotuned.

    constants: the parameters whose values the compiler knows. configs: the constants of
    each configuration, ({},) for a program that is not autotuned. heuristics: functions
    that compute constants from the arguments. restored: the parameters that tuning
    resets or restores between two runs. hooks: for each configuration, the function
    that tuning calls before a run, or None.
    """

    function: FunctionType
    constants: frozenset[str] = frozenset()
    configs: tuple[Meta, ...] = ({},)
    heuristics: Mapping[str, Callable[[Meta], Any]] | None = None
    restored: frozenset[str] = frozenset()
    hooks: tuple[Callable[[Meta], Any] | None, ...] = ()

    @property
    def parameters(self) -> list[str]:
        return list(inspect.signature(self.function).parameters)
