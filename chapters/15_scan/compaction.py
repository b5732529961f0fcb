"""Compactions with more elements per thread: in three launches, and in rounds."""

from numba import cuda, float32, int32, uint32, uint64

from weft.intrinsics import load4, poke

from .kernels import ALL, FULL, SUM, load_tile, take
from .rounds import CELLS, looking


@cuda.jit(device=True)
def warp_count(mine):
    """Return the sum of a warp's integers, in all lanes."""
    for bit in (1, 2, 4, 8, 16):
        mine = int32(mine + cuda.shfl_xor_sync(FULL, mine, bit))
    return mine


@cuda.jit(device=True)
def four_votes(v):
    """Return how many are kept in the lanes below, and in the warp."""
    below, all_of_them = int32(0), int32(0)
    for k in range(4):
        votes = cuda.ballot_sync(FULL, v[k] > float32(0))
        below = int32(below + cuda.popc(votes & cuda.lanemask_lt()))
        all_of_them = int32(all_of_them + cuda.popc(votes))
    return below, all_of_them


@cuda.jit
def count_fours(x, found):
    """Write how many elements of each block are positive into found."""
    counts = cuda.shared.array(32, int32)
    v = cuda.local.array(4, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    v[0], v[1], v[2], v[3] = load4(x, 4 * cuda.grid(1))

    mine = four_votes(v)[1]
    if lane == 0:
        counts[warp] = mine
    cuda.syncthreads()
    if warp == 0:
        inside = lane < cuda.blockDim.x // 32
        mine = warp_count(counts[lane] if inside else int32(0))
        if lane == 0:
            found[cuda.blockIdx.x] = mine


@cuda.jit
def keep_fours(x, ends, out):
    """Move the positive elements of x to the front of out, in order."""
    counts = cuda.shared.array(32, int32)
    v = cuda.local.array(4, float32)
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    v[0], v[1], v[2], v[3] = load4(x, 4 * cuda.grid(1))
    before = ends[cuda.blockIdx.x - 1] if cuda.blockIdx.x > 0 else int32(0)

    below, mine = four_votes(v)
    if lane == 0:
        counts[warp] = mine
    cuda.syncthreads()

    mine = warp_count(counts[lane] if lane < warp else int32(0))
    place = int32(before + mine + below)
    for k in range(4):
        if v[k] > float32(0):
            out[place] = v[k]
            place = int32(place + 1)


@cuda.jit(device=True)
def pack_count(flag, count):
    return (uint64(flag) << uint64(32)) | uint64(uint32(count))


@cuda.jit(device=True)
def count_of(word):
    return int32(uint32(word & uint64(0xFFFFFFFF)))


look_back_count = looking(count_of, warp_count, int32)


@cuda.jit(device=True)
def scan_counts(v, place):
    """Let place[j] be how many come before four j in the warp; return all.

    A four keeps 4 at most, a warp's fours j 128: four counts fit into a word.
    """
    mine = int32(0)
    for j in range(4):
        for k in range(4):
            kept = int32(v[4 * j + k] > float32(0))
            mine = int32(mine + (kept << int32(8 * j)))

    upto, lane = mine, int32(cuda.threadIdx.x) & int32(31)
    for k in range(5):
        other = cuda.shfl_up_sync(FULL, upto, 1 << k)
        upto = int32(upto + (other if lane >= 1 << k else int32(0)))
    whole = cuda.shfl_sync(FULL, upto, 31)

    lower, found = int32(upto - mine), int32(0)
    for j in range(4):
        place[j] = int32(found + ((lower >> int32(8 * j)) & int32(255)))
        found = int32(found + ((whole >> int32(8 * j)) & int32(255)))
    return found


@cuda.jit
def keep_rounds(x, out, words, ticket, tiles, count):
    """Move the positive elements of x to the front of out, in order."""
    box = cuda.shared.array(8192, float32)
    counts = cuda.shared.array(32, int32)
    turn = cuda.shared.array(1, int32)
    first = cuda.shared.array(2, int32)
    v = cuda.local.array(16, float32)
    place = cuda.local.array(4, int32)
    t, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
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
            before, own = look_back_count(words, 32 + old)
            if lane == 0:
                poke(words, 32 + old, pack_count(ALL, before + own))
                first[0], first[1] = before, own
                if old == tiles - 1:
                    count[0] = before + own
        cuda.syncthreads()

        if old >= 0:
            for k in range(t, first[1], width):
                out[uint32(first[0] + k)] = box[uint32(slot * CELLS + k)]
        if new < tiles:
            mine = scan_counts(v, place)
            if lane == 0:
                counts[warp] = mine
        if t == 32:
            following = take(ticket)
        cuda.syncthreads()

        if new < tiles:
            if warp == 0:
                total = warp_count(counts[lane] if inside else int32(0))
                if lane == 0:
                    poke(words, 32 + new, pack_count(SUM, total))
            lower = warp_count(counts[lane] if lane < warp else int32(0))
            for j in range(4):
                to = uint32(slot * CELLS + lower + place[j])
                for k in range(4):
                    if v[4 * j + k] > float32(0):
                        box[to] = v[4 * j + k]
                        to = uint32(to + 1)
        if t == 32:
            turn[0] = following
        cuda.syncthreads()

        old, mid, slot = mid, new if new < tiles else int32(-1), int32(1 - slot)
        new = turn[0]
