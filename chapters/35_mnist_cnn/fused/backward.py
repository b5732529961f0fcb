"""Both convolutions, backward: from the gradient of the pooled map to all gradients.

A block of 16 warps takes one image after the other. Seven warps compute the gradient of
x1; the other nine the gradient of w2, one tap each, whose sums stay in registers until
the last image, and they prepare the next image. Then all of them send x1's gradient on
to w1. Neither the gradient of x1 nor the unpooled one of x2 is ever in global memory.
"""

from typing import Any

from weft.intrinsics import (
    bf16_high,
    bf16_low,
    bf16_pair,
    commit_group,
    copy4_async,
    copy_async,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    load4,
    mma_bf16,
    store4,
    wait_group,
)

from .layout import (
    B2,
    CONV,
    PITCH,
    SCALE,
    SHIFT,
    W1,
    over7,
    over14,
    place_dy,
    place_x1,
)
from .names import cuda, float32, int32, jit, uint32

THREADS = 512
DATA = 7  # warps for the gradient of x1
OTHERS = 288  # threads of the nine other warps
DY = 64 * PITCH  # w2 comes first; then twice dy, unpooled, with its frame
X1 = DY + 2 * 8192  # twice
DX = X1 + 2 * 4096  # 196 pixels of 20 words
WIN = DX + 3920  # twice: who won in x1
NEXT = WIN + 2 * 784  # the pooled gradient, and who won, of the next image
NEXT_WIN = NEXT + 1568
SHARED = 4 * (NEXT_WIN + 392)
FRAMED = 34  # numbers of a row of the image
IMAGE = 1024  # numbers of an image
IMAGES = 2 * IMAGE
SUMS = 16 * 320  # of w1 and b1, for each warp


@jit
def fetch(
    pool: Any, u: Any, buffer: Any, b: Any, x1: Any, win1: Any, dx2: Any, win2: Any
) -> Any:
    """Start the copies of an image by thread u of OTHERS."""
    for k in range(3):
        e = int32(u + int32(OTHERS * k))
        if e < int32(784):
            q, c = int32(e >> int32(2)), int32(e & int32(3))
            y = over14(q)
            x = int32(q - y * int32(14))
            at = place_x1(int32(y + int32(1)), int32(x + int32(1))) ^ (c << int32(2))
            to = int32(int32(X1) + buffer * int32(4096) + at)
            source = int32(int32(b * int32(3136)) + e * int32(4))
            copy4_async(pool, to, x1, source, True)
    if u < int32(196):
        to = int32(int32(WIN) + buffer * int32(784) + u * int32(4))
        copy4_async(pool, to, win1, int32(int32(b * int32(784)) + u * int32(4)), True)
    for k in range(2):
        e = int32(u + int32(OTHERS * k))
        if e < int32(392):
            source = int32(int32(b * int32(1568)) + e * int32(4))
            copy4_async(pool, int32(int32(NEXT) + e * int32(4)), dx2, source, True)
            source = int32(int32(b * int32(392)) + e)
            copy_async(pool, int32(int32(NEXT_WIN) + e), win2, source, True)
    commit_group()


@jit
def chosen(word: Any, won: Any, j: Any) -> Any:
    """Return a word of two channels, each where pixel j is the winner."""
    low = word & int32(0xFFFF) if won & int32(15) == j else int32(0)
    high = word & int32(-65536) if won & int32(240) == int32(j << 4) else int32(0)
    return int32(low | high)


@jit
def add_alive(cells: Any, e: Any, k: Any, value: Any, won: Any) -> Any:
    """Add a gradient to the sum of its channel's bias, unless ReLU cut it off."""
    if won & int32(4 << 4 * k) == int32(0):
        cells[e, k] += value


