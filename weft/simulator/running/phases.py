"""Mbarriers in a simulated launch: phases, arrivals, and the bytes that copies bring.

PTX ISA, "mbarrier": a phase is complete once all arrivals have taken place and all
announced bytes have been copied; `mbarrier.try_wait.parity` returns true once the phase
of that parity is complete, that is, while the current phase has the other parity. An
arrival releases what its thread did before, and a wait acquires it.

A copy arrives as late as it can: when no thread of the launch can go on without it.
"""

import sys
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from weft.intrinsics.memory import Misaligned, is_shared
from weft.places import Place, place
from weft.simulator.memory.arrays import poison
from weft.simulator.running.positions import Positions, upwards
from weft.simulator.running.protocol import (
    Launched,
    Site,
    Waiting,
    kernel_site,
    site_of,
)
from weft.simulator.running.special import Special
from weft.simulator.running.threads import Thread
from weft.wording import joined, several

PIECE = 16  # bytes, of which a copy's addresses and its size are multiples
MOST_BYTES = (1 << 20) - 1  # the most that a phase can count
MOST_ARRIVALS = (1 << 20) - 1
HOW_MANY = (
    "How many threads arrive at each mbarrier in one turn of the loop, and how many "
    "does it expect?"
)
_KERNEL = 2  # frames from `wait` up: its twin, the kernel


@dataclass(eq=False)
class Mbarrier:
    """One mbarrier: its name, the phase it is in, and what that phase still waits for.

    phase: how many phases are complete. missing: arrivals still needed. nbytes:
    announced bytes that have not arrived; negative if copies brought bytes that were
    not announced. fenced: whether copies can see the mbarrier. told: what this phase's
    arrivals released, which becomes part of `known` when the phase is complete. cell:
    the mbarrier's element in memory, whose bits change whenever its state does.
    arrived: where each thread has last arrived. passed: whether a wait has ended.
    """

    name: str
    count: int
    cell: Any
    phase: int = 0
    missing: int = 0
    nbytes: int = 0
    told: list[Any] = field(default_factory=list)
    known: Any = None
    fenced: bool = False
    arrived: dict[Thread, Site] = field(default_factory=dict)
    passed: bool = False

    def __post_init__(self) -> None:
        self.missing = self.count
        self.settle()

    def settle(self) -> None:
        """Begin the next phase if this one is complete; store the state in `cell`."""
        if not self.missing and not self.nbytes:
            self.phase += 1
            self.missing = self.count
            for known in self.told:
                self.known = known if self.known is None else self.known.with_(known)
            self.told = []
        self.cell[...] = self.phase << 40 | self.missing << 20 | self.nbytes & 0xFFFFF

    def complete(self, parity: int) -> bool:
        """Return whether the phase before the current one has this parity."""
        return self.phase % 2 != parity

    def ahead(self, where: Positions) -> tuple[str, list[Place]]:
        """Say that it is ahead of others, and which threads arrive; return their lines.

        That more threads arrive than a phase expects is the likely reason.
        """
        each = "each arrival" if self.count == 1 else f"every {self.count:,} arrivals"
        said = f"{self.name} is ahead: it has completed {self.phase:,} phases, one "
        said += f"after {each}"
        if len(self.arrived) <= self.count:
            return f"{said}.", []
        sites = dict.fromkeys(self.arrived.values())
        places = [place(*site, where.lines.get(site[0], {})) for site in sites]
        lines = joined(dict.fromkeys(f"line {place.line}" for place in places))
        threads = several(len(self.arrived), "thread")
        return f"{said}, and {threads} arrive there, on {lines}.", places


@dataclass(frozen=True, eq=False)
class PhaseWait:
    """The condition that a thread waits for at an mbarrier."""

    bar: Mbarrier
    parity: int
    site: Site

    @property
    def done(self) -> bool:
        return self.bar.complete(self.parity)


