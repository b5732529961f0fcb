"""Compute the cost of a request from its shape: sectors and bank conflicts.

Global memory moves in *sectors* of 32 bytes. Shared memory has 32 *banks* of 4 bytes,
and a request that needs two words from one bank takes a second pass. A pass serves at
most 128 bytes, so accesses of 8 bytes per lane are served half a warp at a time, and
those of 16 a quarter of a warp at a time. Lanes that need the same word share it,
except for atomic operations, where they take turns.
"""

from collections import Counter
from collections.abc import Collection
from functools import lru_cache

from weft.simulator.limits import WARP
from weft.simulator.trace.shapes import offsets

SECTOR = 32  # bytes
BANKS = 32
WORD = 4  # bytes supplied by a bank
PASS_BYTES = 128  # bytes that shared memory supplies in one pass
_KEPT = 4096  # shapes whose cost is cached


@lru_cache(_KEPT)
def sectors(
    shape: int, lanes: int, start: int, unit: int, size: int, turns: bool
) -> tuple[int, int, tuple[int, ...]]:
    """Count the sectors that a request moves, and find those that it touches.

    Returns the count, the fewest that would do, and the positions of those touched.
    start: the position of the first lane's element in its sector, which counts as
    sector 0. turns: whether lanes with the same address take turns.
    """
    at = [start + offset for offset in offsets(shape, lanes)]
    distinct = set(at)
    if size == unit:
        asked = len(distinct) * unit
        each = SECTOR // unit
        touched = {n // each for n in distinct}
    else:
        asked = len({n + k for n in distinct for k in range(size // unit)}) * unit
        touched = {s for n in distinct for s in _spread(n * unit, size, SECTOR)}
    moved = len(touched) if not turns else moved_in_turns(at, unit, size)
    return moved, -(-asked // SECTOR), tuple(touched)


def moved_in_turns(numbers: list[int], unit: int, size: int) -> int:
    """Count the sectors that move if lanes with the same number take turns.

    A sector moves as many times as there are lanes with its most frequent number.
    """
    most: dict[int, int] = {}
    for number, times in Counter(numbers).items():
        for sector in _spread(number * unit, size, SECTOR):
            if times > most.get(sector, 0):
                most[sector] = times
    return sum(most.values())


@lru_cache(_KEPT)
def passes(
    shape: int, mask: int, start: int, unit: int, size: int, turns: bool, loads: bool
) -> tuple[int, int]:
    """Return the fewest passes that a request can take, and how many more it takes.

    mask: the request's lanes. start: the position of the first lane's element in its
    word. loads: whether the request is a load; then two parts of the warp are served
    together if neighbouring lanes need the same element.
    """
    at = [start + offset for offset in offsets(shape, mask.bit_count())]
    if size <= WORD and (not turns or unit == WORD):
        words = [n * unit // WORD for n in at]
        return 1, fullest(words if turns else set(words)) - 1
    lanes = [k for k in range(WARP) if mask >> k & 1]
    width = max(1, min(PASS_BYTES // size, WARP))
    if size > WORD and loads and _share(dict(zip(lanes, at, strict=True))):
        width *= 2
    waits = turns_of(at) if turns else [0] * len(at)
    parts: dict[int, set[int]] = {}
    for lane, number, wait in zip(lanes, at, waits, strict=True):
        part = parts.setdefault(lane // width, set())
        for word in _spread(number * unit, size, WORD):
            part.add(word + (wait << 40))  # a separate word in the same bank
    return len(parts), sum(fullest(part) - 1 for part in parts.values())


def fullest(words: Collection[int]) -> int:
    """Return the number of words that the busiest bank supplies."""
    return max(Counter([word % BANKS for word in words]).values())


def turns_of(numbers: list[int]) -> list[int]:
    """Return, for each lane, how many lanes before it have the same number."""
    seen: Counter[int] = Counter()
    waits = []
    for number in numbers:
        waits.append(seen[number])
        seen[number] += 1
    return waits


def _spread(address: int, size: int, piece: int) -> range:
    """Return the indices of the `piece`-byte pieces that an access touches."""
    return range(address // piece, (address + size - 1) // piece + 1)


def _share(at: dict[int, int]) -> bool:
    """Return whether every lane needs the same element as its neighbour.

    The neighbour of lane k is lane k ^ 1 for all lanes, or lane k ^ 2 for all lanes. A
    neighbour that takes no part does not count.
    """
    return any(
        all(at.get(lane ^ step, number) == number for lane, number in at.items())
        for step in (1, 2)
    )
