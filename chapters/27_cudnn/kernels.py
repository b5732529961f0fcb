"""Chapter 23's kernel for a layer of 3 x 3 taps, which chapter 27 times."""

from numba import cuda, float32, int32, uint32

from weft.intrinsics import load4, store4

DEEP = 8  # channels at a time
TAPS = 9 * DEEP


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