@dataclass(frozen=True, eq=False)
class Copy:
    """A copy in flight.

    note: identifies its beginning in the launch; see `Launched.copying`.
    """

    to: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    bar: Mbarrier
    known: Any
    note: Any


class Phases:
    """The mbarriers of a launch, and the copies that signal them."""

    def __init__(self, run: Launched) -> None:
        self._run = run
        self._bars: dict[tuple[int, int], Mbarrier] = {}
        self._copies: list[Copy] = []
        # those not fenced yet, by the thread that made them
        self._made: dict[Thread, list[Mbarrier]] = {}

    def init(self, bars: Any, i: Any, count: Any) -> None:
        """Initialise an mbarrier at `bars[i]` for `count` arrivals."""
        _may_hold("mbarrier_init", bars)
        bars[i] = bars.dtype.type(0)  # a store, with which other uses may race
        cell, name = bars._data[int(i) : int(i) + 1], f"{bars._name}[{int(i)}]"
        if not 1 <= int(count) <= MOST_ARRIVALS:
            self._run.fault(
                "mbarrier",
                f"{name} is made for {int(count)} arrivals in a phase",
                f"1 to {MOST_ARRIVALS:,} are possible.",
            )
        made = self._bars[self._key(bars, i)] = Mbarrier(name, int(count), cell)
        self._made.setdefault(self._run.current, []).append(made)

    def fence(self) -> None:
        """Make the mbarriers initialised by the current thread visible to copies.

        PTX ISA, "membar/fence": `fence.mbarrier_init`, `fence.proxy.async`.
        """
        for bar in self._made.pop(self._run.current, []):
            bar.fenced = True

    def arrive(self, bars: Any, i: Any, nbytes: Any = 0) -> None:
        """Let the current thread arrive at `bars[i]`, and announce `nbytes` bytes."""
        call = "mbarrier_arrive_expect_tx" if nbytes else "mbarrier_arrive"
        self.arrive_at(call, self._bar(call, bars, i), nbytes)

    def arrive_at(self, call: str, bar: Mbarrier, nbytes: Any = 0) -> None:
        """Arrive at `bar`, which may be another block's."""
        if not 0 <= int(nbytes) <= MOST_BYTES:
            self._run.fault(
                "mbarrier",
                f"{int(nbytes):,} bytes are announced at {bar.name}",
                f"A phase counts up to {MOST_BYTES:,} bytes.",
            )
        if not bar.missing:
            self._refuse_another(bar)
        bar.arrived[self._run.current] = kernel_site(self._run, sys._getframe(1))
        self._tell(bar, self._run.released())
        bar.nbytes += int(nbytes)
        bar.missing -= 1
        bar.settle()

    def _refuse_another(self, bar: Mbarrier) -> NoReturn:
        """Raise `Fault` for one arrival more than the current phase of `bar` expects.

        Another mbarrier of the block may be the reason: if more threads arrive there
        than it expects, no wait for it makes a thread wait long enough.
        """
        run, came = self._run, f"all {bar.count:,} arrivals of its phase have come"
        if bar.count == 1:
            came = "the only arrival of its phase has come"
        why = (
            f"The phase still waits for {bar.nbytes:,} bytes. Do more threads arrive "
            "here than mbarrier_init says, or does one come again before the phase is "
            "complete? What would make it wait?"
        )
        places = run.where.places(upwards(sys._getframe(1)))
        block = run.current.block.number
        crowded = [
            one
            for (number, _), one in self._bars.items()
            if number == block and one.phase > bar.phase + 1
            if len(one.arrived) > one.count
        ]
        if crowded:
            said, lines = max(crowded, key=lambda one: one.phase).ahead(run.where)
            why = f"{said} {HOW_MANY}"
            places += [place for place in lines if place not in places]
        raise run.where.fault(
            "mbarrier",
            f"a thread arrives at {bar.name}, and {came} already",
            why,
            places,
            run.current,
        )

    @staticmethod
    def _tell(bar: Mbarrier, known: Any) -> None:
        if known is not None:
            bar.told.append(known)

    def wait(self, bars: Any, i: Any, parity: Any) -> Waiting:
        """Wait until the phase with this parity is complete at `bars[i]`."""
        bar = self._bar("mbarrier_wait", bars, i)
        if int(parity) not in (0, 1):
            self._run.fault(
                "mbarrier",
                f"the parity of a phase is 0 or 1; this wait for {bar.name} is given "
                f"{int(parity)}",
                "Phases are counted modulo 2: 0 for the first, 1 for the second, 0 for "
                "the third.",
            )
        site = site_of(self._run, sys._getframe(_KERNEL))
        wait = PhaseWait(bar, int(parity), site)
        if not wait.done:
            self._run.phase(wait)
            yield
        bar.passed = True
        self._run.acquired(bar.known)
        self._run.past(bar.name, bar.phase)

    def copy(
        self, tile: Any, i: Any, x: Any, j: Any, nbytes: Any, bars: Any, s: Any
    ) -> None:
        """Start a copy, whose destination holds poison until the copy arrives."""
        bar = self.bar_of("bulk_copy", bars, s)
        _may_copy(tile, x)
        size = tile.dtype.itemsize
        count = int(nbytes) // size
        to = _span(tile, i, count)
        source = _span(x, j, count)
        _aligned(tile, to[0], x, source[0], int(nbytes))
        values = self._read(x, source, int(nbytes))
        self._clear(tile, to, int(nbytes))
        flat = tile._data.reshape(-1)[to[0] : to[0] + count]
        self.start(flat, values, bar)

    def start(
        self, to: np.ndarray[Any, Any], values: np.ndarray[Any, Any], bar: Mbarrier
    ) -> None:
        """Start a copy of `values` to a part of shared memory."""
        known, note = self._run.released(), self._note(bar)
        self._copies.append(Copy(to, values, bar, known, note))

    def awaited(self, to: np.ndarray[Any, Any]) -> bool:
        """Return whether a copy to the part `to` of shared memory is in flight."""
        return any(np.may_share_memory(copy.to, to) for copy in self._copies)

    def bar_of(self, call: str, bars: Any, s: Any) -> Mbarrier:
        """Return the mbarrier at `bars[s]` for a copy; raise `Fault` if unfenced."""
        return self.fenced(call, self._bar(call, bars, s))

    def fenced(self, call: str, bar: Mbarrier) -> Mbarrier:
        """Return `bar` for use by a copy; raise `Fault` if `bar` is not fenced."""
        if not bar.fenced:
            self._run.fault(
                "mbarrier",
                f"`{call}` counts at {bar.name}, and no fence has followed its "
                "mbarrier_init",
                "mbarrier_init is an ordinary store, and the TMA does not see it. The "
                "thread that makes an mbarrier calls fence_mbarrier_init after it, and "
                "then comes the barrier of the block.",
            )
        return bar

    def _note(self, bar: Mbarrier) -> Any:
        return self._run.copying(bar.name, bar.phase, bar.nbytes > 0)

    def _read(
        self, x: Any, span: tuple[int, list[Any]], nbytes: int
    ) -> np.ndarray[Any, Any]:
        """Read the source of a copy, as one access."""
        with self._run.specially(Special(size=nbytes)):
            return np.array([x[at] for at in span[1]], x.dtype)

    def _clear(self, tile: Any, span: tuple[int, list[Any]], nbytes: int) -> None:
        """Poison the destination of a copy, as one access."""
        nothing = np.empty(1, tile.dtype)
        poison(nothing, "shared")
        with self._run.specially(Special(size=nbytes, begins=True)):
            for at in span[1]:
                tile[at] = nothing[0]

    def deliver(self) -> bool:
        """Let the oldest copy arrive; return whether there was one."""
        if not self._copies:
            return False
        copy = self._copies.pop(0)
        copy.to[...] = copy.values
        self._tell(copy.bar, copy.known)
        copy.bar.nbytes -= copy.values.nbytes
        copy.bar.settle()
        self._run.copied(copy.note)
        return True

    # Finding mbarriers

    def known(self, block: int, address: int) -> Mbarrier | None:
        """Return the mbarrier at a host address, or None if there is none."""
        return self._bars.get((block, address))

    def _key(self, bars: Any, i: Any) -> tuple[int, int]:
        at = bars._data.__array_interface__["data"][0] + int(i) * bars.dtype.itemsize
        return self._run.current.block.number, at

    def _bar(self, call: str, bars: Any, i: Any) -> Mbarrier:
        """Return the mbarrier at `bars[i]`."""
        _may_hold(call, bars)
        with self._run.specially(Special(relaxed="load")):
            _ = bars[i]  # refuses an index outside; races with an initialisation
        name = f"{bars._name}[{int(i)}]"
        found = self._bars.get(self._key(bars, i))
        if found is None:
            self._run.fault(
                "mbarrier",
                f"{name} is used by {call} before it is an mbarrier",
                "No thread has called mbarrier_init for it so far. One thread does, "
                "and a barrier of the block lets the others wait until it has.",
            )
        return found


