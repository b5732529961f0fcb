"""The forward pass with batch normalisation, as far as the first linear layer.

The first layer's statistics come from `moments`, so that `forward` normalises it on the
way. The second layer's are complete only when the last block has finished, but pooling
need not wait for them: y -> gamma (y - mean) / deviation + beta rises where gamma is
positive and falls where it is negative. The largest of four normalised numbers is
therefore the largest or the smallest of the four numbers before, and one number of each
window is left. `fc1` normalises it as it loads it.
"""

from typing import Any

from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_pair,
    commit_group,
    load4,
    store4,
    wait_group,
)

from .forward import (
    THREADS,
    first_filters,
    first_layer,
    largest,
    prepare_image,
    second_products,
    start,
)
from .layout import (
    B1,
    B2,
    GAMMA1,
    GAMMA2,
    MEAN2,
    MOMENTS,
    MOMENTUM,
    OVER2,
    RUN_MEAN1,
    RUN_MEAN2,
    RUN_VAR1,
    RUN_VAR2,
    tile_at,
)
from .linear import (
    ROW,
    STAGE,
    STAGES,
    clear,
    fetch_weights,
    multiply_slice,
    write_slice,
)
from .moments import (
    CELLS,
    column_sum,
    first_statistics,
    over_deviation,
    taps,
)
from .names import cuda, float32, int32, jit, uint32

WARPS = THREADS // 32
QUADS = 4 * THREADS
SHARED_FC1 = 4 * STAGES
SUMS = 128  # of a block: 64 sums of y and 64 of its squares


@jit
def remember(running: Any, at: Any, value: Any) -> Any:
    """Move a running average towards a batch's value."""
    old = running[uint32(at)]
    running[uint32(at)] = old + MOMENTUM * (value - old)


@jit
def first_affine(theta: Any, cells: Any, state: Any, running: Any, affine: Any) -> Any:
    """Write what the first normalisation multiplies by, and adds, for each channel.

    cells: the sums of `moments`. affine: (2, 32). Block 0 also writes the sums to
    `state`, and moves the running averages.
    """
    t = int32(cuda.threadIdx.x)
    w = cuda.local.array(9, float32)
    if t < int32(32):
        taps(theta, t, w)
        mean, variance = first_statistics(w, cells)
        scale = theta[uint32(int32(GAMMA1) + t)] * over_deviation(variance)
        affine[0, uint32(t)] = scale
        affine[1, uint32(t)] = theta[uint32(int32(B1) + t)] - mean * scale
        if int32(cuda.blockIdx.x) == int32(0):
            unbiased = variance * (cells[54] / (cells[54] - float32(1)))
            remember(running, int32(int32(RUN_MEAN1) + t), mean)
            remember(running, int32(int32(RUN_VAR1) + t), unbiased)
    if t < int32(CELLS) and int32(cuda.blockIdx.x) == int32(0):
        state[uint32(int32(MOMENTS) + t)] = cells[uint32(t)]


