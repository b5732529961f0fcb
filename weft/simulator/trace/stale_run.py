"""A launch in which some reads return the values from before the launch.

A plain read that no fence and no barrier orders may return any value that the element
has held. For a thread that has not touched the element yet, these values include the
initial one. The result must not depend on which of them is read: see `kernels.reruns`.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.places import Place
from weft.simulator.memory.arrays import Array, Memory
from weft.simulator.trace.traced_run import TracedRun
from weft.simulator.trace.watched_arrays import Watched
from weft.simulator.translation.notes import LOAD, OPERATION, Noting


class StaleRun(TracedRun):
    """A traced launch whose reads at `places` return the oldest allowed value."""

    noting_of = Noting.CALLS

    def __init__(self, places: frozenset[Place], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._stale = places
        # initial values, by the array's number
        self._first: dict[int, np.ndarray[Any, Any]] = {}
        self._touched: set[tuple[Any, int]] = set()
        write = self.note

        def note(entry: Iterable[int]) -> None:
            _, number, i, j = entry = tuple(entry)
            self._touched.add((self.current, self.log.address(number, i, j)))
            write(entry)

        self.note = note

    def array(
        self,
        data: np.ndarray[Any, Any],
        memory: Memory,
        written: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        made = super().array(data, memory, written)
        if memory.space == "global" and isinstance(made, Watched):
            self._first[made._number] = data.copy()
        return made

    def notes(self) -> dict[str, Any]:
        known = super().notes()
        plain: Callable[[Any, Any, int], Any] = known[LOAD]

        def load(x: Any, index: Any, site: int) -> Any:
            first = self._first.get(x._number) if isinstance(x, Watched) else None
            if first is None or not self._is_stale(site):
                return plain(x, index, site)
            before = len(self._touched)
            found = plain(x, index, site)
            if len(self._touched) > before:  # it had not touched this element
                return first[index]
            return found

        return known | {LOAD: load}

    def _is_stale(self, site: int) -> bool:
        place, _ = self.bound.noted.get(site >> OPERATION, (None, 0))
        return place in self._stale
