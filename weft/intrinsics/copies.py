"""Copies from global to shared memory that run while the thread does other work.

PTX ISA, "cp.async" with `ignore-src`, "cp.async.commit_group" and
"cp.async.wait_group".
"""

from collections.abc import Callable
from typing import Any

from weft.intrinsics.instructions import ANY, instruction
from weft.intrinsics.lowering import Builder, Lowering
from weft.intrinsics.memory import (
    first_of_four,
    is_shared,
    read_four,
    refused_four,
    write_four,
)
from weft.intrinsics.registry import Effect, operation

AMPERE = (8, 0)  # the capability that all of these require


class Copies:
    """The asynchronous copies that one thread has in flight.

    A copy clears its destination at once and fills it when the thread waits: a thread
    that reads too early finds nothing there, and one that still reads the old content
    collides with the copy.
    """

    def __init__(self, clear: Callable[[Any, Any, int], None]) -> None:
        """Begin with no copies in flight.

        clear: a function of (tile, i, n) that marks n elements, beginning with
        `tile[i]`, as unwritten.
        """
        self._clear = clear
        self._started: list[tuple[Any, Any, Any]] = []
        self._groups: list[list[tuple[Any, Any, Any]]] = []

    def copy(self, tile: Any, i: Any, x: Any, j: Any, inside: Any) -> None:
        """Start a copy of one element."""
        _may_copy("copy_async", tile, x)
        self._clear(tile, i, 1)
        self._started.append((tile, i, x[j] if inside else x.dtype.type(0)))

    def copy4(self, tile: Any, i: Any, x: Any, j: Any, inside: Any) -> None:
        """Start a copy of four elements, or of four zeros if `inside` is false."""
        _may_copy("copy4_async", tile, x)
        first_of_four("copy4_async", tile, i)
        zero = x.dtype.type(0)
        four = read_four("copy4_async", x, j) if inside else (zero, zero, zero, zero)
        self._clear(tile, i, 4)
        self._started.append((tile, i, four))

    def commit(self) -> None:
        """Make a group of the copies started since the last group."""
        self._groups.append(self._started)
        self._started = []

    def wait(self, n: Any) -> None:
        """Fill the destinations of all groups but the last `n`."""
        done = len(self._groups) - int(n)
        for tile, i, value in (c for g in self._groups[: max(done, 0)] for c in g):
            if isinstance(value, tuple):
                write_four("copy4_async", tile, i, *value)
            else:
                tile[i] = value
        del self._groups[: max(done, 0)]


def _may_copy(call: str, tile: Any, x: Any) -> None:
    """Raise TypeError unless `call` can copy from `x` to `tile`."""
    wrong = refused_four(call, tile) or refused_four(call, x)
    if not wrong and tile.dtype != x.dtype:
        wrong = f"{call} copies bytes: {x.dtype} does not become {tile.dtype}"
    if not wrong and not is_shared(tile):
        wrong = f"{call} copies to shared memory, which its first argument is not"
    if not wrong and is_shared(x):
        wrong = f"{call} copies from global memory; its third argument is shared"
    if wrong:
        raise TypeError(wrong)


def _copies(size: int, cache: str) -> Builder:
    """Return a builder for `cp.async` of `size` bytes.

    cache: "ca" (every level) or "cg" (L2).
    """

    def build(gpu: Lowering, call: str) -> Callable[..., Any]:
        """Return the function that Numba's `intrinsic` takes."""

        def copy_async(
            typingctx: Any, tile: Any, i: Any, x: Any, j: Any, inside: Any
        ) -> Any:
            """Return the signature, and the function that generates the code."""
            gpu.check(call, tile, i, refused_four)
            gpu.check(call, x, j, refused_four, number=3)
            if tile.dtype != x.dtype:
                raise gpu.TypingError(f"{call}: {x.dtype} does not become {tile.dtype}")

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                kinds = signature.args
                to = gpu.shared(context, builder, kinds[:2], args[:2])
                source = gpu.pointer(context, builder, kinds[2:4], args[2:4])
                source = builder.ptrtoint(source, gpu.address)
                inside = context.cast(builder, args[4], kinds[4], gpu.types.int32)
                text = (
                    "{ .reg .pred p; setp.eq.b32 p, $2, 0; cp.async."
                    f"{cache}.shared.global [$0], [$1], {size}, p; }}"
                )
                values = [to, source, inside]
                gpu.assembly(builder, gpu.nothing, text, "r,l,r,~{memory}", values)
                return context.get_dummy_value()

            return gpu.types.void(tile, i, x, j, gpu.types.boolean), codegen

        return copy_async

    return build


@operation(Effect.ASYNCHRONOUS, _copies(4, "ca"), needs=AMPERE)
def copy_async(mine: Copies, tile: Any, i: Any, x: Any, j: Any, inside: Any) -> None:
    """Start a copy from `x[j]`, in global memory, to `tile[i]`, in shared memory.

    If `inside` is false, a zero arrives and `x` is not read.
    """
    mine.copy(tile, i, x, j, inside)


@operation(Effect.ASYNCHRONOUS, _copies(16, "cg"), needs=AMPERE, elements=4)
def copy4_async(mine: Copies, tile: Any, i: Any, x: Any, j: Any, inside: Any) -> None:
    """Start a copy of four elements from global `x[j]` to shared `tile[i]`.

    Source and destination must each begin on a 16-byte boundary. If `inside` is false,
    zeros arrive and `x` is not read.
    """
    mine.copy4(tile, i, x, j, inside)


@operation(
    Effect.ASYNCHRONOUS,
    instruction("cp.async.commit_group;", needs=ANY),
    needs=AMPERE,
)
def commit_group(mine: Copies) -> None:
    """Group the copies that this thread has started since its last group."""
    mine.commit()


@operation(
    Effect.ASYNCHRONOUS,
    instruction("cp.async.wait_group {0};", "LITERAL", needs=ANY),
    needs=AMPERE,
)
def wait_group(mine: Copies, n: Any) -> None:
    """Wait until all of this thread's groups but the last `n` have arrived.

    n: a number that is known when the kernel is compiled.
    """
    mine.wait(n)
