"""The TMA of a simulated launch: it copies boxes to shared memory and back.

PTX ISA, "cp.async.bulk.tensor": a load counts the bytes of the whole box at its
mbarrier, even where it is filled with zeros; a store belongs to the bulk group of its
thread. "cp.async.bulk.wait_group": with `.read`, the wait lasts until shared memory has
been read; without, until the writes have been made.

In the simulator, a load arrives, and a store reads and writes, as late as possible.

The manual does not say at which columns a box may begin. An H200 refuses any that are
not at a multiple of 16 bytes, with the error `illegal instruction`:
`verification/hopper_rules.nvidia-h200.json`.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.intrinsics.boxes import ALIGNED, STEP, Boxes, decoded
from weft.intrinsics.memory import Misaligned, is_shared
from weft.places import place
from weft.simulator.memory.addresses import pointer
from weft.simulator.memory.arrays import Memory, poison
from weft.simulator.running.clusters import Clusters
from weft.simulator.running.phases import Mbarrier, Phases
from weft.simulator.running.protocol import Launched, Site, kernel_site
from weft.simulator.running.threads import Thread
from weft.simulator.running.windows import Window, address_of, window_of
from weft.wording import several

Bytes = np.ndarray[Any, Any]
AXES = "column", "row", "matrix"  # in the order of a call's coordinates
Corner = tuple[int, ...]


@dataclass(eq=False)
class Store:
    """A store in flight. `values` is set once shared memory has been read."""

    boxes: Boxes
    corner: Corner
    window: Window
    at: int
    x: Any
    reader: Any
    writer: Any
    site: Site
    values: Bytes | None = None

    def read(self) -> None:
        """Read the box from shared memory into `values`, in the order of the matrix."""
        boxes, first = self.boxes, self.at - self.window.start
        held = self.window.data[first : first + boxes.nbytes].reshape(-1, 16)
        rows = held[boxes.places(self.at) // 16]
        self.values = rows.reshape(-1).view(boxes.data.dtype).reshape(boxes.box)


class TensorCopies:
    """The copies that a launch makes by means of tensor maps."""

    def __init__(self, run: Launched, phases: Phases, clusters: Clusters) -> None:
        self._run, self._phases, self._clusters = run, phases, clusters
        self._started: dict[Thread, list[Store]] = {}
        self._groups: dict[Thread, list[list[Store]]] = {}
        self._unstored: list[Store] = []
        self._matrices: dict[Boxes, Any] = {}

    # Tensor maps

    def _boxes(self, call: str, tensor_map: Any, axes: int) -> tuple[Boxes, Any]:
        """Return a tensor map's boxes, and the mapped tensor as a kernel's array."""
        given = getattr(tensor_map, "_data", None)
        boxes = None if given is None else decoded(given)
        if boxes is None:
            shown = getattr(tensor_map, "_name", repr(tensor_map))
            self._run.fault(
                "tensor-map",
                f"`{call}`: `{shown}` is no tensor map",
                "`weft.tensor_maps.tensor_map(tensor, box)` makes one on the host: 128 "
                "bytes, which a kernel gets as an array and passes on as it is.",
            )
        if boxes.data.ndim != axes:
            kinds = {2: "a matrix", 3: "a stack of matrices"}
            self._run.fault(
                "tensor-map",
                f"`{call}` takes a tensor map of {kinds[axes]}; `{tensor_map._name}` "
                f"is that of {kinds[boxes.data.ndim]}",
                "A map of a matrix is for tma_load and tma_store, one of a stack for "
                "tma_load_plane and tma_store_plane.",
            )
        if boxes not in self._matrices:
            memory = Memory(tensor_map._name, "global")
            self._matrices[boxes] = self._run.array(boxes.data, memory)
        return boxes, self._matrices[boxes]

    def fence(self, tensor_map: Any) -> None:
        """Only check the argument: simulated threads see all that the host wrote."""
        given = getattr(tensor_map, "_data", None)
        if given is None or decoded(given) is None:
            self._run.fault("tensor-map", "`fence_tensor_map`: this is no tensor map")

    # Loads

    def load(self, call: str, axes: int, tile: Any, i: Any, *given: Any) -> None:
        """Start to load a box. given: the map, the box's corner, the mbarrier."""
        tensor_map, *at, bars, s = given
        boxes, x = self._boxes(call, tensor_map, axes)
        bar = self._phases.bar_of(call, bars, s)
        corner = _corner(call, boxes, at)
        window, start = self._place(call, tile, i, boxes)
        self._run.beside.note(x, _rows(x, boxes, corner))
        offset = start - address_of(self._run.current.block, tile, _first(tile))[1]
        self._send(boxes, corner, window, start, tile, offset, bar)

    def load_multicast(self, call: str, tile: Any, i: Any, *given: Any) -> None:
        """Start to load a box into several blocks. given: as for `load`, then the mask.

        PTX ISA, "cp.async.bulk.tensor", `.multicast::cluster`: the box goes to the same
        place in each block, and its bytes count at the same mbarrier there.
        """
        tensor_map, *at, bars, s, mask = given
        boxes, x = self._boxes(call, tensor_map, 2)
        corner, run = _corner(call, boxes, at), self._run
        self._place(call, tile, i, boxes)  # the place is the same in every block
        run.beside.note(x, _rows(x, boxes, corner))
        for rank in self._clusters.ranks(call, int(mask)):
            to = self._clusters.at(call, tile, i, rank)
            counts = self._clusters.at(call, bars, s, rank)
            bar = self._clusters.bar(call, counts, bars, s)
            window = window_of(to.block, to.array)
            start = window.begins + to.address - pointer(window.tile._data)
            elsewhere = to.block is not run.current.block
            if elsewhere and self._phases.awaited(to.bytes(boxes.nbytes)):
                run.fault(
                    "mbarrier",
                    f"`{call}` sends a box to `{_name(tile)}` of block {rank} of the "
                    "cluster, and an earlier one has not arrived there yet",
                    "Nothing that this thread has waited for says that the other block "
                    "is done with what was there. Which blocks arrive at the mbarrier "
                    "that it waits at, and how many arrivals complete a phase?",
                )
            with run.elsewhere(to.block):
                self._send(
                    boxes, corner, window, start, to.array, to.offset,
                    self._phases.fenced(call, bar),
                )  # fmt: skip

    def _send(
        self,
        boxes: Boxes,
        corner: Corner,
        window: Window,
        start: int,
        tile: Any,
        offset: int,
        bar: Mbarrier,
    ) -> None:
        """Start the copy of a box to an address, `offset` bytes into `tile`."""
        held = window.data[start - window.start :][: boxes.nbytes]
        clear(tile, held)
        span = [(offset, boxes.nbytes)]
        self._run.beside.note(tile, span, write=True, begins=True)
        values = np.empty((boxes.nbytes // 16, 16), np.uint8)
        box = np.ascontiguousarray(boxes.read(corner)).reshape(-1).view(np.uint8)
        values[boxes.places(start) // 16] = box.reshape(-1, 16)
        window.load(start, start + boxes.nbytes, boxes.swizzle)
        self._phases.start(held, values.reshape(-1), bar)

    def _place(self, call: str, tile: Any, i: Any, boxes: Boxes) -> tuple[Window, int]:
        """Return the window and the address of a box in shared memory.

        Raises TypeError, Misaligned or `Fault` if the box cannot be placed there.
        """
        if not is_shared(tile):
            raise TypeError(
                f"`{call}`: a box is in shared memory; `{_name(tile)}` is not"
            )
        if not tile._data.flags.c_contiguous:
            raise TypeError(f"`{call}`: {tile._name} is a strided view")
        window, start = address_of(self._run.current.block, tile, i)
        first = start - address_of(self._run.current.block, tile, _first(tile))[1]
        if start % ALIGNED or first < 0:
            raise Misaligned(
                f"`{call}` names a box that begins {first} bytes into {tile._name}",
                f"In shared memory a box begins at a multiple of {ALIGNED} bytes, or "
                "of 1024 where wgmma reads it. So does an array that is made with "
                "alignment=1024.",
            )
        if first + boxes.nbytes > tile.nbytes:
            self._run.fault(
                "out-of-bounds",
                f"`{call}` moves a box of {boxes.nbytes:,} bytes, from byte {first:,} "
                f"of `{tile._name}` on, which has {tile.nbytes:,} bytes",
                "A box always has the size that its tensor map says, also where part "
                "of it is outside of the matrix.",
            )
        return window, start

    # Stores

    def store(self, call: str, axes: int, tensor_map: Any, *given: Any) -> None:
        """Start storing a box. given: the box's corner, the tile and an index in it."""
        *at, tile, i = given
        boxes, x = self._boxes(call, tensor_map, axes)
        corner, run = _corner(call, boxes, at), self._run
        for axis, k in zip(AXES, corner[::-1], strict=False):
            if k >= 0:
                continue
            run.fault(
                "out-of-bounds",
                f"`{call}` stores a box from {axis} {k} of `{tensor_map._name}`",
                f"A load may begin at a {axis} below 0, and a store may not: on an "
                "H200 this is the error `illegal instruction`, which ends the program.",
            )
        window, start = self._place(call, tile, i, boxes)
        thread, beside = run.current, run.beside
        reader, writer = beside.fork(thread, call), beside.fork(thread, call)
        site = kernel_site(run, sys._getframe())
        one = Store(boxes, corner, window, start, x, reader, writer, site)
        beside.touch(reader, window.tile, _offset(one))
        beside.touch(writer, x, _rows(x, boxes, corner), write=True)
        self._started.setdefault(thread, []).append(one)
        self._unstored.append(one)

    def commit(self) -> None:
        """Make a group of the current thread's stores since its last group."""
        thread = self._run.current
        groups = self._groups.setdefault(thread, [])
        groups.append(self._started.pop(thread, []))

    def wait(self, n: Any, stored: bool) -> None:
        """Wait for all groups of the current thread but the last `n`.

        stored: whether to wait until their boxes are in global memory, rather than only
        until they have been read from shared memory.
        """
        thread = self._run.current
        groups = self._groups.get(thread, [])
        for one in (s for g in groups[: max(len(groups) - int(n), 0)] for s in g):
            if one.values is None:
                one.read()
                self._run.beside.touch(
                    one.reader, one.window.tile, _offset(one), late=True
                )
                self._run.beside.join(thread, [one.reader])
            if stored and one in self._unstored:
                self._write(one)
                rows = _rows(one.x, one.boxes, one.corner)
                self._run.beside.touch(one.writer, one.x, rows, write=True, late=True)
                self._run.beside.join(thread, [one.writer])

    def _write(self, one: Store) -> None:
        """Complete a store."""
        if one.values is None:
            one.read()
        assert one.values is not None
        one.boxes.write(one.corner, one.values)
        self._run.stored(one.boxes.data[one.boxes.inside(one.corner)])
        self._unstored.remove(one)

    def deliver(self) -> bool:
        """Complete the oldest store; return whether there was one."""
        if not self._unstored:
            return False
        self._write(self._unstored[0])
        return True

    def ended(self, thread: Thread) -> None:
        """Record the end of a thread.

        Raises `Fault` if the TMA may not yet have read a box that the thread stores.
        """
        if thread not in self._started and thread not in self._groups:
            return
        groups = self._groups.pop(thread, [])
        loose = self._started.pop(thread, [])
        late = [*(one for group in groups for one in group), *loose]
        for one in late:
            if one.values is not None:
                if one in self._unstored:
                    self._write(one)
                continue
            why = (
                "The TMA reads shared memory after the line that starts a store. A "
                "block that ends gives its shared memory to others. Before that, "
                "`bulk_wait_read(0)` waits until all groups of this thread have been "
                "read."
            )
            if one in loose:
                why += " A store belongs to a group once `bulk_commit()` follows it."
            where = self._run.where
            line = place(*one.site, where.lines.get(one.site[0], {}))
            raise where.fault(
                "race",
                "a thread ends, and the TMA may not have read the box that it stores",
                why,
                [line],
                thread,
            )


def _first(x: Any) -> tuple[int, ...]:
    """Return the index of the first element of `x`."""
    return (0,) * int(x.ndim)


def _name(x: Any) -> str:
    return str(getattr(x, "_name", x))


def _corner(call: str, boxes: Boxes, at: list[Any]) -> Corner:
    """Return the index of a box's first element, the outermost axis first.

    at: the same index, column first. Raises Misaligned if the column is not at a
    multiple of 16 bytes.
    """
    corner = tuple(int(k) for k in reversed(at))
    size = boxes.data.itemsize
    if corner[-1] * size % STEP:
        raise Misaligned(
            f"`{call}` names a box that begins at column {corner[-1]}; "
            f"{corner[-1]} is not a multiple of {STEP // size}",
            f"A box begins at a multiple of {STEP} bytes of its rows, even outside of "
            f"the matrix. Here, an element has {several(size, 'byte')}. On an H200, "
            "another column is the error `illegal instruction`, and ends the program.",
        )
    return corner


def _offset(one: Store) -> list[tuple[int, int]]:
    """Return the offset and size in bytes of a store's box in its window's array."""
    return [(one.at - one.window.begins, one.boxes.nbytes)]


def _rows(x: Any, boxes: Boxes, corner: Corner) -> list[tuple[int, int]]:
    """Return the offset and size, in bytes, of each row segment that a box covers."""
    *outer, across = boxes.inside(corner)
    size = (across.stop - across.start) * boxes.data.itemsize
    if size <= 0:
        return []
    first = across.start * boxes.data.itemsize
    spots = np.ndindex(*(part.stop - part.start for part in outer))
    strides = boxes.data.strides
    return [
        (
            first
            + sum(
                (part.start + k) * by
                for part, k, by in zip(outer, spot, strides, strict=False)
            ),
            size,
        )
        for spot in spots
    ]


def clear(tile: Any, held: Bytes) -> None:
    """Poison `held`, the bytes of `tile` that a copy will fill."""
    size = tile.dtype.itemsize
    whole = held[: held.size // size * size]
    nothing = np.empty(1, tile.dtype)
    poison(nothing, "shared")
    whole.reshape(-1, size)[...] = nothing.view(np.uint8)
