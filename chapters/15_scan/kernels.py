"""Kernels and device functions of chapter 15 that the learner does not write."""

from numba import cuda, float32, int32, uint32, uint64
from numba.cuda import libdevice

from weft.intrinsics import load4, peek, store4

FULL = 0xFFFFFFFF  # all 32 lanes
BLOCK = 256
CELLS_PADDED = BLOCK + BLOCK // 32
WIDE = 512  # threads
TILE = 4 * WIDE
SUM, ALL = 1, 2
ITEMS = 16  # elements per thread


@cuda.jit(device=True)
def warp_scan(mine):
    """Return the sum of mine over this lane and all lanes below it."""
    for far in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(FULL, mine, far)
        mine = mine + other if cuda.laneid >= far else mine
    return mine


@cuda.jit
def copy_kernel(x, out):
    """Copy x into out, one element per thread."""
    k = cuda.grid(1)
    if k < x.size:
        out[k] = x[k]


@cuda.jit
def scan_shuffled(x, out):
    """Scan each BLOCK neighbours: lanes, then warps."""
    cells = cuda.shared.array(32, float32)
    k = cuda.grid(1)
    me, my_warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    mine = warp_scan(x[k] if k < x.size else float32(0))
    if me == 31:
        cells[my_warp] = mine
    cuda.syncthreads()
    if my_warp == 0:
        cells[me] = warp_scan(cells[me] if me < 8 else float32(0))
    cuda.syncthreads()
    if k < x.size:
        out[k] = mine + cells[my_warp - 1] if my_warp else mine


@cuda.jit(device=True)
def padded(k):
    """Return where cell k is, with an extra cell after every 32."""
    return k + (k >> 5)


@cuda.jit
def scan_tree_padded(x, out):
    """scan_tree without most of its bank conflicts."""
    tile = cuda.shared.array(CELLS_PADDED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[padded(t)] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    gap = 1
    while gap < BLOCK:
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            tile[padded(end)] += tile[padded(end - gap)]
        cuda.syncthreads()
        gap *= 2

    if t == 0:
        tile[padded(BLOCK - 1)] = float32(0)
    cuda.syncthreads()

    while gap > 1:
        gap //= 2
        end = 2 * gap * (t + 1) - 1
        if end < BLOCK:
            left, right = padded(end - gap), padded(end)
            half = tile[left]
            tile[left] = tile[right]
            tile[right] += half
        cuda.syncthreads()

    if i < x.size:
        out[i] = tile[padded(t)]


@cuda.jit
def sum_tiles(x, out):
    """Write the sum of each TILE neighbours of x into out."""
    cells = cuda.shared.array(32, float32)
    me, my_warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    p, q, r, s = load4(x, 4 * cuda.grid(1))
    mine = warp_scan((p + q) + (r + s))
    if me == 31:
        cells[my_warp] = mine
    cuda.syncthreads()
    if my_warp == 0:
        mine = warp_scan(cells[me] if me < WIDE // 32 else float32(0))
        if me == 31:
            out[cuda.blockIdx.x] = mine


@cuda.jit
def last_of_tiles(x, out):
    """Write the last of each TILE neighbours of x into out."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = x[TILE * (k + 1) - 1]


@cuda.jit
def add_ends(ends, out):
    """Add to each TILE of out the sum of everything before it."""
    first = ends[cuda.blockIdx.x - 1] if cuda.blockIdx.x > 0 else float32(0)
    p, q, r, s = load4(out, 4 * cuda.grid(1))
    store4(out, 4 * cuda.grid(1), first + p, first + q, first + r, first + s)


@cuda.jit
def count_positive(x, found):
    """Write how many elements of each block are positive into found."""
    k = cuda.grid(1)
    n = cuda.syncthreads_count(int32(k < x.size and x[k] > float32(0)))
    if cuda.threadIdx.x == 0:
        found[cuda.blockIdx.x] = n


@cuda.jit(device=True)
def pack(flag, value):
    """Return a word with the flag in its upper half, the float in its lower."""
    low = uint64(uint32(libdevice.float_as_int(value)))
    return (uint64(flag) << uint64(32)) | low


@cuda.jit(device=True)
def flag_of(word):
    return int32(word >> uint64(32))


@cuda.jit(device=True)
def value_of(word):
    return libdevice.int_as_float(int32(uint32(word & uint64(0xFFFFFFFF))))


@cuda.jit(device=True)
def warp_total(mine):
    """Return the sum of a warp's values, in all lanes."""
    for bit in (1, 2, 4, 8, 16):
        mine += cuda.shfl_xor_sync(FULL, mine, bit)
    return mine


@cuda.jit(device=True)
def take(ticket):
    """Return the next tile."""
    return cuda.atomic.add(ticket, 0, 1)


@cuda.jit(device=True)
def take_turn(ticket, words):
    """Return the next tile, or in the check the next of a list of tiles.

    There a block also waits until the tile handed out before has a word.
    """
    number = take(ticket)
    if ticket.size == 1:
        return number
    while number > 0 and flag_of(peek(words, 32 + ticket[number])) == 0:
        pass
    return ticket[1 + number]


@cuda.jit(device=True)
def start_of(tile, fours):
    """Return this thread's first element of a tile."""
    me, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    return int32(4 * fours) * (tile * width + (me & ~31)) + int32(4) * (me & 31)


@cuda.jit(device=True)
def load_tile(x, tile, v):
    """Load this thread's fours of a tile, which are 128 elements apart."""
    fours = v.size // 4
    at = start_of(tile, fours)
    for j in range(fours):
        p, q, r, s = load4(x, at + int32(128 * j))
        v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3] = p, q, r, s


@cuda.jit(device=True)
def scan_fours(v, shift):
    """Scan each four; shift[j] becomes the sum before four j in the warp.

    Returns the sum of all elements of the warp.
    """
    for j in range(shift.size):
        for k in range(1, 4):
            v[4 * j + k] += v[4 * j + k - 1]
        shift[j] = v[4 * j + 3]

    me = int32(cuda.threadIdx.x) & int32(31)
    for k in range(5):  # all fours at once: none waits for another
        far = int32(1 << k)
        for j in range(shift.size):
            other = cuda.shfl_up_sync(FULL, shift[j], far)
            shift[j] += other if me >= far else float32(0)
    mine = float32(0)
    for j in range(shift.size):
        lower = cuda.shfl_up_sync(FULL, shift[j], 1)
        whole = cuda.shfl_sync(FULL, shift[j], 31)
        shift[j] = mine + (lower if me > 0 else float32(0))
        mine += whole
    return mine


@cuda.jit(device=True)
def store_tile(out, tile, v, shift, first):
    """Store this thread's fours, with first and shift added."""
    at = start_of(tile, shift.size)
    for j in range(shift.size):
        up = first + shift[j]
        p, q = v[4 * j] + up, v[4 * j + 1] + up
        r, s = v[4 * j + 2] + up, v[4 * j + 3] + up
        store4(out, at + int32(128 * j), p, q, r, s)


@cuda.jit
def reset(words, ticket):
    """Forget all tiles; 32 words before them hold ALL and 0."""
    k = cuda.grid(1)
    if k < words.size:
        words[k] = pack(ALL if k < 32 else 0, float32(0))
    if k == 0:
        ticket[0] = 0
