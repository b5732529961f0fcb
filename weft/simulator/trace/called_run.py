"""A launch run again, to learn how it came to some of its accesses."""

import sys
from collections.abc import Iterable
from typing import Any

from weft.places import Place
from weft.simulator.faults import Fault
from weft.simulator.trace.log import Log
from weft.simulator.trace.traced_run import TracedRun


class CalledRun(TracedRun):
    """A launch run again, to learn which calls led to the accesses `wanted`, by row.

    `calls` has for each row the place of the access and of the calls. The run ends
    with `Enough` when it has all of them.
    """

    def __init__(self, wanted: frozenset[int], *args: Any) -> None:
        self.wanted = wanted
        self.calls: dict[int, list[Place]] = {}
        super().__init__(*args)

    def new_log(self) -> Log:
        return Log(_Watched(self))


class _Watched(list[int]):
    """The entries of a log, which look who adds to them."""

    def __init__(self, run: CalledRun) -> None:
        super().__init__()
        self._run = run

    def extend(self, entry: Iterable[int]) -> None:
        run = self._run
        row = run.log.rows
        if row in run.wanted:
            run.calls[row] = run.where.places(sys._getframe(1))
            if len(run.calls) == len(run.wanted):
                raise Enough("seen", "the run has shown what was asked for")
        super().extend(entry)


class Enough(Fault):
    """Ends a `CalledRun`."""
