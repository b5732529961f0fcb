"""The two linear layers and the loss: forward, backward, and fc1's update.

fc1 has 3136 inputs and 128 outputs. Few blocks would have work if each added up all of
k, so k is split, and the next kernel adds the parts.
"""

import math
from typing import Any

from weft.intrinsics import (
    bf16_pair,
    commit_group,
    copy4_async,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    load4,
    mma_bf16,
    wait_group,
)

from .layout import B3, B4, HEAD, W4, tile_at
from .names import cuda, float32, int32, jit, uint32

ROW = 1568  # words of a row of x2, w3 and dx2
STAGE = 6144  # words of a pair of tiles of fc1
STAGES = 2 * STAGE
PAIR = 4096  # of a pair of tiles of its gradients
PAIRS = 3 * PAIR


@jit
def clear(sums: Any) -> Any:
    for i in range(2):
        for j in range(4):
            for k in range(4):
                sums[i, j, k] = float32(0)


@jit
def multiply(sums: Any, f0: Any, f1: Any, w: Any, j: Any) -> Any:
    """Multiply 32 rows by columns 16 j to 16 j + 15: w is two fragments of b."""
    mma_bf16(sums[0, 2 * j], f0, (w[0], w[1]))
    mma_bf16(sums[1, 2 * j], f1, (w[0], w[1]))
    mma_bf16(sums[0, 2 * j + 1], f0, (w[2], w[3]))
    mma_bf16(sums[1, 2 * j + 1], f1, (w[2], w[3]))


@jit
def fetch_weights(pool: Any, to: Any, w3: Any, from_b: Any) -> Any:
    """Start to copy 128 rows of w3, 64 deep."""
    for k in range(4):
        source = int32(from_b + int32(k * 32 * ROW))
        copy4_async(pool, int32(to + int32(2048 + k * 1024)), w3, source, True)


@jit
def fetch_slice(pool: Any, to: Any, x2: Any, from_a: Any, w3: Any, from_b: Any) -> Any:
    """Start to copy 64 rows of x2 and 128 of w3, 64 deep."""
    for k in range(2):
        source = int32(from_a + int32(k * 32 * ROW))
        copy4_async(pool, int32(to + int32(k * 1024)), x2, source, True)
    fetch_weights(pool, to, w3, from_b)


@jit
def multiply_slice(
    pool: Any, stage: Any, sums: Any, lane: Any, wm: Any, wn: Any
) -> Any:
    """Multiply a pair of tiles, 64 deep: 32 rows by 32 columns a warp."""
    ra = int32(wm + (lane & int32(15)))
    rb = int32(wn + (lane & int32(7)) + ((lane >> int32(4)) << int32(3)))
    for step in range(4):
        pa = int32(int32(2 * step) + (lane >> int32(4)))
        pb = int32(int32(2 * step) + ((lane >> int32(3)) & int32(1)))
        at = int32(stage + tile_at(ra, pa))
        f0 = ldmatrix_x4(pool, at)
        f1 = ldmatrix_x4(pool, int32(at + int32(512)))
        at = int32(stage + int32(2048) + tile_at(rb, pb))
        for j in range(2):
            w = ldmatrix_x4(pool, int32(at + int32(512 * j)))
            multiply(sums, f0, f1, w, j)


@jit
def write_slice(part: Any, sums: Any, row0: Any, wn: Any, lane: Any) -> Any:
    """Write a warp's sums: rows from row0, columns from wn."""
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    row = int32(row0 + g)
    for i in range(2):
        for j in range(4):
            at = int32((row + int32(16 * i)) * int32(128) + wn + int32(8 * j))
            at = int32(at + int32(2) * c)
            part[uint32(at)] = sums[i, j, 0]
            part[uint32(at + int32(1))] = sums[i, j, 1]
            part[uint32(at + int32(1024))] = sums[i, j, 2]
            part[uint32(at + int32(1025))] = sums[i, j, 3]


def fc1(x2: Any, w3: Any, part: Any, count: Any, chunks: Any) -> None:
    """Write x2 @ w3.T over a slice of k into part[slice]: (count, 128) float32.

    A block of 256 threads does 64 rows. chunks: how many times 64 a slice is.
    """
    pool = cuda.shared.array(STAGES, int32, alignment=16)
    sums = cuda.local.array((2, 4, 4), float32)
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

    fetch_slice(pool, to, x2, from_a, w3, from_b)
    commit_group()
    stage = int32(0)
    for n in range(int32(0), int32(chunks)):
        other = int32(int32(STAGE) - stage)
        cuda.syncthreads()  # the other pair is free
        if n + int32(1) < chunks:
            ahead = int32((n + int32(1)) * int32(32))
            on_a, on_b = int32(from_a + ahead), int32(from_b + ahead)
            fetch_slice(pool, int32(other + to), x2, on_a, w3, on_b)
        commit_group()
        wait_group(1)
        cuda.syncthreads()
        multiply_slice(pool, stage, sums, lane, wm, wn)
        stage = other
    write_slice(part, sums, int32(int32(slice_ * int32(count)) + row0 + wm), wn, lane)


