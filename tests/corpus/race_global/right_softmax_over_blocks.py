# verdict: pass
# A block publishes the pair of its piece in one word, and waits for the words of its row.
from numba import uint32, uint64
from numba.cuda import libdevice

from weft.intrinsics import peek, poke

FULL = 0xFFFFFFFF
LOWEST = np.float32(np.finfo(np.float32).min)


@cuda.jit(device=True)
def merge_warp(m, s):
    """Merge 32 pairs, one per lane; all lanes get the result."""
    top = m
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(FULL, top, step))
    s *= math.exp(m - top)
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(FULL, s, step)
    return top, s


@cuda.jit(device=True)
def pack(m, s):
    """Put a pair into a word: m into its upper 32 bits, s into its lower."""
    upper = uint64(uint32(libdevice.float_as_int(m))) << uint64(32)
    return upper | uint64(uint32(libdevice.float_as_int(s)))


@cuda.jit(device=True)
def unpack(word):
    """Return the pair in a word."""
    m = libdevice.int_as_float(int32(uint32(word >> uint64(32))))
    return m, libdevice.int_as_float(int32(uint32(word & uint64(FULL))))


@cuda.jit
def softmax_over_blocks(x, words, out):
    """Write the softmax of each row of x; words are 0 at first."""
    tops = cuda.shared.array(32, float32)
    totals = cuda.shared.array(32, float32)
    pieces = words.shape[1]  # blocks per row, at most 32
    row, piece = cuda.blockIdx.x // pieces, cuda.blockIdx.x % pieces
    t, lane = cuda.threadIdx.x, cuda.threadIdx.x % 32
    col = 4 * (cuda.blockDim.x * piece + t)

    # Read four elements, and keep them.
    a, b, c, d = load4(x, (row, col))

    # Find the pair of this block's piece.
    m = max(LOWEST, max(max(a, b), max(c, d)))
    s = math.exp(a - m) + math.exp(b - m) + math.exp(c - m) + math.exp(d - m)
    m, s = merge_warp(m, s)
    if lane == 0:
        tops[t // 32], totals[t // 32] = m, s
    cuda.syncthreads()

    m, s = LOWEST, float32(0)
    if lane < cuda.blockDim.x // 32:
        m, s = tops[lane], totals[lane]
    m, s = merge_warp(m, s)

    # Publish it.
    if t == 0:
        poke(words, (row, piece), pack(m, s))

    # Wait for the pairs of all pieces, one per lane, and merge them.
    m, s = LOWEST, float32(0)
    if lane < pieces:
        word = peek(words, (row, lane))
        while word == 0:
            word = peek(words, (row, lane))
        m, s = unpack(word)
    m, s = merge_warp(m, s)

    # Write the shares.
    r = float32(1) / s
    a, b = math.exp(a - m) * r, math.exp(b - m) * r
    c, d = math.exp(c - m) * r, math.exp(d - m) * r
    store4(out, (row, col), a, b, c, d)


def shares(x):
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def words_of(x):
    """Return each piece's pair, as packed."""
    parts = x.reshape(len(x), -1, 256)
    m = np.maximum(parts.max(axis=2), LOWEST)
    s = np.exp(parts - m[..., None]).sum(axis=2)
    pairs = np.stack([s, m], axis=-1).astype(np.float32)
    return pairs.view(np.uint64)[..., 0]


# Powers of these are 0 or 1, so the sums are exact in any order.
LEVELS = np.float32([0, -200, 150, -np.inf])

CHECK = dict(
    spec=lambda x: (words_of(x), shares(x)),
    inputs=lambda rng, rows, pieces: rng.choice(LEVELS, (rows, 256 * pieces)),
    sizes=[(2, 3), (3, 1)],
    launch=lambda rows, pieces: (rows * pieces, 64),
    out=lambda x: (
        np.zeros((len(x), x.shape[1] // 256), np.uint64),
        np.zeros_like(x),
    ),
)
