"""Analyse what a learner wrote for PyTorch, and describe it in a `Written` record."""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from weft.checking.source import line_with, raised_at
from weft.checking.verdict import Failed, Verdict
from weft.places import Note
from weft.starters import STUB, source

OPERATOR, FUNCTION, CALLABLE = "operator", "autograd function", "callable"


@dataclass(frozen=True)
class Written:
    """An operator, an autograd function, or another callable.

    thing: the `CustomOpDef`, the class, or the object given. parameters: the names of
    the call's parameters. mutates: the parameters that an operator's schema declares as
    mutated. forward, fake, setup, backward: None if missing. others: further functions,
    such as the methods of a module.
    """

    name: str
    kind: str
    thing: Any
    call: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    mutates: tuple[str, ...] = ()
    forward: Any = None
    fake: Any = None
    setup: Any = None
    backward: Any = None
    others: tuple[Any, ...] = ()

    @property
    def functions(self) -> list[Any]:
        """All functions that the learner wrote, `forward` first."""
        parts = (self.forward, self.fake, self.setup, self.backward, *self.others)
        return [part for part in parts if part is not None]

    @property
    def main(self) -> Any:
        """The function that a verdict on the results is about."""
        return next(iter(self.functions), None)

    @property
    def has_stub(self) -> bool:
        return any(STUB in source(part) for part in self.functions)

    @property
    def seed(self) -> int:
        """A number derived from the source."""
        text = "".join(map(source, self.functions)) or self.name
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])

    def raised_at(self, error: BaseException) -> list[Note]:
        """Return the line in the learner's functions that an exception came from."""
        found = [raised_at(error, part) for part in self.functions]
        return next((places for places in reversed(found) if places), [])


def is_operator(thing: Any) -> bool:
    kind = type(thing)
    return kind.__module__ == "torch._library.custom_ops" or (
        kind.__module__ == "torch._ops" and kind.__name__.startswith("OpOverload")
    )


def is_autograd_function(thing: Any) -> bool:
    return _inherits(thing, "torch.autograd.function", "Function")


def is_module(thing: Any) -> bool:
    """Return whether a value is a PyTorch module, or a class of modules."""
    return _inherits(
        thing if isinstance(thing, type) else type(thing),
        "torch.nn.modules.module",
        "Module",
    )


def _inherits(thing: Any, module: str, name: str) -> bool:
    return isinstance(thing, type) and any(
        (base.__module__, base.__name__) == (module, name) for base in thing.__mro__
    )


def look(thing: Any) -> Written:
    """Analyse what a learner wrote, without importing PyTorch."""
    if is_operator(thing):
        return _operator(thing)
    owner = getattr(thing, "__self__", None)  # `cube = Cube.apply` is checked as Cube
    if is_autograd_function(owner) and getattr(thing, "__name__", "") == "apply":
        thing = owner
    if is_autograd_function(thing):
        return _autograd_function(thing)
    if is_module(thing):
        cls = thing if isinstance(thing, type) else type(thing)
        return Written(
            cls.__name__,
            CALLABLE,
            thing,
            thing,
            _parameters(getattr(cls, "forward", None))[1:],
            forward=_own(cls, "forward"),
            others=tuple(_methods(cls, ("forward",))),
        )
    name = str(getattr(thing, "__name__", thing))
    return Written(name, CALLABLE, thing, thing, _parameters(thing), forward=thing)


def _operator(thing: Any) -> Written:
    """Analyse a `CustomOpDef`, or an operator from `torch.ops`."""
    if type(thing).__module__ == "torch._ops":
        custom = sys.modules["torch._library.custom_ops"]
        name = str(getattr(thing, "_qualified_op_name", "") or thing._name)
        found = custom.OPDEFS.get(name.partition(".")[0])
        if found is None:
            return Written(str(thing), OPERATOR, thing, thing)
        thing = found
    arguments = thing._opoverload._schema.arguments
    kernels = map(_unwrapped, thing._backend_fns.values())
    return Written(
        thing._init_fn.__name__,
        OPERATOR,
        thing,
        thing,
        tuple(a.name for a in arguments),
        tuple(a.name for a in arguments if a.alias_info and a.alias_info.is_write),
        thing._init_fn,
        thing._abstract_fn,
        thing._setup_context_fn,
        thing._backward_fn,
        tuple(k for k in kernels if k not in (None, thing._init_fn)),
    )


def _unwrapped(kernel: Any) -> Any:
    """Return the learner's function that PyTorch's wrapper `kernel` calls, or None."""
    return inspect.getclosurevars(inspect.unwrap(kernel)).nonlocals.get("fn")


def _autograd_function(cls: Any) -> Written:
    setup = _own(cls, "setup_context")
    forward = _own(cls, "forward")
    skip = 0 if setup else 1  # `ctx` comes first if no setup_context sets it up
    return Written(
        cls.__name__,
        FUNCTION,
        cls,
        cls.apply,
        _parameters(forward)[skip:],
        (),
        forward,
        None,
        setup,
        _own(cls, "backward") or _own(cls, "vjp"),
        tuple(_methods(cls, ("forward", "setup_context", "backward", "vjp"))),
    )


def _own(cls: type, name: str) -> FunctionType | None:
    """Return a method that the learner wrote, or None if it is PyTorch's own."""
    for base in cls.__mro__:
        if name in vars(base) and not base.__module__.startswith("torch."):
            found = getattr(vars(base)[name], "__func__", vars(base)[name])
            return found if isinstance(found, FunctionType) else None
    return None


def _methods(cls: type, without: tuple[str, ...]) -> Iterator[FunctionType]:
    for name, value in vars(cls).items():
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and name not in without:
            yield function


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def refuse_replaced(written: Written) -> None:
    """Raise `Failed` if another operator has replaced this one.

    If two operators have the same name, the dispatcher forgets the first, and calling
    what is left of it can end the process.
    """
    operator = written.thing
    defined = sys.modules["torch._library.custom_ops"].OPDEFS
    name = getattr(operator, "_qualname", "")
    other = defined.get(name)
    if other is None or other is operator:
        return
    later = other._init_fn
    raise Failed(
        Verdict(
            written.name,
            "stale",
            f"Since `{written.name}` was made, `{later.__name__}` has taken its name, "
            f'"{name}".',
            "PyTorch keeps one operator per name, the last. If the two are different "
            f"operators, each needs a name; then run the cell of `{written.name}` "
            "again.",
            line_with(later, "def "),
            headline="another operator has its name",
        )
    )
