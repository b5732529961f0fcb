"""Meeting points for part of a block: a warpgroup, or threads at a named barrier.

PTX ISA, "wgmma.mma_async": all threads of a warpgroup execute the same instruction.
"barrier": a numbered barrier counts the threads that arrive at it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weft.simulator.running.protocol import Site
from weft.simulator.running.threads import Thread


@dataclass(eq=False)
class Gathering:
    """Threads that wait for one another.

    wanted: how many have to come. whole: whether they are the threads of a warpgroup.
    came: the threads that have come, each with the arguments it passed.
    """

    name: str
    wanted: int
    whole: bool = False
    came: dict[Thread, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return len(self.came) == self.wanted


@dataclass(frozen=True, eq=False)
class GroupWait:
    """The condition that a thread waits for at a gathering."""

    gathering: Gathering
    site: Site

    @property
    def name(self) -> str:
        return self.gathering.name

    @property
    def done(self) -> bool:
        return self.gathering.done


class Gatherings:
    """The incomplete gatherings of a launch."""

    def __init__(self, wait: Callable[[GroupWait], None]) -> None:
        self._wait = wait
        self._open: dict[Any, Gathering] = {}

    def come(
        self, key: Any, make: Callable[[], Gathering], thread: Thread, *given: Any
    ) -> Gathering:
        """Add `thread` to the gathering for `key`, making the gathering if needed."""
        gathering = self._open.setdefault(key, make())
        gathering.came[thread] = given
        if gathering.done:
            del self._open[key]
        return gathering

    def wait(self, gathering: Gathering, site: Site) -> bool:
        """Make the current thread, which is at `site`, wait for others if necessary.

        Returns whether it waits.
        """
        if not gathering.done:
            self._wait(GroupWait(gathering, site))
            return True
        return False
