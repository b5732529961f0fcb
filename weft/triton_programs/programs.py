"""A Triton program as the learner made it: its function, and its decorators."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from weft.programs.program import Meta, Program

# Arguments of a launch besides the program's own parameters.
OPTIONS = frozenset(
    (
        "num_warps num_stages num_ctas maxnreg ir_override debug warmup "
        "enable_fp_fusion launch_cooperative_grid launch_pdl"
    ).split()
)


def constants(function: FunctionType) -> frozenset[str]:
    """Return the names of the parameters annotated with `tl.constexpr`."""
    return frozenset(
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if "constexpr" in str(parameter.annotation)
    )


def lacks_decorator(thing: Any) -> bool:
    """Return whether `thing` is a plain function with `tl.constexpr` parameters."""
    return isinstance(thing, FunctionType) and bool(constants(thing))


def is_program(thing: Any) -> bool:
    """Return whether Triton's `jit`, `autotune` or `heuristics` made `thing`."""
    package = type(thing).__module__.partition(".")[0]
    return package == "triton" and function_of(thing) is not None


def function_of(thing: Any) -> FunctionType | None:
    """Return a Triton program's Python function, a plain function itself, or None."""
    if type(thing).__module__.partition(".")[0] != "triton":
        return thing if isinstance(thing, FunctionType) else None
    while hasattr(thing, "fn"):
        thing = thing.fn
    return thing if isinstance(thing, FunctionType) else None


def taken_apart(thing: Any) -> Program:
    """Return a program's function, with the information from its decorators."""
    configs: tuple[Meta, ...] = ({},)
    heuristics: dict[str, Callable[[Meta], Any]] = {}
    restored: set[str] = set()
    hooks: tuple[Callable[[Meta], Any] | None, ...] = ()
    while not isinstance(thing, FunctionType):
        if hasattr(thing, "configs"):  # triton.autotune
            configs = tuple(config.all_kwargs() for config in thing.configs)
            restored = {*thing.reset_to_zero, *thing.restore_value}
            general = thing.pre_hook if thing.user_defined_pre_hook else None
            hooks = tuple(config.pre_hook or general for config in thing.configs)
        elif hasattr(thing, "values"):  # triton.heuristics
            heuristics |= thing.values
        thing = thing.fn
    known = constants(thing)
    return Program(thing, known, configs, heuristics, frozenset(restored), hooks)
