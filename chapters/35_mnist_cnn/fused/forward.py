"""Both convolutions, forward: from bytes of images to the pooled map of the second.

A block of seven warps takes one image after the other. The second convolution is the
matrix product of chapter 21, whose rows are the four pixels of each pooling window, so
that a thread has them all; its left matrix is never made: `ldmatrix` takes the rows
from wherever the pixels are.
"""

from typing import Any

from weft.intrinsics import (
    bf16_pair,
    commit_group,
    copy4_async,
    ldmatrix_x4,
    mma_bf16,
    store4,
    wait_group,
)

from .layout import (
    B1,
    B2,
    PITCH,
    SCALE,
    SHIFT,
    W1,
    over7,
    over14,
    place_window,
)
from .names import cuda, float32, int32, jit, uint32

THREADS = 224
X1 = 64 * PITCH  # w2 comes first, then x1's tile, then the image, twice
IMAGE = X1 + 4096
COPY = 496  # words from the first copy of the image to the second
SHARED = 4 * (IMAGE + 2 * COPY)


@jit
def better(m: Any, k: Any, value: Any, number: Any) -> Any:
    """Return the larger of two values, and its number; the first of equal ones."""
    if value > m:
        return value, number
    return m, k


@jit
def largest(a: Any, b: Any, c: Any, d: Any, scale: Any) -> Any:
    """Return the largest of four numbers times scale, and which one it is."""
    m, k = better(a * scale, int32(0), b * scale, int32(1))
    m, k = better(m, k, c * scale, int32(2))
    return better(m, k, d * scale, int32(3))


@jit
def pooled(a: Any, b: Any, c: Any, d: Any, scale: Any, shift: Any) -> Any:
    """Return the largest of four, scaled and shifted, and which; or 0 and 4."""
    m, k = largest(a, b, c, d, scale)
    m += shift
    if m <= float32(0):
        return float32(0), int32(4)
    return m, k


@jit
def pool_eight(sums: Any, first: Any, scale: Any, shift: Any, out: Any) -> Any:
    """Pool the eight channels of column tiles first ... first + 3.

    sums: (2, tiles, 4), upper and lower pixels. scale, shift: of this thread's
    channels. out: gets four words. Returns the winners, four bits each.
    """
    won = int32(0)
    for j in range(4):
        n = first + j
        a, b = sums[0, n, 0], sums[0, n, 2]
        c, d = sums[1, n, 0], sums[1, n, 2]
        m, k = pooled(a, b, c, d, scale[2 * n], shift[2 * n])
        a, b = sums[0, n, 1], sums[0, n, 3]
        c, d = sums[1, n, 1], sums[1, n, 3]
        o, q = pooled(a, b, c, d, scale[2 * n + 1], shift[2 * n + 1])
        out[j] = bf16_pair(m, o)
        won = int32(won | (k << int32(8 * j)) | (q << int32(8 * j + 4)))
    return won


@jit
def clear(sums: Any, tiles: Any) -> Any:
    for i in range(2):
        for j in range(tiles):
            for k in range(4):
                sums[i, j, k] = float32(0)


@jit
def stage_image(pool: Any, image: Any, t: Any, word: Any) -> Any:
    """Write word t of an image, four pixels, into the second copy of its tile.

    image: where the tile begins in the pool. Word w of a row of the second copy has
    columns 2w + 1 and 2w + 2 of the padded image.
    """
    if t < int32(196):
        row = over7(t)
        col = int32(int32(t - row * int32(7)) * int32(2))
        at = int32(image + int32(COPY) + (row + int32(1)) * int32(16) + col)
        a = float32(word & int32(255)) * SCALE + SHIFT
        b = float32((word >> int32(8)) & int32(255)) * SCALE + SHIFT
        c = float32((word >> int32(16)) & int32(255)) * SCALE + SHIFT
        d = float32((word >> int32(24)) & int32(255)) * SCALE + SHIFT
        pool[uint32(at)] = bf16_pair(a, b)
        pool[uint32(at + int32(1))] = bf16_pair(c, d)


@jit
def shift_image(pool: Any, image: Any, e: Any) -> Any:
    """Make word e of the first copy, columns 2w and 2w + 1, from the second."""
    if e < int32(420):
        row = int32(int32(e * int32(4370)) >> int32(16))  # e // 15
        w = int32(e - row * int32(15))
        at = int32(image + (row + int32(1)) * int32(16) + w)
        left, right = int32(0), int32(0)
        if w > int32(0):
            left = pool[uint32(at + int32(COPY - 1))]
        if w < int32(14):
            right = pool[uint32(at + int32(COPY))]
        high = int32((left >> int32(16)) & int32(0xFFFF))
        pool[uint32(at)] = int32(high | (right << int32(16)))


