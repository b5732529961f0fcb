"""Requests grouped by shape: what a warp's lanes touch, relative to the first lane.

The cost of a request follows from its shape and from the position of its first lane's
element in a sector or a word. A launch has few shapes and many requests, so shapes must
be found quickly: the numbers of all lanes are packed into one long integer, eight bytes
each, and one subtraction removes the first lane's number from all of them.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import lru_cache

from weft.simulator.limits import WARP
from weft.simulator.trace.notes import Lists

_LONG = 16  # entries per lane at which comparing whole lists begins to pay off
_ALL = [(1 << lanes) - 1 for lanes in range(WARP + 1)]
_BIAS = 1 << 62

Firsts = defaultdict[int, list[int]]


@lru_cache(256)
def _packer(count: int) -> Callable[..., bytes]:
    return struct.Struct(f"{count}q").pack


@lru_cache(256)
def _ones(count: int) -> int:
    """Return a long integer with a 1 in each of `count` 64-bit lanes."""
    return int.from_bytes(b"\1\0\0\0\0\0\0\0" * count, "little")


def offsets(shape: int, lanes: int) -> tuple[int, ...]:
    """Return each lane's distance from the first lane, in the spot's units."""
    whole = (shape + _BIAS * _ones(lanes)).to_bytes(8 * lanes, "little")
    return tuple(n - _BIAS for n in struct.unpack(f"{lanes}Q", whole))


class Shapes:
    """The requests of a spot.

    `firsts[mask][shape]` has one number for each request of this shape in which the
    lanes in this mask took part: that of the first lane. `divergent` counts the
    requests in which not every thread of the warp took part.
    """

    __slots__ = "divergent", "firsts"

    def __init__(self) -> None:
        self.firsts: dict[int, Firsts] = {}
        self.divergent = 0

    def add(self, lists: Lists, iterations: Lists | None = None) -> None:
        """Add the requests of a block, from its threads' numbers.

        iterations: the iteration of each number. Without these, the k-th numbers of a
        warp's lanes form a request.
        """
        for at in range(0, len(lists), WARP):
            lanes = lists[at : at + WARP]
            count = len(lanes[0])
            if iterations and not _alike(iterations[at : at + WARP]):
                self._by_iteration(lanes, iterations[at : at + WARP])
            elif len(set(map(len, lanes))) > 1:
                self._apart(lanes)
            elif count:
                self._together(_ALL[len(lanes)], lanes, count)

    def _apart(self, lanes: Lists) -> None:
        """Add the requests of a warp whose lanes differ in their number of accesses."""
        begin = 0
        for end in sorted(set(map(len, lanes)) - {0}):
            active = [k for k, lane in enumerate(lanes) if len(lane) >= end]
            self.divergent += (end - begin) * (len(active) < len(lanes))
            mask = sum(1 << k for k in active)
            self._together(mask, [lanes[k][begin:end] for k in active], end - begin)
            begin = end

    def _by_iteration(self, lanes: Lists, iterations: Lists) -> None:
        """Add the requests of a warp whose lanes are not in the same iterations."""
        requests: defaultdict[tuple[int, int], Lists] = defaultdict(list)
        for lane, (numbers, own) in enumerate(zip(lanes, iterations, strict=True)):
            before: Counter[int] = Counter()
            for number, iteration in zip(numbers, own, strict=False):
                requests[iteration, before[iteration]].append([lane, number])
                before[iteration] += 1
        for request in requests.values():
            self.divergent += len(request) < len(lanes)
            mask = sum(1 << lane for lane, _ in request)
            self._together(mask, [[number] for _, number in request], 1)

    def _together(self, mask: int, lanes: Lists, count: int) -> None:
        """Add `count` requests in which all `lanes` take part."""
        firsts = self.firsts.get(mask)
        if firsts is None:
            firsts = self.firsts[mask] = defaultdict(list)
        pack, ones, read = _packer(len(lanes)), _ones(len(lanes)), int.from_bytes
        if count >= _LONG and _in_step(lanes, count):
            first = lanes[0][0]
            shape = read(pack(*[lane[0] for lane in lanes]), "little") - first * ones
            firsts[shape] += lanes[0]
            return
        for request in zip(*lanes, strict=True):
            first = request[0]
            firsts[read(pack(*request), "little") - first * ones].append(first)


def _alike(iterations: Lists) -> bool:
    """Return whether each lane's iterations are a prefix of the busiest lane's."""
    if iterations.count(iterations[0]) == len(iterations):
        return True
    most = max(iterations, key=len)
    return all(one == most[: len(one)] for one in iterations)


def _in_step(lanes: Lists, count: int) -> bool:
    """Return whether the distances between lanes are the same in all requests."""
    pack, ones, read = _packer(count), _ones(count), int.from_bytes
    first = lanes[0]
    whole = read(pack(*first), "little")
    start = first[0]
    return all(
        lane[-1] - lane[0] == first[-1] - start
        and read(pack(*lane), "little") - whole == (lane[0] - start) * ones
        for lane in lanes
    )
