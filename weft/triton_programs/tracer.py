"""Record what a program accesses, and stop it before it does damage."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from weft.places import Place
from weft.programs.memory import Arena
from weft.programs.trace import Call, Log, Strays
from weft.simulator.trace.columns import Columns
from weft.simulator.trace.trace import ATOMIC, READ, WRITE
from weft.triton_programs.interpreted import Session

Outside = Callable[[Call, Strays], None]


class Tracer:
    """Traces the interpreter's accesses to memory.

    outside: called if an address is not that of an element. stored: called before a
    store or an atomic, with the call, its active lanes and their arrays. unsupported:
    called if the program computes in bfloat16. zeros: the loads whose masked-out
    elements are zeros.
    """

    def __init__(
        self,
        session: Session,
        arena: Arena,
        outside: Outside,
        stored: Callable[[Call, Columns, Columns], None],
        unsupported: Callable[[], None],
        zeros: Collection[Place] = (),
    ) -> None:
        self._session, self._arena, self.log = session, arena, Log()
        self._outside, self._stored = outside, stored
        self._unsupported, self._zeros = unsupported, zeros
        self._unmasked = False  # whether a load or store without a mask is in progress

    def attach(self, builder: Any) -> None:
        """Replace the interpreter's memory operations with traced ones."""
        self._builder = builder
        load, store = builder.create_masked_load, builder.create_masked_store
        rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

        def masked_load(
            ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any
        ) -> Any:
            other, filled = self._other(ptrs, mask, other)
            self._note(READ, ptrs, mask.data, filled=filled)
            return load(ptrs, mask, other, *rest, **named)

        def masked_store(ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
            self._note(WRITE, ptrs, mask.data)
            return store(ptrs, value, mask, *rest)

        def atomic_rmw(
            op: Any, ptr: Any, val: Any, mask: Any, sem: Any, *rest: Any
        ) -> Any:
            self._note(ATOMIC, ptr, mask.data, relaxed="RELAXED" in str(sem))
            return rmw(op, ptr, val, mask, sem, *rest)

        def atomic_cas(ptr: Any, cmp: Any, val: Any, sem: Any, *rest: Any) -> Any:
            self._note(ATOMIC, ptr, None, relaxed="RELAXED" in str(sem))
            return cas(ptr, cmp, val, sem, *rest)

        for name in ("create_load", "create_store"):
            setattr(builder, name, self._without_mask(getattr(builder, name)))
        builder.create_masked_load = masked_load
        builder.create_masked_store = masked_store
        builder.create_atomic_rmw = atomic_rmw
        builder.create_atomic_cas = atomic_cas
        for name in ("create_fp_trunc", "create_fp_ext", "create_fp_to_fp"):
            setattr(builder, name, self._without_bfloat16(getattr(builder, name)))

    def _without_mask(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def unmasked(*args: Any) -> Any:
            self._unmasked = True
            try:
                return operation(*args)
            finally:
                self._unmasked = False

        return unmasked

    def _without_bfloat16(self, convert: Callable[..., Any]) -> Callable[..., Any]:
        def converted(source: Any, wanted: Any, *rest: Any) -> Any:
            if "bf16" in (str(wanted.scalar), str(source.dtype.scalar)):
                self._unsupported()
            return convert(source, wanted, *rest)

        return converted

    def _other(self, ptrs: Any, mask: Any, other: Any) -> tuple[Any, bool]:
        """Return the value of a load's masked-out elements, and whether it is made up.

        Without `other` it is NaN, or a conspicuous integer, unless the loads on this
        line get zeros.
        """
        from triton.runtime.interpreter import TensorHandle, _get_np_dtype

        allowed = np.asarray(mask.data)
        if other is not None or allowed.all():
            return other, False
        element = ptrs.get_element_ty()
        data = np.zeros(ptrs.data.shape, _get_np_dtype(element))
        if self._session.here()[0] not in self._zeros:
            flat = data.reshape(-1)
            if data.dtype.kind == "f":
                flat[:] = np.nan  # spreads through sums, and through products with 0
            elif data.dtype.kind in "iu":
                flat[:] = np.array(0x5EEDBEEF, np.int64).astype(data.dtype)
        return TensorHandle(data, element), True

    def _note(
        self,
        operation: int,
        ptrs: Any,
        mask: Any,
        filled: bool = False,
        relaxed: bool = False,
    ) -> None:
        """Record a memory operation, and report addresses outside their arrays."""
        builder, arena = self._builder, self._arena
        x, y, z = builder.grid_idx
        wide, high, _ = builder.grid_dim
        addresses = every = np.asarray(ptrs.data).reshape(-1).astype(np.int64)
        lanes = np.arange(addresses.size)
        if mask is not None:
            allowed = np.broadcast_to(np.asarray(mask), ptrs.data.shape).reshape(-1)
            lanes = np.flatnonzero(allowed)
            addresses = addresses[lanes]
        call = Call(
            x + wide * (y + high * z),
            operation,
            self._session.here(),
            ptrs.data.shape,
            not self._unmasked and (operation != ATOMIC or self._session.masked),
            filled,
            relaxed,
        )
        owner = arena.owners(addresses)
        offset = addresses - arena.starts[owner]
        step = offset // arena.sizes[owner]
        inside = (offset >= 0) & (offset < arena.spans[owner])
        cells = arena.firsts[owner] + np.where(inside, step, 0)
        inside &= arena.element[cells] >= 0
        if not inside.all():
            bad = np.flatnonzero(~inside)
            block = every - arena.starts[owner[bad[0]]]
            found = Strays(lanes[bad], offset[bad], owner[bad], lanes, block)
            self._outside(call, found)
        if operation != READ:
            self._stored(call, lanes, owner)
        self.log.add(call, cells, lanes)
