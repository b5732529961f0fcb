"""Faults for threads that wait for something that never happens."""

import math
from typing import Any

from weft.places import Place, axes, named
from weft.simulator.faults import Fault
from weft.simulator.language import loops
from weft.simulator.running.clusters import Clusters, ClusterWait
from weft.simulator.running.gatherings import Gathering, GroupWait
from weft.simulator.running.phases import HOW_MANY, Mbarrier, PhaseWait
from weft.simulator.running.positions import Positions
from weft.simulator.running.threads import Barrier, Block, Pause, Thread
from weft.simulator.running.warps import AbsentLane, Exchange

SAME_MASK = (
    "Every lane the mask names must reach the same operation, with the same mask."
)
ALL_LANES = (
    "The warp does it as one: every lane must come to the same line, also those whose "
    "results no thread uses. Guard the loads and stores around it, not the operation."
)


WHICH_PARITY = (
    "The first phase has parity 0. Does this wait name the right phase, and which "
    "threads should arrive here, or announce the bytes?"
)
NONE_YET = (
    "All of these threads wait for the first phase of a new mbarrier, and no thread "
    "has arrived at any of them. A wait for parity 1 at a new mbarrier returns at "
    "once. Which of these waits should?"
)

MOST_RANGES = 4  # the most ranges of threads that a message lists


def deadlock(where: Positions, alive: list[Block], clusters: Clusters) -> Fault | None:
    """Return a fault if threads wait for something that can never happen, else None."""
    for block in sorted(alive, key=_behind):
        live = block.live
        stuck = [t for t in live if type(t.waiting) is tuple]
        if any(isinstance(t.waiting, Pause) for t in live):
            continue
        groups = [t for t in live if type(t.waiting) is GroupWait]
        phases = [t for t in live if type(t.waiting) is PhaseWait]
        whole = [t for t in groups if t.waiting.gathering.whole]
        if whole or (groups and not phases):
            groups = whole or groups
            return stuck_group(where, groups[0], block)
        if phases:
            return stuck_phase(where, phases, live)
        if stuck:
            return stuck_warp(where, stuck[0], block)
        if any(type(t.waiting) is ClusterWait for t in live):
            continue
        if not all(at_a_barrier_of(t, "grid", "cluster") for t in live):
            return mixed_barriers(where, live)
    waiting = [t for block in alive for t in block.live]
    for thread in waiting:
        if type(thread.waiting) is ClusterWait:
            absent = clusters.absent(thread.waiting.meeting)
            return stuck_cluster(where, thread, absent or [])
    apart = [t for t in waiting if at_a_barrier_of(t, "cluster")]
    if apart:  # the other blocks of its cluster are at the grid's
        others = [t for t in waiting if at_a_barrier_of(t, "grid")]
        return mixed_barriers(where, [apart[0], *others])
    return None


def _behind(block: Block) -> tuple[bool, int]:
    """Return a sort key that puts first the blocks that others may be waiting for.

    Blocks at an mbarrier that lacks only bytes come before blocks at one that lacks
    arrivals, and earlier phases come before later ones. A block at no mbarrier has the
    lowest key.
    """
    bars = [t.waiting.bar for t in block.live if type(t.waiting) is PhaseWait]
    return min(((bool(bar.missing), bar.phase) for bar in bars), default=(False, 0))


def at_a_barrier_of(thread: Thread, *scopes: str) -> bool:
    """Return whether a thread waits at a barrier of one of `scopes`, such as "grid"."""
    return isinstance(thread.waiting, Barrier) and thread.waiting.name in scopes


def stuck_group(where: Positions, thread: Thread, block: Block) -> Fault:
    """Return the fault for a thread that is stuck waiting for others of its block.

    It waits at a named barrier or for the rest of its warpgroup.
    """
    gathering: Gathering = thread.waiting.gathering
    came, wanted = len(gathering.came), gathering.wanted
    if not gathering.whole:
        return where.fault(
            "barrier",
            f"{came} thread{'s' * (came != 1)} wait{'s' * (came == 1)} at "
            f"`{gathering.name}`, and no others come to it",
            "It lets them continue once as many threads are there as its second "
            "argument says. Which threads call it, and do all of them give the same "
            "number?",
            where.stop(thread),
            thread,
        )
    first = thread.number // wanted * wanted
    others = block.threads[first : first + wanted]
    missing = [t for t in others if t not in gathering.came]
    places, elsewhere = where.stop(thread), ""
    waiting = [t for t in missing if not t.over and not isinstance(t.waiting, Pause)]
    if waiting:
        places += [p for p in where.stop(waiting[0]) if p not in places]
        elsewhere = f"; {listed([waiting[0]], where.block)} waits on " + (
            f"{where.line(waiting[0])}"
        )
    return where.fault(
        "warp",
        f"`{gathering.name}` needs all {wanted} threads of a warpgroup, and "
        f"{listed(missing, where.block)} never come{'s' * (len(missing) == 1)} to it"
        f"{elsewhere}",
        "The four warps of a warpgroup do it as one: each of their threads comes to "
        "the same line, also where only some of them use the result.",
        places,
        thread,
    )