def _may_hold(call: str, bars: Any) -> None:
    """Raise TypeError unless `bars` can hold mbarriers."""
    if not is_shared(bars) or bars.ndim != 1 or bars.dtype != np.uint64:
        raise TypeError(
            f"{call}: an mbarrier is an element of a shared array of uint64, with one "
            "axis"
        )


def _may_copy(tile: Any, x: Any) -> None:
    """Raise TypeError unless `bulk_copy` can copy from `x` to `tile`."""
    wrong = ""
    if not is_shared(tile):
        wrong = "it copies to shared memory, which its first argument is not"
    elif is_shared(x):
        wrong = "it copies from global memory; its third argument is shared"
    elif tile.dtype != x.dtype:
        wrong = f"it copies bytes: {x.dtype} does not become {tile.dtype}"
    if wrong:
        raise TypeError(f"bulk_copy: {wrong}")


def _span(x: Any, index: Any, count: int) -> tuple[int, list[Any]]:
    """Return the flat index of `x[index]`, and the indices of a span that begins there.

    The span has `count` elements. With several axes, it ends at the first index outside
    the array.
    """
    at = tuple(map(int, index)) if isinstance(index, tuple) else (int(index),)
    if len(at) != x.ndim:
        raise TypeError(f"bulk_copy: {x._name} has {x.ndim} axes; got the index {at}")
    first = 0
    for part, length in zip(at, x.shape, strict=True):
        first = first * length + part
    if len(at) == 1:
        return first, list(range(first, first + count))
    total = int(np.prod(x.shape))
    inside = min(count, max(total - first, 0))
    numbers = np.unravel_index(np.arange(first, first + inside), x.shape)
    spots = [tuple(map(int, spot)) for spot in zip(*numbers, strict=True)]
    if inside < count:  # the access that leaves the array
        spots.append((x.shape[0], *[0] * (len(at) - 1)))
    return first, spots


def _aligned(tile: Any, to: int, x: Any, source: int, nbytes: int) -> None:
    """Raise Misaligned unless both offsets and the size are multiples of 16 bytes.

    The size must also be positive.
    """
    size = tile.dtype.itemsize
    each = {
        f"copies {nbytes} bytes": nbytes,
        f"begins {to * size} bytes into {tile._name}": to * size,
        f"begins {source * size} bytes into {x._name}": source * size,
    }
    for what, number in each.items():
        if number % PIECE or nbytes <= 0:
            raise Misaligned(
                f"`bulk_copy` {what}",
                f"Both ends of a bulk copy, and its size, are multiples of {PIECE} "
                "bytes, and the size is not 0.",
            )
