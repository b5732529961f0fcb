"""Barriers in shared memory that count threads and bytes: mbarriers.

PTX ISA, "mbarrier" and "cp.async.bulk".

An mbarrier is a 64-bit number in shared memory. It goes through phases. A phase is
complete when as many threads have arrived as `mbarrier_init` said, and as many bytes as
they announced. Then the next phase begins. A thread waits for a phase by its parity: 0
for the first, 1 for the second, 0 for the third.
"""

from collections.abc import Iterator
from typing import Any

from weft.intrinsics.instructions import (
    HOPPER,
    instruction,
)
from weft.intrinsics.registry import Effect, operation

MOST_TRIES = 2_000_000  # tries of a wait on a GPU; each one itself takes some time

_WAIT = (
    "{ .reg .pred p; .reg .u32 n; mov.u32 n, 0; "
    "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra DONE; "
    f"add.u32 n, n, 1; setp.gt.u32 p, n, {MOST_TRIES}; @p trap; bra AGAIN; DONE: }}"
)


@operation(
    Effect.PHASES,
    instruction("mbarrier.init.shared::cta.b64 [$0], $1;", "SHARED NUMBER"),
    needs=HOPPER,
)
def mbarrier_init(phases: Any, bars: Any, i: Any, count: Any) -> None:
    """Make `bars[i]` an mbarrier at which `count` threads arrive in each phase.

    bars: a shared array of uint64. `fence_mbarrier_init` and a barrier of the block
    must follow before other threads, or a copy, use the mbarrier.
    """
    phases.init(bars, i, count)


@operation(
    Effect.PHASES,
    instruction("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;"),
    needs=HOPPER,
)
def fence_mbarrier_init(phases: Any) -> None:
    """Make initialised mbarriers visible to copies, and to blocks of the cluster."""
    phases.fence()


@operation(
    Effect.PHASES,
    instruction("mbarrier.arrive.shared::cta.b64 _, [$0];", "SHARED"),
    needs=HOPPER,
)
def mbarrier_arrive(phases: Any, bars: Any, i: Any) -> None:
    """Arrive at the mbarrier `bars[i]`, without waiting.

    This thread's earlier reads and writes are done before any thread passes a wait for
    this phase.
    """
    phases.arrive(bars, i)


@operation(
    Effect.PHASES,
    instruction(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "SHARED NUMBER"
    ),
    needs=HOPPER,
)
def mbarrier_arrive_expect_tx(phases: Any, bars: Any, i: Any, nbytes: Any) -> None:
    """Arrive at `bars[i]`, and announce the number of bytes that copies will bring."""
    phases.arrive(bars, i, nbytes)


@operation(Effect.PHASES, instruction(_WAIT, "SHARED NUMBER"), needs=HOPPER)
def mbarrier_wait(phases: Any, bars: Any, i: Any, parity: Any) -> Iterator[None]:
    """Wait until the phase of `bars[i]` that has this parity, 0 or 1, is complete.

    Returns at once if that is the phase before the current one. On a GPU the wait gives
    up after a few seconds, and the launch fails, rather than waiting for ever.
    """
    yield from phases.wait(bars, i, parity)


@operation(
    Effect.PHASES,
    instruction(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[$0], [$1], $2, [$3];",
        "SHARED GLOBAL NUMBER SHARED",
    ),
    needs=HOPPER,
)
def bulk_copy(
    phases: Any, tile: Any, i: Any, x: Any, j: Any, nbytes: Any, bars: Any, s: Any
) -> None:
    """Start a copy of `nbytes` bytes from `x[j]`, in global memory, to `tile[i]`.

    One thread calls it. The TMA does the rest, and counts the bytes at the mbarrier
    `bars[s]` as they arrive. Both addresses, and the size, must be multiples of 16.
    """
    phases.copy(tile, i, x, j, nbytes, bars, s)
