"""The kernels of chapter 23 that apply filters, and a layer of a network."""

from numba import cuda, float32, int32, uint32

from weft.intrinsics import load4, store4

K = 5  # the filter is 5 x 5
HIGH, WIDE = 8, 32  # results per block, and its threads
ROWS = 8  # results per thread
DEEP = 8  # channels at a time
TAPS = 9 * DEEP


@cuda.jit(device=True)
def times(z, w):
    """Return the product of two complex numbers."""
    return complex(z.real * w.real - z.imag * w.imag, z.real * w.imag + z.imag * w.real)


def multiplication():
    """Return the device function `times`, which the kernels of the lab may call."""
    return times


@cuda.jit
def correlate_lean(x, w, out, width):
    """correlate with 5 x 5 taps and lean indices; x: (h * width,), w: (25,)."""
    col = uint32(WIDE * cuda.blockIdx.x + cuda.threadIdx.x)
    row = uint32(HIGH * cuda.blockIdx.y + cuda.threadIdx.y)

    if row < out.shape[0] and col < out.shape[1]:
        at = uint32(row * width + col)
        total = float32(0)
        for down in range(K):
            for right in range(K):
                total += x[at + right] * w[K * down + right]
            at = uint32(at + width)
        out[row, col] = total


def make_rows(k):
    """Return a kernel for k x k taps; 128 threads, 32 x 32 results."""
    side = 31 + k
    cells = side * side

    @cuda.jit
    def rows(x, taps, out):  # taps: (k * k,), column by column
        """Correlate x with taps; eight results per thread."""
        tile = cuda.shared.array(cells, float32)
        sums = cuda.local.array(ROWS, float32)
        v = cuda.local.array(ROWS, float32)
        t = uint32(cuda.threadIdx.x)
        tx, ty = t % 32, t // 32
        top, left = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x

        for cell in range(t, cells, 128):
            i, j = int32(top + cell // side), int32(left + cell % side)
            if i < x.shape[0] and j < x.shape[1]:
                tile[cell] = x[i, j]
        cuda.syncthreads()

        for r in range(ROWS):
            sums[r] = float32(0)
        n = uint32(0)
        for q in range(k):
            at = uint32(ROWS * side * ty + tx + q)
            for r in range(ROWS - 1):
                v[r] = tile[at + r * side]
            at += uint32((ROWS - 1) * side)
            p = uint32(0)
            while p < uint32(k):  # leaner than range(k), which counts in int64
                v[ROWS - 1] = tile[at]
                tap = taps[n]
                at, n, p = uint32(at + side), uint32(n + 1), uint32(p + 1)
                for r in range(ROWS):
                    sums[r] += v[r] * tap
                for r in range(ROWS - 1):
                    v[r] = v[r + 1]

        for r in range(ROWS):
            row, col = top + ROWS * ty + r, left + tx
            if row < out.shape[0] and col < out.shape[1]:
                out[row, col] = sums[r]

    return rows


@cuda.jit
def grad_weights(x, dy, dw):
    """dw[p, q] is the sum of x[i + p, j + q] * dy[i, j]; one block each."""
    parts = cuda.shared.array(8, float32)
    q, p = cuda.blockIdx.x, cuda.blockIdx.y
    me = cuda.threadIdx.x

    mine = float32(0)
    for cell in range(me, dy.size, 256):
        i, j = cell // dy.shape[1], cell % dy.shape[1]
        mine += x[i + p, j + q] * dy[i, j]

    for delta in (16, 8, 4, 2, 1):
        mine += cuda.shfl_down_sync(0xFFFFFFFF, mine, delta)
    if me % 32 == 0:
        parts[me // 32] = mine
    cuda.syncthreads()
    if me == 0:
        whole = float32(0)
        for k in range(8):
            whole += parts[k]
        dw[p, q] = whole


@cuda.jit
def layer_direct(x, w, out):
    """One thread per result; 3 x 3 taps, zeros outside."""
    cell = cuda.grid(1)
    f, n = cuda.blockIdx.y, cuda.blockIdx.z
    height, width = x.shape[2], x.shape[3]

    if cell < height * width:
        row, col = cell // width, cell % width
        total = float32(0)
        for c in range(x.shape[1]):
            for p in range(3):
                for q in range(3):
                    i, j = row + p - 1, col + q - 1
                    if 0 <= i < height and 0 <= j < width:
                        total += x[n, c, i, j] * w[f, c, p, q]
        out[n, f, row, col] = total


@cuda.jit
def im2col(x, cols):
    """(n, c, h, w) -> (n, 9 c, h w): what each tap reads, zeros outside."""
    cell = int32(cuda.grid(1))
    c, n = cuda.blockIdx.y, cuda.blockIdx.z
    height, width = int32(x.shape[2]), int32(x.shape[3])

    if cell < height * width:
        row, col = cell // width, cell % width
        for p in range(3):
            for q in range(3):
                i, j = row + p - 1, col + q - 1
                seen = float32(0)
                if 0 <= i < height and 0 <= j < width:
                    seen = x[n, c, i, j]
                cols[n, 9 * c + 3 * p + q, cell] = seen


@cuda.jit(device=True)
def add_products(sums, v, q, taps, tap, f):
    """Add pixels v[q] ... v[q + 7] times eight filters' taps to the sums."""
    for half in range(2):
        w = load4(taps, (tap, f + 4 * half))
        for k in range(8):
            for g in range(4):
                sums[k, 4 * half + g] += v[q + k] * w[g]


@cuda.jit
def layer_tiled(x, w, out):
    """3 x 3 taps, 64 filters: w is (9 c, 64), out is (64 n h, w).

    Blocks of 256 threads and 8 x 32 pixels; w is a multiple of 4.
    """
    tile = cuda.shared.array((DEEP, 10, 36), float32)
    taps = cuda.shared.array((TAPS, 64), float32)
    sums = cuda.local.array((8, 8), float32)
    v = cuda.local.array(12, float32)
    t = uint32(cuda.threadIdx.x)
    tx, ty, f = 8 * (t % 4), t // 4 % 8, 8 * (t // 32)
    top, left = int32(8 * cuda.blockIdx.y), int32(32 * cuda.blockIdx.x)
    height, width, n = int32(x.shape[2]), int32(x.shape[3]), cuda.blockIdx.z

    for k in range(8):
        for g in range(8):
            sums[k, g] = float32(0)

    for first in range(0, x.shape[1], DEEP):
        for cell in range(t, 360, 256):
            a, b = cell // 36, cell % 36
            i, j = int32(top + a - 1), int32(left + b - 1)
            inside = 0 <= i < height and 0 <= j < width
            for c in range(DEEP):
                seen = float32(0)
                if inside:
                    seen = x[n, first + c, i, j]
                tile[c, a, b] = seen
        for four in range(t, 16 * TAPS, 256):
            at = four // 16, 4 * (four % 16)
            a, b, c, d = load4(w, (9 * first + at[0], at[1]))
            store4(taps, at, a, b, c, d)
        cuda.syncthreads()

        for c in range(DEEP):
            for p in range(3):
                for k in range(3):
                    v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3] = load4(
                        tile[c, ty + p], tx + 4 * k
                    )
                tap = 9 * c + 3 * p
                add_products(sums, v, 0, taps, tap, f)
                add_products(sums, v, 1, taps, tap + 1, f)
                add_products(sums, v, 2, taps, tap + 2, f)
        cuda.syncthreads()

    row = int32(top + ty)
    for g in range(8):
        to = (64 * n + f + g) * height + row
        for k in range(0, 8, 4):
            if row < height and left + tx + k < width:
                a, b = sums[k, g], sums[k + 1, g]
                c4, d = sums[k + 2, g], sums[k + 3, g]
                store4(out, (to, left + tx + k), a, b, c4, d)