@jit
def warp_sum(x: Any) -> Any:
    for delta in (16, 8, 4, 2, 1):
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, delta)
    return x


@jit
def hidden(
    part: Any, theta: Any, row: Any, lane: Any, count: Any, sevens: Any, h: Any
) -> Any:
    """Add the slices, seven at a time, and the bias; ReLU. Four numbers per lane."""
    for e in range(4):
        h[e] = theta[uint32(int32(B3 + e) + int32(4) * lane)]
    at = int32(int32(row * int32(128)) + int32(4) * lane)
    step = int32(int32(count) * int32(128))
    for _ in range(int32(0), int32(sevens)):
        for k in range(7):
            a, b, c, d = load4(part, int32(at + int32(k) * step))
            h[0] += a
            h[1] += b
            h[2] += c
            h[3] += d
        at = int32(at + int32(7) * step)
    for e in range(4):
        h[e] = max(h[e], float32(0))


@jit
def probabilities(h: Any, w4: Any, theta: Any, label: Any, z: Any) -> Any:
    """Write a row's ten probabilities to z; return its loss, and 1 if it is right."""
    top, best, mine = float32(-1e30), int32(0), float32(0)
    for k in range(10):
        product = float32(0)
        for e in range(4):
            product += h[e] * w4[k, e]
        z[k] = warp_sum(product) + theta[B4 + k]
        if z[k] > top:
            top, best = z[k], int32(k)
        if label == int32(k):
            mine = z[k]
    whole = float32(0)
    for k in range(10):
        z[k] = math.exp(z[k] - top)
        whole += z[k]
    over = float32(1) / whole
    for k in range(10):
        z[k] *= over
    hit = float32(1) if best == label else float32(0)
    return math.log(whole) + top - mine, hit


@jit
def keep(cells: Any, dw4: Any, db4: Any, db3: Any) -> Any:
    """Write a warp's sums into its row of shared memory."""
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    for e in range(4):
        for k in range(10):
            to = int32(int32(128 * k + e) + int32(4) * lane)
            cells[warp, uint32(to)] = dw4[k, e]
        cells[warp, uint32(int32(1290 + e) + int32(4) * lane)] = db3[e]
    if lane == int32(0):
        for k in range(10):
            cells[warp, 1280 + k] = db4[k]


@jit
def add_warps(cells: Any, parts: Any) -> Any:
    """Add the sums of the block's four warps."""
    for k in range(12):
        at = int32(int32(cuda.threadIdx.x) + int32(128 * k))
        if at < int32(1420):
            cell = uint32(at)
            value = cells[0, cell] + cells[1, cell] + cells[2, cell] + cells[3, cell]
            parts[uint32(int32(cuda.blockIdx.x) * int32(HEAD) + at)] = value


