"""The kernels of the family for rows that no block can hold.

Several blocks hold a row. Each publishes the pair of its piece, as one word of 64 bits,
and waits for the pairs of the others. Launches are numbered 0 and 1 in alternation, and
the last bit of a word's sum says which launch stored it. `turns` holds that number, the
*turn*, and a counter: the last block to have read the turn changes it for the next
launch. The chapter's second page, Softmax across blocks, explains why this works.

Instead of the maximum m, these kernels keep a = m log2 e, the exponent for a power of
2. Then 2^(x log2 e - a) takes one multiply-add before the power. (A score beyond
2 * 10^38 would become infinite, but no real score is that large.)
"""

import numpy as np
from numba import cuda, float32, int32, uint32, uint64
from numba.cuda import libdevice

import weft
from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_max,
    bf16_pair,
    commit_group,
    copy4_async,
    exp2,
    load4,
    peek,
    poke,
    store4,
    wait_group,
)

from .kernels import LOWEST, NOTHING, warp_max, warp_sum
from .short_rows import LOG2E

UNIT = 256  # words: a piece begins on a boundary of 1 KB
PAIR_OF_NOTHING = np.uint32(0xFF80FF80).view(np.int32)  # two bfloat16 of -inf


@cuda.jit(device=True, inline=True)
def merge_powers(a, s):
    """Return the pair of 32 pairs, whose maxima are powers of 2."""
    peak = warp_max(a)
    return peak, warp_sum(s * exp2(a - peak))


@cuda.jit(device=True)
def publish(slots, row, piece, a, s, turn):
    """Store the pair of a piece for others to see, marked with the turn."""
    word = uint64(uint32(libdevice.float_as_int(a))) << uint64(32)
    low = uint32(libdevice.float_as_int(s)) & uint32(0xFFFFFFFE)
    poke(slots, (row, piece), word | uint64(low | turn))


@cuda.jit(device=True)
def meet(slots, row, pieces, turn):
    """Wait for the pairs of all pieces and merge them; for a whole warp."""
    a, s = LOWEST, float32(0)
    for k in range(cuda.threadIdx.x % 32, pieces, 32):
        word = peek(slots, (row, k))
        while uint32(word & uint64(1)) != turn:
            word = peek(slots, (row, k))
        a2 = libdevice.int_as_float(int32(word >> uint64(32)))
        s2 = libdevice.int_as_float(int32(word & uint64(0xFFFFFFFE)))
        peak = max(a, a2)
        s = s * exp2(a - peak) + s2 * exp2(a2 - peak)
        a = peak
    return merge_powers(a, s)


