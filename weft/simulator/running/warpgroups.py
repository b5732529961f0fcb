"""Products of warpgroups in a simulated launch: wgmma, its groups and its waits.

PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions":
"wgmma.mma_async" is executed by all threads of a warpgroup, on operands in the async
proxy; "wgmma.fence" orders registers that other instructions have written before it;
"wgmma.wait_group" waits for all groups but the last n. Until then the sums must not be
used, and what the product reads must not change.

`.sync.aligned`: the lanes of a warp execute a product together. So all their earlier
reads are complete, and one lane may announce that for all. The instruction does not
wait for other warps. But it is one operation of the warpgroup: once one thread has
waited for the product, all that the product reads has been read. CUTLASS relies on
this: its warpgroups arrive once per stage.

A product is computed as late as possible: when the first thread of its warpgroup has
waited for it. Until a thread has waited, its sums are poison.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.formats import BFLOAT16, Format
from weft.intrinsics.memory import Misaligned, is_shared
from weft.intrinsics.operands import (
    LINE,
    ROWS,
    THREADS,
    Descriptor,
    described,
    fragment_places,
    spans,
)
from weft.intrinsics.tensor_cores import matrix_a
from weft.simulator.limits import WARP
from weft.simulator.memory.addresses import pointer
from weft.simulator.memory.arrays import poison
from weft.simulator.running.gatherings import Gathering, Gatherings
from weft.simulator.running.protocol import Launched, Waiting, kernel_site
from weft.simulator.running.threads import Block, Thread
from weft.simulator.running.windows import Window, address_of, holding

Numbers = np.ndarray[Any, Any]
Key = tuple[Thread, int]  # a thread, and the address of its local array

MOST_COLUMNS, WARPS = 256, 4
MOST_BARRIERS = 16
FEWEST, MOST = 24, 256  # registers per thread that setmaxnreg accepts


@dataclass(frozen=True)
class Given:
    """One thread's arguments to a product. left: a descriptor, or a local array."""

    acc: Any
    n: int
    left: Any
    at: int | None
    right: int
    add: bool


@dataclass(frozen=True, eq=False)
class Product:
    """One product of a warpgroup: the arguments of its threads, in order."""

    call: str
    form: Format
    given: list[Given]

    @property
    def n(self) -> int:
        return self.given[0].n

    def of_warp(self, warp: int) -> Given:
        return self.given[warp * WARP]


@dataclass(eq=False)
class Reader:
    """A warp that reads shared memory for products; see `Beside.fork`."""

    one: Any
    parts: list[tuple[Window, Numbers]] = field(default_factory=list)

    def pieces(self) -> Iterator[tuple[Any, list[tuple[int, int]]]]:
        """Yield each array read, with (offset, size) in bytes for each piece read."""
        for window in {id(window): window for window, _ in self.parts}.values():
            some = [at.reshape(-1) for held, at in self.parts if held is window]
            found = spans(np.concatenate(some))
            yield window.tile, [(at - window.begins, size) for at, size in found]


@dataclass(eq=False)
class Batch:
    """A group of products.

    keys: the arrays of each thread's sums, by address; held: the handles of each
    thread's registers in the trace; readers: each warp's readers; landed: how many
    threads have waited for the group.
    """

    products: list[Product] = field(default_factory=list)
    keys: dict[Thread, dict[int, Any]] = field(default_factory=dict)
    words: set[Key] = field(default_factory=set)
    held: dict[Thread, list[Any]] = field(default_factory=dict)
    readers: dict[int, list[Reader]] = field(default_factory=dict)
    done: bool = False
    landed: int = 0

    def reader(self, warp: int) -> Reader | None:
        """Return the last reader of a warp, or None."""
        return self.readers[warp][-1] if warp in self.readers else None

    def all_readers(self) -> list[Reader]:
        return [each for some in self.readers.values() for each in some]

    def forget(self) -> None:
        """Drop keys, handles and readers, as all threads have waited for the group."""
        for part in (self.keys, self.held, self.readers):
            part.clear()


@dataclass(eq=False)
class Warpgroup:
    """Four warps of a block, and their groups of products.

    open: the group that is being made; commits: how many groups each thread has made;
    landed: how many of these groups it has waited for.
    """

    block: Block
    threads: list[Thread]
    open: Batch = field(default_factory=Batch)
    batches: list[Batch] = field(default_factory=list)
    commits: dict[Thread, int] = field(default_factory=dict)
    landed: dict[Thread, int] = field(default_factory=dict)


