"""The way back through batch normalisation.

With a = gamma / deviation, and sums over the m numbers of a channel, the gradient
before the second normalisation is, for every pixel,

    dy = a (dz - sum(dz) / m - x^ sum(dz x^) / m) = a dz + p + q y

dz is 0 except where a pixel has won, so `fc1_backward` can add up both sums while it
computes dz: one number for each window. p and q follow, and `backward` needs y, the
result of the second convolution, for every pixel. It copies y to where dy shall be, and
turns it into dy there.
"""

from typing import Any

from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_pair,
    commit_group,
    copy4_async,
    load4,
    store4,
    wait_group,
)

from .backward import (
    DATA,
    DY,
    IMAGES,
    NEXT,
    NEXT_WIN,
    OTHERS,
    SUMS,
    THREADS,
    X1,
    clear,
    data_gradient,
    fetch,
    fetch_filters,
    first_gradient,
    part_of,
    weight_gradient,
    write_first,
    write_image,
    write_weights,
)
from .layout import (
    B2,
    DBETA2,
    DGAMMA2,
    GAMMA2,
    MEAN2,
    OVER2,
    over7,
    place_dy,
    tile_at,
)
from .linear import (
    PAIR,
    PAIRS,
    ROW,
    data_product,
    fetch_columns,
    fetch_gradient,
    weights_tile,
)
from .moments import column_sum
from .names import cuda, float32, int32, jit, uint32
from .norm_forward import halve

SHARED_FC1 = 4 * PAIRS
COLUMNS = 128  # sums of a block: 64 of dz, 64 of dz y


