"""The table of intrinsics: the name, PTX and simulated form (its twin) of each.

An intrinsic is one entry, made where its twin is defined:

    @operation(Effect.PURE, computes("ex2.approx.ftz.f32 $0, $1;", ...),
               gives="float32")
    def exp2(x):
        ...

Everything that needs to know the intrinsics, such as the simulator, the compiler's
process and the checks, looks them up in this table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from inspect import isgeneratorfunction
from typing import Any

from weft import meaning
from weft.intrinsics.lowering import Builder, compiled


class Effect(Enum):
    """The effects of operations, apart from their results.

    An operation's twin is its simulated form. The twin of a COLLECTIVE operation is
    called once for all lanes: it takes a dict of each lane's arguments, and returns a
    dict of their results. Some twins take an extra first argument: the thread's
    `Copies` if the effect is ASYNCHRONOUS, the block's mbarriers if it is PHASES, and
    the simulation of the TMA, wgmma and clusters if it is HOPPER. A twin that waits is
    a generator.
    """

    PURE = "pure"
    WIDE_LOAD = "wide load"
    WIDE_STORE = "wide store"
    RELAXED_LOAD = "relaxed load"
    RELAXED_STORE = "relaxed store"
    ASYNCHRONOUS = "asynchronous"
    COLLECTIVE = "collective"
    PHASES = "phases"
    HOPPER = "hopper"


IN_KERNELS = Effect.ASYNCHRONOUS, Effect.COLLECTIVE, Effect.PHASES, Effect.HOPPER
STORES = Effect.WIDE_STORE, Effect.RELAXED_STORE


class Lanes(Enum):
    """The lanes of a warp that must call an operation before any gets past it.

    OWN: only the calling lane. MASK: those in the first argument, as for
    `cuda.shfl_sync`. ALL: all 32, and on the same line.
    """

    OWN = "own"
    MASK = "mask"
    ALL = "all"


@dataclass(frozen=True)
class Operation:
    """One intrinsic.

    twin: its simulated form (see `Effect`), with the intrinsic's docstring. ptx:
    builds the function for the GPU. needs: the lowest compute capability. elements: how
    many adjacent elements of memory the operation moves at once. first: called by each
    lane of a collective operation before the lanes meet, for instance to read the
    lane's part from memory. It gets the lane's number and the arguments, and returns
    the arguments of the twin. last: called by each lane with its arguments and result,
    for instance to store the result. An operation with a `last` returns nothing. gives:
    the number types that the operation returns, if they do not follow from its
    arguments; "matrix" stands for a view of the first argument.
    """

    name: str
    twin: Callable[..., Any]
    ptx: Builder
    effect: Effect
    lanes: Lanes = Lanes.OWN
    needs: tuple[int, int] = (7, 0)
    elements: int = 1
    first: Callable[..., tuple[Any, ...]] | None = None
    last: Callable[[tuple[Any, ...], Any], None] | None = None
    gives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.effect is Effect.COLLECTIVE) != (self.lanes is not Lanes.OWN):
            raise ValueError(f"{self.name}: collective operations alone have lanes")

    @property
    def waits(self) -> bool:
        """Whether other threads can run before the operation is done.

        If so, what a simulated kernel calls is a generator.
        """
        always = self.effect in (Effect.COLLECTIVE, Effect.RELAXED_LOAD)
        return always or isgeneratorfunction(self.twin)

    @property
    def on_host(self) -> Callable[..., Any]:
        """The function that Python calls outside a kernel."""
        if self.effect not in IN_KERNELS:
            return self.twin

        def refuse(*_: Any) -> Any:
            raise TypeError(f"{self.name}: only a kernel can call it")

        refuse.__name__ = refuse.__qualname__ = self.name
        refuse.__doc__ = self.twin.__doc__  # for `help`
        return refuse


_operations: dict[str, Operation] = {}
_by_function: dict[int, Operation] = {}  # by the id of the imported object


def register(operation: Operation) -> Any:
    """Add an operation, and return the function by which kernels call it."""
    if operation.name in _operations:
        raise ValueError(f"there is an operation {operation.name} already")
    simulated = meaning.simulating()
    function = operation.on_host if simulated else compiled(operation)
    _operations[operation.name] = operation
    _by_function[id(function)] = operation
    return function


def operation(
    effect: Effect,
    ptx: Builder,
    *,
    lanes: Lanes = Lanes.OWN,
    needs: tuple[int, int] = (7, 0),
    elements: int = 1,
    gives: str = "",
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that registers a twin. See `Operation` for the arguments.

    gives: the names of the types that the operation returns, separated by spaces.
    """

    def add(twin: Callable[..., Any]) -> Any:
        name = twin.__name__
        results = tuple(gives.split())
        return register(
            Operation(name, twin, ptx, effect, lanes, needs, elements, gives=results)
        )

    return add


def remove(name: str) -> None:
    """Remove an operation that a test has registered."""
    gone = _operations.pop(name)
    for key in [k for k, known in _by_function.items() if known is gone]:
        del _by_function[key]


def operations() -> list[Operation]:
    """Return all operations, in the order of their definition."""
    return list(_operations.values())


def of(function: Any) -> Operation | None:
    """Return the operation of an imported function, or None for any other value."""
    return _by_function.get(id(function))


def names(*effects: Effect, elements: int | None = None) -> frozenset[str]:
    """Return the names of the operations with one of `effects`, or of all operations.

    elements: if given, only operations that move this many elements at once.

    >>> sorted(names(*STORES))
    ['poke', 'store4', 'store4_cs']
    """
    return frozenset(
        one.name
        for one in _operations.values()
        if (not effects or one.effect in effects)
        and (elements is None or one.elements == elements)
    )
