"""The intrinsics of `weft.intrinsics` as a simulated kernel calls them."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.intrinsics import registry
from weft.intrinsics.copies import Copies
from weft.intrinsics.registry import Effect, Lanes, Operation
from weft.simulator.memory.arrays import poison
from weft.simulator.running.hopper import Hopper
from weft.simulator.running.phases import Phases
from weft.simulator.running.protocol import Launched, Waiting
from weft.simulator.running.special import Special
from weft.simulator.running.warps import FULL, Exchange
from weft.wording import joined, several


def first(operation: Operation, lane: int, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run the `first` step of an operation for a lane, and return its values.

    Raises TypeError if `given` does not fit the operation.
    """
    assert operation.first is not None
    try:
        values: tuple[Any, ...] = operation.first(lane, *given)
    except TypeError:
        takes = list(signature(operation.first).parameters)[1:]
        if len(given) == len(takes):
            raise
        names = joined(f"`{name}`" for name in takes)
        passed = several(len(given), "argument")
        message = f"`{operation.name}` takes {names}, and this call has {passed}"
        raise TypeError(message) from None
    return values


class Intrinsics:
    """The simulated form of each operation, in one launch.

    Most are the operations' `twin`s. The others involve the launch: it lets other
    threads see relaxed accesses, keeps the asynchronous copies of each thread, and
    brings the lanes of a collective operation together. An operation that waits is a
    generator.
    """

    def __init__(self, run: Launched) -> None:
        self._run = run
        self._copies: dict[Any, Copies] = {}

        self.phases = Phases(run)
        self.hopper = Hopper(run, self.phases)
        self.works_beside = False  # whether operations have run alongside the threads

    def module(self) -> SimpleNamespace:
        """Return the module `weft.intrinsics` as a kernel sees it."""
        known = registry.operations()
        return SimpleNamespace(**{one.name: self.form(one) for one in known})

    def form(self, operation: Operation) -> Callable[..., Any]:
        """Return the function that a kernel calls for an operation."""
        if operation.effect is Effect.RELAXED_LOAD:
            return self._relaxed_load(operation)
        if operation.effect is Effect.RELAXED_STORE:
            return self._relaxed_store(operation)
        if operation.effect is Effect.ASYNCHRONOUS:
            return lambda *args: operation.twin(self._mine(), *args)
        if operation.effect is Effect.PHASES:
            return lambda *args: operation.twin(self.phases, *args)
        if operation.effect is Effect.HOPPER:
            return partial(self._beside, operation.twin)
        if operation.effect is Effect.COLLECTIVE:
            return self._collective(operation)
        return operation.twin

    def _beside(self, twin: Callable[..., Any], *args: Any) -> Any:
        self.works_beside = True
        return twin(self.hopper, *args)

    def _relaxed_load(self, operation: Operation) -> Callable[..., Any]:
        def load(x: Any, index: Any) -> Waiting:
            with self._run.specially(Special(relaxed="load")):
                found = operation.twin(x, index)
            if self._run.polled((x._name, index), found.tobytes()):
                yield
            return found

        return load

    def _relaxed_store(self, operation: Operation) -> Callable[..., Any]:
        def store(x: Any, index: Any, value: Any) -> None:
            with self._run.specially(Special(relaxed="store")):
                operation.twin(x, index, value)

        return store

    def _mine(self) -> Copies:
        """Return the asynchronous copies of the current thread."""
        thread = self._run.current
        if thread not in self._copies:
            self._copies[thread] = Copies(self._clear)
        return self._copies[thread]

    def _clear(self, x: Any, index: Any, elements: int) -> None:
        """Mark `elements` elements of `x`, from `index` on, as unwritten."""
        nothing = np.empty(1, x.dtype)
        poison(nothing, "shared")
        *row, col = index if isinstance(index, tuple) else (index,)
        size = elements * x.dtype.itemsize if elements > 1 else 0
        with self._run.specially(Special(size=size, begins=True)):
            for n in range(0, elements, max(elements - 1, 1)):  # both ends are checked
                x[(*row, col + n) if row else col + n] = nothing[0]
            x._data[(*row, slice(col, col + elements))] = nothing[0]

    def _collective(self, operation: Operation) -> Callable[..., Any]:
        whole = operation.lanes is Lanes.ALL
        exchange = Exchange(operation.name, operation.twin, whole)

        def meet(*args: Any) -> Waiting:
            mask, values = (FULL, args) if whole else (int(args[0]) & FULL, args[1:])
            given = values
            if operation.first is not None:
                values = first(operation, self._run.current.lane, given)
            reply = yield exchange, mask, values
            if operation.last is None:
                return reply
            return operation.last(given, reply)

        return meet