def cut(rows, words, span, places, layers):
    """Say how to cut rows: first block, first row, pieces per row; again.

    The first rows are cut more finely, into pieces of a quarter, a half and three
    quarters of the usual size. Their blocks finish sooner, and from then on one block
    on an SM loads while another waits.

    No piece has more than `span` words. `places` blocks fit on the GPU at a
    time, `layers` of them on each SM.
    """
    units, cuts, block, row = -(-words // UNIT), [], 0, 0
    whole = -(-units // (span // UNIT))
    if rows * whole > 2 * places:
        for k in range(1, layers):
            length = -(-units // -(-whole * layers // k))
            pieces = -(-units // length)
            some = max(1, round(places / layers / pieces))
            some = min(some, rows - row - 1)  # one row is left for the rest
            if some > 0:
                cuts += [block, row, pieces]
                block, row = block + some * pieces, row + some
    return (*cuts, block, row, whole)


@cuda.jit(device=True)
def number_of_block(turns, ticket):
    """Return a block's number: all its threads get it.

    The blocks of a row wait for each other, so they have to start in the order of
    their numbers. GPUs start them in the order of `blockIdx.x`, but CUDA does not
    promise it; with `ticket` the number comes from a counter.
    """
    if not ticket:
        return int32(cuda.blockIdx.x)
    mine = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        last = uint32(cuda.gridDim.x - 1)
        mine[0] = int32(cuda.atomic.inc(turns, 2, last))
    cuda.syncthreads()
    return mine[0]


@cuda.jit(device=True, inline=True)
def find(cuts, number):
    """Return the row and the piece that a block does, and the row's pieces."""
    first, row, pieces = int32(0), int32(0), int32(cuts[2])
    for k in range(3, len(cuts), 3):
        if number >= cuts[k]:
            first, row = int32(cuts[k]), int32(cuts[k + 1])
            pieces = int32(cuts[k + 2])
    number -= first
    return row + number // pieces, number % pieces, pieces


@cuda.jit(device=True, inline=True)
def part_of(piece, pieces, cols, threads):
    """Return where a thread's part of a piece begins, and how many fours."""
    units = (cols + int32(UNIT - 1)) // int32(UNIT)
    span = int32(UNIT) * ((units + pieces - int32(1)) // pieces)
    mine = int32(4 * cuda.threadIdx.x)
    left = min(span, cols - piece * span) - mine
    fours = int32(0)
    if left > 0:
        fours = (left + int32(4 * threads - 1)) // int32(4 * threads)
    return piece * span + mine, fours


def arithmetic(half):
    """Make functions of a register's content: one float32, or two bfloat16."""
    if half:

        @cuda.jit(device=True, inline=True)
        def larger(p, q):
            return bf16_max(p, q)

        @cuda.jit(device=True, inline=True)
        def top_of(w):
            return max(bf16_low(w), bf16_high(w))

        @cuda.jit(device=True, inline=True)
        def weight_of(w, a):
            low = exp2(bf16_low(w) * LOG2E - a)
            return low + exp2(bf16_high(w) * LOG2E - a)

        @cuda.jit(device=True, inline=True)
        def share_of(w, a, r):
            low = exp2(bf16_low(w) * LOG2E - a) * r
            return bf16_pair(low, exp2(bf16_high(w) * LOG2E - a) * r)

    else:

        @cuda.jit(device=True, inline=True)
        def larger(p, q):
            return max(p, q)

        @cuda.jit(device=True, inline=True)
        def top_of(w):
            return w

        @cuda.jit(device=True, inline=True)
        def weight_of(w, a):
            return exp2(w * LOG2E - a)

        @cuda.jit(device=True, inline=True)
        def share_of(w, a, r):
            return exp2(w * LOG2E - a) * r

    @cuda.jit(device=True, inline=True)
    def share(out, row, at, four, a, r):
        p, q = share_of(four[0], a, r), share_of(four[1], a, r)
        t, u = share_of(four[2], a, r), share_of(four[3], a, r)
        store4(out, (row, at), p, q, t, u)

    return larger, top_of, weight_of, share


def many_kernel(half, held, kept, threads, registers, ticket=False):
    """Make a kernel whose blocks each hold a piece of a row and then meet.

    A *four* is one access of 16 bytes. Of each thread's part, `kept` fours go to
    shared memory, by copies that do not pass through a register. No other thread
    reads them, so no barrier is needed. The other `held` fours go to registers,
    without being unpacked, so a register holds two bfloat16. The powers are computed
    twice rather than kept.
    """
    kind, nothing = (int32, PAIR_OF_NOTHING) if half else (float32, NOTHING)
    count, cells, warps = 4 * held, 4 * max(kept, 1) * threads, threads // 32
    larger, top_of, weight_of, share = arithmetic(half)
    apart = 4 * threads

    @cuda.jit(**({"max_registers": registers} if weft.GPU else {}))
    def kernel(x, out, slots, turns, cuts):
        tile = cuda.shared.array(cells, kind, alignment=16)
        peaks = cuda.shared.array(warps, float32)
        sums = cuda.shared.array(warps, float32)
        both = cuda.shared.array(2, float32)
        w = cuda.local.array(count, kind)
        me, cols = int32(cuda.threadIdx.x), int32(x.shape[1])
        seen, ended = peek(turns, 0), uint32(0)
        row, piece, pieces = find(cuts, number_of_block(turns, ticket))
        at, fours = part_of(piece, pieces, cols, threads)

        for k in range(kept):
            here = at + apart * k
            copy4_async(tile, 4 * me + apart * k, x, (row, here), k < fours)
        commit_group()
        for k in range(held):
            if kept + k < fours:
                four = load4(x, (row, at + apart * (kept + k)))
                for j in range(4):
                    w[4 * k + j] = four[j]
            else:
                for j in range(4):
                    w[4 * k + j] = nothing

        most = kind(nothing)
        wait_group(0)
        for k in range(kept):
            if k < fours:
                four = load4(tile, 4 * me + apart * k)
                for j in range(4):
                    most = larger(most, four[j])
        for k in range(count):
            most = larger(most, w[k])
        a = warp_max(max(LOWEST, top_of(most) * LOG2E))
        s = float32(0)
        for k in range(kept):
            if k < fours:
                four = load4(tile, 4 * me + apart * k)
                for j in range(4):
                    s += weight_of(four[j], a)
        for k in range(count):
            s += weight_of(w[k], a)
        s = warp_sum(s)
        if me % 32 == 0:
            peaks[me // 32], sums[me // 32] = a, s
        cuda.syncthreads()

        turn = uint32(1) - seen
        if me < 32:
            a, s = LOWEST, float32(0)
            if me < warps:
                a, s = peaks[me], sums[me]
            a, s = merge_powers(a, s)
            if me == 0:
                publish(slots, row, piece, a, s, turn)
                last = uint32(cuda.gridDim.x - 1)
                ended = cuda.atomic.inc(turns, 1, last)
            a, s = meet(slots, row, pieces, turn)
            if me == 0:
                both[0], both[1] = a, float32(1) / s
        cuda.syncthreads()

        a, r = both[0], both[1]
        for k in range(kept):
            if k < fours:
                four = load4(tile, 4 * me + apart * k)
                share(out, row, at + apart * k, four, a, r)
        for k in range(held):
            if kept + k < fours:
                i, here = 4 * k, at + apart * (kept + k)
                four = w[i], w[i + 1], w[i + 2], w[i + 3]
                share(out, row, here, four, a, r)
        if me == 0 and ended == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel


def team_kernel(half, fours, threads, registers):
    """Make a kernel whose blocks stay, in teams that each share a row at a time.

    A block publishes the pair of its piece of a row, and only two rows later looks
    for the pairs of the others. So four rows are in flight: one is being loaded into
    shared memory, one has arrived there and is being weighed, and two are in
    registers, `v` and `w`, until their pairs have been merged.

    The tile, `peaks`, `sums` and `both` each have two halves, and `side` says which
    half belongs to a row. One barrier per row is enough, because a thread that writes
    to a half has passed the barrier that comes after the last read of that half. The
    tile needs no barrier, because each thread reads only what it has copied itself,
    and overwrites only what it has read. A piece is weighed in one pass, two fours at
    a time, with the online softmax.
    """
    kind, nothing = (int32, PAIR_OF_NOTHING) if half else (float32, NOTHING)
    count, apart, warps = 4 * fours, 4 * threads, threads // 32
    cells = fours * apart
    larger, top_of, weight_of, share = arithmetic(half)

    @cuda.jit(device=True, inline=True)
    def fetch(tile, side, x, row, at, end):
        to = int32(4 * cuda.threadIdx.x)
        while at < end:
            copy4_async(tile, (side, to), x, (row, at), True)
            at, to = int32(at + apart), int32(to + apart)
        commit_group()

    @cuda.jit(**({"max_registers": registers} if weft.GPU else {}))
    def kernel(x, out, slots, turns, number):
        tile = cuda.shared.array((2, cells), kind, alignment=16)
        peaks = cuda.shared.array((2, warps), float32)
        sums = cuda.shared.array((2, warps), float32)
        both = cuda.shared.array((2, 2), float32)
        ended = cuda.shared.array(1, uint32)
        v, w = cuda.local.array(count, kind), cuda.local.array(count, kind)
        u = cuda.local.array(8, kind)
        me, rows = int32(cuda.threadIdx.x), int32(x.shape[0])
        teams, side = int32(number), int32(0)
        size = int32(cuda.gridDim.x // teams)
        first = int32(cuda.blockIdx.x // size)
        piece = int32(cuda.blockIdx.x % size)
        at = int32(4 * me + piece * int32(cells))
        end = int32((piece + 1) * int32(cells))
        turn = uint32(1 - peek(turns, 0))
        for k in range(count):
            v[k] = nothing

        fetch(tile, side, x, first, at, end)
        cuda.syncthreads()
        if me == 0:
            ended[0] = cuda.atomic.inc(turns, 1, uint32(cuda.gridDim.x - 1))
        done = int32(first - 2 * teams)
        while done < rows:
            row = int32(done + 2 * teams)
            if row < rows:
                wait_group(0)
                if row + teams < rows:
                    fetch(tile, int32(1 - side), x, int32(row + teams), at, end)
                a, s = LOWEST, float32(0)
                for k in range(0, fours, 2):
                    most = kind(nothing)
                    for i in range(2):
                        four = load4(tile, (side, 4 * me + apart * (k + i)))
                        for j in range(4):
                            u[4 * i + j] = four[j]
                            most = larger(most, four[j])
                    peak = max(a, top_of(most) * LOG2E)
                    s *= exp2(a - peak)
                    for i in range(8):
                        s += weight_of(u[i], peak)
                    a = peak
                a, s = merge_powers(a, s)
                if me % 32 == 0:
                    peaks[side, me // 32], sums[side, me // 32] = a, s
            if me >= threads - 32 and done >= 0:
                a, s = meet(slots, done, size, turn)
                if me == threads - 32:
                    both[side, 0], both[side, 1] = a, float32(1) / s
            cuda.syncthreads()

            if me < 32 and row < rows:
                a, s = LOWEST, float32(0)
                if me < warps:
                    a, s = peaks[side, me], sums[side, me]
                a, s = merge_powers(a, s)
                if me == 0:
                    publish(slots, row, piece, a, s, turn)
            if done >= 0:
                a, r = both[side, 0], both[side, 1]
                for k in range(fours):
                    i, here = 4 * k, at + apart * k
                    four = w[i], w[i + 1], w[i + 2], w[i + 3]
                    share(out, done, here, four, a, r)
            for k in range(count):
                w[k] = v[k]
            if row < rows:
                for k in range(fours):
                    four = load4(tile, (side, 4 * me + apart * k))
                    for j in range(4):
                        v[4 * k + j] = four[j]
            side = int32(1 - side)
            done = int32(done + teams)
        if me == 0 and ended[0] == uint32(cuda.gridDim.x - 1):
            poke(turns, 0, turn)

    return kernel