class Warpgroups:
    """The warpgroups of a launch."""

    def __init__(self, run: Launched) -> None:
        self._run = run
        self._groups: dict[tuple[int, int], Warpgroup] = {}
        self._gatherings = Gatherings(run.gather)
        self._sums: dict[Key, Numbers] = {}  # by array: the sums of products in flight
        self._fences: dict[Thread, int] = {}
        # by array: its contents after a product, and its thread's fences so far
        self._left: dict[Key, tuple[bytes, int]] = {}

    # Descriptors

    def descriptor(self, call: str, tile: Any, i: Any, apart: Any = None) -> Any:
        """Return the 64-bit descriptor of an operand in shared memory."""
        if not is_shared(tile):
            raise TypeError(f"`{call}` describes shared memory, which this is not")
        _, start = address_of(self._run.current.block, tile, i)
        leading = 16 if apart is None else int(apart)
        stride = 8 * LINE
        return np.int64(Descriptor(start, leading, stride, LINE).bits)

    # Groups

    def fence(self) -> None:
        thread = self._run.current
        self._fences[thread] = self._fences.get(thread, 0) + 1

    def commit(self) -> None:
        """Make a group of the products begun since the last group.

        The first thread to call this makes the group for the whole warpgroup.
        """
        thread = self._run.current
        group = self._group("wgmma_commit")
        group.commits[thread] = count = group.commits.get(thread, 0) + 1
        if count > len(group.batches):
            group.batches.append(group.open)
            self._touch(group.open, late=False)
            group.open = Batch()
        self._run.beside.committed(
            thread, group.batches[count - 1].held.get(thread, ())
        )

    def _touch(self, batch: Batch, late: bool) -> None:
        """Record which shared memory a group's products read."""
        for reader in batch.all_readers():
            for tile, pieces in reader.pieces():
                self._run.beside.touch(reader.one, tile, pieces, late=late)

    def wait(self, n: Any) -> None:
        """Wait until all groups but the last `n` are done, with their sums in place."""
        thread, run = self._run.current, self._run
        group = self._group("wgmma_wait")
        first = group.landed.get(thread, 0)
        last = max(group.commits.get(thread, 0) - int(n), first)
        for batch in group.batches[first:last]:
            if not batch.done:
                self._finish(group, batch)
            run.beside.join(thread, [each.one for each in batch.all_readers()])
        group.landed[thread] = last
        for batch in group.batches[first:last]:
            for key, acc in batch.keys.get(thread, {}).items():
                self._land(group, thread, key, acc)
            run.beside.landed(thread, batch.held.get(thread, ()))
            batch.landed += 1
            if batch.landed == THREADS:
                batch.forget()
        left = group.commits.get(thread, 0) - last
        run.beside.waited(thread, int(n), left)

    def _land(self, group: Warpgroup, thread: Thread, key: int, acc: Any) -> None:
        """Give a thread its sums, unless a later product still changes them."""
        later = [*group.batches[group.landed[thread] :], group.open]
        if any(key in batch.keys.get(thread, {}) for batch in later):
            return
        sums = self._sums.pop((thread, key), None)
        if sums is not None:
            acc._data[: sums.size] = sums
            self._left[thread, key] = acc._data.tobytes(), self._fences[thread]

    def _finish(self, group: Warpgroup, batch: Batch) -> None:
        """Compute the products of a batch from what shared memory now contains."""
        for product in batch.products:
            self._compute(group, product)
        self._touch(batch, late=True)
        batch.products.clear()
        batch.done = True

    # Products

    def product(
        self,
        call: str,
        form: Format,
        acc: Any,
        n: Any,
        left: Any,
        at: Any,
        right: Any,
        add: Any,
    ) -> Waiting:
        """Start a product, once all threads of the warpgroup are at this line."""
        run, thread = self._run, self._run.current
        words = None if at is None else int(at)
        one = Given(acc, int(n), left, words, int(right) & (1 << 64) - 1, bool(add))
        _may_multiply(call, one)
        group = self._group(call)
        site = kernel_site(run, sys._getframe())
        key = thread.block.number, thread.number // THREADS, call, site
        gathering = self._gatherings.come(
            key, lambda: Gathering(call, THREADS, whole=True), thread, one
        )
        if gathering.done:
            given = [gathering.came[t][0] for t in group.threads]
            self._start(group, Product(call, form, given))
        elif self._gatherings.wait(gathering, site):
            yield

    def _start(self, group: Warpgroup, product: Product) -> None:
        """Check and record what a warpgroup's threads passed, and begin a product."""
        batch, beside = group.open, self._run.beside
        beside.together([group.threads[k : k + WARP] for k in range(0, THREADS, WARP)])
        for thread, given in zip(group.threads, product.given, strict=True):
            self._agree(product, thread, given)
            self._ordered(product.call, thread, given.acc)
            if given.at is not None:
                self._ordered(product.call, thread, given.left)
        for warp in range(WARPS):
            last = batch.reader(warp)
            lane0, again = group.threads[warp * WARP], last and last.one
            reader = Reader(beside.fork(lane0, product.call, again))
            if last is None or reader.one != last.one:
                batch.readers.setdefault(warp, []).append(reader)
            else:
                reader = last
            for descriptor, addresses in self._operands(product, warp):
                window = self._within(group.block, product.call, addresses)
                self._swizzle(reader.one, window, descriptor, addresses)
                if reader.one is not None:
                    reader.parts.append((window, addresses))
        for thread, given in zip(group.threads, product.given, strict=True):
            self._take(batch, product.call, thread, given)
        batch.products.append(product)

    def _take(self, batch: Batch, call: str, thread: Thread, given: Given) -> None:
        """Record a thread's registers that a product uses; poison those of the sums."""
        acc, size = given.acc, given.n // 2
        key = pointer(acc._data)
        held = batch.held.setdefault(thread, [])
        new = (thread, key) not in self._sums
        if key not in batch.keys.setdefault(thread, {}):
            batch.keys[thread][key] = acc
            reads = new and given.add
            held.append(
                self._run.beside.hold(thread, call, acc, 4 * size, reads, change=True)
            )
        if new:
            self._sums[thread, key] = acc._data.copy()
            poison(acc._data[:size], "local")
        if given.at is not None:
            words = given.left
            used = thread, pointer(words._data)
            self._left[used] = words._data.tobytes(), self._fences[thread]
            if used not in batch.words:
                batch.words.add(used)
                held.append(
                    self._run.beside.hold(
                        thread, call, words, words.nbytes, reads=True, change=False
                    )
                )

    def _agree(self, product: Product, thread: Thread, given: Given) -> None:
        """Raise `Fault` unless a lane passes the same operands as its warp's lane 0."""
        first = product.of_warp(thread.number // WARP % WARPS)
        same = (given.n, given.right, given.add) == (first.n, first.right, first.add)
        if given.at is None:
            same &= int(given.left) == int(first.left)
        if not same or given.n != product.n:
            self._run.fault(
                "warp",
                f"the lanes of a warp pass different operands to `{product.call}`",
                "The descriptors, n and `add` are the same in every lane of a warp: it "
                "does one product, and not one for each thread.",
            )

    def _ordered(self, call: str, thread: Thread, x: Any) -> None:
        """Raise `Fault` if `x` needs a `wgmma_fence` before the product `call`.

        PTX ISA, "wgmma.fence": a fence is needed before the first product, and between
        an access to registers and a product that uses them.
        """
        key = thread, pointer(x._data)
        if key in self._sums:
            return
        fences = self._fences.get(thread, 0)
        before, then = self._left.get(key, (b"", 0))
        if fences > then or (before and before == x._data.tobytes()):
            return
        self._run.fault(
            "race",
            f"`{call}` uses the registers of `{x._name}` with no wgmma_fence before it",
            "`wgmma_fence` orders what a thread has done with its registers before the "
            "products that use them. One comes before the first product, and one after "
            "other instructions have changed the registers.",
        )

    # Operands

    def _operands(
        self, product: Product, warp: int
    ) -> list[tuple[Descriptor, Numbers]]:
        """Return a warp's descriptors, each with the addresses to read."""
        given = product.of_warp(warp)
        right = described(given.right)
        if given.at is not None:
            return [(right, self._columns(product.call, right, given.n))]
        left = described(int(given.left) & (1 << 64) - 1)
        for each in (left, right):
            self._aligned(product.call, each)
        mine = left.rows(ROWS)[warp * 16 : warp * 16 + 16]
        return [(left, mine), (right, right.rows(given.n))]

    def _columns(self, call: str, right: Descriptor, n: int) -> Numbers:
        if not right.swizzle:
            self._run.fault(
                "type",
                f"`{call}` takes rows along k with a swizzle, and this descriptor has "
                "none",
                "`descriptor_columns` makes one with the 128-byte swizzle.",
            )
        self._aligned(call, right)
        return right.columns(n)

    def _aligned(self, call: str, operand: Descriptor) -> None:
        """Raise Misaligned if an operand begins after the first row of its swizzle."""
        if operand.swizzle and operand.start % (8 * operand.swizzle) >= operand.swizzle:
            raise Misaligned(
                f"`{call}` gets an operand that begins "
                f"{operand.start % (8 * operand.swizzle)} bytes after a multiple of "
                f"{8 * operand.swizzle}",
                f"With a swizzle of {operand.swizzle} bytes an operand begins at a "
                f"multiple of {8 * operand.swizzle} bytes in shared memory, and only "
                "its place along k is added to that. An array that is made with "
                "alignment=1024 begins at one.",
            )

    def _within(self, block: Block, call: str, addresses: Numbers) -> Window:
        """Return the window that holds an operand. Raises `Fault` if there is none."""
        first, last = _extent(addresses)
        window = holding(block, first, last)
        if window is None:
            near = next((w for w in block.windows if w.start <= first < w.stop), None)
            where = "no shared array begins there"
            if near is not None:
                over, name = last - near.stop, near.tile._name
                where = f"that is {over:,} bytes beyond the end of `{name}`"
            self._run.fault(
                "out-of-bounds",
                f"`{call}` reads an operand of {last - first:,} bytes, and {where}",
                "Where an operand is, and how far apart its rows are, is in its "
                "descriptor. Do n, the offset and the size of the tile fit?",
            )
        return window

    def _swizzle(
        self, reader: Any, window: Window, operand: Descriptor, addresses: Numbers
    ) -> None:
        """Record an operand's box if it was loaded with a different swizzle."""
        first, last = _extent(addresses)
        other = window.other_swizzle(first, last, operand.swizzle)
        if other is not None:
            self._run.beside.mismatch(
                reader, window.tile._name, operand.swizzle, other.swizzle
            )

    def _compute(self, group: Warpgroup, product: Product) -> None:
        """Compute a product, and set its threads' sums or add to them."""
        places = fragment_places(product.n)
        a = np.concatenate([self._left_rows(group, product, w) for w in range(WARPS)])
        b = [self._right_rows(group, product, w) for w in range(WARPS)]
        with np.errstate(all="ignore"):
            parts = [a[16 * w : 16 * w + 16] @ b[w].T for w in range(WARPS)]
            found = np.concatenate(parts)[places]
            for k, (thread, given) in enumerate(
                zip(group.threads, product.given, strict=True)
            ):
                sums = self._sums[thread, pointer(given.acc._data)]
                old = sums[: given.n // 2].astype(np.float64) if given.add else 0.0
                sums[: given.n // 2] = found[k] + old

    def _left_rows(self, group: Warpgroup, product: Product, warp: int) -> Numbers:
        """Return a warp's 16 rows of the left operand, in float64."""
        given = product.of_warp(warp)
        if given.at is None:
            left = described(int(given.left) & (1 << 64) - 1)
            addresses = left.rows(ROWS)[warp * 16 : warp * 16 + 16]
            window = self._within(group.block, product.call, addresses)
            words = window.words(addresses, np.uint32)
        else:
            lanes = product.given[warp * WARP : (warp + 1) * WARP]
            held = [
                [bits(word) for word in each.left._data[each.at :][:4]]
                for each in lanes
            ]
            words = matrix_a(np.array(held, np.uint32))
        return product.form.values(words).reshape(16, -1).astype(np.float64)

    def _right_rows(self, group: Warpgroup, product: Product, warp: int) -> Numbers:
        """Return the n rows of the right operand, each a column of the right matrix."""
        given = product.of_warp(warp)
        right = described(given.right)
        if given.at is None:
            addresses = right.rows(given.n)
            window = self._within(group.block, product.call, addresses)
            words = window.words(addresses, np.uint32)
            return product.form.values(words).reshape(given.n, -1).astype(np.float64)
        addresses = right.columns(given.n)
        window = self._within(group.block, product.call, addresses)
        halves = window.words(addresses, np.uint16).astype(np.uint32)
        return BFLOAT16.values(halves)[..., 0].astype(np.float64)

    # Barriers of part of a block

    def barrier(self, number: Any, threads: Any) -> Waiting:
        """Wait until this many `threads` are at the barrier with this `number`.

        PTX ISA, "bar, barrier": there are 16 barriers, of which 0 is that of
        `syncthreads`; the count is a multiple of the warp size.
        """
        run, thread, count = self._run, self._run.current, int(threads)
        if not 1 <= int(number) < MOST_BARRIERS:
            run.fault(
                "barrier",
                f"`named_barrier` has the numbers 1 to 15; this is {int(number)}",
                "Number 0 is that of cuda.syncthreads.",
            )
        if count % WARP or not 0 < count <= len(thread.block.threads):
            run.fault(
                "barrier",
                f"`named_barrier` waits for {count} threads",
                "It counts whole warps: a multiple of 32, and no more than the block "
                f"has, which are {len(thread.block.threads)}.",
            )
        name = f"named_barrier({int(number)}, {count})"
        gathering = self._gatherings.come(
            (thread.block.number, name), lambda: Gathering(name, count), thread
        )
        if gathering.done:
            run.beside.met(list(gathering.came))
        elif self._gatherings.wait(gathering, kernel_site(run, sys._getframe())):
            yield

    # Registers

    def hold(self, call: str, x: Any, count: Any) -> None:
        """Check and record the call: the simulator never reorders instructions."""
        if getattr(x, "_space", "") != "local" or int(count) > x.size:
            raise TypeError(f"`{call}` takes a local array, and how many it has")
        nbytes = int(count) * x.dtype.itemsize
        self._run.beside.keep(self._run.current, x, nbytes)

    def registers(self, call: str, n: Any) -> None:
        """Check the number of registers that a call sets, and do nothing else.

        PTX ISA, "setmaxnreg": the number is a multiple of 8 from 24 to 256.
        """
        if not FEWEST <= int(n) <= MOST or int(n) % 8:
            self._run.fault(
                "type",
                f"`{call}`({int(n)})",
                f"A thread has {FEWEST} to {MOST} registers, a multiple of 8.",
            )

    # Which warpgroup

    def _group(self, call: str) -> Warpgroup:
        """Return the current thread's warpgroup. Raises `Fault` if it is incomplete."""
        thread = self._run.current
        block, number = thread.block, thread.number // THREADS
        key = block.number, number
        if key not in self._groups:
            threads = block.threads[number * THREADS : (number + 1) * THREADS]
            if len(threads) < THREADS:
                self._run.fault(
                    "warp",
                    f"`{call}` needs the 128 threads of a warpgroup, and this one has "
                    f"{len(threads)}",
                    "Threads 0 to 127 of a block are a warpgroup, 128 to 255 the next. "
                    "How many threads has the launch in a block?",
                )
            self._groups[key] = Warpgroup(block, threads)
        return self._groups[key]


def _extent(addresses: Numbers) -> tuple[int, int]:
    """Return an operand's start and end addresses, both multiples of 16 bytes."""
    return int(addresses.min()) & -16, (int(addresses.max()) & -16) + 16


def _may_multiply(call: str, given: Given) -> None:
    """Raise TypeError unless a thread's arguments are valid for a product."""
    acc, n = given.acc, given.n
    if n % 8 or not 8 <= n <= MOST_COLUMNS:
        raise TypeError(
            f"`{call}`: n is a multiple of 8, up to {MOST_COLUMNS}; got {n}"
        )
    if not _registers(acc, np.float32) or acc.size < n // 2:
        raise TypeError(
            f"`{call}`: the sums are a local array of {n // 2} float32, n / 2 of them"
        )
    if given.at is None:
        return
    words = given.left
    if not _registers(words, np.int32) or given.at + 4 > words.size:
        raise TypeError(
            f"`{call}`: the left operand is four words of a local array of int32, from "
            f"{given.at} on"
        )


def _registers(x: Any, kind: type[Any]) -> bool:
    local = getattr(x, "_space", "") == "local"
    return local and x.ndim == 1 and x.dtype == kind
