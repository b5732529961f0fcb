"""Memory as a tile kernel sees it: every access is traced and checked.

A tile that is partly outside its array is not a mistake: elements outside are padding
in a load, and are not stored. A tile that is entirely outside is a mistake.
"""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from weft.places import Place
from weft.programs.memory import Arena
from weft.programs.trace import Call, Log, Strays
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import ATOMIC, READ, WRITE
from weft.tile_programs.evaluate import Access, Array

Outside = Callable[[Call, Strays], None]


class Traced:
    """Traces the memory accesses of instructions.

    outside: called if an address is not that of an element. past: called with the call
    and the access if a whole tile is outside its array. stored: called before a store
    or an atomic, with the call and each lane's array. twice: called if a single store
    writes different values to one element, with the call, the element's cell and the
    number of values. zeros: the loads in which elements outside the array are zeros.
    """

    def __init__(
        self,
        arena: Arena,
        outside: Outside,
        past: Callable[[Call, Access], None],
        stored: Callable[[Call, Columns], None],
        twice: Callable[[Call, int, int], None],
        zeros: Collection[Place] = (),
    ) -> None:
        self._arena, self.log, self._zeros = arena, Log(), zeros
        self._outside, self._past, self._stored = outside, past, stored
        self._twice = twice
        self.program = 0

    def load(self, at: Access, dtype: np.dtype[Any]) -> Array:
        """Load the elements of an access, and padding for those outside the array."""
        inside, _, _ = self._note(READ, at)
        found = np.empty(at.addresses.shape, dtype)
        found[...] = self._padding(at, dtype)
        found[inside] = self._values(at.addresses[inside], dtype)
        return found

    def store(self, at: Access, values: Array) -> None:
        """Store the elements that are inside the array."""
        inside, call, cells = self._note(WRITE, at)
        values = np.broadcast_to(values, at.addresses.shape)[inside]
        if at.whole is None and np.unique(cells).size < cells.size:
            self._compare(call, cells, values)
        self._put(at.addresses[inside], values)

    def _compare(self, call: Call, cells: Columns, values: Array) -> None:
        """Report an element to which a single store writes different values."""
        raw = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)
        pairs = np.unique(np.column_stack([cells, raw.astype(np.int64)]), axis=0)
        found, counts = np.unique(pairs[:, 0], return_counts=True)
        if (counts > 1).any():
            first = int((counts > 1).argmax())
            self._twice(call, int(found[first]), int(counts[first]))

    def update(
        self, at: Access, function: Callable[[Array, Array], Array], values: Array
    ) -> Array:
        """Apply `function` to each element in turn; return the previous values."""
        inside, _, _ = self._note(ATOMIC, at)
        values = np.broadcast_to(values, at.addresses.shape)
        before = np.zeros(at.addresses.shape, self._dtype(at))
        for k in map(tuple, np.argwhere(inside)):  # () for a single number
            address = at.addresses[k].reshape(1)
            before[k] = self._values(address, before.dtype)[0]
            after = np.asarray(function(before[k], values[k])).astype(before.dtype)
            self._put(address, after.reshape(1))
        return before

    def _dtype(self, at: Access) -> np.dtype[Any]:
        owner = self._arena.owners(at.addresses.reshape(-1)[:1])
        found: np.dtype[Any] = self._arena.regions[int(owner[0])].data.dtype
        return found

    def _padding(self, at: Access, dtype: np.dtype[Any]) -> Any:
        if at.padding is not None:
            return at.padding
        if at.places[0] in self._zeros:
            return 0
        if dtype.kind == "f":
            return np.nan  # spreads through sums, and through products with 0
        return np.array(0x5EEDBEEF, np.int64).astype(dtype)

    def _bytes(self, addresses: Array, size: int) -> Array:
        """Return the arena positions of each address's bytes, of shape (..., size)."""
        base = addresses - self._arena.base
        return base[..., None] + np.arange(size)

    def _values(self, addresses: Array, dtype: np.dtype[Any]) -> Array:
        flat = self._arena.bytes[self._bytes(addresses, dtype.itemsize)]
        found: Array = np.ascontiguousarray(flat).view(dtype)[..., 0]
        return found

    def _put(self, addresses: Array, values: Array) -> None:
        raw = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)
        self._arena.bytes[self._bytes(addresses.reshape(-1), raw.shape[1])] = raw

    def _note(self, operation: int, at: Access) -> tuple[Array, Call, Columns]:
        """Record an access.

        Returns the mask of the elements inside the array, the call, and the cells of
        those elements.
        """
        arena = self._arena
        inside = np.asarray(at.inside)
        lanes = np.flatnonzero(inside)
        addresses = at.addresses.reshape(-1)[lanes].astype(np.int64)
        call = Call(
            self.program,
            operation,
            at.places,
            at.addresses.shape,
            masked=not inside.all(),
            filled=operation == READ and at.padding is None and not inside.all(),
            relaxed=at.relaxed,
        )
        if at.whole is not None and not lanes.size:
            self._past(call, at)
        owner = arena.owners(addresses)
        offset = addresses - arena.starts[owner]
        step = offset // arena.sizes[owner]
        known = (offset >= 0) & (offset < arena.spans[owner])
        cells = arena.firsts[owner] + np.where(known, step, 0)
        known &= arena.element[cells] >= 0
        if not known.all():
            bad = np.flatnonzero(~known)
            found = Strays(lanes[bad], offset[bad], owner[bad], lanes)
            self._outside(call, found)
        if operation != READ:
            self._stored(call, owner)
        self.log.add(call, cells, lanes)
        return inside, call, cells