@jit
def first_filters(theta: Any, lane: Any, fb: Any) -> Any:
    """Make the fragments of w1: 16 taps, four to a row, by 32 channels.

    The fourth tap of a row, and the fourth row, are zeros. Channel 8t + 2j + e is in
    column 2t + e of tile j, so that a thread's eight channels are neighbours.
    """
    g, t = int32(lane >> int32(2)), int32(lane & int32(3))
    for j in range(4):
        ch = int32(int32(8) * (g >> int32(1)) + int32(2 * j) + (g & int32(1)))
        for half in range(2):
            ky = int32((t >> int32(1)) + int32(2 * half))
            kx = int32(int32(2) * (t & int32(1)))
            at = int32(int32(W1) + (ky * int32(3) + kx) * int32(32) + ch)
            lo, hi = float32(0), float32(0)
            if ky < int32(3):
                lo = theta[uint32(at)]
                if kx == int32(0):
                    hi = theta[uint32(at + int32(32))]
            fb[j, half] = bf16_pair(lo, hi)


@jit
def fetch_filters(pool: Any, t: Any, w2: Any) -> Any:
    """Start to copy w2. Row 8j + n is channel 16 (n // 2) + 2j + n % 2."""
    for k in range(11):
        e = int32(t + int32(THREADS * k))
        if e < int32(2304):
            r = int32(int32(e * int32(1821)) >> int32(16))  # e // 36
            p = int32(e - r * int32(36))
            j, n = int32(r >> int32(3)), int32(r & int32(7))
            ch = int32(int32(16) * (n >> int32(1)) + int32(2) * j + (n & int32(1)))
            to = int32(r * int32(PITCH) + p * int32(4))
            copy4_async(pool, to, w2, int32(ch * int32(144) + p * int32(4)), True)
    commit_group()


@jit
def first_layer(
    pool: Any,
    warp: Any,
    lane: Any,
    fb: Any,
    scale: Any,
    shift: Any,
    sums: Any,
    b: Any,
    x1: Any,
    won: Any,
) -> Any:
    """Convolve, pool and write x1 to shared and global memory, eight windows a turn."""
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    out = cuda.local.array(4, int32)
    for turn in range(4):
        q = int32(int32(warp + int32(7 * turn)) * int32(8) + g)
        if int32(warp + int32(7 * turn)) < int32(25):
            known = min(q, int32(195))
            y = over14(known)
            x = int32(known - y * int32(14))
            row = int32(int32(2) * y + (c >> int32(1)))
            at = int32(int32(IMAGE) + row * int32(16) + x + (c & int32(1)))
            clear(sums, 4)
            for i in range(2):  # upper and lower pixels; left ones, then right ones
                a = int32(at + int32(16 * i))
                fa = (
                    pool[uint32(a)],
                    pool[uint32(a + int32(COPY))],
                    pool[uint32(a + int32(32))],
                    pool[uint32(a + int32(COPY + 32))],
                )
                for j in range(4):
                    mma_bf16(sums[i, j], fa, (fb[j, 0], fb[j, 1]))
            winners = pool_eight(sums, 0, scale, shift, out)
            if q < int32(196):
                u = int32(x + int32(1))
                odd = int32(u & int32(1))
                to = place_window(int32(y + int32(1)), int32(u >> int32(1)), odd)
                to = int32(int32(X1) + (to ^ (c << int32(2))))
                store4(pool, to, out[0], out[1], out[2], out[3])
                to = int32(int32(b * int32(196)) + q)
                at = int32(to * int32(16) + c * int32(4))
                store4(x1, at, out[0], out[1], out[2], out[3])
                won[uint32(to * int32(4) + c)] = winners