def mixed_barriers(where: Positions, live: list[Thread]) -> Fault:
    """Return the fault for threads that wait where they cannot meet.

    They wait at different barriers, or at one barrier that they reached through
    different calls.
    """
    first = live[0]
    other = next(t for t in live if t.waiting.at != first.waiting.at)
    here = [t for t in live if t.waiting.at == first.waiting.at]
    stops = [where.stop(t) for t in (first, other)]
    lines = [where.line(t) for t in (first, other)]
    there = f"at the one on {lines[1]}"
    if first.waiting.site == other.waiting.site:
        calls = [branch(*stops), branch(*stops[::-1])]
        lines[0] += f" for the call on line {calls[0].line}"
        there = f"there for the call on line {calls[1].line}"
        shown = [*stops[0], *(p for p in stops[1] if p not in stops[0])]
    else:
        stops.sort(key=lambda stop: stop[0].line)
        shown = [*stops[0], *stops[1]]
    return where.fault(
        "barrier",
        f"{listed(here, where.block)} of the block wait{'s' * (len(here) == 1)} at "
        f"the barrier on {lines[0]}, but thread "
        f"{named(axes(other.index, where.block))} waits {there}",
        "A barrier lets a block continue once all its threads have reached the same "
        "barrier. Threads that took different branches never meet.",
        shown,
        first,
    )


def branch(stop: list[Place], other: list[Place]) -> Place:
    """Return the outermost call in `stop` that is not in `other`.

    If `other` has all of them, the outermost is returned.
    """
    return next((p for p in reversed(stop) if p not in other), stop[-1])


def other_rounds(where: Positions, live: list[Thread]) -> Fault | None:
    """Return the fault if threads wait at a barrier in different iterations.

    Returns None otherwise.
    """
    first = live[0]
    stop = where.stop(first)
    for number, loop in enumerate(loops.known):
        mine = first.rounds.get(number)
        if mine is None or not any(loop.has(place) for place in stop):
            continue
        here = [t for t in live if t.rounds.get(number) == mine]
        if len(here) == len(live):
            continue
        other = next(t for t in live if t.rounds.get(number) != mine)
        theirs = other.rounds.get(number, 0)
        return where.fault(
            "barrier",
            f"{listed(here, where.block)} of the block wait{'s' * (len(here) == 1)} at "
            f"the barrier on {where.line(first)} in turn {mine:,} of the loop on line "
            f"{loop.first}, but thread {named(axes(other.index, where.block))} waits "
            f"there in turn {theirs:,}",
            "A barrier lets a block continue once all its threads have reached it in "
            "the same turn of the loop. Does every thread come to it in every turn?",
            stop,
            first,
        )
    return None


def gone_from_the_grid(where: Positions, live: list[Thread], gone: int) -> Fault:
    """Return the fault if threads wait for the grid after `gone` others have ended."""
    return where.fault(
        "barrier",
        f"{gone} of the launch's threads have returned before the grid's "
        "barrier, at which the others wait",
        "It lets them continue once all threads of all blocks have reached it, "
        "including those that have nothing to do.",
        where.stop(live[0]),
        live[0],
    )


