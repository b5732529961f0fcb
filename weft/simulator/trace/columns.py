"""Fast sorting and grouping of columns of integers.

NumPy sorts plain 64-bit integers many times faster than it sorts by several keys. So
the keys of a row, if they fit, are packed into one integer together with the row's
number.
"""

from typing import Any

import numpy as np

Columns = np.ndarray[Any, np.dtype[Any]]  # of integers
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def order(*keys: Columns) -> tuple[Columns, Flags]:
    """Sort rows by `keys`, the first key first; equal rows keep their order.

    Returns the numbers of the rows in order, and for each of them whether its keys
    differ from those of the row before.
    """
    rows = len(keys[0])
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0, bool)
    packed, bits = pack(*keys)
    shift = rows.bit_length()
    if packed is None or bits + shift > 63:
        found = np.lexsort(keys[::-1])
        changed = np.zeros(rows, bool)
        for key in keys:
            changed[1:] |= np.diff(key[found]) != 0
    else:
        both = np.sort(packed << shift | np.arange(rows))
        found = both & ((1 << shift) - 1)
        both >>= shift
        changed = np.empty(rows, bool)
        np.not_equal(both[1:], both[:-1], out=changed[1:])
    changed[0] = True
    return found, changed


def distinct(*keys: Columns) -> tuple[Columns, ...]:
    """Return the distinct rows of `keys`, sorted by the first key, then by the next."""
    packed, _ = pack(*keys)
    if packed is None:
        found, changed = order(*keys)
        return tuple(key[found[changed]] for key in keys)
    packed = np.sort(packed)
    packed = packed[starts(packed)]
    unpacked = []
    for key in keys[::-1]:
        low, width = _range(key)
        unpacked.append((packed & ((1 << width) - 1)) + low)
        packed >>= width
    return tuple(unpacked[::-1])


def pack(*keys: Columns) -> tuple[Columns | None, int]:
    """Pack each row of `keys` into an integer; the integers sort as the rows do.

    Returns the integers (None if they need more than 63 bits) and the number of bits.
    """
    if not len(keys[0]):
        return keys[0], 0
    bits = sum(_range(key)[1] for key in keys)
    if bits > 63:
        return None, bits
    packed: Columns = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        low, width = _range(key)
        packed <<= width
        packed |= key - low
    return packed, bits


def _range(key: Columns) -> tuple[int, int]:
    """Return the lowest value of `key`, and the number of bits that its range needs."""
    if not len(key):
        return 0, 0
    low = int(key.min())
    return low, int(key.max() - low).bit_length()


def starts(*keys: Columns) -> Columns:
    """Return the positions at which a new run of equal rows begins."""
    changed = np.zeros(len(keys[0]), bool)
    changed[:1] = True
    for key in keys:
        changed[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changed)


def dense(values: Columns) -> Columns:
    """Return the rank of each of `values`, from 0, among the distinct values."""
    found: Columns = np.unique(values, return_inverse=True)[1].reshape(-1)
    return found


def unit(*values: Columns) -> int:
    """Return the largest power of two that divides all of `values`."""
    bits = 0
    for one in values:
        bits |= int(np.bitwise_or.reduce(one))
    return bits & -bits or 1


def spread(first: Columns, stop: Columns) -> tuple[Columns, Columns]:
    """Return each row's integers from `first` to `stop` - 1, and the row of each."""
    length = stop - first
    if (length == 1).all():
        return first, np.arange(len(first))
    row = np.repeat(np.arange(len(first)), length)
    begin = np.cumsum(length) - length
    return first[row] + np.arange(len(row)) - begin[row], row