def head(
    part: Any,
    theta: Any,
    labels: Any,
    order: Any,
    counter: Any,
    dh: Any,
    parts: Any,
    count: Any,
    sevens: Any,
    rows: Any,
) -> None:
    """Finish fc1, then fc2, log-softmax, the loss and all their gradients.

    A warp does `rows` rows, lane l inputs 4 l to 4 l + 3. dh: the gradient before fc1's
    ReLU, (count, 64) words. parts[block]: sums over the block's rows for w4, b4, b3,
    the loss and the number of right answers.
    """
    cells = cuda.shared.array((4, 1420), float32)
    w4 = cuda.local.array((10, 4), float32)
    dw4 = cuda.local.array((10, 4), float32)
    db4 = cuda.local.array(10, float32)
    db3 = cuda.local.array(4, float32)
    z = cuda.local.array(10, float32)
    h = cuda.local.array(4, float32)
    dx = cuda.local.array(4, float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    first = int32(counter[0] * int32(count))
    for k in range(10):
        db4[k] = float32(0)
        for e in range(4):
            w4[k, e] = theta[uint32(int32(W4 + 128 * k + e) + int32(4) * lane)]
            dw4[k, e] = float32(0)
    for e in range(4):
        db3[e] = float32(0)
    total, right = float32(0), float32(0)
    over = float32(1) / float32(count)

    for n in range(int32(0), int32(rows)):
        row = int32(int32(int32(cuda.blockIdx.x) * int32(4) + warp) * int32(rows) + n)
        label = int32(labels[uint32(order[uint32(first + row)])])
        hidden(part, theta, row, lane, count, sevens, h)
        lost, hit = probabilities(h, w4, theta, label, z)
        total += lost
        right += hit
        for e in range(4):
            dx[e] = float32(0)
        for k in range(10):
            d = z[k] * over
            if label == int32(k):
                d -= over
            db4[k] += d
            for e in range(4):
                dw4[k, e] += d * h[e]
                dx[e] += d * w4[k, e]
        for e in range(4):
            dx[e] = dx[e] if h[e] > float32(0) else float32(0)
            db3[e] += dx[e]
        at = int32(row * int32(64) + int32(2) * lane)
        dh[uint32(at)] = bf16_pair(dx[0], dx[1])
        dh[uint32(at + int32(1))] = bf16_pair(dx[2], dx[3])

    keep(cells, dw4, db4, db3)
    if lane == int32(0):
        cells[warp, 1418] = total
        cells[warp, 1419] = right
    cuda.syncthreads()
    add_warps(cells, parts)


@jit
def fetch_pair(pool: Any, to: Any, dh: Any, from_a: Any, x2: Any, from_b: Any) -> Any:
    """Start to copy 64 rows of 32 words of dh and of x2."""
    for k in range(4):
        at = int32(to + int32(k * 512))
        copy4_async(pool, at, dh, int32(from_a + int32(k * 1024)), True)
        source = int32(from_b + int32(k * 16 * ROW))
        copy4_async(pool, int32(at + int32(2048)), x2, source, True)


@jit
def multiply_pair(pool: Any, read: Any, sums: Any, lane: Any, wm: Any, wn: Any) -> Any:
    """Multiply a pair of tiles, 64 deep, whose rows are k in both."""
    for step in range(4):
        row = (lane & int32(7)) + ((lane >> int32(4)) << int32(3))
        ra = int32(int32(16 * step) + row)
        piece = int32((wm >> int32(3)) + ((lane >> int32(3)) & int32(1)))
        f0 = ldmatrix_x4_trans(pool, int32(read + tile_at(ra, piece)))
        piece = int32(piece + int32(2))
        f1 = ldmatrix_x4_trans(pool, int32(read + tile_at(ra, piece)))
        rb = int32(int32(16 * step) + (lane & int32(15)))
        for j in range(2):
            piece = int32((wn >> int32(3)) + int32(2 * j) + (lane >> int32(4)))
            at = int32(read + int32(2048) + tile_at(rb, piece))
            multiply(sums, f0, f1, ldmatrix_x4_trans(pool, at), j)


@jit
def weights_tile(
    pool: Any,
    block: Any,
    dh: Any,
    x2: Any,
    master: Any,
    following: Any,
    rate: Any,
    chunks: Any,
) -> Any:
    """w3 -= rate * dh.T @ x2 for a tile of 64 x 64, three pairs of tiles in turn."""
    sums = cuda.local.array((2, 4, 4), float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    down = int32(1) if block >= int32(49) else int32(0)
    across = int32(block - down * int32(49))
    wm = int32((warp & int32(1)) * int32(32))
    wn = int32((warp >> int32(1)) * int32(32))
    r, p = int32(t >> int32(3)), int32(t & int32(7))
    to = tile_at(r, p)
    from_a = int32(r * int32(64) + down * int32(32) + int32(4) * p)
    from_b = int32(r * int32(ROW) + across * int32(32) + int32(4) * p)
    clear(sums)
    write, read = int32(0), int32(0)
    for n in range(2):
        if int32(n) < chunks:
            fetch_pair(pool, int32(write + to), dh, from_a, x2, from_b)
        commit_group()
        from_a, from_b = int32(from_a + int32(4096)), int32(from_b + int32(64 * ROW))
        write = int32(write + int32(PAIR))
    for n in range(int32(0), int32(chunks)):
        wait_group(1)
        cuda.syncthreads()
        if n + int32(2) < chunks:
            fetch_pair(pool, int32(write + to), dh, from_a, x2, from_b)
        commit_group()
        from_a, from_b = int32(from_a + int32(4096)), int32(from_b + int32(64 * ROW))
        multiply_pair(pool, read, sums, lane, wm, wn)
        read = int32(read + int32(PAIR)) if read < int32(2 * PAIR) else int32(0)
        write = int32(write + int32(PAIR)) if write < int32(2 * PAIR) else int32(0)
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    row = int32(int32(down * int32(64)) + wm + g)
    word = int32(int32(across * int32(32)) + (wn >> int32(1)) + c)
    for i in range(2):
        for j in range(4):
            for half in range(2):
                line = int32(row + int32(16 * i + 8 * half))
                at = int32(line * int32(ROW) + word + int32(4 * j))
                even, odd = uint32(at * int32(2)), uint32(at * int32(2) + int32(1))
                lo = master[even] - rate * sums[i, j, 2 * half]
                hi = master[odd] - rate * sums[i, j, 2 * half + 1]
                master[even] = lo
                master[odd] = hi
                following[uint32(at)] = bf16_pair(lo, hi)


@jit
def fetch_gradient(pool: Any, to: Any, dh: Any, down: Any, r: Any, p: Any) -> Any:
    """Start to copy 64 rows of dh, two tiles of 64 x 64, to the last third."""
    for k in range(8):
        source = int32((down * int32(64) + r + int32(k // 2 * 16)) * int32(64))
        source = int32(source + int32(k % 2 * 32) + int32(4) * p)
        at = int32(to + int32(8192 + k % 2 * 2048 + k // 2 * 512))
        copy4_async(pool, at, dh, source, True)


@jit
def fetch_columns(pool: Any, to: Any, w3: Any, from_b: Any) -> Any:
    """Start to copy 64 columns of w3, 128 deep."""
    for k in range(8):
        source = int32(from_b + int32(k * 16 * ROW))
        copy4_async(pool, int32(to + int32(k * 512)), w3, source, True)


@jit
def data_product(pool: Any, read: Any, sums: Any, lane: Any, wm: Any, wn: Any) -> Any:
    """Multiply dh's tile by one of w3, 128 deep: 32 rows by 32 columns a warp."""
    clear(sums)
    for half in range(2):
        for step in range(4):
            piece = int32(int32(2 * step) + (lane >> int32(4)))
            at = tile_at(int32(wm + (lane & int32(15))), piece)
            at = int32(at + int32(8192 + 2048 * half))
            f0 = ldmatrix_x4(pool, at)
            f1 = ldmatrix_x4(pool, int32(at + int32(512)))
            rb = int32(int32(16 * step) + (lane & int32(15)))
            for j in range(2):
                piece = int32((wn >> int32(3)) + int32(2 * j) + (lane >> int32(4)))
                at = int32(read + int32(2048 * half) + tile_at(rb, piece))
                multiply(sums, f0, f1, ldmatrix_x4_trans(pool, at), j)


@jit
def data_tiles(pool: Any, block: Any, dh: Any, w3: Any, dx2: Any, tiles: Any) -> Any:
    """dx2 = dh @ w3 for 64 rows and `tiles` tiles of 64 columns, one after the other.

    The first two thirds of the pool are for w3's tiles, in turn; dh stays in the last.
    """
    sums = cuda.local.array((2, 4, 4), float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
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
    read = int32(0)
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    for n in range(int32(0), int32(tiles)):
        cuda.syncthreads()
        from_b = int32(from_b + int32(32))
        if n + int32(1) < tiles:
            fetch_columns(pool, int32(int32(PAIR) - read + to), w3, from_b)
        commit_group()
        wait_group(1)
        cuda.syncthreads()
        data_product(pool, read, sums, lane, wm, wn)
        read = int32(int32(PAIR) - read)
        row = int32(int32(down * int32(64)) + wm + g)
        word = int32((tile + n) * int32(32) + (wn >> int32(1)) + c)
        for i in range(2):
            for j in range(4):
                at = int32((row + int32(16 * i)) * int32(ROW) + word + int32(4 * j))
                dx2[uint32(at)] = bf16_pair(sums[i, j, 0], sums[i, j, 1])
                at = int32(at + int32(8 * ROW))
                dx2[uint32(at)] = bf16_pair(sums[i, j, 2], sums[i, j, 3])


def fc1_backward(
    dh: Any,
    x2: Any,
    w3: Any,
    master: Any,
    following: Any,
    dx2: Any,
    rate: Any,
    count: Any,
    tiles: Any,
) -> None:
    """Blocks 0 to 97 update fc1's weights, all others compute dx2.

    w3: the weights in bfloat16 that dx2 needs, so the new ones go to `following`, and
    in float32 to `master`.
    """
    pool = cuda.shared.array(PAIRS, int32, alignment=16)
    block = int32(cuda.blockIdx.x)
    if block < int32(98):
        chunks = int32(int32(count) >> int32(6))
        weights_tile(pool, block, dh, x2, master, following, rate, chunks)
    else:
        data_tiles(pool, int32(block - int32(98)), dh, w3, dx2, int32(tiles))