@jit
def channel_of(wn: Any, c: Any, k: Any) -> Any:
    """Return the k-th channel of a lane's eight: column 2 c + k % 2 of tile k // 2."""
    return int32(wn + int32(8 * (k // 2) + k % 2) + int32(2) * c)


@jit
def alive(d: Any, y: Any, scale: Any, shift: Any) -> Any:
    """Return a gradient, or 0 where ReLU cut off the number."""
    return d if y * scale + shift > float32(0) else float32(0)


@jit
def pass_relu(
    word: Any,
    low: Any,
    high: Any,
    scale: Any,
    shift: Any,
    k: Any,
    kept: Any,
) -> Any:
    """Return two gradients after ReLU as a word, and add them to this lane's sums."""
    y, z = bf16_low(word), bf16_high(word)
    low = alive(low, y, scale[k], shift[k])
    high = alive(high, z, scale[k + 1], shift[k + 1])
    rounded = bf16_pair(low, high)
    low, high = bf16_low(rounded), bf16_high(rounded)
    kept[k] += low
    kept[k + 1] += high
    kept[8 + k] += low * y
    kept[9 + k] += high * z
    return rounded


@jit
def write_sums(kept: Any, part: Any, block: Any, wn: Any, cells: Any) -> Any:
    """Add up the lanes' sums, and write part[block]."""
    t = int32(cuda.threadIdx.x)
    lane, half = int32(t & int32(31)), int32((t >> int32(5)) & int32(1))
    halve(kept, 16, lane, 4)
    halve(kept, 8, lane, 8)
    halve(kept, 4, lane, 16)
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    k = int32(int32(2) * (g & int32(2)) + int32(2) * int32(g >> int32(2)))
    to = int32(int32(64) * (g & int32(1)) + wn + int32(4) * k + int32(2) * c)
    cells[half, uint32(to)] = kept[0]
    cells[half, uint32(to + int32(1))] = kept[1]
    cuda.syncthreads()
    total = cells[0, uint32(t)] + cells[1, uint32(t)]
    part[uint32(int32(block * int32(COLUMNS)) + t)] = total


@jit
def data_tiles(
    pool: Any,
    block: Any,
    dh: Any,
    w3: Any,
    pooled: Any,
    theta: Any,
    state: Any,
    dx2: Any,
    part: Any,
    tiles: Any,
) -> Any:
    """dx2 = dh @ w3, 0 where ReLU cut off, and the channels' sums of it."""
    cells = cuda.shared.array((2, COLUMNS), float32)
    sums = cuda.local.array((2, 4, 4), float32)
    words = cuda.local.array((2, 4, 2), int32)
    kept = cuda.local.array(16, float32)
    scale = cuda.local.array(8, float32)
    shift = cuda.local.array(8, float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    groups = int32(49) // tiles
    down = int32(block // groups)
    tile = int32(int32(block - down * groups) * tiles)
    wm = int32((warp & int32(1)) * int32(32))
    wn = int32((warp >> int32(1)) * int32(32))
    r, p = int32(t >> int32(3)), int32(t & int32(7))
    to = tile_at(r, p)
    fetch_gradient(pool, to, dh, down, r, p)
    from_b = int32(r * int32(ROW) + tile * int32(32) + int32(4) * p)
    fetch_columns(pool, to, w3, from_b)
    commit_group()
    for k in range(8):
        channel = channel_of(wn, c, k)
        over = state[uint32(int32(OVER2) + channel)]
        scale[k] = theta[uint32(int32(GAMMA2) + channel)] * over
        mean = state[uint32(int32(MEAN2) + channel)]
        shift[k] = theta[uint32(int32(B2) + channel)] - mean * scale[k]
        kept[k], kept[8 + k] = float32(0), float32(0)
    read = int32(0)
    row = int32(int32(down * int32(64)) + wm + g)
    for n in range(int32(0), int32(tiles)):
        word = int32((tile + n) * int32(32) + (wn >> int32(1)) + c)
        here = int32(row * int32(ROW) + word)
        for i in range(2):
            for j in range(4):
                at = int32(here + int32(16 * ROW * i + 4 * j))
                words[i, j, 0] = pooled[uint32(at)]
                words[i, j, 1] = pooled[uint32(at + int32(8 * ROW))]
        cuda.syncthreads()
        from_b = int32(from_b + int32(32))
        if n + int32(1) < tiles:
            fetch_columns(pool, int32(int32(PAIR) - read + to), w3, from_b)
        commit_group()
        wait_group(1)
        cuda.syncthreads()
        data_product(pool, read, sums, lane, wm, wn)
        read = int32(int32(PAIR) - read)
        for i in range(2):
            for j in range(4):
                at = int32(here + int32(16 * ROW * i + 4 * j))
                a, b = sums[i, j, 0], sums[i, j, 1]
                near = pass_relu(words[i, j, 0], a, b, scale, shift, 2 * j, kept)
                dx2[uint32(at)] = near
                a, b = sums[i, j, 2], sums[i, j, 3]
                far = pass_relu(words[i, j, 1], a, b, scale, shift, 2 * j, kept)
                dx2[uint32(at + int32(8 * ROW))] = far
    write_sums(kept, part, block, wn, cells)


def fc1_backward(
    dh: Any,
    x2: Any,
    w3: Any,
    master: Any,
    following: Any,
    pooled: Any,
    theta: Any,
    state: Any,
    dx2: Any,
    part: Any,
    rate: Any,
    count: Any,
    tiles: Any,
) -> None:
    """Blocks 0 to 97 update fc1's weights; the others compute dx2, through ReLU.

    pooled: x2 before its normalisation. part[block - 98]: (COLUMNS,).
    """
    pool = cuda.shared.array(0, int32, alignment=16)
    block = int32(cuda.blockIdx.x)
    if block < int32(98):
        chunks = int32(int32(count) >> int32(6))
        weights_tile(pool, block, dh, x2, master, following, rate, chunks)
    else:
        on = int32(block - int32(98))
        rest = theta, state, dx2, part, int32(tiles)
        data_tiles(pool, on, dh, w3, pooled, *rest)


@jit
def coefficients(
    total: Any, cells: Any, theta: Any, state: Any, count: Any, factors: Any
) -> Any:
    """Write a, p and q of each channel to factors, (3, 64).

    total: thread t's sum of `fc1_backward`'s parts. Block 0 writes the gradients of
    gamma and beta to `state`.
    """
    t = int32(cuda.threadIdx.x)
    cuda.syncthreads()
    if t < int32(COLUMNS):
        cells[uint32(t)] = total
    cuda.syncthreads()
    if t < int32(64):
        dbeta, product = cells[uint32(t)], cells[uint32(t + int32(64))]
        mean = state[uint32(int32(MEAN2) + t)]
        over = state[uint32(int32(OVER2) + t)]
        dgamma = (product - mean * dbeta) * over
        a = theta[uint32(int32(GAMMA2) + t)] * over
        numbers = float32(count) * float32(196)
        slope = over * dgamma / numbers
        factors[0, uint32(t)] = a
        factors[1, uint32(t)] = a * (mean * slope - dbeta / numbers)
        factors[2, uint32(t)] = -a * slope
        if int32(cuda.blockIdx.x) == int32(0):
            state[uint32(int32(DGAMMA2) + t)] = dgamma
            state[uint32(int32(DBETA2) + t)] = dbeta
    cuda.syncthreads()


@jit
def place_of(q: Any, c: Any, j: Any, buffer: Any) -> Any:
    """Return the word of piece c of pixel j of window q in dy's tile."""
    wy = over7(q)
    wx = int32(q - wy * int32(7))
    y = int32(int32(2) * wy + int32(1 + j // 2))
    x = int32(int32(2) * wx + int32(1 + j % 2))
    return int32(int32(DY) + buffer * int32(8192) + (place_dy(y, x) ^ (c << int32(2))))


@jit
def fetch_pixels(pool: Any, u: Any, buffer: Any, b: Any, y2: Any) -> Any:
    """Start to copy an image of y2 to the tile of dy; thread u copies what it needs."""
    for k in range(2):
        e = int32(u + int32(OTHERS * k))
        if e < int32(392):
            q, c = int32(e >> int32(3)), int32(e & int32(7))
            for j in range(4):
                source = int32(int32(b * int32(49)) + q)
                source = int32(source * int32(128) + int32(32 * j) + c * int32(4))
                copy4_async(pool, place_of(q, c, j, buffer), y2, source, True)
    commit_group()


@jit
def gradient_pair(word: Any, won: Any, j: Any, k: Any, ad: Any, p: Any, q: Any) -> Any:
    """Return dy of two channels: p + q y, and a dz where pixel j has won."""
    low = bf16_low(word) * q[k] + p[k]
    high = bf16_high(word) * q[k + 1] + p[k + 1]
    low += ad[k] if won & int32(15) == j else float32(0)
    high += ad[k + 1] if won & int32(240) == int32(j << 4) else float32(0)
    return bf16_pair(low, high)


@jit
def unpool(pool: Any, factors: Any, u: Any, buffer: Any) -> Any:
    """Turn y2 into dy, in place, eight channels of a window for each item."""
    ad = cuda.local.array(8, float32)
    p = cuda.local.array(8, float32)
    q = cuda.local.array(8, float32)
    for k in range(2):
        e = int32(u + int32(OTHERS * k))
        if e < int32(392):
            window, c = int32(e >> int32(3)), int32(e & int32(7))
            d = load4(pool, int32(int32(NEXT) + e * int32(4)))
            for i in range(4):
                low = uint32(c * int32(8) + int32(2 * i))
                high = uint32(c * int32(8) + int32(2 * i + 1))
                ad[2 * i] = factors[0, low] * bf16_low(d[i])
                ad[2 * i + 1] = factors[0, high] * bf16_high(d[i])
                p[2 * i], p[2 * i + 1] = factors[1, low], factors[1, high]
                q[2 * i], q[2 * i + 1] = factors[2, low], factors[2, high]
            won = pool[uint32(int32(NEXT_WIN) + e)]
            for j in range(4):
                at = place_of(window, c, j, buffer)
                y = load4(pool, at)
                a0 = gradient_pair(y[0], won, j, 0, ad, p, q)
                a1 = gradient_pair(y[1], int32(won >> int32(8)), j, 2, ad, p, q)
                a2 = gradient_pair(y[2], int32(won >> int32(16)), j, 4, ad, p, q)
                a3 = gradient_pair(y[3], int32(won >> int32(24)), j, 6, ad, p, q)
                store4(pool, at, a0, a1, a2, a3)


def backward(
    data: Any,
    order: Any,
    counter: Any,
    w2: Any,
    theta: Any,
    state: Any,
    sums2: Any,
    rows: Any,
    x1: Any,
    win1: Any,
    y2: Any,
    dx2: Any,
    win2: Any,
    part: Any,
    count: Any,
) -> None:
    """Write part[block], as without normalisation, except for b2's gradient.

    y2, win2: what `forward` wrote. dx2, and sums2 (rows, COLUMNS): what `fc1_backward`
    wrote. w1's gradient is that before its normalisation's terms, which `update` adds.
    """
    pool = cuda.shared.array(0, int32, alignment=16)
    image = cuda.shared.array(IMAGES, float32)
    sums1 = cuda.shared.array(SUMS, float32)
    factors = cuda.shared.array((3, 64), float32)
    sums = cuda.local.array((4, 4, 4), float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    first = int32(counter[0] * int32(count))
    fetch_filters(pool, t, w2)
    total = column_sum(sums2, rows, 32, 16, sums1)
    coefficients(total, sums1, theta, state, count, factors)
    clear(pool, image, sums1, sums, t)
    cuda.syncthreads()

    u = int32(t - int32(32 * DATA))
    tap = int32(warp - int32(DATA))
    ty = int32(int32(tap * int32(11)) >> int32(5))  # tap // 3
    tx = int32(tap - ty * int32(3))
    b, stride = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    cur, four = int32(0), int32(0)
    if u >= int32(0):
        fetch_pixels(pool, u, int32(0), b, y2)
        fetch(pool, u, int32(0), b, x1, win1, dx2, win2)
        four = part_of(order, int32(first + b), data, u)
    wait_group(0)
    if u >= int32(0):
        unpool(pool, factors, u, int32(0))
        write_image(image, u, int32(0), four)
    cuda.syncthreads()

    while b < count:
        b = int32(b + stride)
        dy = int32(int32(DY) + cur * int32(8192))
        if u < int32(0):
            data_gradient(pool, dy, warp, lane)
        else:
            other = int32(cur ^ int32(1))
            if b < count:
                fetch_pixels(pool, u, other, b, y2)
                fetch(pool, u, other, b, x1, win1, dx2, win2)
                four = part_of(order, int32(first + b), data, u)
            xs = int32(int32(X1) + cur * int32(4096))
            weight_gradient(pool, sums, dy, xs, lane, ty, tx)
            wait_group(0)
            if b < count:
                unpool(pool, factors, u, other)
                write_image(image, u, other, four)
        cuda.syncthreads()
        first_gradient(pool, image, sums1, warp, lane, cur)
        cuda.syncthreads()
        cur = int32(cur ^ int32(1))
    if u >= int32(0):
        write_weights(sums, part, tap, lane)
    write_first(sums1, part, t)


__all__ = ["SHARED_FC1", "THREADS", "backward", "fc1_backward"]
