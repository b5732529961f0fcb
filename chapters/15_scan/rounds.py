"""Scans in one pass with one idea less or more, and scans that look back later."""

from numba import cuda, float32, int32

from weft.intrinsics import load4, peek, poke, store4

from .kernels import (
    ALL,
    FULL,
    SUM,
    flag_of,
    load_tile,
    pack,
    scan_fours,
    start_of,
    store_tile,
    take,
    value_of,
    warp_scan,
    warp_total,
)

CELLS = 4096  # of a tile: 256 threads with four fours


@cuda.jit(device=True)
def alone(words, here):
    """Return what comes before a tile; lane 0 looks, one word at a time."""
    before, k, found = float32(0), here, 0
    if cuda.laneid == 0:
        while found != ALL:
            k -= 1
            word = peek(words, k)
            while flag_of(word) == 0:
                word = peek(words, k)
            before += value_of(word)
            found = flag_of(word)
    return cuda.shfl_sync(FULL, before, 0)


def looking(value_of, total_of, nothing):
    """Return the look-back of exercise 6 as a device function."""

    @cuda.jit(device=True)
    def look_back(words, here):
        """Return what comes before a tile, and the tile's own sum."""
        k, votes = here - cuda.laneid, 0
        before = own = nothing(0)
        while votes == 0:
            word = peek(words, k)
            while flag_of(word) == 0:
                word = peek(words, k)
            votes = cuda.ballot_sync(FULL, flag_of(word) == ALL)
            value = value_of(word)
            if k == here:
                own = value
            elif votes == 0 or cuda.laneid < cuda.ffs(votes):
                before = nothing(before + value)
            k -= 32
        return total_of(before), cuda.shfl_sync(FULL, own, 0)

    return look_back


look_back = looking(value_of, warp_total, float32)


@cuda.jit(device=True)
def together(words, here):
    return look_back(words, here)[0]


@cuda.jit(device=True)
def load_neighbours(x, tile, v):
    """Load this thread's elements of a tile, which are next to each other."""
    t, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    at = int32(v.size) * (tile * width + t)
    for j in range(v.size // 4):
        p, q, r, s = load4(x, at + int32(4 * j))
        v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3] = p, q, r, s


@cuda.jit(device=True)
def scan_neighbours(v, shift):
    """Scan the elements of the warp; return their sum."""
    for k in range(1, v.size):
        v[k] += v[k - 1]
    upto = warp_scan(v[v.size - 1])
    lower = cuda.shfl_up_sync(FULL, upto, 1)
    for j in range(shift.size):
        shift[j] = lower if cuda.laneid > 0 else float32(0)
    return cuda.shfl_sync(FULL, upto, 31)


@cuda.jit(device=True)
def store_neighbours(out, tile, v, shift, first):
    """Store this thread's elements of a tile, next to each other."""
    t, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    at = int32(v.size) * (tile * width + t)
    for j in range(v.size // 4):
        up = first + shift[j]
        p, q = v[4 * j] + up, v[4 * j + 1] + up
        r, s = v[4 * j + 2] + up, v[4 * j + 3] + up
        store4(out, at + int32(4 * j), p, q, r, s)


def once_with(fours, find, parts=(load_tile, scan_fours, store_tile)):
    """Return scan_once with so many fours per thread, and other parts."""
    items = 4 * fours
    load, scan, store = parts

    @cuda.jit
    def kernel(x, out, words, ticket):
        sums = cuda.shared.array(32, float32)
        turn = cuda.shared.array(1, int32)
        v = cuda.local.array(items, float32)
        shift = cuda.local.array(fours, float32)
        t = int32(cuda.threadIdx.x)
        warp, lane = t >> int32(5), t & int32(31)

        if t == 0:
            turn[0] = take(ticket)
        cuda.syncthreads()
        tile = turn[0]

        load(x, tile, v)
        mine = scan(v, shift)
        if lane == 0:
            sums[warp] = mine
        cuda.syncthreads()

        if warp == 0:
            mine = sums[lane] if lane < cuda.blockDim.x // 32 else float32(0)
            upto = warp_scan(mine)
            total = cuda.shfl_sync(FULL, upto, 31)
            if lane == 0:
                poke(words, 32 + tile, pack(SUM, total))
            before = find(words, 32 + tile)
            if lane == 0:
                poke(words, 32 + tile, pack(ALL, before + total))
            sums[lane] = before + upto - mine
        cuda.syncthreads()

        store(out, tile, v, shift, sums[warp])

    return kernel


neighbours = load_neighbours, scan_neighbours, store_neighbours
once_alone = once_with(4, alone)
once_near = once_with(4, together, neighbours)
once_eight = once_with(8, together)
once_sixteen = once_with(16, together)


@cuda.jit(device=True)
def move_on(box, slot, out, tile, first):
    """Store a tile that has waited in the box, with first added."""
    here, there = start_of(slot, 4), start_of(tile, 4)
    for j in range(4):
        p, q, r, s = load4(box, here + int32(128 * j))
        p, q, r, s = p + first, q + first, r + first, s + first
        store4(out, there + int32(128 * j), p, q, r, s)


def scan_rounds(rounds):
    """Return a scan that stores a tile so many rounds after it was read."""
    cells = rounds * CELLS

    @cuda.jit
    def kernel(x, out, words, ticket, tiles):
        box = cuda.shared.array(cells, float32, alignment=16)
        sums = cuda.shared.array(32, float32)
        turn = cuda.shared.array(1, int32)
        first = cuda.shared.array(1, float32)
        v = cuda.local.array(16, float32)
        shift = cuda.local.array(4, float32)
        t = int32(cuda.threadIdx.x)
        warp, lane = t >> int32(5), t & int32(31)
        inside = lane < cuda.blockDim.x // 32

        if t == 0:
            turn[0] = take(ticket)
        cuda.syncthreads()
        new, slot, following = turn[0], int32(0), int32(0)
        old = mid = int32(-1)

        while new < tiles or mid >= 0 or old >= 0:
            if new < tiles:
                load_tile(x, new, v)
            if old >= 0 and warp == 0:
                before, own = look_back(words, 32 + old)
                if lane == 0:
                    poke(words, 32 + old, pack(ALL, before + own))
                    first[0] = before
            cuda.syncthreads()

            if old >= 0:
                move_on(box, slot, out, old, first[0])
            if new < tiles:
                mine = scan_fours(v, shift)
                if lane == 0:
                    sums[warp] = mine
            if t == 32:
                following = take(ticket)
            cuda.syncthreads()

            if new < tiles:
                if warp == 0:
                    total = warp_total(sums[lane] if inside else float32(0))
                    if lane == 0:
                        poke(words, 32 + new, pack(SUM, total))
                mine = warp_total(sums[lane] if lane < warp else float32(0))
                store_tile(box, slot, v, shift, mine)
            if t == 32:
                turn[0] = following
            cuda.syncthreads()

            done = new if new < tiles else int32(-1)
            if rounds == 1:
                old = done
            else:
                old, mid, slot = mid, done, int32(1 - slot)
            new = turn[0]

    return kernel


one_round = scan_rounds(1)
two_rounds = scan_rounds(2)