@jit
def halve(v: Any, size: Any, lane: Any, bit: Any) -> Any:
    """Exchange half of `size` numbers with the lane that differs in `bit`.

    Lanes with the bit clear keep the sums of the first half, the others those of the
    second, in v[:size // 2].
    """
    upper = lane & int32(bit) != int32(0)
    for k in range(size // 2):
        low, high = v[k], v[k + size // 2]
        give = low if upper else high
        v[k] = (high if upper else low) + cuda.shfl_xor_sync(0xFFFFFFFF, give, bit)


@jit
def add_statistics(sums: Any, part: Any, valid: Any, lane: Any, kept: Any) -> Any:
    """Add eight channels of a window to two sums of this lane.

    Over the eight windows of a warp. Lane 4 g + c gets, of channels 16 c + 8 part to
    16 c + 8 part + 7, sums or squares (bit 0 of g), from channel 4 (bit 1) + 2 (bit 2)
    on.
    """
    v = cuda.local.array(16, float32)
    for j in range(4):
        for e in range(2):
            n = 4 * part + j
            a, b = sums[0, n, e], sums[0, n, 2 + e]
            c, d = sums[1, n, e], sums[1, n, 2 + e]
            total, squares = a + b + c + d, a * a + b * b + c * c + d * d
            v[2 * j + e] = total if valid else float32(0)
            v[8 + 2 * j + e] = squares if valid else float32(0)
    halve(v, 16, lane, 4)
    halve(v, 8, lane, 8)
    halve(v, 4, lane, 16)
    kept[part, 0] += v[0]
    kept[part, 1] += v[1]


@jit
def falling(theta: Any, lane: Any) -> Any:
    """Return a bit for each of this lane's channels whose gamma is negative."""
    found = int32(0)
    for k in range(16):
        channel = uint32(int32(GAMMA2 + k) + int32(16) * (lane & int32(3)))
        found |= int32(1 << k) if theta[channel] < float32(0) else int32(0)
    return found


@jit
def sign_of(falls: Any, k: Any) -> Any:
    """Return -1 where bit k is set, else 1."""
    return float32(-1) if falls & int32(1 << k) else float32(1)


@jit
def pool_signed(sums: Any, first: Any, falls: Any, out: Any) -> Any:
    """Pool eight channels before they are normalised: largest or smallest numbers.

    falls: see `falling`. out: gets four words. Returns the winners, four bits each.
    """
    won = int32(0)
    for j in range(4):
        n = first + j
        even, odd = sign_of(falls, 2 * n), sign_of(falls, 2 * n + 1)
        a, b = sums[0, n, 0], sums[0, n, 2]
        c, d = sums[1, n, 0], sums[1, n, 2]
        m, k = largest(a, b, c, d, even)
        a, b = sums[0, n, 1], sums[0, n, 3]
        c, d = sums[1, n, 1], sums[1, n, 3]
        o, q = largest(a, b, c, d, odd)
        out[j] = bf16_pair(m * even, o * odd)
        won = int32(won | (k << int32(8 * j)) | (q << int32(8 * j + 4)))
    return won


@jit
def write_pixels(sums: Any, part: Any, window: Any, c: Any, y2: Any) -> Any:
    """Write eight channels of a window's four pixels, before the normalisation."""
    at = int32(window * int32(128) + c * int32(8) + int32(4 * part))
    for pixel in range(4):
        i, k = pixel // 2, 2 * (pixel % 2)
        n = 4 * part
        words = (
            bf16_pair(sums[i, n, k], sums[i, n, k + 1]),
            bf16_pair(sums[i, n + 1, k], sums[i, n + 1, k + 1]),
            bf16_pair(sums[i, n + 2, k], sums[i, n + 2, k + 1]),
            bf16_pair(sums[i, n + 3, k], sums[i, n + 3, k + 1]),
        )
        to = int32(at + int32(32 * pixel))
        store4(y2, to, words[0], words[1], words[2], words[3])


@jit
def second_layer(
    pool: Any,
    warp: Any,
    lane: Any,
    sums: Any,
    falls: Any,
    b: Any,
    y2: Any,
    pooled: Any,
    won: Any,
    kept: Any,
) -> Any:
    """Convolve x1's tile; write all of it, the pooled map and its winners."""
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    out = cuda.local.array(4, int32)
    second_products(pool, warp, lane, sums)
    v = int32(warp * int32(8) + g)
    valid = v < int32(49)
    at = int32(int32(b * int32(49)) + v)
    for part in range(2):
        if valid:
            write_pixels(sums, part, at, c, y2)
            winners = pool_signed(sums, 4 * part, falls, out)
            to = int32(at * int32(32) + c * int32(8) + int32(4 * part))
            store4(pooled, to, out[0], out[1], out[2], out[3])
            won[uint32(at * int32(8) + int32(2) * c + int32(part))] = winners
        add_statistics(sums, part, valid, lane, kept)


@jit
def write_statistics(kept: Any, warp: Any, lane: Any, cells: Any, part: Any) -> Any:
    """Write the block's sums for the second layer: 64 sums, 64 squares."""
    t = int32(cuda.threadIdx.x)
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    to = int32(int32(64) * (g & int32(1)) + int32(16) * c)
    to = int32(to + int32(2) * (g & int32(2)) + int32(2) * int32(g >> int32(2)))
    for k in range(2):
        at = int32(int32(warp * int32(SUMS)) + to + int32(8 * k))
        cells[uint32(at)] = kept[k, 0]
        cells[uint32(at + int32(1))] = kept[k, 1]
    cuda.syncthreads()
    if t < int32(SUMS):
        total = float32(0)
        for k in range(WARPS):
            total += cells[uint32(t + int32(SUMS * k))]
        part[uint32(int32(cuda.blockIdx.x) * int32(SUMS) + t)] = total


def forward(
    data: Any,
    order: Any,
    counter: Any,
    theta: Any,
    w2: Any,
    moments: Any,
    rows: Any,
    state: Any,
    running: Any,
    x1: Any,
    win1: Any,
    y2: Any,
    pooled: Any,
    win2: Any,
    part: Any,
    count: Any,
) -> None:
    """Convolve twice; normalise the first result, and prepare for the second's.

    data ... w2, x1, win1, count: as without normalisation. moments: (rows, CELLS), of
    the kernel `moments`. y2: the second convolution, (count, 49, 4, 32) words, window
    by window; pooled, win2: one of each four, (count, 49, 32) words, and which.
    part[block]: (SUMS,). state, running: see `layout`.
    """
    pool = cuda.shared.array(0, int32, alignment=16)
    cells = cuda.shared.array(QUADS, float32)
    affine = cuda.shared.array((2, 32), float32)
    sums = cuda.local.array((2, 8, 4), float32)
    kept = cuda.local.array((2, 2), float32)
    fb = cuda.local.array((4, 2), int32)
    scale = cuda.local.array(8, float32)
    shift = cuda.local.array(8, float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    b, stride = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    first = int32(counter[0] * int32(count))

    word = int32(0)
    if t < int32(196):
        word = data[uint32(order[uint32(first + b)] * int32(196) + t)]
    start(pool, t, w2)
    first_filters(theta, lane, fb)
    total = column_sum(moments, rows, 16, 14, cells)
    cuda.syncthreads()
    if t < int32(CELLS):
        cells[uint32(t)] = total
    cuda.syncthreads()
    first_affine(theta, cells, state, running, affine)
    cuda.syncthreads()
    falls = falling(theta, lane)
    for k in range(2):
        kept[k, 0], kept[k, 1] = float32(0), float32(0)

    while b < count:
        prepare_image(pool, t, word)
        for k in range(8):  # anew for each image: there are no registers to keep them
            channel = uint32(int32(k) + int32(8) * (lane & int32(3)))
            scale[k], shift[k] = affine[0, channel], affine[1, channel]
        first_layer(pool, warp, lane, fb, scale, shift, sums, b, x1, win1)
        following = int32(b + stride)
        if following < count and t < int32(196):
            image = order[uint32(first + following)]
            word = data[uint32(image * int32(196) + t)]
        wait_group(0)
        cuda.syncthreads()
        second_layer(pool, warp, lane, sums, falls, b, y2, pooled, win2, kept)
        b = following
    write_statistics(kept, warp, lane, cells, part)


@jit
def second_affine(
    theta: Any, total: Any, cells: Any, state: Any, running: Any, count: Any
) -> Any:
    """Write what the second normalisation multiplies by, and adds, to `cells`.

    total: thread t's sum of `forward`'s parts, of y or of its squares. cells: 64
    factors, then 64 summands. Block (0, 0) also writes mean and 1 / deviation to
    `state`, and moves the running averages.
    """
    t = int32(cuda.threadIdx.x)
    cuda.syncthreads()
    if t < int32(SUMS):
        cells[uint32(t)] = total
    cuda.syncthreads()
    mean, square = float32(0), float32(0)
    numbers = float32(count) * float32(196)
    if t < int32(64):
        mean = cells[uint32(t)] / numbers
        square = cells[uint32(t + int32(64))] / numbers
    cuda.syncthreads()
    if t < int32(64):
        variance = max(square - mean * mean, float32(0))
        over = over_deviation(variance)
        scale = theta[uint32(int32(GAMMA2) + t)] * over
        cells[uint32(t)] = scale
        cells[uint32(t + int32(64))] = theta[uint32(int32(B2) + t)] - mean * scale
        if int32(cuda.blockIdx.x + cuda.blockIdx.y) == int32(0):
            state[uint32(int32(MEAN2) + t)] = mean
            state[uint32(int32(OVER2) + t)] = over
            unbiased = variance * (numbers / (numbers - float32(1)))
            remember(running, int32(int32(RUN_MEAN2) + t), mean)
            remember(running, int32(int32(RUN_VAR2) + t), unbiased)
    cuda.syncthreads()


@jit
def normal_pair(word: Any, scale: Any, shift: Any, k: Any) -> Any:
    """Normalise two numbers, and cut off what is negative."""
    low = bf16_low(word) * scale[k] + shift[k]
    high = bf16_high(word) * scale[k + 1] + shift[k + 1]
    return bf16_pair(max(low, float32(0)), max(high, float32(0)))


@jit
def load_rows(pooled: Any, at: Any, ahead: Any) -> Any:
    """Load a piece of 16 bytes from each of two rows."""
    for k in range(2):
        a, b, c, d = load4(pooled, int32(at + int32(k * 32 * ROW)))
        ahead[k, 0], ahead[k, 1], ahead[k, 2], ahead[k, 3] = a, b, c, d


@jit
def store_rows(
    pool: Any, to: Any, x2: Any, at: Any, ahead: Any, scale: Any, shift: Any
) -> Any:
    """Normalise what `load_rows` loaded, and write it to the tile and to x2."""
    for k in range(2):
        a = normal_pair(ahead[k, 0], scale, shift, 0)
        b = normal_pair(ahead[k, 1], scale, shift, 2)
        c = normal_pair(ahead[k, 2], scale, shift, 4)
        d = normal_pair(ahead[k, 3], scale, shift, 6)
        store4(pool, int32(to + int32(k * 1024)), a, b, c, d)
        store4(x2, int32(at + int32(k * 32 * ROW)), a, b, c, d)


def fc1(
    pooled: Any,
    sums2: Any,
    rows: Any,
    theta: Any,
    state: Any,
    running: Any,
    x2: Any,
    w3: Any,
    part: Any,
    count: Any,
    chunks: Any,
) -> None:
    """Normalise, ReLU: x2; then x2 @ w3.T over a slice of k, as without normalisation.

    sums2: (rows, SUMS), what `forward` wrote. Each number is loaded by one block alone.
    """
    pool = cuda.shared.array(0, int32, alignment=16)
    cells = cuda.shared.array(1024, float32)
    sums = cuda.local.array((2, 4, 4), float32)
    ahead = cuda.local.array((2, 4), int32)
    scale = cuda.local.array(8, float32)
    shift = cuda.local.array(8, float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    row0, slice_ = int32(int32(cuda.blockIdx.x) * int32(64)), int32(cuda.blockIdx.y)
    wm = int32((warp & int32(1)) * int32(32))
    wn = int32((warp >> int32(1)) * int32(32))
    r, p = int32(t >> int32(3)), int32(t & int32(7))
    to = tile_at(r, p)
    column = int32(int32(slice_ * int32(chunks)) * int32(32) + int32(4) * p)
    from_a = int32((row0 + r) * int32(ROW) + column)
    from_b = int32(r * int32(ROW) + column)
    clear(sums)

    fetch_weights(pool, to, w3, from_b)
    commit_group()
    load_rows(pooled, from_a, ahead)
    total = column_sum(sums2, rows, 32, 8, cells)
    second_affine(theta, total, cells, state, running, count)
    for k in range(8):
        channel = uint32(int32(8) * p + int32(k))
        scale[k] = cells[channel]
        shift[k] = cells[channel + uint32(64)]
    store_rows(pool, to, x2, from_a, ahead, scale, shift)
    stage = int32(0)
    for n in range(int32(0), int32(chunks)):
        other = int32(int32(STAGE) - stage)
        on_a = int32(from_a + int32((n + int32(1)) * int32(32)))
        more = n + int32(1) < chunks
        cuda.syncthreads()  # the other pair is free
        if more:
            on_b = int32(from_b + int32((n + int32(1)) * int32(32)))
            fetch_weights(pool, int32(other + to), w3, on_b)
            load_rows(pooled, on_a, ahead)
        commit_group()
        wait_group(1)
        cuda.syncthreads()
        multiply_slice(pool, stage, sums, lane, wm, wn)
        if more:
            store_rows(pool, int32(other + to), x2, on_a, ahead, scale, shift)
        stage = other
    write_slice(part, sums, int32(int32(slice_ * int32(count)) + row0 + wm), wn, lane)
