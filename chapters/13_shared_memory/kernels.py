"""The kernels that the measurements of chapter 13 time, but for the exercises'."""

from numba import cuda, float32, int32

from weft.intrinsics import load4, store4

TILE = 32
ROWS = 8
PADDED = TILE + 1  # a kernel takes a name for a shape, but no sum of names
WIDE = 64
TALL = 128


@cuda.jit
def naive_read(x, out):
    """Neighbouring threads read neighbours, and write down a column."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[col, row] = x[row, col]


@cuda.jit
def naive_write(x, out):
    """Neighbouring threads write neighbours, and read down a column."""
    col, row = cuda.grid(2)

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[col, row]


@cuda.jit
def copy_kernel(x, out):
    """Copy x into out, one element per thread."""
    col, row = cuda.grid(2)

    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = x[row, col]


@cuda.jit
def chase(link, end):
    """Follow 1000 links, each found by loading the one before."""
    i = int32(0)
    for _ in range(1000):
        i = link[i]
    end[0] = i


@cuda.jit
def rows_guarded(x, out):
    """transpose_rows with a guard around each load."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    m, n = x.shape

    for j in range(0, TILE, ROWS):
        if top + ty + j < m and left + tx < n:
            tile[ty + j, tx] = x[top + ty + j, left + tx]
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]


@cuda.jit
def rows_unpadded(x, out):
    """transpose_rows with bank conflicts."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    m, n = x.shape

    col = min(left + tx, n - 1)
    for j in range(0, TILE, ROWS):
        row = min(top + ty + j, m - 1)
        tile[ty + j, tx] = x[row, col]
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]


def fast_without(swizzle, down):
    """Return transpose_fast with one idea left out."""

    @cuda.jit
    def kernel(x, out):
        tile = cuda.shared.array((WIDE, WIDE), float32)
        tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
        if down:
            top = int32(cuda.blockIdx.x * WIDE)
            left = int32(cuda.blockIdx.y * WIDE)
        else:
            top = int32(cuda.blockIdx.y * WIDE)
            left = int32(cuda.blockIdx.x * WIDE)
        put, get = 4 * ty, 4 * tx
        if swizzle:
            put = get = 4 * (tx ^ ty)

        a = load4(x, (top + 4 * ty, left + 4 * tx))
        b = load4(x, (top + 4 * ty + 1, left + 4 * tx))
        c = load4(x, (top + 4 * ty + 2, left + 4 * tx))
        d = load4(x, (top + 4 * ty + 3, left + 4 * tx))

        for i in range(4):
            store4(tile, (4 * tx + i, put), a[i], b[i], c[i], d[i])
        cuda.syncthreads()

        for i in range(4):
            e = load4(tile, (4 * ty + i, get))
            at = left + 4 * ty + i, top + 4 * tx
            store4(out, at, e[0], e[1], e[2], e[3])

    return kernel


@cuda.jit
def rows_down(x, out):
    """transpose_rows with blocks in the order down x."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    m, n = x.shape

    col = min(left + tx, n - 1)
    for j in range(0, TILE, ROWS):
        row = min(top + ty + j, m - 1)
        tile[ty + j, tx] = x[row, col]
    cuda.syncthreads()

    for j in range(0, TILE, ROWS):
        if left + ty + j < n and top + tx < m:
            out[left + ty + j, top + tx] = tile[tx, ty + j]


@cuda.jit
def tall_tiles(x, out, m, n):
    """Transpose x (m, n), both arrays flat, in tiles of TALL x TILE; any m and n.

    Launch blocks of (TILE, ROWS) threads, a tile each, in the order down x.
    """
    tile = cuda.shared.array((TALL, PADDED), float32)
    tx, ty = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
    top, left = int32(cuda.blockIdx.x * TALL), int32(cuda.blockIdx.y * TILE)
    whole = top + TALL <= m and left + TILE <= n

    if whole:
        at = int32((top + ty) * n + left + tx)
        for j in range(0, TALL, ROWS):
            tile[ty + j, tx] = x[at + j * n]
    else:
        col = min(left + tx, n - 1)
        for j in range(0, TALL, ROWS):
            row = int32(min(top + ty + j, m - 1))
            tile[ty + j, tx] = x[row * n + col]
    cuda.syncthreads()

    if whole:
        at = int32((left + ty) * m + top + tx)
        for j in range(0, TILE, ROWS):
            for k in range(0, TALL, TILE):
                out[at + j * m + k] = tile[tx + k, ty + j]
    else:
        for j in range(0, TILE, ROWS):
            row = int32(left + ty + j)
            for k in range(0, TALL, TILE):
                if row < n and top + tx + k < m:
                    out[row * m + top + tx + k] = tile[tx + k, ty + j]
