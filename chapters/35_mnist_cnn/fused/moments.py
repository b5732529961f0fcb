"""What the first normalisation needs: sums over the images, and no convolution.

The first convolution is a product of nine weights w and the nine pixels x under them.
With s, the sum of all such x, and M, the sum of their outer products,

    sum of w . x = w . s            sum of (w . x)^2 = w . M w

for every filter. s and M do not depend on the filters, so one small kernel computes
them, and the next one knows the mean and the variance of each channel before it starts
to convolve. The gradients need nothing else either: see `update`.
"""

import math
from typing import Any

from weft.intrinsics import bf16_low, bf16_pair, load4, mma_bf16

from .forward import COPY, shift_image, stage_image
from .layout import EPS, W1
from .names import cuda, float32, int32, jit, uint32

WARPS = 8
THREADS = 32 * WARPS
TILE = 2 * COPY  # words of an image, in two copies
TILES = WARPS * TILE
ONES = 0x3F803F80  # two bfloat16
CELLS = 64  # sums of a block, 55 of which are used


@jit
def outer_products(pool: Any, image: Any, lane: Any, sums: Any) -> Any:
    """Add x times x, transposed, for all pixels: 16 x 16, of which 10 x 10 count.

    Rows and columns 0 to 8 are taps, 9 is one. k runs over 32 pixels a row, the last
    four of which count as 0.
    """
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    p = int32(int32(g * int32(11)) >> int32(5))  # g // 3
    q = int32(g - p * int32(3))
    at = int32(image + p * int32(16) + (q >> int32(1)) + c)
    at = int32(at + int32(COPY) * (q & int32(1)))
    last = int32(image + int32(33) + c)
    for y in range(int32(0), int32(28)):
        row = int32(int32(y) * int32(16))
        for half in range(2):
            near, far = int32(row + int32(8 * half)), int32(row + int32(8 * half + 4))
            inside = half == 0 or c < int32(2)
            a0 = pool[uint32(at + near)]
            a2 = pool[uint32(at + far)] if inside else int32(0)
            a1, a3 = int32(0), int32(0)
            if g == int32(0):
                a1 = pool[uint32(last + near)]
                a3 = pool[uint32(last + far)] if inside else int32(0)
            elif g == int32(1):
                a1 = int32(ONES)
                a3 = int32(ONES) if inside else int32(0)
            mma_bf16(sums[0], (a0, a1, a2, a3), (a0, a2))
            mma_bf16(sums[1], (a0, a1, a2, a3), (a1, a3))


def moments(data: Any, order: Any, counter: Any, part: Any, count: Any) -> None:
    """Write part[block], (CELLS,): sums of x[k] x[l] over the block's images.

    The arguments are those of `forward`. Sums k <= l are in cell l (l + 1) / 2 + k,
    where x[9] is 1: cells 45 to 53 are sums of x, and 54 counts the pixels. A warp
    takes one image after the other.
    """
    pool = cuda.shared.array(TILES, int32, alignment=16)
    cells = cuda.shared.array((WARPS, 256), float32)
    sums = cuda.local.array((2, 4), float32)
    words = cuda.local.array(7, int32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    image = int32(warp * int32(TILE))
    for k in range(TILE // 32):
        pool[uint32(image + int32(32 * k) + lane)] = int32(0)
    for j in range(2):
        for k in range(4):
            sums[j, k] = float32(0)
    first = int32(counter[0] * int32(count))
    b = int32(int32(cuda.blockIdx.x) * int32(WARPS) + warp)
    while b < count:
        at = int32(order[uint32(first + b)] * int32(196) + lane)
        for k in range(7):
            inside = int32(lane + int32(32 * k)) < int32(196)
            words[k] = data[uint32(at + int32(32 * k))] if inside else int32(0)
        cuda.syncwarp()
        for k in range(7):
            stage_image(pool, image, int32(lane + int32(32 * k)), words[k])
        cuda.syncwarp()
        for k in range(14):
            shift_image(pool, image, int32(lane + int32(32 * k)))
        cuda.syncwarp()
        outer_products(pool, image, lane, sums)
        b = int32(b + int32(cuda.gridDim.x) * int32(WARPS))

    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    for j in range(2):
        to = int32(g * int32(16) + int32(8 * j) + int32(2) * c)
        cells[warp, uint32(to)] = sums[j, 0]
        cells[warp, uint32(to + int32(1))] = sums[j, 1]
        cells[warp, uint32(to + int32(128))] = sums[j, 2]
        cells[warp, uint32(to + int32(129))] = sums[j, 3]
    cuda.syncthreads()
    row, col = int32(t >> int32(4)), int32(t & int32(15))
    if row <= col and col < int32(10):
        total = float32(0)
        for k in range(WARPS):
            total += cells[k, uint32(t)]
        cell = int32(int32(col * (col + int32(1))) >> int32(1))
        to = int32(int32(cuda.blockIdx.x) * int32(CELLS) + cell + row)
        part[uint32(to)] = total


@jit
def column_sum(part: Any, rows: Any, quads: Any, groups: Any, cells: Any) -> Any:
    """Return the sum of column t of part, for thread t: each block adds all the rows.

    part: (rows, 4 * quads) float32; quads: 16 or 32. groups: how many rows the block
    reads at once, a thread for four columns. cells: 4 * quads * groups numbers of
    shared memory, which are free again after the next barrier.
    """
    t = int32(cuda.threadIdx.x)
    bits = int32(5) if quads == 32 else int32(4)
    group, quad = int32(t >> bits), int32(t & int32(quads - 1))
    a, b, c, d = float32(0), float32(0), float32(0), float32(0)
    if group < int32(groups):
        for k in range(group, int32(rows), int32(groups)):
            at = int32((int32(k) << bits) + quad)
            e, f, g, h = load4(part, int32(at * int32(4)))
            a += e
            b += f
            c += g
            d += h
        to = int32(int32((group << bits) + quad) * int32(4))
        cells[uint32(to)] = a
        cells[uint32(to + int32(1))] = b
        cells[uint32(to + int32(2))] = c
        cells[uint32(to + int32(3))] = d
    cuda.syncthreads()
    total = float32(0)
    if t < int32(4 * quads):
        for k in range(groups):
            total += cells[uint32(t + int32(4 * quads * k))]
    return total


@jit
def taps(theta: Any, channel: Any, w: Any) -> Any:
    """Fetch a filter of w1, rounded as the products have it."""
    for k in range(9):
        value = theta[uint32(int32(W1 + 32 * k) + channel)]
        w[k] = bf16_low(bf16_pair(value, value))


@jit
def weighted(w: Any, m: Any, row: Any) -> Any:
    """Return (M w)[row]; m: the sums that `moments` describes."""
    value = float32(0)
    for k in range(9):
        low, high = (row, k) if row < k else (k, row)
        value += w[k] * m[high * (high + 1) // 2 + low]
    return value


@jit
def first_statistics(w: Any, m: Any) -> Any:
    """Return the mean of a channel of the first convolution, and its variance."""
    mean, square = float32(0), float32(0)
    for k in range(9):
        mean += w[k] * m[45 + k]
        square += w[k] * weighted(w, m, k)
    over = float32(1) / m[54]
    mean *= over
    return mean, max(square * over - mean * mean, float32(0))


@jit
def over_deviation(variance: Any) -> Any:
    return float32(1) / math.sqrt(variance + EPS)