def absent_lane(where: Positions, group: list[Thread], absent: AbsentLane) -> Fault:
    """Return the fault for a warp operation that reads from a lane not taking part."""
    reader = next(t for t in group if t.lane == absent.lane)
    exchange, mask, _ = reader.waiting
    site = where.instruction(reader)
    threads = math.prod(where.block)
    if reader.number - reader.lane + absent.source >= threads:
        why = f"The block has {threads} threads, and none of them is that lane."
    elif mask >> absent.source & 1:
        why = (
            f"The mask names lane {absent.source}, but that lane never came "
            f"here: an `if` led it past this line, its loop had ended, or a `return` "
            f"ended it."
        )
    else:
        why = f"The mask 0x{mask:08x} does not name lane {absent.source}."
    apart = [t for t in group if where.instruction(t) != site]
    if apart:
        why += f" Some lanes have reached {where.line(apart[0])} instead."
    return where.fault(
        "warp",
        f"lane {absent.lane} reads from lane {absent.source}, which takes no part "
        f"in this {exchange.name}",
        f"What it would get is undefined. {why}",
        [*where.stop(reader), *(where.stop(apart[0]) if apart else [])],
        reader,
    )


def met_apart(
    where: Positions, exchange: Exchange, group: list[Thread]
) -> Fault | None:
    """Return a fault if lanes meet in warp operations on different lines, else None."""
    stops: dict[tuple[Place, ...], list[Thread]] = {}
    for thread in group:
        stops.setdefault(tuple(where.stop(thread)), []).append(thread)
    if len(stops) == 1:
        return None
    one, two = list(stops)[:2]
    calls = {
        stop: branch([*stop], [*other]) for stop, other in ((one, two), (two, one))
    }
    first, last = sorted(calls, key=lambda stop: calls[stop].line)
    here, there = stops[first], stops[last]
    lines = calls[first].line, calls[last].line
    return where.fault(
        "warp",
        f"{lanes(here)} {'are' if here[1:] else 'is'} at line {lines[0]} while "
        f"{lanes(there)} {'are' if there[1:] else 'is'} at line {lines[1]}, and each "
        f"takes part in the other's {exchange.name}",
        "A warp operation waits until the lanes that its mask names have come to an "
        "operation like it, wherever that is. So the values of the two lines are mixed "
        f"here. What leads {lanes(there)} past line {lines[0]}?",
        [*first, *(p for p in last if p not in first)],
        here[0],
    )


def lanes(threads: list[Thread]) -> str:
    """Name lanes of a warp, as in 'lanes 1–31'."""
    return f"lane{'s' * (len(threads) > 1)} {ranges([t.lane for t in threads])}"


def incomplete_warp(
    where: Positions, group: list[Thread], absent: set[int], warp: list[Thread]
) -> Fault:
    """Return the fault for a whole-warp operation that some lanes never reach."""
    first, lanes = group[0], sorted(absent)
    several = "s" * (len(lanes) > 1)
    if lanes[-1] < len(warp):
        fate = f"ha{'ve' if several else 's'} returned"
    else:
        fate = f"{'are' if several else 'is'} not there: the warp has {len(warp)} lanes"
    return where.fault(
        "warp",
        f"`{first.waiting[0].name}` needs all 32 lanes of a warp, and lane{several} "
        f"{ranges(lanes)} {fate}",
        ALL_LANES,
        where.stop(first),
        first,
    )


def refused_exchange(where: Positions, thread: Thread, error: Exception) -> Fault:
    """Return the fault for a warp operation with unsuitable arguments."""
    name = thread.waiting[0].name
    return where.fault("type", f"{name}: {error}", "", where.stop(thread), thread)


def stuck_warp(where: Positions, thread: Thread, block: Block) -> Fault:
    """Return the fault for a thread that waits for lanes that never arrive."""
    exchange, mask, _ = thread.waiting
    party = where.party(thread)
    warp = block.warps[thread.warp]
    missing = [
        t
        for t in warp
        if not t.over
        and mask >> t.lane & 1
        and not (type(t.waiting) is tuple and where.party(t) == party)
    ]
    other = missing[0]
    places = where.stop(thread)
    elsewhere = ""
    if not isinstance(other.waiting, Pause):
        places += where.stop(other)
        elsewhere = f"; lane {other.lane} waits on {where.line(other)}"
    return where.fault(
        "warp",
        f"{'the' if exchange.whole else 'a'} {exchange.name}"
        f"{'' if exchange.whole else f' with the mask 0x{mask:08x}'} waits "
        f"for lane{'s' * (len(missing) > 1)} {ranges([t.lane for t in missing])}, "
        f"which never arrive{'s' * (len(missing) == 1)}{elsewhere}",
        ALL_LANES if exchange.whole else SAME_MASK,
        places,
        thread,
    )