@jit
def second_products(pool: Any, warp: Any, lane: Any, sums: Any) -> Any:
    """Multiply: 32 pixels by 64 filters a warp, 9 taps, 32 channels."""
    v = min(int32(warp * int32(8) + (lane & int32(7))), int32(48))
    wy = over7(v)
    wx = int32(v - wy * int32(7))
    right = int32((lane >> int32(3)) & int32(1))
    high = int32((lane >> int32(4)) << int32(2))
    filters = int32((lane & int32(7)) + ((lane >> int32(4)) << int32(3)))
    filters = int32(filters * int32(PITCH) + right * int32(4))
    clear(sums, 8)
    for ky in range(3):
        for kx in range(3):
            x = int32(int32(2) * wx + right + int32(kx))
            u, odd = int32(x >> int32(1)), int32(x & int32(1))
            y = int32(int32(2) * wy + int32(ky))
            upper = int32(int32(X1) + (place_window(y, u, odd) ^ high))
            y = int32(y + int32(1))
            lower = int32(int32(X1) + (place_window(y, u, odd) ^ high))
            for half in range(2):
                f = ldmatrix_x4(pool, upper ^ int32(8 * half))
                h = ldmatrix_x4(pool, lower ^ int32(8 * half))
                for j in range(4):
                    step = (3 * ky + kx) * 16 + half * 8 + j * 16 * PITCH
                    w = ldmatrix_x4(pool, int32(filters + int32(step)))
                    mma_bf16(sums[0, 2 * j], f, (w[0], w[1]))
                    mma_bf16(sums[1, 2 * j], h, (w[0], w[1]))
                    mma_bf16(sums[0, 2 * j + 1], f, (w[2], w[3]))
                    mma_bf16(sums[1, 2 * j + 1], h, (w[2], w[3]))


@jit
def second_layer(
    pool: Any, warp: Any, lane: Any, sums: Any, theta: Any, b: Any, x2: Any, won: Any
) -> Any:
    """Convolve x1's tile, pool, and write x2 and its winners."""
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    scale = cuda.local.array(16, float32)
    bias = cuda.local.array(16, float32)
    out = cuda.local.array(4, int32)
    second_products(pool, warp, lane, sums)
    for k in range(16):
        scale[k] = float32(1)
        bias[k] = theta[uint32(int32(B2 + k) + int32(16) * c)]
    v = int32(warp * int32(8) + g)
    if v < int32(49):
        at = int32(int32(b * int32(49)) + v)
        for part in range(2):
            winners = pool_eight(sums, 4 * part, scale, bias, out)
            to = int32(at * int32(32) + c * int32(8) + int32(4 * part))
            store4(x2, to, out[0], out[1], out[2], out[3])
            won[uint32(at * int32(8) + int32(2) * c + int32(part))] = winners


@jit
def start(pool: Any, t: Any, w2: Any) -> Any:
    """Start to copy w2, and clear the frames."""
    fetch_filters(pool, t, w2)
    for k in range(6):
        at = int32(int32(4) * (t + int32(THREADS * k)))
        if at < int32(4096 + 2 * COPY):
            to = int32(int32(X1) + at)
            store4(pool, to, int32(0), int32(0), int32(0), int32(0))


@jit
def prepare_image(pool: Any, t: Any, word: Any) -> Any:
    """Make both copies of an image; word: its t-th."""
    stage_image(pool, int32(IMAGE), t, word)
    cuda.syncthreads()
    for k in range(2):
        shift_image(pool, int32(IMAGE), int32(t + int32(THREADS * k)))
    cuda.syncthreads()


def forward(
    data: Any,
    order: Any,
    counter: Any,
    theta: Any,
    w2: Any,
    x1: Any,
    win1: Any,
    x2: Any,
    win2: Any,
    count: Any,
) -> None:
    """Write the pooled maps of `count` images, as words, and who won.

    data: bytes of images, four to a word; order, counter: image n of the batch is
    order[counter[0] * count + n]. x1: (count, 196, 16) words, x2: (count, 49, 32).
    win1, win2: eight winners to a word.
    """
    pool = cuda.shared.array(0, int32, alignment=16)
    sums = cuda.local.array((2, 8, 4), float32)
    fb = cuda.local.array((4, 2), int32)
    scale = cuda.local.array(8, float32)
    bias = cuda.local.array(8, float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    b, stride = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    first = int32(counter[0] * int32(count))

    word = int32(0)
    if t < int32(196):
        word = data[uint32(order[uint32(first + b)] * int32(196) + t)]
    start(pool, t, w2)
    first_filters(theta, lane, fb)
    for k in range(8):
        scale[k] = float32(1)
        bias[k] = theta[uint32(int32(B1 + k) + int32(8) * (lane & int32(3)))]
    cuda.syncthreads()

    while b < count:
        prepare_image(pool, t, word)
        first_layer(pool, warp, lane, fb, scale, bias, sums, b, x1, win1)
        following = int32(b + stride)
        if following < count and t < int32(196):
            image = order[uint32(first + following)]
            word = data[uint32(image * int32(196) + t)]
        wait_group(0)
        cuda.syncthreads()
        second_layer(pool, warp, lane, sums, theta, b, x2, win2)
        b = following