@jit
def unpool(pool: Any, biases: Any, u: Any, buffer: Any) -> Any:
    """Write the gradient before pooling, eight channels of a window for each item."""
    for k in range(2):
        e = uint32(u + int32(OTHERS * k))
        if e < uint32(392):
            q, c = int32(e >> uint32(3)), int32(e & uint32(7))
            d = load4(pool, int32(int32(NEXT) + int32(e) * int32(4)))
            won = pool[uint32(NEXT_WIN) + e]
            wy = over7(q)
            wx = int32(q - wy * int32(7))
            for j in range(4):
                y = int32(int32(2) * wy + int32(1 + j // 2))
                x = int32(int32(2) * wx + int32(1 + j % 2))
                at = int32(place_dy(y, x) ^ (c << int32(2)))
                at = int32(int32(DY) + buffer * int32(8192) + at)
                a0 = chosen(d[0], won, j)
                a1 = chosen(d[1], int32(won >> int32(8)), j)
                a2 = chosen(d[2], int32(won >> int32(16)), j)
                a3 = chosen(d[3], int32(won >> int32(24)), j)
                store4(pool, at, a0, a1, a2, a3)
            add_alive(biases, e, 0, bf16_low(d[0]), won)
            add_alive(biases, e, 1, bf16_high(d[0]), won)
            add_alive(biases, e, 2, bf16_low(d[1]), won)
            add_alive(biases, e, 3, bf16_high(d[1]), won)
            add_alive(biases, e, 4, bf16_low(d[2]), won)
            add_alive(biases, e, 5, bf16_high(d[2]), won)
            add_alive(biases, e, 6, bf16_low(d[3]), won)
            add_alive(biases, e, 7, bf16_high(d[3]), won)


@jit
def write_image(image: Any, u: Any, buffer: Any, four: Any) -> Any:
    """Write four pixels, as the forward pass rounded them."""
    if u < int32(196):
        row = over7(u)
        col = int32(int32(u - row * int32(7)) * int32(4))
        at = int32(buffer * int32(IMAGE) + (row + int32(1)) * int32(FRAMED))
        for e in range(4):
            byte = int32((four >> int32(8 * e)) & int32(255))
            value = float32(byte) * SCALE + SHIFT
            value = bf16_low(bf16_pair(value, value))
            image[uint32(at + col + int32(1 + e))] = value


@jit
def data_tap(pool: Any, sums: Any, a0: Any, a1: Any, b: Any) -> Any:
    """Add a tap's products, 64 filters deep; loads run one step ahead."""
    f = ldmatrix_x4(pool, a0)
    h = ldmatrix_x4(pool, a1)
    w = ldmatrix_x4_trans(pool, b)
    v = ldmatrix_x4_trans(pool, int32(b + int32(8)))
    for step in range(4):
        f1, h1, w1, v1 = f, h, w, v
        if step < 3:
            near = int32(b + int32(16 * (step + 1) * PITCH))
            f1 = ldmatrix_x4(pool, int32(a0 ^ int32(8 * (step + 1))))
            h1 = ldmatrix_x4(pool, int32(a1 ^ int32(8 * (step + 1))))
            w1 = ldmatrix_x4_trans(pool, near)
            v1 = ldmatrix_x4_trans(pool, int32(near + int32(8)))
        mma_bf16(sums[0, 0], f, (w[0], w[1]))
        mma_bf16(sums[1, 0], h, (w[0], w[1]))
        mma_bf16(sums[0, 1], f, (w[2], w[3]))
        mma_bf16(sums[1, 1], h, (w[2], w[3]))
        mma_bf16(sums[0, 2], f, (v[0], v[1]))
        mma_bf16(sums[1, 2], h, (v[0], v[1]))
        mma_bf16(sums[0, 3], f, (v[2], v[3]))
        mma_bf16(sums[1, 3], h, (v[2], v[3]))
        f, h, w, v = f1, h1, w1, v1


@jit
def data_gradient(pool: Any, dy: Any, warp: Any, lane: Any) -> Any:
    """Write the gradient of x1 for 32 pixels, as words of two bfloat16, to DX."""
    sums = cuda.local.array((2, 4, 4), float32)
    for i in range(2):
        for j in range(4):
            for k in range(4):
                sums[i, j, k] = float32(0)
    row = int32(lane & int32(15))
    p0 = min(int32(warp * int32(32) + row), int32(195))
    p1 = min(int32(p0 + int32(16)), int32(195))
    y0, y1 = over14(p0), over14(p1)
    x0, x1 = int32(p0 - y0 * int32(14)), int32(p1 - y1 * int32(14))
    high = int32((lane >> int32(4)) << int32(2))
    w2 = int32(row * int32(PITCH) + high)
    for ky in range(3):
        for kx in range(3):
            above, left = int32(2 - ky), int32(2 - kx)
            a0 = place_dy(int32(y0 + above), int32(x0 + left)) ^ high
            a1 = place_dy(int32(y1 + above), int32(x1 + left)) ^ high
            tap = int32(w2 + int32((3 * ky + kx) * 16))
            data_tap(pool, sums, int32(dy + a0), int32(dy + a1), tap)
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    for i in range(2):
        for half in range(2):
            q = int32(int32(warp * int32(32)) + int32(16 * i + 8 * half) + g)
            if q < int32(196):
                to = int32(int32(DX) + q * int32(20) + c)
                for j in range(4):
                    word = bf16_pair(sums[i, j, 2 * half], sums[i, j, 2 * half + 1])
                    pool[uint32(to + int32(4 * j))] = word


@jit
def weight_gradient(
    pool: Any, sums: Any, dy: Any, xs: Any, lane: Any, ty: Any, tx: Any
) -> Any:
    """Add an image to the gradient of a tap of w2: 64 filters by 32 channels.

    k runs over the pixels, 13 times 16; the last are pixels of dy's frame.
    """
    pa = int32((lane & int32(7)) + ((lane >> int32(4)) << int32(3)))
    pb = int32(lane & int32(15))
    ca = int32(((lane >> int32(3)) & int32(1)) << int32(2))
    cb = int32((lane >> int32(4)) << int32(2))
    for step in range(int32(0), int32(13)):
        q = int32(pa + int32(16) * step)
        y = over14(q)
        x = int32(q - y * int32(14))
        a = place_dy(int32(y + int32(1)), int32(x + int32(1)))
        a = a if q < int32(196) else int32(0)
        a = int32(dy + (a ^ ca))
        q = min(int32(pb + int32(16) * step), int32(195))
        y = over14(q)
        x = int32(q - y * int32(14))
        b = int32(xs + (place_x1(int32(y + ty), int32(x + tx)) ^ cb))
        w = ldmatrix_x4_trans(pool, b)
        v = ldmatrix_x4_trans(pool, int32(b ^ int32(8)))
        for i in range(4):
            f = ldmatrix_x4_trans(pool, int32(a ^ int32(8 * i)))
            mma_bf16(sums[i, 0], f, (w[0], w[1]))
            mma_bf16(sums[i, 1], f, (w[2], w[3]))
            mma_bf16(sums[i, 2], f, (v[0], v[1]))
            mma_bf16(sums[i, 3], f, (v[2], v[3]))


@jit
def first_gradient(
    pool: Any, image: Any, sums1: Any, warp: Any, lane: Any, cur: Any
) -> Any:
    """Add an image to the gradients of w1 and b1: a lane for each channel.

    Of four pixels of a window, one has the gradient, so a window is nine products.
    """
    s = cuda.local.array(10, float32)
    at = int32(int32(warp * int32(320)) + lane)
    for k in range(10):
        s[k] = sums1[uint32(at + int32(32 * k))]
    half, shift = int32(lane >> int32(1)), int32(int32(4) * (lane & int32(7)))
    winners = int32(int32(WIN) + cur * int32(784) + (lane >> int32(3)))
    base = int32(cur * int32(IMAGE))
    q = warp
    while q < int32(196):
        word = pool[uint32(int32(DX) + q * int32(20) + half)]
        won = pool[uint32(winners + q * int32(4))]
        won = int32((won >> shift) & int32(15))
        grad = bf16_low(word) if lane & int32(1) == int32(0) else bf16_high(word)
        grad = grad if won < int32(4) else float32(0)
        y = over14(q)
        x = int32(q - y * int32(14))
        row = int32(int32(2) * y + ((won >> int32(1)) & int32(1)))
        to = int32(base + row * int32(FRAMED) + int32(2) * x + (won & int32(1)))
        for ky in range(3):
            for kx in range(3):
                pixel = image[uint32(to + int32(FRAMED * ky + kx))]
                s[3 * ky + kx] += grad * pixel
        s[9] += grad
        q = int32(q + int32(16))
    for k in range(10):
        sums1[uint32(at + int32(32 * k))] = s[k]


@jit
def write_weights(sums: Any, part: Any, tap: Any, lane: Any) -> Any:
    """Write the gradient of a tap of w2, the block's part of it."""
    g, c = int32(lane >> int32(2)), int32(lane & int32(3))
    at = int32(int32(cuda.blockIdx.x) * int32(CONV))
    at = int32(at + g * int32(288) + tap * int32(32) + int32(2) * c)
    for i in range(4):
        for j in range(4):
            to = int32(at + int32(16 * 288 * i + 8 * j))
            part[uint32(to)] = sums[i, j, 0]
            part[uint32(to + int32(1))] = sums[i, j, 1]
            part[uint32(to + int32(8 * 288))] = sums[i, j, 2]
            part[uint32(to + int32(8 * 288 + 1))] = sums[i, j, 3]


@jit
def fetch_filters(pool: Any, t: Any, w2: Any) -> Any:
    """Start to copy w2."""
    for k in range(5):
        e = int32(t + int32(THREADS * k))
        if e < int32(2304):
            r = int32(int32(e * int32(1821)) >> int32(16))  # e // 36
            p = int32(e - r * int32(36))
            to = int32(r * int32(PITCH) + p * int32(4))
            copy4_async(pool, to, w2, int32(e * int32(4)), True)
    commit_group()


@jit
def clear(pool: Any, image: Any, sums1: Any, sums: Any, t: Any) -> Any:
    """Clear the tiles, w1's sums in shared memory and w2's in registers."""
    for k in range(12):
        to = int32(int32(DY) + int32(4) * (t + int32(THREADS * k)))
        store4(pool, to, int32(0), int32(0), int32(0), int32(0))
    for k in range(4):
        image[uint32(t + int32(THREADS * k))] = float32(0)
    for k in range(10):
        sums1[uint32(t + int32(THREADS * k))] = float32(0)
    for i in range(4):
        for j in range(4):
            for k in range(4):
                sums[i, j, k] = float32(0)


@jit
def write_first(sums1: Any, part: Any, t: Any) -> Any:
    """Write the block's part of the gradients of w1 and b1."""
    if t < int32(320):
        value = float32(0)
        for k in range(16):
            value += sums1[uint32(t + int32(320 * k))]
        at = int32(int32(cuda.blockIdx.x) * int32(CONV))
        part[uint32(at + int32(W1) + t)] = value


@jit
def write_biases(biases: Any, part: Any, t: Any) -> Any:
    """Write the block's part of the gradient of b2."""
    ch, eighth = int32(t >> int32(3)), int32(t & int32(7))
    value = float32(0)
    for k in range(7):
        q = int32(eighth + int32(8 * k))
        if q < int32(49):
            e = int32(int32(8) * q + (ch >> int32(3)))
            value += biases[uint32(e), uint32(ch & int32(7))]
    for delta in (4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, delta)
    if eighth == int32(0):
        at = int32(int32(cuda.blockIdx.x) * int32(CONV))
        part[uint32(at + int32(B2) + ch)] = value


@jit
def part_of(order: Any, place: Any, data: Any, u: Any) -> Any:
    """Return word u of an image, four pixels."""
    if u < int32(196):
        return data[uint32(order[uint32(place)] * int32(196) + u)]
    return int32(0)


def backward(
    data: Any,
    order: Any,
    counter: Any,
    w2: Any,
    x1: Any,
    win1: Any,
    dx2: Any,
    win2: Any,
    part: Any,
    count: Any,
) -> None:
    """Write part[block], (CONV,): gradients summed over the block's images.

    The arguments are those of `forward`; dx2 is the gradient of x2.
    """
    pool = cuda.shared.array(0, int32, alignment=16)
    image = cuda.shared.array(IMAGES, float32)
    sums1 = cuda.shared.array(SUMS, float32)
    biases = cuda.shared.array((392, 9), float32)
    t = int32(cuda.threadIdx.x)
    lane, warp = int32(t & int32(31)), int32(t >> int32(5))
    first = int32(counter[0] * int32(count))
    sums = cuda.local.array((4, 4, 4), float32)
    fetch_filters(pool, t, w2)
    clear(pool, image, sums1, sums, t)
    if t < int32(392):
        for k in range(9):
            biases[uint32(t), k] = float32(0)
    cuda.syncthreads()

    u = int32(t - int32(32 * DATA))
    tap = int32(warp - int32(DATA))
    ty = int32(int32(tap * int32(11)) >> int32(5))  # tap // 3
    tx = int32(tap - ty * int32(3))
    b, stride = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    cur, four = int32(0), int32(0)
    if u >= int32(0):
        fetch(pool, u, int32(0), b, x1, win1, dx2, win2)
        four = part_of(order, int32(first + b), data, u)
    wait_group(0)
    if u >= int32(0):
        unpool(pool, biases, u, int32(0))
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
                fetch(pool, u, other, b, x1, win1, dx2, win2)
                four = part_of(order, int32(first + b), data, u)
            xs = int32(int32(X1) + cur * int32(4096))
            weight_gradient(pool, sums, dy, xs, lane, ty, tx)
            wait_group(0)
            if b < count:
                unpool(pool, biases, u, other)
                write_image(image, u, other, four)
        cuda.syncthreads()
        first_gradient(pool, image, sums1, warp, lane, cur)
        cuda.syncthreads()
        cur = int32(cur ^ int32(1))
    if u >= int32(0):
        write_weights(sums, part, tap, lane)
    write_first(sums1, part, t)
    write_biases(biases, part, t)