def stuck_phase(where: Positions, waiting: list[Thread], live: list[Thread]) -> Fault:
    """Return the fault for threads that wait for mbarrier phases that never complete.

    The fault is about the mbarrier in the earliest phase: it may be the reason why the
    phases of the others do not complete.
    """
    thread = min(waiting, key=lambda t: t.waiting.bar.phase)
    wait: PhaseWait = thread.waiting
    bar = wait.bar
    same = [t for t in waiting if t.waiting.bar is bar]
    came = bar.count - bar.missing
    lacks = []
    if bar.missing:
        some = f"{came:,} of {bar.count:,} arrivals have come"
        lacks.append(some if bar.count > 1 else "its only arrival has not come")
    if bar.nbytes > 0:
        lacks.append(f"{bar.nbytes:,} bytes that were announced have not")
    elif bar.nbytes < 0:
        lacks.append(f"copies brought {-bar.nbytes:,} bytes that were not announced")
    others = [t for t in live if t not in same]
    places, elsewhere, question = where.stop(thread), "", WHICH_PARITY
    if others:
        other = others[0]
        elsewhere = f" Meanwhile {listed([other], where.block)} waits on " + (
            f"{where.line(other)}."
        )
        far = farthest(bar, others)
        more = where.stop(other)
        if far is not None:
            ahead, lines = far.ahead(where)
            elsewhere, question = f"{elsewhere} {ahead}", HOW_MANY
            more += lines
        elif untouched([t.waiting for t in (thread, *others)]):
            question = NONE_YET
        places += [p for p in dict.fromkeys(more) if p not in places]
    return where.fault(
        "mbarrier",
        f"{listed(same, where.block)} wait{'s' * (len(same) == 1)} at {bar.name} for "
        f"the phase with parity {wait.parity}, and it never completes: "
        f"{bar.phase:,} phase{'s' * (bar.phase != 1)} of this mbarrier "
        f"{'are' if bar.phase != 1 else 'is'} complete, and in the present one "
        f"{' and '.join(lacks)}.{elsewhere}",
        "A phase is complete once all arrivals have come, and all the bytes that were "
        f"announced. {question}",
        places,
        thread,
    )


def farthest(bar: Mbarrier, others: list[Thread]) -> Mbarrier | None:
    """Return the mbarrier that is farthest ahead of `bar`, by two phases or more.

    In a ring, no mbarrier is more than a phase ahead of the others of its stage.
    Returns None if no other thread waits at such an mbarrier.
    """
    waits = [t.waiting.bar for t in others if isinstance(t.waiting, PhaseWait)]
    far = max(waits, key=lambda one: one.phase, default=bar)
    return far if far.phase > bar.phase + 1 else None


def untouched(waits: list[Any]) -> bool:
    """Return whether all wait at new mbarriers, more than one, where no wait ended.

    At a new mbarrier, nothing has arrived and nothing was announced.
    """
    bars = [wait.bar for wait in waits if isinstance(wait, PhaseWait)]
    new = all(
        not bar.phase and bar.missing == bar.count and not (bar.nbytes or bar.passed)
        for bar in bars
    )
    return new and len(bars) == len(waits) and len(set(bars)) > 1


def stuck_cluster(where: Positions, thread: Thread, absent: list[Thread]) -> Fault:
    """Return the fault for a thread that waits for ever at a cluster's barrier."""
    places, missing = where.stop(thread), "others"
    if absent:
        other = absent[0]
        missing = (
            f"{listed([other], where.block)} of block {other.block.number}, which "
            f"waits on {where.line(other)}"
        )
        places += [p for p in where.stop(other) if p not in places]
    return where.fault(
        "barrier",
        f"`cluster_wait` waits for {missing} and has not arrived at the barrier of the "
        "cluster",
        "It lets a thread continue once all threads of all blocks of the cluster have "
        "arrived that have not ended. Do all of them call `cluster_arrive` or "
        "`cluster_sync` in every turn?",
        places,
        thread,
    )


def listed(threads: list[Thread], block: tuple[int, ...]) -> str:
    """Name threads of a block briefly: 'threads 0–31', 'thread (3, 7)'."""
    indices = [axes(t.index, block) for t in threads]
    if len(indices) == 1:
        return f"thread {named(indices[0])}"
    if len(indices[0]) == 1:
        text = ranges([at[0] for at in indices])
        if text.count(",") < MOST_RANGES:
            return f"threads {text}"
    return f"{len(indices)} threads, {named(indices[0])} among them,"


def ranges(numbers: list[int]) -> str:
    """Write sorted numbers as ranges.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)
